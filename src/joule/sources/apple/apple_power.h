/* joule/sources/apple/apple_power.h - the power of an Apple chip's parts, for all sources that read it.
 *
 * This file declares the values of one reading, the channels for them, and parsers for the output of two
 * programs: macmon, and Apple's powermetrics.
 * Note: the values of CPU, GPU, neural engine and memory are estimates of Apple's firmware, not measurements,
 * so their class is modelled. The power of the whole machine is measured by a sensor. */
#ifndef JOULE_APPLE_POWER_H
#define JOULE_APPLE_POWER_H

#include <stddef.h>
#include "joule/sources/device.h"

/* Parts of an Apple machine, and the whole machine (APPLE_SYSTEM). If the whole is not measured, APPLE_CPU to
 * APPLE_MEMORY add up to the total. */
enum apple_part {
    APPLE_CPU,
    APPLE_GPU,
    APPLE_NEURAL,
    APPLE_MEMORY,
    APPLE_GPU_MEMORY,
    APPLE_SYSTEM,
    APPLE_PARTS
};

/* The values of one reading. NaN: not reported. */
struct apple_power {
    double watts[APPLE_PARTS];
    double gpu_busy, gpu_megahertz, gpu_celsius; /* gpu_busy: 0 to 1 */
};
/* Returns a reading in which all values are NaN. */
struct apple_power apple_power_unknown(void);

/* Parses the last complete line of macmon's output. Returns false if there is none, or if it contains no
 * power of the CPU. Modifies `text`. */
bool macmon_parse(char *text, struct apple_power *out_power);
/* Parses the last complete report of powermetrics: plain text, or property lists separated by NUL. Returns
 * false if there is none, or if no report contains power of the CPU. text[length] must be NUL. */
bool powermetrics_parse(const char *text, size_t length, struct apple_power *out_power);

/* Adds a channel for a part; the caller sets mode, rank and period. Returns NULL if out of memory. */
struct channel *apple_add_part(struct source *source, enum apple_part part);
/* Returns the GPU as a device, which the first call adds. Returns NULL if out of memory. */
struct device *apple_gpu_device(struct source *source);

#endif
