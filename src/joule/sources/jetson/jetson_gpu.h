/* joule/sources/jetson/jetson_gpu.h - reads the load and the clock of a Jetson's GPU.
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
        double unit, max; /* factor from the number in the file to the gauge; the gauge's maximum */
    } gauges[2];
    size_t count;
};

/* Adds the gauges that this machine reports. */
void jetson_gpu_open(struct source *source, struct jetson_gpu *gpu);
void jetson_gpu_read(struct source *source, const struct jetson_gpu *gpu, struct sink *sink);
void jetson_gpu_close(struct source *source, const struct jetson_gpu *gpu);

#endif
