/* joule/collector/sweep.h - divides energy among regions that overlap in time.
 *
 * The rule: at every instant, a device's power is divided equally among threads with an open region that
 * claims the device. In each thread, the innermost such region gets the thread's share. The sweep visits the
 * edges of regions in order of time. Power is constant within each step, so the result is exact and costs a
 * few operations per edge.
 * Note: each figure of a region is the difference of a running sum at its two edges. The sums start at 0 in
 * each sweep, which keeps them precise for regions of nanoseconds.
 */
#ifndef JOULE_SWEEP_H
#define JOULE_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "joule/session/session_layout.h"

/* Devices whose energy is divided separately. */
enum {
    GROUP_CPU,  /* packages and memory */
    GROUP_REST, /* other parts of the total: for example a whole machine measured at its plug */
    GROUP_GPU0, /* first of the groups for one GPU each; the last group includes all further GPUs */
    GROUPS = 10,
};
#define GROUPS_ALL ((1u << GROUPS) - 1)
#define GROUPS_GPU (GROUPS_ALL & ~(1u << GROUP_CPU | 1u << GROUP_REST))

#define STILL_OPEN  INT64_MAX
#define TRACK_ALONE UINT16_MAX /* a foreign span, which counts as a separate thread */
#define NO_REGION   UINT32_MAX

struct ledger;
struct batch;

/* A region's energy from one group in one sweep, in joules and seconds. */
struct share {
    double window;     /* energy of the group while the region was open */
    double attributed; /* the part attributed to the region's thread */
    double self;       /* the part of `attributed` while the region was innermost */
    double covered_s;
};

/* A region that waits for energy. */
struct region {
    int64_t begin_ns;
    int64_t end_ns; /* or STILL_OPEN */
    uint16_t tag;
    uint16_t claims; /* bits of groups */
    uint16_t track;  /* slot of its thread, or TRACK_ALONE */
    uint8_t index;   /* order of regions that began at the same instant */
    uint8_t flags;
    float error_ns;         /* standard error of begin_ns and end_ns, in ns */
    struct ledger *history; /* sums of earlier sweeps, owned by the collector; NULL: none */
    struct batch *batch;    /* folded regions that this region represents; NULL: none */
    uint32_t outer, inner;  /* neighbours among the open regions of the track, used by the sweep */
};

/* Power from the end of the previous step to end_ns. */
struct step {
    int64_t end_ns;
    double watts[GROUPS];
    double coverage[GROUPS]; /* 0 to 1 */
};

/* A sweep: its inputs, results and buffers. */
struct sweep {
    struct region *regions;
    size_t region_count;
    int64_t begin_ns, end_ns;
    const struct step *steps; /* the last step ends at end_ns */
    size_t step_count;
    uint32_t groups;  /* bits: groups with energy to divide; set by sweep_set_groups */
    unsigned columns; /* number of groups in use: columns of `shares` */
    uint8_t column_of[GROUPS];
    /* Results. */
    struct share *shares;        /* region_count * columns, zeroed by the caller */
    double unattributed[GROUPS]; /* joules that no region claims; the sweep adds to them */
    /* Buffers that are reused; zeroed at first, freed by sweep_free. */
    struct edge {
        uint64_t at_ns; /* relative to begin_ns */
        uint32_t region;
        bool is_end;
    } * edges, *spare;
    size_t edge_capacity;
};

/* Sets the groups (bits) whose energy the sweep divides. */
void sweep_set_groups(struct sweep *sweep, uint32_t groups);
/* Returns the share of region `i` in `group`, which must be one of sweep->groups. */
static inline struct share *sweep_share(const struct sweep *sweep, size_t i, unsigned group)
{
    return &sweep->shares[i * sweep->columns + sweep->column_of[group]];
}
/* Divides the energy of [begin_ns, end_ns]. Regions outside this time get nothing. Returns false, and divides
 * nothing, if out of memory, or if step_count or the time is 0. */
bool sweep_run(struct sweep *sweep);
/* Frees the buffers of the sweep. */
void sweep_free(struct sweep *sweep);

#endif
