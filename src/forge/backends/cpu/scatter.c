/* backends/cpu/scatter.c - see scatter.h. */
#include "forge/backends/cpu/scatter.h"

#include "forge/backends/cpu/packed.h"

#define LINES_AT_ONCE   128
#define MIN_THREAD_WORK 16384 /* minimum work per thread, in elements, as in kernel.c */

bool scatter_takes_f32(const struct launch *launch)
{
    return launch->outputs[0].dtype == FORGE_F32;
}

bool scatter_takes_f64(const struct launch *launch)
{
    return launch->outputs[0].dtype == FORGE_F64;
}

bool scatter_takes_narrow(const struct launch *launch)
{
    return dtype_is_narrow(launch->outputs[0].dtype);
}

/* If the launch works in place, only the updates count as work. The grain is at least LINES_AT_ONCE. With
 * fewer lines per thread, threads would write to the same cache lines, because lines are neighbours in
 * memory. */
size_t scatter_pieces(const struct launch *launch, size_t *out_grain)
{
    const struct view *x = &launch->inputs[0], *updates = &launch->inputs[2];
    size_t count = launch_pieces(launch), touched = forge_shape_elements(&updates->shape);
    touched += x->data == launch->outputs[0].data ? 0 : forge_shape_elements(&x->shape);
    *out_grain = MIN_THREAD_WORK / (touched / (count ? count : 1) + 1) + 1;
    *out_grain = *out_grain < LINES_AT_ONCE ? LINES_AT_ONCE : *out_grain;
    return count;
}
