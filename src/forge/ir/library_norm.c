/* ir/library_norm.c - normalisations, as composites.
 *
 * Note: floats narrower than f32 are widened at the start and narrowed once, at the end. The mean and the
 * variance of a batch are returned in the wide type.
 */
#include "forge/ir/library.h"

/* Returns x cast to the type in which its sums are accumulated. */
static forge_value widen(forge_builder *b, forge_value x)
{
    return forge_cast(b, builder_accumulator(forge_value_dtype(b, x)), x);
}

/* Parameters of a normalisation that uses statistics of x itself. */
struct norm {
    double epsilon;
    uint32_t axes;   /* bits of the axes that are reduced */
    uint32_t groups; /* 0: x is not reshaped into groups */
    bool subtracts_mean;
};

/* Fails the builder if x is not an array of floats with at least min_rank dimensions. Returns false if the
 * builder has failed. */
static bool has_rank(forge_builder *b, const struct composite_attributes *a, forge_value x, uint32_t min_rank)
{
    uint32_t rank = forge_value_shape(b, x).rank;
    if (builder_is_ok(b) && (rank < min_rank || !forge_dtype_is_float(forge_value_dtype(b, x))))
        forge_builder_fail(b, "%s needs floats of rank %u or more", a->name, min_rank);
    return builder_is_ok(b);
}

/* Returns the mean of x^2 over `axes` (one bit per axis). keep_dims: the result has the reduced dimensions,
 * with size 1. */
static forge_value mean_square(forge_builder *b, forge_value x, uint32_t axes, bool keep_dims)
{
    return forge_reduce(b, FORGE_MEAN, forge_unary(b, FORGE_SQUARE, x), axes, keep_dims);
}

/* Returns 1 / sqrt(variance + epsilon), in the shape of `variance`. */
static forge_value scale_of(forge_builder *b, forge_value variance, double epsilon)
{
    forge_value added = forge_scalar(b, forge_value_dtype(b, variance), epsilon);
    return forge_unary(b, FORGE_RSQRT, forge_add(b, variance, added));
}

/* Returns x, [channels], reshaped to `rank` dimensions: dimension 1 has size `channels`, all others have size
 * 1. */
static forge_value along_channels(forge_builder *b, forge_value x, uint32_t rank)
{
    forge_shape shape = {.rank = rank};
    for (uint32_t k = 0; k < rank; k++)
        shape.dims[k] = k == 1 ? forge_value_shape(b, x).dims[0] : 1;
    return forge_reshape(b, x, shape);
}

/* --- normalisations with statistics of x itself --------------------------------------------------------- */

/* Returns x, [n, channels, ...], reshaped to [n, groups, elements of a group]. */
static forge_value to_groups(forge_builder *b, forge_value x, uint32_t groups)
{
    forge_shape shape = forge_value_shape(b, x);
    forge_dim rest = forge_dim_div(b, shape.dims[1], groups);
    for (uint32_t k = 2; k < shape.rank; k++)
        rest = forge_dim_mul(b, rest, shape.dims[k]);
    return forge_reshape(b, x, forge_shape_of(shape.dims[0], groups, rest));
}

/* Returns the normalised x, in x's shape and type. in: `count` values: x, and optionally weight and bias. */
static forge_value norm_body(forge_builder *b, const forge_value *in, size_t count, const struct norm *norm)
{
    forge_shape shape = forge_value_shape(b, in[0]);
    forge_value x = widen(b, in[0]);
    if (norm->groups)
        x = to_groups(b, x, norm->groups);
    if (norm->subtracts_mean)
        x = forge_sub(b, x, forge_reduce(b, FORGE_MEAN, x, norm->axes, true));
    x = forge_mul(b, x, scale_of(b, mean_square(b, x, norm->axes, true), norm->epsilon));
    x = forge_reshape(b, x, shape);
    for (size_t i = 1; i < count; i++) {
        forge_value parameter = widen(b, in[i]);
        if (norm->groups)
            parameter = along_channels(b, parameter, shape.rank);
        x = i == 1 ? forge_mul(b, x, parameter) : forge_add(b, x, parameter);
    }
    return forge_cast(b, forge_value_dtype(b, in[0]), x);
}

/* Normalises x over its last numbers[0] dimensions. Weight and bias are broadcast to x. */
static void normalise_last(forge_builder *b, const forge_value *in, size_t count,
                           const struct composite_attributes *a, bool subtracts_mean, forge_value *out)
{
    uint32_t rank = forge_value_shape(b, in[0]).rank, dims = a->numbers[0];
    if (builder_is_ok(b) && (dims == 0 || dims > rank))
        forge_builder_fail(b, "%s: cannot normalise the last %u dimensions of rank %u", a->name, dims, rank);
    if (!has_rank(b, a, in[0], 1))
        return;
    struct norm norm = {a->reals[0], ((1u << dims) - 1) << (rank - dims), 0, subtracts_mean};
    *out = norm_body(b, in, count, &norm);
}

void library_layer_norm(forge_builder *b, const forge_value *in, size_t count, const void *context,
                        forge_value *out)
{
    normalise_last(b, in, count, context, true, out);
}

void library_rms_norm(forge_builder *b, const forge_value *in, size_t count, const void *context,
                      forge_value *out)
{
    normalise_last(b, in, count, context, false, out);
}

/* Normalises x over groups of channels. x: [n, channels, ...]; weight, bias: [channels]. */
void library_group_norm(forge_builder *b, const forge_value *in, size_t count, const void *context,
                        forge_value *out)
{
    const struct composite_attributes *a = context;
    if (builder_is_ok(b) && a->numbers[0] == 0)
        forge_builder_fail(b, "%s: the number of groups is 0", a->name);
    if (has_rank(b, a, in[0], 2))
        *out = norm_body(b, in, count, &(struct norm){a->reals[0], 4, a->numbers[0], true});
}

void library_instance_norm(forge_builder *b, const forge_value *in, size_t count, const void *context,
                           forge_value *out)
{
    library_group_norm(b, in, count, context, out);
}

/* --- normalisations with statistics of the batch -------------------------------------------------------- */

enum { X, WEIGHT, BIAS, MEAN, VARIANCE };

/* Returns (x - mean) / sqrt(variance + epsilon) * weight + bias. x: [n, channels, ...]; all other values:
 * [channels]. */
static forge_value apply(forge_builder *b, const forge_value *in, forge_value mean, forge_value variance,
                         double epsilon)
{
    uint32_t rank = forge_value_shape(b, in[X]).rank;
    forge_value scale = forge_mul(b, scale_of(b, variance, epsilon), widen(b, in[WEIGHT]));
    forge_value moved = forge_sub(b, widen(b, in[X]), along_channels(b, mean, rank));
    forge_value y = forge_mul(b, moved, along_channels(b, scale, rank));
    y = forge_add(b, y, along_channels(b, widen(b, in[BIAS]), rank));
    return forge_cast(b, forge_value_dtype(b, in[X]), y);
}

/* Normalises x over the batch. x: [n, channels, ...]; weight, bias: [channels]. out: y, in x's shape; mean:
 * [channels]; variance: [channels]. */
void library_batch_norm_training(forge_builder *b, const forge_value *in, size_t count, const void *context,
                                 forge_value *out)
{
    const struct composite_attributes *a = context;
    (void)count;
    if (!has_rank(b, a, in[X], 2))
        return;
    uint32_t rank = forge_value_shape(b, in[X]).rank, axes = ((1u << rank) - 1) & ~2u;
    forge_value x = widen(b, in[X]);
    out[1] = forge_reduce(b, FORGE_MEAN, x, axes, false);
    out[2] = mean_square(b, forge_sub(b, x, along_channels(b, out[1], rank)), axes, false);
    out[0] = apply(b, in, out[1], out[2], a->reals[0]);
}

void library_batch_norm(forge_builder *b, const forge_value *in, size_t count, const void *context,
                        forge_value *out)
{
    const struct composite_attributes *a = context;
    (void)count;
    if (has_rank(b, a, in[X], 2))
        out[0] = apply(b, in, in[MEAN], in[VARIANCE], a->reals[0]);
}
