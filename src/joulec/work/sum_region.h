/* joulec/work/sum_region.h - a region while it is summed, and what its nodes take.
 *
 * Owns what sum.c, which walks regions, and sum_block.c, which knows what a block takes, share. Nobody else needs it.
 */
#ifndef JOULEC_SUM_REGION_H
#define JOULEC_SUM_REGION_H

#include "joulec/work/sum.h"
#include "joulec/work/ways.h"

struct region {
    struct arena *arena;
    const struct function *function;
    const struct loops *loops;
    const struct block_memory *memory;
    const struct target *target;
    const struct function_sum *const *callees; /* by call */
    const struct loop_times *times;            /* by loop */
    struct ways ways;
    struct function_sum *out;
    /* Of each block that stands for a node: the sum up to and with it, on the cheapest and on the dearest way. */
    struct amounts *until;
    double
        entry_uops; /* of a loop that begins anew each time, what it does until then; infinite: of others */
    double *share;  /* how often it runs for each time that the region is entered */
    bool *is_reached;
    size_t doubt_room;
    bool is_out_of_memory; /* of memory */
};

/* Something without a figure. */
void region_add_missing(struct region *r, enum doubt_kind kind, const char *name, struct source_place place);
/* What a block takes each time that it runs, with what it calls; adds the doubts that this leaves. */
struct amounts region_of_block(struct region *r, uint32_t block);
/* What the end of a loop costs beside its rounds. */
struct amounts region_of_end(const struct region *r, size_t loop, const struct loop_times *times);
/* Whether data say when a loop ends. */
bool region_ends_by_data(const struct region *r, size_t loop);

#endif
