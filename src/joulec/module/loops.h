/* joulec/module/loops.h - finds the natural loops and the regions of a function.
 *
 * A region is the body of one loop, or of the function. Each directly nested loop is one node of the region.
 * Note: back edges to the same header belong to one loop. A function with a jump into the middle of a loop is
 * irregular.
 */
#ifndef JOULEC_LOOPS_H
#define JOULEC_LOOPS_H

#include "joulec/module/cold.h"

/* Maximum nesting of loops. A loop that is nested deeper is merged into the loop around it. */
#define LOOPS_MAX_DEPTH 64

/* Which memory always overlaps the memory that a loop writes. A vectorized version of the loop may first
 * check that its data does not overlap. If there is such memory, this version never runs. */
enum overlap {
    OVERLAP_NONE, /* no memory is known to overlap */
    /* other memory that the loop writes, or memory that it reads at a different address in each iteration */
    OVERLAP_MOVING,
    OVERLAP_ONE_PLACE /* memory that the loop reads at the same address in each iteration */
};

/* A natural loop of the function. */
struct loop {
    uint32_t header;                /* index of a block */
    int32_t parent;                 /* index of the loop around it; -1: none */
    unsigned depth;                 /* 1: outermost */
    struct source_place place;      /* place in the source; file NULL: unknown */
    struct source_place last;       /* place of its latch; file NULL: unknown */
    const struct built_loop *built; /* the loop in the user's build; NULL: unchanged, or unknown */
    enum overlap overlap;
    const struct object *overlapped; /* for OVERLAP_ONE_PLACE: the object read; NULL: unknown */
    bool is_outer;                   /* it contains another loop */
    bool is_unjoined;                /* the corresponding loop of the user's build is unknown */
    bool has_own_place;              /* `place` is the place of the loop's keyword, not of an instruction */
    bool may_be_two;                 /* LLVM may have merged two nested loops of the source into this one */
    bool has_inlined;                /* with may_be_two: a part of the loop was inlined */
    uint32_t first, end;             /* blocks, with those of inner loops: loops->members[first .. end) */
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
    uint32_t *members;  /* reachable blocks, ordered so that the blocks of each loop are contiguous */
    uint32_t *place;    /* position of each reachable block in `members` */
    /* Nodes of the region of loop l (-1: the function), in reverse postorder: nodes[node_begin[l + 1] ..
     * node_begin[l + 2]). A node is a block of the region, or the header of a loop directly nested in it. */
    uint32_t *nodes, *node_begin;
    /* Edges that leave loop l but not its parent: exits[exit_begin[l] .. exit_begin[l + 1]). */
    struct loop_exit *exits;
    uint32_t *exit_begin;
    bool is_irregular; /* a jump leads into the middle of a loop */
    bool is_too_deep;  /* loops were merged because of LOOPS_MAX_DEPTH */
};

/* Finds all loops in O(edges) time. Allocates the arrays of *out_loops in `arena`. Returns JOULE_OK or
 * JOULE_NO_MEMORY. */
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
