/* support/views.c - see views.h. */
#include "support/views.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "forge/core/dtype.h"
#include "forge/reference/reference.h"

const void *view_address(const struct view *view, const forge_shape *shape, size_t position)
{
    int64_t offset = 0;
    for (uint32_t i = shape->rank; i-- > 0; position /= (size_t)shape->dims[i]) {
        uint32_t missing = shape->rank - view->shape.rank;
        if (i >= missing && view->shape.dims[i - missing] != 1)
            offset += (int64_t)(position % (size_t)shape->dims[i]) * view->strides[i - missing];
    }
    return (const char *)view->data + offset * (int64_t)forge_dtype_block_bytes(view->dtype);
}

double view_number(const struct view *view, size_t position)
{
    double number;
    dtype_row(view->dtype)->load(view_address(view, &view->shape, position), 0, 1, &number);
    return number;
}

size_t view_size_bytes(const struct view *view)
{
    return forge_dtype_size_bytes(view->dtype, forge_shape_elements(&view->shape));
}

void run_reference(enum op op, const void *attributes, const struct view *inputs, size_t input_count,
                   const struct view *outputs, size_t output_count)
{
    struct view again[4];
    struct launch launch = {op, attributes, inputs, input_count, outputs, output_count};
    size_t pieces = launch_pieces(&launch);
    reference_of(op)(&launch, 0, pieces);
    for (size_t i = 0; i < output_count; i++) {
        again[i] = outputs[i];
        again[i].data = calloc(1, view_size_bytes(&outputs[i]) + 1);
        assert_non_null(again[i].data);
    }
    launch.outputs = again;
    for (size_t end = pieces, first, piece = 1; end > 0; end = first, piece = piece % 5 + 1) {
        first = end > piece ? end - piece : 0;
        reference_of(op)(&launch, first, end);
    }
    for (size_t i = 0; i < output_count; i++) {
        assert_memory_equal(again[i].data, outputs[i].data, view_size_bytes(&outputs[i]));
        free(again[i].data);
    }
}

struct view view_of_numbers(forge_dtype dtype, void *space, size_t count, forge_shape shape, int64_t min,
                            int64_t max)
{
    struct view view = view_packed(dtype, (char *)space + count / 2 * forge_dtype_block_bytes(dtype), shape);
    for (size_t i = 0; i < count; i++) {
        double number = (double)pick(min, max);
        dtype_row(dtype)->store(space, i, 1, &number);
    }
    for (uint32_t i = 0; random_bits() % 3 == 0 && i < shape.rank; i++)
        view.strides[i] = (int64_t)(random_bits() % 61) - 30;
    return view;
}

uint64_t random_bits(void)
{
    static uint64_t random_state = 1;
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state ^ random_state >> 33) * 0xff51afd7ed558ccdu;
}

int64_t pick(int64_t min, int64_t max)
{
    return min + (int64_t)(random_bits() % (uint64_t)(max - min + 1));
}

struct view view_any_way(struct view view)
{
    int64_t stride = 1, kind = pick(0, 3);
    for (uint32_t k = 0; kind == 0 && k < view.shape.rank; k++) {
        view.strides[k] = stride;
        stride *= view.shape.dims[k];
    }
    if (kind == 1)
        view.strides[view.shape.rank - 1] = 0;
    return view;
}
