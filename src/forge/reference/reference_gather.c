/* reference/reference_gather.c - gather and scatter: elements are read from, or written to, positions given
 * by indices.
 *
 * x and the output of a scatter: [outer, size, inner], where `size` is the axis. Gathered elements and
 * updates: [outer, count, inner]. One thread applies all updates of a line in order, so sums do not depend on
 * the number of threads. If the output is in place, lines are not copied and only updated elements are
 * accessed.
 */
#include "forge/reference/reference.h"
#include "forge/reference/reference_scatter.h"
#include "forge/reference/reference_walk.h"

#include <math.h>
#include <string.h>

/* The lines of x, and the indices into them. */
struct lines {
    struct walk indices;
    bool is_along; /* true: one index for each element; false: one for each row of `inner` elements */
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

/* Converts an index, which may be negative, to a position in its line. Returns false if the index is out of
 * range. */
static bool is_inside(const struct lines *lines, uint64_t bits, size_t *out_index)
{
    if (lines->indices.dtype->kind == DTYPE_SIGNED && bits >> 63)
        bits += lines->size; /* a result that is still negative is a very large unsigned number */
    *out_index = (size_t)bits;
    return bits < lines->size;
}

/* Finds the index for a position of the gathered elements. Returns false if the index is out of range. */
static bool find_index(const struct lines *lines, size_t position, size_t *out_index)
{
    uint64_t bits;
    size_t of_index = lines->is_along ? position : position / lines->inner % lines->count;
    walk_load_bits(&lines->indices, of_index, 1, &bits);
    return is_inside(lines, bits, out_index);
}

/* Returns the number of elements, from this position on and below `end`, to which the same index applies. */
static size_t run_of(const struct lines *lines, size_t position, size_t end)
{
    size_t rest = lines->inner - position % lines->inner;
    return lines->is_along ? 1 : rest < end - position ? rest : end - position;
}

/* Returns the position in x of the element that is gathered to `position` by `index`. */
static size_t place_of(const struct lines *lines, size_t position, size_t index)
{
    size_t outer = position / lines->inner / lines->count;
    return (outer * lines->size + index) * lines->inner + position % lines->inner;
}

/* --- gather --------------------------------------------------------------------------------------------- */

/* Inputs: x [outer, size, inner] and indices. Output: [outer, count, inner]. */
void reference_gather(const struct launch *launch, size_t first, size_t end)
{
    const struct gather_attributes *attributes = launch->attributes;
    const struct view *x = &launch->inputs[0], *out = &launch->outputs[0];
    struct lines lines = lines_of(launch, attributes->axis, attributes->is_along);
    struct walk from = walk_of(x, &x->shape);
    struct tile rows = tile_of_rows(launch, first, end);
    bool is_float = from.dtype->kind == DTYPE_FLOAT;
    double if_outside = is_float && !attributes->gives_zero ? NAN : 0;
    for (size_t at = rows.first, run; at < rows.end; at += run) {
        char *to = (char *)out->data + at * from.dtype->block_bytes;
        size_t index;
        run = run_of(&lines, at, rows.end);
        if (find_index(&lines, at, &index))
            walk_copy(&from, place_of(&lines, at, index), run, to);
        else
            for (size_t i = 0; i < run; i++)
                from.dtype->store(to, i, 1, &if_outside);
    }
}

/* --- scatter -------------------------------------------------------------------------------------------- */

forge_binary_kind scatter_binary(forge_scatter_kind kind)
{
    return kind == FORGE_SCATTER_MAX ? FORGE_MAX : kind == FORGE_SCATTER_MIN ? FORGE_MIN : FORGE_ADD;
}

static void combine(forge_scatter_kind kind, forge_dtype type, void *to, const void *updates, size_t count)
{
    double numbers[TILE], old_numbers[TILE];
    uint64_t bits[TILE], old_bits[TILE];
    const struct dtype_row *dtype = dtype_row(type);
    if (dtype->kind == DTYPE_FLOAT) {
        dtype->load(updates, 0, count, numbers);
        dtype->load(to, 0, count, old_numbers);
        for (size_t i = 0; i < count; i++)
            numbers[i] = binary_number(scatter_binary(kind), old_numbers[i], numbers[i]);
        dtype->store(to, 0, count, numbers);
        return;
    }
    dtype->load_bits(updates, 0, count, bits);
    dtype->load_bits(to, 0, count, old_bits);
    for (size_t i = 0; i < count; i++)
        bits[i] = binary_bits(scatter_binary(kind), old_bits[i], bits[i], dtype->kind == DTYPE_SIGNED);
    dtype->store_bits(to, 0, count, bits);
}

/* The updates of a scatter, and the function that combines them with elements. */
struct updating {
    forge_scatter_kind kind;
    scatter_combine_fn *combine;
    struct walk updates;
    const struct view *out;
};

static void update(const struct updating *u, size_t position, size_t at, size_t count)
{
    unsigned char buffer[TILE_BYTES];
    char *to = (char *)u->out->data + at * u->updates.dtype->block_bytes;
    if (u->kind == FORGE_SCATTER_SET) {
        walk_copy(&u->updates, position, count, to);
        return;
    }
    for (struct tile tile = tile_from(0, count); tile.count; tile = tile_next(tile))
        u->combine(u->kind, u->out->dtype, to + tile.first * u->updates.dtype->block_bytes,
                   walk_pack(&u->updates, position + tile.first, tile.count, buffer), tile.count);
}

/* Neighbouring lines with the same outer index, and inner indices in [first, end). */
struct bundle {
    size_t outer, first, end;
};

static void copy_lines(const struct lines *lines, struct bundle bundle, const struct view *x,
                       const struct view *out)
{
    struct walk from = walk_of(x, &x->shape);
    size_t at = bundle.outer * lines->size * lines->inner + bundle.first, count = bundle.end - bundle.first;
    size_t times = lines->size;
    if (count == lines->inner) { /* all lines of this outer index: contiguous */
        count *= times;
        times = 1;
    }
    for (; times > 0; times--, at += lines->inner)
        walk_copy(&from, at, count, (char *)out->data + at * from.dtype->block_bytes);
}

/* Applies updates to a bundle, with one index for each row of `inner` elements. */
static void update_rows(const struct lines *lines, struct bundle bundle, const struct updating *updating)
{
    uint64_t bits[TILE];
    size_t index, count = bundle.end - bundle.first;
    for (struct tile tile = tile_from(0, lines->count); tile.count; tile = tile_next(tile)) {
        walk_load_bits(&lines->indices, tile.first, tile.count, bits);
        for (size_t i = 0; i < tile.count; i++) {
            size_t from = (bundle.outer * lines->count + tile.first + i) * lines->inner + bundle.first;
            if (is_inside(lines, bits[i], &index))
                update(updating, from, (bundle.outer * lines->size + index) * lines->inner + bundle.first,
                       count);
        }
    }
}

/* Applies updates with one index for each element. count is at most TILE. */
static void update_elements(const struct lines *lines, const struct updating *u, size_t outer,
                            size_t position, size_t count)
{
    uint64_t bits[TILE];
    unsigned char buffer[TILE_BYTES];
    size_t size_bytes = u->updates.dtype->block_bytes, column = position % lines->inner, index;
    const char *updates = walk_pack(&u->updates, position, count, buffer);
    walk_load_bits(&lines->indices, lines->is_along ? position : position - outer * lines->count, count,
                   bits);
    for (size_t i = 0; i < count; i++, updates += size_bytes) {
        if (is_inside(lines, bits[i], &index)) {
            size_t at = (outer * lines->size + index) * lines->inner + column;
            if (u->kind == FORGE_SCATTER_SET)
                memcpy((char *)u->out->data + at * size_bytes, updates, size_bytes);
            else
                u->combine(u->kind, u->out->dtype, (char *)u->out->data + at * size_bytes, updates, 1);
        }
        column = column + 1 == lines->inner ? 0 : column + 1;
    }
}

static void update_lines(const struct lines *lines, struct bundle bundle, const struct updating *updating)
{
    if (!lines->is_along && lines->inner > 1) {
        update_rows(lines, bundle, updating);
        return;
    }
    size_t at = bundle.outer * lines->count * lines->inner + bundle.first, wide = bundle.end - bundle.first;
    size_t times = lines->count;
    if (wide == lines->inner) { /* all lines of this outer index: contiguous */
        wide *= times;
        times = 1;
    }
    for (; times > 0; times--, at += lines->inner)
        for (struct tile tile = tile_from(0, wide); tile.count; tile = tile_next(tile))
            update_elements(lines, updating, bundle.outer, at + tile.first, tile.count);
}

void scatter_lines(const struct launch *launch, size_t first, size_t end, scatter_combine_fn *own)
{
    const struct scatter_attributes *attributes = launch->attributes;
    const struct view *x = &launch->inputs[0], *updates = &launch->inputs[2], *out = &launch->outputs[0];
    struct lines lines = lines_of(launch, attributes->axis, attributes->is_along);
    struct updating updating = {(forge_scatter_kind)attributes->kind, own, walk_of(updates, &updates->shape),
                                out};
    for (size_t line = first; line < end;) {
        struct bundle bundle = {line / lines.inner, line % lines.inner, lines.inner};
        if (bundle.end - bundle.first > end - line)
            bundle.end = bundle.first + end - line;
        if (out->data != x->data)
            copy_lines(&lines, bundle, x, out);
        update_lines(&lines, bundle, &updating);
        line += bundle.end - bundle.first;
    }
}

void reference_scatter(const struct launch *launch, size_t first, size_t end)
{
    scatter_lines(launch, first, end, combine);
}
