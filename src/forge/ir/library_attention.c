/* ir/library_attention.c - attention and rotary position embedding, as composites.
 *
 * Note: with grouped queries, consecutive heads of q share one head of k and v. A causal mask is aligned at
 * the end: the last query attends to all keys, even if there are more keys than queries.
 */
#include <math.h>
#include "forge/ir/library.h"

enum { Q, K, V };

/* Returns true if a and b are different numbers. Symbols are compared later, when they have values. */
static bool differ(forge_dim a, forge_dim b)
{
    return a >= 0 && b >= 0 && a != b;
}

/* Returns the reason why these shapes are invalid, as static text; NULL if they are valid. */
static const char *wrong_shapes(forge_shape q, forge_shape k, forge_shape v, bool is_causal)
{
    if (q.rank != 4 || k.rank != 4 || v.rank != 4)
        return "it needs q [b, heads, t, d], k [b, kv_heads, s, d] and v [b, kv_heads, s, e]";
    if (q.dims[1] < 1 || k.dims[1] < 1 || q.dims[1] % k.dims[1] || k.dims[1] != v.dims[1])
        return "the heads of q must be a multiple of those of k, and v must have as many as k";
    if (q.dims[3] < 1 || q.dims[3] != k.dims[3])
        return "q and k must have the same last dimension";
    if (differ(q.dims[0], k.dims[0]) || differ(k.dims[0], v.dims[0]) || differ(k.dims[2], v.dims[2]))
        return "q, k and v differ in dimensions b or s";
    if (is_causal && q.dims[2] > k.dims[2] && k.dims[2] >= 0)
        return "there are more queries than keys: with a causal mask, the first queries have no key";
    return NULL;
}

/* Returns false, and fails the builder, if the inputs do not fit each other. */
static bool takes_attention(forge_builder *b, const forge_value *in, bool is_causal)
{
    if (!builder_is_ok(b))
        return false;
    forge_dtype dtype = forge_value_dtype(b, in[Q]);
    const char *wrong = wrong_shapes(forge_value_shape(b, in[Q]), forge_value_shape(b, in[K]),
                                     forge_value_shape(b, in[V]), is_causal);
    if (!wrong && (!forge_dtype_is_float(dtype) || forge_value_dtype(b, in[K]) != dtype ||
                   forge_value_dtype(b, in[V]) != dtype))
        wrong = "q, k and v must be floats of one type";
    if (wrong)
        forge_builder_fail(b, "%s", wrong);
    return !wrong;
}

/* Returns the scores with -infinity for all keys that come after their query. scores: [b, groups, heads per
 * group, t, s]. Queries and keys are counted from the end, so the last query attends to all keys. */
static forge_value mask(forge_builder *b, forge_value scores)
{
    forge_shape shape = forge_value_shape(b, scores);
    if (!builder_is_ok(b))
        return FORGE_NO_VALUE;
    forge_dim t = shape.dims[shape.rank - 2], s = shape.dims[shape.rank - 1];
    forge_value query = forge_flip(b, forge_iota(b, FORGE_I32, forge_shape_of(t, 1), 0), 1);
    forge_value key = forge_flip(b, forge_iota(b, FORGE_I32, forge_shape_of(1, s), 1), 2);
    forge_value none = forge_scalar(b, forge_value_dtype(b, scores), -(double)INFINITY);
    return forge_select(b, forge_binary(b, FORGE_GE, key, query), scores, none);
}

/* Builds attention. q: [b, heads, t, d]; k: [b, kv_heads, s, d]; v: [b, kv_heads, s, e]; result:
 * [b, heads, t, e]. The queries of all heads that share keys are combined into one matrix with more rows. */
void library_attention(forge_builder *b, const forge_value *in, size_t count, const void *context,
                       forge_value *out)
{
    const struct composite_attributes *a = context;
    (void)count;
    if (!takes_attention(b, in, a->numbers[0]))
        return;
    forge_shape q = forge_value_shape(b, in[Q]), k = forge_value_shape(b, in[K]);
    forge_dtype dtype = forge_value_dtype(b, in[Q]), wide = builder_accumulator(dtype);
    int64_t groups = k.dims[1], shared = q.dims[1] / groups;
    forge_dim rows = forge_dim_mul(b, shared, q.dims[2]), s = k.dims[2];
    forge_value query = forge_mul(b, forge_cast(b, wide, in[Q]), forge_scalar(b, wide, a->reals[0]));
    query = forge_reshape(b, query, forge_shape_of(q.dims[0], groups, rows, q.dims[3]));
    forge_value scores = forge_matmul(b, query, forge_cast(b, wide, in[K]), FORGE_TRANSPOSE_B);
    scores = forge_reshape(b, scores, forge_shape_of(q.dims[0], groups, shared, q.dims[2], s));
    forge_value weights = forge_softmax(b, a->numbers[0] ? mask(b, scores) : scores);
    weights = forge_reshape(b, weights, forge_shape_of(q.dims[0], groups, rows, s));
    forge_value y = forge_matmul(b, weights, forge_cast(b, wide, in[V]), 0);
    q.dims[3] = forge_value_shape(b, in[V]).dims[3];
    out[0] = forge_reshape(b, forge_cast(b, dtype, y), q);
}

/* --- rotary position embedding -------------------------------------------------------------------------- */

static bool takes_rope(forge_builder *b, const forge_value *in, double base)
{
    if (!builder_is_ok(b))
        return false;
    forge_shape shape = forge_value_shape(b, in[0]), place = forge_value_shape(b, in[1]);
    int64_t d = shape.rank ? shape.dims[shape.rank - 1] : 0;
    bool is_valid = shape.rank >= 2 && shape.rank < FORGE_MAX_RANK && d >= 2 && d % 2 == 0 &&
                    place.rank < shape.rank && base > 0 &&
                    forge_dtype_is_float(forge_value_dtype(b, in[0])) &&
                    forge_dtype_is_integer(forge_value_dtype(b, in[1]));
    if (!is_valid)
        forge_builder_fail(b,
                           "rope needs floats [..., t, d] of rank 2 to %d with an even d, integer positions "
                           "that broadcast to all dimensions but the last, and a base above 0",
                           FORGE_MAX_RANK - 1);
    return is_valid;
}

/* Returns position * base^(-2 i / d) for each i below d / 2, in f64: [..., t, d / 2]. Inserts a dimension of
 * size 1 where x, reshaped to pairs, has the two elements of a pair. */
static forge_value angles(forge_builder *b, forge_value positions, int64_t d,
                          const struct composite_attributes *a)
{
    forge_shape shape = forge_value_shape(b, positions);
    forge_value i = forge_iota(b, FORGE_F64, forge_shape_of(d / 2), 0);
    i = forge_mul(b, i, forge_scalar(b, FORGE_F64, -2 * log(a->reals[0]) / (double)d));
    shape.dims[shape.rank++] = 1;
    forge_value place = forge_reshape(b, forge_cast(b, FORGE_F64, positions), shape);
    forge_value angle = forge_mul(b, place, forge_exp(b, i));
    shape = forge_value_shape(b, angle);
    shape.dims[shape.rank++] = 1;
    if (!a->numbers[0] && builder_is_ok(b)) {
        shape.dims[shape.rank - 1] = shape.dims[shape.rank - 2];
        shape.dims[shape.rank - 2] = 1;
    }
    return forge_reshape(b, angle, shape);
}

/* Builds a rotary position embedding. x: [..., t, d]; positions: broadcast to [..., t]; result: x's shape.
 * During the rotation, x has one more dimension, of size 2, for the two elements of each pair. */
void library_rope(forge_builder *b, const forge_value *in, size_t count, const void *context,
                  forge_value *out)
{
    const struct composite_attributes *a = context;
    (void)count;
    if (!takes_rope(b, in, a->reals[0]))
        return;
    forge_shape shape = forge_value_shape(b, in[0]), pairs = shape;
    forge_dtype dtype = forge_value_dtype(b, in[0]), wide = builder_accumulator(dtype);
    int64_t d = shape.dims[shape.rank - 1];
    uint32_t axis = a->numbers[0] ? shape.rank : shape.rank - 1;
    pairs.rank++;
    pairs.dims[shape.rank - 1] = pairs.dims[shape.rank] = d / 2;
    pairs.dims[axis] = 2;
    forge_value x = forge_reshape(b, forge_cast(b, wide, in[0]), pairs);
    forge_value first = forge_slice_along(b, x, axis, 0, 1), second = forge_slice_along(b, x, axis, 1, 2);
    forge_value angle = angles(b, in[1], d, a);
    forge_value c = forge_cast(b, wide, forge_unary(b, FORGE_COS, angle));
    forge_value s = forge_cast(b, wide, forge_unary(b, FORGE_SIN, angle));
    forge_value first_c = forge_mul(b, first, c), second_s = forge_mul(b, second, s);
    forge_value first_s = forge_mul(b, first, s), second_c = forge_mul(b, second, c);
    forge_value rotated[] = {forge_sub(b, first_c, second_s), forge_add(b, first_s, second_c)};
    out[0] = forge_cast(b, dtype, forge_reshape(b, forge_concat(b, rotated, 2, axis), shape));
}
