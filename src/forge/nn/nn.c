/* nn/nn.c - parameters, and the linear layer; see <forge/nn.h>. */
#include "forge/nn/layer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* "encoder/layer0" and "weight": "encoder.layer0.weight". */
static bool slot_name(const forge_builder *builder, const char *name, char *out, size_t size)
{
    const char *scope = builder->graph->scopes[builder->scope];
    if ((size_t)snprintf(out, size, "%s%s%s", scope, *scope ? "." : "", name) >= size)
        return false;
    for (char *at = out; (at = strchr(at, '/'));)
        *at = '.';
    return true;
}

forge_slot layer_slot(forge_builder *builder, const char *name, forge_dtype dtype, forge_shape shape,
                      forge_init init)
{
    char full[512];
    if (builder_goes_on(builder) && !slot_name(builder, name, full, sizeof full))
        forge_builder_fail(builder, "the name of slot '%s' is too long", name);
    return builder_goes_on(builder) ? forge_state(builder, full, dtype, shape, init) : 0;
}

bool layer_takes(forge_builder *builder, const char *layer, const char *name, forge_value x, uint32_t least,
                 uint32_t most, uint32_t axis)
{
    if (!builder_goes_on(builder))
        return false;
    forge_shape shape = forge_value_shape(builder, x);
    forge_dtype dtype = forge_value_dtype(builder, x);
    if (!forge_dtype_is_float(dtype))
        forge_builder_fail(builder, "%s '%s': it takes floats, not %s", layer, name, forge_dtype_name(dtype));
    else if (shape.rank < least || shape.rank > most)
        forge_builder_fail(builder, "%s '%s': it takes a rank from %u to %u, not %u", layer, name, least,
                           most, shape.rank);
    else if (shape.dims[axis] <= 0)
        forge_builder_fail(builder, "%s '%s': dimension %u has to be a number above 0", layer, name, axis);
    return builder_goes_on(builder);
}

void layer_begin(forge_builder *builder, const char *name)
{
    if (name)
        forge_scope_push(builder, name);
}

void layer_end(forge_builder *builder, const char *name)
{
    if (name)
        forge_scope_pop(builder);
}

forge_value forge_parameter(forge_builder *builder, const char *name, forge_dtype dtype, forge_shape shape,
                            forge_init init)
{
    forge_slot slot = layer_slot(builder, name, dtype, shape, init);
    if (!builder_goes_on(builder))
        return FORGE_NO_VALUE;
    builder->graph->slots[slot].is_parameter = true;
    return forge_read(builder, slot);
}

size_t forge_parameter_count(const forge_builder *builder)
{
    size_t count = 0;
    for (size_t i = 0; builder_goes_on(builder) && i < builder->graph->slot_count; i++)
        count += builder->graph->slots[i].is_parameter;
    return count;
}

forge_slot forge_parameter_slot(const forge_builder *builder, size_t i)
{
    size_t slot = 0;
    for (size_t seen = 0; builder_goes_on(builder) && slot < builder->graph->slot_count; slot++)
        if (builder->graph->slots[slot].is_parameter && seen++ == i)
            break;
    return (forge_slot)slot;
}

forge_value forge_linear(forge_builder *builder, const char *name, forge_value x, int64_t out_features,
                         bool has_bias)
{
    forge_shape shape = forge_value_shape(builder, x);
    forge_dtype dtype = forge_value_dtype(builder, x);
    int64_t in_features = shape.rank ? shape.dims[shape.rank - 1] : 0;
    if (builder_goes_on(builder) && (!forge_dtype_is_float(dtype) || in_features <= 0 || out_features <= 0)) {
        forge_builder_fail(
            builder,
            "linear '%s': it takes floats with a last dimension that is a number, and gives 1 or "
            "more features",
            name);
        return FORGE_NO_VALUE;
    }
    double reach = in_features > 0 ? 1 / sqrt((double)in_features) : 0;
    forge_init init = {FORGE_INIT_UNIFORM, -reach, reach};
    forge_scope_push(builder, name);
    forge_value weight =
        forge_parameter(builder, "weight", dtype, forge_shape_of(out_features, in_features), init);
    forge_value rows = shape.rank == 1 ? forge_reshape(builder, x, forge_shape_of(1, in_features)) : x;
    forge_value y = forge_matmul(builder, rows, weight, FORGE_TRANSPOSE_B);
    if (has_bias)
        y = forge_add(builder, y,
                      forge_parameter(builder, "bias", dtype, forge_shape_of(out_features), init));
    if (shape.rank == 1)
        y = forge_reshape(builder, y, forge_shape_of(out_features));
    forge_scope_pop(builder);
    return y;
}
