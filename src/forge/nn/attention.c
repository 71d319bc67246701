/* nn/attention.c - attention, as a composite, and the layer around it.
 *
 * Owns their meaning in families. Newcomers: with grouped queries, consecutive heads share keys and values; and a causal
 * mask is aligned at the end, so that the last query sees all keys, however many more of them there are.
 */
#include <math.h>
#include "forge/nn/transformer.h"

struct attention {
    double scale;
    bool is_causal;
};

enum { Q, K, V, INPUTS };

/* Scores that a query must not see are -infinity. Rows and columns are counted from the end. */
static forge_value mask(forge_builder *b, forge_value scores)
{
    forge_shape shape = forge_value_shape(b, scores);
    forge_dim t = shape.dims[shape.rank - 2], s = shape.dims[shape.rank - 1];
    forge_value query = forge_flip(b, forge_iota(b, FORGE_I32, forge_shape_of(t, 1), 0), 1);
    forge_value key = forge_flip(b, forge_iota(b, FORGE_I32, forge_shape_of(1, s), 1), 2);
    forge_value none = forge_scalar(b, forge_value_dtype(b, scores), -(double)INFINITY);
    return forge_select(b, forge_binary(b, FORGE_GE, key, query), scores, none);
}

static forge_value softmax(forge_builder *b, forge_value x)
{
    uint32_t last = 1u << (forge_value_shape(b, x).rank - 1);
    forge_value e = forge_exp(b, forge_sub(b, x, forge_reduce(b, FORGE_MAXIMUM, x, last, true)));
    return forge_div(b, e, forge_reduce(b, FORGE_SUM, e, last, true));
}

/* Heads of one group are one matrix of more rows. */
static forge_value attention_body(forge_builder *b, const forge_value *in, size_t count, const void *context)
{
    const struct attention *attention = context;
    (void)count;
    forge_shape q = forge_value_shape(b, in[Q]), k = forge_value_shape(b, in[K]);
    forge_dtype dtype = forge_value_dtype(b, in[Q]), wide = builder_accumulator(dtype);
    int64_t groups = k.dims[1], shared = q.dims[1] / groups;
    forge_dim rows = forge_dim_mul(b, shared, q.dims[2]), s = k.dims[2];
    forge_value query = forge_mul(b, forge_cast(b, wide, in[Q]), forge_scalar(b, wide, attention->scale));
    query = forge_reshape(b, query, forge_shape_of(q.dims[0], groups, rows, q.dims[3]));
    forge_value scores = forge_matmul(b, query, forge_cast(b, wide, in[K]), FORGE_TRANSPOSE_B);
    scores = forge_reshape(b, scores, forge_shape_of(q.dims[0], groups, shared, q.dims[2], s));
    forge_value weights = softmax(b, attention->is_causal ? mask(b, scores) : scores);
    weights = forge_reshape(b, weights, forge_shape_of(q.dims[0], groups, rows, s));
    forge_value y = forge_matmul(b, weights, forge_cast(b, wide, in[V]), 0);
    q.dims[3] = forge_value_shape(b, in[V]).dims[3];
    return forge_reshape(b, forge_cast(b, dtype, y), q);
}

/* Numbers that can be told from each other; symbols are looked at when they have values. */
static bool differ(forge_dim a, forge_dim b)
{
    return a >= 0 && b >= 0 && a != b;
}

static const char *wrong_shapes(forge_shape q, forge_shape k, forge_shape v, bool is_causal)
{
    if (q.rank != 4 || k.rank != 4 || v.rank != 4)
        return "it takes q [b, heads, t, d], k [b, kv_heads, s, d] and v [b, kv_heads, s, e]";
    if (q.dims[1] < 1 || k.dims[1] < 1 || q.dims[1] % k.dims[1] || k.dims[1] != v.dims[1])
        return "heads have to be a multiple of the heads of k, and of as many of v";
    if (q.dims[3] < 1 || q.dims[3] != k.dims[3])
        return "q and k have to have the same last dimension";
    if (differ(q.dims[0], k.dims[0]) || differ(k.dims[0], v.dims[0]) || differ(k.dims[2], v.dims[2]))
        return "q, k and v differ in dimensions b or s";
    if (is_causal && q.dims[2] > k.dims[2] && k.dims[2] >= 0)
        return "there are more queries than keys, so that a causal mask leaves the first none to see";
    return NULL;
}

forge_value forge_attention(forge_builder *builder, forge_value q, forge_value k, forge_value v, double scale,
                            bool is_causal)
{
    if (!builder_goes_on(builder))
        return FORGE_NO_VALUE;
    forge_shape shape = forge_value_shape(builder, q);
    forge_dtype dtype = forge_value_dtype(builder, q);
    const char *wrong =
        wrong_shapes(shape, forge_value_shape(builder, k), forge_value_shape(builder, v), is_causal);
    if (!wrong && (!forge_dtype_is_float(dtype) || forge_value_dtype(builder, k) != dtype ||
                   forge_value_dtype(builder, v) != dtype))
        wrong = "it takes floats of one type";
    if (wrong) {
        forge_builder_fail(builder, "attention: %s", wrong);
        return FORGE_NO_VALUE;
    }
    struct attention attention = {scale > 0 ? scale : 1 / sqrt((double)shape.dims[3]), is_causal};
    return forge_composite(builder, "attention", (forge_value[]){q, k, v}, INPUTS, attention_body,
                           &attention);
}

/* --- the layer ------------------------------------------------------------------------------------------------ */

/* Columns [first, first + heads * d) of [b, t, all] as [b, heads, t, d]. */
static forge_value heads_of(forge_builder *b, forge_value all, int64_t first, int64_t heads, int64_t d)
{
    forge_shape shape = forge_value_shape(b, all);
    forge_value x = forge_slice_along(b, all, 2, first, first + heads * d);
    x = forge_reshape(b, x, forge_shape_of(shape.dims[0], shape.dims[1], heads, d));
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
        forge_builder_fail(b, "attention '%s': a width of %lld in %lld heads that share %lld makes no sense",
                           name, (long long)width, (long long)heads, (long long)kv_heads);
        return FORGE_NO_VALUE;
    }
    int64_t d = width / heads;
    forge_scope_push(b, name);
    forge_value all = transformer_linear(b, "c_attn", x, (heads + 2 * kv_heads) * d, o, false);
    forge_value q =
        heads_of(b, all, 0, heads, d); /* one after the other: graphs do not depend on the compiler */
    forge_value k = heads_of(b, all, width, kv_heads, d);
    forge_value v = heads_of(b, all, width + kv_heads * d, kv_heads, d);
    forge_value y = forge_attention(b, q, k, v, 0, !o->sees_all);
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
