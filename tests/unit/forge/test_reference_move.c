/* Checks reshape, broadcast, transpose and iota against plain indexing, and that the table has a function for
 * each family. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/core/dtype.h"
#include "forge/reference/reference.h"
#include "support/views.h"

/* --- moving --------------------------------------------------------------------------------------------- */

enum { SPACE = 4000 };

/* Writes random bytes. Returns the address of an element in the middle, so that views can extend in both
 * directions. */
static char *fill(unsigned char *data, size_t size_bytes)
{
    for (size_t i = 0; i < SPACE * 8; i++)
        data[i] = (unsigned char)random_bits();
    return (char *)data + SPACE / 2 * size_bytes;
}

static void test_reshape_keeps_the_order(void **state)
{
    (void)state;
    static unsigned char data[SPACE * 8], results[SPACE * 8];
    const forge_shape shapes[] = {forge_shape_of(840), forge_shape_of(7, 120), forge_shape_of(1, 840, 1),
                                  forge_shape_of(840, 1)};
    for (forge_dtype dtype = FORGE_BOOL; dtype <= FORGE_F64; dtype++)
        for (size_t s = 0; s < 4; s++) {
            size_t size = forge_dtype_block_bytes(dtype);
            char *middle = fill(data, size);
            struct view in[4] = {view_packed(dtype, middle, forge_shape_of(4, 7, 30)),
                                 {middle, dtype, forge_shape_of(4, 7, 30), {-300, 35, -1}},
                                 {middle, dtype, forge_shape_of(4, 7, 30), {0, -60, 2}},
                                 {middle, dtype, forge_shape_of(4, 7, 30), {1, 1, 1}}};
            struct view out = view_packed(dtype, results, shapes[s]);
            for (size_t v = 0; v < 4; v++) {
                run_reference(OP_RESHAPE, &(struct shape_attributes){shapes[s]}, &in[v], 1, &out, 1);
                for (size_t i = 0; i < 840; i++)
                    assert_memory_equal(results + i * size, view_address(&in[v], &in[v].shape, i), size);
            }
        }
}

static void test_broadcast_repeats_elements(void **state)
{
    (void)state;
    static unsigned char data[SPACE * 8], results[SPACE * 8];
    const forge_shape shape = forge_shape_of(2, 3, 4, 50);
    for (forge_dtype dtype = FORGE_BOOL; dtype <= FORGE_F64; dtype++) {
        size_t size = forge_dtype_block_bytes(dtype);
        char *middle = fill(data, size);
        struct view in[] = {
            view_packed(dtype, middle, (forge_shape){0}),
            view_packed(dtype, middle, forge_shape_of(50)),
            view_packed(dtype, middle, forge_shape_of(3, 1, 1)),
            view_packed(dtype, middle, forge_shape_of(2, 1, 4, 1)),
            view_packed(dtype, middle, shape),
            {middle, dtype, forge_shape_of(3, 1, 50), {-100, 77, -2}},
        };
        struct view out = view_packed(dtype, results, shape);
        for (size_t v = 0; v < sizeof in / sizeof in[0]; v++) {
            run_reference(OP_BROADCAST, &(struct shape_attributes){shape}, &in[v], 1, &out, 1);
            for (size_t i = 0; i < 1200; i++)
                assert_memory_equal(results + i * size, view_address(&in[v], &shape, i), size);
        }
    }
}

/* Compares each element of the result with the element of x from which transpose must copy it. */
static void check_transpose(const struct view *x, const struct transpose_attributes *attributes)
{
    static unsigned char results[SPACE * 8];
    struct view out = view_packed(x->dtype, results, x->shape);
    size_t size = forge_dtype_block_bytes(x->dtype), count = forge_shape_elements(&x->shape);
    for (uint32_t i = 0; i < x->shape.rank; i++)
        out.shape.dims[i] = x->shape.dims[attributes->order[i]];
    run_reference(OP_TRANSPOSE, attributes, x, 1, &out, 1);
    for (size_t i = 0; i < count; i++) {
        int64_t offset = 0;
        size_t rest = i;
        for (uint32_t k = x->shape.rank; k-- > 0; rest /= (size_t)out.shape.dims[k])
            offset += (int64_t)(rest % (size_t)out.shape.dims[k]) * x->strides[attributes->order[k]];
        assert_memory_equal(results + i * size, (char *)x->data + offset * (int64_t)size, size);
    }
}

static void test_transpose_permutes_dimensions(void **state)
{
    (void)state;
    static unsigned char data[SPACE * 8];
    for (forge_dtype dtype = FORGE_BOOL; dtype <= FORGE_F64; dtype++) {
        char *middle = fill(data, forge_dtype_block_bytes(dtype));
        struct view packed = view_packed(dtype, middle, forge_shape_of(3, 1, 5, 40));
        struct view other = {middle, dtype, packed.shape, {-300, 5, 0, -2}};
        for (uint32_t number = 0; number < 256; number++) {
            struct transpose_attributes attributes = {
                {number & 3, number >> 2 & 3, number >> 4 & 3, number >> 6}};
            const uint32_t *order = attributes.order;
            if ((1u << order[0] | 1u << order[1] | 1u << order[2] | 1u << order[3]) != 15)
                continue;
            check_transpose(&packed, &attributes);
            check_transpose(&other, &attributes);
        }
    }
    struct view scalar = view_packed(FORGE_F32, data, (forge_shape){0});
    check_transpose(&scalar, &(struct transpose_attributes){{0}});
    struct view deep = view_packed(FORGE_U16, data, forge_shape_of(2, 3, 2, 2, 3, 2, 2, 3));
    check_transpose(&deep, &(struct transpose_attributes){{7, 0, 6, 1, 5, 2, 4, 3}});
}

static void test_operands_without_elements_are_accepted(void **state)
{
    (void)state;
    char none[1];
    struct view in = view_packed(FORGE_F32, NULL, forge_shape_of(3, 0, 2)),
                out = view_packed(FORGE_F32, none, in.shape);
    run_reference(OP_RESHAPE, &(struct shape_attributes){{0}}, &in, 1, &out, 1);
    out = view_packed(FORGE_F32, none, forge_shape_of(2, 3, 0));
    run_reference(OP_RESHAPE, &(struct shape_attributes){{0}}, &in, 1, &out, 1);
    run_reference(OP_TRANSPOSE, &(struct transpose_attributes){{2, 0, 1}}, &in, 1, &out, 1);
    in = view_packed(FORGE_F32, none, forge_shape_of(1));
    run_reference(OP_BROADCAST, &(struct shape_attributes){{0}}, &in, 1, &out, 1);
    run_reference(OP_IOTA, &(struct iota_attributes){FORGE_F32, 1, out.shape}, NULL, 0, &out, 1);
}

/* --- counting ------------------------------------------------------------------------------------------- */

static void test_iota_counts_along_its_axis(void **state)
{
    (void)state;
    static unsigned char results[2 * 300 * 3 * 8];
    const forge_shape shape = forge_shape_of(2, 300, 3);
    for (forge_dtype dtype = FORGE_U8; dtype <= FORGE_F64; dtype++)
        for (uint32_t axis = 0; axis < 3; axis++) {
            struct view out = view_packed(dtype, results, shape);
            run_reference(OP_IOTA, &(struct iota_attributes){dtype, axis, shape}, NULL, 0, &out, 1);
            for (size_t i = 0; i < 1800; i++) {
                double wanted = axis == 0 ? i / 900 : axis == 1 ? i / 3 % 300 : i % 3, got;
                if (dtype == FORGE_U8 || dtype == FORGE_I8)
                    wanted = dtype == FORGE_U8 ? (uint8_t)(unsigned)wanted
                                               : (int8_t)(uint8_t)((unsigned)wanted % 256);
                if (dtype == FORGE_BF16) /* bf16 represents 8 significant bits */
                    wanted = bfloat_to_float(bfloat_from_double(wanted));
                dtype_row(dtype)->load(results, i, 1, &got);
                assert_true(got == wanted);
            }
        }
}

/* --- the table ------------------------------------------------------------------------------------------ */

static void test_every_family_has_a_function(void **state)
{
    (void)state;
    for (int op = OP_IOTA; op < OP_COMPOSITE; op++)
        assert_non_null(reference_of((enum op)op));
    assert_null(reference_of(OP_INPUT));
    assert_null(reference_of(OP_READ));
    assert_null(reference_of(OP_CONSTANT));
    assert_null(reference_of(OP_COMPOSITE));
    assert_null(reference_of(OP_COUNT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reshape_keeps_the_order),
        cmocka_unit_test(test_broadcast_repeats_elements),
        cmocka_unit_test(test_transpose_permutes_dimensions),
        cmocka_unit_test(test_operands_without_elements_are_accepted),
        cmocka_unit_test(test_iota_counts_along_its_axis),
        cmocka_unit_test(test_every_family_has_a_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
