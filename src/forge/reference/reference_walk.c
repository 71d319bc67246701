/* reference/reference_walk.c - see reference_walk.h. */
#include "forge/reference/reference_walk.h"

#include <string.h>

enum { FILL_BYTES = 4096 };

/* Adds a dimension that varies faster than all others. If it is contiguous with the last dimension, joins
 * both. */
static void add_dimension(struct walk *walk, int64_t dim, int64_t stride)
{
    uint32_t last = walk->rank - 1;
    if (dim == 1)
        return;
    if (walk->rank && walk->strides[last] == dim * stride) {
        walk->dims[last] *= dim;
        walk->strides[last] = stride;
        return;
    }
    walk->dims[walk->rank] = dim;
    walk->strides[walk->rank++] = stride;
}

struct walk walk_of(const struct view *view, const forge_shape *shape)
{
    struct walk walk = {.dtype = dtype_row(view->dtype), .data = view->data};
    uint32_t missing = shape->rank - view->shape.rank;
    for (uint32_t i = 0; i < shape->rank; i++) {
        bool is_repeated = i < missing || view->shape.dims[i - missing] == 1;
        add_dimension(&walk, shape->dims[i], is_repeated ? 0 : view->strides[i - missing]);
    }
    if (walk.rank == 0) {
        walk.rank = 1;
        walk.dims[0] = walk.strides[0] = 1;
    }
    return walk;
}

/* Returns the offset of a position. *out_run: number of elements, from this position on, with a constant
 * stride. */
static int64_t find(const struct walk *walk, size_t position, size_t *out_run)
{
    int64_t offset = walk->start, rest = (int64_t)position;
    uint32_t last = walk->rank - 1;
    for (uint32_t i = last; i > 0; i--) {
        offset += rest % walk->dims[i] * walk->strides[i];
        rest /= walk->dims[i];
    }
    *out_run = (size_t)(walk->dims[last] - (last ? (int64_t)position % walk->dims[last] : rest));
    return offset + rest * walk->strides[0];
}

int64_t walk_offset(const struct walk *walk, size_t position)
{
    size_t run;
    return find(walk, position, &run);
}

/* --- copying -------------------------------------------------------------------------------------------- */

/* With a constant size, the compiler turns memcpy into one load and one store. */
#define COPY(size)                                                                                           \
    for (size_t i = 0; i < count; i++)                                                                       \
    memcpy((char *)to + (int64_t)i * to_bytes, (const char *)from + (int64_t)i * from_bytes, (size))

/* Copies the first of `count` elements to all others, in chunks of at most FILL_BYTES, which fit into the L1
 * cache. */
static void fill(char *to, size_t size_bytes, size_t count)
{
    size_t whole = count * size_bytes;
    for (size_t done = size_bytes, some; done < whole; done += some) {
        some = done < FILL_BYTES ? done : FILL_BYTES;
        some = some < whole - done ? some : whole - done;
        memcpy(to + done, to, some);
    }
}

void elements_copy(void *to, int64_t to_step, const void *from, int64_t from_step, size_t size_bytes,
                   size_t count)
{
    int64_t to_bytes = to_step * (int64_t)size_bytes, from_bytes = from_step * (int64_t)size_bytes;
    if (to_step == 1 && from_step == 1) {
        memmove(to, from, count * size_bytes);
        return;
    }
    if (to_step == 1 && from_step == 0 && count > 0) {
        memmove(to, from, size_bytes);
        fill(to, size_bytes, count);
        return;
    }
    switch (size_bytes) {
    case 1:
        COPY(1);
        break;
    case 2:
        COPY(2);
        break;
    case 4:
        COPY(4);
        break;
    default:
        COPY(8);
    }
}

/* A line along the last dimension, and its indices in all other dimensions. line_next increments the indices,
 * because lines may be short, and divisions would take longer than the copy. */
struct line {
    int64_t at[FORGE_MAX_RANK], offset;
};

static struct line line_of(const struct walk *walk, size_t position)
{
    struct line line = {.offset = walk->start};
    int64_t rest = (int64_t)position / walk->dims[walk->rank - 1];
    for (uint32_t i = walk->rank - 1; i-- > 0; rest /= walk->dims[i]) {
        line.at[i] = i ? rest % walk->dims[i] : rest;
        line.offset += line.at[i] * walk->strides[i];
    }
    return line;
}

static void line_next(const struct walk *walk, struct line *line)
{
    for (uint32_t i = walk->rank - 1; i-- > 0;) {
        line->offset += walk->strides[i];
        if (++line->at[i] < walk->dims[i])
            return;
        line->offset -= walk->dims[i] * walk->strides[i];
        line->at[i] = 0;
    }
}

void walk_copy(const struct walk *walk, size_t first, size_t count, void *out)
{
    if (count == 0)
        return;
    size_t size_bytes = walk->dtype->block_bytes, size = (size_t)walk->dims[walk->rank - 1];
    size_t skipped = first % size;
    int64_t stride = walk->strides[walk->rank - 1];
    struct line line = line_of(walk, first);
    for (char *to = out; count > 0; line_next(walk, &line), skipped = 0) {
        size_t run = size - skipped < count ? size - skipped : count;
        int64_t from = line.offset + (int64_t)skipped * stride;
        elements_copy(to, 1, walk->data + from * (int64_t)size_bytes, stride, size_bytes, run);
        to += run * size_bytes;
        count -= run;
    }
}

const void *walk_pack(const struct walk *walk, size_t first, size_t count, void *buffer)
{
    size_t run;
    int64_t offset = find(walk, first, &run);
    if (run >= count && walk->strides[walk->rank - 1] == 1)
        return walk->data + offset * (int64_t)walk->dtype->block_bytes;
    walk_copy(walk, first, count, buffer);
    return buffer;
}

void walk_load(const struct walk *walk, size_t first, size_t count, double *out)
{
    unsigned char buffer[TILE_BYTES];
    walk->dtype->load(walk_pack(walk, first, count, buffer), 0, count, out);
}

void walk_load_bits(const struct walk *walk, size_t first, size_t count, uint64_t *out)
{
    unsigned char buffer[TILE_BYTES];
    walk->dtype->load_bits(walk_pack(walk, first, count, buffer), 0, count, out);
}

struct view view_of_axes(const struct view *view, uint32_t axes)
{
    struct view part = {.data = view->data, .dtype = view->dtype};
    for (uint32_t i = 0; i < view->shape.rank; i++)
        if (axes >> i & 1) {
            part.strides[part.shape.rank] = view->strides[i];
            part.shape.dims[part.shape.rank++] = view->shape.dims[i];
        }
    return part;
}
