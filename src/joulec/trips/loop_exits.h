/* joulec/trips/loop_exits.h - separates a loop's exits that determine its trip count from those that are
 * hardly ever taken.
 *
 * A failing assertion is not an exit of a call that returns, so the loop's count is that of its other exits.
 * Three kinds of exits may end the loop early, but do not tell when: an exit that a hint marks as unlikely,
 * one that leads to a cold call, and one that ends the program by exit() or longjmp().
 */
#ifndef JOULEC_LOOP_EXITS_H
#define JOULEC_LOOP_EXITS_H

#include "joulec/module/loops.h"
#include "joulec/trips/trips.h"

/* Sets out->facts to those without such exits, has_dead_exits, may_leave_early and early_probability. Before
 * the call out->facts is LLVM's information about the loop; NULL: none. The result is allocated in the pool
 * of `facts`, the function's. */
void loop_exits_judge(const struct function *function, const struct loops *loops, int32_t loop,
                      struct scev_function *facts, struct trips_loop *out);

/* Returns true if an edge leaves the loop in a call that returns, as far as the code shows. */
static inline bool loop_exit_is_live(const struct loops *loops, const struct edge *edge)
{
    return loops->heat[edge->to] != HEAT_NEVER;
}

#endif
