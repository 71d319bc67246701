/* reference/walk.h - the elements of a view, a tile at a time.
 *
 * Owns how the elements of any view are found in the order of a packed shape that it is broadcast to, and how a range of
 * rows is cut into tiles. It does not know operations, nor types whose elements have no address.
 * Newcomers: a position counts elements of the shape that the walk was made for, not of the view's memory; a tile may
 * begin and end in the middle of a row.
 */
#ifndef FORGE_REFERENCE_WALK_H
#define FORGE_REFERENCE_WALK_H

#include "forge/core/dtype.h"
#include "forge/ir/launch.h"

enum {
    TILE = 256,
    TILE_BYTES = TILE * 8
}; /* whole blocks of every type; no element of a computed type has more bytes */

/* --- the output ----------------------------------------------------------------------------------------- */

/* Elements [first, first + count) of a packed output, then others up to end. */
struct tile {
    size_t first, count, end;
};

static inline struct tile tile_from(size_t first, size_t end)
{
    size_t rest = end > first ? end - first : 0;
    return (struct tile){first, rest < TILE ? rest : TILE, end};
}

/* The first tile of these rows; count is 0 where they hold no elements. */
static inline struct tile tile_of_rows(const struct launch *launch, size_t first, size_t end)
{
    const forge_shape *shape = &launch->outputs[0].shape;
    size_t columns = shape->rank ? (size_t)shape->dims[shape->rank - 1] : 1;
    return tile_from(first * columns, end * columns);
}

static inline struct tile tile_next(struct tile tile)
{
    return tile_from(tile.first + tile.count, tile.end);
}

/* --- the inputs ----------------------------------------------------------------------------------------- */

struct walk {
    const struct dtype_row *dtype;
    const char *data;
    int64_t start;                   /* of position 0, in elements from data */
    uint32_t rank;                   /* 1 or more */
    int64_t dims[FORGE_MAX_RANK];    /* of the shape, those that follow each other in memory made one */
    int64_t strides[FORGE_MAX_RANK]; /* in elements */
};

/* Over `view` as it is when broadcast to `shape`. */
struct walk walk_of(const struct view *view, const forge_shape *shape);
/* Where the element at this position lies, in elements from data. */
int64_t walk_offset(const struct walk *walk, size_t position);

/* `count` elements, each so many elements after the one before; step 0: from one place to all, again and again. */
void elements_copy(void *to, int64_t to_step, const void *from, int64_t from_step, size_t size_bytes,
                   size_t count);
/* Elements [first, first + count) as they are, packed. `out` may be where they lie already. */
void walk_copy(const struct walk *walk, size_t first, size_t count, void *out);
/* The address of these elements, packed: their own where they are, else `buffer`, which has room for them. */
const void *walk_pack(const struct walk *walk, size_t first, size_t count, void *buffer);
/* As doubles. At most a tile. */
void walk_load(const struct walk *walk, size_t first, size_t count, double *out);
/* As 64-bit integers (see dtype_row.load_bits): bool and integers only. At most a tile. */
void walk_load_bits(const struct walk *walk, size_t first, size_t count, uint64_t *out);

/* --- views ---------------------------------------------------------------------------------------------- */

/* Only the dimensions whose bits are set, in their order; of the others, index 0. */
struct view view_of_axes(const struct view *view, uint32_t axes);

#endif
