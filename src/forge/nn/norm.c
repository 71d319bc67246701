/* nn/norm.c - normalisations, as composites.
 *
 * Owns their meaning in families, and batch norm's running statistics. Newcomers: floats narrower than f32 are widened for
 * all of it and narrowed once, at the end; the running statistics stay wide.
 */
#include "forge/nn/layer.h"

static forge_dtype wide_dtype(forge_dtype dtype)
{
    return builder_accumulator(dtype);
}

static forge_value widen(forge_builder *b, forge_value x)
{
    return forge_cast(b, wide_dtype(forge_value_dtype(b, x)), x);
}

/* What a body is made for. */
struct norm {
    double epsilon;
    uint32_t axes;   /* reduced over */
    uint32_t groups; /* 0: x is taken as it is */
    bool subtracts_mean;
};

static forge_value mean_square(forge_builder *b, forge_value x, uint32_t axes, bool keeps_dims)
{
    return forge_reduce(b, FORGE_MEAN, forge_unary(b, FORGE_SQUARE, x), axes, keeps_dims);
}

/* 1 / sqrt(variance + epsilon) */
static forge_value scale_of(forge_builder *b, forge_value variance, double epsilon)
{
    forge_value least = forge_scalar(b, forge_value_dtype(b, variance), epsilon);
    return forge_unary(b, FORGE_RSQRT, forge_add(b, variance, least));
}

/* [channels] as dimension 1 of something of this rank. */
static forge_value along_channels(forge_builder *b, forge_value x, uint32_t rank)
{
    forge_shape shape = {.rank = rank};
    for (uint32_t k = 0; k < rank; k++)
        shape.dims[k] = k == 1 ? forge_value_shape(b, x).dims[0] : 1;
    return forge_reshape(b, x, shape);
}

/* --- by statistics that x has itself ------------------------------------------------------------------------ */

/* [n, channels, ...] to [n, groups, all of a group]. */
static forge_value to_groups(forge_builder *b, forge_value x, uint32_t groups)
{
    forge_shape shape = forge_value_shape(b, x);
    forge_dim rest = forge_dim_div(b, shape.dims[1], groups);
    for (uint32_t k = 2; k < shape.rank; k++)
        rest = forge_dim_mul(b, rest, shape.dims[k]);
    return forge_reshape(b, x, forge_shape_of(shape.dims[0], groups, rest));
}

/* Inputs: x, and weight and bias where there are. */
static forge_value norm_body(forge_builder *b, const forge_value *inputs, size_t count, const void *context)
{
    const struct norm *norm = context;
    forge_shape shape = forge_value_shape(b, inputs[0]);
    forge_value x = widen(b, inputs[0]);
    if (norm->groups)
        x = to_groups(b, x, norm->groups);
    if (norm->subtracts_mean)
        x = forge_sub(b, x, forge_reduce(b, FORGE_MEAN, x, norm->axes, true));
    x = forge_mul(b, x, scale_of(b, mean_square(b, x, norm->axes, true), norm->epsilon));
    x = forge_reshape(b, x, shape);
    for (size_t i = 1; i < count; i++) {
        forge_value parameter = widen(b, inputs[i]);
        if (norm->groups)
            parameter = along_channels(b, parameter, shape.rank);
        x = i == 1 ? forge_mul(b, x, parameter) : forge_add(b, x, parameter);
    }
    return forge_cast(b, forge_value_dtype(b, inputs[0]), x);
}

/* With as many of weight and bias as wanted, of this shape. */
static forge_value normalise(forge_builder *b, const char *kind, const char *name, forge_value x,
                             forge_shape shape, size_t parameters, const struct norm *norm)
{
    forge_dtype dtype = forge_value_dtype(b, x);
    forge_value inputs[3] = {x};
    forge_scope_push(b, name);
    if (parameters > 0)
        inputs[1] = forge_parameter(b, "weight", dtype, shape, LAYER_ONES);
    if (parameters > 1)
        inputs[2] = forge_parameter(b, "bias", dtype, shape, LAYER_ZEROS);
    forge_value y = forge_composite(b, kind, inputs, 1 + parameters, norm_body, norm);
    forge_scope_pop(b);
    return y;
}

static forge_value over_last(forge_builder *b, const char *kind, const char *name, forge_value x,
                             uint32_t dims, size_t parameters, struct norm norm)
{
    forge_shape shape = forge_value_shape(b, x), own = {.rank = dims};
    if (builder_goes_on(b) && (dims == 0 || dims > shape.rank))
        forge_builder_fail(b, "%s '%s': the last %u dimensions of rank %u", kind, name, dims, shape.rank);
    for (uint32_t k = 0; builder_goes_on(b) && k < dims; k++) {
        own.dims[k] = shape.dims[shape.rank - dims + k];
        norm.axes |= 1u << (shape.rank - dims + k);
        layer_takes(b, kind, name, x, 1, FORGE_MAX_RANK, shape.rank - dims + k);
    }
    return builder_goes_on(b) ? normalise(b, kind, name, x, own, parameters, &norm) : FORGE_NO_VALUE;
}

forge_value forge_layer_norm(forge_builder *builder, const char *name, forge_value x, uint32_t dims,
                             double epsilon, bool has_bias)
{
    struct norm norm = {.epsilon = epsilon, .subtracts_mean = true};
    return over_last(builder, "layer_norm", name, x, dims, has_bias ? 2 : 1, norm);
}

forge_value forge_rms_norm(forge_builder *builder, const char *name, forge_value x, uint32_t dims,
                           double epsilon)
{
    return over_last(builder, "rms_norm", name, x, dims, 1, (struct norm){.epsilon = epsilon});
}

forge_value forge_group_norm(forge_builder *builder, const char *name, forge_value x, uint32_t groups,
                             double epsilon)
{
    struct norm norm = {.epsilon = epsilon, .axes = 4, .groups = groups, .subtracts_mean = true};
    if (!layer_takes(builder, "group_norm", name, x, 2, FORGE_MAX_RANK, 1))
        return FORGE_NO_VALUE;
    forge_dim channels = forge_value_shape(builder, x).dims[1];
    if (groups == 0 || channels % groups) {
        forge_builder_fail(builder, "group_norm '%s': %lld channels do not go into %u groups", name,
                           (long long)channels, groups);
        return FORGE_NO_VALUE;
    }
    return normalise(builder, "group_norm", name, x, forge_shape_of(channels), 2, &norm);
}

forge_value forge_instance_norm(forge_builder *builder, const char *name, forge_value x, double epsilon,
                                bool has_weight)
{
    if (!layer_takes(builder, "instance_norm", name, x, 3, FORGE_MAX_RANK, 1))
        return FORGE_NO_VALUE;
    forge_dim channels = forge_value_shape(builder, x).dims[1];
    struct norm norm = {.epsilon = epsilon, .axes = 4, .groups = (uint32_t)channels, .subtracts_mean = true};
    return normalise(builder, "instance_norm", name, x, forge_shape_of(channels), has_weight ? 2 : 0, &norm);
}

/* --- by statistics of a batch ------------------------------------------------------------------------------- */

enum { X, WEIGHT, BIAS, MEAN, VARIANCE, BATCH_NORM_INPUTS };

/* (x - mean) * (scale * weight) + bias, all but x by channel. */
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

/* x, weight, bias to y, mean, variance. */
static void batch_body(forge_builder *b, const forge_value *in, size_t count, const void *context,
                       forge_value *out)
{
    const struct norm *norm = context;
    (void)count;
    forge_value x = widen(b, in[X]);
    out[1] = forge_reduce(b, FORGE_MEAN, x, norm->axes, false);
    out[2] = mean_square(b, forge_sub(b, x, along_channels(b, out[1], forge_value_shape(b, x).rank)),
                         norm->axes, false);
    out[0] = apply(b, in, out[1], out[2], norm->epsilon);
}

static forge_value running_body(forge_builder *b, const forge_value *in, size_t count, const void *context)
{
    (void)count;
    return apply(b, in, in[MEAN], in[VARIANCE], ((const struct norm *)context)->epsilon);
}

struct running {
    forge_slot mean, variance, batches;
};

static struct running running_of(forge_builder *b, forge_dtype dtype, forge_shape channels)
{
    return (struct running){layer_slot(b, "running_mean", dtype, channels, LAYER_ZEROS),
                            layer_slot(b, "running_var", dtype, channels, LAYER_ONES),
                            layer_slot(b, "num_batches_tracked", FORGE_I64, (forge_shape){0}, LAYER_ZEROS)};
}

/* n / (n - 1), where n elements of x are of one channel; n may be known only when it runs. */
static forge_value unbias(forge_builder *b, forge_value x, forge_dtype dtype)
{
    forge_shape shape = forge_value_shape(b, x);
    shape.dims[1] = 1;
    forge_value one = forge_scalar(b, dtype, 1), n;
    if (forge_shape_elements(&shape) != SIZE_MAX)
        n = forge_scalar(b, dtype, (double)forge_shape_elements(&shape));
    else
        n = forge_reduce(b, FORGE_SUM, forge_broadcast(b, one, shape), (1u << shape.rank) - 1, false);
    return forge_div(b, n, forge_sub(b, n, one));
}

static void move(forge_builder *b, forge_slot slot, forge_value to, double momentum)
{
    forge_dtype dtype = forge_value_dtype(b, to);
    forge_value old = forge_mul(b, forge_read(b, slot), forge_scalar(b, dtype, 1 - momentum));
    forge_write(b, slot, forge_add(b, old, forge_mul(b, to, forge_scalar(b, dtype, momentum))), true);
}

static forge_value train(forge_builder *b, const forge_value *in, const struct running *running,
                         double momentum, const struct norm *norm)
{
    forge_value out[3];
    forge_composite_many(b, "batch_norm_training", in, 3, batch_body, norm, out, 3);
    move(b, running->mean, out[1], momentum);
    forge_value unbiased = forge_mul(b, out[2], unbias(b, in[X], forge_value_dtype(b, out[2])));
    move(b, running->variance, unbiased, momentum);
    forge_value batches = forge_add(b, forge_read(b, running->batches), forge_scalar(b, FORGE_I64, 1));
    forge_write(b, running->batches, batches, true);
    return out[0];
}

static bool has_enough(forge_builder *b, const char *name, forge_value x)
{
    forge_shape shape = forge_value_shape(b, x);
    shape.dims[1] = 1;
    size_t count = forge_shape_elements(&shape); /* SIZE_MAX: a symbol */
    if (count < 2)
        forge_builder_fail(b, "batch_norm '%s': training needs two elements of each channel", name);
    return count >= 2;
}

forge_value forge_batch_norm(forge_builder *builder, const char *name, forge_value x, double momentum,
                             double epsilon, bool is_training)
{
    if (!layer_takes(builder, "batch_norm", name, x, 2, FORGE_MAX_RANK, 1) ||
        (is_training && !has_enough(builder, name, x)))
        return FORGE_NO_VALUE;
    forge_shape shape = forge_value_shape(builder, x), channels = forge_shape_of(shape.dims[1]);
    forge_dtype dtype = forge_value_dtype(builder, x);
    struct norm norm = {.epsilon = epsilon, .axes = ((1u << shape.rank) - 1) & ~2u};
    forge_scope_push(builder, name);
    forge_value in[BATCH_NORM_INPUTS] = {x, forge_parameter(builder, "weight", dtype, channels, LAYER_ONES),
                                         forge_parameter(builder, "bias", dtype, channels, LAYER_ZEROS)};
    struct running running = running_of(builder, wide_dtype(dtype), channels);
    forge_value y;
    if (is_training) {
        y = train(builder, in, &running, momentum, &norm);
    } else {
        in[MEAN] = forge_read(builder, running.mean);
        in[VARIANCE] = forge_read(builder, running.variance);
        y = forge_composite(builder, "batch_norm", in, BATCH_NORM_INPUTS, running_body, &norm);
    }
    forge_scope_pop(builder);
    return y;
}
