/* nn/attention_layer.c - attention, and the multi-head attention layer with its parameters.
 *
 * ir/library_attention.c defines what attention computes.
 * Note: one linear layer computes queries, keys and values together. They are slices of its result, which are
 * not copied.
 */
#include <math.h>
#include "forge/ir/library.h"
#include "forge/nn/layer.h"

forge_value forge_attention(forge_builder *builder, forge_value q, forge_value k, forge_value v, double scale,
                            bool is_causal)
{
    forge_shape shape = forge_value_shape(builder, q);
    double d = shape.rank ? (double)shape.dims[shape.rank - 1] : 1;
    struct composite_attributes attributes = {
        .name = "attention", .reals = {scale > 0 ? scale : 1 / sqrt(d)}, .numbers = {is_causal}};
    return library_composite(builder, &attributes, (forge_value[]){q, k, v}, 3);
}

/* --- the layer ------------------------------------------------------------------------------------------ */

/* Returns heads [first, first + count) of `all`: [b, t, all heads, d], as [b, count, t, d]. */
static forge_value heads_of(forge_builder *b, forge_value all, int64_t first, int64_t count)
{
    forge_value x = forge_slice_along(b, all, 2, first, first + count);
    return forge_transpose(b, x, (uint32_t[]){0, 2, 1, 3});
}

forge_value transformer_attention(forge_builder *b, const char *name, forge_value x,
                                  const forge_gpt_options *o)
{
    forge_shape shape = forge_value_shape(b, x);
    int64_t width = shape.dims[2], heads = o->heads, kv_heads = o->kv_heads ? o->kv_heads : heads;
    if (!layer_takes(b, "attention", name, x, 3, 3, 2))
        return FORGE_NO_VALUE;
    if (heads < 1 || width % heads || heads % kv_heads) {
        forge_builder_fail(b,
                           "attention '%s': the width %lld must be a multiple of %lld heads, and these a "
                           "multiple of %lld heads of keys and values",
                           name, (long long)width, (long long)heads, (long long)kv_heads);
        return FORGE_NO_VALUE;
    }
    int64_t d = width / heads;
    forge_scope_push(b, name);
    forge_value all = transformer_linear(b, "c_attn", x, (heads + 2 * kv_heads) * d, o, false);
    all = forge_reshape(b, all, forge_shape_of(shape.dims[0], shape.dims[1], heads + 2 * kv_heads, d));
    /* Separate statements, so that the order of nodes does not depend on the compiler. */
    forge_value q = heads_of(b, all, 0, heads);
    forge_value k = heads_of(b, all, heads, kv_heads);
    forge_value v = heads_of(b, all, heads + kv_heads, kv_heads);
    forge_value y = forge_attention(b, q, k, v, 0, !o->non_causal);
    y = forge_reshape(b, forge_transpose(b, y, (uint32_t[]){0, 2, 1, 3}), shape);
    y = transformer_linear(b, "c_proj", y, width, o, true);
    forge_scope_pop(b);
    return y;
}

forge_value forge_multi_head_attention(forge_builder *builder, const char *name, forge_value x,
                                       const forge_gpt_options *options)
{
    forge_gpt_options o;
    return transformer_options(builder, options, &o) ? transformer_attention(builder, name, x, &o)
                                                     : FORGE_NO_VALUE;
}
