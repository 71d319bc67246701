/* nn/resnet.c - residual networks and their two kinds of blocks; see <forge/nn.h>.
 *
 * Note: in a bottleneck block, the stride belongs to the 3 x 3 convolution, as in torchvision. In the paper,
 * it belongs to the first 1 x 1 convolution.
 */
#include <math.h>
#include <stdio.h>
#include "base/abi.h"
#include "forge/nn/layer.h"

enum { STAGES = 4, DEFAULT_WIDTH = 64, EXPANSION = 4 };

static const struct architecture {
    uint32_t depth;
    bool has_bottlenecks;
    unsigned blocks[STAGES];
} architectures[] = {
    {18, false, {2, 2, 2, 2}},  {34, false, {3, 4, 6, 3}},  {50, true, {3, 4, 6, 3}},
    {101, true, {3, 4, 23, 3}}, {152, true, {3, 8, 36, 3}},
};

static bool take_options(forge_builder *b, const forge_resnet_options *given, forge_resnet_options *out)
{
    return builder_is_ok(b) &&
           builder_take_options(b, "resnet", "forge_resnet_options", out, sizeof *out,
                                SIZE_UP_TO(forge_resnet_options, zero_init_residual), given);
}

/* --- blocks --------------------------------------------------------------------------------------------- */

/* Adds a convolution whose padding keeps height and width if the stride is 1. */
static forge_value conv(forge_builder *b, const char *name, forge_value x, int64_t channels, int64_t kernel,
                        uint32_t stride)
{
    double fan = (double)(channels * kernel * kernel);
    return layer_conv2d(b, name, x, channels, kernel, stride, (uint32_t)kernel / 2,
                        (forge_init){FORGE_INIT_NORMAL, 0, sqrt(2 / fan)});
}

static forge_value norm(forge_builder *b, const char *name, forge_value x, const forge_resnet_options *o)
{
    return layer_batch_norm(b, name, x, LAYER_ONES, o->is_training);
}

static forge_value last_norm(forge_builder *b, const char *name, forge_value x, const forge_resnet_options *o)
{
    return layer_batch_norm(b, name, x, o->zero_init_residual ? LAYER_ZEROS : LAYER_ONES, o->is_training);
}

/* Returns x, or a projection of x to the shape of the block's result if the shapes differ. */
static forge_value shortcut(forge_builder *b, forge_value x, int64_t channels, uint32_t stride,
                            const forge_resnet_options *o)
{
    if (!builder_is_ok(b) || (stride == 1 && forge_value_shape(b, x).dims[1] == channels))
        return x;
    forge_scope_push(b, "downsample");
    x = norm(b, "1", conv(b, "0", x, channels, 1, stride), o);
    forge_scope_pop(b);
    return x;
}

static forge_value basic_block(forge_builder *b, const char *name, forge_value x, int64_t channels,
                               uint32_t stride, const forge_resnet_options *o)
{
    forge_scope_push(b, name);
    forge_value y = forge_relu(b, norm(b, "bn1", conv(b, "conv1", x, channels, 3, stride), o));
    y = last_norm(b, "bn2", conv(b, "conv2", y, channels, 3, 1), o);
    y = forge_relu(b, forge_add(b, y, shortcut(b, x, channels, stride, o)));
    forge_scope_pop(b);
    return y;
}

static forge_value bottleneck(forge_builder *b, const char *name, forge_value x, int64_t channels,
                              uint32_t stride, const forge_resnet_options *o)
{
    forge_scope_push(b, name);
    forge_value y = forge_relu(b, norm(b, "bn1", conv(b, "conv1", x, channels, 1, 1), o));
    y = forge_relu(b, norm(b, "bn2", conv(b, "conv2", y, channels, 3, stride), o));
    y = last_norm(b, "bn3", conv(b, "conv3", y, EXPANSION * channels, 1, 1), o);
    y = forge_relu(b, forge_add(b, y, shortcut(b, x, EXPANSION * channels, stride, o)));
    forge_scope_pop(b);
    return y;
}

forge_value forge_basic_block(forge_builder *builder, const char *name, forge_value x, int64_t channels,
                              uint32_t stride, const forge_resnet_options *options)
{
    forge_resnet_options o;
    return take_options(builder, options, &o) ? basic_block(builder, name, x, channels, stride, &o)
                                              : FORGE_NO_VALUE;
}

forge_value forge_bottleneck(forge_builder *builder, const char *name, forge_value x, int64_t channels,
                             uint32_t stride, const forge_resnet_options *options)
{
    forge_resnet_options o;
    return take_options(builder, options, &o) ? bottleneck(builder, name, x, channels, stride, &o)
                                              : FORGE_NO_VALUE;
}

/* --- models --------------------------------------------------------------------------------------------- */

static const struct architecture *find(uint32_t depth)
{
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
        if (architectures[i].depth == depth)
            return &architectures[i];
    return NULL;
}

static forge_value stem(forge_builder *b, forge_value x, int64_t width, const forge_resnet_options *o)
{
    x = conv(b, "conv1", x, width, o->is_for_small_images ? 3 : 7, o->is_for_small_images ? 1 : 2);
    x = forge_relu(b, norm(b, "bn1", x, o));
    return o->is_for_small_images ? x : forge_max_pool(b, x, 3, 2, 1);
}

static forge_value stage(forge_builder *b, unsigned number, forge_value x, int64_t channels,
                         const struct architecture *a, const forge_resnet_options *o)
{
    char name[24];
    snprintf(name, sizeof name, "layer%u", number + 1);
    forge_scope_push(b, name);
    for (unsigned i = 0; i < a->blocks[number]; i++) {
        uint32_t stride = i == 0 && number > 0 ? 2 : 1;
        snprintf(name, sizeof name, "%u", i);
        if (o->checkpoint_activations)
            forge_recompute_begin(b);
        x = (a->has_bottlenecks ? bottleneck : basic_block)(b, name, x, channels, stride, o);
        if (o->checkpoint_activations)
            forge_recompute_end(b);
    }
    forge_scope_pop(b);
    return x;
}

forge_value forge_resnet(forge_builder *builder, const char *name, forge_value x,
                         const forge_resnet_options *options)
{
    forge_resnet_options o;
    if (!take_options(builder, options, &o) || !layer_takes(builder, "resnet", name ? name : "", x, 4, 4, 1))
        return FORGE_NO_VALUE;
    const struct architecture *a = find(o.depth);
    int64_t width = o.width ? o.width : DEFAULT_WIDTH;
    if (!a || width < 0 || o.classes <= 0) {
        forge_builder_fail(
            builder, "resnet: %u layers of width %lld to %lld classes; there are 18, 34, 50, 101, 152 layers",
            o.depth, (long long)width, (long long)o.classes);
        return FORGE_NO_VALUE;
    }
    layer_begin(builder, name);
    x = stem(builder, x, width, &o);
    for (unsigned i = 0; i < STAGES; i++)
        x = stage(builder, i, x, width << i, a, &o);
    x = forge_linear(builder, "fc", forge_reduce(builder, FORGE_MEAN, x, 12, false), o.classes, true);
    layer_end(builder, name);
    return x;
}
