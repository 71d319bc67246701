/* compiler/bindings.c - computes the bindings of values to buffers, and finds values that are views of other
 * values; see lower.h.
 *
 * Note: sizes, strides and offsets may be expressions of symbols. If a value is not a view for all sizes, a
 * launch computes the value into a new buffer, which is always correct.
 */
#include <string.h>
#include "forge/compiler/lower.h"

struct program_binding binding_packed(struct lowering *l, uint32_t buffer, forge_dtype dtype,
                                      const forge_shape *shape)
{
    struct program_binding binding = {.buffer = buffer, .dtype = dtype, .shape = *shape};
    forge_dim stride = 1;
    for (uint32_t i = shape->rank; i-- > 0;) {
        binding.strides[i] = stride;
        stride = i ? dim_mul(&l->dims, stride, shape->dims[i]) : stride;
        if (stride == DIM_FAILED) {
            lower_fail(l, JOULE_INVALID, "a product of sizes is too large or too long");
            break;
        }
    }
    return binding;
}

bool binding_is_packed(struct lowering *l, const struct program_binding *binding)
{
    struct program_binding ideal =
        binding_packed(l, binding->buffer, (forge_dtype)binding->dtype, &binding->shape);
    for (uint32_t i = 0; i < binding->shape.rank; i++)
        if (binding->shape.dims[i] != 1 &&
            (binding->strides[i] != ideal.strides[i] || binding->negative_strides >> i & 1))
            return false;
    return true;
}

/* Moves the start of a view by `count` elements along a dimension. Returns false if the new offset is not an
 * expression of symbols. */
static bool move(struct lowering *l, struct program_binding *view, uint32_t dim, forge_dim count)
{
    forge_dim distance = dim_mul(&l->dims, count, view->strides[dim]);
    view->offset = view->negative_strides >> dim & 1 ? dim_sub(&l->dims, view->offset, distance)
                                                     : dim_add(&l->dims, view->offset, distance);
    return view->offset != DIM_FAILED;
}

/* Reduces a view to the part that `cut` selects. part: the shape of this part. Returns false if an offset or
 * a stride is not an expression of symbols. */
static bool cut(struct lowering *l, const struct cut *cut, struct program_binding *view,
                const forge_shape *part)
{
    for (uint32_t i = 0; i < part->rank; i++) {
        int64_t step = cut->step[i];
        forge_dim first = step > 0 ? cut->start[i] : dim_sub(&l->dims, cut->limit[i], 1);
        if (part->dims[i] != 0 && (first == DIM_FAILED || !move(l, view, i, first)))
            return false;
        view->strides[i] = dim_mul(&l->dims, view->strides[i], step > 0 ? step : -step);
        if (view->strides[i] == DIM_FAILED)
            return false;
        view->negative_strides ^= step < 0 ? 1u << i : 0;
    }
    view->shape = *part;
    return true;
}

/* Sets the strides of `out`, a broadcast of x. The stride is 0 along dimensions that x does not have, or that
 * have size 1 in x only. */
static void broadcast(const struct program_binding *x, struct program_binding *out)
{
    uint32_t added = out->shape.rank - x->shape.rank;
    out->negative_strides = 0;
    for (uint32_t i = added; i < out->shape.rank; i++) {
        bool is_same_size = x->shape.dims[i - added] == out->shape.dims[i];
        out->strides[i] = is_same_size ? x->strides[i - added] : 0;
        out->negative_strides |= is_same_size ? (x->negative_strides >> (i - added) & 1) << i : 0;
    }
}

static void transpose(const struct program_binding *x, const uint32_t *order, struct program_binding *out)
{
    out->negative_strides = 0;
    for (uint32_t i = 0; i < out->shape.rank; i++) {
        out->strides[i] = x->strides[order[i]];
        out->negative_strides |= (x->negative_strides >> order[i] & 1) << i;
    }
}

bool binding_view(struct lowering *l, const struct node *node, const struct program_binding *x,
                  const struct value *value, struct program_binding *out)
{
    *out = *x;
    /* a transfer within one device copies nothing, nor does a collective operation of one process */
    if (node->op == OP_TRANSFER || node->op == OP_COLLECTIVE)
        return true;
    if (node->op == OP_STOP_GRADIENT) /* the result is x itself */
        return true;
    if (node->op == OP_SLICE)
        return cut(l, &((const struct slice_attributes *)node->attributes)->cut, out, &value->shape);
    out->shape = value->shape;
    memset(out->strides, 0, sizeof out->strides);
    switch (node->op) {
    case OP_RESHAPE:
        if (!binding_is_packed(l, x))
            return false;
        *out = binding_packed(l, x->buffer, value->dtype, &value->shape);
        out->offset = x->offset;
        return true;
    case OP_BROADCAST:
        broadcast(x, out);
        return true;
    case OP_TRANSPOSE:
        transpose(x, ((const struct transpose_attributes *)node->attributes)->order, out);
        return true;
    default:
        return false;
    }
}

static int64_t largest(struct lowering *l, forge_dim dim)
{
    int64_t number = dim_value(&l->dims, dim, l->largest);
    if (number < 0)
        lower_fail(l, JOULE_INVALID, "a stride is too large if the symbols have their largest values");
    return number;
}

struct view binding_at_largest(struct lowering *l, const struct program_binding *binding)
{
    struct view view = {.dtype = (forge_dtype)binding->dtype, .shape = binding->shape};
    for (uint32_t i = 0; i < view.shape.rank; i++) {
        int64_t stride = largest(l, binding->strides[i]);
        view.shape.dims[i] = largest(l, view.shape.dims[i]);
        view.strides[i] = binding->negative_strides >> i & 1 ? -stride : stride;
    }
    return view;
}
