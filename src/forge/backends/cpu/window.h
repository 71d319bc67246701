/* backends/cpu/window.h - tells which f32 windows have fast kernels (isa/window.inc), and prepares their
 * planes.
 *
 * A plane is the last two dimensions (or the last one), along which windows slide, for one index of all
 * others. A row of x is split into phases: elements that are a stride apart become contiguous. So the
 * elements that all windows read through one tap form a contiguous run. The phases include the padding, so a
 * run needs no special case at its ends. Runs are whole vectors; results behind the last window are never
 * stored.
 */
#ifndef FORGE_CPU_WINDOW_H
#define FORGE_CPU_WINDOW_H

#include "forge/reference/reference_slide.h"
#include "forge/reference/reference_walk.h"

enum { WINDOW_VECTOR = 16 }; /* the length of a run is a multiple of this, in elements */

/* A strided view of planes; steps are in elements. */
struct plane_view {
    const float *data;
    struct walk heads; /* the first element of each plane */
    int64_t next_row, next_column;
};

struct planes {
    struct slide rows, columns; /* map windows to elements of x */
    int64_t window_rows, window_columns;
    size_t count; /* number of planes */
    size_t run;   /* window_columns rounded up to whole vectors */
    size_t pitch; /* elements of a phase */
};

/* Returns the planes of x: [..., rows, columns]. The shape of the windows is `places`:
 * [..., window_rows, window_columns]. */
struct planes planes_of(const struct windows *windows, const forge_shape *x, const forge_shape *places);
/* Returns the planes of a view. rank: the rank of the view without the dimensions of the taps, which are its
 * last ones. */
struct plane_view plane_view_of(const struct view *view, uint32_t rank);

/* Returns the number of elements of all phases of a row. */
static inline size_t planes_row(const struct planes *planes)
{
    return planes->pitch * (size_t)planes->columns.stride;
}
/* Returns the index in the phases where the run of a tap begins. */
static inline size_t planes_run(const struct planes *planes, int64_t tap)
{
    int64_t at = tap * planes->columns.dilation;
    return (size_t)(at % planes->columns.stride) * planes->pitch + (size_t)(at / planes->columns.stride);
}

static inline const float *plane_row(const struct plane_view *view, size_t plane, int64_t row)
{
    return view->data + walk_offset(&view->heads, plane) + row * view->next_row;
}

/* Returns true if the kernel supports the launch. */
bool window_takes(const struct launch *launch);
bool share_takes(const struct launch *launch);
bool fold_takes(const struct launch *launch);
/* Return the number of pieces. Here a piece is one row of windows. */
size_t window_pieces(const struct launch *launch, size_t *out_grain);
/* Here a piece is one plane. */
size_t share_pieces(const struct launch *launch, size_t *out_grain);
/* Here a piece is one row of the result. */
size_t fold_pieces(const struct launch *launch, size_t *out_grain);

#endif
