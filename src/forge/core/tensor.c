/* core/tensor.c - creates and checks tensors.
 *
 * Note: packed strides are computed with 1 in place of a dimension of 0, so that they are positive. No
 * function uses the strides of an empty tensor.
 */
#include <forge/tensor.h>
#include "base/error.h"
#include "forge/core/dtype.h"

#include <string.h>

enum { SHAPE_TEXT_SIZE = FORGE_MAX_RANK * 21 + 2 };

/* Sets the type, shape and strides of a packed tensor, but no buffer. Computes the size of its elements in
 * bytes. Returns JOULE_INVALID if type or shape is invalid. */
static joule_status plan_packed(forge_dtype dtype, const forge_shape *shape, forge_tensor *out_tensor,
                                size_t *out_size_bytes, joule_error *out_error)
{
    char text[SHAPE_TEXT_SIZE];
    const struct dtype_row *row = dtype_row(dtype);
    if (!row)
        return error_set(out_error, JOULE_INVALID, "tensor: %d is not an element type", (int)dtype);
    if (shape->rank > FORGE_MAX_RANK)
        return error_set(out_error, JOULE_INVALID, "tensor: rank %u is above %d", shape->rank,
                         FORGE_MAX_RANK);

    forge_shape_format(shape, text, sizeof text);
    forge_tensor tensor = {.dtype = dtype, .shape.rank = shape->rank};
    int64_t stride = 1;
    for (uint32_t i = shape->rank; i-- > 0;) {
        forge_dim dim = shape->dims[i];
        tensor.shape.dims[i] = dim;
        tensor.strides[i] = stride;
        if (dim < 0)
            return error_set(out_error, JOULE_INVALID, "tensor %s%s: dimension %u is negative", row->name,
                             text, i);
        if (dim > 0 && __builtin_mul_overflow(stride, dim, &stride))
            return error_set(out_error, JOULE_INVALID, "tensor %s%s: too many elements", row->name, text);
    }
    forge_dim row_elements = shape->rank > 0 ? shape->dims[shape->rank - 1] : 1;
    if (row->block_elements > 2 && row_elements % row->block_elements != 0)
        return error_set(out_error, JOULE_INVALID,
                         "tensor %s%s: %s has blocks of %u elements; the last dimension must be a multiple",
                         row->name, text, row->name, row->block_elements);
    *out_size_bytes = forge_dtype_size_bytes(dtype, forge_shape_elements(&tensor.shape));
    if (*out_size_bytes > PTRDIFF_MAX)
        return error_set(out_error, JOULE_INVALID, "tensor %s%s: too many bytes", row->name, text);
    *out_tensor = tensor;
    return JOULE_OK;
}

joule_status forge_tensor_new(forge_dtype dtype, const forge_shape *shape, forge_tensor *out_tensor,
                              joule_error *out_error)
{
    forge_tensor tensor;
    size_t size_bytes = 0;
    if (!shape || !out_tensor)
        return error_set(out_error, JOULE_INVALID, "tensor: shape or out_tensor is NULL");
    joule_status status = plan_packed(dtype, shape, &tensor, &size_bytes, out_error);
    if (status != JOULE_OK)
        return status;
    if (forge_buffer_new(size_bytes, &tensor.buffer, NULL) != JOULE_OK) {
        char text[SHAPE_TEXT_SIZE];
        forge_shape_format(shape, text, sizeof text);
        return error_set(out_error, JOULE_NO_MEMORY,
                         "cannot allocate a tensor %s%s of %zu bytes: out of memory", forge_dtype_name(dtype),
                         text, size_bytes);
    }
    *out_tensor = tensor;
    return JOULE_OK;
}

joule_status forge_tensor_view(forge_buffer *buffer, size_t offset_bytes, forge_dtype dtype,
                               const forge_shape *shape, forge_tensor *out_tensor, joule_error *out_error)
{
    forge_tensor tensor;
    size_t size_bytes = 0;
    if (!buffer || !shape || !out_tensor)
        return error_set(out_error, JOULE_INVALID, "tensor: buffer, shape or out_tensor is NULL");
    joule_status status = plan_packed(dtype, shape, &tensor, &size_bytes, out_error);
    if (status != JOULE_OK)
        return status;
    size_t room = forge_buffer_size_bytes(buffer);
    if (offset_bytes > room || size_bytes > room - offset_bytes)
        return error_set(out_error, JOULE_INVALID,
                         "tensor: %zu bytes at offset %zu do not fit into a buffer of %zu bytes", size_bytes,
                         offset_bytes, room);
    unsigned block_bytes = dtype_row(dtype)->block_bytes;
    unsigned alignment = block_bytes & -block_bytes; /* 2 for the blocks of 34 and 18 bytes */
    if (((uintptr_t)forge_buffer_data(buffer) + offset_bytes) % alignment != 0)
        return error_set(out_error, JOULE_INVALID,
                         "tensor: offset %zu is not a multiple of the %u bytes that %s needs", offset_bytes,
                         alignment, forge_dtype_name(dtype));
    tensor.buffer = buffer;
    tensor.offset_bytes = offset_bytes;
    *out_tensor = tensor;
    return JOULE_OK;
}

void *forge_tensor_data(const forge_tensor *tensor)
{
    return (char *)forge_buffer_data(tensor->buffer) + tensor->offset_bytes;
}

size_t forge_tensor_elements(const forge_tensor *tensor)
{
    return forge_shape_elements(&tensor->shape);
}

bool forge_tensor_is_packed(const forge_tensor *tensor)
{
    int64_t stride = 1;
    if (forge_tensor_elements(tensor) == 0)
        return true;
    for (uint32_t i = tensor->shape.rank; i-- > 0; stride *= tensor->shape.dims[i])
        if (tensor->shape.dims[i] > 1 && tensor->strides[i] != stride)
            return false;
    return true;
}
