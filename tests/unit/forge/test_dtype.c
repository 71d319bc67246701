/* Checks element types: names, sizes, conversions between all pairs, and wrong arguments. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/core/dtype.h"

static void test_names_and_sizes(void **state)
{
    (void)state;
    static const struct {
        forge_dtype dtype;
        const char *name;
        size_t elements, bytes;
        bool is_float, is_integer, is_computed;
    } all[] = {
        {FORGE_BOOL, "bool", 1, 1, false, false, true},
        {FORGE_U8, "u8", 1, 1, false, true, true},
        {FORGE_U16, "u16", 1, 2, false, true, true},
        {FORGE_U32, "u32", 1, 4, false, true, true},
        {FORGE_U64, "u64", 1, 8, false, true, true},
        {FORGE_I8, "i8", 1, 1, false, true, true},
        {FORGE_I16, "i16", 1, 2, false, true, true},
        {FORGE_I32, "i32", 1, 4, false, true, true},
        {FORGE_I64, "i64", 1, 8, false, true, true},
        {FORGE_F16, "f16", 1, 2, true, false, true},
        {FORGE_BF16, "bf16", 1, 2, true, false, true},
        {FORGE_F32, "f32", 1, 4, true, false, true},
        {FORGE_F64, "f64", 1, 8, true, false, true},
        {FORGE_F8_E4M3, "f8_e4m3", 1, 1, true, false, false},
        {FORGE_F8_E5M2, "f8_e5m2", 1, 1, true, false, false},
        {FORGE_U4, "u4", 2, 1, false, true, false},
        {FORGE_I4, "i4", 2, 1, false, true, false},
        {FORGE_Q8_0, "q8_0", 32, 34, true, false, false},
        {FORGE_Q4_0, "q4_0", 32, 18, true, false, false},
        {FORGE_Q4_K, "q4_k", 256, 144, true, false, false},
        {FORGE_Q6_K, "q6_k", 256, 210, true, false, false},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        forge_dtype dtype = all[i].dtype;
        assert_int_equal(dtype, i + 1);
        assert_string_equal(forge_dtype_name(dtype), all[i].name);
        assert_int_equal(forge_dtype_from_name(all[i].name), dtype);
        assert_int_equal(forge_dtype_block_elements(dtype), all[i].elements);
        assert_int_equal(forge_dtype_block_bytes(dtype), all[i].bytes);
        assert_int_equal(forge_dtype_is_float(dtype), all[i].is_float);
        assert_int_equal(forge_dtype_is_integer(dtype), all[i].is_integer);
        assert_int_equal(forge_dtype_is_computed(dtype), all[i].is_computed);
        assert_int_equal(forge_dtype_size_bytes(dtype, 0), 0);
        assert_int_equal(forge_dtype_size_bytes(dtype, 1), all[i].bytes);
        assert_int_equal(forge_dtype_size_bytes(dtype, 3 * all[i].elements), 3 * all[i].bytes);
        assert_int_equal(forge_dtype_size_bytes(dtype, 3 * all[i].elements + 1), 4 * all[i].bytes);
    }
    assert_string_equal(forge_dtype_name(FORGE_DTYPE_NONE), "none");
    assert_string_equal(forge_dtype_name((forge_dtype)22), "unknown");
    assert_string_equal(forge_dtype_name((forge_dtype)-1), "unknown");
    assert_int_equal(forge_dtype_from_name("none"), FORGE_DTYPE_NONE);
    assert_int_equal(forge_dtype_from_name("F32"), FORGE_DTYPE_NONE);
    assert_int_equal(forge_dtype_from_name(""), FORGE_DTYPE_NONE);
    assert_int_equal(forge_dtype_from_name(NULL), FORGE_DTYPE_NONE);
    assert_int_equal(forge_dtype_block_elements(FORGE_DTYPE_NONE), 0);
    assert_int_equal(forge_dtype_size_bytes(FORGE_DTYPE_NONE, 7), 0);
    assert_false(forge_dtype_is_float((forge_dtype)99));
}

static void test_sizes_saturate(void **state)
{
    (void)state;
    assert_true(forge_dtype_size_bytes(FORGE_F64, SIZE_MAX / 8) == SIZE_MAX / 8 * 8);
    assert_true(forge_dtype_size_bytes(FORGE_F64, SIZE_MAX / 8 + 1) == SIZE_MAX);
    assert_true(forge_dtype_size_bytes(FORGE_F32, SIZE_MAX) == SIZE_MAX);
    assert_true(forge_dtype_size_bytes(FORGE_U4, SIZE_MAX) == SIZE_MAX / 2 + 1);
    assert_true(forge_dtype_size_bytes(FORGE_Q8_0, SIZE_MAX) == SIZE_MAX);
    assert_true(forge_dtype_size_bytes(FORGE_Q4_0, SIZE_MAX) == (SIZE_MAX / 32 + 1) * 18);
    assert_true(forge_dtype_size_bytes(FORGE_Q6_K, SIZE_MAX) == (SIZE_MAX / 256 + 1) * 210);
}

static bool is_scaled(int dtype)
{
    return dtype == FORGE_Q8_0 || dtype == FORGE_Q4_K || dtype == FORGE_Q6_K;
}

/* Converts every type to every other at an odd address, and to itself as bytes. All types represent 0 and 1
 * exactly, except q8_0, q4_k and q6_k. There, 1 becomes a multiple of an f16 just below 1/127, 1/945 or
 * 1/3937, which is 0 as an integer. */
static void test_all_pairs_of_types_convert(void **state)
{
    (void)state;
    enum { COUNT = 512 };
    static double numbers[COUNT], result[COUNT];
    static char a[COUNT * 8 + 1], b[COUNT * 8 + 1], again[COUNT * 8 + 1];
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i % 2;
    for (int from = FORGE_BOOL; from <= FORGE_Q6_K; from++)
        for (int to = FORGE_BOOL; to <= FORGE_Q6_K; to++) {
            assert_int_equal(forge_convert(FORGE_F64, numbers, (forge_dtype)from, a + 1, COUNT), JOULE_OK);
            assert_int_equal(forge_convert((forge_dtype)from, a + 1, (forge_dtype)to, b + 1, COUNT),
                             JOULE_OK);
            assert_int_equal(forge_convert((forge_dtype)to, b + 1, FORGE_F64, result, COUNT), JOULE_OK);
            double tolerance = !is_scaled(from) && !is_scaled(to)        ? 0x1p-11
                               : forge_dtype_is_integer((forge_dtype)to) ? 1
                                                                         : 0x1p-9;
            for (int i = 0; i < COUNT; i++)
                assert_true(fabs(result[i] - numbers[i]) <= tolerance);
            size_t size = forge_dtype_size_bytes((forge_dtype)to, COUNT);
            assert_int_equal(forge_convert((forge_dtype)to, b + 1, (forge_dtype)to, again + 1, COUNT),
                             JOULE_OK);
            assert_memory_equal(b + 1, again + 1, size);
        }
}

static void test_wrong_arguments_are_refused(void **state)
{
    (void)state;
    float value = 1;
    assert_int_equal(forge_convert(FORGE_DTYPE_NONE, &value, FORGE_F32, &value, 1), JOULE_INVALID);
    assert_int_equal(forge_convert(FORGE_F32, &value, (forge_dtype)77, &value, 1), JOULE_INVALID);
    assert_int_equal(forge_convert(FORGE_F32, NULL, FORGE_F64, &value, 1), JOULE_INVALID);
    assert_int_equal(forge_convert(FORGE_F32, &value, FORGE_F64, NULL, 1), JOULE_INVALID);
    assert_int_equal(forge_convert(FORGE_F32, NULL, FORGE_F64, NULL, 0), JOULE_OK);
    assert_int_equal(forge_convert(FORGE_F32, &value, FORGE_F32, &value, 1), JOULE_OK);
    assert_true(value == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_sizes),
        cmocka_unit_test(test_sizes_saturate),
        cmocka_unit_test(test_all_pairs_of_types_convert),
        cmocka_unit_test(test_wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
