/* joulec/llvm/llvm_dependence.h - the data dependence graph of the instructions of some blocks.
 *
 * Note: a node depends on its operands. llvm_chain.c decides where chains begin and end.
 */
#ifndef JOULEC_LLVM_DEPENDENCE_H
#define JOULEC_LLVM_DEPENDENCE_H

#include "joulec/llvm/llvm_module.h"

/* A dependence on another node. */
struct dependence {
    int32_t on;   /* index of the other node */
    double times; /* latency of the dependence, as a multiple of the dependent node's latency */
};

/* An instruction. */
struct dependence_node {
    LLVMValueRef value;
    double latency;                              /* cycles */
    uint32_t first_dependence, dependence_count; /* part of graph->dependences */
    double ready_factor;                         /* latency factor if all operands are ready */
    uint32_t block;                              /* index of its block in the function */
    /* NULL: llvm_is_real_call() returns false for the instruction */
    struct call *call;
    bool follows_induction; /* depends on an induction variable */
    /* The following members describe the longest path to this node in the current search. */
    bool is_begin;      /* paths may begin here */
    double cycles;      /* latency up to the node's result; negative: no path */
    double path_factor; /* latency factor of the node on this path */
    int32_t from;       /* previous node; -1: none */
};

struct dependence_graph {
    struct arena *arena;
    LLVMTargetDataRef layout;
    LLVMBasicBlockRef *from; /* LLVM's blocks, as in function->blocks */
    struct function *function;
    struct numbering numbers;
    struct dependence_node *list; /* in program order */
    size_t count;
    struct dependence *dependences; /* of all nodes */
};

/* Builds the graph of blocks[0..block_count), which are indices in graph->from. The caller sets arena,
 * layout, from and function before. Returns false if out of memory. */
bool dependence_build(struct dependence_graph *graph, const uint32_t *blocks, size_t block_count);
/* Finds the longest path to each node from a node with is_begin. Ignores the dependences of the first `phis`
 * nodes, which are the phis of the loop's header. */
void dependence_find_paths(struct dependence_graph *graph, size_t phis);
/* Finds the longest path to each node if paths may begin anywhere. Returns the last node of the longest of
 * these paths; -1: there are no nodes. */
int32_t dependence_find_critical_path(struct dependence_graph *graph);
/* Returns the end of an empty path. */
struct dependence_node dependence_empty_path(void);
/* Makes *end the end of the path through `dependence`, if this path is longer than the current one. */
void dependence_extend_path(const struct dependence_graph *graph, struct dependence_node *end,
                            struct dependence dependence);
/* Adds the work of a node on its path to out_chain. */
void dependence_add_work(const struct dependence_node *node, double out_chain[WORK_KINDS]);
/* Adds the work of each node on the path that ends at *end to `chain` of the node's block. */
void dependence_add_path(struct dependence_graph *graph, const struct dependence_node *end);
/* Returns the node that computes the address of node `access`, a load or store; -1: the address is computed
 * outside of the blocks. */
int32_t dependence_address_node(const struct dependence_graph *graph, size_t access);

#endif
