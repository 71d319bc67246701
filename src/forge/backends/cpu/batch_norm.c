/* backends/cpu/batch_norm.c - see batch_norm.h. */
#include "forge/backends/cpu/batch_norm.h"

#include "forge/backends/cpu/kernel.h"
#include "forge/backends/cpu/packed.h"

#define MIN_THREAD_WORK 16384 /* minimum work per thread, in elements */

struct batch_norm batch_norm_of(const struct launch *launch)
{
    const struct composite_attributes *a = launch->attributes;
    const struct view *in = launch->inputs;
    forge_shape run = shape_from(&in[0].shape, 2);
    return (struct batch_norm){.examples = (size_t)in[0].shape.dims[0],
                               .channels = (size_t)in[0].shape.dims[1],
                               .run = forge_shape_elements(&run),
                               .epsilon = a->reals[0],
                               .x = &in[0],
                               .weight = &in[1],
                               .bias = &in[2]};
}

/* Returns true if each view is packed, is f32 or has this type, and has the shape [channels]. x: the shape
 * [examples, channels, ...]. */
static bool are_by_channel(const struct view *views, size_t count, forge_dtype dtype, const forge_shape *x)
{
    forge_shape channels = forge_shape_of(x->dims[1]);
    for (size_t i = 0; i < count; i++)
        if (!view_has_float(&views[i], dtype, &channels))
            return false;
    return true;
}

/* Returns true if the first three inputs are x: [examples, channels, ...], weight: [channels] and bias:
 * [channels]. */
static bool takes_own(const struct launch *launch, forge_dtype dtype)
{
    const forge_shape *x = &launch->inputs[0].shape;
    return launch->input_count >= 3 && x->rank >= 2 && x->rank <= FORGE_MAX_RANK &&
           view_has(&launch->inputs[0], dtype, x) && x->dims[0] > 0 &&
           batch_norm_of(launch).run >= BATCH_NORM_RUN && are_by_channel(launch->inputs + 1, 2, dtype, x);
}

/* Returns the type of the elements if they are bf16 or f16, and if the runs of x, of a gradient and of the
 * result fit into the scratch memory as f32; otherwise returns f32. */
static forge_dtype narrow_type(const struct launch *launch)
{
    const forge_shape *x = &launch->inputs[0].shape;
    if (launch->input_count < 3 || x->rank < 2 || !dtype_is_narrow(launch->inputs[0].dtype) ||
        batch_norm_of(launch).run > KERNEL_SCRATCH_BYTES / sizeof(float) / 3 - 16)
        return FORGE_F32;
    return launch->inputs[0].dtype;
}

static bool takes_training(const struct launch *launch, forge_dtype dtype)
{
    return launch->input_count == 3 && launch->output_count == 3 && takes_own(launch, dtype) &&
           view_has(&launch->outputs[0], dtype, &launch->inputs[0].shape) &&
           are_by_channel(launch->outputs + 1, 2, FORGE_F32, &launch->inputs[0].shape);
}

bool batch_norm_takes_training(const struct launch *launch)
{
    return takes_training(launch, FORGE_F32);
}

bool batch_norm_takes_training_narrow(const struct launch *launch)
{
    forge_dtype dtype = narrow_type(launch);
    return dtype != FORGE_F32 && takes_training(launch, dtype);
}

static bool takes_running(const struct launch *launch, forge_dtype dtype)
{
    return launch->input_count == 5 && launch->output_count == 1 && takes_own(launch, dtype) &&
           are_by_channel(launch->inputs + 3, 2, FORGE_F32, &launch->inputs[0].shape) &&
           view_has(&launch->outputs[0], dtype, &launch->inputs[0].shape);
}

bool batch_norm_takes_running(const struct launch *launch)
{
    return takes_running(launch, FORGE_F32);
}

bool batch_norm_takes_running_narrow(const struct launch *launch)
{
    forge_dtype dtype = narrow_type(launch);
    return dtype != FORGE_F32 && takes_running(launch, dtype);
}

static bool takes_gradient(const struct launch *launch, forge_dtype dtype)
{
    const struct composite_attributes *a = launch->attributes;
    return launch->input_count == 4 && a->given == 1 && a->wanted && a->wanted >> 3 == 0 &&
           takes_own(launch, dtype) && view_has(&launch->inputs[3], dtype, &launch->inputs[0].shape) &&
           outputs_are_wanted(launch, 3);
}

bool batch_norm_takes_gradient(const struct launch *launch)
{
    return takes_gradient(launch, FORGE_F32);
}

bool batch_norm_takes_gradient_narrow(const struct launch *launch)
{
    forge_dtype dtype = narrow_type(launch);
    return dtype != FORGE_F32 && takes_gradient(launch, dtype);
}

size_t batch_norm_pieces(const struct launch *launch, size_t *out_grain)
{
    struct batch_norm b = batch_norm_of(launch);
    *out_grain = MIN_THREAD_WORK / (b.examples * b.run + 1) + 1;
    return b.channels;
}
