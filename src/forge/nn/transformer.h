/* nn/transformer.h - what the parts of a transformer share.
 *
 * Owns the options as they were taken, and linear layers that start as GPT-2's do. Newcomers: layers whose result is added
 * to what goes past them start smaller the more of them there are.
 */
#ifndef FORGE_NN_TRANSFORMER_H
#define FORGE_NN_TRANSFORMER_H

#include "forge/nn/layer.h"

/* False, and the builder has failed: options of another version. */
bool transformer_options(forge_builder *builder, const forge_gpt_options *given, forge_gpt_options *out);
/* Weight [in, out] and bias. */
forge_value transformer_linear(forge_builder *builder, const char *name, forge_value x, int64_t out_features,
                               const forge_gpt_options *options, bool is_residual);
forge_value transformer_attention(forge_builder *builder, const char *name, forge_value x,
                                  const forge_gpt_options *options);

#endif
