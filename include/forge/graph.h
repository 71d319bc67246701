/* forge/graph.h - computations as graphs: the builder with its operations, and the finished graph.
 *
 * A graph has inputs, outputs and state slots. Its nodes are in topological order and immutable.
 * Note: builder functions return a value, not a status. After the first error the builder keeps the message,
 * later calls have no effect and return FORGE_NO_VALUE, and forge_builder_finish returns the error with
 * operation and shapes.
 *
 * Shapes are written [rows, columns], from the slowest dimension to the fastest; rank 0 is a scalar.
 */
#ifndef FORGE_GRAPH_H
#define FORGE_GRAPH_H

#include <forge/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct forge_builder forge_builder; /* one thread at a time */
typedef struct forge_graph forge_graph;     /* immutable; any thread may use it */

/* A value in a builder's graph: a result of a node. */
typedef uint32_t forge_value;
#define FORGE_NO_VALUE 0u
/* A state slot of a builder's graph. */
typedef uint32_t forge_slot;

/* --- builders and graphs -------------------------------------------------------------------------------- */

/* Makes a builder; NULL if out of memory. All functions accept that NULL as a builder that has failed. */
FORGE_API forge_builder *forge_builder_new(void);
/* Makes the graph of all nodes that outputs and writes depend on; other nodes are dropped. Frees the builder,
 * also on failure. The caller owns the graph (forge_graph_free). */
FORGE_API joule_status forge_builder_finish(forge_builder *builder, forge_graph **out_graph,
                                            joule_error *out_error);
/* Frees an unfinished builder. NULL is allowed. */
FORGE_API void forge_builder_free(forge_builder *builder);
/* Frees a graph. NULL is allowed. */
FORGE_API void forge_graph_free(forge_graph *graph);

/* Returns the shape of a value; rank 0 after an error. */
FORGE_API forge_shape forge_value_shape(const forge_builder *builder, forge_value value);
/* Returns the element type of a value; FORGE_DTYPE_NONE after an error. */
FORGE_API forge_dtype forge_value_dtype(const forge_builder *builder, forge_value value);
/* Makes the builder fail with this message, unless it has failed before. It is for layers that check their
 * arguments. */
FORGE_API void forge_builder_fail(forge_builder *builder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* --- provenance ----------------------------------------------------------------------------------------- */

/* Begins a scope: nodes made until the matching pop have this name, after those of the outer scopes
 * ("encoder/layer0"). The name must not be empty or contain '/'. */
FORGE_API void forge_scope_push(forge_builder *builder, const char *name);
/* Ends the innermost scope. No effect if no scope is open. forge_builder_finish ends scopes that are still
 * open. */
FORGE_API void forge_scope_pop(forge_builder *builder);

/* The part of a training step that a node belongs to. */
typedef enum forge_phase {
    FORGE_PHASE_FORWARD = 0,
    FORGE_PHASE_BACKWARD = 1,
    FORGE_PHASE_OPTIMISER = 2,
    FORGE_PHASE_DATA = 3,
} forge_phase;
/* Returns the name of a phase ("forward") in static storage. */
FORGE_API const char *forge_phase_name(forge_phase phase);
/* Sets the phase of nodes made from now on. Returns the previous phase. */
FORGE_API forge_phase forge_phase_set(forge_builder *builder, forge_phase phase);

/* --- places --------------------------------------------------------------------------------------------- */

/* A place is where nodes run and their values live. It is a name of 1 to 31 bytes; the compiling program
 * assigns a device to it. NULL is the device that the program is compiled for. */
#define FORGE_PLACE_NAME 31
/* Sets the place of nodes made from now on. Returns the previous place, whose name lives as long as the
 * builder. Operands may live on other places: the compiler adds transfers. The body of a composite has no
 * places of its own; it runs on the place of the composite. */
FORGE_API const char *forge_place_set(forge_builder *builder, const char *name);
/* Returns the place of a value. The name lives as long as the builder. */
FORGE_API const char *forge_value_place(const forge_builder *builder, forge_value value);
/* Returns x on another place, or x itself if it lives there. Its gradient is transferred back. */
FORGE_API forge_value forge_transfer(forge_builder *builder, forge_value x, const char *place);

/* --- sizes ---------------------------------------------------------------------------------------------- */

/* Returns a size that is known at run time: a multiple of `multiple` (at least 1) from min to max. The same
 * name gives the same symbol. */
FORGE_API forge_dim forge_symbol(forge_builder *builder, const char *name, int64_t min, int64_t max,
                                 int64_t multiple);
/* Return the sum, product or quotient of two sizes. If two expressions are equal as polynomials, the same
 * forge_dim is returned for both. A quotient is exact if that can be proved for all values of the symbols,
 * and is otherwise rounded down. */
FORGE_API forge_dim forge_dim_add(forge_builder *builder, forge_dim a, forge_dim b);
FORGE_API forge_dim forge_dim_mul(forge_builder *builder, forge_dim a, forge_dim b);
FORGE_API forge_dim forge_dim_div(forge_builder *builder, forge_dim a, forge_dim b);

/* --- leaves, outputs, state ----------------------------------------------------------------------------- */

/* Adds an input. Names of inputs, outputs and slots are unique within their kind. */
FORGE_API forge_value forge_input(forge_builder *builder, const char *name, forge_dtype dtype,
                                  forge_shape shape);
/* Makes a value an output of the graph. */
FORGE_API void forge_output(forge_builder *builder, const char *name, forge_value value);

/* How a slot is initialised. */
typedef enum forge_init_kind {
    FORGE_INIT_CONSTANT = 0, /* all elements are a */
    FORGE_INIT_UNIFORM = 1,  /* uniform from a to b */
    FORGE_INIT_NORMAL = 2,   /* mean a, standard deviation b */
} forge_init_kind;
/* The initial values of a slot. */
typedef struct forge_init {
    forge_init_kind kind;
    double a, b;
} forge_init;

/* Returns the slot with this name; the first call makes it. Later calls must give the same type and shape. */
FORGE_API forge_slot forge_state(forge_builder *builder, const char *name, forge_dtype dtype,
                                 forge_shape shape, forge_init init);
/* Returns the value of the slot at the start of a run. A slot lives on the place of its first read or write;
 * later reads give values on that place. */
FORGE_API forge_value forge_read(forge_builder *builder, forge_slot slot);
/* Sets the value of the slot at the end of a run, at most once for each slot. The value lives on the slot's
 * place. in_place: the value must be computed in the slot's memory. If that is impossible, compilation fails
 * and names the reader that prevents it. */
FORGE_API void forge_write(forge_builder *builder, forge_slot slot, forge_value value, bool in_place);

/* Returns a constant; the elements are copied. */
FORGE_API forge_value forge_constant(forge_builder *builder, const forge_tensor *tensor);
/* Returns a constant of rank 0. */
FORGE_API forge_value forge_scalar(forge_builder *builder, forge_dtype dtype, double number);
/* Returns 0, 1, 2 ... along `axis`, the same along all other axes. */
FORGE_API forge_value forge_iota(forge_builder *builder, forge_dtype dtype, forge_shape shape, uint32_t axis);

/* --- element-wise operations ---------------------------------------------------------------------------- */

/* The unary element-wise operations. */
typedef enum forge_unary_kind {
#define UNARY(NAME, text) FORGE_##NAME,
#include <forge/unary.def>
#undef UNARY
    FORGE_UNARY_KINDS
} forge_unary_kind;
/* Applies an operation to each element. The result has the shape of x. */
FORGE_API forge_value forge_unary(forge_builder *builder, forge_unary_kind kind, forge_value x);

/* The binary element-wise operations. */
typedef enum forge_binary_kind {
#define BINARY(NAME, text) FORGE_##NAME,
#include <forge/binary.def>
#undef BINARY
    FORGE_BINARY_KINDS
} forge_binary_kind;
/* Applies an operation to pairs of elements. Shapes are broadcast as in NumPy; element types must be equal.
 * Comparisons return bool. */
FORGE_API forge_value forge_binary(forge_builder *builder, forge_binary_kind kind, forge_value a,
                                   forge_value b);

/* Returns a where the condition (bool) is true, else b. All three are broadcast. */
FORGE_API forge_value forge_select(forge_builder *builder, forge_value condition, forge_value a,
                                   forge_value b);
/* Converts elements to another type, as forge_convert does. */
FORGE_API forge_value forge_cast(forge_builder *builder, forge_dtype dtype, forge_value x);

/* forge_relu(builder, x) ... forge_div(builder, a, b): short forms of forge_unary and forge_binary. */
#define FORGE_UNARY_HELPER(name, NAME)                                                                       \
    static inline forge_value forge_##name(forge_builder *builder, forge_value x)                            \
    {                                                                                                        \
        return forge_unary(builder, FORGE_##NAME, x);                                                        \
    }
#define FORGE_BINARY_HELPER(name, NAME)                                                                      \
    static inline forge_value forge_##name(forge_builder *builder, forge_value a, forge_value b)             \
    {                                                                                                        \
        return forge_binary(builder, FORGE_##NAME, a, b);                                                    \
    }
FORGE_UNARY_HELPER(relu, RELU)
FORGE_UNARY_HELPER(gelu, GELU)
FORGE_UNARY_HELPER(sigmoid, SIGMOID)
FORGE_UNARY_HELPER(tanh, TANH)
FORGE_UNARY_HELPER(exp, EXP)
FORGE_UNARY_HELPER(log, LOG)
FORGE_UNARY_HELPER(sqrt, SQRT)
FORGE_UNARY_HELPER(neg, NEG)
FORGE_BINARY_HELPER(add, ADD)
FORGE_BINARY_HELPER(sub, SUB)
FORGE_BINARY_HELPER(mul, MUL)
FORGE_BINARY_HELPER(div, DIV)

/* --- reductions, scans, sorting, products --------------------------------------------------------------- */

/* The reductions. */
typedef enum forge_reduce_kind {
    FORGE_SUM = 0,
    FORGE_MEAN = 1,
    FORGE_MAXIMUM = 2, /* NaN if an element is NaN */
    FORGE_MINIMUM = 3,
    FORGE_PRODUCT = 4,
    FORGE_ARGMAX = 5, /* one axis; index of the first maximum; i64 */
    FORGE_REDUCE_KINDS
} forge_reduce_kind;
/* Reduces the axes whose bits are set: bit i is dimension i. keep_dims: reduced dimensions stay, with size
 * 1; else they are removed. Accumulates in f32 for narrower floats, otherwise in the element type. */
FORGE_API forge_value forge_reduce(forge_builder *builder, forge_reduce_kind kind, forge_value x,
                                   uint32_t axes, bool keep_dims);

/* Flags of forge_scan. */
enum {
    /* Each result excludes its own element. The first result is 0 (SUM), 1 (PRODUCT), or the lowest (MAXIMUM)
     * or highest (MINIMUM) value of the type. */
    FORGE_SCAN_EXCLUSIVE = 1,
    FORGE_SCAN_REVERSE = 2, /* scans from the last element to the first */
};
/* Returns the prefix SUM, PRODUCT, MAXIMUM or MINIMUM along one axis. The result has the shape of x. NaN
 * propagates from its position on. */
FORGE_API forge_value forge_scan(forge_builder *builder, forge_reduce_kind kind, forge_value x, uint32_t axis,
                                 uint32_t flags);
/* Sorts each line along an axis. The result has the shape of x. The sort is stable; NaN comes last in both
 * directions. *out_indices (may be NULL): the original position of each element in its line, i64. */
FORGE_API forge_value forge_sort(forge_builder *builder, forge_value x, uint32_t axis, bool is_descending,
                                 forge_value *out_indices);
/* Returns the first k elements of a descending sort along `axis`. The result has the shape of x, but size k
 * along `axis`. out_indices as forge_sort. */
FORGE_API forge_value forge_top_k(forge_builder *builder, forge_value x, forge_dim k, uint32_t axis,
                                  forge_value *out_indices);

/* Flags of forge_matmul: swap the last two dimensions of an operand. */
enum { FORGE_TRANSPOSE_A = 1, FORGE_TRANSPOSE_B = 2 };
/* Returns the matrix product. a: [..., m, k]; b: [..., k, n]; result: [..., m, n]. Leading dimensions are
 * broadcast. Accumulates in f32 for narrower floats, otherwise in the element type. */
FORGE_API forge_value forge_matmul(forge_builder *builder, forge_value a, forge_value b, uint32_t flags);

/* --- windows -------------------------------------------------------------------------------------------- */

/* The geometry of a convolution. Entry i is for spatial dimension i; other entries are ignored. */
typedef struct forge_conv_options {
    uint32_t struct_size;                         /* sizeof(forge_conv_options) */
    uint32_t groups;                              /* number of independent groups of channels; 0: 1 */
    uint32_t stride[3];                           /* 0: 1 */
    uint32_t dilation[3];                         /* distance between the kernel's elements; 0: 1 */
    uint32_t padding_before[3], padding_after[3]; /* zeros around the input */
    /* Transposed only: rows added at the end of the result; less than stride or dilation. */
    uint32_t output_padding[3];
    bool is_transposed;
} forge_conv_options;
/* Returns the cross-correlation over 1 to 3 spatial dimensions, as PyTorch's Conv.
 * x: [n, channels, spatial...]; weight: [out, channels / groups, kernel...];
 * result: [n, out, floor((size + padding - dilation * (kernel - 1) - 1) / stride) + 1...].
 * Transposed, as PyTorch's ConvTranspose (the gradient of Conv): weight: [channels, out / groups, kernel...];
 * result: [n, out, (size - 1) * stride - padding + dilation * (kernel - 1) + output_padding + 1...].
 * Accumulates in f32 for narrower floats, otherwise in the element type. options: may be NULL. Sizes may be
 * symbols if the result's sizes can be expressed. A symbol minus a number cannot be expressed, so use enough
 * padding. */
FORGE_API forge_value forge_conv(forge_builder *builder, forge_value x, forge_value weight,
                                 const forge_conv_options *options);

/* A window along one dimension. Its positions are 0, stride, 2 stride ... while it fits in the padded
 * input. */
typedef struct forge_window {
    uint32_t size;          /* in elements */
    uint32_t stride;        /* 0: its size */
    uint32_t dilation;      /* distance between its elements; 0: 1 */
    uint32_t before, after; /* padding; less than the extent of the window */
} forge_window;
/* Returns the sum, mean, maximum (NaN propagates) or minimum of each window. axes: bit i is dimension i.
 * windows: one for each of these axes, in order. Padding is ignored; with count_padding, means count it as
 * zeros. A window of padding only gives 0 (sum), NaN (mean), -infinity (maximum) or infinity (minimum). */
FORGE_API forge_value forge_window_reduce(forge_builder *builder, forge_reduce_kind kind, forge_value x,
                                          uint32_t axes, const forge_window *windows, bool count_padding);
/* Return the maximum or mean of windows with the same size in all spatial dimensions of x
 * [n, channels, spatial...]. stride 0: equal to size. */
FORGE_API forge_value forge_max_pool(forge_builder *builder, forge_value x, uint32_t size, uint32_t stride,
                                     uint32_t padding);
FORGE_API forge_value forge_avg_pool(forge_builder *builder, forge_value x, uint32_t size, uint32_t stride,
                                     uint32_t padding, bool count_padding);
/* Returns the elements of each window. The dimensions of the result are those of x, with the number of
 * windows in place of each size in `axes`, followed by the sizes of a window. Padded elements have the value
 * `padding`. Floats only. */
FORGE_API forge_value forge_unfold(forge_builder *builder, forge_value x, uint32_t axes,
                                   const forge_window *windows, double padding);
/* Returns an array of `shape` in which the elements of windows are added at their original positions. This
 * is the gradient of forge_unfold. */
FORGE_API forge_value forge_fold(forge_builder *builder, forge_value x, forge_shape shape, uint32_t axes,
                                 const forge_window *windows);
/* Distributes the value of each window in `parts` equally among the window's elements of x that equal y. The
 * result has the shape of x, and is 0 elsewhere. If y is the maximum or minimum of the windows, this is the
 * gradient of that reduction. A y that equals no element, such as NaN, gives nothing. x, y and parts: floats
 * of one type. */
FORGE_API forge_value forge_share(forge_builder *builder, forge_value x, forge_value y, forge_value parts,
                                  uint32_t axes, const forge_window *windows);

/* --- random numbers ------------------------------------------------------------------------------------- */

/* The distribution of random numbers. */
typedef enum forge_random_kind {
    FORGE_RANDOM_UNIFORM = 0, /* f32 in [0, 1) */
    FORGE_RANDOM_NORMAL = 1,  /* f32, mean 0, standard deviation 1 */
    FORGE_RANDOM_BITS = 2,    /* u32 */
    FORGE_RANDOM_KINDS
} forge_random_kind;
/* Returns random numbers: element i is number i of <forge/random.h> with this key (u64, rank 0), step (u32,
 * rank 0) and stream. */
FORGE_API forge_value forge_random_numbers(forge_builder *builder, forge_random_kind kind, forge_shape shape,
                                           forge_value key, forge_value step, uint32_t stream);

/* --- moving elements ------------------------------------------------------------------------------------ */

/* Returns the same elements in the same order. One size may be FORGE_REST or -1, as in PyTorch: it becomes
 * the number of elements divided by the other sizes. The division must be exact; with symbols, for all their
 * values. With symbols use FORGE_REST, because -1 may be the id of a symbol. */
#define FORGE_REST (INT64_MIN + 1)
FORGE_API forge_value forge_reshape(forge_builder *builder, forge_value x, forge_shape shape);
/* Repeats elements to `shape`, as NumPy's broadcast_to. */
FORGE_API forge_value forge_broadcast(forge_builder *builder, forge_value x, forge_shape shape);
/* Permutes dimensions: dimension i of the result is dimension order[i] of x. order: rank numbers. */
FORGE_API forge_value forge_transpose(forge_builder *builder, forge_value x, const uint32_t *order);

/* Concatenates any number of values along `axis`; their other sizes must be equal. */
FORGE_API forge_value forge_concat(forge_builder *builder, const forge_value *inputs, size_t count,
                                   uint32_t axis);
/* Returns x[start:limit:step] in every dimension, as in NumPy. Each array has one number for each dimension.
 * NULL means 0 for start, the size for limit, and 1 for step. A negative step takes the elements limit - 1,
 * limit - 1 + step ... down to start. Negative numbers do not count from the end, because a negative number
 * is an expression of symbols. 0 <= start <= limit <= size must hold for all values of the symbols. */
FORGE_API forge_value forge_slice(forge_builder *builder, forge_value x, const forge_dim *start,
                                  const forge_dim *limit, const int64_t *step);
/* Returns x[..., start:limit, ...] along one axis. */
FORGE_API forge_value forge_slice_along(forge_builder *builder, forge_value x, uint32_t axis, forge_dim start,
                                        forge_dim limit);
/* Reverses the order of elements along the axes whose bits are set. */
FORGE_API forge_value forge_flip(forge_builder *builder, forge_value x, uint32_t axes);
/* Adds low[i] elements of `value` before dimension i and high[i] after it. low, high: rank numbers, 0 or
 * more. The value is converted to the type of x as forge_convert does from f64. */
FORGE_API forge_value forge_pad(forge_builder *builder, forge_value x, const int64_t *low,
                                const int64_t *high, double value);

/* Returns x with dimension `axis` replaced by the dimensions of the indices, as NumPy's take. Axis 0 selects
 * rows of a table. indices: any integer type and shape; a negative index counts from the end. An index out
 * of range gives NaN, or 0 if x is not a float; memory outside x is never read. */
FORGE_API forge_value forge_gather(forge_builder *builder, forge_value x, forge_value indices, uint32_t axis);
/* Returns, as NumPy's take_along_axis, an array in which element i of a line along the axis is element
 * indices[i] of the same line of x. x and the indices may differ in size along the axis only. */
FORGE_API forge_value forge_gather_along(forge_builder *builder, forge_value x, forge_value indices,
                                         uint32_t axis);

/* How an update is combined with the element at its position. */
typedef enum forge_scatter_kind {
    FORGE_SCATTER_SET = 0, /* the update replaces the element; if there are several, the last one does */
    FORGE_SCATTER_ADD = 1, /* updates are added in order; each sum is rounded to the type */
    FORGE_SCATTER_MAX = 2, /* maximum; NaN if one is NaN */
    FORGE_SCATTER_MIN = 3,
    FORGE_SCATTER_KINDS
} forge_scatter_kind;
/* Return x with updates at the positions that forge_gather (or forge_gather_along) reads for these indices.
 * updates: the shape that this gather function returns. Updates out of range are dropped. If x is the value
 * of a slot and the result is written to it in place, only the updated elements are touched. */
FORGE_API forge_value forge_scatter(forge_builder *builder, forge_value x, forge_value indices,
                                    forge_value updates, uint32_t axis, forge_scatter_kind kind);
FORGE_API forge_value forge_scatter_along(forge_builder *builder, forge_value x, forge_value indices,
                                          forge_value updates, uint32_t axis, forge_scatter_kind kind);

/* --- between processes ---------------------------------------------------------------------------------- */

/* Processes that run the same graph on data of their own, with the numbers 0 to size - 1. Its layout is
 * final. */
typedef struct forge_group {
    const char *name; /* 1 to 31 bytes */
    uint32_t size;
} forge_group;
/* The collective operations. */
typedef enum forge_collective_kind {
    FORGE_ALL_REDUCE = 0,     /* the sum of all x, in each process */
    FORGE_ALL_GATHER = 1,     /* all x concatenated along an axis, in each process */
    FORGE_REDUCE_SCATTER = 2, /* the process's own part of the sum, which is divided equally along an axis */
    FORGE_SEND_ALL = 3,       /* x of the root, in each process; MPI's broadcast */
    FORGE_REDUCE_TO = 4,      /* the sum in the root, zeros in the others */
    FORGE_COLLECTIVE_KINDS
} forge_collective_kind;
/* Combines x over the processes of a group. axis_or_root: axis or root process; ignored by ALL_REDUCE.
 * REDUCE_SCATTER needs a size that is divisible by the group's size; with symbols, for all their values.
 * Gradients are those of the sum of all processes' losses. In a group of one the result is x. Larger groups
 * can be built, saved and differentiated, but forge_compile returns JOULE_UNSUPPORTED. */
FORGE_API forge_value forge_collective(forge_builder *builder, forge_collective_kind kind,
                                       const forge_group *group, forge_value x, uint32_t axis_or_root);

/* --- composites ----------------------------------------------------------------------------------------- */

/* Builds the meaning of a composite from other operations, and returns its value. `inputs` are values of
 * `builder`. */
typedef forge_value (*forge_body_fn)(forge_builder *builder, const forge_value *inputs, size_t count,
                                     const void *context);
/* Adds a composite: a node with a name of up to 31 bytes. Its body defines its meaning, gradient, cost and
 * fallback. Devices have kernels for the library's composites (softmax, layer_norm, adamw ...). They use a
 * kernel only if the composite has the library's own body for its inputs; otherwise they compute the body. */
FORGE_API forge_value forge_composite(forge_builder *builder, const char *name, const forge_value *inputs,
                                      size_t count, forge_body_fn body, const void *context);
/* Adds a composite like forge_composite, but with up to 4 values. The body writes its values to its
 * out_values; the function returns the values of the composite in out_values. */
typedef void (*forge_bodies_fn)(forge_builder *builder, const forge_value *inputs, size_t count,
                                const void *context, forge_value *out_values);
FORGE_API void forge_composite_many(forge_builder *builder, const char *name, const forge_value *inputs,
                                    size_t count, forge_bodies_fn body, const void *context,
                                    forge_value *out_values, size_t value_count);

/* Returns e^x / sum of e^x over the last dimension. The result has the shape of x. */
FORGE_API forge_value forge_softmax(forge_builder *builder, forge_value x);
/* Returns log(softmax(x)) over the last dimension. The result has the shape of x. */
FORGE_API forge_value forge_log_softmax(forge_builder *builder, forge_value x);
/* Returns the mean over rows of -log_softmax(logits)[row, label], rank 0. logits: [n, classes], float;
 * labels: [n], integer. */
FORGE_API forge_value forge_cross_entropy(forge_builder *builder, forge_value logits, forge_value labels);

/* --- gradients ------------------------------------------------------------------------------------------ */

/* Adds the nodes that compute d loss / d wrt[i], and returns them in out_gradients[i], with shape and place
 * of wrt[i]. loss: one element. If the loss does not depend on wrt[i], its gradient is 0. Backward nodes run
 * on the place of their forward nodes. The gradient of a composite NAME is a composite NAME.gradient.
 * Non-differentiable points: relu'(0) = 0, |x|'(0) = 0. Equal maxima, also of a window, share the gradient
 * equally. If the operands of max or min are equal, each gets half. If several updates set one position, the
 * last gets all. In a scan, the first of equal elements gets all. */
FORGE_API void forge_gradients(forge_builder *builder, forge_value loss, const forge_value *wrt, size_t count,
                               forge_value *out_gradients);

/* Returns x with a gradient of 0, so that no gradient reaches the values that x was computed from. It has no
 * cost. */
FORGE_API forge_value forge_stop_gradient(forge_builder *builder, forge_value x);

/* Begin and end a region of activation checkpointing: values of nodes made in it are computed again on the
 * backward pass instead of being kept. forge_gradients keeps the region's inputs and the values used outside
 * of it, and repeats the nodes between them in the phase "backward". Memory: only one region's values are
 * alive at a time. For n equal layers in regions of k, the values of about n / k + k layers are alive
 * instead of n; the minimum is near k = sqrt(n). The cost is a second forward computation. Gradients have
 * the same bits as without regions, and repeated nodes draw the same random numbers. Regions must not nest,
 * and none may be open when forge_gradients is called. */
FORGE_API void forge_recompute_begin(forge_builder *builder);
FORGE_API void forge_recompute_end(forge_builder *builder);

/* --- values of symbols ---------------------------------------------------------------------------------- */

/* A number for a symbol. Its layout is final. */
typedef struct forge_size {
    const char *symbol;
    int64_t value;
} forge_size;
/* Makes a copy of the graph with numbers in place of symbols; symbols without a number stay. The caller owns
 * it (forge_graph_free). JOULE_ABSENT: no such symbol. JOULE_INVALID: a number out of the symbol's range, or
 * one that makes a node's shapes wrong. */
FORGE_API joule_status forge_graph_bind(const forge_graph *graph, const forge_size *sizes, size_t count,
                                        forge_graph **out_graph, joule_error *out_error);

/* --- queries -------------------------------------------------------------------------------------------- */

/* Returns the number of nodes. */
FORGE_API size_t forge_graph_nodes(const forge_graph *graph);

/* --- graphs as text ------------------------------------------------------------------------------------- */

/* Prints a graph: one line for each symbol, slot, node, output and write, and a block for each composite's
 * body:
 *
 *     %5 = matmul(%3, %4) transpose_b : f32[B,10] @mlp/fc1 backward
 *
 * The text is complete and numbers are exact: parsing it gives an equal graph. The caller frees the text with
 * free(). */
FORGE_API joule_status forge_graph_print(const forge_graph *graph, char **out_text, joule_error *out_error);
/* Parses a graph from `length` bytes, which need no terminator and may be any bytes. '#' begins a comment up
 * to the end of the line. The caller owns the graph (forge_graph_free). JOULE_INVALID: the message has line
 * and column, and what was expected there. */
FORGE_API joule_status forge_graph_parse(const char *text, size_t length, forge_graph **out_graph,
                                         joule_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
