/* reference/move.c - elements that only change their place, and counting.
 *
 * Owns reshape, broadcast and transpose, which are one copy from a view looked at in another way, and iota.
 * Newcomers: elements go as bytes; nothing here knows their values.
 */
#include "forge/reference/reference.h"
#include "forge/reference/walk.h"

/* `from` in the order of the output, as it is when broadcast to `shape`. */
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

void reference_broadcast(const struct launch *launch, size_t first, size_t end)
{
    copy_rows(launch, &launch->inputs[0], &launch->outputs[0].shape, first, end);
}

void reference_transpose(const struct launch *launch, size_t first, size_t end)
{
    const struct transpose_attributes *attributes = launch->attributes;
    const struct view *x = &launch->inputs[0];
    struct view turned = *x;
    for (uint32_t i = 0; i < x->shape.rank; i++) {
        turned.shape.dims[i] = x->shape.dims[attributes->order[i]];
        turned.strides[i] = x->strides[attributes->order[i]];
    }
    copy_rows(launch, &turned, &turned.shape, first, end);
}

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
