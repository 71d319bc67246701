/* nn/nn.c - parameters, and the linear layer; see <forge/nn.h>. */
#include "forge/nn/layer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Writes the full name of a slot: scope "encoder/layer0" and name "weight" give "encoder.layer0.weight".
 * Returns false if the full name does not fit into `size` bytes. */
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
    if (builder_is_ok(builder) && !slot_name(builder, name, full, sizeof full))
        forge_builder_fail(builder, "the name of slot '%s' is too long", name);
    return builder_is_ok(builder) ? forge_state(builder, full, dtype, shape, init) : 0;
}

bool layer_takes(forge_builder *builder, const char *layer, const char *name, forge_value x,
                 uint32_t min_rank, uint32_t max_rank, uint32_t axis)
{
    if (!builder_is_ok(builder))
        return false;
    forge_shape shape = forge_value_shape(builder, x);
    forge_dtype dtype = forge_value_dtype(builder, x);
    if (!forge_dtype_is_float(dtype))
        forge_builder_fail(builder, "%s '%s': x must be floats, not %s", layer, name,
                           forge_dtype_name(dtype));
    else if (shape.rank < min_rank || shape.rank > max_rank)
        forge_builder_fail(builder, "%s '%s': x must have a rank from %u to %u, not %u", layer, name,
                           min_rank, max_rank, shape.rank);
    else if (shape.dims[axis] <= 0)
        forge_builder_fail(builder, "%s '%s': dimension %u of x must be a number above 0", layer, name, axis);
    return builder_is_ok(builder);
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
    if (!builder_is_ok(builder) || !builder_mark_parameter(builder, slot))
        return FORGE_NO_VALUE;
    return forge_read(builder, slot);
}

size_t forge_parameter_count(const forge_builder *builder)
{
    return builder_is_ok(builder) ? builder->parameter_count : 0;
}

forge_slot forge_parameter_slot(const forge_builder *builder, size_t i)
{
    if (!builder_is_ok(builder))
        return 0;
    return i < builder->parameter_count ? builder->parameters[i] : (forge_slot)builder->graph->slot_count;
}

/* Reshapes [..., features] to [rows, features]. */
static forge_value to_rows(forge_builder *b, forge_value x, forge_shape shape)
{
    forge_dim rows = 1;
    for (uint32_t k = 0; k + 1 < shape.rank; k++)
        rows = forge_dim_mul(b, rows, shape.dims[k]);
    return forge_reshape(b, x, forge_shape_of(rows, shape.dims[shape.rank - 1]));
}

forge_value layer_linear(forge_builder *b, const char *name, forge_value x, int64_t out_features,
                         const struct linear *layer)
{
    forge_shape shape = forge_value_shape(b, x);
    forge_dtype dtype = forge_value_dtype(b, x);
    int64_t in = shape.rank ? shape.dims[shape.rank - 1] : 0, out = out_features;
    if (builder_is_ok(b) && (!forge_dtype_is_float(dtype) || in <= 0 || out <= 0)) {
        forge_builder_fail(b,
                           "linear '%s': x must be floats with a last dimension that is a number, and "
                           "out_features must be 1 or more",
                           name);
        return FORGE_NO_VALUE;
    }
    if (!builder_is_ok(b))
        return FORGE_NO_VALUE;
    forge_shape own = layer->is_in_by_out ? forge_shape_of(in, out) : forge_shape_of(out, in);
    forge_scope_push(b, name);
    forge_value weight = forge_parameter(b, "weight", dtype, own, layer->weight);
    forge_value y =
        forge_matmul(b, to_rows(b, x, shape), weight, layer->is_in_by_out ? 0 : FORGE_TRANSPOSE_B);
    if (layer->has_bias)
        y = forge_add(b, y, forge_parameter(b, "bias", dtype, forge_shape_of(out), layer->bias));
    shape.dims[shape.rank - 1] = out;
    y = forge_reshape(b, y, shape);
    forge_scope_pop(b);
    return y;
}

forge_value forge_linear(forge_builder *builder, const char *name, forge_value x, int64_t out_features,
                         bool has_bias)
{
    forge_shape shape = forge_value_shape(builder, x);
    int64_t in = shape.rank ? shape.dims[shape.rank - 1] : 0;
    double bound = in > 0 ? 1 / sqrt((double)in) : 0;
    forge_init init = {FORGE_INIT_UNIFORM, -bound, bound};
    return layer_linear(builder, name, x, out_features,
                        &(struct linear){.weight = init, .bias = init, .has_bias = has_bias});
}
