/* backends/cpu/window.h - which windows of f32 have fast kernels (isa/window.inc), and what they work on.
 *
 * Owns planes: the last two dimensions, or the last one, along which windows slide, once for each index of all others. Owns
 * also phases: a row of x whose elements that are a stride apart follow each other, so that what all windows read through one
 * tap is a run. Newcomers: a row has its padding in its phases, so that no run needs an end of its own; runs are whole
 * vectors, and what lies behind the last window is never stored.
 */
#ifndef FORGE_CPU_WINDOW_H
#define FORGE_CPU_WINDOW_H

#include "forge/reference/slide.h"
#include "forge/reference/walk.h"

enum { WINDOW_VECTOR = 16 }; /* elements: runs are multiples of it */

/* An array of planes; elements of a row may lie anywhere. */
struct plane_view {
    const float *data;
    struct walk heads; /* of each plane */
    int64_t next_row, next_column;
};

struct planes {
    struct slide rows, columns; /* from x to windows */
    int64_t window_rows, window_columns;
    size_t count;
    size_t run;   /* window_columns in whole vectors */
    size_t pitch; /* elements of a phase */
};

/* Of windows of x, which are `places`. */
struct planes planes_of(const struct windows *windows, const forge_shape *x, const forge_shape *places);
/* `rank`: of the array without the windows' own dimensions, which are at its end. */
struct plane_view plane_view_of(const struct view *view, uint32_t rank);

/* All elements of the phases of a row. */
static inline size_t planes_row(const struct planes *planes)
{
    return planes->pitch * (size_t)planes->columns.stride;
}
/* Where among these the run of this tap begins. */
static inline size_t planes_run(const struct planes *planes, int64_t tap)
{
    int64_t at = tap * planes->columns.dilation;
    return (size_t)(at % planes->columns.stride) * planes->pitch + (size_t)(at / planes->columns.stride);
}

static inline const float *plane_row(const struct plane_view *view, size_t plane, int64_t row)
{
    return view->data + walk_offset(&view->heads, plane) + row * view->next_row;
}

bool window_takes(const struct launch *launch);
bool share_takes(const struct launch *launch);
bool fold_takes(const struct launch *launch);
/* Rows of windows. */
size_t window_pieces(const struct launch *launch, size_t *out_grain);
/* Planes. */
size_t share_pieces(const struct launch *launch, size_t *out_grain);
/* Rows of the result. */
size_t fold_pieces(const struct launch *launch, size_t *out_grain);

#endif
