/* forge/compiler.h - the compiler's passes over a graph, and passes that callers add.
 *
 * A pass reads one finished graph and makes another; it changes nothing in place. After each pass the new
 * graph is verified, and it must have the same inputs, outputs and slots.
 */
#ifndef FORGE_COMPILER_H
#define FORGE_COMPILER_H

#include <forge/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the next graph from `graph`. The caller of the pass owns *out_graph (forge_graph_free). `device` is
 * the target of the compilation. The new graph copies all that it keeps, names and sizes too;
 * forge_graph_rewrite makes a graph node by node. */
typedef joule_status (*forge_pass_fn)(const forge_graph *graph, forge_device *device, void *context,
                                      forge_graph **out_graph, joule_error *out_error);

/* A pass that a caller adds. Its layout is final. */
typedef struct forge_pass {
    const char *name; /* unique; used in messages and facts */
    /* Name of the pass after which this one runs: a pass of the library, or one that is earlier in the list.
     * NULL: this pass runs first. Passes with the same `after` run in the order of the list. */
    const char *after;
    forge_pass_fn run;
    void *context; /* passed to run */
} forge_pass;

/* Returns the name of the library's pass `i`, in execution order, in static storage; NULL if there is none.
 * Any thread. */
FORGE_API const char *forge_pass_name_at(size_t i);

/* The effect of a pass. FLOP and bytes are the minimum of one run of the graph, computed from its sizes: a
 * multiply-add is 2 FLOP, each operand is moved once, a composite counts as its body, and operations that
 * only reorder or reshape move nothing. Joules are the additional energy of that work on a running machine,
 * from published figures of CPUs for a FLOP and a byte (Horowitz, ISSCC 2014). The errors of these figures
 * are the same before and after the pass, so the ratio of joules is more certain than each number. If sizes
 * are symbols, figures are NaN and the class is none. */
typedef struct forge_pass_facts {
    uint32_t struct_size; /* number of bytes that the library filled in; may exceed the caller's structure */
    uint32_t reserved;
    const char *name;
    double seconds;                   /* duration of the pass */
    size_t nodes_before, nodes_after; /* a composite counts as one */
    double flop_before, flop_after;
    double bytes_before, bytes_after; /* read and written */
    joule_quantity joules_before, joules_after;
} forge_pass_facts;

/* Options of a compilation. If all members except struct_size are 0, the compilation is that of
 * forge_compile. */
typedef struct forge_compile_options {
    uint32_t struct_size; /* sizeof(forge_compile_options) */
    uint32_t pass_count;
    const forge_pass *passes; /* additional passes */
    const char *stop_after;   /* the last pass to run; NULL: all. Only for forge_passes_run */
    /* Called after each pass with the graph that it made, which is valid during the call only. May be
     * NULL. */
    void (*notify)(const forge_pass_facts *facts, const forge_graph *graph, void *notify_context);
    void *notify_context;
} forge_compile_options;

/* Compiles a graph as forge_compile does, with options (may be NULL). Additional errors: JOULE_INVALID if two
 * passes have the same name, if `after` names no pass, or if stop_after is set. If a pass fails or makes a
 * wrong graph, the message names the pass. */
FORGE_API joule_status forge_compile_with(const forge_graph *graph, forge_device *device,
                                          const forge_compile_options *options, forge_program **out_program,
                                          joule_error *out_error);
/* Runs the passes only, and returns the graph after all of them or after `stop_after`. The caller owns the
 * graph (forge_graph_free). JOULE_INVALID: no pass is named stop_after; other errors: those of
 * forge_compile_with. */
FORGE_API joule_status forge_passes_run(const forge_graph *graph, forge_device *device,
                                        const forge_compile_options *options, forge_graph **out_graph,
                                        joule_error *out_error);

/* --- node-by-node passes -------------------------------------------------------------------------------- */

/* Describes one node. */
typedef struct forge_node {
    uint32_t struct_size; /* number of bytes that the library filled in; may exceed the caller's structure */
    forge_phase phase;
    const char *op;    /* "matmul", "unary", "composite" */
    const char *kind;  /* "relu" for a unary, the name of a composite; empty for families without kinds */
    const char *scope; /* "block0/fc1" */
    size_t input_count, value_count;
} forge_node;

/* Returns the replacement of a node: a value of `builder` with the same type and shape, made from `inputs`,
 * or FORGE_NO_VALUE to keep the node. New nodes get the node's scope and phase. */
typedef forge_value (*forge_rewrite_fn)(forge_builder *builder, const forge_node *node,
                                        const forge_value *inputs, void *context);
/* Makes a graph by calling `rewrite` for each node, in topological order. `rewrite` is not called for inputs
 * or for nodes with several values. Unused nodes are removed, and equal nodes are merged. The caller owns the
 * graph (forge_graph_free). JOULE_INVALID: a replacement has another type or shape. */
FORGE_API joule_status forge_graph_rewrite(const forge_graph *graph, forge_rewrite_fn rewrite, void *context,
                                           forge_graph **out_graph, joule_error *out_error);
/* Describes the node that makes a value, to match patterns. Its strings live until the builder is finished or
 * freed. out_inputs: room for 16 values; may be NULL. JOULE_INVALID: no such value. */
FORGE_API joule_status forge_value_query(const forge_builder *builder, forge_value value,
                                         forge_node *out_node, forge_value *out_inputs);

#ifdef __cplusplus
}
#endif
#endif
