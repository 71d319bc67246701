/* infer/grammar/grammar_automaton.h - builds the automaton of a grammar, and advances its states.
 *
 * The automaton is nondeterministic. There are three kinds of edges. The first consumes a byte. The second
 * consumes nothing. The third calls: it pushes its target on the stack, and continues at another node. At a
 * final node, the automaton pops the last target and continues there. */
#ifndef FORGE_INFER_GRAMMAR_AUTOMATON_H
#define FORGE_INFER_GRAMMAR_AUTOMATON_H

#include "forge/infer/grammar/grammar.h"

#define NO_NODE         UINT32_MAX
#define GRAMMAR_NO_NEED UINT8_MAX

struct grammar_edge {
    uint32_t target;
    uint32_t callee;   /* node at which a called part begins; NO_NODE: the edge does not call */
    uint8_t low, high; /* bytes of an edge that consumes a byte */
};

struct grammar_node {
    uint32_t first_byte, first_other; /* first edge that consumes a byte; first edge that does not */
    bool is_final;
    /* Minimum number of frames that must be pushed to reach the end of the part; GRAMMAR_NO_NEED: the end
     * cannot be reached. */
    uint8_t need;
};

struct grammar {
    uint32_t start, node_count;
    /* [node_count + 1]; the edges of a node end at the first edge of the next node. */
    struct grammar_node *nodes;
    struct grammar_edge *edges;
};

/* --- building ------------------------------------------------------------------------------------------- */

enum draft_kind { DRAFT_BYTE, DRAFT_EMPTY, DRAFT_CALL };

struct draft_edge {
    struct grammar_edge edge;
    enum draft_kind kind;
    uint32_t source, next; /* next edge of the same source; NO_NODE: last */
};

struct draft_node {
    uint32_t first, last; /* first and last edge, in the order in which they were added; NO_NODE: none */
    bool is_final;
};

/* An automaton that is being built. Initialise with zeros. After a failure all functions return without
 * effect, so it is enough to check `status` once. */
struct draft {
    struct draft_node *nodes;
    size_t node_count, node_capacity;
    struct draft_edge *edges;
    size_t edge_count, edge_capacity;
    joule_status status; /* JOULE_OK, JOULE_NO_MEMORY, or JOULE_UNSUPPORTED: too many nodes */
};

uint32_t draft_node(struct draft *draft);
/* Add an edge: draft_bytes one that consumes a byte from `low` to `high`, draft_empty one that consumes
 * nothing, draft_call one that calls. */
void draft_bytes(struct draft *draft, uint32_t source, uint8_t low, uint8_t high, uint32_t target);
void draft_empty(struct draft *draft, uint32_t source, uint32_t target);
void draft_call(struct draft *draft, uint32_t source, uint32_t callee, uint32_t target);
void draft_final(struct draft *draft, uint32_t node);
/* Returns the node that is reached from `source` by exactly these bytes, along edges of single bytes. Adds
 * missing nodes, so alternatives share their common beginnings. */
uint32_t draft_literal(struct draft *draft, uint32_t source, const char *bytes, size_t size);
/* Creates the grammar from a draft. JOULE_INVALID: no text leads from `start` to a final node. */
joule_status draft_finish(struct draft *draft, uint32_t start, struct grammar **out_grammar,
                          joule_error *out_error);
void draft_free(struct draft *draft);

/* --- advancing ------------------------------------------------------------------------------------------ */

/* The frames of all threads while the automaton advances. frames[0]: the bottom, at which the text ends. */
struct grammar_walk {
    const struct grammar *grammar;
    struct grammar_frame *frames;
    uint32_t frame_count, frame_capacity;
    bool is_complete; /* the last step reached the end of the text */
    /* Maximum, over all threads so far, of the depth of the thread's frame plus the need of its node. */
    unsigned depth;
};

/* Adds a thread, and all threads that it reaches without consuming a byte, to threads [*count]. There are at
 * most GRAMMAR_MAX_THREADS threads. */
void grammar_add(struct grammar_walk *walk, struct grammar_thread *threads, uint32_t *count,
                 struct grammar_thread thread);
/* Advances all threads by a byte. Writes the new threads to out_threads, and returns their number. */
uint32_t grammar_step(struct grammar_walk *walk, const struct grammar_thread *threads, uint32_t count,
                      uint8_t byte, struct grammar_thread *out_threads);

#endif
