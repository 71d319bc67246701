/* joulec/module/cold.h - blocks that hardly ever run, as every path from them ends the program or calls a
 * cold function.
 *
 * Note: an edge back to a block that comes earlier makes nothing cold, so that a loop without an exit is
 * normal.
 */
#ifndef JOULEC_COLD_H
#define JOULEC_COLD_H

#include "joulec/module/flow.h"

enum heat {
    HEAT_NORMAL,
    HEAT_COLD, /* every path calls a function with the attribute cold */
    HEAT_DEAD, /* every path ends the program, if only by exit() or longjmp() */
    HEAT_NEVER /* every path is an error's: it aborts, or cannot be */
};

static inline bool heat_is_dead(enum heat heat)
{
    return heat >= HEAT_DEAD;
}

/* Fills out_heat of each reached block; out_heat begins as zeros. is_closed: by an edge's number, whether it
 * is never taken; NULL: all edges are open. */
void cold_find(const struct function *function, const struct flow *flow, const bool *is_closed,
               enum heat *out_heat);

#endif
