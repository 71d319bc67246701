/* forge/graph.h - computations as graphs: the builder, the operations that it can add, and the finished
 * graph.
 *
 * A graph has inputs, outputs and state slots. Its nodes are in topological order and immutable.
 * Note: builder functions return a value, not a status. After the first error the builder stores the message,
 * and later calls have no effect and return FORGE_NO_VALUE. forge_builder_finish returns the error; its
 * message names the operation and the shapes.
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

/* Creates a builder; returns NULL if out of memory. All builder functions accept NULL as a builder that has
 * failed. The caller frees the builder with forge_builder_finish or forge_builder_free. */
FORGE_API forge_builder *forge_builder_new(void);
/* Creates the graph of all nodes that outputs and writes depend on; other nodes are dropped. Frees the
 * builder, also on failure. The caller owns the graph (forge_graph_free). Errors: the first error of the
 * builder. */
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
/* Makes the builder fail with this message, unless the builder has failed before. Layers use this function to
 * report wrong arguments. */
FORGE_API void forge_builder_fail(forge_builder *builder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* --- provenance ----------------------------------------------------------------------------------------- */

/* Begins a scope. Nodes that are added before the matching forge_scope_pop get the path of the open scopes,
 * from the outermost scope to the innermost ("encoder/layer0"). The name must not be empty or contain '/'. */
FORGE_API void forge_scope_push(forge_builder *builder, const char *name);
/* Ends the innermost scope. Has no effect if no scope is open. forge_builder_finish ends scopes that are
 * still open. */
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
/* Sets the phase of nodes that are added after this call. Returns the previous phase. */
FORGE_API forge_phase forge_phase_set(forge_builder *builder, forge_phase phase);

/* --- places --------------------------------------------------------------------------------------------- */

/* A place is a name of 1 to 31 bytes for the device on which nodes run and their values are stored.
 * forge_compile_placed assigns a device to each place. NULL is the device that the program is compiled
 * for. */
#define FORGE_PLACE_NAME 31
/* Sets the place of nodes that are added after this call. Returns the previous place, whose name lives as
 * long as the builder. Operands may be on other places, because the compiler adds transfers. All nodes in the
 * body of a composite run on the place of the composite. */
FORGE_API const char *forge_place_set(forge_builder *builder, const char *name);
/* Returns the place of a value. The name lives as long as the builder. */
FORGE_API const char *forge_value_place(const forge_builder *builder, forge_value value);
/* Returns x on the place `place`, or x itself if x is on this place. The gradient is transferred back to the
 * place of x. */
FORGE_API forge_value forge_transfer(forge_builder *builder, forge_value x, const char *place);

/* --- sizes ---------------------------------------------------------------------------------------------- */

/* Returns a symbol, which is a size that is known at run time only: a multiple of `multiple` (at least 1),
 * from min to max. Calls with the same name return the same symbol. */
FORGE_API forge_dim forge_symbol(forge_builder *builder, const char *name, int64_t min, int64_t max,
                                 int64_t multiple);
/* Return the sum, product or quotient of two sizes. Expressions that are equal as polynomials have the same
 * forge_dim. A quotient is rounded down, unless it is proved to be exact for all values of the symbols. */
FORGE_API forge_dim forge_dim_add(forge_builder *builder, forge_dim a, forge_dim b);
FORGE_API forge_dim forge_dim_mul(forge_builder *builder, forge_dim a, forge_dim b);
FORGE_API forge_dim forge_dim_div(forge_builder *builder, forge_dim a, forge_dim b);

/* --- leaves, outputs, state ----------------------------------------------------------------------------- */

/* Adds an input and returns its value. Two inputs must not have the same name; nor must two outputs, or two
 * slots. */
FORGE_API forge_value forge_input(forge_builder *builder, const char *name, forge_dtype dtype,
                                  forge_shape shape);
/* Makes `value` an output of the graph. */
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

/* Returns the slot with this name; the first call creates the slot. Later calls must have the same type and
 * shape. */
FORGE_API forge_slot forge_state(forge_builder *builder, const char *name, forge_dtype dtype,
                                 forge_shape shape, forge_init init);
/* Returns the value of the slot at the start of a run. A slot is stored on the place of its first read or
 * write, and later reads return values on that place. */
FORGE_API forge_value forge_read(forge_builder *builder, forge_slot slot);
/* Sets the value of the slot at the end of a run. Each slot may be written once. `value` must be on the
 * slot's place. in_place: the value must be computed in the slot's memory; if that is impossible, compilation
 * fails and names the launch that still reads the old value. */
FORGE_API void forge_write(forge_builder *builder, forge_slot slot, forge_value value, bool in_place);

/* Returns a constant with the elements of `tensor`, which are copied. */
FORGE_API forge_value forge_constant(forge_builder *builder, const forge_tensor *tensor);
/* Returns a constant of rank 0. `number` is converted to `dtype` as forge_convert does from f64. */
FORGE_API forge_value forge_scalar(forge_builder *builder, forge_dtype dtype, double number);
/* Returns an array of `shape` in which each element is its own index along `axis`: 0, 1, 2 ... */
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

/* Returns the elements of a where the condition (bool) is true, and those of b elsewhere. Condition, a and b
 * are broadcast to one shape. */
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
    FORGE_ARGMAX = 5, /* index of the first maximum, i64; one axis only */
    FORGE_REDUCE_KINDS
} forge_reduce_kind;
/* Reduces the axes whose bits are set: bit i is dimension i. keep_dims true: reduced dimensions stay, with
 * size 1; false: they are removed. Accumulates in f32 for narrower floats, otherwise in the element type. */
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
/* Sorts each line along an axis. The result has the shape of x. The sort is stable, and NaN is last in both
 * directions. *out_indices: the original position of each element in its line, i64; out_indices may be
 * NULL. */
FORGE_API forge_value forge_sort(forge_builder *builder, forge_value x, uint32_t axis, bool is_descending,
                                 forge_value *out_indices);
/* Returns the first k elements of a descending sort along `axis`. The result has the shape of x, but size k
 * along `axis`. out_indices: as for forge_sort. */
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
    uint32_t groups;                              /* number of independent groups of channels; 0 means 1 */
    uint32_t stride[3];                           /* 0 means 1 */
    uint32_t dilation[3];                         /* distance between the kernel's elements; 0 means 1 */
    uint32_t padding_before[3], padding_after[3]; /* zeros around the input */
    /* Transposed only: rows added at the end of the result; less than stride or dilation. */
    uint32_t output_padding[3];
    bool is_transposed;
} forge_conv_options;
/* Returns the cross-correlation over 1 to 3 spatial dimensions, as PyTorch's Conv does.
 * x: [n, channels, spatial...]; weight: [out, channels / groups, kernel...];
 * result: [n, out, floor((size + padding - dilation * (kernel - 1) - 1) / stride) + 1...].
 * If options->is_transposed, returns the result of PyTorch's ConvTranspose (the gradient of Conv).
 * weight: [channels, out / groups, kernel...];
 * result: [n, out, (size - 1) * stride - padding + dilation * (kernel - 1) + output_padding + 1...].
 * Accumulates in f32 for narrower floats, otherwise in the element type. options: may be NULL. Sizes of x may
 * be symbols if each size of the result is an expression. A symbol minus a number is not an expression, so
 * the padding must be large enough. */
FORGE_API forge_value forge_conv(forge_builder *builder, forge_value x, forge_value weight,
                                 const forge_conv_options *options);

/* A window that slides along one dimension. It starts at the positions 0, stride, 2 stride ... where it fits
 * in the padded input. */
typedef struct forge_window {
    uint32_t size;          /* in elements */
    uint32_t stride;        /* in elements; 0 means `size` */
    uint32_t dilation;      /* distance between the window's elements; 0 means 1 */
    uint32_t before, after; /* padding on both sides; less than the extent of the window */
} forge_window;
/* Returns the sum, mean, maximum (NaN propagates) or minimum of each window. axes: bit i is dimension i.
 * windows: an array with one entry for each of these axes, in order. Padding is ignored; with count_padding,
 * a mean counts padding as zeros. A window that contains only padding has the result 0 (sum), NaN (mean),
 * -infinity (maximum) or infinity (minimum). */
FORGE_API forge_value forge_window_reduce(forge_builder *builder, forge_reduce_kind kind, forge_value x,
                                          uint32_t axes, const forge_window *windows, bool count_padding);
/* Return the maximum or mean of windows with the same size in all spatial dimensions of x [n, channels,
 * spatial...]. stride 0: equal to `size`. count_padding: as for forge_window_reduce. */
FORGE_API forge_value forge_max_pool(forge_builder *builder, forge_value x, uint32_t size, uint32_t stride,
                                     uint32_t padding);
FORGE_API forge_value forge_avg_pool(forge_builder *builder, forge_value x, uint32_t size, uint32_t stride,
                                     uint32_t padding, bool count_padding);
/* Returns the elements of each window. The result has the dimensions of x, followed by the sizes of a window.
 * Along each axis of `axes`, its size is the number of windows. Padded elements have the value `padding`.
 * Floats only. */
FORGE_API forge_value forge_unfold(forge_builder *builder, forge_value x, uint32_t axes,
                                   const forge_window *windows, double padding);
/* Returns an array of `shape`. Each element is the sum of its copies in the windows of x, which has the shape
 * of the result of forge_unfold. This is the gradient of forge_unfold. */
FORGE_API forge_value forge_fold(forge_builder *builder, forge_value x, forge_shape shape, uint32_t axes,
                                 const forge_window *windows);
/* Distributes the value of each window in `parts` equally among the window's elements of x that equal y. The
 * result has the shape of x, and is 0 elsewhere. If y is the maximum or minimum of the windows, this is the
 * gradient of that reduction. The value of a window is dropped if its y equals no element, for example if y
 * is NaN. y and parts: the shape of the result of forge_window_reduce. x, y and parts: floats of one type. */
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
/* Returns random numbers: element i, in row-major order, is number i of the sequence of <forge/random.h> with
 * this key (u64, rank 0), step (u32, rank 0) and stream. */
FORGE_API forge_value forge_random_numbers(forge_builder *builder, forge_random_kind kind, forge_shape shape,
                                           forge_value key, forge_value step, uint32_t stream);

/* --- moving elements ------------------------------------------------------------------------------------ */

/* Returns the elements of x in the same order with another shape. One size may be FORGE_REST or -1, as in
 * PyTorch: this size becomes the number of elements divided by the other sizes. The division must be exact;
 * with symbols, for all their values. With symbols use FORGE_REST, because -1 may be the id of a symbol. */
#define FORGE_REST (INT64_MIN + 1)
FORGE_API forge_value forge_reshape(forge_builder *builder, forge_value x, forge_shape shape);
/* Repeats elements of x to fill `shape`, as NumPy's broadcast_to does. */
FORGE_API forge_value forge_broadcast(forge_builder *builder, forge_value x, forge_shape shape);
/* Permutes dimensions: dimension i of the result is dimension order[i] of x. order: a permutation of 0 to
 * rank - 1. */
FORGE_API forge_value forge_transpose(forge_builder *builder, forge_value x, const uint32_t *order);

/* Concatenates `count` values along `axis`. Their sizes along all other axes must be equal. */
FORGE_API forge_value forge_concat(forge_builder *builder, const forge_value *inputs, size_t count,
                                   uint32_t axis);
/* Returns x[start:limit:step] in every dimension, as in NumPy. Each array has one number for each dimension.
 * NULL means 0 for start, the size for limit, and 1 for step. With a negative step, the elements are limit -
 * 1, limit - 1 + step ... down to start. Unlike in NumPy, negative numbers do not count from the end, because
 * a negative number is an expression of symbols. 0 <= start <= limit <= size must hold for all values of the
 * symbols. */
FORGE_API forge_value forge_slice(forge_builder *builder, forge_value x, const forge_dim *start,
                                  const forge_dim *limit, const int64_t *step);
/* Returns x[..., start:limit, ...] along one axis. */
FORGE_API forge_value forge_slice_along(forge_builder *builder, forge_value x, uint32_t axis, forge_dim start,
                                        forge_dim limit);
/* Reverses the order of elements along the axes whose bits are set: bit i is dimension i. */
FORGE_API forge_value forge_flip(forge_builder *builder, forge_value x, uint32_t axes);
/* Adds low[i] elements of `value` before dimension i and high[i] after it. low, high: arrays of rank numbers,
 * 0 or more. The value is converted to the type of x as forge_convert does from f64. */
FORGE_API forge_value forge_pad(forge_builder *builder, forge_value x, const int64_t *low,
                                const int64_t *high, double value);

/* Returns the elements of x at the given indices along `axis`, as NumPy's take does. In the result, the
 * dimensions of the indices replace dimension `axis` of x. With axis 0, this selects rows of a table.
 * indices: any integer type and shape; a negative index counts from the end. For an index out of range the
 * result is NaN, or 0 if x is not a float; memory outside x is never read. */
FORGE_API forge_value forge_gather(forge_builder *builder, forge_value x, forge_value indices, uint32_t axis);
/* Returns an array with the shape of the indices, as NumPy's take_along_axis does. In each line along the
 * axis, element i is element indices[i] of the same line of x. x and the indices may differ in size along the
 * axis only. */
FORGE_API forge_value forge_gather_along(forge_builder *builder, forge_value x, forge_value indices,
                                         uint32_t axis);

/* How scatter functions combine an update with the element at its position. */
typedef enum forge_scatter_kind {
    FORGE_SCATTER_SET = 0, /* the update replaces the element; of several updates, the last remains */
    FORGE_SCATTER_ADD = 1, /* updates are added in row-major order; each sum is rounded to the type */
    FORGE_SCATTER_MAX = 2, /* maximum; NaN if one is NaN */
    FORGE_SCATTER_MIN = 3,
    FORGE_SCATTER_KINDS
} forge_scatter_kind;
/* Return x with updates at the positions that forge_gather (or forge_gather_along) reads for these indices.
 * updates: the shape of the result of that gather function. Updates with an index out of range are dropped.
 * If x is read from a slot and the result is written to that slot in place, only the updated elements are
 * accessed. */
FORGE_API forge_value forge_scatter(forge_builder *builder, forge_value x, forge_value indices,
                                    forge_value updates, uint32_t axis, forge_scatter_kind kind);
FORGE_API forge_value forge_scatter_along(forge_builder *builder, forge_value x, forge_value indices,
                                          forge_value updates, uint32_t axis, forge_scatter_kind kind);

/* --- between processes ---------------------------------------------------------------------------------- */

/* Processes with the numbers 0 to size - 1, each of which runs the same graph on different data. Its layout
 * is final. */
typedef struct forge_group {
    const char *name; /* 1 to 31 bytes */
    uint32_t size;
} forge_group;
/* The collective operations. */
typedef enum forge_collective_kind {
    FORGE_ALL_REDUCE = 0, /* the sum of all x, in each process */
    FORGE_ALL_GATHER = 1, /* all x concatenated along an axis, in each process */
    /* one part of the sum in each process; the sum is divided equally along an axis */
    FORGE_REDUCE_SCATTER = 2,
    FORGE_SEND_ALL = 3,  /* the x of the root, in each process; MPI's broadcast */
    FORGE_REDUCE_TO = 4, /* the sum in the root, zeros in the others */
    FORGE_COLLECTIVE_KINDS
} forge_collective_kind;
/* Combines x over the processes of a group. axis_or_root: the axis of ALL_GATHER and REDUCE_SCATTER, the root
 * process of SEND_ALL and REDUCE_TO; ignored by ALL_REDUCE. REDUCE_SCATTER needs a size along the axis that
 * is divisible by the group's size; with symbols, for all their values. Gradients are those of the sum of the
 * losses of all processes. In a group of one process the result is x. Graphs with larger groups can be built,
 * saved and differentiated, but forge_compile returns JOULE_UNSUPPORTED for them. */
FORGE_API forge_value forge_collective(forge_builder *builder, forge_collective_kind kind,
                                       const forge_group *group, forge_value x, uint32_t axis_or_root);

/* --- composites ----------------------------------------------------------------------------------------- */

/* Adds the body of a composite to `builder`, and returns the value that the body computes. inputs: `count`
 * values of `builder`. */
typedef forge_value (*forge_body_fn)(forge_builder *builder, const forge_value *inputs, size_t count,
                                     const void *context);
/* Adds a composite: a node with a name of up to 31 bytes and a body of other nodes. The body defines what the
 * composite computes, its gradient and its cost. Devices have kernels for the library's composites (softmax,
 * layer_norm, adamw ...). A device uses such a kernel only if the composite has the same body that the
 * library builds for these inputs. Otherwise the device runs the nodes of the body. */
FORGE_API forge_value forge_composite(forge_builder *builder, const char *name, const forge_value *inputs,
                                      size_t count, forge_body_fn body, const void *context);
/* Adds a composite as forge_composite does, but with value_count values (1 to 4). `body` stores the values
 * that it computes in its argument out_values. The values of the composite are returned in out_values. */
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

/* Adds the nodes that compute d loss / d wrt[i], and returns the gradients in out_gradients[i], with the
 * shape and place of wrt[i]. loss: one element. wrt, out_gradients: `count` values. If the loss does not
 * depend on wrt[i], the gradient is 0. Backward nodes run on the place of their forward nodes. The gradient
 * of a composite NAME is a composite NAME.gradient. Non-differentiable points: relu'(0) = 0, |x|'(0) = 0.
 * Equal maxima or minima of a reduction or window share the gradient equally. If the operands of max or min
 * are equal, each gets half of the gradient. If several updates set one position, the last update gets the
 * whole gradient. In a scan, the first of equal elements gets the whole gradient. */
FORGE_API void forge_gradients(forge_builder *builder, forge_value loss, const forge_value *wrt, size_t count,
                               forge_value *out_gradients);

/* Returns x with a gradient of 0, so that no gradient reaches the values that x was computed from. This needs
 * no launch. */
FORGE_API forge_value forge_stop_gradient(forge_builder *builder, forge_value x);

/* Begin and end a region of activation checkpointing: the backward pass computes the values of the region's
 * nodes a second time, instead of reading them from memory. Only the region's inputs and the values that are
 * used outside of the region stay in memory. forge_gradients adds copies of the nodes between them, in the
 * phase "backward". At any time the values of one region only are in memory. With n equal layers in regions
 * of k layers, these are the values of about n / k + k layers instead of n; the minimum is near k = sqrt(n).
 * The price is a second forward computation. Gradients have the same bits as without regions, and repeated
 * nodes draw the same random numbers. Regions must not nest, and no region may be open when forge_gradients
 * is called. */
FORGE_API void forge_recompute_begin(forge_builder *builder);
FORGE_API void forge_recompute_end(forge_builder *builder);

/* --- values of symbols ---------------------------------------------------------------------------------- */

/* A number for a symbol. Its layout is final. */
typedef struct forge_size {
    const char *symbol;
    int64_t value;
} forge_size;
/* Creates a copy of the graph with numbers in place of symbols; symbols without a number stay. sizes: an
 * array of `count` entries. The caller owns the new graph (forge_graph_free). JOULE_ABSENT: no such symbol.
 * JOULE_INVALID: a number is out of the symbol's range, or the shapes of a node are wrong with this
 * number. */
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
 * The text is complete and its numbers are exact, so forge_graph_parse returns an equal graph for it. The
 * caller frees the text with free(). */
FORGE_API joule_status forge_graph_print(const forge_graph *graph, char **out_text, joule_error *out_error);
/* Parses a graph from `length` bytes, which need no terminator and may have any values. '#' begins a comment
 * up to the end of the line. The caller owns the graph (forge_graph_free). JOULE_INVALID: the message
 * contains line and column, and what was expected there. */
FORGE_API joule_status forge_graph_parse(const char *text, size_t length, forge_graph **out_graph,
                                         joule_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
