/* joulec/trips/loop_exits.h - separates a loop's exits that determine its trip count from those that are
 * hardly ever taken.
 *
 * A call that returns never takes the exit of a failing assertion, so the other exits determine the loop's
 * count. Three kinds of exits may end the loop early, but do not determine its count: exits that a hint marks
 * as unlikely, exits to a cold call, and exits that end the program by exit() or longjmp().
 */
#ifndef JOULEC_LOOP_EXITS_H
#define JOULEC_LOOP_EXITS_H

#include "joulec/module/loops.h"
#include "joulec/trips/trips.h"

/* Sets has_dead_exits, may_leave_early and early_probability of *out. Replaces out->facts, LLVM's information
 * about the loop (NULL: none), by information without such exits, which is allocated in the pool of `facts`.
 * out->facts becomes NULL if out of memory. */
void loop_exits_judge(const struct function *function, const struct loops *loops, int32_t loop,
                      struct scev_function *facts, struct trips_loop *out);

/* Returns true if a call that returns can take this exit, as far as the code shows. */
static inline bool loop_exit_is_live(const struct loops *loops, const struct edge *edge)
{
    return loops->heat[edge->to] != HEAT_NEVER;
}

#endif
