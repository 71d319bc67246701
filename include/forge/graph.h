/* forge/graph.h - computations as values.
 *
 * Owns the builder, with one function for each family of operations, and the finished graph. A graph has inputs,
 * outputs and state slots; nodes stand in topological order and are immutable once the graph is finished.
 * Newcomers: builder functions return a value and never a status. The first thing that is wrong is kept, every later
 * call does nothing and gives FORGE_NO_VALUE, and forge_builder_finish tells it, with operation and dimensions.
 */
#ifndef FORGE_GRAPH_H
#define FORGE_GRAPH_H

#include <forge/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct forge_builder forge_builder; /* one thread at a time */
typedef struct forge_graph forge_graph;     /* immutable: any thread */

/* A value of a builder's graph: what a node gives. */
typedef uint32_t forge_value;
#define FORGE_NO_VALUE 0u
/* A state slot of a builder's graph. */
typedef uint32_t forge_slot;

/* --- life --------------------------------------------------------------------------------------------------- */

/* NULL when memory is used up; all functions take that NULL as a builder that has failed. */
FORGE_API forge_builder *forge_builder_new(void);
/* Makes the graph of everything that outputs and writes need; the rest is dropped. The builder is freed, whatever the
 * outcome. The graph is the caller's: forge_graph_free. */
FORGE_API joule_status forge_builder_finish(forge_builder *builder, forge_graph **out_graph,
                                            joule_error *out_error);
/* Frees a builder that is not to be finished. NULL is allowed. */
FORGE_API void forge_builder_free(forge_builder *builder);
FORGE_API void forge_graph_free(forge_graph *graph);

/* What is known of a value while building; rank 0 and NONE after an error. */
FORGE_API forge_shape forge_value_shape(const forge_builder *builder, forge_value value);
FORGE_API forge_dtype forge_value_dtype(const forge_builder *builder, forge_value value);
/* Makes the builder fail with this message, if it has not failed before; for layers that check their arguments. */
FORGE_API void forge_builder_fail(forge_builder *builder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* --- provenance --------------------------------------------------------------------------------------------- */

/* Nodes made until the matching pop carry this name below the outer ones: "encoder/layer0". A name is not
 * empty and has no '/'. A pop too many is ignored, and what is still open when the builder finishes is closed. */
FORGE_API void forge_scope_push(forge_builder *builder, const char *name);
FORGE_API void forge_scope_pop(forge_builder *builder);

typedef enum forge_phase {
    FORGE_PHASE_FORWARD = 0,
    FORGE_PHASE_BACKWARD = 1,
    FORGE_PHASE_OPTIMISER = 2,
    FORGE_PHASE_DATA = 3,
} forge_phase;
/* "forward". */
FORGE_API const char *forge_phase_name(forge_phase phase);
/* Of nodes made from now on. Returns the one before. */
FORGE_API forge_phase forge_phase_set(forge_builder *builder, forge_phase phase);

/* --- places ------------------------------------------------------------------------------------------------- */

/* A place is where nodes run and their values live: a name, 1 to 31 bytes, to which whoever compiles gives a device. NULL is
 * wherever the program is compiled for. */
#define FORGE_PLACE_NAME 31
/* Of nodes made from now on. Returns the one before, which lives as long as the builder. An operand may live elsewhere:
 * compilation transfers it, as forge_transfer does. A composite's body names no places, and runs where the composite does. */
FORGE_API const char *forge_place_set(forge_builder *builder, const char *name);
/* The name lives as long as the builder. */
FORGE_API const char *forge_value_place(const forge_builder *builder, forge_value value);
/* x on another place; x itself where it lives there. Its gradient is transferred back. */
FORGE_API forge_value forge_transfer(forge_builder *builder, forge_value x, const char *place);

/* --- sizes -------------------------------------------------------------------------------------------------- */

/* A size that is known when the program runs: min to max, a multiple of `multiple` (1 or more). The same name gives the
 * same symbol. */
FORGE_API forge_dim forge_symbol(forge_builder *builder, const char *name, int64_t min, int64_t max,
                                 int64_t multiple);
/* Expressions that are equal as polynomials are the same number. forge_dim_div is exact where that can be shown, else
 * rounded down. */
FORGE_API forge_dim forge_dim_add(forge_builder *builder, forge_dim a, forge_dim b);
FORGE_API forge_dim forge_dim_mul(forge_builder *builder, forge_dim a, forge_dim b);
FORGE_API forge_dim forge_dim_div(forge_builder *builder, forge_dim a, forge_dim b);

/* --- leaves, outputs, state --------------------------------------------------------------------------------- */

/* Names of inputs, outputs and slots are unique within their kind. */
FORGE_API forge_value forge_input(forge_builder *builder, const char *name, forge_dtype dtype,
                                  forge_shape shape);
FORGE_API void forge_output(forge_builder *builder, const char *name, forge_value value);

/* How a slot begins. */
typedef enum forge_init_kind {
    FORGE_INIT_CONSTANT = 0, /* every element is a */
    FORGE_INIT_UNIFORM = 1,  /* from a to b */
    FORGE_INIT_NORMAL = 2,   /* mean a, sd b */
} forge_init_kind;
typedef struct forge_init {
    forge_init_kind kind;
    double a, b;
} forge_init;

/* The slot with this name; made at the first call. The same name must have the same type and shape. */
FORGE_API forge_slot forge_state(forge_builder *builder, const char *name, forge_dtype dtype,
                                 forge_shape shape, forge_init init);
/* The value that the slot has when the program starts. A slot lives on the place of its first read or write, so later reads
 * give a value that lives there. */
FORGE_API forge_value forge_read(forge_builder *builder, forge_slot slot);
/* The slot has this value when the program ends; at most one write for each slot. In place: the planner must let the
 * value be computed where the slot lies, or compilation fails and names the reader that is in the way. The value lives on the
 * slot's place. */
FORGE_API void forge_write(forge_builder *builder, forge_slot slot, forge_value value, bool in_place);

/* The elements are copied. */
FORGE_API forge_value forge_constant(forge_builder *builder, const forge_tensor *tensor);
/* Rank 0. */
FORGE_API forge_value forge_scalar(forge_builder *builder, forge_dtype dtype, double number);
/* 0, 1, 2 ... along `axis`, the same along the others. */
FORGE_API forge_value forge_iota(forge_builder *builder, forge_dtype dtype, forge_shape shape, uint32_t axis);

/* --- element by element ------------------------------------------------------------------------------------- */

typedef enum forge_unary_kind {
#define UNARY(NAME, text) FORGE_##NAME,
#include <forge/unary.def>
#undef UNARY
    FORGE_UNARY_KINDS
} forge_unary_kind;
FORGE_API forge_value forge_unary(forge_builder *builder, forge_unary_kind kind, forge_value x);

typedef enum forge_binary_kind {
#define BINARY(NAME, text) FORGE_##NAME,
#include <forge/binary.def>
#undef BINARY
    FORGE_BINARY_KINDS
} forge_binary_kind;
/* Shapes are broadcast as NumPy does; types must be the same. Comparisons give bool. */
FORGE_API forge_value forge_binary(forge_builder *builder, forge_binary_kind kind, forge_value a,
                                   forge_value b);

/* a where the condition (bool) is true, else b; all three are broadcast. */
FORGE_API forge_value forge_select(forge_builder *builder, forge_value condition, forge_value a,
                                   forge_value b);
FORGE_API forge_value forge_cast(forge_builder *builder, forge_dtype dtype, forge_value x);

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

/* --- across elements ---------------------------------------------------------------------------------------- */

typedef enum forge_reduce_kind {
    FORGE_SUM = 0,
    FORGE_MEAN = 1,
    FORGE_MAXIMUM = 2, /* NaN wins */
    FORGE_MINIMUM = 3,
    FORGE_PRODUCT = 4,
    FORGE_ARGMAX = 5, /* one axis; the first of equals; i64 */
    FORGE_REDUCE_KINDS
} forge_reduce_kind;
/* axes: bit i for dimension i. keeps_dims: reduced dimensions stay, with size 1. Sums are kept in f32 for narrower floats
 * and in the type itself otherwise. */
FORGE_API forge_value forge_reduce(forge_builder *builder, forge_reduce_kind kind, forge_value x,
                                   uint32_t axes, bool keeps_dims);

enum {
    FORGE_SCAN_EXCLUSIVE =
        1, /* each result is of the elements before its own; the first is of none: 0, 1, or the least or
                               * largest number of the type */
    FORGE_SCAN_REVERSE = 2, /* from the last element to the first */
};
/* SUM, PRODUCT, MAXIMUM or MINIMUM of all elements up to each, along one axis. NaN wins from where it is met. */
FORGE_API forge_value forge_scan(forge_builder *builder, forge_reduce_kind kind, forge_value x, uint32_t axis,
                                 uint32_t flags);
/* The elements of each line along the axis in order, and in *out_indices (may be NULL), i64, where in the line they were.
 * Equal ones stay in their order; NaN comes last, whatever the direction. */
FORGE_API forge_value forge_sort(forge_builder *builder, forge_value x, uint32_t axis, bool is_descending,
                                 forge_value *out_indices);
/* The first k of a descending sort. */
FORGE_API forge_value forge_top_k(forge_builder *builder, forge_value x, forge_dim k, uint32_t axis,
                                  forge_value *out_indices);

enum { FORGE_TRANSPOSE_A = 1, FORGE_TRANSPOSE_B = 2 };
/* [..., m, k] x [..., k, n], the last two dimensions of either swapped by a flag; leading dimensions are broadcast.
 * Accumulated in f32 for narrower floats, in the type itself otherwise. */
FORGE_API forge_value forge_matmul(forge_builder *builder, forge_value a, forge_value b, uint32_t flags);

/* --- windows ------------------------------------------------------------------------------------------------- */

/* How a convolution's kernel moves. Entry i is for spatial dimension i; entries beyond them are not looked at. */
typedef struct forge_conv_options {
    uint32_t struct_size; /* sizeof(forge_conv_options) */
    uint32_t groups;      /* channels are cut into as many parts that do not see each other; 0: 1 */
    uint32_t stride[3];   /* 0: 1 */
    uint32_t dilation[3]; /* the distance between the kernel's elements; 0: 1 */
    uint32_t padding_before[3], padding_after[3]; /* zeros around the input */
    /* transposed only: rows added at the result's end; below stride or dilation */
    uint32_t output_padding[3];
    bool is_transposed;
} forge_conv_options;
/* Cross-correlation over 1 to 3 spatial dimensions, as PyTorch's Conv: x [n, channels, spatial...], weight
 * [out, channels / groups, kernel...], result [n, out, floor((size + padding - dilation (kernel - 1) - 1) / stride) + 1...].
 * Transposed, as PyTorch's ConvTranspose: weight [channels, out / groups, kernel...], result [n, out,
 * (size - 1) stride - padding + dilation (kernel - 1) + output_padding + 1...]; this is the gradient of the former.
 * Accumulated in f32 for narrower floats, in the type itself otherwise. Sizes may be symbols where the result's can be
 * expressed: a symbol less a number cannot, so pad enough. options: NULL for none. */
FORGE_API forge_value forge_conv(forge_builder *builder, forge_value x, forge_value weight,
                                 const forge_conv_options *options);

/* A window along one dimension. It stands at 0, stride, 2 stride ... of the padded input, as often as all of it fits in. */
typedef struct forge_window {
    uint32_t size;          /* elements */
    uint32_t stride;        /* 0: its size */
    uint32_t dilation;      /* the distance between its elements; 0: 1 */
    uint32_t before, after; /* padding; below what the window spans */
} forge_window;
/* Sum, mean, maximum (NaN wins) or minimum of each window. axes: bit i for dimension i; windows: one for each of these, in
 * order. Padding has no part in it; only means may count it, as zeros. A window with nothing but padding in it gives 0,
 * NaN, -infinity or infinity. */
FORGE_API forge_value forge_window_reduce(forge_builder *builder, forge_reduce_kind kind, forge_value x,
                                          uint32_t axes, const forge_window *windows, bool counts_padding);
/* The same window along all spatial dimensions of x [n, channels, spatial...]. stride 0: its size. */
FORGE_API forge_value forge_max_pool(forge_builder *builder, forge_value x, uint32_t size, uint32_t stride,
                                     uint32_t padding);
FORGE_API forge_value forge_avg_pool(forge_builder *builder, forge_value x, uint32_t size, uint32_t stride,
                                     uint32_t padding, bool counts_padding);
/* The windows themselves: x's dimensions, with the number of windows for those in axes, then the windows' sizes. Padding has
 * the value `padding`. Floats. */
FORGE_API forge_value forge_unfold(forge_builder *builder, forge_value x, uint32_t axes,
                                   const forge_window *windows, double padding);
/* The sum of windows where they came from, which has `shape`: unfold's gradient. */
FORGE_API forge_value forge_fold(forge_builder *builder, forge_value x, forge_shape shape, uint32_t axes,
                                 const forge_window *windows);
/* What each window has in `parts`, shared equally among those of its elements that are equal to the window's y; x's shape,
 * and 0 where nothing comes. With y the maximum or minimum of x's windows this is the gradient of these. A y that no element
 * equals, as NaN, gives nothing. x, y and parts: floats of one type. */
FORGE_API forge_value forge_share(forge_builder *builder, forge_value x, forge_value y, forge_value parts,
                                  uint32_t axes, const forge_window *windows);

/* --- random numbers ------------------------------------------------------------------------------------------ */

typedef enum forge_random_kind {
    FORGE_RANDOM_UNIFORM = 0, /* f32 in [0, 1) */
    FORGE_RANDOM_NORMAL = 1,  /* f32, mean 0, sd 1 */
    FORGE_RANDOM_BITS = 2,    /* u32 */
    FORGE_RANDOM_KINDS
} forge_random_kind;
/* Element i is number i of <forge/random.h> with this key (u64, rank 0), step (u32, rank 0) and stream. */
FORGE_API forge_value forge_random_numbers(forge_builder *builder, forge_random_kind kind, forge_shape shape,
                                           forge_value key, forge_value step, uint32_t stream);

/* --- moving elements ---------------------------------------------------------------------------------------- */

/* Returns the same elements in the same order. One size may be FORGE_REST: the number of elements divided by
 * the other sizes. The division must be exact; with symbols, for all their values. -1 means the same, as in
 * PyTorch. With symbols write FORGE_REST, because -1 may be the id of a symbol. */
#define FORGE_REST (INT64_MIN + 1)
FORGE_API forge_value forge_reshape(forge_builder *builder, forge_value x, forge_shape shape);
/* As NumPy's broadcast_to. */
FORGE_API forge_value forge_broadcast(forge_builder *builder, forge_value x, forge_shape shape);
/* Dimension i of the result is dimension order[i] of x; `order` holds rank numbers. */
FORGE_API forge_value forge_transpose(forge_builder *builder, forge_value x, const uint32_t *order);

/* Concatenates any number of values along `axis`; their other sizes must be equal. */
FORGE_API forge_value forge_concat(forge_builder *builder, const forge_value *inputs, size_t count,
                                   uint32_t axis);
/* NumPy's x[start:limit:step] in every dimension; the arrays hold rank numbers. NULL is 0, all of the dimension, and 1.
 * With a negative step the elements are limit - 1, limit - 1 + step ... down to start. Start and limit may be expressions,
 * so what is negative is no count from the end; 0 <= start <= limit <= dimension must hold whatever the symbols are. */
FORGE_API forge_value forge_slice(forge_builder *builder, forge_value x, const forge_dim *start,
                                  const forge_dim *limit, const int64_t *step);
/* x[..., start:limit, ...]. */
FORGE_API forge_value forge_slice_along(forge_builder *builder, forge_value x, uint32_t axis, forge_dim start,
                                        forge_dim limit);
/* The last elements first, along the axes whose bits are set. */
FORGE_API forge_value forge_flip(forge_builder *builder, forge_value x, uint32_t axes);
/* low[i] elements of this value before dimension i and high[i] after it; rank numbers, 0 or more. The value is converted to
 * x's type as forge_convert does from f64. */
FORGE_API forge_value forge_pad(forge_builder *builder, forge_value x, const int64_t *low,
                                const int64_t *high, double value);

/* NumPy's take: x with dimension `axis` replaced by the dimensions of the indices, which are of any integer type and shape;
 * rows of a table are axis 0. A negative index counts from the end. An index beyond x gives NaN, or 0 where x is no float;
 * nothing outside x is ever read. */
FORGE_API forge_value forge_gather(forge_builder *builder, forge_value x, forge_value indices, uint32_t axis);
/* NumPy's take_along_axis: element i of a line along the axis is x's element indices[i] of the same line. x and the
 * indices may differ in size along the axis only. */
FORGE_API forge_value forge_gather_along(forge_builder *builder, forge_value x, forge_value indices,
                                         uint32_t axis);

typedef enum forge_scatter_kind {
    FORGE_SCATTER_SET = 0, /* of several for one place, the last */
    FORGE_SCATTER_ADD = 1, /* one after the other, in order, each rounded to the type */
    FORGE_SCATTER_MAX = 2, /* NaN wins */
    FORGE_SCATTER_MIN = 3,
    FORGE_SCATTER_KINDS
} forge_scatter_kind;
/* x with the updates put where a gather with these indices would have taken them from; their shape is what it gives.
 * Updates beyond x are dropped. Where x is a slot's value and the result is written into it in place, only the places that
 * are updated are touched. */
FORGE_API forge_value forge_scatter(forge_builder *builder, forge_value x, forge_value indices,
                                    forge_value updates, uint32_t axis, forge_scatter_kind kind);
FORGE_API forge_value forge_scatter_along(forge_builder *builder, forge_value x, forge_value indices,
                                          forge_value updates, uint32_t axis, forge_scatter_kind kind);

/* --- between processes -------------------------------------------------------------------------------------- */

/* Processes that run the same graph, each on its own data: numbers 0 to size - 1. Its layout is final. */
typedef struct forge_group {
    const char *name; /* 1 to 31 bytes */
    uint32_t size;
} forge_group;
typedef enum forge_collective_kind {
    FORGE_ALL_REDUCE = 0,     /* the sum of all x, in each */
    FORGE_ALL_GATHER = 1,     /* all x one after the other along an axis, in each */
    FORGE_REDUCE_SCATTER = 2, /* of the sum, cut into equal parts along an axis, the part of its own number */
    FORGE_SEND_ALL = 3,       /* root's x, in each: what MPI calls broadcast */
    FORGE_REDUCE_TO = 4,      /* the sum in root, zeros in others */
    FORGE_COLLECTIVE_KINDS
} forge_collective_kind;
/* axis_or_root is not looked at by ALL_REDUCE. REDUCE_SCATTER needs a size of which it can be shown that it has as many equal
 * parts. Gradients are those of the sum of all processes' losses. In a group of one each is x itself; larger groups can be
 * written, read and differentiated, and forge_compile refuses them: UNSUPPORTED. */
FORGE_API forge_value forge_collective(forge_builder *builder, forge_collective_kind kind,
                                       const forge_group *group, forge_value x, uint32_t axis_or_root);

/* --- composites --------------------------------------------------------------------------------------------- */

/* Writes a composite's meaning in families; returns its value. `inputs` belong to the builder given here. */
typedef forge_value (*forge_body_fn)(forge_builder *builder, const forge_value *inputs, size_t count,
                                     const void *context);
/* A node with this name, of up to 31 bytes, whose meaning, gradient, cost and fallback is its body. Devices have kernels for
 * the library's own (softmax, layer_norm, adamw ...) and run them where a composite of that name has the library's body for
 * its inputs; any other body is what is computed, whatever its name. */
FORGE_API forge_value forge_composite(forge_builder *builder, const char *name, const forge_value *inputs,
                                      size_t count, forge_body_fn body, const void *context);
/* The same with up to 4 values, which the body puts into out_values. */
typedef void (*forge_bodies_fn)(forge_builder *builder, const forge_value *inputs, size_t count,
                                const void *context, forge_value *out_values);
FORGE_API void forge_composite_many(forge_builder *builder, const char *name, const forge_value *inputs,
                                    size_t count, forge_bodies_fn body, const void *context,
                                    forge_value *out_values, size_t value_count);

/* Over the last dimension: e^x by the sum of all e^x. */
FORGE_API forge_value forge_softmax(forge_builder *builder, forge_value x);
/* log(softmax) over the last dimension. */
FORGE_API forge_value forge_log_softmax(forge_builder *builder, forge_value x);
/* Mean over rows of -log_softmax(logits)[row, label]: logits [n, classes] float, labels [n] integer. Rank 0. */
FORGE_API forge_value forge_cross_entropy(forge_builder *builder, forge_value logits, forge_value labels);

/* --- gradients ---------------------------------------------------------------------------------------------- */

/* Adds the nodes that compute d loss / d wrt[i] into out_gradients[i], which lives where wrt[i] does; loss has one element.
 * Nodes on the way back run where those on the way forward do. A value on which the loss does not depend gets zeros. The
 * gradient of a composite NAME is a composite NAME.gradient. Ties and kinks: relu'(0) = 0, |x|'(0) = 0; equal maxima, also of a
 * window, share their gradient equally; of equal operands of max and min each gets half; of several updates that are set
 * into one place the last has all; of equals in a scan the first that is met has all. */
FORGE_API void forge_gradients(forge_builder *builder, forge_value loss, const forge_value *wrt, size_t count,
                               forge_value *out_gradients);

/* Returns x with a gradient of 0, so that no gradient reaches the values that x was computed from. Costs
 * nothing. */
FORGE_API forge_value forge_stop_gradient(forge_builder *builder, forge_value x);

/* Nodes made until the matching end are not remembered from the way forward to the way back: forge_gradients keeps what they
 * take from outside, and what is used outside of them, and makes all that lies between once more, in the phase "backward".
 * So memory is for one region at a time, at the price of running it again: of n equal layers in regions of k, about n / k + k
 * layers' values are alive instead of n, which is least for k near the square root of n. First gradients have the same bits
 * as without; random numbers, being functions, are drawn again the same. Regions follow on each other and do not nest; one
 * that is open when gradients are asked for is a mistake. */
FORGE_API void forge_recompute_begin(forge_builder *builder);
FORGE_API void forge_recompute_end(forge_builder *builder);

/* --- numbers for symbols ------------------------------------------------------------------------------------- */

/* Its layout is final. */
typedef struct forge_size {
    const char *symbol;
    int64_t value;
} forge_size;
/* The graph with these numbers in place of symbols; those without a number stay. The graph is the caller's: forge_graph_free.
 * ABSENT: there is no such symbol; INVALID: it cannot be this number, or then something makes no sense. */
FORGE_API joule_status forge_graph_bind(const forge_graph *graph, const forge_size *sizes, size_t count,
                                        forge_graph **out_graph, joule_error *out_error);

/* --- looking at graphs -------------------------------------------------------------------------------------- */

FORGE_API size_t forge_graph_nodes(const forge_graph *graph);

/* --- graphs as text ----------------------------------------------------------------------------------------- */

/* One line for each symbol, slot, node, output and write, and a block for each composite's body:
 *
 *     %5 = matmul(%3, %4) transpose_b : f32[B,10] @mlp/fc1 backward
 *
 * Nothing is lost: parsed, the text gives an equal graph, and numbers are exact. The text is the caller's: free. */
FORGE_API joule_status forge_graph_print(const forge_graph *graph, char **out_text, joule_error *out_error);
/* Reads `length` bytes, which need no terminator and may be anything. '#' begins a comment that ends with its line.
 * INVALID: the message has line, column and what was expected there. The graph is the caller's: forge_graph_free. */
FORGE_API joule_status forge_graph_parse(const char *text, size_t length, forge_graph **out_graph,
                                         joule_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
