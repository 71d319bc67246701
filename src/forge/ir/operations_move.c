/* ir/operations_move.c - the public builder functions that move elements; see operations.c. */
#include <stdlib.h>
#include <string.h>
#include "forge/ir/builder.h"

/* Returns true if x already has this shape. */
static bool has_shape_already(const forge_builder *builder, forge_value x, const forge_shape *shape)
{
    forge_shape own = forge_value_shape(builder, x);
    return builder_is_ok(builder) && x && forge_shape_equal(&own, shape);
}

/* Returns the axis whose size forge_reshape must compute. This is the axis with size FORGE_REST, or, if there
 * is none, the axis with size -1. Returns the rank if there is no such axis, or more than one. */
static uint32_t find_open_axis(const forge_shape *shape)
{
    static const forge_dim marks[] = {FORGE_REST, -1};
    for (size_t k = 0; k < sizeof marks / sizeof *marks; k++) {
        uint32_t found = shape->rank, count = 0;
        for (uint32_t i = 0; i < shape->rank; i++)
            if (shape->dims[i] == marks[k]) {
                found = i;
                count++;
            }
        if (count)
            return count == 1 ? found : shape->rank;
    }
    return shape->rank;
}

/* Computes the size of the open axis (find_open_axis) so that the shape has as many elements as x. If no size
 * fits, does not change the shape. A size of -1 then means the symbol with id -1. */
static void fill_open_size(forge_builder *b, forge_value x, forge_shape *shape)
{
    uint32_t axis = find_open_axis(shape);
    forge_shape own = forge_value_shape(b, x), others = *shape;
    if (axis == shape->rank || !builder_is_ok(b) || !x)
        return;
    struct dim_table *dims = &b->graph->dims;
    others.dims[axis] = 1;
    forge_dim all = dim_elements(dims, &own), known = dim_elements(dims, &others);
    forge_dim rest = known == 0 ? DIM_FAILED : dim_div(dims, all, known);
    if (rest != DIM_FAILED && dim_mul(dims, rest, known) == all)
        shape->dims[axis] = rest;
}

forge_value forge_reshape(forge_builder *builder, forge_value x, forge_shape shape)
{
    struct shape_attributes attributes = {builder_clean_shape(shape)};
    fill_open_size(builder, x, &attributes.shape);
    if (has_shape_already(builder, x, &attributes.shape))
        return x;
    return builder_emit(builder, OP_RESHAPE, &attributes, sizeof attributes, &x, 1);
}

forge_value forge_stop_gradient(forge_builder *builder, forge_value x)
{
    struct no_attributes none = {0};
    return builder_emit(builder, OP_STOP_GRADIENT, &none, sizeof none, &x, 1);
}

forge_value forge_broadcast(forge_builder *builder, forge_value x, forge_shape shape)
{
    struct shape_attributes attributes = {builder_clean_shape(shape)};
    if (has_shape_already(builder, x, &attributes.shape))
        return x;
    return builder_emit(builder, OP_BROADCAST, &attributes, sizeof attributes, &x, 1);
}

forge_value forge_transpose(forge_builder *builder, forge_value x, const uint32_t *order)
{
    struct transpose_attributes attributes = {{0}};
    bool is_identity = true;
    for (uint32_t i = 0; i < forge_value_shape(builder, x).rank; i++) {
        attributes.order[i] = order[i];
        is_identity &= order[i] == i;
    }
    if (is_identity && builder_is_ok(builder) && x)
        return x;
    return builder_emit(builder, OP_TRANSPOSE, &attributes, sizeof attributes, &x, 1);
}

enum { CONCAT_INPUTS = 16 }; /* maximum number of inputs of one node */

/* Returns the concatenation of any number of inputs. Concatenates groups of neighbours until one node can
 * have all remaining parts as inputs. */
static forge_value concat_many(forge_builder *builder, const forge_value *inputs, size_t count, uint32_t axis)
{
    forge_value *parts = calloc(count, sizeof *parts), joined = FORGE_NO_VALUE;
    if (parts)
        memcpy(parts, inputs, count * sizeof *parts);
    else
        builder_fail(builder, JOULE_NO_MEMORY, "out of memory");
    while (parts && count > CONCAT_INPUTS && builder_is_ok(builder)) {
        size_t groups = 0;
        for (size_t i = 0; i < count; i += CONCAT_INPUTS)
            parts[groups++] =
                forge_concat(builder, parts + i, count - i < CONCAT_INPUTS ? count - i : CONCAT_INPUTS, axis);
        count = groups;
    }
    if (parts && builder_is_ok(builder))
        joined = forge_concat(builder, parts, count, axis);
    free(parts);
    return joined;
}

forge_value forge_concat(forge_builder *builder, const forge_value *inputs, size_t count, uint32_t axis)
{
    struct axis_attributes attributes = {axis};
    if (count > CONCAT_INPUTS && builder_is_ok(builder))
        return concat_many(builder, inputs, count, axis);
    if (count == 1 && builder_is_ok(builder) && axis < forge_value_shape(builder, inputs[0]).rank)
        return inputs[0];
    return builder_emit(builder, OP_CONCAT, &attributes, sizeof attributes, inputs, count);
}

forge_value forge_transfer(forge_builder *builder, forge_value x, const char *place)
{
    struct no_attributes none = {0};
    if (!builder_is_ok(builder))
        return FORGE_NO_VALUE;
    const char *before = forge_place_set(builder, place);
    bool is_there = x < builder->graph->value_count && builder->graph->values[x].place == builder->place;
    forge_value value = is_there ? x : builder_emit(builder, OP_TRANSFER, &none, sizeof none, &x, 1);
    forge_place_set(builder, before);
    return value;
}

/* --- slices --------------------------------------------------------------------------------------------- */

/* Returns the cut that selects the whole array. */
static struct cut whole(forge_shape shape)
{
    struct cut cut = {{0}, {0}, {0}};
    for (uint32_t i = 0; i < shape.rank; i++) {
        cut.limit[i] = shape.dims[i];
        cut.step[i] = 1;
    }
    return cut;
}

static forge_value take(forge_builder *builder, forge_value x, const struct cut *cut)
{
    struct slice_attributes attributes = {*cut};
    struct cut all = whole(forge_value_shape(builder, x));
    if (builder_is_ok(builder) && x && memcmp(cut, &all, sizeof all) == 0)
        return x;
    return builder_emit(builder, OP_SLICE, &attributes, sizeof attributes, &x, 1);
}

forge_value forge_slice(forge_builder *builder, forge_value x, const forge_dim *start, const forge_dim *limit,
                        const int64_t *step)
{
    forge_shape shape = forge_value_shape(builder, x);
    struct cut cut = whole(shape);
    for (uint32_t i = 0; i < shape.rank; i++) {
        cut.start[i] = start ? start[i] : 0;
        cut.limit[i] = limit ? limit[i] : shape.dims[i];
        cut.step[i] = step ? step[i] : 1;
    }
    return take(builder, x, &cut);
}

forge_value forge_slice_along(forge_builder *builder, forge_value x, uint32_t axis, forge_dim start,
                              forge_dim limit)
{
    forge_shape shape = forge_value_shape(builder, x);
    struct cut cut = whole(shape);
    if (axis >= shape.rank) {
        forge_builder_fail(builder, "slice: axis %u does not exist in rank %u", axis, shape.rank);
        return FORGE_NO_VALUE;
    }
    cut.start[axis] = start;
    cut.limit[axis] = limit;
    return take(builder, x, &cut);
}

forge_value forge_flip(forge_builder *builder, forge_value x, uint32_t axes)
{
    forge_shape shape = forge_value_shape(builder, x);
    struct cut cut = whole(shape);
    if (axes >> shape.rank) {
        forge_builder_fail(builder, "flip: axes 0x%x do not exist in rank %u", axes, shape.rank);
        return FORGE_NO_VALUE;
    }
    for (uint32_t i = 0; i < shape.rank; i++)
        cut.step[i] = axes >> i & 1 ? -1 : 1;
    return take(builder, x, &cut);
}

forge_value forge_pad(forge_builder *builder, forge_value x, const int64_t *low, const int64_t *high,
                      double value)
{
    forge_shape shape = forge_value_shape(builder, x);
    struct pad_attributes attributes = {whole(shape), value, shape};
    bool is_same = true;
    for (uint32_t i = 0; i < shape.rank; i++) {
        if (low[i] < 0 || high[i] < 0) {
            forge_builder_fail(builder,
                               "pad: %lld before and %lld after dimension %u: padding cannot be negative; "
                               "use a slice to remove elements",
                               (long long)low[i], (long long)high[i], i);
            return FORGE_NO_VALUE;
        }
        attributes.cut.start[i] = low[i];
        attributes.cut.limit[i] = forge_dim_add(builder, low[i], shape.dims[i]);
        attributes.shape.dims[i] = forge_dim_add(builder, attributes.cut.limit[i], high[i]);
        is_same &= low[i] == 0 && high[i] == 0;
    }
    if (is_same && builder_is_ok(builder) && x)
        return x;
    return builder_emit(builder, OP_PAD, &attributes, sizeof attributes, &x, 1);
}

/* --- by indices ----------------------------------------------------------------------------------------- */

static forge_value gather(forge_builder *builder, forge_value x, forge_value indices, uint32_t axis,
                          bool is_along)
{
    struct gather_attributes attributes = {axis, is_along, 0};
    return builder_emit(builder, OP_GATHER, &attributes, sizeof attributes, (forge_value[]){x, indices}, 2);
}

forge_value forge_gather(forge_builder *builder, forge_value x, forge_value indices, uint32_t axis)
{
    return gather(builder, x, indices, axis, false);
}

forge_value forge_gather_along(forge_builder *builder, forge_value x, forge_value indices, uint32_t axis)
{
    return gather(builder, x, indices, axis, true);
}

static forge_value scatter(forge_builder *builder, const forge_value *inputs, uint32_t axis,
                           forge_scatter_kind kind, bool is_along)
{
    struct scatter_attributes attributes = {kind, axis, is_along};
    return builder_emit(builder, OP_SCATTER, &attributes, sizeof attributes, inputs, 3);
}

forge_value forge_scatter(forge_builder *builder, forge_value x, forge_value indices, forge_value updates,
                          uint32_t axis, forge_scatter_kind kind)
{
    return scatter(builder, (forge_value[]){x, indices, updates}, axis, kind, false);
}

forge_value forge_scatter_along(forge_builder *builder, forge_value x, forge_value indices,
                                forge_value updates, uint32_t axis, forge_scatter_kind kind)
{
    return scatter(builder, (forge_value[]){x, indices, updates}, axis, kind, true);
}
