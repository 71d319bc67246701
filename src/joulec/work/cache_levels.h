/* joulec/work/cache_levels.h - cache lines that each run of a block moves, by the cache level from which they
 * come.
 *
 * Computes footprints, the bytes that one iteration of each loop touches. A line that is reused is still
 * cached if the footprint between its uses fits. Caches are assumed to replace the least recently used line.
 * When a function begins, all its data is assumed to be in the nearest level that is large enough; in the
 * worst case, in DRAM.
 * Note: data with an unknown address and variable is assumed to be in L1 in the best case and in DRAM in the
 * worst case. The estimate assumes that it is in L1, and partly in L2.
 */
#ifndef JOULEC_CACHE_LEVELS_H
#define JOULEC_CACHE_LEVELS_H

#include "joulec/work/address.h"
#include "joulec/work/sum.h"

/* Memory traffic per run of a block. */
struct block_memory {
    double lines[BOUNDS][COST_LEVELS]; /* by the level from which they come; 0 for COST_L1 */
    double wait_cycles[BOUNDS];        /* latency of these lines within the loop's recurrence, in cycles */
    double streamed; /* part of the lines that is accessed in a regular order, 0 to 1; NaN: no lines */
};

/* Fills out[0..block_count), and sets out_bytes to the bytes that one call of the function touches. callees:
 * as for sum_function(). `arena`: memory for the computation. Returns JOULE_OK or JOULE_NO_MEMORY. */
joule_status cache_levels_find(struct arena *arena, const struct addresses *addresses,
                               const struct loop_times *times, const struct cost_core *core,
                               const struct function_sum *const *callees, struct block_memory *out,
                               double out_bytes[BOUNDS]);

#endif
