/* Checks integers as element types: wrapping, saturation, rounding, and elements of 1 and 4 bits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "unit/forge/dtype_trial.h"

static const forge_dtype integers[] = {FORGE_U8,  FORGE_U16, FORGE_U32, FORGE_U64, FORGE_I8,
                                       FORGE_I16, FORGE_I32, FORGE_I64, FORGE_U4,  FORGE_I4};
enum { INTEGERS = sizeof integers / sizeof integers[0] };

static bool is_signed(forge_dtype dtype)
{
    return forge_dtype_name(dtype)[0] == 'i';
}

static int bits_of_dtype(forge_dtype dtype)
{
    return atoi(forge_dtype_name(dtype) + 1);
}

/* Returns `value` modulo 2^bits, extended to 64 bits as for an element of `dtype`. */
static uint64_t wrap(uint64_t value, forge_dtype dtype)
{
    int bits = bits_of_dtype(dtype);
    uint64_t rest = bits == 64 ? value : value % (UINT64_C(1) << bits);
    bool is_negative = is_signed(dtype) && rest >> (bits - 1);
    return is_negative && bits < 64 ? rest - (UINT64_C(1) << bits) : rest;
}

static void test_integers_wrap_when_narrowed(void **state)
{
    (void)state;
    enum { COUNT = 600 };
    static uint64_t source[COUNT], between[COUNT], back[COUNT];
    uint64_t seed = 2;
    for (int i = 0; i < COUNT; i++)
        source[i] = next_scattered(&seed) >> (i % 64);
    for (size_t a = 0; a < INTEGERS; a++)
        for (size_t b = 0; b < INTEGERS; b++) {
            uint64_t first[COUNT];
            assert_int_equal(forge_convert(FORGE_U64, source, integers[a], first, COUNT), JOULE_OK);
            assert_int_equal(forge_convert(integers[a], first, integers[b], between, COUNT), JOULE_OK);
            assert_int_equal(forge_convert(integers[b], between, FORGE_I64, back, COUNT), JOULE_OK);
            for (int i = 0; i < COUNT; i++)
                assert_true(back[i] == wrap(wrap(source[i], integers[a]), integers[b]));
        }
}

static int64_t to_i64(forge_dtype dtype, double value)
{
    uint64_t element = 0;
    int64_t result;
    assert_int_equal(forge_convert(FORGE_F64, &value, dtype, &element, 1), JOULE_OK);
    assert_int_equal(forge_convert(dtype, &element, FORGE_I64, &result, 1), JOULE_OK);
    return result;
}

static void test_floats_saturate_when_converted_to_integers(void **state)
{
    (void)state;
    for (size_t i = 0; i < INTEGERS; i++) {
        forge_dtype dtype = integers[i];
        int bits = bits_of_dtype(dtype);
        uint64_t max = UINT64_MAX >> (64 - bits + is_signed(dtype));
        int64_t min = is_signed(dtype) ? -(int64_t)max - 1 : 0;
        double limit = ldexp(1, bits - is_signed(dtype)); /* the first integer above the range */
        assert_true((uint64_t)to_i64(dtype, limit) == max);
        assert_true((uint64_t)to_i64(dtype, limit * 3) == max);
        assert_true((uint64_t)to_i64(dtype, INFINITY) == max);
        assert_true(to_i64(dtype, -limit) == min);
        assert_true(to_i64(dtype, -limit * 3) == min);
        assert_true(to_i64(dtype, -INFINITY) == min);
        assert_true(to_i64(dtype, NAN) == 0);
        assert_true(to_i64(dtype, 6.99) == 6);
        assert_true(to_i64(dtype, -0.99) == 0);
        assert_true(to_i64(dtype, -6.99) == (is_signed(dtype) ? -6 : 0));
        /* The largest double in the range is converted to its integer part. */
        double inside = nextafter(limit, 0);
        assert_true((uint64_t)to_i64(dtype, inside) == (uint64_t)inside);
    }
    assert_true(to_i64(FORGE_I8, -128.5) == -128);
    assert_true(to_i64(FORGE_I8, -129) == -128);
}

static void test_integers_round_once(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int i = 0; i < 50000; i++) {
        uint64_t value = next_scattered(&seed) >> (i % 40);
        /* Odd numbers i give a tie of f32, or a value next to a tie. */
        if (i % 2)
            value = (value >> 40 | 1) << 39 | (uint64_t)(i % 3 - 1);
        int64_t signed_value = (int64_t)value;
        float from_unsigned, from_signed;
        double as_double;
        forge_convert(FORGE_U64, &value, FORGE_F32, &from_unsigned, 1);
        forge_convert(FORGE_I64, &signed_value, FORGE_F32, &from_signed, 1);
        forge_convert(FORGE_I64, &signed_value, FORGE_F64, &as_double, 1);
        assert_true(from_unsigned == (float)value);
        assert_true(from_signed == (float)signed_value);
        assert_true(as_double == (double)signed_value);
    }
    int64_t value = (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1;
    uint16_t element;
    forge_convert(FORGE_I64, &value, FORGE_BF16, &element, 1);
    assert_true(bfloat_to_float(element) == 0x1.02p62f);
    value = -value;
    forge_convert(FORGE_I64, &value, FORGE_BF16, &element, 1);
    assert_true(bfloat_to_float(element) == -0x1.02p62f);
}

static void test_bool_is_false_for_zeros_only(void **state)
{
    (void)state;
    const double values[] = {0, -0.0, 0.25, NAN, -3};
    const uint8_t expected[] = {0, 0, 1, 1, 1};
    uint8_t bools[5];
    assert_int_equal(forge_convert(FORGE_F64, values, FORGE_BOOL, bools, 5), JOULE_OK);
    assert_memory_equal(bools, expected, 5);
    const uint64_t high = UINT64_C(1) << 63;
    assert_int_equal(forge_convert(FORGE_U64, &high, FORGE_BOOL, bools, 1), JOULE_OK);
    assert_int_equal(bools[0], 1);
    const uint8_t odd = 200; /* a file may contain such a bool */
    float number;
    assert_int_equal(forge_convert(FORGE_BOOL, &odd, FORGE_F32, &number, 1), JOULE_OK);
    assert_true(number == 1);
}

static void test_four_bit_integers_share_bytes(void **state)
{
    (void)state;
    const int8_t values[] = {-8, 7, -1, 0, 3};
    uint8_t bytes[3] = {0xff, 0xff, 0xaf};
    assert_int_equal(forge_convert(FORGE_I8, values, FORGE_I4, bytes, 5), JOULE_OK);
    const uint8_t expected[] = {0x78, 0x0f, 0xa3};
    assert_memory_equal(bytes, expected, 3);
    float back[5];
    assert_int_equal(forge_convert(FORGE_I4, bytes, FORGE_F32, back, 5), JOULE_OK);
    for (int i = 0; i < 5; i++)
        assert_true(back[i] == values[i]);
    const struct dtype_row *row = dtype_row(FORGE_U4);
    double pair[2];
    row->load(bytes, 1, 2, pair);
    assert_true(pair[0] == 7 && pair[1] == 15);
    row->store(bytes, 3, 1, &(double){9.9});
    assert_int_equal(bytes[1], 0x9f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers_wrap_when_narrowed),
        cmocka_unit_test(test_floats_saturate_when_converted_to_integers),
        cmocka_unit_test(test_integers_round_once),
        cmocka_unit_test(test_bool_is_false_for_zeros_only),
        cmocka_unit_test(test_four_bit_integers_share_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
