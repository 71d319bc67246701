/* joule/sources/jetson/jetson_gpu.h - how busy a Jetson's GPU is, and its clock.
 *
 * Owns the two gauges and where their files are. Newcomers: the load is in tenths of a percent, of the time since it was
 * last updated by the driver, and not of the time between two looks.
 */
#ifndef JOULE_JETSON_GPU_H
#define JOULE_JETSON_GPU_H

#include "joule/sources/source.h"

struct jetson_gpu {
    struct jetson_gauge {
        struct channel *channel;
        int handle;
        double unit, most; /* of a count; of a value that can be true */
    } gauges[2];
    size_t count;
};

/* Adds what this machine has of it. */
void jetson_gpu_open(struct source *source, struct jetson_gpu *gpu);
void jetson_gpu_read(struct source *source, const struct jetson_gpu *gpu, struct sink *sink);
void jetson_gpu_close(struct source *source, const struct jetson_gpu *gpu);

#endif
