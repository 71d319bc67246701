/* joulec/work/built_loop.h - the work of a loop's iteration in the user's build, which may vectorise the loop
 * or unroll its inner loops.
 *
 * The loops of the build are found by their places in the source.
 * Note: the number of cache lines is that of the count build.
 */
#ifndef JOULEC_BUILT_LOOP_H
#define JOULEC_BUILT_LOOP_H

#include "joulec/work/sum.h"

/* The order of the work of an iteration. */
struct built_loop_order {
    double streamed;            /* as in struct cost_flow */
    double entry_uops;          /* `uops` of cost_core_restarted() */
    double wait_cycles[BOUNDS]; /* latency of lines from beyond L1 within the loop's recurrence */
    bool overlaps;              /* data overlaps, so a version for data that does not overlap never runs */
};

/* Sets `built` and `is_unjoined` of all loops. */
void built_loop_join(const struct module *module, const struct function *function, struct loops *loops);
/* Replaces *iteration, the work of one iteration of loops->list[loop], by the work in the user's build. The
 * new work includes the iteration's part of the work per entry. Scales inner[i] of each loop i within the
 * loop by the same factor. inner: [loops->count]; NULL: nothing is scaled. */
void built_loop_apply(const struct target *target, const struct loops *loops, size_t loop,
                      const struct loop_times *times, const struct built_loop_order *order,
                      struct amounts *iteration, struct amounts *inner);

#endif
