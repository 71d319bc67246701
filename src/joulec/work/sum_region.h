/* joulec/work/sum_region.h - the state of the summation of a region, which sum.c (paths) and sum_block.c (the
 * work of a block) share.
 */
#ifndef JOULEC_SUM_REGION_H
#define JOULEC_SUM_REGION_H

#include "joulec/work/branch_probability.h"
#include "joulec/work/sum.h"

struct region {
    struct arena *arena;
    const struct function *function;
    const struct loops *loops;
    const struct block_memory *memory;
    const struct target *target;
    const struct function_sum *const *callees; /* by call number */
    const struct loop_times *times;            /* by loop */
    struct branch_probabilities branches;
    struct function_sum *out;
    /* For the first block of each node: the work from the region's begin to the node's end, on the cheapest
     * and the most expensive path. */
    struct amounts *path_to;
    /* Micro-operations per entry of the current loop, after which its recurrence restarts; infinite: it does
     * not restart. */
    double entry_uops;
    double *frequency; /* executions of each block per iteration of the region's loop, or per call */
    bool *is_reached;
    size_t doubt_room;
    bool is_out_of_memory;
};

/* Adds a doubt about work without a figure. */
void region_add_missing(struct region *r, enum doubt_kind kind, const char *name, struct source_place place);
/* Returns the work of one execution of a block, including its calls. Adds the doubts of the calls. */
struct amounts region_of_block(struct region *r, uint32_t block);
/* Returns the work at the end of a loop, per entry, that is not part of its iterations: mispredictions. */
struct amounts region_of_end(const struct region *r, size_t loop, const struct loop_times *times);
/* Returns true if an exit of the loop depends on data. */
bool region_ends_by_data(const struct region *r, size_t loop);

#endif
