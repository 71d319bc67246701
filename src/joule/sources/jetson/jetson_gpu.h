/* joule/sources/jetson/jetson_gpu.h - how busy a Jetson's GPU is, and its clock.
 *
 * Note: the load is in tenths of a per cent. It refers to the time since the driver last updated it, not to
 * the time between two readings. */
#ifndef JOULE_JETSON_GPU_H
#define JOULE_JETSON_GPU_H

#include "joule/sources/source.h"

struct jetson_gpu {
    struct jetson_gauge {
        struct channel *channel;
        int handle;
        double unit, max; /* unit of a count; largest possible value */
    } gauges[2];
    size_t count;
};

/* Adds the gauges that this machine has. */
void jetson_gpu_open(struct source *source, struct jetson_gpu *gpu);
void jetson_gpu_read(struct source *source, const struct jetson_gpu *gpu, struct sink *sink);
void jetson_gpu_close(struct source *source, const struct jetson_gpu *gpu);

#endif
