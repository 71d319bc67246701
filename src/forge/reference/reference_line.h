/* reference/reference_line.h - one line of an array along an axis, and the corresponding line of a packed
 * output.
 *
 * The shapes of the two arrays may differ only in their size along the axis. With shapes
 * [outer, size, inner], line l has the outer index l / inner and the inner index l % inner (see
 * launch_lines).
 */
#ifndef FORGE_REFERENCE_LINE_H
#define FORGE_REFERENCE_LINE_H

#include "forge/reference/reference_walk.h"

/* A line of an array x, in order or reversed, and its position in the output. */
struct line {
    struct walk walk; /* reads the line's elements in x */
    size_t count;
    size_t first; /* position of the line's first element in the output */
    int64_t step; /* distance between neighbouring elements in the output; negative if reversed */
};

/* Returns line `number` of x along the axis. is_reversed: the line runs from its last element to its first.
 * out: the packed output. */
static inline struct line line_of(const struct view *x, const struct view *out, uint32_t axis, size_t number,
                                  bool is_reversed)
{
    struct view along = view_of_axes(x, 1u << axis), heads = view_of_axes(x, ~(1u << axis));
    struct walk head = walk_of(&heads, &heads.shape);
    int64_t start = walk_offset(&head, number), size = along.shape.dims[0];
    struct line line = {.count = (size_t)size, .step = 1};
    for (uint32_t i = axis + 1; i < out->shape.rank; i++)
        line.step *= out->shape.dims[i];
    size_t inner = (size_t)line.step, out_size = (size_t)out->shape.dims[axis];
    line.first = number / inner * out_size * inner + number % inner;
    if (is_reversed && size > 0) {
        start += (size - 1) * along.strides[0];
        line.first += (out_size - 1) * inner;
        along.strides[0] = -along.strides[0];
        line.step = -line.step;
    }
    line.walk = walk_of(&along, &along.shape);
    line.walk.start = start;
    return line;
}

/* Returns the position of the line's element i in the output. */
static inline size_t line_place(const struct line *line, size_t i)
{
    return line->first + (size_t)(line->step * (int64_t)i);
}

#endif
