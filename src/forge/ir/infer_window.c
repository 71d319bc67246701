/* ir/infer_window.c - the inference rules of convolutions, windows and random numbers; see infer.h.
 *
 * Note: sizes may be symbols. A result's size is (input + padding - span + stride) / stride. If the span
 * exceeds padding + stride, a number is subtracted from the input. The input must then be a sum with a large
 * enough number, such as B + 4.
 */
#include "forge/ir/infer.h"

/* A kernel or window that slides along one dimension. */
struct slider {
    const char *name; /* "kernel" or "window" */
    forge_dim size;
    int64_t stride, dilation, padding;
};

static int64_t span_of(const struct slider *s)
{
    int64_t span; /* in elements, with dilation; on overflow, more than any size */
    return __builtin_mul_overflow(s->dilation, s->size - 1, &span) || span > DIM_MAX_NUMBER
               ? 2 * DIM_MAX_NUMBER
               : span + 1;
}

static forge_dim moved_by(struct dim_table *dims, forge_dim dim, int64_t by)
{
    return by < 0 ? dim_sub(dims, dim, -by) : dim_add(dims, dim, by);
}

/* Computes the number of positions of the slider within `in` elements and the padding. Returns false, with a
 * message, if the slider does not fit or the table cannot express the number. */
static bool count_positions(struct inference *i, const struct slider *s, forge_dim in, forge_dim *out)
{
    struct dim_table *dims = &i->graph->dims;
    int64_t span = span_of(s), min = dim_min(dims, in) + s->padding;
    if (span > min)
        return infer_fail(i, "the %s %lld%s is larger than the padded input%s %lld", s->name,
                          (long long)s->size, s->dilation > 1 ? ", dilated," : "",
                          in < 0 ? ", which can be" : "", (long long)min);
    int64_t missing = s->padding - span + s->stride;
    forge_dim moved = moved_by(dims, in, missing);
    if (moved == DIM_FAILED)
        return infer_fail(i, "the result's size cannot be expressed: it is a symbol minus %lld; add padding",
                          (long long)-missing);
    *out = dim_div(dims, moved, s->stride);
    return true;
}

/* --- convolutions --------------------------------------------------------------------------------------- */

static bool is_multiple(struct dim_table *dims, forge_dim dim, forge_dim of)
{
    return dim_mul(dims, dim_div(dims, dim, of), of) == dim;
}

static bool check_conv(struct inference *i, const struct conv_attributes *a)
{
    const struct value *x = i->inputs[0], *weight = i->inputs[1];
    struct dim_table *dims = &i->graph->dims;
    if (x->dtype != weight->dtype || x->dtype == FORGE_BOOL)
        return infer_fail(i, "both inputs must have the same numeric type");
    if (x->shape.rank < 3 || x->shape.rank > 5 || weight->shape.rank != x->shape.rank)
        return infer_fail(i, "both need [.., channels, 1 to 3 spatial dimensions]");
    if (a->groups == 0)
        return infer_fail(i, "0 groups");
    bool is_transposed = a->flags & CONV_TRANSPOSED;
    forge_dim channels =
        is_transposed ? weight->shape.dims[0] : dim_mul(dims, weight->shape.dims[1], a->groups);
    if (channels != x->shape.dims[1])
        return infer_fail(i, "the weight%s has another number of channels than x",
                          a->groups > 1 ? ", times the groups," : "");
    if (!is_multiple(dims, weight->shape.dims[0], a->groups))
        return infer_fail(i, "%s channels are not a multiple of %u groups",
                          is_transposed ? "x's" : "the result's", a->groups);
    for (uint32_t k = 0; k + 2 < x->shape.rank; k++)
        if (a->stride[k] == 0 || a->dilation[k] == 0)
            return infer_fail(i, "a stride or dilation is 0");
    return true;
}

/* Computes the size of a transposed convolution's result along one dimension. Returns false, with a message,
 * if the size is invalid. */
static bool transposed_size(struct inference *i, const struct slider *s, forge_dim in, uint32_t extra,
                            forge_dim *out)
{
    struct dim_table *dims = &i->graph->dims;
    if (extra && extra >= s->stride && extra >= s->dilation)
        return infer_fail(i, "the output padding %u must be below the stride or the dilation", extra);
    int64_t more = span_of(s) - s->stride - s->padding + extra;
    *out = moved_by(dims, dim_mul(dims, in, s->stride), more);
    if (*out == DIM_FAILED && in < 0)
        return infer_fail(i,
                          "the result's size cannot be expressed: it is a symbol minus %lld; remove padding",
                          (long long)-more);
    double missing = -(double)more - (double)in * (double)s->stride;
    if (*out == DIM_FAILED)
        return missing > 0 ? infer_fail(i, "the padding removes %.0f more elements than there are", missing)
                           : infer_fail(i, "the result is too large");
    return true;
}

static bool conv_size(struct inference *i, const struct conv_attributes *a, uint32_t k, forge_dim *out)
{
    forge_dim in = i->inputs[0]->shape.dims[k + 2];
    struct slider kernel = {"kernel", i->inputs[1]->shape.dims[k + 2], a->stride[k], a->dilation[k],
                            (int64_t)a->before[k] + a->after[k]};
    if (a->flags & CONV_SIZED) {
        *out = a->size[k];
        return true;
    }
    if (kernel.size <= 0)
        return infer_fail(i, kernel.size ? "the kernel's size must be a number" : "the kernel is empty");
    return a->flags & CONV_TRANSPOSED ? transposed_size(i, &kernel, in, a->extra[k], out)
                                      : count_positions(i, &kernel, in, out);
}

/* Infers a convolution. x: [n, channels, spatial...]; weight: [out, channels / groups, kernel...],
 * transposed: [channels, out / groups, kernel...]. Result: [n, out, spatial...]. There are 1 to 3 spatial
 * dimensions. */
bool infer_conv(struct inference *i)
{
    const struct conv_attributes *a = i->attributes;
    const forge_shape *x = &i->inputs[0]->shape, *weight = &i->inputs[1]->shape;
    if (!check_conv(i, a))
        return false;
    forge_shape shape = {.rank = x->rank, .dims = {x->dims[0], weight->dims[0]}};
    if (a->flags & CONV_TRANSPOSED)
        shape.dims[1] = dim_mul(&i->graph->dims, weight->dims[1], a->groups);
    for (uint32_t k = 0; k + 2 < x->rank; k++)
        if (!conv_size(i, a, k, &shape.dims[k + 2]))
            return false;
    return infer_add_output(i, i->inputs[0]->dtype, &shape);
}

/* --- windows -------------------------------------------------------------------------------------------- */

/* Replaces the size of each dimension along which windows slide by the number of windows. Returns false, with
 * a message, if the windows are invalid. */
static bool count_windows(struct inference *i, const struct windows *w, forge_shape *shape)
{
    if (w->axes == 0 || w->axes >> shape->rank)
        return infer_fail(i, "axes 0x%x do not exist in rank %u", w->axes, shape->rank);
    for (uint32_t k = 0; k < shape->rank; k++) {
        if (!(w->axes >> k & 1))
            continue;
        if (w->size[k] == 0 || w->stride[k] == 0 || w->dilation[k] == 0)
            return infer_fail(i, "a window, stride or dilation is 0 along dimension %u", k);
        struct slider window = {"window", w->size[k], w->stride[k], w->dilation[k],
                                (int64_t)w->before[k] + w->after[k]};
        if (w->before[k] >= span_of(&window) || w->after[k] >= span_of(&window))
            return infer_fail(i, "along dimension %u a window would contain only padding", k);
        if (!count_positions(i, &window, shape->dims[k], &shape->dims[k]))
            return false;
    }
    return true;
}

static bool has_rank(struct inference *i, const forge_shape *shape)
{
    return shape->rank <= FORGE_MAX_RANK || infer_fail(i, "rank %u is above %d", shape->rank, FORGE_MAX_RANK);
}

/* Appends the sizes of the windows to the shape, as new dimensions. */
static bool add_sizes(struct inference *i, const struct windows *w, forge_shape *shape)
{
    uint32_t rank = shape->rank;
    if (rank + (uint32_t)__builtin_popcount(w->axes) > FORGE_MAX_RANK)
        return infer_fail(i, "with the windows' own dimensions the rank is above %d", FORGE_MAX_RANK);
    for (uint32_t k = 0; k < rank; k++)
        if (w->axes >> k & 1)
            shape->dims[shape->rank++] = w->size[k];
    return true;
}

bool infer_window(struct inference *i)
{
    const struct window_attributes *a = i->attributes;
    forge_shape shape = i->inputs[0]->shape;
    forge_dtype dtype = i->inputs[0]->dtype;
    if (a->kind > FORGE_MINIMUM)
        return infer_fail(i, "windows cannot compute %s; they can compute sum, mean, maximum and minimum",
                          reduce_name(a->kind));
    if (dtype == FORGE_BOOL || (a->kind == FORGE_MEAN && !forge_dtype_is_float(dtype)))
        return infer_fail(i, "%s does not support %s", reduce_name(a->kind), forge_dtype_name(dtype));
    return count_windows(i, &a->windows, &shape) && infer_add_output(i, dtype, &shape);
}

/* Infers an unfold. The result has the shape of x, but its size along each of the `axes` is the number of
 * windows. The sizes of a window follow as new dimensions. */
bool infer_unfold(struct inference *i)
{
    const struct unfold_attributes *a = i->attributes;
    forge_shape shape = i->inputs[0]->shape;
    if (!forge_dtype_is_float(i->inputs[0]->dtype))
        return infer_fail(i, "x must be floats");
    return count_windows(i, &a->windows, &shape) && add_sizes(i, &a->windows, &shape) &&
           infer_add_output(i, i->inputs[0]->dtype, &shape);
}

/* Infers a fold. The result has the shape a->shape. x has the shape that unfold returns for such an array. */
bool infer_fold(struct inference *i)
{
    const struct fold_attributes *a = i->attributes;
    forge_shape unfolded = a->shape;
    if (!forge_dtype_is_float(i->inputs[0]->dtype))
        return infer_fail(i, "x must be floats");
    if (!has_rank(i, &a->shape) || !count_windows(i, &a->windows, &unfolded) ||
        !add_sizes(i, &a->windows, &unfolded))
        return false;
    if (!forge_shape_equal(&unfolded, &i->inputs[0]->shape)) {
        char wanted[100];
        struct text text;
        text_init(&text, wanted, sizeof wanted);
        dim_print_shape(&i->graph->dims, &unfolded, &text);
        return infer_fail(i, "for this result, x must be %s", wanted);
    }
    return infer_add_output(i, i->inputs[0]->dtype, &a->shape);
}

/* Infers a share. y and parts have the shape of x, but their size along each of the `axes` is the number of
 * windows. The result has the shape of x. */
bool infer_share(struct inference *i)
{
    const struct share_attributes *a = i->attributes;
    const struct value *x = i->inputs[0];
    forge_shape windows = x->shape;
    if (!forge_dtype_is_float(x->dtype))
        return infer_fail(i, "x must be floats");
    if (!count_windows(i, &a->windows, &windows))
        return false;
    for (size_t k = 1; k < 3; k++)
        if (i->inputs[k]->dtype != x->dtype || !forge_shape_equal(&i->inputs[k]->shape, &windows))
            return infer_fail(i, "input %zu must have one %s for each window", k, forge_dtype_name(x->dtype));
    return infer_add_output(i, x->dtype, &x->shape);
}

/* --- random numbers ------------------------------------------------------------------------------------- */

bool infer_random(struct inference *i)
{
    const struct random_attributes *a = i->attributes;
    const struct value *key = i->inputs[0], *step = i->inputs[1];
    if (a->kind >= FORGE_RANDOM_KINDS)
        return infer_fail(i, "unknown kind %u", a->kind);
    if (key->dtype != FORGE_U64 || key->shape.rank || step->dtype != FORGE_U32 || step->shape.rank)
        return infer_fail(i, "random needs a key, u64[], and a step, u32[]");
    return has_rank(i, &a->shape) &&
           infer_add_output(i, a->kind == FORGE_RANDOM_BITS ? FORGE_U32 : FORGE_F32, &a->shape);
}
