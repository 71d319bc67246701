/* joule/sources/apple/apple_power.h - what is known of an Apple chip's power, whoever tells it.
 *
 * Owns one moment's figures, the channels that stand for them, and the texts of two programs that tell them: macmon, and
 * Apple's powermetrics. Newcomers: those of CPU, GPU, neural engine and memory are estimates that Apple's firmware makes, not
 * measurements, and are called modelled; the whole machine's power comes from a sensor.
 */
#ifndef JOULE_APPLE_POWER_H
#define JOULE_APPLE_POWER_H

#include <stddef.h>
#include "joule/sources/device.h"

/* Parts of an Apple machine. Those up to MEMORY make up its total where nothing measures the whole. */
enum apple_part {
    APPLE_CPU,
    APPLE_GPU,
    APPLE_NEURAL,
    APPLE_MEMORY,
    APPLE_GPU_MEMORY,
    APPLE_SYSTEM,
    APPLE_PARTS
};

/* NaN: not told. */
struct apple_power {
    double watts[APPLE_PARTS];
    double gpu_busy, gpu_megahertz, gpu_celsius;
};
struct apple_power apple_power_unknown(void);

/* The last line of macmon's that is whole; false: there is none. `text` is changed. */
bool macmon_parse(char *text, struct apple_power *out_power);
/* The last report that is whole: text, or property lists that are separated by NUL. */
bool powermetrics_parse(const char *text, size_t length, struct apple_power *out_power);

/* A channel for a part; NULL when memory is used up. Its mode, rank and period are the caller's to set. */
struct channel *apple_add_part(struct source *source, enum apple_part part);
/* The GPU as a device, made when first asked for. */
struct device *apple_gpu_device(struct source *source);

#endif
