/* nn/norm_layer.c - normalisation layers: their parameters, and the running statistics of batch norm.
 *
 * ir/library_norm.c defines what the normalisations compute.
 * Note: running statistics are f32 if x has a narrower type.
 */
#include "base/string.h"
#include "forge/ir/library.h"
#include "forge/nn/layer.h"

/* --- layer, RMS, group and instance norm ---------------------------------------------------------------- */

static struct composite_attributes norm_of(const char *kind, double epsilon, uint32_t number)
{
    struct composite_attributes attributes = {.reals = {epsilon}, .numbers = {number}};
    string_copy(attributes.name, sizeof attributes.name, kind);
    return attributes;
}

/* Adds a normalisation. parameters: 0 none, 1 weight, 2 weight and bias, all of shape `shape`. */
static forge_value normalise(forge_builder *b, const char *name, forge_value x, forge_shape shape,
                             size_t parameters, const struct composite_attributes *norm)
{
    forge_dtype dtype = forge_value_dtype(b, x);
    forge_value inputs[3] = {x};
    forge_scope_push(b, name);
    if (parameters > 0)
        inputs[1] = forge_parameter(b, "weight", dtype, shape, LAYER_ONES);
    if (parameters > 1)
        inputs[2] = forge_parameter(b, "bias", dtype, shape, LAYER_ZEROS);
    forge_value y = library_composite(b, norm, inputs, 1 + parameters);
    forge_scope_pop(b);
    return y;
}

static forge_value over_last(forge_builder *b, const char *kind, const char *name, forge_value x,
                             uint32_t dims, double epsilon, size_t parameters)
{
    struct composite_attributes norm = norm_of(kind, epsilon, dims);
    forge_shape shape = forge_value_shape(b, x), own = {.rank = dims};
    if (builder_is_ok(b) && (dims == 0 || dims > shape.rank))
        forge_builder_fail(b, "%s '%s': cannot normalise the last %u dimensions of rank %u", kind, name, dims,
                           shape.rank);
    for (uint32_t k = 0; builder_is_ok(b) && k < dims; k++) {
        own.dims[k] = shape.dims[shape.rank - dims + k];
        layer_takes(b, kind, name, x, 1, FORGE_MAX_RANK, shape.rank - dims + k);
    }
    return builder_is_ok(b) ? normalise(b, name, x, own, parameters, &norm) : FORGE_NO_VALUE;
}

forge_value forge_layer_norm(forge_builder *builder, const char *name, forge_value x, uint32_t dims,
                             double epsilon, bool has_bias)
{
    return over_last(builder, "layer_norm", name, x, dims, epsilon, has_bias ? 2 : 1);
}

forge_value forge_rms_norm(forge_builder *builder, const char *name, forge_value x, uint32_t dims,
                           double epsilon)
{
    return over_last(builder, "rms_norm", name, x, dims, epsilon, 1);
}

forge_value forge_group_norm(forge_builder *builder, const char *name, forge_value x, uint32_t groups,
                             double epsilon)
{
    struct composite_attributes norm = norm_of("group_norm", epsilon, groups);
    if (!layer_takes(builder, "group_norm", name, x, 2, FORGE_MAX_RANK, 1))
        return FORGE_NO_VALUE;
    forge_dim channels = forge_value_shape(builder, x).dims[1];
    if (groups == 0 || channels % groups) {
        forge_builder_fail(builder, "group_norm '%s': %lld channels are not a multiple of %u groups", name,
                           (long long)channels, groups);
        return FORGE_NO_VALUE;
    }
    return normalise(builder, name, x, forge_shape_of(channels), 2, &norm);
}

forge_value forge_instance_norm(forge_builder *builder, const char *name, forge_value x, double epsilon,
                                bool has_weight)
{
    if (!layer_takes(builder, "instance_norm", name, x, 3, FORGE_MAX_RANK, 1))
        return FORGE_NO_VALUE;
    forge_dim channels = forge_value_shape(builder, x).dims[1];
    struct composite_attributes norm = norm_of("instance_norm", epsilon, (uint32_t)channels);
    return normalise(builder, name, x, forge_shape_of(channels), has_weight ? 2 : 0, &norm);
}

/* --- batch norm ----------------------------------------------------------------------------------------- */

struct running {
    forge_slot mean, variance, batches;
};

static struct running running_of(forge_builder *b, forge_dtype dtype, forge_shape channels)
{
    return (struct running){layer_slot(b, "running_mean", dtype, channels, LAYER_ZEROS),
                            layer_slot(b, "running_var", dtype, channels, LAYER_ONES),
                            layer_slot(b, "num_batches_tracked", FORGE_I64, (forge_shape){0}, LAYER_ZEROS)};
}

/* Returns n / (n - 1), which makes a variance over n elements unbiased. n: the number of elements of each
 * channel of x; may be symbolic. */
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

/* Updates a running statistic: slot = (1 - momentum) * slot + momentum * value. */
static void update_running(forge_builder *b, forge_slot slot, forge_value value, double momentum)
{
    forge_dtype dtype = forge_value_dtype(b, value);
    forge_value old = forge_mul(b, forge_read(b, slot), forge_scalar(b, dtype, 1 - momentum));
    forge_write(b, slot, forge_add(b, old, forge_mul(b, value, forge_scalar(b, dtype, momentum))), true);
}

static forge_value train(forge_builder *b, const forge_value *in, const struct running *running,
                         double momentum, double epsilon)
{
    struct composite_attributes norm = norm_of("batch_norm_training", epsilon, 0);
    forge_value out[3];
    library_composite_many(b, &norm, in, 3, out);
    update_running(b, running->mean, out[1], momentum);
    forge_value unbiased = forge_mul(b, out[2], unbias(b, in[0], forge_value_dtype(b, out[2])));
    update_running(b, running->variance, unbiased, momentum);
    forge_value batches = forge_add(b, forge_read(b, running->batches), forge_scalar(b, FORGE_I64, 1));
    forge_write(b, running->batches, batches, true);
    return out[0];
}

static bool has_enough(forge_builder *b, const char *name, forge_value x)
{
    forge_shape shape = forge_value_shape(b, x);
    shape.dims[1] = 1;
    size_t count = forge_shape_elements(&shape); /* SIZE_MAX if a dimension is symbolic */
    if (count < 2)
        forge_builder_fail(b, "batch_norm '%s': training needs two elements of each channel", name);
    return count >= 2;
}

static forge_value batch_norm(forge_builder *builder, const char *name, forge_value x, double momentum,
                              double epsilon, forge_init weight, bool is_training)
{
    if (!layer_takes(builder, "batch_norm", name, x, 2, FORGE_MAX_RANK, 1) ||
        (is_training && !has_enough(builder, name, x)))
        return FORGE_NO_VALUE;
    forge_shape shape = forge_value_shape(builder, x), channels = forge_shape_of(shape.dims[1]);
    forge_dtype dtype = forge_value_dtype(builder, x);
    struct composite_attributes norm = norm_of("batch_norm", epsilon, 0);
    forge_scope_push(builder, name);
    forge_value in[] = {x, forge_parameter(builder, "weight", dtype, channels, weight),
                        forge_parameter(builder, "bias", dtype, channels, LAYER_ZEROS), FORGE_NO_VALUE,
                        FORGE_NO_VALUE};
    struct running running = running_of(builder, builder_accumulator(dtype), channels);
    forge_value y;
    if (is_training) {
        y = train(builder, in, &running, momentum, epsilon);
    } else {
        in[3] = forge_read(builder, running.mean);
        in[4] = forge_read(builder, running.variance);
        y = library_composite(builder, &norm, in, 5);
    }
    forge_scope_pop(builder);
    return y;
}

forge_value forge_batch_norm(forge_builder *builder, const char *name, forge_value x, double momentum,
                             double epsilon, bool is_training)
{
    return batch_norm(builder, name, x, momentum, epsilon, LAYER_ONES, is_training);
}

forge_value layer_batch_norm(forge_builder *builder, const char *name, forge_value x, forge_init weight,
                             bool is_training)
{
    return batch_norm(builder, name, x, 0.1, 1e-5, weight, is_training);
}
