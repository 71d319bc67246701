/* ir/library_inference.c - the composites of language models that answer requests: products with weights in
 * any storage type, rotary embeddings with given angles, and attention over a paged cache.
 *
 * Note: rows of different sequences follow each other on one axis of tokens, without padding. No result of a
 * row depends on the other rows.
 */
#include <math.h>
#include "forge/ir/library.h"

/* Returns `condition`. If it is false, fails the builder with the message. */
static bool need(forge_builder *b, bool condition, const char *message)
{
    if (builder_is_ok(b) && !condition)
        forge_builder_fail(b, "%s", message);
    return builder_is_ok(b);
}

/* Returns true if x has a type that activations can have: f32, or f64 for reference results. */
static bool is_activation(forge_builder *b, forge_value x)
{
    return forge_value_dtype(b, x) == FORGE_F32 || forge_value_dtype(b, x) == FORGE_F64;
}

static bool has_same_dtype(forge_builder *b, forge_value x, forge_value y)
{
    return forge_value_dtype(b, x) == forge_value_dtype(b, y);
}

static bool is_i32(forge_builder *b, forge_value x)
{
    return forge_value_dtype(b, x) == FORGE_I32;
}

/* Returns x rounded to another type and converted back. */
static forge_value round_to(forge_builder *b, forge_dtype dtype, forge_value x)
{
    return forge_cast(b, forge_value_dtype(b, x), forge_cast(b, dtype, x));
}

enum linear_rounding library_linear_rounding(forge_dtype dtype)
{
    return forge_dtype_block_elements(dtype) > 1 ? LINEAR_Q8_0
           : dtype == FORGE_BF16                 ? LINEAR_BF16
                                                 : LINEAR_EXACT;
}

void library_linear(forge_builder *b, const forge_value *in, size_t count, const void *context,
                    forge_value *out)
{
    const struct composite_attributes *a = context;
    forge_shape x = forge_value_shape(b, in[0]), weight = forge_value_shape(b, in[1]);
    bool are_valid = x.rank == 2 && weight.rank == 2 && x.dims[1] == weight.dims[1] && x.dims[1] > 0 &&
                     is_activation(b, in[0]) && forge_dtype_is_float(forge_value_dtype(b, in[1]));
    forge_dtype dtype = forge_value_dtype(b, in[0]);
    are_valid = are_valid && a->numbers[0] <= LINEAR_BF16;
    if (are_valid && a->numbers[0] == LINEAR_Q8_0)
        are_valid = x.dims[1] % (int64_t)forge_dtype_block_elements(FORGE_Q8_0) == 0;
    if (!need(b, are_valid,
              "linear needs x [rows, in] in f32 or f64 and a weight [out, in] of floats; 'in' must be a "
              "multiple of "
              "32 if x is rounded to q8_0"))
        return;
    forge_value rows = in[0];
    if (a->numbers[0] != LINEAR_EXACT)
        rows = round_to(b, a->numbers[0] == LINEAR_Q8_0 ? FORGE_Q8_0 : FORGE_BF16, in[0]);
    out[0] = forge_matmul(b, rows, forge_cast(b, dtype, in[1]), FORGE_TRANSPOSE_B);
    if (count > 2)
        out[0] = forge_add(b, out[0], forge_cast(b, dtype, in[2]));
}

void library_embedding(forge_builder *b, const forge_value *in, size_t count, const void *context,
                       forge_value *out)
{
    (void)count;
    (void)context;
    forge_dtype dtype = forge_value_dtype(b, in[0]) == FORGE_F64 ? FORGE_F64 : FORGE_F32;
    if (need(b,
             forge_value_shape(b, in[0]).rank == 2 && forge_value_shape(b, in[1]).rank == 1 &&
                 is_i32(b, in[1]) && forge_dtype_is_float(forge_value_dtype(b, in[0])),
             "embedding needs a weight [count, width] of floats and ids [t] in i32"))
        out[0] = forge_gather(b, forge_cast(b, dtype, in[0]), in[1], 0);
}

/* Slices x [t, heads, ...] to the elements [first, first + count) of its dimension 2, and returns them with
 * the shape `pairs`. */
static forge_value part_of(forge_builder *b, forge_value x, int64_t first, int64_t count, forge_shape pairs)
{
    return forge_reshape(b, forge_slice_along(b, x, 2, first, first + count), pairs);
}

void library_rotary(forge_builder *b, const forge_value *in, size_t count, const void *context,
                    forge_value *out)
{
    const struct composite_attributes *a = context;
    (void)count;
    forge_shape x = forge_value_shape(b, in[0]), angle = forge_value_shape(b, in[1]),
                sine = forge_value_shape(b, in[2]);
    int64_t half = angle.rank == 2 ? angle.dims[1] : 0, d = x.rank == 3 ? x.dims[2] : 0;
    if (!need(b,
              half > 0 && 2 * half <= d && forge_shape_equal(&angle, &sine) && x.dims[0] == angle.dims[0] &&
                  is_activation(b, in[0]) && has_same_dtype(b, in[0], in[1]) &&
                  has_same_dtype(b, in[0], in[2]),
              "rotary needs x [t, heads, d], and cosine and sine [t, r / 2] with r <= d, in f32 or f64"))
        return;
    /* x is reshaped to rank 4, so that the two elements of a pair lie along axis 3 (adjacent pairs) or axis 2
     * (halves). */
    uint32_t axis = a->numbers[0] ? 3 : 2;
    forge_shape pairs = forge_shape_of(x.dims[0], x.dims[1], half, half), rotated = x;
    pairs.dims[axis] = 2;
    forge_shape wide = forge_shape_of(x.dims[0], 1, half, half);
    wide.dims[axis] = 1;
    forge_value turned = part_of(b, in[0], 0, 2 * half, pairs);
    forge_value first = forge_slice_along(b, turned, axis, 0, 1);
    forge_value second = forge_slice_along(b, turned, axis, 1, 2);
    forge_value c = forge_reshape(b, in[1], wide), s = forge_reshape(b, in[2], wide);
    forge_value first_c = forge_mul(b, first, c), second_s = forge_mul(b, second, s);
    forge_value first_s = forge_mul(b, first, s), second_c = forge_mul(b, second, c);
    forge_value halves[] = {forge_sub(b, first_c, second_s), forge_add(b, first_s, second_c)};
    rotated.dims[2] = 2 * half;
    forge_value parts[] = {forge_reshape(b, forge_concat(b, halves, 2, axis), rotated), FORGE_NO_VALUE};
    if (2 * half < d)
        parts[1] = forge_slice_along(b, in[0], 2, 2 * half, d);
    out[0] = 2 * half < d ? forge_concat(b, parts, 2, 2) : parts[0];
}

void library_swiglu(forge_builder *b, const forge_value *in, size_t count, const void *context,
                    forge_value *out)
{
    (void)count;
    (void)context;
    forge_shape gate = forge_value_shape(b, in[0]), up = forge_value_shape(b, in[1]);
    if (need(b, forge_shape_equal(&gate, &up) && is_activation(b, in[0]) && has_same_dtype(b, in[0], in[1]),
             "swiglu needs gate and up of one shape, in f32 or f64"))
        out[0] = forge_mul(b, forge_unary(b, FORGE_SILU, in[0]), in[1]);
}

/* --- attention over a paged cache ----------------------------------------------------------------------- */

/* Stores the rows of x in the rows `places` of the cache. Note: the whole cache is converted to floats and
 * back, which does not change the bytes of other rows, even in block formats. */
void library_cache_write(forge_builder *b, const forge_value *in, size_t count, const void *context,
                         forge_value *out)
{
    (void)count;
    (void)context;
    forge_shape cache = forge_value_shape(b, in[0]), x = forge_value_shape(b, in[1]),
                places = forge_value_shape(b, in[2]);
    forge_dtype dtype = forge_value_dtype(b, in[0]);
    if (!need(
            b,
            cache.rank == 3 && x.rank == 3 && places.rank == 1 && x.dims[0] == places.dims[0] &&
                x.dims[1] == cache.dims[1] && x.dims[2] == cache.dims[2] && is_activation(b, in[1]) &&
                is_i32(b, in[2]) && forge_dtype_is_float(dtype),
            "cache_write needs a cache [places, kv_heads, d] of floats, x [t, kv_heads, d] in f32 or f64 and "
            "places [t] in i32"))
        return;
    forge_value wide = forge_cast(b, forge_value_dtype(b, in[1]), in[0]);
    forge_value written = forge_scatter(b, wide, in[2], in[1], 0, FORGE_SCATTER_SET);
    out[0] = forge_cast(b, dtype, written);
}

enum { Q, KEYS, VALUES, TABLES, SEQUENCE, POSITION };

static bool takes_pages(forge_builder *b, const forge_value *in, const struct composite_attributes *a)
{
    forge_shape q = forge_value_shape(b, in[Q]), keys = forge_value_shape(b, in[KEYS]),
                values = forge_value_shape(b, in[VALUES]), tables = forge_value_shape(b, in[TABLES]),
                sequence = forge_value_shape(b, in[SEQUENCE]), position = forge_value_shape(b, in[POSITION]);
    bool are_valid = q.rank == 3 && keys.rank == 3 && forge_shape_equal(&keys, &values) && tables.rank == 2 &&
                     sequence.rank == 1 && forge_shape_equal(&sequence, &position);
    return need(
        b,
        are_valid && q.dims[0] == sequence.dims[0] && q.dims[2] == keys.dims[2] && keys.dims[1] > 0 &&
            q.dims[1] % keys.dims[1] == 0 && a->numbers[0] > 0 && a->reals[0] > 0 &&
            is_activation(b, in[Q]) && has_same_dtype(b, in[KEYS], in[VALUES]) &&
            forge_dtype_is_float(forge_value_dtype(b, in[KEYS])) && is_i32(b, in[TABLES]) &&
            is_i32(b, in[SEQUENCE]) && is_i32(b, in[POSITION]),
        "paged_attention needs q [t, heads, d] in f32 or f64, keys and values [places, kv_heads, d], page "
        "tables [sequences, pages], and sequence and position [t] in i32; heads must be a multiple of "
        "kv_heads");
}

/* Returns the places of all tokens of each row's sequence: [t, pages * page_size]. The type is i64, because a
 * place may exceed i32. */
static forge_value places_of(forge_builder *b, const forge_value *in, forge_dim length, int64_t page_size)
{
    forge_value pages = forge_cast(b, FORGE_I64, forge_gather(b, in[TABLES], in[SEQUENCE], 0));
    forge_shape shape = forge_value_shape(b, pages), wide = forge_shape_of(shape.dims[0], shape.dims[1], 1);
    forge_value first =
        forge_mul(b, forge_reshape(b, pages, wide), forge_scalar(b, FORGE_I64, (double)page_size));
    forge_value offset = forge_iota(b, FORGE_I64, forge_shape_of(1, 1, page_size), 2);
    return forge_reshape(b, forge_add(b, first, offset), forge_shape_of(shape.dims[0], length));
}

/* Returns the keys or values at the places. places: [t, length]; result: [t, kv_heads, length, d]. */
static forge_value cached(forge_builder *b, forge_dtype dtype, forge_value cache, forge_value places)
{
    forge_value x = forge_gather(b, forge_cast(b, dtype, cache), places, 0);
    return forge_transpose(b, x, (uint32_t[]){0, 2, 1, 3});
}

void library_paged_attention(forge_builder *b, const forge_value *in, size_t count, const void *context,
                             forge_value *out)
{
    const struct composite_attributes *a = context;
    (void)count;
    if (!takes_pages(b, in, a))
        return;
    forge_shape q = forge_value_shape(b, in[Q]), keys = forge_value_shape(b, in[KEYS]);
    int64_t page_size = a->numbers[0], groups = keys.dims[1], shared = q.dims[1] / groups;
    forge_dim t = q.dims[0], length = forge_dim_mul(b, forge_value_shape(b, in[TABLES]).dims[1], page_size);
    forge_dtype dtype = forge_value_dtype(b, in[Q]);
    forge_value places = places_of(b, in, length, page_size);
    forge_value query = forge_mul(b, in[Q], forge_scalar(b, dtype, a->reals[0]));
    query = forge_reshape(b, query, forge_shape_of(t, groups, shared, q.dims[2]));
    forge_value scores = forge_matmul(b, query, cached(b, dtype, in[KEYS], places), FORGE_TRANSPOSE_B);
    forge_value index = forge_iota(b, FORGE_I32, forge_shape_of(1, 1, 1, length), 3);
    forge_value last = forge_reshape(b, in[POSITION], forge_shape_of(t, 1, 1, 1));
    scores = forge_select(b, forge_binary(b, FORGE_LE, index, last), scores,
                          forge_scalar(b, dtype, -(double)INFINITY));
    /* Values after the row's position are replaced by 0. Their weight 0 is not enough, because 0 * NaN is
     * NaN. */
    index = forge_iota(b, FORGE_I32, forge_shape_of(1, 1, length, 1), 2);
    forge_value values = forge_select(b, forge_binary(b, FORGE_LE, index, last),
                                      cached(b, dtype, in[VALUES], places), forge_scalar(b, dtype, 0));
    forge_value y = forge_matmul(b, forge_softmax(b, scores), values, 0);
    out[0] = forge_reshape(b, y, q);
}
