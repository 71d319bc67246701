/* ir/infer_move.c - the inference rules of operations that move elements; see infer.h.
 *
 * Note: sizes may be symbolic. A rule accepts a node only if its conditions provably hold for all values of
 * the symbols.
 */
#include "forge/ir/infer.h"

bool infer_reshape(struct inference *i)
{
    const struct shape_attributes *a = i->attributes;
    forge_dim before = dim_elements(&i->graph->dims, &i->inputs[0]->shape);
    forge_dim after = dim_elements(&i->graph->dims, &a->shape);
    if (after == DIM_FAILED)
        return infer_fail(
            i, "the sizes are too large, more than one is to be computed (-1), or no whole number fits");
    if (before != after || before == DIM_FAILED) {
        char target[100];
        struct text text;
        text_init(&text, target, sizeof target);
        dim_print_shape(&i->graph->dims, &a->shape, &text);
        return infer_fail(i, "%s has another number of elements", target);
    }
    return infer_add_output(i, i->inputs[0]->dtype, &a->shape);
}

bool infer_broadcast(struct inference *i)
{
    const struct shape_attributes *a = i->attributes;
    forge_shape shape;
    if (!shapes_broadcast(&i->inputs[0]->shape, &a->shape, &shape) || !forge_shape_equal(&shape, &a->shape)) {
        char target[100];
        struct text text;
        text_init(&text, target, sizeof target);
        dim_print_shape(&i->graph->dims, &a->shape, &text);
        return infer_fail(i, "the input does not broadcast to %s", target);
    }
    return infer_add_output(i, i->inputs[0]->dtype, &shape);
}

/* Infers a transpose: dimension k of the result is dimension order[k] of x. */
bool infer_transpose(struct inference *i)
{
    const struct transpose_attributes *a = i->attributes;
    const forge_shape *x = &i->inputs[0]->shape;
    forge_shape shape = {.rank = x->rank};
    uint32_t taken = 0;
    for (uint32_t k = 0; k < x->rank; k++) {
        if (a->order[k] >= x->rank || taken >> a->order[k] & 1)
            return infer_fail(i, "the order is not a permutation of %u dimensions", x->rank);
        taken |= 1u << a->order[k];
        shape.dims[k] = x->dims[a->order[k]];
    }
    return infer_add_output(i, i->inputs[0]->dtype, &shape);
}

/* --- concatenation -------------------------------------------------------------------------------------- */

/* Infers a concat: all inputs have the same shape, except along the axis. */
bool infer_concat(struct inference *i)
{
    const struct axis_attributes *a = i->attributes;
    forge_shape shape = i->inputs[0]->shape;
    if (a->axis >= shape.rank)
        return infer_fail(i, "axis %u does not exist", a->axis);
    for (size_t n = 1; n < i->input_count; n++) {
        forge_shape other = i->inputs[n]->shape;
        forge_dim size = other.dims[a->axis];
        other.dims[a->axis] = shape.dims[a->axis];
        if (i->inputs[n]->dtype != i->inputs[0]->dtype)
            return infer_fail(i, "all values must have one type: cast the others");
        if (!forge_shape_equal(&other, &shape))
            return infer_fail(i, "sizes may differ only along axis %u", a->axis);
        shape.dims[a->axis] = dim_add(&i->graph->dims, shape.dims[a->axis], size);
    }
    return infer_add_output(i, i->inputs[0]->dtype, &shape);
}

/* --- slices --------------------------------------------------------------------------------------------- */

static bool refuse_cut(struct inference *i, const struct cut *cut, uint32_t k, forge_dim of,
                       const char *reason)
{
    char range[160];
    struct text text;
    text_init(&text, range, sizeof range);
    dim_print(&i->graph->dims, cut->start[k], &text);
    text_add(&text, " to ");
    dim_print(&i->graph->dims, cut->limit[k], &text);
    text_printf(&text, " by %lld of ", (long long)cut->step[k]);
    dim_print(&i->graph->dims, of, &text);
    return infer_fail(i, "dimension %u, %s: %s", k, range, reason);
}

/* Computes the shape of the part `cut` of an array with shape `whole`. Returns false, with a message, if the
 * cut is invalid. */
static bool cut_shape(struct inference *i, const struct cut *cut, const forge_shape *whole,
                      forge_shape *out_shape)
{
    struct dim_table *dims = &i->graph->dims;
    *out_shape = (forge_shape){.rank = whole->rank};
    if (whole->rank == 0)
        return infer_fail(i, "a value of rank 0 cannot be sliced");
    for (uint32_t k = 0; k < whole->rank; k++) {
        int64_t step = cut->step[k];
        if (step == 0 || step > DIM_MAX_NUMBER || step < -DIM_MAX_NUMBER)
            return refuse_cut(i, cut, k, whole->dims[k], "invalid step");
        if (!dim_is_known(dims, cut->start[k]) || !dim_is_known(dims, cut->limit[k]))
            return refuse_cut(i, cut, k, whole->dims[k],
                              "a negative size is a symbol's id, and this id does not exist");
        if (!dim_is_at_most(dims, cut->limit[k], whole->dims[k]))
            return refuse_cut(i, cut, k, whole->dims[k], "the limit may be above the dimension's size");
        forge_dim size = dim_sub(dims, cut->limit[k], cut->start[k]);
        if (size == DIM_FAILED)
            return refuse_cut(i, cut, k, whole->dims[k], "the start may be after the limit");
        step = step < 0 ? -step : step;
        out_shape->dims[k] = dim_div(dims, dim_add(dims, size, step - 1), step);
    }
    return true;
}

bool infer_slice(struct inference *i)
{
    const struct slice_attributes *a = i->attributes;
    forge_shape shape;
    return cut_shape(i, &a->cut, &i->inputs[0]->shape, &shape) &&
           infer_add_output(i, i->inputs[0]->dtype, &shape);
}

bool infer_pad(struct inference *i)
{
    const struct pad_attributes *a = i->attributes;
    forge_shape part;
    if (a->shape.rank != i->inputs[0]->shape.rank)
        return infer_fail(i, "the result must not have rank %u", a->shape.rank);
    if (!cut_shape(i, &a->cut, &a->shape, &part))
        return false;
    if (!forge_shape_equal(&part, &i->inputs[0]->shape))
        return infer_fail(i, "x does not have the shape of its part of the result");
    return infer_add_output(i, i->inputs[0]->dtype, &a->shape);
}

/* --- by indices ----------------------------------------------------------------------------------------- */

/* Computes the shape of the result of a gather of x (input 0) by indices (input 1) along an axis. The updates
 * of a scatter also have this shape. Returns false, with a message, if the arguments are invalid. */
static bool taken_shape(struct inference *i, uint32_t axis, bool is_along, forge_shape *out_shape)
{
    const forge_shape *x = &i->inputs[0]->shape, *indices = &i->inputs[1]->shape;
    if (!forge_dtype_is_integer(i->inputs[1]->dtype))
        return infer_fail(i, "the indices must be integers, not %s", forge_dtype_name(i->inputs[1]->dtype));
    if (axis >= x->rank)
        return infer_fail(i, "axis %u does not exist", axis);
    if (is_along) {
        *out_shape = *indices;
        out_shape->dims[axis] = x->dims[axis];
        if (!forge_shape_equal(out_shape, x))
            return infer_fail(i, "the indices may differ from x only along axis %u: broadcast them", axis);
        *out_shape = *indices;
        return true;
    }
    if (x->rank - 1 + indices->rank > FORGE_MAX_RANK)
        return infer_fail(i, "the result's rank %u is above %d", x->rank - 1 + indices->rank, FORGE_MAX_RANK);
    *out_shape = (forge_shape){0};
    for (uint32_t k = 0; k < axis; k++)
        out_shape->dims[out_shape->rank++] = x->dims[k];
    for (uint32_t k = 0; k < indices->rank; k++)
        out_shape->dims[out_shape->rank++] = indices->dims[k];
    for (uint32_t k = axis + 1; k < x->rank; k++)
        out_shape->dims[out_shape->rank++] = x->dims[k];
    return true;
}

bool infer_gather(struct inference *i)
{
    const struct gather_attributes *a = i->attributes;
    forge_shape shape;
    return taken_shape(i, a->axis, a->is_along, &shape) && infer_add_output(i, i->inputs[0]->dtype, &shape);
}

bool infer_scatter(struct inference *i)
{
    const struct scatter_attributes *a = i->attributes;
    const struct value *x = i->inputs[0], *updates = i->inputs[2];
    forge_shape shape;
    if (a->kind >= FORGE_SCATTER_KINDS)
        return infer_fail(i, "unknown kind %u", a->kind);
    if (!taken_shape(i, a->axis, a->is_along, &shape))
        return false;
    if (updates->dtype != x->dtype || (x->dtype == FORGE_BOOL && a->kind != FORGE_SCATTER_SET))
        return infer_fail(i, "cannot %s %s into %s", scatter_name((forge_scatter_kind)a->kind),
                          forge_dtype_name(updates->dtype), forge_dtype_name(x->dtype));
    if (!forge_shape_equal(&updates->shape, &shape)) {
        char wanted[100];
        struct text text;
        text_init(&text, wanted, sizeof wanted);
        dim_print_shape(&i->graph->dims, &shape, &text);
        return infer_fail(i, "the updates must be %s, the shape that a gather with these indices returns",
                          wanted);
    }
    return infer_add_output(i, x->dtype, &x->shape);
}

bool infer_transfer(struct inference *i)
{
    return infer_add_output(i, i->inputs[0]->dtype, &i->inputs[0]->shape);
}

bool infer_stop_gradient(struct inference *i)
{
    return infer_add_output(i, i->inputs[0]->dtype, &i->inputs[0]->shape);
}
