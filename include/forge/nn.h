/* forge/nn.h - layers.
 *
 * Owns parameters and the layers made of them. A layer is a function from values to a value: it opens a scope of its name,
 * makes its parameters there, and adds its nodes.
 * Newcomers: parameters are state slots named after their scope ("fc1.weight"). The same layer called again with the same
 * name in the same scope shares its parameters.
 */
#ifndef FORGE_NN_H
#define FORGE_NN_H

#include <forge/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The value of the trainable slot NAME in the current scope: "SCOPE.NAME", with '.' between the scopes. */
FORGE_API forge_value forge_parameter(forge_builder *builder, const char *name, forge_dtype dtype,
                                      forge_shape shape, forge_init init);
/* The trainable slots made so far, in the order in which they were made. */
FORGE_API size_t forge_parameter_count(const forge_builder *builder);
FORGE_API forge_slot forge_parameter_slot(const forge_builder *builder, size_t i);

/* x weight^T + bias: x [..., in] float, weight [out, in], bias [out], both uniform within +-1/sqrt(in) at first, as
 * PyTorch's Linear is. `in` must be a number. */
FORGE_API forge_value forge_linear(forge_builder *builder, const char *name, forge_value x,
                                   int64_t out_features, bool has_bias);

/* Linear layers with relu between them: sizes[0 .. count-1] are the widths after each. */
FORGE_API forge_value forge_mlp(forge_builder *builder, const char *name, forge_value x, const int64_t *sizes,
                                size_t count);

#ifdef __cplusplus
}
#endif
#endif
