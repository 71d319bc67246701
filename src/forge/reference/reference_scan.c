/* reference/reference_scan.c - scans: cumulative sums, products and extremes along an axis.
 *
 * x and the output: [outer, size, inner]. A piece is one line. A reversed line has a negative stride, so the
 * loops need no other special case.
 */
#include "forge/reference/reference_line.h"
#include "forge/reference/reference.h"
#include "forge/reference/compensated_sum.h"

#include <math.h>

static forge_binary_kind combines_by(forge_reduce_kind kind)
{
    return kind == FORGE_SUM       ? FORGE_ADD
           : kind == FORGE_PRODUCT ? FORGE_MUL
           : kind == FORGE_MAXIMUM ? FORGE_MAX
                                   : FORGE_MIN;
}

/* --- floats --------------------------------------------------------------------------------------------- */

static void take_number(struct sum *sum, forge_reduce_kind kind, double x)
{
    if (kind == FORGE_SUM)
        sum_add(sum, x);
    else
        sum->value = binary_number(combines_by(kind), sum->value, x);
}

static void scan_numbers(const struct scan_attributes *a, const struct line *line, const struct view *out)
{
    const forge_reduce_kind kind = (forge_reduce_kind)a->kind;
    struct sum sum = {kind == FORGE_SUM       ? 0
                      : kind == FORGE_PRODUCT ? 1
                      : kind == FORGE_MAXIMUM ? -INFINITY
                                              : INFINITY,
                      0};
    bool is_exclusive = a->flags & FORGE_SCAN_EXCLUSIVE;
    for (struct tile tile = tile_from(0, line->count); tile.count; tile = tile_next(tile)) {
        double values[TILE];
        walk_load(&line->walk, tile.first, tile.count, values);
        for (size_t i = 0; i < tile.count; i++) {
            double before = sum_total(&sum);
            take_number(&sum, kind, values[i]);
            values[i] = is_exclusive ? before : sum_total(&sum);
            dtype_row(out->dtype)->store(out->data, line_place(line, tile.first + i), 1, &values[i]);
        }
    }
}

/* --- integers ------------------------------------------------------------------------------------------- */

/* Returns the neutral element of the kind for this type, for example 1 for products. */
static uint64_t neutral_bits(forge_reduce_kind kind, const struct dtype_row *dtype)
{
    bool is_signed = dtype->kind == DTYPE_SIGNED;
    uint64_t min = is_signed ? UINT64_MAX << (dtype->bits - 1) : 0;
    uint64_t max = is_signed ? ~min : UINT64_MAX >> (64 - dtype->bits);
    return kind == FORGE_SUM ? 0 : kind == FORGE_PRODUCT ? 1 : kind == FORGE_MAXIMUM ? min : max;
}

static void scan_integers(const struct scan_attributes *a, const struct line *line, const struct view *out)
{
    const struct dtype_row *dtype = dtype_row(out->dtype);
    forge_binary_kind by = combines_by((forge_reduce_kind)a->kind);
    uint64_t so_far = neutral_bits((forge_reduce_kind)a->kind, dtype);
    bool is_exclusive = a->flags & FORGE_SCAN_EXCLUSIVE;
    for (struct tile tile = tile_from(0, line->count); tile.count; tile = tile_next(tile)) {
        uint64_t values[TILE];
        walk_load_bits(&line->walk, tile.first, tile.count, values);
        for (size_t i = 0; i < tile.count; i++) {
            uint64_t before = so_far;
            so_far = binary_bits(by, so_far, values[i], dtype->kind == DTYPE_SIGNED);
            values[i] = is_exclusive ? before : so_far;
            dtype->store_bits(out->data, line_place(line, tile.first + i), 1, &values[i]);
        }
    }
}

void reference_scan(const struct launch *launch, size_t first, size_t end)
{
    const struct scan_attributes *a = launch->attributes;
    const struct view *x = &launch->inputs[0], *out = &launch->outputs[0];
    bool is_float = dtype_row(x->dtype)->kind == DTYPE_FLOAT;
    for (size_t i = first; i < end; i++) {
        struct line line = line_of(x, out, a->axis, i, a->flags & FORGE_SCAN_REVERSE);
        (is_float ? scan_numbers : scan_integers)(a, &line, out);
    }
}
