/* autodiff/gradient_rules_window.c - the derivatives of convolutions, windows and random numbers; see
 * gradient.h.
 *
 * A convolution is linear in both inputs. The gradient of x is a transposed convolution. The gradient of the
 * weight is a convolution over the batch, with stride and dilation exchanged.
 *
 * Note: both convolutions state the size of their result (CONV_SIZED). The size cannot be computed, because
 * with a stride above 1, elements at the end of x may be unused.
 */
#include <math.h>
#include "forge/autodiff/gradient.h"

/* --- convolutions --------------------------------------------------------------------------------------- */

static forge_value emit_conv(forge_builder *b, const struct conv_attributes *a, forge_value x,
                             forge_value weight)
{
    return builder_emit(b, OP_CONV, a, sizeof *a, (forge_value[]){x, weight}, 2);
}

static void set_size(struct conv_attributes *a, forge_shape shape)
{
    a->flags |= CONV_SIZED;
    for (uint32_t k = 0; k < 3; k++) {
        a->after[k] = a->extra[k] = 0;
        a->size[k] = k + 2 < shape.rank ? shape.dims[k + 2] : 0;
    }
}

/* Returns x with its first two dimensions exchanged. */
static forge_value exchange(forge_builder *b, forge_value x)
{
    static const uint32_t order[FORGE_MAX_RANK] = {1, 0, 2, 3, 4, 5, 6, 7};
    return forge_transpose(b, x, order);
}

/* Returns x, [n, groups * channels, ...], transposed to [channels, groups * n, ...]. */
static forge_value exchange_in_groups(forge_builder *b, forge_value x, uint32_t groups)
{
    static const uint32_t order[FORGE_MAX_RANK] = {2, 1, 0, 3, 4, 5, 6, 7};
    forge_shape shape = forge_value_shape(b, x), parts = {.rank = shape.rank + 1};
    if (groups == 1)
        return exchange(b, x);
    forge_dim n = shape.dims[0], channels = forge_dim_div(b, shape.dims[1], groups);
    parts.dims[0] = n;
    parts.dims[1] = groups;
    for (uint32_t k = 2; k < parts.rank; k++)
        parts.dims[k] = k == 2 ? channels : shape.dims[k - 1];
    shape.dims[0] = channels;
    shape.dims[1] = forge_dim_mul(b, n, groups);
    return forge_reshape(b, forge_transpose(b, forge_reshape(b, x, parts), order), shape);
}

/* Returns the gradient of the weight, in its shape. wide: the array over which the kernel slides. narrow: the
 * array with one element for each position of the kernel. */
static forge_value weight_gradient(struct gradient *r, const struct conv_attributes *of, forge_value wide,
                                   forge_value narrow)
{
    struct conv_attributes a = *of;
    a.flags = 0;
    for (uint32_t k = 0; k < 3; k++) {
        a.stride[k] = of->dilation[k];
        a.dilation[k] = of->stride[k];
    }
    set_size(&a, forge_value_shape(r->b, r->inputs[1]));
    forge_value turned = exchange_in_groups(r->b, wide, a.groups);
    return exchange(r->b, emit_conv(r->b, &a, turned, exchange(r->b, narrow)));
}

/* Adds the gradients of x and of the weight, in the shapes of x and of the weight (see infer_conv). r->g:
 * [n, out, spatial...], like y. */
void gradient_conv(struct gradient *r)
{
    const struct conv_attributes *of = r->node.attributes;
    struct conv_attributes a = *of;
    bool is_transposed = of->flags & CONV_TRANSPOSED;
    a.flags ^= CONV_TRANSPOSED;
    set_size(&a, forge_value_shape(r->b, r->inputs[0]));
    gradient_add(r, 0, emit_conv(r->b, &a, r->g, r->inputs[1]));
    gradient_add(
        r, 1,
        weight_gradient(r, of, is_transposed ? r->g : r->inputs[0], is_transposed ? r->inputs[0] : r->g));
}

/* --- windows -------------------------------------------------------------------------------------------- */

/* Returns x, an array of windows, folded to the shape of the node's first input: overlapping elements are
 * summed. */
static forge_value fold(struct gradient *r, const struct windows *windows, forge_value x)
{
    struct fold_attributes a = {forge_value_shape(r->b, r->inputs[0]), *windows, 0};
    return builder_emit(r->b, OP_FOLD, &a, sizeof a, &x, 1);
}

static forge_value unfold(struct gradient *r, const struct windows *windows, forge_value x, double padding)
{
    struct unfold_attributes a = {padding, *windows, 0};
    return builder_emit(r->b, OP_UNFOLD, &a, sizeof a, &x, 1);
}

/* Returns an array in which the value of each window is broadcast to all elements of the window. */
static forge_value spread(struct gradient *r, const struct windows *windows, forge_value x)
{
    forge_shape shape = forge_value_shape(r->b, x), wide = shape;
    for (uint32_t k = 0; k < FORGE_MAX_RANK; k++)
        if (windows->axes >> k & 1 && wide.rank < FORGE_MAX_RANK) {
            shape.dims[shape.rank++] = 1;
            wide.dims[wide.rank++] = windows->size[k];
        }
    return forge_broadcast(r->b, forge_reshape(r->b, x, shape), wide);
}

/* Returns, for each window, the divisor of its mean: the number of elements that were averaged. */
static forge_value count_elements(struct gradient *r, const struct window_attributes *a)
{
    forge_builder *b = r->b;
    forge_dtype dtype = forge_value_dtype(b, r->g);
    double size = 1;
    for (uint32_t k = 0; k < FORGE_MAX_RANK; k++)
        if (a->windows.axes >> k & 1)
            size *= a->windows.size[k];
    if (a->count_padding)
        return forge_scalar(b, dtype, size);
    struct window_attributes sum = {FORGE_SUM, 0, a->windows};
    forge_value ones = forge_broadcast(b, forge_scalar(b, dtype, 1), forge_value_shape(b, r->inputs[0]));
    return builder_emit(b, OP_WINDOW, &sum, sizeof sum, &ones, 1);
}

void gradient_window(struct gradient *r)
{
    const struct window_attributes *a = r->node.attributes;
    forge_value g = r->g;
    if (a->kind == FORGE_MAXIMUM || a->kind == FORGE_MINIMUM) {
        struct share_attributes share = {a->windows};
        forge_value inputs[] = {r->inputs[0], r->y, g};
        gradient_add(r, 0, builder_emit(r->b, OP_SHARE, &share, sizeof share, inputs, 3));
        return;
    }
    if (a->kind == FORGE_MEAN)
        g = forge_div(r->b, g, count_elements(r, a));
    gradient_add(r, 0, fold(r, &a->windows, spread(r, &a->windows, g)));
}

void gradient_unfold(struct gradient *r)
{
    const struct unfold_attributes *a = r->node.attributes;
    gradient_add(r, 0, fold(r, &a->windows, r->g));
}

void gradient_fold(struct gradient *r)
{
    const struct fold_attributes *a = r->node.attributes;
    gradient_add(r, 0, unfold(r, &a->windows, r->g, 0));
}

/* Adds the gradient of `parts` (see forge_share). The gradient of one part is the mean of g over the elements
 * of its window that equal y. x and y get no gradient. Padding elements are NaN, so they never equal y. */
void gradient_share(struct gradient *r)
{
    const struct share_attributes *a = r->node.attributes;
    forge_builder *b = r->b;
    forge_dtype dtype = forge_value_dtype(b, r->g);
    forge_value elements = unfold(r, &a->windows, r->inputs[0], NAN);
    forge_value is_equal = forge_binary(b, FORGE_EQ, elements, spread(r, &a->windows, r->inputs[1]));
    uint32_t rank = forge_value_shape(b, r->inputs[1]).rank, all = forge_value_shape(b, elements).rank;
    uint32_t own = ((1u << all) - 1) & ~((1u << rank) - 1);
    forge_value shares = unfold(r, &a->windows, r->g, 0);
    forge_value given = forge_select(b, is_equal, shares, forge_scalar(b, dtype, 0));
    gradient_add(r, 2,
                 forge_div(b, forge_reduce(b, FORGE_SUM, given, own, false),
                           forge_reduce(b, FORGE_SUM, forge_cast(b, dtype, is_equal), own, false)));
}
