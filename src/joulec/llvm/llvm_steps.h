/* joulec/llvm/llvm_dependence.h - the data dependence graph of the instructions of some blocks.
 *
 * Note: a node depends on its operands. llvm_chain.c decides where chains begin and end.
 */
#ifndef JOULEC_LLVM_STEPS_H
#define JOULEC_LLVM_STEPS_H

#include "joulec/llvm/llvm_module.h"

/* A dependence on another node. */
struct wait {
    int32_t on;   /* index of that node */
    double times; /* latency, in multiples of the node's latency */
};

struct step {
    LLVMValueRef value;
    double latency;
    uint32_t first_wait, wait_count;
    double waits_at_once; /* latency factor if all operands are ready */
    uint32_t block;       /* index in the function */
    struct call *call;    /* NULL: not a real call */
    bool is_moving;       /* depends on an induction variable */
    /* The longest path to this node in the current search. */
    bool is_begin; /* paths may begin here */
    double cycles; /* latency up to the node's result; negative: no path */
    double waits;  /* latency factor of the node on this path */
    int32_t from;  /* previous node; -1: none */
};

struct steps {
    struct arena *arena;
    LLVMTargetDataRef layout;
    LLVMBasicBlockRef *from; /* LLVM's blocks, as in function->blocks */
    struct function *function;
    struct numbering numbers;
    struct step *list; /* in program order */
    size_t count;
    struct wait *waits; /* of all nodes */
};

/* Builds the graph of these blocks. Returns false if out of memory. */
bool steps_lay_out(struct steps *steps, const uint32_t *blocks, size_t block_count);
/* Finds the longest path to each node from the begin of the chain. The first `phis` nodes have no
 * dependences. */
void steps_walk(struct steps *steps, size_t phis);
/* Finds the longest path to each node if paths may begin anywhere. Returns the last node of the longest one;
 * -1: there are no nodes. */
int32_t steps_walk_all(struct steps *steps);
/* Return the end of an empty path; and extend a path by a dependence, if it becomes longer. */
struct step steps_end(void);
void steps_take_wait(const struct steps *steps, struct step *end, struct wait wait);
/* Adds a node's work on a path. */
void steps_add_work(const struct step *step, double out_chain[WORK_KINDS]);
/* Adds the work of the path with this end to the chains of its blocks. */
void steps_keep(struct steps *steps, const struct step *end);
/* Returns the node that computes the address of an access; -1: it is computed outside of the blocks. */
int32_t steps_address(const struct steps *steps, size_t access);

/* Sets is_independent of calls on whose results no later iteration depends. Returns false if out of
 * memory. */
bool steps_find_beside(struct steps *steps);

#endif
