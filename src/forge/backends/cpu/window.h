/* backends/cpu/window.h - checks which operations on windows of f32, bf16 and f16 have fast kernels
 * (isa/window.inc), and prepares their planes.
 *
 * A plane is the last two dimensions (or the last dimension) of a tensor, for one index of all other
 * dimensions. Windows slide along the dimensions of a plane. A row of x is split into phases: with stride 2,
 * phase 0 contains elements 0, 2, 4, ... and phase 1 elements 1, 3, 5, ... So the elements that one tap reads
 * in all windows form a contiguous run. The phases include the padding, so a run needs no special case at its
 * ends. Runs are whole vectors; results after the last window are not stored.
 */
#ifndef FORGE_CPU_WINDOW_H
#define FORGE_CPU_WINDOW_H

#include "forge/reference/reference_slide.h"
#include "forge/reference/reference_walk.h"

enum { WINDOW_VECTOR = 16 }; /* the length of a run is a multiple of this number of elements */

/* A strided view of planes; steps are in elements. */
struct plane_view {
    const char *data;
    forge_dtype dtype;
    struct walk heads; /* the first element of each plane */
    int64_t next_row, next_column;
};

struct planes {
    struct slide rows, columns; /* map windows to elements of x */
    int64_t window_rows, window_columns;
    size_t count; /* number of planes */
    size_t run;   /* window_columns rounded up to whole vectors */
    size_t pitch; /* number of elements of a phase */
};

/* Returns the planes of x. x: the shape [..., rows, columns]; places: the shape [..., window_rows,
 * window_columns], with one element for each window. */
struct planes planes_of(const struct windows *windows, const forge_shape *x, const forge_shape *places);
/* Returns the planes of a view. rank: number of dimensions of the view, without trailing dimensions for the
 * taps of windows. */
struct plane_view plane_view_of(const struct view *view, uint32_t rank);

/* Returns the number of elements of all phases of a row together. */
static inline size_t planes_row(const struct planes *planes)
{
    return planes->pitch * (size_t)planes->columns.stride;
}
/* Returns where the run of a tap begins, as an index into the phases of a row. */
static inline size_t planes_run(const struct planes *planes, int64_t tap)
{
    int64_t at = tap * planes->columns.dilation;
    return (size_t)(at % planes->columns.stride) * planes->pitch + (size_t)(at / planes->columns.stride);
}

/* Returns the offset of a row's first element from view->data, in elements. */
static inline int64_t plane_row(const struct plane_view *view, size_t plane, int64_t row)
{
    return walk_offset(&view->heads, plane) + row * view->next_row;
}

/* Windows along the two dimensions before the last, which has `lanes` elements (isa/window_lanes.inc). */
struct window_lanes {
    struct slide rows, columns;
    int64_t window_rows, window_columns, lanes;
    double size; /* divisor of means; 0: divide by the number of elements that are not padding */
};
enum { WINDOW_LANES_TAPS = 64 }; /* maximum rows of such a window */

bool window_takes_lanes(const struct launch *launch);
struct window_lanes window_lanes_of(const struct launch *launch);
/* Returns the number of pieces. A piece is one row of windows, with all lanes. */
size_t window_lanes_pieces(const struct launch *launch, size_t *out_grain);

/* Return true if the f32 kernel (or the kernel for bf16 and f16, for *_narrow) supports the launch. */
bool window_takes(const struct launch *launch);
bool window_takes_narrow(const struct launch *launch);
bool share_takes(const struct launch *launch);
bool share_takes_narrow(const struct launch *launch);
bool fold_takes(const struct launch *launch);
bool fold_takes_narrow(const struct launch *launch);
/* Returns the number of pieces. A piece is one row of windows. *out_grain: minimum number of pieces per
 * thread. */
size_t window_pieces(const struct launch *launch, size_t *out_grain);
/* Returns the number of pieces. A piece is one plane. *out_grain: as above. */
size_t share_pieces(const struct launch *launch, size_t *out_grain);
/* Returns the number of pieces. A piece is one row of the result. *out_grain: as above. */
size_t fold_pieces(const struct launch *launch, size_t *out_grain);

#endif
