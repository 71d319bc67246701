/* ir/operations.c - the public builder functions of <forge/graph.h>, one for each operation.
 *
 * Note: infer.c decides what is allowed. Attributes are compared as bytes, so members that an operation does
 * not use are 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "forge/ir/builder.h"
#include "forge/core/dtype.h"

static forge_value out_of_memory(forge_builder *builder)
{
    return builder_fail(builder, JOULE_NO_MEMORY, "out of memory");
}

/* --- sizes ---------------------------------------------------------------------------------------------- */

/* Returns `dim`. If it is DIM_FAILED, fails the builder with the message `what`, and returns 0. */
static forge_dim checked(forge_builder *builder, forge_dim dim, const char *what)
{
    if (dim == DIM_FAILED) {
        forge_builder_fail(builder, "%s", what);
        return 0;
    }
    return dim;
}

forge_dim forge_symbol(forge_builder *builder, const char *name, int64_t min, int64_t max, int64_t multiple)
{
    if (!builder_is_ok(builder))
        return 0;
    char what[200];
    snprintf(what, sizeof what,
             "symbol '%s' from %lld to %lld, multiple of %lld: invalid bounds, or the symbol exists with "
             "other bounds",
             name, (long long)min, (long long)max, (long long)multiple);
    return checked(builder, dim_symbol(&builder->graph->dims, name, min, max, multiple), what);
}

#define TOO_LARGE "the size is above 2^48, is divided by 0, or belongs to another builder"

forge_dim forge_dim_add(forge_builder *builder, forge_dim a, forge_dim b)
{
    return builder_is_ok(builder) ? checked(builder, dim_add(&builder->graph->dims, a, b), TOO_LARGE) : 0;
}

forge_dim forge_dim_mul(forge_builder *builder, forge_dim a, forge_dim b)
{
    return builder_is_ok(builder) ? checked(builder, dim_mul(&builder->graph->dims, a, b), TOO_LARGE) : 0;
}

forge_dim forge_dim_div(forge_builder *builder, forge_dim a, forge_dim b)
{
    return builder_is_ok(builder) ? checked(builder, dim_div(&builder->graph->dims, a, b), TOO_LARGE) : 0;
}

forge_shape builder_clean_shape(forge_shape shape)
{
    forge_shape result = {.rank = shape.rank};
    for (uint32_t i = 0; i < shape.rank && i < FORGE_MAX_RANK; i++)
        result.dims[i] = shape.dims[i];
    return result;
}

/* --- leaves, outputs, state ----------------------------------------------------------------------------- */

forge_value builder_find_input(const forge_builder *builder, const char *name)
{
    uint32_t i = index_find(&builder->input_index, builder->graph, index_name(name));
    return i == INDEX_NONE ? FORGE_NO_VALUE : builder->graph->inputs[i].value;
}

forge_value builder_find_output(const forge_builder *builder, const char *name)
{
    uint32_t i = index_find(&builder->output_index, builder->graph, index_name(name));
    return i == INDEX_NONE ? FORGE_NO_VALUE : builder->graph->outputs[i].value;
}

forge_value forge_input(forge_builder *builder, const char *name, forge_dtype dtype, forge_shape shape)
{
    if (!builder_is_ok(builder))
        return FORGE_NO_VALUE;
    forge_graph *graph = builder->graph;
    if (builder_find_input(builder, name)) {
        forge_builder_fail(builder, "input '%s' already exists", name);
        return FORGE_NO_VALUE;
    }
    if (!ARRAY_ROOM(graph->inputs, graph->input_capacity, graph->input_count))
        return out_of_memory(builder);
    struct input_attributes attributes = {(uint32_t)graph->input_count, dtype, builder_clean_shape(shape)};
    forge_value value = builder_emit(builder, OP_INPUT, &attributes, sizeof attributes, NULL, 0);
    const char *copy = builder_copy_name(builder, name);
    if (!value || !copy)
        return value;
    graph->inputs[graph->input_count++] = (struct port){copy, value};
    return index_add(&builder->input_index, graph, (uint32_t)graph->input_count - 1) ? value
                                                                                     : out_of_memory(builder);
}

void forge_output(forge_builder *builder, const char *name, forge_value value)
{
    if (!builder_is_ok(builder))
        return;
    forge_graph *graph = builder->graph;
    const char *copy = builder_copy_name(builder, name);
    if (value == FORGE_NO_VALUE || value >= graph->value_count)
        forge_builder_fail(builder, "output '%s' is not a value of this builder", name);
    else if (builder_find_output(builder, name))
        forge_builder_fail(builder, "output '%s' already exists", name);
    else if (!copy || !ARRAY_ROOM(graph->outputs, graph->output_capacity, graph->output_count))
        out_of_memory(builder);
    else {
        graph->outputs[graph->output_count++] = (struct port){copy, value};
        if (!index_add(&builder->output_index, graph, (uint32_t)graph->output_count - 1))
            out_of_memory(builder);
    }
}

#define NO_SLOT UINT32_MAX

uint32_t builder_find_slot(const forge_builder *builder, const char *name)
{
    return index_find(&builder->slot_index, builder->graph, index_name(name));
}

/* Inserts the slot so that the list stays sorted by slot number. */
bool builder_mark_parameter(forge_builder *builder, forge_slot slot)
{
    bool *is_parameter = &builder->graph->slots[slot].is_parameter;
    if (*is_parameter)
        return true;
    if (!ARRAY_ROOM(builder->parameters, builder->parameter_capacity, builder->parameter_count)) {
        out_of_memory(builder);
        return false;
    }
    *is_parameter = true;
    size_t at = builder->parameter_count++;
    for (; at > 0 && builder->parameters[at - 1] > slot; at--)
        builder->parameters[at] = builder->parameters[at - 1];
    builder->parameters[at] = slot;
    return true;
}

/* Returns false, and fails the builder, if the slot is invalid. This check is needed because infer.c checks
 * only nodes, and a slot may have no node. */
static bool is_slot(forge_builder *builder, const struct slot *slot)
{
    bool is_shape = slot->shape.rank <= FORGE_MAX_RANK;
    for (uint32_t i = 0; is_shape && i < slot->shape.rank; i++)
        is_shape = dim_is_known(&builder->graph->dims, slot->shape.dims[i]);
    if (!is_shape || !forge_dtype_block_bytes(slot->dtype) || (unsigned)slot->init.kind > FORGE_INIT_NORMAL)
        forge_builder_fail(builder, "slot '%s' has an invalid shape, type or initial value", slot->name);
    return !builder->has_failed;
}

forge_slot forge_state(forge_builder *builder, const char *name, forge_dtype dtype, forge_shape shape,
                       forge_init init)
{
    if (!builder_is_ok(builder))
        return NO_SLOT;
    forge_graph *graph = builder->graph;
    struct slot slot = {.name = builder_copy_name(builder, name),
                        .dtype = dtype,
                        .shape = builder_clean_shape(shape),
                        .init = init};
    uint32_t known = builder_find_slot(builder, name);
    if (known != INDEX_NONE) {
        const struct slot *known_slot = &graph->slots[known];
        if (known_slot->dtype != dtype || !forge_shape_equal(&known_slot->shape, &slot.shape))
            forge_builder_fail(builder, "slot '%s' already exists with another type or shape", name);
        return known;
    }
    if (slot.name && !is_slot(builder, &slot))
        return NO_SLOT;
    if (!slot.name || !ARRAY_ROOM(graph->slots, graph->slot_capacity, graph->slot_count)) {
        out_of_memory(builder);
        return NO_SLOT;
    }
    graph->slots[graph->slot_count++] = slot;
    if (!index_add(&builder->slot_index, graph, (uint32_t)graph->slot_count - 1))
        out_of_memory(builder);
    return (forge_slot)graph->slot_count - 1;
}

forge_value forge_read(forge_builder *builder, forge_slot slot)
{
    struct read_attributes attributes = {slot};
    if (!builder_is_ok(builder))
        return FORGE_NO_VALUE;
    uint32_t place = builder->place;
    const struct slot *known_slot = slot < builder->graph->slot_count ? &builder->graph->slots[slot] : NULL;
    if (known_slot && (known_slot->read || known_slot->write))
        builder->place = slot_place(builder->graph, known_slot);
    forge_value value = builder_emit(builder, OP_READ, &attributes, sizeof attributes, NULL, 0);
    builder->place = place;
    if (value)
        builder->graph->slots[slot].read = value;
    return value;
}

static void refuse_place(forge_builder *builder, const struct slot *slot, forge_value value)
{
    const forge_graph *graph = builder->graph;
    char own[PLACE_TEXT], other[PLACE_TEXT];
    forge_builder_fail(
        builder,
        "slot '%s' is stored on %s and cannot take a value from %s: transfer it first (forge_transfer)",
        slot->name, place_text(graph, slot_place(graph, slot), own),
        place_text(graph, graph->values[value].place, other));
}

void forge_write(forge_builder *builder, forge_slot slot, forge_value value, bool in_place)
{
    if (!builder_is_ok(builder))
        return;
    forge_graph *graph = builder->graph;
    if (slot >= graph->slot_count || value == FORGE_NO_VALUE || value >= graph->value_count) {
        forge_builder_fail(builder, "write: the slot or the value does not belong to this builder");
        return;
    }
    struct slot *s = &graph->slots[slot];
    if (s->write)
        forge_builder_fail(builder, "slot '%s' is written twice", s->name);
    else if (graph->values[value].dtype != s->dtype ||
             !forge_shape_equal(&graph->values[value].shape, &s->shape))
        forge_builder_fail(builder, "slot '%s' cannot take a value of another type or shape", s->name);
    else if (s->read && slot_place(graph, s) != graph->values[value].place)
        refuse_place(builder, s, value);
    s->write = value;
    s->in_place = in_place;
}

forge_value forge_constant(forge_builder *builder, const forge_tensor *tensor)
{
    if (!builder_is_ok(builder))
        return FORGE_NO_VALUE;
    size_t bytes = forge_dtype_size_bytes(tensor->dtype, forge_tensor_elements(tensor));
    if (!forge_tensor_is_packed(tensor) || bytes > UINT32_MAX / 2) {
        forge_builder_fail(builder, "a constant must be packed and smaller than 2 GiB");
        return FORGE_NO_VALUE;
    }
    struct constant_attributes *attributes = calloc(1, sizeof *attributes + bytes);
    if (!attributes)
        return out_of_memory(builder);
    attributes->dtype = tensor->dtype;
    attributes->shape = builder_clean_shape(tensor->shape);
    attributes->size_bytes = (uint32_t)bytes;
    memcpy(attributes->bytes, forge_tensor_data(tensor), bytes);
    forge_value value = builder_emit(builder, OP_CONSTANT, attributes, sizeof *attributes + bytes, NULL, 0);
    free(attributes);
    return value;
}

forge_value forge_scalar(forge_builder *builder, forge_dtype dtype, double number)
{
    union {
        struct constant_attributes head;
        unsigned char bytes[sizeof(struct constant_attributes) + 16];
    } attributes = {.bytes = {0}};
    if (!forge_dtype_is_computed(dtype)) {
        forge_builder_fail(builder, "a scalar cannot have the type %s", forge_dtype_name(dtype));
        return FORGE_NO_VALUE;
    }
    attributes.head.dtype = dtype;
    attributes.head.size_bytes = (uint32_t)forge_dtype_block_bytes(dtype);
    dtype_row(dtype)->store(attributes.head.bytes, 0, 1, &number);
    return builder_emit(builder, OP_CONSTANT, &attributes,
                        sizeof attributes.head + attributes.head.size_bytes, NULL, 0);
}

forge_value forge_iota(forge_builder *builder, forge_dtype dtype, forge_shape shape, uint32_t axis)
{
    struct iota_attributes attributes = {dtype, axis, builder_clean_shape(shape)};
    return builder_emit(builder, OP_IOTA, &attributes, sizeof attributes, NULL, 0);
}

/* --- element by element --------------------------------------------------------------------------------- */

forge_value forge_unary(forge_builder *builder, forge_unary_kind kind, forge_value x)
{
    struct kind_attributes attributes = {kind};
    return builder_emit(builder, OP_UNARY, &attributes, sizeof attributes, &x, 1);
}

forge_value forge_binary(forge_builder *builder, forge_binary_kind kind, forge_value a, forge_value b)
{
    struct kind_attributes attributes = {kind};
    return builder_emit(builder, OP_BINARY, &attributes, sizeof attributes, (forge_value[]){a, b}, 2);
}

forge_value forge_select(forge_builder *builder, forge_value condition, forge_value a, forge_value b)
{
    struct no_attributes none = {0};
    return builder_emit(builder, OP_SELECT, &none, sizeof none, (forge_value[]){condition, a, b}, 3);
}

forge_value forge_cast(forge_builder *builder, forge_dtype dtype, forge_value x)
{
    struct cast_attributes attributes = {dtype};
    if (builder_is_ok(builder) && forge_value_dtype(builder, x) == dtype)
        return x;
    return builder_emit(builder, OP_CAST, &attributes, sizeof attributes, &x, 1);
}

/* --- across elements ------------------------------------------------------------------------------------ */

forge_dtype builder_accumulator(forge_dtype dtype)
{
    return dtype == FORGE_F16 || dtype == FORGE_BF16 ? FORGE_F32 : dtype;
}

forge_value forge_reduce(forge_builder *builder, forge_reduce_kind kind, forge_value x, uint32_t axes,
                         bool keep_dims)
{
    struct reduce_attributes attributes = {kind, axes, keep_dims,
                                           builder_accumulator(forge_value_dtype(builder, x))};
    return builder_emit(builder, OP_REDUCE, &attributes, sizeof attributes, &x, 1);
}

forge_value forge_matmul(forge_builder *builder, forge_value a, forge_value b, uint32_t flags)
{
    struct matmul_attributes attributes = {flags & (FORGE_TRANSPOSE_A | FORGE_TRANSPOSE_B),
                                           builder_accumulator(forge_value_dtype(builder, a))};
    return builder_emit(builder, OP_MATMUL, &attributes, sizeof attributes, (forge_value[]){a, b}, 2);
}

forge_value forge_scan(forge_builder *builder, forge_reduce_kind kind, forge_value x, uint32_t axis,
                       uint32_t flags)
{
    struct scan_attributes attributes = {kind, axis, flags};
    return builder_emit(builder, OP_SCAN, &attributes, sizeof attributes, &x, 1);
}

/* Returns the first *count elements of each sorted line, or all elements if `count` is NULL. *out_indices, if
 * not NULL, gets their indices in x. */
static forge_value sort(forge_builder *builder, forge_value x, const forge_dim *count, uint32_t axis,
                        bool is_descending, forge_value *out_indices)
{
    struct sort_attributes attributes = {axis, is_descending, forge_value_shape(builder, x)};
    if (count && axis < attributes.shape.rank)
        attributes.shape.dims[axis] = *count;
    forge_value values = builder_emit(builder, OP_SORT, &attributes, sizeof attributes, &x, 1);
    if (out_indices)
        *out_indices = values ? values + 1 : FORGE_NO_VALUE;
    return values;
}

forge_value forge_sort(forge_builder *builder, forge_value x, uint32_t axis, bool is_descending,
                       forge_value *out_indices)
{
    return sort(builder, x, NULL, axis, is_descending, out_indices);
}

forge_value forge_top_k(forge_builder *builder, forge_value x, forge_dim k, uint32_t axis,
                        forge_value *out_indices)
{
    return sort(builder, x, &k, axis, true, out_indices);
}
