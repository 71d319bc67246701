/* joule/collector/sweep.h - sharing energy out among regions that overlap.
 *
 * Owns the rule and nothing else: at every instant the innermost open region of each thread that claims a device has an
 * equal share of that device's power. Time goes through the edges of regions in order, and power is constant between
 * the given steps, so that the sharing is exact and costs a few operations for each edge.
 * Newcomers: all figures of a region are differences of running sums taken at its two edges; the sums start at 0 with
 * each sweep, which keeps them exact for regions of nanoseconds.
 */
#ifndef JOULE_SWEEP_H
#define JOULE_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "joule/session/session_layout.h"

/* Devices whose energy is shared out separately. */
enum {
    GROUP_CPU,  /* packages and memory */
    GROUP_REST, /* what the total holds beside CPUs and GPUs: a whole machine seen from its plug, say */
    GROUP_GPU0, /* one for each GPU; the last takes all further ones */
    GROUPS = 10,
};
#define GROUPS_ALL ((1u << GROUPS) - 1)
#define GROUPS_GPU (GROUPS_ALL & ~(1u << GROUP_CPU | 1u << GROUP_REST))

#define STILL_OPEN  INT64_MAX
#define TRACK_ALONE UINT16_MAX /* a foreign span: a thread of its own */
#define NO_REGION   UINT32_MAX

struct ledger;
struct batch;

/* What a region got from one group during one sweep, in joules and seconds. */
struct share {
    double window;     /* all that the group used while it was open */
    double attributed; /* its thread's share of that */
    double self;       /* the part of the share during which it was innermost */
    double covered_s;
};

struct region {
    int64_t begin_ns;
    int64_t end_ns; /* STILL_OPEN */
    uint16_t tag;
    uint16_t claims; /* bits of groups */
    uint16_t track;  /* slot of its thread, or TRACK_ALONE */
    uint8_t index;   /* order of regions that began at the same instant */
    uint8_t flags;
    float error_ns;
    struct ledger *history; /* the collector's: what earlier sweeps gave; NULL: nothing */
    struct batch *batch;    /* folded regions that this one represents; NULL: none */
    uint32_t outer, inner;  /* the sweep's: neighbours among the open regions of the track */
};

/* Power from the end of the step before to end_ns. */
struct step {
    int64_t end_ns;
    double watts[GROUPS];
    double coverage[GROUPS]; /* 0 to 1 */
};

struct sweep {
    struct region *regions;
    size_t region_count;
    int64_t begin_ns, end_ns;
    const struct step *steps; /* the last one ends at end_ns */
    size_t step_count;
    uint32_t groups;  /* bits: those with anything to share; set by sweep_use */
    unsigned columns; /* of `shares`: one for each group in use */
    uint8_t column_of[GROUPS];
    /* Results. */
    struct share *shares;        /* region_count * columns, zeroed by the caller */
    double unattributed[GROUPS]; /* joules, added to */
    /* Memory between sweeps; start from zeros, end with sweep_free. */
    struct edge {
        uint64_t at_ns; /* since begin_ns */
        uint32_t region;
        bool is_end;
    } * edges, *spare;
    size_t edge_capacity;
};

/* Says which groups take part. */
void sweep_use(struct sweep *sweep, uint32_t groups);
/* What region `i` got from `group`, which takes part. */
static inline struct share *sweep_share(const struct sweep *sweep, size_t i, unsigned group)
{
    return &sweep->shares[i * sweep->columns + sweep->column_of[group]];
}
/* Shares out [begin_ns, end_ns]. Regions outside of it get nothing. False: no memory, nothing was shared. */
bool sweep_run(struct sweep *sweep);
void sweep_free(struct sweep *sweep);

#endif
