/* joulec/trips/nest.h - how each loop of a function is reached, as far as the graph shows it, for trips.h.
 *
 * Owns the question whether a loop runs in each round of the loop around it. What follows from that is trips.h's.
 * Newcomers: clang turns `while (c) ...` into `if (c) do ... while (c)`; such a guard is told from any other branch by what it
 * asks: whether the loop's formula is negative.
 */
#ifndef JOULEC_NEST_H
#define JOULEC_NEST_H

#include "joulec/module/loops.h"
#include "joulec/source/marks.h"
#include "joulec/trips/trips.h"

/* Fills out[0..loops->count). `facts` may be NULL; formulas are added to its pool. NO_MEMORY, or OK. */
joule_status nest_describe(struct arena *arena, const struct function *function, const struct loops *loops,
                           struct scev_function *facts, struct trips_loop *out);

/* Writes into loops[0..loops->count), which nest_describe filled, what their marks say (marks_join); MARK_NONE: nothing. */
void nest_annotate(const struct function *function, const struct loops *loops, const struct mark *marks,
                   const uint32_t *mark_of, struct trips_loop *out);

#endif
