/* reference/reference_reduce.c - reductions: sums, means, products, extremes and their indices.
 *
 * Each reduction runs from its first element to its last, so its result does not depend on the division of
 * rows among threads. If a reduced dimension is 0 when the program runs, store_empty stores the result.
 */
#include "forge/reference/reference.h"
#include "forge/reference/compensated_sum.h"
#include "forge/reference/reference_walk.h"

#include <math.h>

/* --- floats --------------------------------------------------------------------------------------------- */

struct fold {
    struct sum sum; /* kinds other than sum and mean use only sum.value */
    size_t place;   /* index of the largest or smallest element */
};

static void keep(struct fold *fold, double x, size_t place, bool is_better)
{
    if (place == 0 || is_better || (isnan(x) && !isnan(fold->sum.value))) {
        fold->sum.value = x;
        fold->place = place;
    }
}

static void fold_number(struct fold *fold, forge_reduce_kind kind, double x, size_t place)
{
    switch (kind) {
    case FORGE_SUM:
    case FORGE_MEAN:
        sum_add(&fold->sum, x);
        break;
    case FORGE_PRODUCT:
        fold->sum.value = place == 0 ? x : fold->sum.value * x;
        break;
    case FORGE_MAXIMUM:
    case FORGE_ARGMAX:
        keep(fold, x, place, x > fold->sum.value);
        break;
    case FORGE_MINIMUM:
        keep(fold, x, place, x < fold->sum.value);
        break;
    case FORGE_REDUCE_KINDS:
        break;
    }
}

static void reduce_numbers(forge_reduce_kind kind, const struct walk *x, size_t count, const struct view *out,
                           size_t at)
{
    struct fold fold = {0};
    for (struct tile tile = tile_from(0, count); tile.count; tile = tile_next(tile)) {
        double values[TILE];
        walk_load(x, tile.first, tile.count, values);
        for (size_t i = 0; i < tile.count; i++)
            fold_number(&fold, kind, values[i], tile.first + i);
    }
    if (kind == FORGE_ARGMAX) {
        uint64_t place = fold.place;
        dtype_row(out->dtype)->store_bits(out->data, at, 1, &place);
        return;
    }
    double result = sum_total(&fold.sum);
    if (kind == FORGE_MEAN)
        result /= (double)count;
    dtype_row(out->dtype)->store(out->data, at, 1, &result);
}

/* --- integers ------------------------------------------------------------------------------------------- */

struct fold_bits {
    uint64_t value;
    size_t place;
};

static void fold_bits(struct fold_bits *fold, forge_reduce_kind kind, uint64_t x, size_t place, uint64_t flip)
{
    if (place == 0) {
        fold->value = x;
        return;
    }
    bool is_greater = (x ^ flip) > (fold->value ^ flip), is_less = (x ^ flip) < (fold->value ^ flip);
    if (kind == FORGE_SUM)
        fold->value += x;
    else if (kind == FORGE_PRODUCT)
        fold->value *= x;
    else if (kind == FORGE_MINIMUM ? is_less : is_greater)
        *fold = (struct fold_bits){x, place};
}

static void reduce_integers(forge_reduce_kind kind, const struct walk *x, size_t count,
                            const struct view *out, size_t at)
{
    /* After an XOR with `flip`, an unsigned comparison orders signed numbers. */
    uint64_t flip = x->dtype->kind == DTYPE_SIGNED ? UINT64_C(1) << 63 : 0;
    struct fold_bits fold = {0};
    for (struct tile tile = tile_from(0, count); tile.count; tile = tile_next(tile)) {
        uint64_t values[TILE];
        walk_load_bits(x, tile.first, tile.count, values);
        for (size_t i = 0; i < tile.count; i++)
            fold_bits(&fold, kind, values[i], tile.first + i, flip);
    }
    uint64_t result = kind == FORGE_ARGMAX ? fold.place : fold.value;
    dtype_row(out->dtype)->store_bits(out->data, at, 1, &result);
}

/* --- launch --------------------------------------------------------------------------------------------- */

/* Stores the result of a reduction of 0 elements. For integer types, infinities become the limits of the
 * range. */
static void store_empty(forge_reduce_kind kind, const struct view *out, size_t at)
{
    static const double nothing[FORGE_REDUCE_KINDS] = {
        [FORGE_SUM] = 0,     [FORGE_MEAN] = NAN, [FORGE_MAXIMUM] = -INFINITY, [FORGE_MINIMUM] = INFINITY,
        [FORGE_PRODUCT] = 1, [FORGE_ARGMAX] = 0,
    };
    dtype_row(out->dtype)->store(out->data, at, 1, &nothing[kind]);
}

/* x: any shape. Output: x's shape, in which the reduced dimensions are 1 or removed. */
void reference_reduce(const struct launch *launch, size_t first, size_t end)
{
    const struct reduce_attributes *attributes = launch->attributes;
    const forge_reduce_kind kind = (forge_reduce_kind)attributes->kind;
    const struct view *x = &launch->inputs[0], *out = &launch->outputs[0];
    struct view kept = view_of_axes(x, ~attributes->axes), folded = view_of_axes(x, attributes->axes);
    struct walk heads = walk_of(&kept, &kept.shape), line = walk_of(&folded, &folded.shape);
    size_t count = forge_shape_elements(&folded.shape);
    struct tile rows = tile_of_rows(launch, first, end);
    for (size_t at = rows.first; at < rows.end; at++) {
        line.start = walk_offset(&heads, at);
        if (count == 0)
            store_empty(kind, out, at);
        else
            (line.dtype->kind == DTYPE_FLOAT ? reduce_numbers : reduce_integers)(kind, &line, count, out, at);
    }
}
