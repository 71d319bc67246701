/* nn/embedding.c - what stands for a token and for a place.
 *
 * Owns tables of vectors, and rotary positions. Newcomers: of a rotary position's two conventions neither is a
 * permutation that a checkpoint would notice by its shapes: weights made for one run with the other, and give nonsense.
 */
#include <math.h>
#include "forge/nn/layer.h"

forge_value forge_embedding(forge_builder *builder, const char *name, forge_value ids, forge_dtype dtype,
                            int64_t count, int64_t width, double sd)
{
    if (!builder_goes_on(builder))
        return FORGE_NO_VALUE;
    if (!forge_dtype_is_integer(forge_value_dtype(builder, ids)) || !forge_dtype_is_float(dtype) ||
        count < 1 || width < 1) {
        forge_builder_fail(builder,
                           "embedding '%s': it takes integers, and has 1 or more vectors of 1 or more floats",
                           name);
        return FORGE_NO_VALUE;
    }
    forge_scope_push(builder, name);
    forge_value table = forge_parameter(builder, "weight", dtype, forge_shape_of(count, width),
                                        (forge_init){FORGE_INIT_NORMAL, 0, sd});
    forge_value y = forge_gather(builder, table, ids, 0);
    forge_scope_pop(builder);
    return y;
}

/* --- rotary positions ---------------------------------------------------------------------------------------- */

struct rope {
    double base;
    bool is_interleaved;
};

/* [..., t, d]: position * base^(-2 i / d) in f64, [..., t, d / 2], with a 1 where the pair's axis is. */
static forge_value angles(forge_builder *b, forge_value positions, int64_t d, const struct rope *rope)
{
    forge_shape shape = forge_value_shape(b, positions);
    forge_value i = forge_iota(b, FORGE_F64, forge_shape_of(d / 2), 0);
    i = forge_mul(b, i, forge_scalar(b, FORGE_F64, -2 * log(rope->base) / (double)d));
    shape.dims[shape.rank++] = 1;
    forge_value place = forge_reshape(b, forge_cast(b, FORGE_F64, positions), shape);
    forge_value angle = forge_mul(b, place, forge_exp(b, i));
    shape = forge_value_shape(b, angle);
    shape.dims[shape.rank++] = 1;
    if (!rope->is_interleaved) {
        shape.dims[shape.rank - 1] = shape.dims[shape.rank - 2];
        shape.dims[shape.rank - 2] = 1;
    }
    return forge_reshape(b, angle, shape);
}

/* Inputs: x, positions. Pairs are a dimension of their own for a while. */
static forge_value rope_body(forge_builder *b, const forge_value *in, size_t count, const void *context)
{
    const struct rope *rope = context;
    (void)count;
    forge_shape shape = forge_value_shape(b, in[0]), pairs = shape;
    forge_dtype dtype = forge_value_dtype(b, in[0]), wide = builder_accumulator(dtype);
    int64_t d = shape.dims[shape.rank - 1];
    uint32_t axis = rope->is_interleaved ? shape.rank : shape.rank - 1;
    pairs.rank++;
    pairs.dims[shape.rank - 1] = pairs.dims[shape.rank] = d / 2;
    pairs.dims[axis] = 2;
    forge_value x = forge_reshape(b, forge_cast(b, wide, in[0]), pairs);
    forge_value first = forge_slice_along(b, x, axis, 0, 1), second = forge_slice_along(b, x, axis, 1, 2);
    forge_value angle = angles(b, in[1], d, rope);
    forge_value c = forge_cast(b, wide, forge_unary(b, FORGE_COS, angle));
    forge_value s = forge_cast(b, wide, forge_unary(b, FORGE_SIN, angle));
    forge_value first_c = forge_mul(b, first, c), second_s = forge_mul(b, second, s);
    forge_value first_s = forge_mul(b, first, s), second_c = forge_mul(b, second, c);
    forge_value turned[] = {forge_sub(b, first_c, second_s), forge_add(b, first_s, second_c)};
    return forge_cast(b, dtype, forge_reshape(b, forge_concat(b, turned, 2, axis), shape));
}

forge_value forge_rope(forge_builder *builder, forge_value x, forge_value positions, double base,
                       bool is_interleaved)
{
    if (!builder_goes_on(builder))
        return FORGE_NO_VALUE;
    forge_shape shape = forge_value_shape(builder, x), place = forge_value_shape(builder, positions);
    int64_t d = shape.rank ? shape.dims[shape.rank - 1] : 0;
    if (shape.rank < 2 || shape.rank >= FORGE_MAX_RANK || d < 2 || d % 2 || place.rank >= shape.rank ||
        !(base > 0) || !forge_dtype_is_float(forge_value_dtype(builder, x)) ||
        !forge_dtype_is_integer(forge_value_dtype(builder, positions))) {
        forge_builder_fail(
            builder,
            "rope: it takes floats [..., t, d] of rank 2 to %d with an even d, integer positions that "
            "broadcast to all dimensions but the last, and a base above 0",
            FORGE_MAX_RANK - 1);
        return FORGE_NO_VALUE;
    }
    return forge_composite(builder, "rope", (forge_value[]){x, positions}, 2, rope_body,
                           &(struct rope){base, is_interleaved});
}
