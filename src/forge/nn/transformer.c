/* nn/transformer.c - transformer blocks and GPT-2.
 *
 * Names and initial values are those of GPT-2's files.
 * Note: weights of linear layers are [in, out] here, as in GPT-2's files. Weights of forge_linear are [out,
 * in].
 */
#include "forge/nn/layer.h"

#include <math.h>
#include <stdio.h>
#include "base/abi.h"

#define SD      0.02
#define EPSILON 1e-5

bool transformer_options(forge_builder *builder, const forge_gpt_options *given, forge_gpt_options *out)
{
    if (!builder_is_ok(builder) ||
        !builder_take_options(builder, "gpt", "forge_gpt_options", out, sizeof *out,
                              SIZE_UP_TO(forge_gpt_options, dropout), given))
        return false;
    if (out->dtype == FORGE_DTYPE_NONE)
        out->dtype = FORGE_F32;
    return true;
}

forge_value transformer_linear(forge_builder *b, const char *name, forge_value x, int64_t out_features,
                               const forge_gpt_options *o, bool is_residual)
{
    double sd = is_residual && o->layers ? SD / sqrt(2.0 * o->layers) : SD;
    return layer_linear(b, name, x, out_features,
                        &(struct linear){.weight = {FORGE_INIT_NORMAL, 0, sd},
                                         .bias = LAYER_ZEROS,
                                         .has_bias = true,
                                         .is_in_by_out = true});
}

static forge_value perceptron(forge_builder *b, forge_value x, int64_t width, const forge_gpt_options *o)
{
    forge_scope_push(b, "mlp");
    x = transformer_linear(b, "c_fc", x, 4 * width, o, false);
    x = transformer_linear(b, "c_proj", forge_unary(b, FORGE_GELU_TANH, x), width, o, true);
    forge_scope_pop(b);
    return x;
}

static forge_value block(forge_builder *b, const char *name, forge_value x, const forge_gpt_options *o)
{
    if (!layer_takes(b, "transformer block", name, x, 3, 3, 2))
        return FORGE_NO_VALUE;
    int64_t width = forge_value_shape(b, x).dims[2];
    forge_scope_push(b, name);
    forge_value y = transformer_attention(b, "attn", forge_layer_norm(b, "ln_1", x, 1, EPSILON, true), o);
    x = forge_add(b, x, forge_dropout(b, "attn_dropout", y, o->dropout, o->is_training));
    y = perceptron(b, forge_layer_norm(b, "ln_2", x, 1, EPSILON, true), width, o);
    x = forge_add(b, x, forge_dropout(b, "mlp_dropout", y, o->dropout, o->is_training));
    forge_scope_pop(b);
    return x;
}

forge_value forge_transformer_block(forge_builder *builder, const char *name, forge_value x,
                                    const forge_gpt_options *options)
{
    forge_gpt_options o;
    return transformer_options(builder, options, &o) ? block(builder, name, x, &o) : FORGE_NO_VALUE;
}

/* Adds the embeddings of tokens and positions. ids: [b, t]; returns [b, t, width]. */
static forge_value embed(forge_builder *b, forge_value ids, const forge_gpt_options *o)
{
    forge_value x = forge_embedding(b, "wte", ids, o->dtype, o->vocabulary, o->width, SD);
    forge_scope_push(b, "wpe");
    forge_value places = forge_parameter(b, "weight", o->dtype, forge_shape_of(o->context, o->width),
                                         (forge_init){FORGE_INIT_NORMAL, 0, SD});
    x = forge_add(b, x, forge_slice_along(b, places, 0, 0, forge_value_shape(b, ids).dims[1]));
    forge_scope_pop(b);
    return forge_dropout(b, "drop", x, o->dropout, o->is_training);
}

/* Returns logits: [b, t, vocabulary] for x: [b, t, width]. The weight is the embedding table of tokens, or a
 * separate table if untied_lm_head is set. */
static forge_value head(forge_builder *b, forge_value x, const forge_gpt_options *o)
{
    forge_scope_push(b, o->untied_lm_head ? "lm_head" : "wte");
    forge_value table = forge_parameter(b, "weight", o->dtype, forge_shape_of(o->vocabulary, o->width),
                                        (forge_init){FORGE_INIT_NORMAL, 0, SD});
    forge_scope_pop(b);
    forge_scope_push(b, "lm_head");
    forge_shape shape = forge_value_shape(b, x);
    forge_dim rows = forge_dim_mul(b, shape.dims[0], shape.dims[1]);
    x = forge_matmul(b, forge_reshape(b, x, forge_shape_of(rows, o->width)), table, FORGE_TRANSPOSE_B);
    x = forge_reshape(b, x, forge_shape_of(shape.dims[0], shape.dims[1], o->vocabulary));
    forge_scope_pop(b);
    return x;
}

forge_value forge_gpt(forge_builder *builder, const char *name, forge_value ids,
                      const forge_gpt_options *options)
{
    char layer[24];
    forge_gpt_options o;
    if (!transformer_options(builder, options, &o))
        return FORGE_NO_VALUE;
    forge_shape shape = forge_value_shape(builder, ids);
    if (shape.rank != 2 || shape.dims[1] > o.context) {
        forge_builder_fail(builder, "gpt: ids must be tokens [b, t], with t at most %lld",
                           (long long)o.context);
        return FORGE_NO_VALUE;
    }
    layer_begin(builder, name);
    forge_value x = embed(builder, ids, &o);
    for (uint32_t i = 0; i < o.layers; i++) {
        snprintf(layer, sizeof layer, "h.%u", i);
        if (o.checkpoint_activations)
            forge_recompute_begin(builder);
        x = block(builder, layer, x, &o);
        if (o.checkpoint_activations)
            forge_recompute_end(builder);
    }
    x = head(builder, forge_layer_norm(builder, "ln_f", x, 1, EPSILON, true), &o);
    layer_end(builder, name);
    return x;
}
