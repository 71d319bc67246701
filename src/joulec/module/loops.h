/* joulec/module/loops.h - the natural loops of a function, found from its blocks and edges.
 *
 * Owns the tree of loops, and the regions: the body of one loop, or of the function, with each loop directly inside as one node.
 * It does not know how often they run. All is found in a time that grows with the edges, and so is no graph too large.
 * Newcomers: loops with the same first block are one. A way into the middle of a loop makes the function irregular.
 */
#ifndef JOULEC_LOOPS_H
#define JOULEC_LOOPS_H

#include "joulec/module/cold.h"

/* Loops that are nested deeper are taken for a part of the one around them. */
#define LOOPS_MOST_DEPTH 64

/* Whether what a loop writes always meets something else that it touches, so that vectors for data that does not are never used. */
enum overlap {
    OVERLAP_NONE, /* or it is not known */
    OVERLAP_MOVING,
    OVERLAP_ONE_PLACE /* which the loop reads again in each round */
};

struct loop {
    uint32_t header;              /* block */
    int32_t parent;               /* loop around it; -1: none */
    unsigned depth;               /* 1: outermost */
    struct source_place place;    /* in the source, as far as it is known */
    struct source_place last;     /* of its last block; file NULL: unknown */
    const struct wide_loop *wide; /* as the build makes it: wide.h; NULL: as it stands, or it is not known */
    enum overlap overlap;
    const struct object *overlapped; /* of ONE_PLACE, what it lies in; NULL: unknown */
    bool is_outer;                   /* there is one inside */
    bool is_unjoined;                /* nobody knows what the build makes of it */
    bool has_own_place;              /* it is the keyword's, not that of the first thing done in it */
    enum parted parted;
    uint32_t first, end; /* its blocks, those of inner loops among them: loops->members[first .. end) */
};

/* An edge, by where it is. */
struct loop_exit {
    uint32_t block, edge;
};

struct loops {
    struct flow flow;
    struct loop *list; /* outer ones first */
    size_t count;
    int32_t *innermost; /* of each block; -1: in no loop */
    enum heat *heat;    /* of each block */
    uint32_t *members;  /* reached blocks, those of each loop together */
    uint32_t *place;    /* of each reached block among the members */
    /* nodes[node_begin[l + 1] .. node_begin[l + 2]) are those of the region of loop l, -1 for the function, in the flow's order: its
     * blocks, and of loops directly inside the headers. */
    uint32_t *nodes, *node_begin;
    /* exits[exit_begin[l] .. exit_begin[l + 1]) lead out of loop l and no further than its parent's region. */
    struct loop_exit *exits;
    uint32_t *exit_begin;
    bool is_irregular, is_too_deep;
};

/* NO_MEMORY, or OK. In `arena`. */
joule_status loops_find(struct arena *arena, const struct function *function, struct loops *out_loops);

/* Whether it is left from its header, which then runs once more than the body. */
bool loop_is_top_tested(const struct function *function, const struct loops *loops, int32_t loop);

/* Whether `loop` is `outer` or lies in it; outer -1: always. */
static inline bool loop_is_within(const struct loops *loops, int32_t loop, int32_t outer)
{
    return outer < 0 || (loop >= 0 && loops->list[outer].first <= loops->list[loop].first &&
                         loops->list[loop].end <= loops->list[outer].end);
}

/* The loop directly inside `outer` (-1: the function) that begins with `block`, a node of its region; -1: it is a block. */
static inline int32_t loop_at_node(const struct loops *loops, uint32_t block, int32_t outer)
{
    int32_t inner = loops->innermost[block];
    bool is = inner >= 0 && loops->list[inner].header == block && loops->list[inner].parent == outer;
    return is ? inner : -1;
}

/* Whether a reached block lies in `loop`; -1: always. */
static inline bool loop_has(const struct loops *loops, int32_t loop, uint32_t block)
{
    return loop < 0 ||
           (loops->list[loop].first <= loops->place[block] && loops->place[block] < loops->list[loop].end);
}

/* Whether one of the ways out of a block of the loop leaves it. */
static inline bool loop_is_left_from(const struct loops *loops, int32_t loop, const struct block *block)
{
    for (size_t i = 0; i < block->edge_count; i++)
        if (!loop_has(loops, loop, block->edges[i].to))
            return true;
    return false;
}

#endif
