/* joulec/work/cache_levels.h - cache lines that each run of a block moves, by the cache level from which they
 * come.
 *
 * Computes footprints: the lines that one iteration of each loop touches, and from them which lines are still
 * cached when they are reused. Caches are assumed to replace the least recently used line. All data of a
 * function is assumed to be where the previous call left it, in the nearest level that can hold all of it; in
 * the worst case it is in DRAM.
 * Note: data with an unknown address is in L1 in the best case, estimated to be in L1 or sometimes L2, and in
 * DRAM in the worst case, unless the variable that contains it is known.
 */
#ifndef JOULEC_CACHE_LEVELS_H
#define JOULEC_CACHE_LEVELS_H

#include "joulec/work/address.h"
#include "joulec/work/sum.h"

/* Memory traffic per run of a block. */
struct block_memory {
    double lines[BOUNDS][COST_LEVELS]; /* by the level from which they come; COST_L1: none */
    double wait_cycles[BOUNDS];        /* latency of these lines within the loop's recurrence */
    double streamed; /* part of the lines that is accessed sequentially; NaN: there are none */
};

/* Fills out[0..block_count), and the bytes that one call of the function touches. callees: by the number of
 * each call, as for sum_function(). Allocates in `arena`. Returns JOULE_OK or JOULE_NO_MEMORY. */
joule_status cache_levels_find(struct arena *arena, const struct addresses *addresses,
                               const struct loop_times *times, const struct cost_core *core,
                               const struct function_sum *const *callees, struct block_memory *out,
                               double out_bytes[BOUNDS]);

#endif
