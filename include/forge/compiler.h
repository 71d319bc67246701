/* forge/compiler.h - the compiler's passes over a graph, and passes that callers add.
 *
 * A pass reads one finished graph and creates another graph; it never changes the first one. After each pass
 * the compiler verifies the new graph, which must have the same inputs, outputs and slots.
 */
#ifndef FORGE_COMPILER_H
#define FORGE_COMPILER_H

#include <forge/program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Creates the result of a pass. `device`: the target of the compilation. `context`: the member `context` of
 * the forge_pass. The new graph must not point into `graph`: the pass copies nodes, names and sizes.
 * forge_graph_rewrite creates such a graph node by node. The compiler owns *out_graph and frees it with
 * forge_graph_free. */
typedef joule_status (*forge_pass_fn)(const forge_graph *graph, forge_device *device, void *context,
                                      forge_graph **out_graph, joule_error *out_error);

/* A pass that a caller adds. Its layout is final. */
typedef struct forge_pass {
    const char *name; /* unique; used in messages and facts */
    /* Name of the pass after which this pass runs: a pass of the library, or a caller's pass that is earlier
     * in the list. NULL: this pass runs first. Passes with the same `after` run in the order of the list. */
    const char *after;
    forge_pass_fn run;
    void *context; /* passed to run */
} forge_pass;

/* Returns the name of the library's pass `i`, in execution order, in static storage; NULL if `i` is out of
 * range. Any thread. */
FORGE_API const char *forge_pass_name_at(size_t i);

/* The effect of a pass. FLOP and bytes are the minimum for one run of the graph, computed from the graph's
 * sizes. A multiply-add is 2 FLOP, and each operand is moved once. A composite counts as its body, but the
 * composite of fused operations moves only its operands. Operations that only reorder or reshape move
 * nothing. Joules are the additional energy of that work on a running machine. They follow from published
 * joules per FLOP and per byte of CPUs (Horowitz, ISSCC 2014). The errors of these figures are the same
 * before and after the pass, so the ratio of joules is more certain than each number. If sizes are symbols,
 * all figures are NaN and the class is none. */
typedef struct forge_pass_facts {
    uint32_t struct_size; /* number of bytes that the library filled in; may exceed the caller's structure */
    uint32_t reserved;
    const char *name;
    double seconds;                   /* run time of the pass itself */
    size_t nodes_before, nodes_after; /* a composite counts as one */
    double flop_before, flop_after;
    double bytes_before, bytes_after; /* read and written */
    joule_quantity joules_before, joules_after;
} forge_pass_facts;

/* The figure that a schedule minimises. */
typedef enum forge_minimise {
    FORGE_MINIMISE_NONE,   /* launches keep the order of the graph, and use all cores */
    FORGE_MINIMISE_ENERGY, /* joules of a run */
    FORGE_MINIMISE_TIME,   /* seconds of a run */
    FORGE_MINIMISE_EDP     /* joules times seconds (energy-delay product) */
} forge_minimise;

/* The chosen schedule of a program. All seconds and joules are expected, not measured: they follow from the
 * rates and prices of the device, which `joule calibrate` measures or which are typical of the processor.
 * They are those of one run after other runs, at the largest sizes. `given`: in the order of the graph, on
 * all cores; `cores`: in the order of the graph, on the chosen numbers of cores; `chosen`: in the chosen
 * order, on the chosen numbers of cores. `given` and `cores` count no recomputed launches. */
typedef struct forge_schedule_facts {
    uint32_t struct_size; /* number of bytes that the library filled in; may exceed the caller's structure */
    forge_minimise objective;
    size_t launches;
    size_t moved;                  /* launches that are not at the position that the graph gives them */
    uint32_t device_cores;         /* cores that a launch could use */
    uint32_t min_cores, max_cores; /* fewest and most cores of a launch */
    size_t limited;                /* launches that use fewer cores than they could */
    double given_seconds, given_joules;
    double cores_seconds, cores_joules;
    double chosen_seconds, chosen_joules;
    /* bytes that a run moves from and to the L2 caches, the last-level cache and memory */
    double given_bytes[3], chosen_bytes[3];
    double given_peak_bytes, chosen_peak_bytes; /* live at once in the arena */
    size_t trials;                              /* orders that were compared */
    bool is_calibrated; /* rates or prices of this machine were measured by `joule calibrate` */
    /* launches, of all above, that compute values a second time, because otherwise the bound of the bytes
     * would not be kept */
    size_t recomputed;
} forge_schedule_facts;

/* The type in which a program computes products: matrix products, convolutions, attention and their
 * gradients. Elementwise operations follow the type of their operands. Norms, softmax, losses, reductions
 * and optimisers compute in f32. Inputs, outputs and slots keep their types, so parameters are stored and
 * updated in f32. Training in f16 needs a loss scale (forge_scale_loss). */
typedef enum forge_precision {
    FORGE_PRECISION_F32 = 0, /* every operation computes in the type that the graph states */
    FORGE_PRECISION_BF16 = 1,
    FORGE_PRECISION_F16 = 2
} forge_precision;

/* Options of a compilation. With all members except struct_size 0, forge_compile_with does what forge_compile
 * does. */
typedef struct forge_compile_options {
    uint32_t struct_size; /* sizeof(forge_compile_options) */
    uint32_t pass_count;
    const forge_pass *passes; /* additional passes */
    const char *stop_after;   /* for forge_passes_run only: the last pass to run; NULL: all passes run */
    /* Called after each pass with the graph that the pass created. Both pointers are valid during the call
     * only. May be NULL. */
    void (*notify)(const forge_pass_facts *facts, const forge_graph *graph, void *notify_context);
    void *notify_context;
    /* Names of passes that do not run, separated by commas, for example "fuse,order"; NULL: all passes run.
     * Without `expand`, a graph compiles only if the device has kernels for all its composites. */
    const char *skip;
    /* Chooses the order of launches and the number of cores of each launch. FORGE_MINIMISE_NONE: no choice;
     * the members below must then be 0. */
    forge_minimise objective;
    forge_precision precision;
    double max_seconds; /* bound of the expected seconds of a run; 0: no bound */
    /* Bound of the arena, the memory of intermediate values; 0: no bound. If no order of the launches keeps
     * it, launches run twice, so that their results need not stay in memory. */
    uint64_t max_arena_bytes;
    /* Called once with the chosen schedule. May be NULL. */
    void (*notify_schedule)(const forge_schedule_facts *facts, void *notify_context);
} forge_compile_options;

/* Compiles a graph like forge_compile, with options. options: may be NULL. The caller owns the program
 * (forge_program_free). Errors: those of forge_compile. JOULE_INVALID also if two passes have the same name,
 * if `after` or `skip` names no pass, or if stop_after is set. If a pass fails or creates a wrong graph, the
 * message names the pass. */
FORGE_API joule_status forge_compile_with(const forge_graph *graph, forge_device *device,
                                          const forge_compile_options *options, forge_program **out_program,
                                          joule_error *out_error);
/* Runs the passes without creating a program. Returns the graph after the pass `stop_after`, or after all
 * passes if stop_after is NULL. The caller owns the graph (forge_graph_free). JOULE_INVALID: no pass has the
 * name stop_after. Other errors: those of forge_compile_with. */
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

/* Returns the value of `builder` that replaces the value of a node, with the same type and shape. Returns
 * FORGE_NO_VALUE to keep the node. inputs: node->input_count values of `builder`, the inputs of the node. New
 * nodes get the node's scope and phase. */
typedef forge_value (*forge_rewrite_fn)(forge_builder *builder, const forge_node *node,
                                        const forge_value *inputs, void *context);
/* Creates a graph by calling `rewrite` for each node, in topological order. `rewrite` is not called for
 * inputs or for nodes with several values. Unused nodes are removed, and equal nodes are merged. The caller
 * owns the new graph (forge_graph_free). JOULE_INVALID: a replacement has another type or shape. */
FORGE_API joule_status forge_graph_rewrite(const forge_graph *graph, forge_rewrite_fn rewrite, void *context,
                                           forge_graph **out_graph, joule_error *out_error);
/* Describes the node that computes a value, so that a pass can match patterns of several nodes. The strings
 * live until the builder is finished or freed. out_inputs: an array of at least 16 values; may be NULL.
 * JOULE_INVALID: no such value. */
FORGE_API joule_status forge_value_query(const forge_builder *builder, forge_value value,
                                         forge_node *out_node, forge_value *out_inputs);

#ifdef __cplusplus
}
#endif
#endif
