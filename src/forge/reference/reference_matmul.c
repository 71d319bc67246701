/* reference/reference_matmul.c - matrix products: a: [..., rows, depth], b: [..., depth, columns], out:
 * [..., rows, columns].
 *
 * The output is computed in panels of a few rows by a tile of columns. So a row of b is converted to doubles
 * once for several rows of a. Each element is summed from its first product to its last, so the result does
 * not depend on the division of rows among threads. Products with 0 are not skipped, so NaN and infinities
 * propagate.
 */
#include "forge/reference/reference.h"
#include "forge/reference/reference_walk.h"

#include <string.h>

enum { PANEL_ROWS = 8 }; /* uses 34 KiB of stack */

/* One operand with its transpose flag applied, as a list of matrices. A line is a row of a or of b. */
struct operand {
    struct walk matrices; /* walks over the first elements of all matrices, in the order of the output */
    struct walk line;     /* walks over line 0 of the first matrix */
    size_t length;        /* elements per line */
    int64_t next_line;    /* stride between lines, in elements */
};

static struct operand operand_of(const struct view *view, const forge_shape *out_shape, bool is_transposed)
{
    uint32_t rows = view->shape.rank - 2, columns = view->shape.rank - 1;
    struct view matrices = view_of_axes(view, (1u << rows) - 1);
    struct view line = view_of_axes(view, 1u << (is_transposed ? rows : columns));
    forge_shape leading = *out_shape;
    leading.rank -= 2;
    return (struct operand){walk_of(&matrices, &leading), walk_of(&line, &line.shape),
                            (size_t)line.shape.dims[0], view->strides[is_transposed ? columns : rows]};
}

/* Some rows and columns of one matrix of the output. */
struct panel {
    struct walk a, b;       /* first row of a, and row 0 of b */
    int64_t next_a, next_b; /* strides between lines of a and of b, in elements */
    size_t depth, row_count;
    struct tile columns;
    size_t out_first; /* position in the output of the first row's column 0 */
};

/* a: [row_count, depth]; b: [depth, columns]; sums: [row_count, columns]. */
#define MULTIPLY_PANEL(function, type, load, store)                                                          \
    static void function(const struct panel *panel, const struct view *out)                                  \
    {                                                                                                        \
        type sums[PANEL_ROWS][TILE], left[PANEL_ROWS][TILE], right[TILE];                                    \
        struct walk b = panel->b;                                                                            \
        memset(sums, 0, panel->row_count * sizeof sums[0]);                                                  \
        for (struct tile part = tile_from(0, panel->depth); part.count; part = tile_next(part)) {            \
            struct walk a = panel->a;                                                                        \
            for (size_t row = 0; row < panel->row_count; row++, a.start += panel->next_a)                    \
                load(&a, part.first, part.count, left[row]);                                                 \
            for (size_t k = 0; k < part.count; k++, b.start += panel->next_b) {                              \
                load(&b, panel->columns.first, panel->columns.count, right);                                 \
                for (size_t row = 0; row < panel->row_count; row++)                                          \
                    for (size_t i = 0; i < panel->columns.count; i++)                                        \
                        sums[row][i] += left[row][k] * right[i];                                             \
            }                                                                                                \
        }                                                                                                    \
        size_t at = panel->out_first + panel->columns.first;                                                 \
        for (size_t row = 0; row < panel->row_count; row++, at += panel->columns.end)                        \
            dtype_row(out->dtype)->store(out->data, at, panel->columns.count, sums[row]);                    \
    }

MULTIPLY_PANEL(multiply_numbers, double, walk_load, store)
MULTIPLY_PANEL(multiply_integers, uint64_t, walk_load_bits, store_bits)

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

void reference_matmul(const struct launch *launch, size_t first, size_t end)
{
    const struct matmul_attributes *attributes = launch->attributes;
    const struct view *out = &launch->outputs[0];
    const forge_dim *sizes = &out->shape.dims[out->shape.rank - 2];
    size_t rows = (size_t)sizes[0], columns = (size_t)sizes[1];
    struct operand a = operand_of(&launch->inputs[0], &out->shape, attributes->flags & FORGE_TRANSPOSE_A);
    struct operand b = operand_of(&launch->inputs[1], &out->shape, attributes->flags & FORGE_TRANSPOSE_B);
    bool is_float = a.line.dtype->kind == DTYPE_FLOAT;
    for (size_t row = first, count; row < end; row += count) {
        struct panel panel = {a.line, b.line, a.next_line, b.next_line, a.length, .out_first = row * columns};
        panel.a.start = walk_offset(&a.matrices, row / rows) + (int64_t)(row % rows) * a.next_line;
        panel.b.start = walk_offset(&b.matrices, row / rows);
        panel.row_count = count = min(PANEL_ROWS, min(end - row, rows - row % rows));
        for (panel.columns = tile_from(0, columns); panel.columns.count;
             panel.columns = tile_next(panel.columns))
            (is_float ? multiply_numbers : multiply_integers)(&panel, out);
    }
}
