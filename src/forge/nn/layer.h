/* nn/layer.h - helpers that layers share: names of slots, checks of inputs, and common sublayers.
 *
 * Note: slots that are not parameters, such as a running mean, are named in the same way but are not trained.
 */
#ifndef FORGE_NN_LAYER_H
#define FORGE_NN_LAYER_H

#include <forge/nn.h>
#include "forge/ir/builder.h"

/* Returns the slot "SCOPE.NAME", where SCOPE is the builder's current scope. The first call creates the slot.
 * Returns 0 if the builder has failed. */
forge_slot layer_slot(forge_builder *builder, const char *name, forge_dtype dtype, forge_shape shape,
                      forge_init init);

/* Returns true if x is a float, its rank is from min_rank to max_rank, and its size along `axis` is a number
 * above 0. Otherwise, records an error in the builder, "batch_norm 'norm1': ...", and returns false. Also
 * returns false if the builder has already failed. */
bool layer_takes(forge_builder *builder, const char *layer, const char *name, forge_value x,
                 uint32_t min_rank, uint32_t max_rank, uint32_t axis);

/* Initial values and layout of a linear layer's parameters. */
struct linear {
    forge_init weight, bias;
    bool has_bias;
    bool is_in_by_out; /* true: the weight is [in, out], as in GPT-2's files; false: [out, in] */
};
/* Adds a linear layer. x: [..., in]; returns [..., out_features]. */
forge_value layer_linear(forge_builder *builder, const char *name, forge_value x, int64_t out_features,
                         const struct linear *layer);

/* Like forge_conv2d without bias. weight: initial values of the weight. */
forge_value layer_conv2d(forge_builder *builder, const char *name, forge_value x, int64_t out_channels,
                         int64_t kernel, uint32_t stride, uint32_t padding, forge_init weight);
/* Like forge_batch_norm with PyTorch's momentum and epsilon. weight: initial value of the weight. */
forge_value layer_batch_norm(forge_builder *builder, const char *name, forge_value x, forge_init weight,
                             bool is_training);

/* Begin and end the scope of a layer. They do nothing if name is NULL. */
void layer_begin(forge_builder *builder, const char *name);
void layer_end(forge_builder *builder, const char *name);

/* --- parts of a transformer -------------------------------------------------------------------------------
 *
 * Note: the initial weights of layers whose result is added to a residual are scaled by 1 / sqrt(2 * layers),
 * as in GPT-2. */

/* Copies the options and sets defaults. Returns false if the builder has failed, for example because
 * struct_size is invalid. */
bool transformer_options(forge_builder *builder, const forge_gpt_options *given, forge_gpt_options *out);
/* Adds a linear layer with weight: [in, out] and bias: [out]. x: [..., in]; returns [..., out_features].
 * is_residual: the result is added to a residual. */
forge_value transformer_linear(forge_builder *builder, const char *name, forge_value x, int64_t out_features,
                               const forge_gpt_options *options, bool is_residual);
/* Adds multi-head attention. x: [b, t, width]; returns [b, t, width]. */
forge_value transformer_attention(forge_builder *builder, const char *name, forge_value x,
                                  const forge_gpt_options *options);

/* Initial values of affine parameters. */
#define LAYER_ONES  ((forge_init){FORGE_INIT_CONSTANT, 1, 0})
#define LAYER_ZEROS ((forge_init){0})

#endif
