/* reference/reference_cast.c - conversion of elements to another type, by forge_convert.
 *
 * Note: a byte with two 4-bit elements, or a block, may contain the end of one row and the beginning of the
 * next. The call that computes the first element of a byte or block writes the whole byte or block. So two
 * threads never write the same byte.
 */
#include "forge/reference/reference.h"
#include "forge/reference/reference_walk.h"

#include <string.h>

static size_t round_up(size_t count, size_t unit)
{
    return (count + unit - 1) / unit * unit;
}

/* Returns the address of the byte or block that begins with this element. */
static char *piece(const struct view *view, size_t element)
{
    return (char *)view->data +
           element / forge_dtype_block_elements(view->dtype) * forge_dtype_block_bytes(view->dtype);
}

/* Copies a tile to `out`, packed. `from` must be packed if its elements have no addresses (4-bit types and
 * block formats). */
static void read_tile(const struct view *from, const struct walk *walk, struct tile tile, void *out)
{
    if (walk->dtype->block_elements > 1)
        memcpy(out, piece(from, tile.first), forge_dtype_size_bytes(from->dtype, tile.count));
    else
        walk_copy(walk, tile.first, tile.count, out);
}

/* x and the output have the same shape. */
void reference_cast(const struct launch *launch, size_t first, size_t end)
{
    const struct view *from = &launch->inputs[0], *to = &launch->outputs[0];
    size_t of_from = forge_dtype_block_elements(from->dtype), of_to = forge_dtype_block_elements(to->dtype);
    size_t unit = of_from > of_to ? of_from : of_to, all = forge_shape_elements(&to->shape);
    struct walk walk = walk_of(from, &to->shape);
    struct tile rows = tile_of_rows(launch, first, end);
    size_t last = round_up(rows.end, unit);
    struct tile tile = tile_from(round_up(rows.first, unit), last < all ? last : all);
    for (; tile.count; tile = tile_next(tile)) {
        /* Aligned for all element types. Elements after the end of an incomplete last block are 0. */
        _Alignas(8) char source[TILE_BYTES] = {0}, target[TILE_BYTES] = {0};
        read_tile(from, &walk, tile, source);
        forge_convert(from->dtype, source, to->dtype, target, round_up(tile.count, unit));
        memcpy(piece(to, tile.first), target, forge_dtype_size_bytes(to->dtype, tile.count));
    }
}
