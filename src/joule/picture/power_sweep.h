/* joule/picture/power_sweep.h - visits the energy of several devices in order of time, with the open regions.
 *
 * The sweep divides time at the points of all curves, at the edges of regions and at the edges of columns.
 * Within such a slice, the power of each device and the set of open regions are constant.
 * Note: energy is divided among regions as the collector does it (collector/sweep.h): equally among threads
 * with a region that claims the device, to the innermost region of each thread.
 */
#ifndef JOULE_PICTURE_POWER_SWEEP_H
#define JOULE_PICTURE_POWER_SWEEP_H

#include "joule/picture/skyline.h"

/* A point of a device's energy. */
struct power_point {
    int64_t time_ns;
    double joules, covered_s; /* since an arbitrary time */
};

/* Devices that regions may claim separately. */
enum power_group { POWER_CPU, POWER_GPU, POWER_REST, POWER_GROUPS };

struct power_curve {
    struct power_point *points;
    size_t count;
    enum power_group group;
    int32_t domain;
};

/* The share of a region's name in the power of a group. */
struct power_share {
    uint32_t name;
    double share; /* 0 to 1 */
};

/* A time in which nothing changes. */
struct power_slice {
    int64_t begin_ns, end_ns;
    size_t column;
    const double *joules;    /* of each curve */
    const double *covered_s; /* of each curve */
    const struct power_share *shares[POWER_GROUPS];
    size_t share_count[POWER_GROUPS]; /* 0: no open region claims the group */
};

/* More regions than this that are open at the same time are ignored. */
#define POWER_SWEEP_OPEN   256
#define POWER_SWEEP_CURVES COVER_MAX

/* The end of a region. */
struct power_end {
    uint64_t time_ns;
    size_t region; /* index */
};

struct power_sweep {
    const struct power_curve *curves;
    size_t curve_count; /* at most POWER_SWEEP_CURVES */
    int64_t begin_ns, end_ns;
    size_t column_count;
    const struct skyline_region *regions; /* [region_count] by begin; of equal begins, the longest first */
    const struct power_end *ends;         /* [region_count] by time */
    size_t region_count;
};

typedef void (*power_slice_fn)(const struct power_slice *slice, void *context);
/* Calls `visit` for each slice. Returns false if out of memory. */
bool power_sweep_run(const struct power_sweep *sweep, power_slice_fn visit, void *context);
/* Returns the begin of a column; column_count: the end of the last one. */
int64_t power_sweep_edge_ns(int64_t begin_ns, int64_t end_ns, size_t column_count, size_t column);

#endif
