/* nn/conv_layer.c - convolution layers: the shapes and initial values of their parameters.
 *
 * Note: the fan-in of a transposed convolution is computed as in PyTorch, from the weight's second dimension,
 * although this dimension counts channels of the result.
 */
#include <math.h>
#include "base/abi.h"
#include "forge/nn/layer.h"

/* Adds a parameter "bias": [channels] to y: [n, channels, ...]. */
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
    bool is_valid = out_channels > 0 && in % groups == 0 && out_channels % groups == 0;
    shape.dims[0] = o->is_transposed ? in : out_channels;
    shape.dims[1] = (o->is_transposed ? out_channels : in) / groups;
    for (uint32_t k = 2; k < x.rank; k++) {
        shape.dims[k] = kernel[k - 2];
        is_valid &= kernel[k - 2] > 0;
    }
    if (!is_valid)
        forge_builder_fail(
            b,
            "conv '%s': %lld input channels and %lld output channels must be multiples of %lld groups, "
            "and these numbers and the kernel's sizes must be 1 or more",
            name, (long long)in, (long long)out_channels, (long long)groups);
    *out = shape;
    return is_valid;
}

/* Adds a convolution layer. x: [n, channels, ...]; returns [n, out_channels, ...]. weight_init: initial
 * values of the weight; NULL means those of the bias. */
static forge_value conv_layer(forge_builder *b, const char *name, forge_value x, int64_t out_channels,
                              const int64_t *kernel, const forge_conv_options *o,
                              const forge_init *weight_init, bool has_bias)
{
    forge_shape shape;
    if (!layer_takes(b, "conv", name, x, 3, 5, 1) ||
        !weight_shape(b, name, forge_value_shape(b, x), out_channels, kernel, o, &shape))
        return FORGE_NO_VALUE;
    double fan = 1;
    for (uint32_t k = 1; k < shape.rank; k++)
        fan *= (double)shape.dims[k];
    forge_init init = {FORGE_INIT_UNIFORM, -1 / sqrt(fan), 1 / sqrt(fan)};
    forge_scope_push(b, name);
    forge_value weight =
        forge_parameter(b, "weight", forge_value_dtype(b, x), shape, weight_init ? *weight_init : init);
    forge_value y = forge_conv(b, x, weight, o);
    if (has_bias)
        y = add_bias(b, y, init);
    forge_scope_pop(b);
    return y;
}

forge_value forge_conv_layer(forge_builder *builder, const char *name, forge_value x, int64_t out_channels,
                             const int64_t *kernel, const forge_conv_options *options, bool has_bias)
{
    forge_conv_options o = {.struct_size = sizeof o};
    if (options && !builder_take_options(builder, "conv", "forge_conv_options", &o, sizeof o,
                                         SIZE_UP_TO(forge_conv_options, is_transposed), options))
        return FORGE_NO_VALUE;
    return conv_layer(builder, name, x, out_channels, kernel, &o, NULL, has_bias);
}

static forge_value conv2d(forge_builder *builder, const char *name, forge_value x, int64_t out_channels,
                          int64_t kernel, uint32_t stride, uint32_t padding, const forge_init *weight_init,
                          bool has_bias)
{
    forge_conv_options o = {.struct_size = sizeof o,
                            .stride = {stride, stride},
                            .padding_before = {padding, padding},
                            .padding_after = {padding, padding}};
    const int64_t kernels[FORGE_MAX_RANK] = {kernel, kernel};
    if (!layer_takes(builder, "conv2d", name, x, 4, 4, 1))
        return FORGE_NO_VALUE;
    return conv_layer(builder, name, x, out_channels, kernels, &o, weight_init, has_bias);
}

forge_value forge_conv2d(forge_builder *builder, const char *name, forge_value x, int64_t out_channels,
                         int64_t kernel, uint32_t stride, uint32_t padding, bool has_bias)
{
    return conv2d(builder, name, x, out_channels, kernel, stride, padding, NULL, has_bias);
}

forge_value layer_conv2d(forge_builder *builder, const char *name, forge_value x, int64_t out_channels,
                         int64_t kernel, uint32_t stride, uint32_t padding, forge_init weight)
{
    return conv2d(builder, name, x, out_channels, kernel, stride, padding, &weight, false);
}
