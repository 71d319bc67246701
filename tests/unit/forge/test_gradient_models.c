/* Checks gradients of layers in every mode, and of whole models, against finite differences along random
 * directions in all parameters and inputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "support/directional.h"

/* Returns a weighted sum. Note: an unweighted sum would not show errors, because mean and norm of a
 * normalised value are constant. */
static forge_value weigh(forge_builder *b, forge_value y)
{
    forge_shape shape = forge_value_shape(b, y);
    uint32_t all = (1u << shape.rank) - 1;
    forge_value weights = forge_unary(b, FORGE_SIN, directional_variable(b, 99, shape));
    return forge_reduce(b, FORGE_SUM, forge_mul(b, y, weights), all, false);
}

static forge_value ids_of(forge_builder *b, int count, int limit, forge_shape shape)
{
    forge_value i = forge_iota(b, FORGE_I64, forge_shape_of(count), 0);
    i = forge_binary(b, FORGE_MOD,
                     forge_add(b, forge_mul(b, i, forge_mul(b, i, i)), forge_scalar(b, FORGE_I64, 1)),
                     forge_scalar(b, FORGE_I64, limit));
    return forge_reshape(b, i, shape);
}

/* --- layers --------------------------------------------------------------------------------------------- */

struct layer {
    const char *name;
    forge_shape x;
    forge_value (*make)(forge_builder *b, forge_value x, const struct layer *layer);
    int64_t kernel[3], channels;
    forge_conv_options conv;
    int mode;
    bool is_switched; /* the mode's flag, such as bias, weight or training */
};

static forge_value conv(forge_builder *b, forge_value x, const struct layer *layer)
{
    forge_conv_options options = layer->conv;
    options.struct_size = sizeof options;
    return forge_conv_layer(b, "conv", x, layer->channels, layer->kernel, &options, layer->is_switched);
}

static forge_value linear(forge_builder *b, forge_value x, const struct layer *layer)
{
    return forge_linear(b, "fc", x, layer->channels, layer->is_switched);
}

static forge_value batch_norm(forge_builder *b, forge_value x, const struct layer *layer)
{
    return forge_batch_norm(b, "norm", x, 0.1, 1e-5, layer->is_switched);
}

static forge_value layer_norm(forge_builder *b, forge_value x, const struct layer *layer)
{
    return forge_layer_norm(b, "norm", x, (uint32_t)layer->mode, 1e-5, layer->is_switched);
}

static forge_value rms_norm(forge_builder *b, forge_value x, const struct layer *layer)
{
    return forge_rms_norm(b, "norm", x, (uint32_t)layer->mode, 1e-5);
}

static forge_value group_norm(forge_builder *b, forge_value x, const struct layer *layer)
{
    return forge_group_norm(b, "norm", x, (uint32_t)layer->mode, 1e-5);
}

static forge_value instance_norm(forge_builder *b, forge_value x, const struct layer *layer)
{
    return forge_instance_norm(b, "norm", x, 1e-5, layer->is_switched);
}

static forge_value dropout(forge_builder *b, forge_value x, const struct layer *layer)
{
    return forge_dropout(b, "drop", forge_tanh(b, x), 0.4, layer->is_switched);
}

static forge_value max_pool(forge_builder *b, forge_value x, const struct layer *layer)
{
    return forge_max_pool(b, x, 2, (uint32_t)layer->mode, layer->is_switched);
}

static forge_value avg_pool(forge_builder *b, forge_value x, const struct layer *layer)
{
    return forge_avg_pool(b, x, 3, (uint32_t)layer->mode, 1, layer->is_switched);
}

static forge_value embedding(forge_builder *b, forge_value x, const struct layer *layer)
{
    (void)layer;
    forge_value rows = forge_embedding(b, "wte", ids_of(b, 6, 5, forge_shape_of(2, 3)), FORGE_F64, 5, 4, 1);
    return forge_mul(b, rows, x);
}

static forge_value rope(forge_builder *b, forge_value x, const struct layer *layer)
{
    return forge_rope(b, x, forge_iota(b, FORGE_I64, forge_shape_of(3), 0), 100, layer->is_switched);
}

enum { NON_CAUSAL = 1, FEW_KEYS = 2, DROPS = 4 };

static forge_gpt_options gpt_options(int mode)
{
    return (forge_gpt_options){.struct_size = sizeof(forge_gpt_options),
                               .layers = 2,
                               .heads = 4,
                               .kv_heads = mode & FEW_KEYS ? 2 : 0,
                               .vocabulary = 7,
                               .context = 5,
                               .width = 8,
                               .dtype = FORGE_F64,
                               .is_training = true,
                               .non_causal = mode & NON_CAUSAL,
                               .dropout = mode & DROPS ? 0.2 : 0};
}

static forge_value attention(forge_builder *b, forge_value x, const struct layer *layer)
{
    forge_gpt_options options = gpt_options(layer->mode);
    return forge_multi_head_attention(b, "attn", x, &options);
}

static forge_value block(forge_builder *b, forge_value x, const struct layer *layer)
{
    forge_gpt_options options = gpt_options(layer->mode);
    return forge_transformer_block(b, "h", x, &options);
}

#define SHAPE(rank, ...)                                                                                     \
    {                                                                                                        \
        rank, 0,                                                                                             \
        {                                                                                                    \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }
static const struct layer layers[] = {
    {"linear", SHAPE(2, 3, 4), linear, .channels = 5, .is_switched = true},
    {"linear of rank 3 without bias", SHAPE(3, 2, 3, 4), linear, .channels = 5},
    {"conv1d", SHAPE(3, 2, 4, 7), conv, {3}, 6, {.stride = {2}, .padding_before = {1}}, .is_switched = true},
    {"conv1d in groups",
     SHAPE(3, 2, 4, 7),
     conv,
     {2},
     6,
     {.groups = 2, .dilation = {2}, .padding_after = {1}}},
    {"conv2d",
     SHAPE(4, 2, 3, 5, 4),
     conv,
     {3, 2},
     4,
     {.stride = {1, 2}, .padding_before = {1, 1}, .padding_after = {1, 0}},
     .is_switched = true},
    {"conv2d by channel", SHAPE(4, 2, 3, 4, 4), conv, {2, 2}, 3, {.groups = 3}, .is_switched = true},
    {"conv3d",
     SHAPE(5, 1, 2, 3, 4, 3),
     conv,
     {2, 3, 2},
     4,
     {.groups = 2, .stride = {1, 2, 1}, .padding_before = {1, 0, 1}},
     .is_switched = true},
    {"transposed conv1d",
     SHAPE(3, 2, 4, 5),
     conv,
     {3},
     6,
     {.is_transposed = true, .groups = 2, .stride = {2}, .output_padding = {1}},
     .is_switched = true},
    {"transposed conv2d",
     SHAPE(4, 1, 3, 3, 4),
     conv,
     {2, 3},
     2,
     {.is_transposed = true, .stride = {2, 1}, .dilation = {2, 1}, .padding_before = {1, 1}}},
    {"transposed conv3d",
     SHAPE(5, 1, 2, 2, 2, 3),
     conv,
     {2, 2, 2},
     2,
     {.is_transposed = true, .stride = {2, 1, 2}, .padding_after = {0, 1, 0}},
     .is_switched = true},
    {"batch norm in training", SHAPE(4, 3, 2, 3, 2), batch_norm, .is_switched = true},
    {"batch norm in training of rows", SHAPE(2, 5, 3), batch_norm, .is_switched = true},
    {"batch norm", SHAPE(3, 3, 2, 4), batch_norm},
    {"layer norm", SHAPE(3, 2, 3, 4), layer_norm, .mode = 1, .is_switched = true},
    {"layer norm of two dimensions", SHAPE(3, 2, 3, 4), layer_norm, .mode = 2},
    {"rms norm", SHAPE(3, 2, 3, 4), rms_norm, .mode = 1},
    {"rms norm of two dimensions", SHAPE(3, 2, 3, 4), rms_norm, .mode = 2},
    {"group norm", SHAPE(4, 2, 6, 2, 2), group_norm, .mode = 3},
    {"group norm in one group", SHAPE(3, 2, 4, 3), group_norm, .mode = 1},
    {"instance norm", SHAPE(4, 2, 3, 2, 3), instance_norm},
    {"instance norm with weights", SHAPE(3, 2, 3, 5), instance_norm, .is_switched = true},
    {"dropout in training", SHAPE(2, 6, 7), dropout, .is_switched = true},
    {"dropout", SHAPE(2, 6, 7), dropout},
    {"max pool", SHAPE(4, 2, 2, 4, 6), max_pool},
    {"overlapping max pool", SHAPE(3, 2, 2, 7), max_pool, .mode = 1, .is_switched = true},
    {"max pool of volumes", SHAPE(5, 1, 2, 4, 2, 4), max_pool},
    {"average pool", SHAPE(4, 2, 2, 4, 5), avg_pool, .mode = 2},
    {"average pool that counts padding", SHAPE(3, 2, 2, 7), avg_pool, .mode = 1, .is_switched = true},
    {"average pool of volumes", SHAPE(5, 1, 1, 3, 4, 3), avg_pool, .mode = 2},
    {"embedding", SHAPE(1, 4), embedding},
    {"rope", SHAPE(4, 2, 2, 3, 6), rope},
    {"interleaved rope", SHAPE(3, 2, 3, 4), rope, .is_switched = true},
    {"attention", SHAPE(3, 2, 4, 8), attention},
    {"attention to all", SHAPE(3, 2, 4, 8), attention, .mode = NON_CAUSAL},
    {"attention with few keys", SHAPE(3, 1, 5, 8), attention, .mode = FEW_KEYS},
    {"transformer block", SHAPE(3, 2, 4, 8), block},
    {"transformer block with dropout", SHAPE(3, 2, 4, 8), block, .mode = DROPS | FEW_KEYS | NON_CAUSAL},
};

static forge_value loss_of_layer(forge_builder *b, const void *context)
{
    const struct layer *layer = context;
    return weigh(b, layer->make(b, directional_variable(b, 0, layer->x), layer));
}

static void test_slopes_of_layers_equal_differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        directional_check(&(struct directional){.name = layers[i].name,
                                                .loss = loss_of_layer,
                                                .context = &layers[i],
                                                .seed = i,
                                                .points = 3,
                                                .is_second = true});
}

/* --- models --------------------------------------------------------------------------------------------- */

static forge_value loss_of_mlp(forge_builder *b, const void *context)
{
    (void)context;
    forge_value x = directional_variable(b, 0, forge_shape_of(5, 12));
    forge_value y = forge_mlp(b, "mlp", x, (int64_t[]){20, 16, 7}, 3);
    return forge_cross_entropy(b, y, ids_of(b, 5, 7, forge_shape_of(5)));
}

static forge_value loss_of_cnn(forge_builder *b, const void *context)
{
    (void)context;
    forge_value x = directional_variable(b, 0, forge_shape_of(3, 2, 11, 10));
    forge_value y = forge_cnn(b, "cnn", x, (int64_t[]){4, 5, 9, 6});
    return forge_cross_entropy(b, y, ids_of(b, 3, 6, forge_shape_of(3)));
}

static forge_value loss_of_norm_cnn(forge_builder *b, const void *context)
{
    forge_value x = directional_variable(b, 0, forge_shape_of(4, 1, 8, 8));
    return weigh(b, forge_norm_cnn(b, "cnn", x, 3, *(const int *)context != 0));
}

static forge_value loss_of_gpt(forge_builder *b, const void *context)
{
    int mode = *(const int *)context;
    forge_gpt_options options = gpt_options(mode);
    options.untied_lm_head = mode & FEW_KEYS;
    forge_value tokens = ids_of(b, 10, 7, forge_shape_of(2, 5));
    forge_value logits = forge_reshape(b, forge_gpt(b, "gpt", tokens, &options), forge_shape_of(10, 7));
    return forge_cross_entropy(b, logits, ids_of(b, 10, 6, forge_shape_of(10)));
}

static void check_model(const char *name, forge_value (*loss)(forge_builder *, const void *), int mode)
{
    directional_check(&(struct directional){.name = name,
                                            .loss = loss,
                                            .context = &mode,
                                            .seed = (uint64_t)mode,
                                            .points = 4,
                                            .is_second = true});
}

static void test_slopes_of_models_equal_differences(void **state)
{
    (void)state;
    check_model("mlp", loss_of_mlp, 0);
    check_model("cnn", loss_of_cnn, 0);
    for (int is_training = 0; is_training < 2; is_training++)
        check_model("norm cnn", loss_of_norm_cnn, is_training);
    for (int mode = 0; mode < 8; mode++)
        check_model("gpt", loss_of_gpt, mode);
}

static void test_kinks_are_rare(void **state)
{
    (void)state;
    print_message("%u points, %u times beside a kink\n", directional_points, directional_kinks);
    assert_true(directional_kinks * 10 < directional_points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slopes_of_layers_equal_differences),
        cmocka_unit_test(test_slopes_of_models_equal_differences),
        cmocka_unit_test(test_kinks_are_rare),
    };
    return cmocka_run_group_tests_name("gradient_models", tests, NULL, NULL);
}
