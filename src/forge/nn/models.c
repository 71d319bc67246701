/* nn/models.c - small networks: MLP and CNNs.
 *
 * The layers have the same names as in existing checkpoints.
 * Note: a model returns logits; the caller adds the loss.
 */
#include <stdio.h>
#include "forge/nn/layer.h"

forge_value forge_mlp(forge_builder *builder, const char *name, forge_value x, const int64_t *sizes,
                      size_t count)
{
    char layer[24];
    layer_begin(builder, name);
    for (size_t i = 0; i < count; i++) {
        snprintf(layer, sizeof layer, "fc%zu", i + 1);
        x = forge_linear(builder, layer, x, sizes[i], true);
        if (i + 1 < count)
            x = forge_relu(builder, x);
    }
    layer_end(builder, name);
    return x;
}

/* Reshapes x, [n, ...], to [n, product of the other dimensions]. */
static forge_value flatten(forge_builder *b, forge_value x)
{
    forge_shape shape = forge_value_shape(b, x);
    forge_dim rest = 1;
    for (uint32_t k = 1; k < shape.rank; k++)
        rest = forge_dim_mul(b, rest, shape.dims[k]);
    return forge_reshape(b, x, forge_shape_of(shape.dims[0], rest));
}

forge_value forge_cnn(forge_builder *builder, const char *name, forge_value x, const int64_t sizes[4])
{
    layer_begin(builder, name);
    x = forge_relu(builder, forge_conv2d(builder, "conv1", x, sizes[0], 3, 1, 0, true));
    x = forge_max_pool(builder, x, 2, 2, 0);
    x = forge_relu(builder, forge_conv2d(builder, "conv2", x, sizes[1], 3, 1, 0, true));
    x = forge_max_pool(builder, x, 2, 2, 0);
    x = forge_mlp(builder, NULL, flatten(builder, x), sizes + 2, 2);
    layer_end(builder, name);
    return x;
}

forge_value forge_norm_cnn(forge_builder *builder, const char *name, forge_value x, int64_t classes,
                           bool is_training)
{
    layer_begin(builder, name);
    x = forge_relu(builder, forge_conv2d(builder, "conv1", x, 8, 3, 1, 0, true));
    x = forge_relu(builder, forge_conv2d(builder, "conv2", x, 16, 3, 1, 0, true));
    x = forge_relu(builder, forge_conv2d(builder, "conv3", x, 24, 3, 1, 0, true));
    x = forge_batch_norm(builder, "norm1", x, 0.1, 1e-5, is_training);
    x = forge_relu(builder, forge_linear(builder, "fc1", flatten(builder, x), 32, true));
    x = forge_dropout(builder, "dropout1", x, 0.3, is_training);
    x = forge_linear(builder, "fc2", x, classes, true);
    x = forge_batch_norm(builder, "norm2", x, 0.1, 1e-5, is_training);
    layer_end(builder, name);
    return x;
}
