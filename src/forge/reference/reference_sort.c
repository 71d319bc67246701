/* reference/reference_sort.c - sort along an axis: a heap sort of indices, with the heap in the output of
 * indices.
 *
 * x: [outer, size, inner]; both outputs: [outer, count, inner]. Equal values are ordered by their indices, so
 * the sort is stable. While x is read, the heap holds the indices of the `count` elements that come first in
 * sorted order so far. So the result equals the first `count` elements of a full sort.
 */
#include "forge/reference/reference_line.h"
#include "forge/reference/reference.h"

#include <math.h>

struct sorter {
    const struct line *line;
    bool is_float, is_descending;
    uint64_t flip;   /* after an XOR with `flip`, an unsigned comparison orders signed numbers */
    int64_t *places; /* a heap of indices: a parent comes after its children in the sorted order */
    size_t count;
};

static int64_t *place(const struct sorter *s, size_t i)
{
    return &s->places[line_place(s->line, i)];
}

/* Returns -1, 0 or 1, as x[a] comes before, with or after x[b]. NaN comes last. */
static int compare_numbers(const struct sorter *s, size_t a, size_t b)
{
    double x, y;
    walk_load(&s->line->walk, a, 1, &x);
    walk_load(&s->line->walk, b, 1, &y);
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return s->is_descending ? (x < y) - (x > y) : (x > y) - (x < y);
}

static int compare_bits(const struct sorter *s, size_t a, size_t b)
{
    uint64_t x, y;
    walk_load_bits(&s->line->walk, a, 1, &x);
    walk_load_bits(&s->line->walk, b, 1, &y);
    x ^= s->flip;
    y ^= s->flip;
    return s->is_descending ? (x < y) - (x > y) : (x > y) - (x < y);
}

static bool comes_before(const struct sorter *s, int64_t a, int64_t b)
{
    int order = (s->is_float ? compare_numbers : compare_bits)(s, (size_t)a, (size_t)b);
    return order < 0 || (order == 0 && a < b);
}

/* --- the heap ------------------------------------------------------------------------------------------- */

/* Moves the element down from entry i to its position in a heap of `count` entries. */
static void sink(const struct sorter *s, size_t i, size_t count, int64_t element)
{
    for (size_t child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && comes_before(s, *place(s, child), *place(s, child + 1)))
            child++;
        if (!comes_before(s, element, *place(s, child)))
            break;
        *place(s, i) = *place(s, child);
    }
    *place(s, i) = element;
}

static void rise(const struct sorter *s, size_t i, int64_t element)
{
    for (size_t parent; i > 0 && comes_before(s, *place(s, parent = (i - 1) / 2), element); i = parent)
        *place(s, i) = *place(s, parent);
    *place(s, i) = element;
}

static void sort_line(const struct sorter *s)
{
    for (size_t i = 0; s->count > 0 && i < s->line->count; i++)
        if (i < s->count)
            rise(s, i, (int64_t)i);
        else if (comes_before(s, (int64_t)i, *place(s, 0)))
            sink(s, 0, s->count, (int64_t)i);
    for (size_t end = s->count; end-- > 1;) {
        int64_t last = *place(s, 0), element = *place(s, end);
        sink(s, 0, end, element);
        *place(s, end) = last;
    }
}

void reference_sort(const struct launch *launch, size_t first, size_t end)
{
    const struct sort_attributes *a = launch->attributes;
    const struct view *x = &launch->inputs[0], *values = &launch->outputs[0], *indices = &launch->outputs[1];
    const struct dtype_row *dtype = dtype_row(x->dtype);
    for (size_t number = first; number < end; number++) {
        struct line line = line_of(x, values, a->axis, number, false);
        struct sorter sorter = {.line = &line,
                                .is_float = dtype->kind == DTYPE_FLOAT,
                                .is_descending = a->is_descending,
                                .flip = dtype->kind == DTYPE_SIGNED ? UINT64_C(1) << 63 : 0,
                                .places = indices->data,
                                .count = (size_t)values->shape.dims[a->axis]};
        sort_line(&sorter);
        for (size_t i = 0; i < sorter.count; i++)
            walk_copy(&line.walk, (size_t)*place(&sorter, i), 1,
                      (char *)values->data + line_place(&line, i) * dtype->block_bytes);
    }
}
