/* reference/reference_walk.h - reads the elements of a view, broadcast to a shape, in packed order and tile
 * by tile.
 *
 * Types whose elements have no addresses, such as block formats, are not supported.
 * Note: a position is the row-major index of an element in the walk's shape, not an offset in the view's
 * memory. A tile may begin and end in the middle of a row.
 */
#ifndef FORGE_REFERENCE_WALK_H
#define FORGE_REFERENCE_WALK_H

#include "forge/core/dtype.h"
#include "forge/ir/launch.h"

/* A tile consists of whole blocks of every type. No element of a computed type has more than 8 bytes. */
enum { TILE = 256, TILE_BYTES = TILE * 8 };

/* --- the output ----------------------------------------------------------------------------------------- */

/* Elements [first, first + count) of a packed output. The last tile ends at `end`. */
struct tile {
    size_t first, count, end;
};

static inline struct tile tile_from(size_t first, size_t end)
{
    size_t rest = end > first ? end - first : 0;
    return (struct tile){first, rest < TILE ? rest : TILE, end};
}

/* Returns the first tile of rows [first, end). Its count is 0 if the rows have no elements. */
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

/* A view whose elements are read in the packed order of a shape. */
struct walk {
    const struct dtype_row *dtype;
    const char *data;
    int64_t start;                   /* offset of position 0 from data, in elements */
    uint32_t rank;                   /* number of joined dimensions, at least 1 */
    int64_t dims[FORGE_MAX_RANK];    /* dimensions of the shape; contiguous neighbours are joined into one */
    int64_t strides[FORGE_MAX_RANK]; /* in elements */
};

/* Returns a walk over `view`, broadcast to `shape`. */
struct walk walk_of(const struct view *view, const forge_shape *shape);
/* Returns the offset of the element at a position from `data`, in elements. */
int64_t walk_offset(const struct walk *walk, size_t position);

/* Copies `count` elements of size_bytes (1, 2, 4 or 8) each. Steps are in elements. from_step 0: copies the
 * same element `count` times. */
void elements_copy(void *to, int64_t to_step, const void *from, int64_t from_step, size_t size_bytes,
                   size_t count);
/* Copies the elements at positions [first, first + count) to `out`, packed. `out` may be the address of these
 * elements. */
void walk_copy(const struct walk *walk, size_t first, size_t count, void *out);
/* Returns the address of the elements at positions [first, first + count), packed. If the elements are
 * contiguous in the view, this is their address in the view. Otherwise copies them to `buffer` and returns
 * `buffer`. */
const void *walk_pack(const struct walk *walk, size_t first, size_t count, void *buffer);
/* Loads the elements at positions [first, first + count) as doubles. count is at most TILE. */
void walk_load(const struct walk *walk, size_t first, size_t count, double *out);
/* Like walk_load, but loads bool or integers as 64-bit integers (see dtype_row.load_bits). */
void walk_load_bits(const struct walk *walk, size_t first, size_t count, uint64_t *out);

/* --- views ---------------------------------------------------------------------------------------------- */

/* Returns the part of a view in which all dimensions without a bit in `axes` have index 0. The result has
 * only the dimensions in `axes`, in order. */
struct view view_of_axes(const struct view *view, uint32_t axes);

#endif
