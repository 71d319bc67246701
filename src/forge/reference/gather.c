/* reference/gather.c - elements taken from where indices say, and put there.
 *
 * Owns gather and scatter. Both see x as lines along the axis, [outer, size, inner], and what is taken or put as
 * [outer, count, inner]. Newcomers: pieces of a scatter are lines of its output, and all that goes into a line is done by
 * one thread in order, so sums do not depend on the number of threads. Where the output lies in x's memory, the lines are
 * there already, and only what is updated is touched.
 */
#include "forge/reference/reference.h"
#include "forge/reference/walk.h"

#include <math.h>
#include <string.h>

/* x's lines, and the indices into them. */
struct lines {
    struct walk indices;
    bool is_along; /* an index for each element that is taken; else one for all of a line's neighbours */
    size_t size, count, inner;
};

static struct lines lines_of(const struct launch *launch, uint32_t axis, bool is_along)
{
    const struct view *x = &launch->inputs[0], *indices = &launch->inputs[1];
    struct lines lines = {.indices = walk_of(indices, &indices->shape),
                          .is_along = is_along,
                          .size = (size_t)x->shape.dims[axis],
                          .count = is_along ? (size_t)indices->shape.dims[axis]
                                            : forge_shape_elements(&indices->shape),
                          .inner = 1};
    for (uint32_t i = axis + 1; i < x->shape.rank; i++)
        lines.inner *= (size_t)x->shape.dims[i];
    return lines;
}

/* Where in its line the element lies that is taken to, or put from, this position; false: beyond. */
static bool find_index(const struct lines *lines, size_t position, size_t *out_index)
{
    uint64_t bits;
    size_t of_index = lines->is_along ? position : position / lines->inner % lines->count;
    walk_load_bits(&lines->indices, of_index, 1, &bits);
    if (lines->indices.dtype->kind == DTYPE_SIGNED && bits >> 63)
        bits += lines->size; /* what is still negative is very large */
    *out_index = (size_t)bits;
    return bits < lines->size;
}

/* How many elements from this position on, and below `end`, share one index. */
static size_t run_of(const struct lines *lines, size_t position, size_t end)
{
    size_t rest = lines->inner - position % lines->inner;
    return lines->is_along ? 1 : rest < end - position ? rest : end - position;
}

/* The position in x of the element with this index that belongs to a position of what is taken. */
static size_t place_of(const struct lines *lines, size_t position, size_t index)
{
    size_t outer = position / lines->inner / lines->count;
    return (outer * lines->size + index) * lines->inner + position % lines->inner;
}

/* --- gather ----------------------------------------------------------------------------------------------- */

void reference_gather(const struct launch *launch, size_t first, size_t end)
{
    const struct gather_attributes *attributes = launch->attributes;
    const struct view *x = &launch->inputs[0], *out = &launch->outputs[0];
    struct lines lines = lines_of(launch, attributes->axis, attributes->is_along);
    struct walk from = walk_of(x, &x->shape);
    struct tile rows = tile_of_rows(launch, first, end);
    bool is_float = from.dtype->kind == DTYPE_FLOAT;
    double beyond = is_float && !attributes->gives_zero ? NAN : 0;
    for (size_t at = rows.first, run; at < rows.end; at += run) {
        char *to = (char *)out->data + at * from.dtype->block_bytes;
        size_t index;
        run = run_of(&lines, at, rows.end);
        if (find_index(&lines, at, &index))
            walk_copy(&from, place_of(&lines, at, index), run, to);
        else
            for (size_t i = 0; i < run; i++)
                from.dtype->store(to, i, 1, &beyond);
    }
}

/* --- scatter ---------------------------------------------------------------------------------------------- */

static void combine(forge_binary_kind kind, const struct walk *updates, size_t position,
                    const struct view *out, size_t at, size_t count)
{
    double numbers[TILE], old_numbers[TILE];
    uint64_t bits[TILE], old_bits[TILE];
    const struct dtype_row *dtype = updates->dtype;
    if (dtype->kind == DTYPE_FLOAT) {
        walk_load(updates, position, count, numbers);
        dtype->load(out->data, at, count, old_numbers);
        for (size_t i = 0; i < count; i++)
            numbers[i] = binary_number(kind, old_numbers[i], numbers[i]);
        dtype->store(out->data, at, count, numbers);
        return;
    }
    walk_load_bits(updates, position, count, bits);
    dtype->load_bits(out->data, at, count, old_bits);
    for (size_t i = 0; i < count; i++)
        bits[i] = binary_bits(kind, old_bits[i], bits[i], dtype->kind == DTYPE_SIGNED);
    dtype->store_bits(out->data, at, count, bits);
}

static void update(forge_scatter_kind kind, const struct walk *updates, size_t position,
                   const struct view *out, size_t at, size_t count)
{
    static const forge_binary_kind kinds[FORGE_SCATTER_KINDS] = {
        [FORGE_SCATTER_ADD] = FORGE_ADD, [FORGE_SCATTER_MAX] = FORGE_MAX, [FORGE_SCATTER_MIN] = FORGE_MIN};
    if (kind == FORGE_SCATTER_SET) {
        walk_copy(updates, position, count, (char *)out->data + at * updates->dtype->block_bytes);
        return;
    }
    for (struct tile tile = tile_from(0, count); tile.count; tile = tile_next(tile))
        combine(kinds[kind], updates, position + tile.first, out, at + tile.first, tile.count);
}

/* Neighbouring lines: those of one outer index whose inner ones are in [first, end). */
struct bundle {
    size_t outer, first, end;
};

static void copy_lines(const struct lines *lines, struct bundle bundle, const struct view *x,
                       const struct view *out)
{
    struct walk from = walk_of(x, &x->shape);
    size_t at = bundle.outer * lines->size * lines->inner + bundle.first, count = bundle.end - bundle.first;
    size_t times = lines->size;
    if (count == lines->inner) { /* they are all that lies here */
        count *= times;
        times = 1;
    }
    for (; times > 0; times--, at += lines->inner)
        walk_copy(&from, at, count, (char *)out->data + at * from.dtype->block_bytes);
}

static void update_lines(const struct lines *lines, struct bundle bundle, forge_scatter_kind kind,
                         const struct view *updates, const struct view *out)
{
    struct walk from = walk_of(updates, &updates->shape);
    for (size_t i = 0; i < lines->count; i++) {
        size_t base = (bundle.outer * lines->count + i) * lines->inner, end = base + bundle.end, run, index;
        for (size_t at = base + bundle.first; at < end; at += run) {
            run = run_of(lines, at, end);
            if (find_index(lines, at, &index))
                update(kind, &from, at, out, place_of(lines, at, index), run);
        }
    }
}

void reference_scatter(const struct launch *launch, size_t first, size_t end)
{
    const struct scatter_attributes *attributes = launch->attributes;
    const struct view *x = &launch->inputs[0], *out = &launch->outputs[0];
    struct lines lines = lines_of(launch, attributes->axis, attributes->is_along);
    for (size_t line = first; line < end;) {
        struct bundle bundle = {line / lines.inner, line % lines.inner, lines.inner};
        if (bundle.end - bundle.first > end - line)
            bundle.end = bundle.first + end - line;
        if (out->data != x->data)
            copy_lines(&lines, bundle, x, out);
        update_lines(&lines, bundle, (forge_scatter_kind)attributes->kind, &launch->inputs[2], out);
        line += bundle.end - bundle.first;
    }
}
