/* joulec/loops.h - the natural loops of a function, found from its blocks and edges.
 *
 * Owns dominators (Cooper, Harvey and Kennedy 2001) and the tree of loops. It does not know how often they run.
 * Newcomers: loops with the same first block are one. A way into the middle of a loop makes the function irregular.
 */
#ifndef JOULEC_LOOPS_H
#define JOULEC_LOOPS_H

#include "joulec/module.h"

struct loop {
    uint32_t header;           /* block */
    int32_t parent;            /* loop around it; -1: none */
    unsigned depth;            /* 1: outermost */
    struct source_place place; /* in the source, as far as it is known */
};

struct loops {
    struct loop *list; /* outer ones first */
    size_t count;
    int32_t *innermost; /* of each block; -1: in no loop */
    uint32_t *order;    /* blocks that can be reached, each after those before it but for ways back */
    size_t reached;
    bool is_irregular;
};

/* NO_MEMORY, or OK. In `arena`. */
joule_status loops_find(struct arena *arena, const struct function *function, struct loops *out_loops);
/* Whether `loop` is `outer` or lies in it; outer -1: always. */
bool loop_is_within(const struct loops *loops, int32_t loop, int32_t outer);

#endif
