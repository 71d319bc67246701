/* joulec/module/cold.h - finds blocks that rarely run, because every path from them ends the program or
 * calls a cold function.
 *
 * Note: an edge back to an earlier block counts as normal, so the blocks of an endless loop are not cold.
 */
#ifndef JOULEC_COLD_H
#define JOULEC_COLD_H

#include "joulec/module/flow.h"

/* How often a block runs, from normal to never. */
enum heat {
    HEAT_NORMAL,
    HEAT_COLD, /* every path calls a function with the attribute cold */
    HEAT_DEAD, /* every path ends the program, possibly only by exit() or longjmp() */
    HEAT_NEVER /* every path is an error: it aborts, or it is impossible */
};

static inline bool heat_is_dead(enum heat heat)
{
    return heat >= HEAT_DEAD;
}

/* Sets out_heat[b] of each reachable block b. The caller zeroes out_heat[0..function->block_count).
 * is_closed[n]: true if the edge with number n is never taken; is_closed NULL: each edge may be taken. */
void cold_find(const struct function *function, const struct flow *flow, const bool *is_closed,
               enum heat *out_heat);

#endif
