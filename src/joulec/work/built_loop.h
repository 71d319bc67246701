/* joulec/work/built_loop.h - the work of a loop's iteration in the user's build, where the loop is vectorised
 * or has unrolled inner loops.
 *
 * Finds the loops of the build by their places in the source.
 * Note: cache lines are those of the source's accesses, independent of the build.
 */
#ifndef JOULEC_BUILT_LOOP_H
#define JOULEC_BUILT_LOOP_H

#include "joulec/work/sum.h"

/* The recurrence of an iteration. */
struct built_loop_order {
    double streamed;            /* like cost_flow */
    double entry_uops;          /* like cost_core_restarted() */
    double wait_cycles[BOUNDS]; /* latency of lines beyond L1 within its recurrence */
    bool overlaps;              /* the vector version for data that does not overlap never runs */
};

/* Sets `built` and `is_unjoined` of all loops. */
void built_loop_join(const struct module *module, const struct function *function, struct loops *loops);
/* Replaces the work of an iteration of loops->list[loop] by that of the build, with its part of the work per
 * entry. Scales the work of the loops inside, which is in `inner` by loop, by the same factor; `inner` NULL:
 * none. */
void built_loop_apply(const struct target *target, const struct loops *loops, size_t loop,
                      const struct loop_times *times, const struct built_loop_order *order,
                      struct amounts *iteration, struct amounts *inner);

#endif
