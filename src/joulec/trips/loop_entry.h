/* joulec/trips/loop_entry.h - finds from the control flow how each loop of a function is entered.
 *
 * A loop is entered in each iteration of the loop around it, or only if its guard is passed, or under another
 * condition.
 * Note: clang rotates `while (c) ...` to `if (c) do ... while (c)`. Such a guard is distinguished from other
 * branches by its condition, which holds exactly where the loop's formula is >= 0.
 */
#ifndef JOULEC_LOOP_ENTRY_H
#define JOULEC_LOOP_ENTRY_H

#include "joulec/module/loops.h"
#include "joulec/source/marks.h"
#include "joulec/trips/trips.h"

/* Fills out[0..loops->count); arrays are allocated in `arena`. facts: formulas of the function, to whose pool
 * formulas are added; NULL: none. Returns JOULE_OK or JOULE_NO_MEMORY. */
joule_status loop_entry_find(struct arena *arena, const struct function *function, const struct loops *loops,
                             struct scev_function *facts, struct trips_loop *out);

/* Adds the trip counts of marks to out[0..loops->count), which loop_entry_find() has filled. mark_of: from
 * marks_join(), the index of each loop's mark; MARK_NONE: the loop has no mark. */
void loop_entry_annotate(const struct function *function, const struct loops *loops, const struct mark *marks,
                         const uint32_t *mark_of, struct trips_loop *out);

#endif
