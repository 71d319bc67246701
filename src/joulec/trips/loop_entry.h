/* joulec/trips/loop_entry.h - finds how each loop of a function is entered, as far as the control flow shows
 * it.
 *
 * Answers whether a loop runs in each iteration of the loop around it; trips.h uses the answer.
 * Note: clang rotates `while (c) ...` to `if (c) do ... while (c)`. Such a guard is distinguished from other
 * branches by its condition: it is equivalent to the sign of the loop's formula.
 */
#ifndef JOULEC_LOOP_ENTRY_H
#define JOULEC_LOOP_ENTRY_H

#include "joulec/module/loops.h"
#include "joulec/source/marks.h"
#include "joulec/trips/trips.h"

/* Fills out[0..loops->count). `facts` may be NULL; formulas are added to its pool. Returns JOULE_OK or
 * JOULE_NO_MEMORY. */
joule_status loop_entry_find(struct arena *arena, const struct function *function, const struct loops *loops,
                             struct scev_function *facts, struct trips_loop *out);

/* Adds the trip counts that marks state (marks_join) to out[0..loops->count), which loop_entry_find() has
 * filled. MARK_NONE: the loop has no mark. */
void loop_entry_annotate(const struct function *function, const struct loops *loops, const struct mark *marks,
                         const uint32_t *mark_of, struct trips_loop *out);

#endif
