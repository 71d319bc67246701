/* joulec/module/cold.c - see cold.h. */
#include "joulec/module/cold.h"

#include <string.h>

/* Returns true if the block ends the program because of an error: its last call is abort or a similar
 * function, or it is marked as impossible to reach. */
static bool is_error(const struct block *block)
{
    static const char *const names[] = {
        "abort",        "__assert_fail",    "__assert_perror_fail", "__assert",      "__assert2",
        "__assert_rtn", "__stack_chk_fail", "__chk_fail",           "__builtin_trap"};
    const char *last = block->call_count ? block->calls[block->call_count - 1].name : "__builtin_trap";
    for (size_t i = 0; last && i < sizeof names / sizeof *names; i++)
        if (strcmp(last, names[i]) == 0)
            return true;
    return false;
}

/* Returns the warmest heat of the successors over edges that are not closed. Returns HEAT_NORMAL for a block
 * without edges. */
static enum heat heat_of_paths(const struct block *block, const bool *is_closed, const enum heat *heat)
{
    enum heat warmest = block->edge_count ? HEAT_NEVER : HEAT_NORMAL;
    for (size_t e = 0; e < block->edge_count; e++) {
        const struct edge *edge = &block->edges[e];
        bool is_open = !is_closed || !is_closed[edge->number];
        if (is_open && heat[edge->to] < warmest)
            warmest = heat[edge->to];
    }
    return warmest;
}

void cold_find(const struct function *function, const struct flow *flow, const bool *is_closed,
               enum heat *out_heat)
{
    for (size_t i = flow->reached; i-- > 0;) {
        uint32_t b = flow->order[i];
        const struct block *block = &function->blocks[b];
        out_heat[b] = heat_of_paths(block, is_closed, out_heat);
        if (block->is_dead_end)
            out_heat[b] = is_error(block) ? HEAT_NEVER : HEAT_DEAD;
        if (block->is_cold && out_heat[b] == HEAT_NORMAL)
            out_heat[b] = HEAT_COLD;
    }
}
