/* Checks casts between all pairs of types, at the limits of their ranges, and of elements that share a byte
 * or block with the next row. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "forge/core/dtype.h"
#include "support/views.h"

/* --- types ---------------------------------------------------------------------------------------------- */

/* All types can represent all numbers of u4, except bool, which represents 0 and 1. */
static void test_cast_between_all_types(void **state)
{
    (void)state;
    for (forge_dtype from = FORGE_BOOL; from <= FORGE_I4; from++)
        for (forge_dtype to = FORGE_BOOL; to <= FORGE_I4; to++) {
            double numbers[7 * 5], data[7 * 5], results[7 * 5], got[7 * 5];
            for (size_t i = 0; i < 35; i++)
                numbers[i] = (double)(random_bits() % (from == FORGE_BOOL ? 2 : 8));
            dtype_row(from)->store(data, 0, 35, numbers);
            struct view in = view_packed(from, data, forge_shape_of(7, 5)),
                        out = view_packed(to, results, in.shape);
            memset(results, 0, sizeof results);
            run_reference(OP_CAST, &(struct cast_attributes){to}, &in, 1, &out, 1);
            dtype_row(to)->load(results, 0, 35, got);
            for (size_t i = 0; i < 35; i++)
                assert_true(got[i] == (to == FORGE_BOOL ? numbers[i] != 0 : numbers[i]));
        }
}

static void cast(forge_dtype from, const void *x, forge_dtype to, void *out)
{
    struct view in = view_packed(from, (void *)x, (forge_shape){0}),
                result = view_packed(to, out, (forge_shape){0});
    run_reference(OP_CAST, &(struct cast_attributes){to}, &in, 1, &result, 1);
}

static void test_cast_at_the_ends(void **state)
{
    (void)state;
    int8_t small;
    uint8_t byte;
    uint64_t large;
    float number;
    cast(FORGE_F64, &(double){-1000}, FORGE_I8, &small);
    assert_int_equal(small, -128);
    cast(FORGE_F64, &(double){-1.9}, FORGE_I8, &small);
    assert_int_equal(small, -1);
    cast(FORGE_F64, &(double){NAN}, FORGE_I8, &small);
    assert_int_equal(small, 0);
    cast(FORGE_I64, &(int64_t){-257}, FORGE_U8, &byte);
    assert_int_equal(byte, 255);
    cast(FORGE_F64, &(double){0.25}, FORGE_BOOL, &byte);
    assert_int_equal(byte, 1);
    cast(FORGE_F32, &(float){INFINITY}, FORGE_U64, &large);
    assert_true(large == UINT64_MAX);
    cast(FORGE_I8, &(int8_t){-1}, FORGE_U64, &large);
    assert_true(large == UINT64_MAX);
    cast(FORGE_U64, &(uint64_t){(UINT64_C(1) << 60) + (UINT64_C(1) << 36) + 1}, FORGE_F32, &number);
    /* the value was rounded once, not first to double and then to float */
    assert_true(number == 0x1.000002p60f);
    cast(FORGE_F64, &(double){1e39}, FORGE_F32, &number);
    assert_true(number == INFINITY);
}

/* Rows have 8, 37, 64 and 320 elements. A block then spans several rows, begins within a row, is one row, or
 * is part of a row. */
static void test_casts_of_block_formats_are_exact(void **state)
{
    (void)state;
    static const forge_dim columns[] = {8, 37, 64, 320};
    for (forge_dtype dtype = FORGE_U4; dtype <= FORGE_Q6_K; dtype++)
        for (size_t c = 0; c < 4; c++) {
            float data[640 * 3], packed[768], back[640];
            unsigned char blocks[800] = {0}, wanted[800] = {0};
            forge_shape shape = forge_shape_of(640 / columns[c] < 9 ? 2 : 9, columns[c]);
            size_t count = forge_shape_elements(&shape), block = forge_dtype_block_elements(dtype);
            for (size_t i = 0; i < 640 * 3; i++)
                data[i] = (float)(random_bits() % 1000) / 100 - 5;
            struct view in = {data + 640 * 3 - 1, FORGE_F32, shape, {-3 * columns[c], -3}};
            for (size_t i = 0; i < 768; i++)
                packed[i] = 0;
            for (size_t i = 0; i < count; i++)
                memcpy(&packed[i], view_address(&in, &shape, i), 4);
            struct view out = view_packed(dtype, blocks, shape), again = view_packed(FORGE_F32, back, shape);
            run_reference(OP_CAST, &(struct cast_attributes){dtype}, &in, 1, &out, 1);
            forge_convert(FORGE_F32, packed, dtype, wanted, (count + block - 1) / block * block);
            assert_memory_equal(blocks, wanted, sizeof blocks);
            run_reference(OP_CAST, &(struct cast_attributes){FORGE_F32}, &out, 1, &again, 1);
            for (size_t i = 0; i < count; i++)
                if (dtype >= FORGE_Q8_0)
                    assert_true(fabsf(back[i] - packed[i]) < (dtype == FORGE_Q8_0 ? 0.03f : 0.8f));
                else
                    assert_true(back[i] == truncf(dtype == FORGE_U4 ? fmaxf(packed[i], 0) : packed[i]));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cast_between_all_types),
        cmocka_unit_test(test_cast_at_the_ends),
        cmocka_unit_test(test_casts_of_block_formats_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
