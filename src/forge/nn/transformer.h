/* nn/transformer.h - helpers that the parts of a transformer share: options and linear layers.
 *
 * Note: layers whose result is added to a residual have smaller initial values, by 1 / sqrt(2 layers), as in
 * GPT-2.
 */
#ifndef FORGE_NN_TRANSFORMER_H
#define FORGE_NN_TRANSFORMER_H

#include "forge/nn/layer.h"

/* Copies the options and sets defaults. Returns false and fails the builder if they are of an unknown
 * version. */
bool transformer_options(forge_builder *builder, const forge_gpt_options *given, forge_gpt_options *out);
/* Adds a linear layer with weight: [in, out] and bias: [out]. x: [..., in]; returns [..., out_features]. */
forge_value transformer_linear(forge_builder *builder, const char *name, forge_value x, int64_t out_features,
                               const forge_gpt_options *options, bool is_residual);
/* Adds multi-head attention. x: [b, t, width]; returns [b, t, width]. */
forge_value transformer_attention(forge_builder *builder, const char *name, forge_value x,
                                  const forge_gpt_options *options);

#endif
