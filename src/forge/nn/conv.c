/* nn/conv.c - convolutions as layers.
 *
 * Owns the shapes and first values of their parameters. Newcomers: the fan of a transposed one is counted as PyTorch does,
 * from the weight's second dimension, although that is of the result.
 */
#include <math.h>
#include <string.h>
#include "base/abi.h"
#include "forge/nn/layer.h"

/* [out] along the channels of a result like `like`. */
static forge_value add_bias(forge_builder *b, forge_value y, forge_init init)
{
    forge_shape shape = forge_value_shape(b, y), along = {.rank = shape.rank};
    for (uint32_t k = 0; k < shape.rank; k++)
        along.dims[k] = k == 1 ? shape.dims[1] : 1;
    forge_value bias =
        forge_parameter(b, "bias", forge_value_dtype(b, y), forge_shape_of(shape.dims[1]), init);
    return forge_add(b, y, forge_reshape(b, bias, along));
}

static bool weight_shape(forge_builder *b, const char *name, forge_shape x, int64_t out_channels,
                         const int64_t *kernel, const forge_conv_options *o, forge_shape *out)
{
    int64_t groups = o->groups ? o->groups : 1, in = x.dims[1];
    forge_shape shape = {.rank = x.rank};
    bool makes_sense = out_channels > 0 && in % groups == 0 && out_channels % groups == 0;
    shape.dims[0] = o->is_transposed ? in : out_channels;
    shape.dims[1] = (o->is_transposed ? out_channels : in) / groups;
    for (uint32_t k = 2; k < x.rank; k++) {
        shape.dims[k] = kernel[k - 2];
        makes_sense &= kernel[k - 2] > 0;
    }
    if (!makes_sense)
        forge_builder_fail(b,
                           "conv '%s': %lld channels to %lld in %lld groups, or a kernel of size 0, make no "
                           "sense",
                           name, (long long)in, (long long)out_channels, (long long)groups);
    *out = shape;
    return makes_sense;
}

forge_value forge_conv_layer(forge_builder *builder, const char *name, forge_value x, int64_t out_channels,
                             const int64_t *kernel, const forge_conv_options *options, bool has_bias)
{
    forge_conv_options o = {.struct_size = sizeof o};
    if (options && abi_take(&o, sizeof o, SIZE_UP_TO(forge_conv_options, is_transposed), options))
        forge_builder_fail(builder, "conv '%s': options of another version", name);
    forge_shape shape;
    if (!layer_takes(builder, "conv", name, x, 3, 5, 1) ||
        !weight_shape(builder, name, forge_value_shape(builder, x), out_channels, kernel, &o, &shape))
        return FORGE_NO_VALUE;
    double fan = (double)(forge_shape_elements(&shape) / (size_t)shape.dims[0]), reach = 1 / sqrt(fan);
    forge_init init = {FORGE_INIT_UNIFORM, -reach, reach};
    forge_scope_push(builder, name);
    forge_value weight = forge_parameter(builder, "weight", forge_value_dtype(builder, x), shape, init);
    forge_value y = forge_conv(builder, x, weight, &o);
    if (has_bias)
        y = add_bias(builder, y, init);
    forge_scope_pop(builder);
    return y;
}

forge_value forge_conv2d(forge_builder *builder, const char *name, forge_value x, int64_t out_channels,
                         int64_t kernel, uint32_t stride, uint32_t padding, bool has_bias)
{
    forge_conv_options o = {.struct_size = sizeof o,
                            .stride = {stride, stride},
                            .padding_before = {padding, padding},
                            .padding_after = {padding, padding}};
    if (!layer_takes(builder, "conv2d", name, x, 4, 4, 1))
        return FORGE_NO_VALUE;
    return forge_conv_layer(builder, name, x, out_channels, (int64_t[]){kernel, kernel}, &o, has_bias);
}
