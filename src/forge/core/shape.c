/* core/shape.c - shapes of tensors: equality, number of elements, text.
 *
 * Note: a dimension of 0 makes the tensor empty. The product of the other dimensions must still not overflow,
 * because strides are computed from it.
 */
#include <forge/tensor.h>
#include "base/string.h"

#include <inttypes.h>
#include <string.h>

bool forge_shape_equal(const forge_shape *a, const forge_shape *b)
{
    return a->rank == b->rank && memcmp(a->dims, b->dims, sizeof a->dims) == 0;
}

size_t forge_shape_elements(const forge_shape *shape)
{
    int64_t product = 1;
    bool is_empty = false;
    if (shape->rank > FORGE_MAX_RANK)
        return SIZE_MAX;
    for (uint32_t i = 0; i < shape->rank; i++) {
        forge_dim dim = shape->dims[i];
        if (dim < 0 || (dim > 0 && __builtin_mul_overflow(product, dim, &product)))
            return SIZE_MAX;
        is_empty |= dim == 0;
    }
    return is_empty ? 0 : (size_t)product;
}

size_t forge_shape_format(const forge_shape *shape, char *out_text, size_t size)
{
    struct text text;
    text_init(&text, out_text, size);
    text_add(&text, "[");
    for (uint32_t i = 0; i < shape->rank && i < FORGE_MAX_RANK; i++)
        text_printf(&text, "%s%" PRId64, i > 0 ? "," : "", shape->dims[i]);
    text_add(&text, "]");
    return text.length;
}
