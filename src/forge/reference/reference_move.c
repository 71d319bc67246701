/* reference/reference_move.c - operations that move elements without changing them, and iota.
 *
 * Reshape, transfer, broadcast, transpose and slice are one copy from a view with other shapes and strides.
 * Elements are copied as bytes.
 */
#include "forge/reference/reference.h"
#include "forge/reference/reference_walk.h"

#include <string.h>

/* Broadcasts `from` to `shape`, which has as many elements as the output. Copies the broadcast elements to
 * rows [first, end) of the output, in order. */
static void copy_rows(const struct launch *launch, const struct view *from, const forge_shape *shape,
                      size_t first, size_t end)
{
    struct walk walk = walk_of(from, shape);
    struct tile tile = tile_of_rows(launch, first, end);
    if (tile.count)
        walk_copy(&walk, tile.first, tile.end - tile.first,
                  (char *)launch->outputs[0].data + tile.first * walk.dtype->block_bytes);
}

void reference_reshape(const struct launch *launch, size_t first, size_t end)
{
    copy_rows(launch, &launch->inputs[0], &launch->inputs[0].shape, first, end);
}

void reference_transfer(const struct launch *launch, size_t first, size_t end)
{
    reference_reshape(launch, first, end);
}

void reference_stop_gradient(const struct launch *launch, size_t first, size_t end)
{
    reference_reshape(launch, first, end);
}

/* Supports only a group of one process, whose result is x. */
void reference_collective(const struct launch *launch, size_t first, size_t end)
{
    reference_reshape(launch, first, end);
}

void reference_broadcast(const struct launch *launch, size_t first, size_t end)
{
    copy_rows(launch, &launch->inputs[0], &launch->outputs[0].shape, first, end);
}

void reference_transpose(const struct launch *launch, size_t first, size_t end)
{
    const struct transpose_attributes *attributes = launch->attributes;
    const struct view *x = &launch->inputs[0];
    struct view transposed = *x;
    for (uint32_t i = 0; i < x->shape.rank; i++) {
        transposed.shape.dims[i] = x->shape.dims[attributes->order[i]];
        transposed.strides[i] = x->strides[attributes->order[i]];
    }
    copy_rows(launch, &transposed, &transposed.shape, first, end);
}

void reference_slice(const struct launch *launch, size_t first, size_t end)
{
    const struct slice_attributes *attributes = launch->attributes;
    struct view part = {.dtype = launch->inputs[0].dtype, .shape = launch->outputs[0].shape};
    int64_t offset = cut_part(&attributes->cut, &part.shape, launch->inputs[0].strides, part.strides);
    part.data = (char *)launch->inputs[0].data + offset * (int64_t)forge_dtype_block_bytes(part.dtype);
    copy_rows(launch, &part, &part.shape, first, end);
}

/* --- concat --------------------------------------------------------------------------------------------- */

/* The packed output consists of blocks. Each block contains one piece of each input. Sizes are in
 * elements. */
struct joint {
    size_t of_block; /* size of a block */
    size_t at;       /* position of this input's piece in a block */
    size_t of_piece; /* size of a piece of this input */
};

/* Copies the elements of one input whose positions in the output are in [first, end). */
static void copy_pieces(const struct walk *x, struct joint joint, char *out, size_t first, size_t end)
{
    size_t size_bytes = x->dtype->block_bytes;
    for (size_t block = first / joint.of_block; block * joint.of_block < end; block++) {
        size_t begin = block * joint.of_block + joint.at, stop = begin + joint.of_piece;
        size_t from = begin > first ? begin : first, to = stop < end ? stop : end;
        if (from < to)
            walk_copy(x, block * joint.of_piece + (from - begin), to - from, out + from * size_bytes);
    }
}

void reference_concat(const struct launch *launch, size_t first, size_t end)
{
    const struct axis_attributes *attributes = launch->attributes;
    const struct view *out = &launch->outputs[0];
    struct tile rows = tile_of_rows(launch, first, end);
    struct joint joint = {.of_block = 1};
    for (uint32_t i = attributes->axis; i < out->shape.rank; i++)
        joint.of_block *= (size_t)out->shape.dims[i];
    for (size_t i = 0; rows.count && i < launch->input_count; i++) {
        const struct view *x = &launch->inputs[i];
        struct walk walk = walk_of(x, &x->shape);
        joint.of_piece = joint.of_block / (size_t)out->shape.dims[attributes->axis] *
                         (size_t)x->shape.dims[attributes->axis];
        copy_pieces(&walk, joint, out->data, rows.first, rows.end);
        joint.at += joint.of_piece;
    }
}

/* --- padding -------------------------------------------------------------------------------------------- */

/* Returns the index along dimension k of x that is at `index` of the output; -1: padding. */
static int64_t index_in_cut(const struct cut *cut, uint32_t k, int64_t index, int64_t size)
{
    int64_t step = cut->step[k], distance = index - (step > 0 ? cut->start[k] : cut->limit[k] - 1);
    return distance % step == 0 && distance / step >= 0 && distance / step < size ? distance / step : -1;
}

/* Finds the offset, in elements, of the row of x that is in row `row` of the output. Returns false if the row
 * is padding. */
static bool find_row(const struct cut *cut, const struct view *x, const forge_shape *out, size_t row,
                     int64_t *out_offset)
{
    *out_offset = 0;
    for (uint32_t k = out->rank - 1; k-- > 0; row /= (size_t)out->dims[k]) {
        int64_t index = index_in_cut(cut, k, (int64_t)(row % (size_t)out->dims[k]), x->shape.dims[k]);
        if (index < 0)
            return false;
        *out_offset += index * x->strides[k];
    }
    return true;
}

/* x: any shape of rank 1 or more; its elements are a part (attributes->cut) of the output. */
void reference_pad(const struct launch *launch, size_t first, size_t end)
{
    const struct pad_attributes *attributes = launch->attributes;
    const struct view *x = &launch->inputs[0], *out = &launch->outputs[0];
    const struct dtype_row *dtype = dtype_row(out->dtype);
    uint32_t last = out->shape.rank - 1;
    size_t size_bytes = dtype->block_bytes, columns = (size_t)out->shape.dims[last];
    char value[8];
    dtype->store(value, 0, 1, &attributes->value);
    int64_t step = attributes->cut.step[last];
    int64_t place = step > 0 ? attributes->cut.start[last] : attributes->cut.limit[last] - 1;
    for (size_t row = first; row < end; row++) {
        char *to = (char *)out->data + row * columns * size_bytes;
        int64_t offset;
        elements_copy(to, 1, value, 0, size_bytes, columns);
        if (x->shape.dims[last] && find_row(&attributes->cut, x, &out->shape, row, &offset))
            elements_copy(to + place * (int64_t)size_bytes, step,
                          (const char *)x->data + offset * (int64_t)size_bytes, x->strides[last], size_bytes,
                          (size_t)x->shape.dims[last]);
    }
}

/* --- iota ----------------------------------------------------------------------------------------------- */

void reference_iota(const struct launch *launch, size_t first, size_t end)
{
    const struct iota_attributes *attributes = launch->attributes;
    const struct view *out = &launch->outputs[0];
    const struct dtype_row *dtype = dtype_row(out->dtype);
    size_t size = (size_t)out->shape.dims[attributes->axis], step = 1;
    for (uint32_t i = attributes->axis + 1; i < out->shape.rank; i++)
        step *= (size_t)out->shape.dims[i];
    for (struct tile tile = tile_of_rows(launch, first, end); tile.count; tile = tile_next(tile)) {
        double numbers[TILE];
        uint64_t bits[TILE];
        for (size_t i = 0; i < tile.count; i++)
            numbers[i] = (double)(bits[i] = (tile.first + i) / step % size);
        if (dtype->kind == DTYPE_FLOAT)
            dtype->store(out->data, tile.first, tile.count, numbers);
        else
            dtype->store_bits(out->data, tile.first, tile.count, bits);
    }
}
