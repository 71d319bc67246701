/* joulec/module/flow.h - control flow of a function: reverse postorder, predecessors and dominators of its
 * blocks.
 *
 * Dominators are found with the simple algorithm of Lengauer and Tarjan 1979, in O(edges log blocks) for any
 * graph. Note: unreachable blocks have no rank and dominate nothing.
 */
#ifndef JOULEC_FLOW_H
#define JOULEC_FLOW_H

#include "joulec/module/module.h"

#define FLOW_NONE UINT32_MAX

/* The control flow of one function. */
struct flow {
    uint32_t *order; /* reachable blocks in reverse postorder */
    size_t reached;  /* number of reachable blocks: the length of `order` */
    uint32_t *rank;  /* position of each block in `order`; FLOW_NONE: unreachable */
    /* The predecessors of block b are predecessors[predecessor_begin[b] .. predecessor_begin[b + 1]). */
    uint32_t *predecessors, *predecessor_begin;
    /* Preorder number of each block in the dominator tree, and the last number in its subtree. */
    uint32_t *tree_first, *tree_last;
    /* immediate dominator of each reachable block; for the entry block, the block itself */
    uint32_t *dominator;
};

/* Computes the control flow of `function`. Allocates the arrays of *out_flow in `arena`. Returns JOULE_OK or
 * JOULE_NO_MEMORY. */
joule_status flow_find(struct arena *arena, const struct function *function, struct flow *out_flow);
/* Returns true if every path from the entry to `b` passes through `a`. Both blocks must be reachable. */
static inline bool flow_dominates(const struct flow *flow, uint32_t a, uint32_t b)
{
    return flow->tree_first[a] <= flow->tree_first[b] && flow->tree_first[b] <= flow->tree_last[a];
}

#endif
