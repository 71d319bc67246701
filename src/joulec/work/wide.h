/* joulec/work/wide.h - what a round of a loop takes in the build, where that does several rounds at once, or has unrolled loops inside.
 *
 * Owns finding the build's loops again by their place in the source, and the price of a round then.
 * Newcomers: cache lines are those of the source's accesses, whatever the build does with them.
 */
#ifndef JOULEC_WIDE_H
#define JOULEC_WIDE_H

#include "joulec/work/sum.h"

/* What is known of the order of a round. */
struct wide_order {
    double streamed;            /* as of cost_flow */
    double entry_uops;          /* as of cost_core_restarted */
    double wait_cycles[BOUNDS]; /* of its chain for lines from farther than L1 */
    bool overlaps;              /* vectors for data that does not overlap are never used */
};

/* Sets `wide` and `is_unjoined` of all loops. */
void wide_join(const struct module *module, const struct function *function, struct loops *loops);
/* Changes the amounts of a round of loops->list[loop], for each time that it is entered at the end of `times`; and of the loops
 * inside, which are in `inner` by loop, along with it; `inner` NULL: of none. */
void wide_apply(const struct target *target, const struct loops *loops, size_t loop,
                const struct loop_times *times, const struct wide_order *order, struct amounts *round,
                struct amounts *inner);

#endif
