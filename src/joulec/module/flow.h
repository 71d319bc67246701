/* joulec/module/flow.h - the order in which a function's blocks can run, and which of them no way to another avoids.
 *
 * Owns the order, the blocks before each block, and dominators (Lengauer and Tarjan 1979, the simple form): all in a time that
 * hardly grows faster than the edges, whatever the graph. It knows no loops.
 * Newcomers: what cannot be reached has no rank, and dominates nothing.
 */
#ifndef JOULEC_FLOW_H
#define JOULEC_FLOW_H

#include "joulec/module/module.h"

#define FLOW_NONE UINT32_MAX

struct flow {
    uint32_t *order; /* blocks that can be reached, each after those before it but for ways back */
    size_t reached;
    uint32_t *rank;                  /* of each block, its place in the order; FLOW_NONE: not reached */
    uint32_t *before, *before_begin; /* before[before_begin[b] .. before_begin[b + 1]) lead to block b */
    /* Of each block: its place in a walk down the tree of dominators, and the last place of those that it dominates. */
    uint32_t *tree_first, *tree_last;
    uint32_t *
        dominator; /* of each reached block, the last other one that every way to it passes; the entry's is the entry */
};

/* NO_MEMORY, or OK. In `arena`. */
joule_status flow_find(struct arena *arena, const struct function *function, struct flow *out_flow);
/* Whether each way to `b` passes `a`; both are reached. */
static inline bool flow_dominates(const struct flow *flow, uint32_t a, uint32_t b)
{
    return flow->tree_first[a] <= flow->tree_first[b] && flow->tree_first[b] <= flow->tree_last[a];
}

#endif
