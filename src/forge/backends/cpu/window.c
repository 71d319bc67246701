/* backends/cpu/window.c - see window.h. */
#include "forge/backends/cpu/window.h"

#include "forge/backends/cpu/kernel.h"
#include "forge/backends/cpu/packed.h"
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
                               .dtype = view->dtype,
                               .heads = walk_of(&heads, &heads.shape),
                               .next_row = rank > 1 ? view->strides[rank - 2] : 0,
                               .next_column = view->strides[rank - 1]};
}

/* Returns true if the windows slide along the last two dimensions only, and the rows that the kernel needs
 * fit into the scratch memory. The kernel needs one row for each row of a window, more_rows further rows, and
 * more_elements elements of the result. */
static bool takes(const struct windows *windows, const forge_shape *x, const forge_shape *places,
                  size_t more_rows, size_t more_elements)
{
    const size_t room = KERNEL_SCRATCH_BYTES / sizeof(float);
    if (windows->axes & ((1u << x->rank) - 1) >> 2 || more_elements > room)
        return false;
    struct planes p = planes_of(windows, x, places);
    size_t rows = (size_t)p.rows.taps + more_rows;
    return planes_row(&p) + 4 * WINDOW_VECTOR <= (room - more_elements) / rows;
}

static bool is_f32(const struct launch *launch)
{
    return launch->inputs[0].dtype == FORGE_F32;
}

static bool is_narrow(const struct launch *launch)
{
    return dtype_is_narrow(launch->inputs[0].dtype);
}

static bool takes_window(const struct launch *launch)
{
    const struct window_attributes *a = launch->attributes;
    return takes(&a->windows, &launch->inputs[0].shape, &launch->outputs[0].shape, 4, 0);
}

bool window_takes(const struct launch *launch)
{
    return is_f32(launch) && takes_window(launch);
}

bool window_takes_narrow(const struct launch *launch)
{
    return is_narrow(launch) && takes_window(launch);
}

bool window_takes_lanes(const struct launch *launch)
{
    const struct window_attributes *a = launch->attributes;
    const struct view *x = &launch->inputs[0];
    uint32_t rank = x->shape.rank;
    return is_f32(launch) && rank >= 3 && a->windows.axes == 3u << (rank - 3) && view_is_packed(x) &&
           a->windows.size[rank - 3] <= WINDOW_LANES_TAPS;
}

struct window_lanes window_lanes_of(const struct launch *launch)
{
    const struct window_attributes *a = launch->attributes;
    const forge_shape *x = &launch->inputs[0].shape, *out = &launch->outputs[0].shape;
    uint32_t row = x->rank - 3;
    struct window_lanes w = {.rows = slide_of(&a->windows, row, x->dims[row]),
                             .columns = slide_of(&a->windows, row + 1, x->dims[row + 1]),
                             .window_rows = out->dims[row],
                             .window_columns = out->dims[row + 1],
                             .lanes = x->dims[row + 2]};
    w.size = a->count_padding ? (double)(w.rows.taps * w.columns.taps) : 0;
    return w;
}

/* Returns the number of elements of the last `dims` dimensions, or of all if there are fewer. */
static size_t last_elements(const forge_shape *shape, uint32_t dims)
{
    forge_shape last = shape_from(shape, shape->rank > dims ? shape->rank - dims : 0);
    return forge_shape_elements(&last);
}

static bool takes_share(const struct launch *launch, size_t more_elements)
{
    const struct share_attributes *a = launch->attributes;
    return takes(&a->windows, &launch->inputs[0].shape, &launch->inputs[1].shape, 5, more_elements);
}

bool share_takes(const struct launch *launch)
{
    return is_f32(launch) && takes_share(launch, 0);
}

bool share_takes_narrow(const struct launch *launch)
{
    return is_narrow(launch) && takes_share(launch, last_elements(&launch->inputs[0].shape, 2));
}

static bool takes_fold(const struct launch *launch, size_t more_elements)
{
    const struct fold_attributes *a = launch->attributes;
    return takes(&a->windows, &launch->outputs[0].shape, &launch->inputs[0].shape, 2, more_elements);
}

bool fold_takes(const struct launch *launch)
{
    return is_f32(launch) && takes_fold(launch, 0);
}

bool fold_takes_narrow(const struct launch *launch)
{
    return is_narrow(launch) && takes_fold(launch, last_elements(&launch->outputs[0].shape, 1));
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

size_t window_lanes_pieces(const struct launch *launch, size_t *out_grain)
{
    const forge_shape *out = &launch->outputs[0].shape;
    size_t rows = 1;
    for (uint32_t i = 0; i + 2 < out->rank; i++)
        rows *= (size_t)out->dims[i];
    rows = forge_shape_elements(out) ? rows : 0;
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
