/* joule/sources/detection.h - device files and environment variables that suggest hardware which a source did
 * not find.
 *
 * Note: neither is proof of hardware. Images set variables and leave device files behind, so both are
 * reported. A device is listed only if its driver shows it.
 */
#ifndef JOULE_DETECTION_H
#define JOULE_DETECTION_H

#include "joule/sources/source.h"

enum detection_kind { DETECT_NVIDIA, DETECT_AMD, DETECT_INTEL, DETECT_TPU, DETECT_NEURON, DETECT_GROQ };

/* Sets the source's state to ABSENT with the remedy `text`. If a device file or variable suggests hardware of
 * `kind`, appends its name to the remedy. Returns ABSENT. */
joule_status detection_absent(struct source *source, enum detection_kind kind, const char *text);

#endif
