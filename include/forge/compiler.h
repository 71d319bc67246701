/* forge/compiler.h - what happens to a graph before it is a program.
 *
 * Owns passes: the order in which they run, what each has changed, and those that callers add for one compilation.
 * Newcomers: a pass reads one finished graph and makes another; nothing is changed where it lies. After each pass the graph
 * is verified, and its inputs, outputs and slots must be those it had.
 */
#ifndef FORGE_COMPILER_H
#define FORGE_COMPILER_H

#include <forge/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the graph that follows on `graph`, which is the caller's of the pass: forge_graph_free. The device is the one that is
 * compiled for. What a graph made of another keeps, names and sizes, is copied; forge_graph_rewrite makes one node by node. */
typedef joule_status (*forge_pass_fn)(const forge_graph *graph, forge_device *device, void *context,
                                      forge_graph **out_graph, joule_error *out_error);

/* Its layout is final. */
typedef struct forge_pass {
    const char *name; /* told in messages and facts; no other pass may have it */
    /* the pass behind which it runs, its own or one that was added before it; NULL: first of all. Passes that are
     * added behind the same one run in the order in which they are listed */
    const char *after;
    forge_pass_fn run;
    void *context; /* handed to run */
} forge_pass;

/* The name of the library's own pass i, in the order in which they run; NULL: there is none. Any thread. */
FORGE_API const char *forge_pass_name_at(size_t i);

/* What a pass did. FLOP and bytes are what one run of the graph takes at least, by its sizes: a multiply-add is 2 FLOP, each
 * operand of an operation is moved once, a composite is its body, and what only shows elements in another shape or order moves
 * nothing. Joules are what that work adds to a machine that runs anyway, by published figures for a FLOP and a byte of CPUs
 * (Horowitz, ISSCC 2014); both errors are common to before and after, so the ratio is far better known. NaN, and no class:
 * sizes are symbols. */
typedef struct forge_pass_facts {
    uint32_t struct_size; /* of the structure that is given, which may be newer than the caller's */
    uint32_t reserved;
    const char *name;
    double seconds;                   /* that the pass took */
    size_t nodes_before, nodes_after; /* a composite is one */
    double flop_before, flop_after;
    double bytes_before, bytes_after; /* read and written */
    joule_quantity joules_before, joules_after;
} forge_pass_facts;

/* All zero but struct_size: as forge_compile. */
typedef struct forge_compile_options {
    uint32_t struct_size; /* sizeof(forge_compile_options) */
    uint32_t pass_count;
    const forge_pass *passes; /* to be run besides the library's own */
    const char *stop_after;   /* the last pass to run; NULL: all. For forge_passes_run only */
    /* Called after each pass, with the graph that it made, which is not the callee's to keep; NULL: nobody looks. */
    void (*look)(const forge_pass_facts *facts, const forge_graph *graph, void *look_context);
    void *look_context;
} forge_compile_options;

/* forge_compile with options (NULL: none). Besides its errors, INVALID: two passes have one name, a pass is to run behind one
 * that is not there, or stop_after is set. A pass that fails, or whose graph does not hold, is named in the message. */
FORGE_API joule_status forge_compile_with(const forge_graph *graph, forge_device *device,
                                          const forge_compile_options *options, forge_program **out_program,
                                          joule_error *out_error);
/* The passes alone: the graph as it is when all have run, or the one in stop_after has (INVALID: there is none of that name).
 * The graph is the caller's: forge_graph_free. */
FORGE_API joule_status forge_passes_run(const forge_graph *graph, forge_device *device,
                                        const forge_compile_options *options, forge_graph **out_graph,
                                        joule_error *out_error);

/* --- passes that go from node to node ----------------------------------------------------------------------- */

typedef struct forge_node {
    uint32_t struct_size; /* of the structure that is given, which may be newer than the caller's */
    forge_phase phase;
    const char *op;    /* "matmul", "unary", "composite" */
    const char *kind;  /* "relu" of a unary, a composite's name; empty for families without kinds */
    const char *scope; /* "block0/fc1" */
    size_t input_count, value_count;
} forge_node;

/* What is to stand for a node: a value of the same type and shape, made of its inputs, which are values of the builder.
 * FORGE_NO_VALUE: the node itself. What is made has the node's scope and phase. */
typedef forge_value (*forge_rewrite_fn)(forge_builder *builder, const forge_node *node,
                                        const forge_value *inputs, void *context);
/* The graph with `rewrite` asked at each node, in their order; not at inputs, nor at nodes with more than one value. Nodes
 * that nobody needs any more are dropped, and equal ones are one. The graph is the caller's. INVALID: what stands for a node
 * is of another type or shape. */
FORGE_API joule_status forge_graph_rewrite(const forge_graph *graph, forge_rewrite_fn rewrite, void *context,
                                           forge_graph **out_graph, joule_error *out_error);
/* The node that gives a value, so that patterns can be found; its strings live as long as the builder, or until it has become
 * a graph. out_inputs (NULL: not asked) has room for 16. INVALID: no such value. */
FORGE_API joule_status forge_value_look(const forge_builder *builder, forge_value value, forge_node *out_node,
                                        forge_value *out_inputs);

#ifdef __cplusplus
}
#endif
#endif
