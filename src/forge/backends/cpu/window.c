/* backends/cpu/window.c - see window.h. */
#include "forge/backends/cpu/window.h"

#include "forge/backends/cpu/kernel.h"
#include "forge/ir/operation_cost.h"

#define MIN_THREAD_WORK 65536 /* minimum work per thread, in FLOP */

static struct slide slide_of(const struct windows *w, uint32_t k, int64_t in)
{
    if (!(w->axes >> k & 1))
        return slide_none(in);
    return (struct slide){in, w->size[k], w->stride[k], w->dilation[k], w->before[k], false};
}

struct planes planes_of(const struct windows *windows, const forge_shape *x, const forge_shape *places)
{
    uint32_t last = x->rank - 1;
    struct planes p = {.rows = slide_none(1),
                       .columns = slide_of(windows, last, x->dims[last]),
                       .window_rows = 1,
                       .window_columns = places->dims[last],
                       .count = 1};
    if (last > 0) {
        p.rows = slide_of(windows, last - 1, x->dims[last - 1]);
        p.window_rows = places->dims[last - 1];
    }
    for (uint32_t k = 0; k + 1 < last; k++)
        p.count *= (size_t)x->dims[k];
    size_t most = (size_t)((p.columns.taps - 1) * p.columns.dilation / p.columns.stride);
    p.run = ((size_t)p.window_columns + WINDOW_VECTOR - 1) / WINDOW_VECTOR * WINDOW_VECTOR;
    p.pitch = p.run + (most + WINDOW_VECTOR - 1) / WINDOW_VECTOR * WINDOW_VECTOR;
    return p;
}

struct plane_view plane_view_of(const struct view *view, uint32_t rank)
{
    uint32_t outer = rank > 2 ? rank - 2 : 0;
    struct view heads = view_of_axes(view, (1u << outer) - 1);
    return (struct plane_view){.data = view->data,
                               .heads = walk_of(&heads, &heads.shape),
                               .next_row = rank > 1 ? view->strides[rank - 2] : 0,
                               .next_column = view->strides[rank - 1]};
}

/* Returns true if the windows slide along the last two dimensions only, and the rows that the kernel needs
 * fit into the scratch memory. The kernel needs one row for each row of a window, and more_rows further
 * rows. */
static bool takes(const struct launch *launch, const struct windows *windows, const forge_shape *x,
                  const forge_shape *places, size_t more_rows)
{
    if (launch->inputs[0].dtype != FORGE_F32 || windows->axes & ((1u << x->rank) - 1) >> 2)
        return false;
    struct planes p = planes_of(windows, x, places);
    size_t rows = (size_t)p.rows.taps + more_rows;
    return planes_row(&p) + 4 * WINDOW_VECTOR <= KERNEL_SCRATCH_BYTES / sizeof(float) / rows;
}

bool window_takes(const struct launch *launch)
{
    const struct window_attributes *a = launch->attributes;
    return takes(launch, &a->windows, &launch->inputs[0].shape, &launch->outputs[0].shape, 4);
}

bool share_takes(const struct launch *launch)
{
    const struct share_attributes *a = launch->attributes;
    return takes(launch, &a->windows, &launch->inputs[0].shape, &launch->inputs[1].shape, 5);
}

bool fold_takes(const struct launch *launch)
{
    const struct fold_attributes *a = launch->attributes;
    return takes(launch, &a->windows, &launch->outputs[0].shape, &launch->inputs[0].shape, 2);
}

/* Returns the minimum number of pieces per thread. */
static size_t grain(const struct launch *launch, size_t pieces)
{
    double of_piece = cost_of_launch(launch).flop / (double)(pieces ? pieces : 1) + 1;
    return (size_t)(MIN_THREAD_WORK / of_piece) + 1;
}

size_t window_pieces(const struct launch *launch, size_t *out_grain)
{
    size_t rows = launch_rows(launch);
    *out_grain = grain(launch, rows);
    return rows;
}

size_t fold_pieces(const struct launch *launch, size_t *out_grain)
{
    return window_pieces(launch, out_grain);
}

size_t share_pieces(const struct launch *launch, size_t *out_grain)
{
    const struct share_attributes *a = launch->attributes;
    size_t planes = forge_shape_elements(&launch->outputs[0].shape)
                        ? planes_of(&a->windows, &launch->outputs[0].shape, &launch->inputs[1].shape).count
                        : 0;
    *out_grain = grain(launch, planes);
    return planes;
}
