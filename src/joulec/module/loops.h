/* joulec/module/loops.h - finds the natural loops of a function, and its regions.
 *
 * A region is the body of one loop, or of the function, with each directly nested loop as one node. The time
 * is linear in the edges. Note: loops with the same header are one loop. A jump into the middle of a loop
 * makes the function irregular.
 */
#ifndef JOULEC_LOOPS_H
#define JOULEC_LOOPS_H

#include "joulec/module/cold.h"

/* Loops that are nested deeper are merged into the loop around them. */
#define LOOPS_MAX_DEPTH 64

/* States whether the memory that a loop writes always overlaps other memory that it accesses. A vectorized
 * version of the loop for non-overlapping data then never runs. */
enum overlap {
    OVERLAP_NONE, /* no, or unknown */
    OVERLAP_MOVING,
    OVERLAP_ONE_PLACE /* memory that the loop reads in each iteration */
};

/* A natural loop of the function. */
struct loop {
    uint32_t header;                /* index of a block */
    int32_t parent;                 /* index of the loop around it; -1: none */
    unsigned depth;                 /* 1: outermost */
    struct source_place place;      /* place in the source; file NULL: unknown */
    struct source_place last;       /* place of its latch; file NULL: unknown */
    const struct built_loop *built; /* the loop as built (built_loop.h); NULL: unchanged, or unknown */
    enum overlap overlap;
    const struct object *overlapped; /* for OVERLAP_ONE_PLACE: the object that the loop reads; NULL:
                                      * unknown */
    bool is_outer;                   /* it contains another loop */
    bool is_unjoined;                /* it is unknown what the build makes of it */
    bool has_own_place;              /* `place` is that of its keyword, not of its first instruction */
    bool may_be_two;                 /* LLVM may have merged two nested loops of the source into it */
    uint32_t first, end;             /* its blocks, including inner loops: loops->members[first .. end) */
};

/* An edge that leaves a loop: a block, and the index of the edge among the block's edges. */
struct loop_exit {
    uint32_t block, edge;
};

/* The loops of one function, and the lists of their blocks, nodes and exits. */
struct loops {
    struct flow flow;
    struct loop *list; /* outer loops first */
    size_t count;
    int32_t *innermost; /* innermost loop of each block; -1: none */
    enum heat *heat;    /* heat of each block */
    uint32_t *members;  /* reachable blocks, those of each loop contiguous */
    uint32_t *place;    /* position of each reachable block in `members` */
    /* Nodes of the region of loop l (-1: the function), in reverse postorder: nodes[node_begin[l + 1] ..
     * node_begin[l + 2]). A node is a block of the region, or the header of a loop directly nested in it. */
    uint32_t *nodes, *node_begin;
    /* Edges that leave loop l but not its parent: exits[exit_begin[l] .. exit_begin[l + 1]). */
    struct loop_exit *exits;
    uint32_t *exit_begin;
    bool is_irregular, is_too_deep;
};

/* Finds all loops, in memory of `arena`. Returns JOULE_OK or JOULE_NO_MEMORY. */
joule_status loops_find(struct arena *arena, const struct function *function, struct loops *out_loops);

/* Returns true if the loop exits from its header. The header then runs once more than the body. */
bool loop_is_top_tested(const struct function *function, const struct loops *loops, int32_t loop);

/* Returns true if each complete iteration of `loop` runs `block`: the block dominates all latches. */
bool loop_always_runs(const struct loops *loops, int32_t loop, uint32_t block);

/* Returns true if `loop` is `outer` or lies within it. Always true for outer -1. */
static inline bool loop_is_within(const struct loops *loops, int32_t loop, int32_t outer)
{
    return outer < 0 || (loop >= 0 && loops->list[outer].first <= loops->list[loop].first &&
                         loops->list[loop].end <= loops->list[outer].end);
}

/* Returns the loop directly within `outer` (-1: the function) whose header is `block`, a node of the region
 * of `outer`. Returns -1 if the node is a plain block. */
static inline int32_t loop_at_node(const struct loops *loops, uint32_t block, int32_t outer)
{
    int32_t inner = loops->innermost[block];
    bool is = inner >= 0 && loops->list[inner].header == block && loops->list[inner].parent == outer;
    return is ? inner : -1;
}

/* Returns true if a reachable block lies in `loop`. Always true for loop -1. */
static inline bool loop_has(const struct loops *loops, int32_t loop, uint32_t block)
{
    return loop < 0 ||
           (loops->list[loop].first <= loops->place[block] && loops->place[block] < loops->list[loop].end);
}

/* Returns true if an edge of the block leaves the loop. */
static inline bool loop_is_left_from(const struct loops *loops, int32_t loop, const struct block *block)
{
    for (size_t i = 0; i < block->edge_count; i++)
        if (!loop_has(loops, loop, block->edges[i].to))
            return true;
    return false;
}

#endif
