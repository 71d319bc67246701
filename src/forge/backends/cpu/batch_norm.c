/* backends/cpu/batch_norm.c - see batch_norm.h. */
#include "forge/backends/cpu/batch_norm.h"

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
                               .x = in[0].data,
                               .weight = in[1].data,
                               .bias = in[2].data};
}

/* Returns true if each view is packed, f32, and has the shape [channels]. x: the shape [examples, channels,
 * ...]. */
static bool are_by_channel(const struct view *views, size_t count, const forge_shape *x)
{
    forge_shape channels = forge_shape_of(x->dims[1]);
    for (size_t i = 0; i < count; i++)
        if (!view_is(&views[i], &channels))
            return false;
    return true;
}

/* Returns true if the first `own` inputs are x: [examples, channels, ...] and then own - 1 vectors:
 * [channels]. */
static bool takes_own(const struct launch *launch, size_t own)
{
    const forge_shape *x = &launch->inputs[0].shape;
    return launch->input_count >= own && x->rank >= 2 && x->rank <= FORGE_MAX_RANK &&
           view_is(&launch->inputs[0], x) && x->dims[0] > 0 && batch_norm_of(launch).run >= BATCH_NORM_RUN &&
           are_by_channel(launch->inputs + 1, own - 1, x);
}

bool batch_norm_takes_training(const struct launch *launch)
{
    return launch->input_count == 3 && launch->output_count == 3 && takes_own(launch, 3) &&
           view_is(&launch->outputs[0], &launch->inputs[0].shape) &&
           are_by_channel(launch->outputs + 1, 2, &launch->inputs[0].shape);
}

bool batch_norm_takes_running(const struct launch *launch)
{
    return launch->input_count == 5 && launch->output_count == 1 && takes_own(launch, 5) &&
           view_is(&launch->outputs[0], &launch->inputs[0].shape);
}

bool batch_norm_takes_gradient(const struct launch *launch)
{
    const struct composite_attributes *a = launch->attributes;
    return launch->input_count == 4 && a->given == 1 && a->wanted && a->wanted >> 3 == 0 &&
           takes_own(launch, 3) && view_is(&launch->inputs[3], &launch->inputs[0].shape) &&
           outputs_are_wanted(launch, FORGE_F32, 3);
}

size_t batch_norm_pieces(const struct launch *launch, size_t *out_grain)
{
    struct batch_norm b = batch_norm_of(launch);
    *out_grain = MIN_THREAD_WORK / (b.examples * b.run + 1) + 1;
    return b.channels;
}
