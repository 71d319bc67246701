/* nn/layer.h - what layers share.
 *
 * Owns the names of slots in the current scope, and the checks with which most layers begin. Newcomers: a slot that is no
 * parameter (a running mean) is named in the same way and is not trained.
 */
#ifndef FORGE_NN_LAYER_H
#define FORGE_NN_LAYER_H

#include <forge/nn.h>
#include "forge/ir/build.h"

/* The slot "SCOPE.NAME", made at the first call. */
forge_slot layer_slot(forge_builder *builder, const char *name, forge_dtype dtype, forge_shape shape,
                      forge_init init);

/* The builder goes on, and x is of floats, with a rank from least to most, and a size along `axis` that is a number above 0.
 * Otherwise the builder fails: "batch_norm 'norm1': ...". */
bool layer_takes(forge_builder *builder, const char *layer, const char *name, forge_value x, uint32_t least,
                 uint32_t most, uint32_t axis);

/* What a linear layer starts with, and how its weight lies. */
struct linear {
    forge_init weight, bias;
    bool has_bias;
    bool is_in_by_out; /* weight [in, out], as in files of GPT-2; else [out, in] */
};
forge_value layer_linear(forge_builder *builder, const char *name, forge_value x, int64_t out_features,
                         const struct linear *how);

/* forge_conv2d without bias, whose weight starts so. */
forge_value layer_conv2d(forge_builder *builder, const char *name, forge_value x, int64_t out_channels,
                         int64_t kernel, uint32_t stride, uint32_t padding, forge_init weight);
/* forge_batch_norm with PyTorch's momentum and epsilon, whose weight starts so. */
forge_value layer_batch_norm(forge_builder *builder, const char *name, forge_value x, forge_init weight,
                             bool is_training);

/* A layer that may have no name has no scope of its own then. */
void layer_begin(forge_builder *builder, const char *name);
void layer_end(forge_builder *builder, const char *name);

/* What an affine layer starts with. */
#define LAYER_ONES  ((forge_init){FORGE_INIT_CONSTANT, 1, 0})
#define LAYER_ZEROS ((forge_init){0})

#endif
