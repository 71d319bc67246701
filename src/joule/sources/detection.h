/* joule/sources/detection.h - device files and environment variables that suggest hardware which a source did
 * not find.
 *
 * Note: a device file or a variable does not prove that hardware exists, because machine images set variables
 * and leave device files behind. So only the source's remedy mentions them. A device is listed only if its
 * driver reports it.
 */
#ifndef JOULE_DETECTION_H
#define JOULE_DETECTION_H

#include "joule/sources/source.h"

enum detection_kind { DETECT_NVIDIA, DETECT_AMD, DETECT_INTEL, DETECT_TPU, DETECT_NEURON, DETECT_GROQ };

/* Sets the source's state to ABSENT with the remedy `text`. Appends the names of a device file and a variable
 * that suggest hardware of `kind`, if there are any. Returns ABSENT. */
joule_status detection_absent(struct source *source, enum detection_kind kind, const char *text);

#endif
