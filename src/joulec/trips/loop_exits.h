/* joulec/trips/loop_exits.h - the exits of a loop that say how often it runs, and those that hardly ever do.
 *
 * An assertion that fails is no exit of a call that returns, so that the loop's count is that of its other
 * exits. An exit that a hint calls unlikely, that leads to a cold call or that ends the program by exit() or
 * longjmp() may end the loop early, but is no estimate of when.
 */
#ifndef JOULEC_LOOP_EXITS_H
#define JOULEC_LOOP_EXITS_H

#include "joulec/module/loops.h"
#include "joulec/trips/trips.h"

/* Sets out->facts to those without such exits, has_dead_exits, may_leave_early and early_probability.
 * out->facts begins as what LLVM says of the loop; NULL: nothing. In the pool of `facts`, which is that of
 * the function. */
void loop_exits_judge(const struct function *function, const struct loops *loops, int32_t loop,
                      struct scev_function *facts, struct trips_loop *out);

/* Whether an edge that leaves a loop is an exit of a call that returns, as far as the code shows it. */
static inline bool loop_exit_is_live(const struct loops *loops, const struct edge *edge)
{
    return loops->heat[edge->to] != HEAT_NEVER;
}

#endif
