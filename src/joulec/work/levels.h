/* joulec/work/levels.h - how many cache lines move for each run of a block, and from which level they come.
 *
 * Owns footprints: the lines that one round of each loop touches, and so what of it is still near when it is asked for again.
 * Caches are taken to keep what was used last. What a function touches in all is taken to be where the call before left it,
 * in the nearest level that holds it; at worst it is in DRAM.
 * Newcomers: data whose address nobody knows is at best in L1, mostly there and else in L2 as is assumed, and at worst in DRAM,
 * unless the variable in which it lies is known.
 */
#ifndef JOULEC_LEVELS_H
#define JOULEC_LEVELS_H

#include "joulec/work/address.h"
#include "joulec/work/sum.h"

/* For each run of a block. */
struct block_memory {
    double lines[BOUNDS][COST_LEVELS]; /* by the level that they come from; of COST_L1: none */
    double wait_cycles[BOUNDS];        /* of its part of the loop's chain, for those lines */
    double streamed;                   /* of the lines, the part that comes in order; NaN: there are none */
};

/* callees: of each call by its number, as for sum_function. Fills out[0..block_count) and what a call of this one
 * touches. In `arena`. NO_MEMORY, or OK. */
joule_status levels_describe(struct arena *arena, const struct addresses *addresses,
                             const struct loop_times *times, const struct cost_core *core,
                             const struct function_sum *const *callees, struct block_memory *out,
                             double out_bytes[BOUNDS]);

#endif
