/* Checks concat, slice and pad against plain indexing, on views of every kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/core/dtype.h"
#include "support/views.h"

enum { SPACE = 6000, MIDDLE = SPACE / 2 };

static unsigned char data[SPACE * 8], results[SPACE * 8];

/* Returns a view of this shape into random elements of the type. Strides may be positive, negative or 0. */
static struct view any_view(forge_dtype dtype, forge_shape shape)
{
    size_t size = forge_dtype_block_bytes(dtype);
    struct view view = view_packed(dtype, (char *)data + MIDDLE * size, shape);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = dtype == FORGE_BOOL ? random_bits() & 1 : (unsigned char)random_bits();
    for (uint32_t i = 0; random_bits() % 3 == 0 && i < shape.rank; i++)
        view.strides[i] = (int64_t)(random_bits() % 61) - 30;
    return view;
}

static forge_shape any_shape(int64_t max_size)
{
    forge_shape shape = {.rank = 1 + (uint32_t)(random_bits() % 4)};
    for (uint32_t i = 0; i < shape.rank; i++)
        shape.dims[i] = (int64_t)(random_bits() % (uint64_t)(max_size + 1));
    return shape;
}

static int64_t first_of(const struct cut *cut, uint32_t k)
{
    return cut->step[k] > 0 ? cut->start[k] : cut->limit[k] - 1;
}

/* Returns a random cut of an array of the shape `whole`. *out_part: shape of the part, counted element by
 * element. */
static struct cut any_cut(const forge_shape *whole, forge_shape *out_part)
{
    static const int64_t steps[] = {1, 1, 2, 3, -1, -2, -5};
    struct cut cut = {{0}, {0}, {0}};
    *out_part = (forge_shape){.rank = whole->rank};
    for (uint32_t k = 0; k < whole->rank; k++) {
        cut.start[k] = (int64_t)(random_bits() % (uint64_t)(whole->dims[k] + 1));
        cut.limit[k] =
            cut.start[k] + (int64_t)(random_bits() % (uint64_t)(whole->dims[k] - cut.start[k] + 1));
        cut.step[k] = steps[random_bits() % 7];
        for (int64_t i = first_of(&cut, k); i >= cut.start[k] && i < cut.limit[k]; i += cut.step[k])
            out_part->dims[k]++;
    }
    return cut;
}

/* Returns the position in the whole array of the element at `position` in the part. */
static size_t place_of(const struct cut *cut, const forge_shape *whole, const forge_shape *part,
                       size_t position)
{
    int64_t place = 0, stride = 1;
    for (uint32_t k = part->rank; k-- > 0; position /= (size_t)part->dims[k]) {
        place += (first_of(cut, k) + (int64_t)(position % (size_t)part->dims[k]) * cut->step[k]) * stride;
        stride *= whole->dims[k];
    }
    return (size_t)place;
}

static void test_random_slices_equal_the_definition(void **state)
{
    (void)state;
    for (int round = 0; round < 1500; round++) {
        forge_dtype dtype = (forge_dtype)(FORGE_BOOL + random_bits() % 13);
        struct view x = any_view(dtype, any_shape(6));
        struct view out = view_packed(dtype, results, x.shape);
        struct slice_attributes attributes = {any_cut(&x.shape, &out.shape)};
        out = view_packed(dtype, results, out.shape);
        run_reference(OP_SLICE, &attributes, &x, 1, &out, 1);
        size_t count = forge_shape_elements(&out.shape), size = forge_dtype_block_bytes(dtype);
        for (size_t i = 0; i < count; i++)
            assert_memory_equal(
                results + i * size,
                view_address(&x, &x.shape, place_of(&attributes.cut, &x.shape, &out.shape, i)), size);
    }
}

static void test_random_pads_equal_the_definition(void **state)
{
    (void)state;
    for (int round = 0; round < 1500; round++) {
        forge_dtype dtype = (forge_dtype)(FORGE_BOOL + random_bits() % 13);
        size_t size = forge_dtype_block_bytes(dtype);
        struct pad_attributes attributes = {.value = 3, .shape = any_shape(6)};
        forge_shape part;
        attributes.cut = any_cut(&attributes.shape, &part);
        struct view x = any_view(dtype, part), out = view_packed(dtype, results, attributes.shape);
        run_reference(OP_PAD, &attributes, &x, 1, &out, 1);
        static bool is_filled[SPACE];
        memset(is_filled, 0, sizeof is_filled);
        for (size_t i = 0; i < forge_shape_elements(&part); i++) {
            size_t place = place_of(&attributes.cut, &out.shape, &part, i);
            assert_memory_equal(results + place * size, view_address(&x, &part, i), size);
            is_filled[place] = true;
        }
        for (size_t i = 0; i < forge_shape_elements(&out.shape); i++)
            assert_true(is_filled[i] || view_number(&out, i) == (dtype == FORGE_BOOL ? 1 : 3));
    }
}

static void test_random_concats_equal_the_definition(void **state)
{
    (void)state;
    for (int round = 0; round < 500; round++) {
        forge_dtype dtype = (forge_dtype)(FORGE_BOOL + random_bits() % 13);
        size_t size = forge_dtype_block_bytes(dtype), count = 1 + random_bits() % 5;
        forge_shape shape = any_shape(4);
        struct axis_attributes attributes = {(uint32_t)(random_bits() % shape.rank)};
        struct view x[5], out;
        int64_t ends[5], end = 0;
        for (size_t i = 0; i < count; i++) {
            shape.dims[attributes.axis] = (int64_t)(random_bits() % 5);
            x[i] = any_view(dtype, shape);
            x[i].data = (char *)data + (MIDDLE - 200 * (int64_t)i) * (int64_t)size;
            ends[i] = end += shape.dims[attributes.axis];
        }
        shape.dims[attributes.axis] = end;
        out = view_packed(dtype, results, shape);
        run_reference(OP_CONCAT, &attributes, x, count, &out, 1);
        for (size_t at = 0; at < forge_shape_elements(&shape); at++) {
            size_t inner = (size_t)out.strides[attributes.axis], block = (size_t)end * inner, from = 0;
            int64_t index = (int64_t)(at % block / inner), begin = 0;
            while (index >= ends[from])
                begin = ends[from++];
            size_t place =
                (at / block * (size_t)x[from].shape.dims[attributes.axis] + (size_t)(index - begin)) * inner +
                at % inner;
            assert_memory_equal(results + at * size, view_address(&x[from], &x[from].shape, place), size);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_slices_equal_the_definition),
        cmocka_unit_test(test_random_pads_equal_the_definition),
        cmocka_unit_test(test_random_concats_equal_the_definition),
    };
    return cmocka_run_group_tests_name("reference_cut", tests, NULL, NULL);
}
