/* Checks element types of 8 and 16 bits with a floating point: all patterns, rounding to even, infinities and
 * NaN. Rounding is compared with a search for the nearest pattern. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "unit/forge/dtype_trial.h"

struct format {
    forge_dtype dtype;
    int exponent_bits, mantissa_bits;
    bool has_infinity;
};

static const struct format formats[] = {{FORGE_F16, 5, 10, true},
                                        {FORGE_BF16, 8, 7, true},
                                        {FORGE_F8_E4M3, 4, 3, false},
                                        {FORGE_F8_E5M2, 5, 2, true}};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static uint32_t load_pattern(const void *elements, size_t index, const struct format *format)
{
    return forge_dtype_block_bytes(format->dtype) == 2 ? ((const uint16_t *)elements)[index]
                                                       : ((const uint8_t *)elements)[index];
}

static uint32_t from_double(const struct format *format, double value)
{
    uint16_t element[1] = {0};
    assert_int_equal(forge_convert(FORGE_F64, &value, format->dtype, element, 1), JOULE_OK);
    return load_pattern(element, 0, format);
}

static double to_double(const struct format *format, uint32_t pattern)
{
    uint16_t wide = (uint16_t)pattern;
    uint8_t narrow = (uint8_t)pattern;
    double value;
    const void *element = forge_dtype_block_bytes(format->dtype) == 2 ? (const void *)&wide : &narrow;
    assert_int_equal(forge_convert(format->dtype, element, FORGE_F64, &value, 1), JOULE_OK);
    return value;
}

/* Returns the value of a pattern whose sign bit is 0. Patterns of infinity and NaN are evaluated as if they
 * were finite numbers. */
static double meaning(const struct format *format, uint32_t pattern)
{
    int bias = (1 << (format->exponent_bits - 1)) - 1;
    int exponent = (int)(pattern >> format->mantissa_bits);
    double fraction = ldexp(pattern & ((1u << format->mantissa_bits) - 1), -format->mantissa_bits);
    return exponent == 0 ? ldexp(fraction, 1 - bias) : ldexp(1 + fraction, exponent - bias);
}

/* Returns the pattern that follows the largest finite number. */
static uint32_t beyond(const struct format *format)
{
    uint32_t ones = ((1u << format->exponent_bits) - 1) << format->mantissa_bits;
    return format->has_infinity ? ones : ones | ((1u << format->mantissa_bits) - 1);
}

static void test_every_pattern_round_trips(void **state)
{
    (void)state;
    for (size_t f = 0; f < FORMATS; f++) {
        const struct format *format = &formats[f];
        uint32_t sign = 1u << (format->exponent_bits + format->mantissa_bits);
        for (uint32_t pattern = 0; pattern < 2 * sign; pattern++) {
            double value = to_double(format, pattern);
            uint32_t magnitude = pattern & (sign - 1);
            assert_int_equal(signbit(value) != 0, pattern >= sign);
            if (magnitude < beyond(format))
                assert_true(fabs(value) == meaning(format, magnitude));
            else
                assert_true(format->has_infinity && magnitude == beyond(format) ? isinf(value)
                                                                                : isnan(value));
            assert_int_equal(from_double(format, value), pattern);
        }
    }
}

/* Returns the pattern nearest to `magnitude`, found by bisection. At a tie, this is the even pattern. */
static uint32_t search_nearest(const struct format *format, double magnitude)
{
    uint32_t low = 0, high = beyond(format);
    if (magnitude >= meaning(format, high))
        return high;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        *(meaning(format, middle) <= magnitude ? &low : &high) = middle;
    }
    double middle = (meaning(format, low) + meaning(format, high)) / 2;
    return magnitude < middle || (magnitude == middle && low % 2 == 0) ? low : high;
}

static void check_rounding(const struct format *format, double magnitude)
{
    uint32_t sign = 1u << (format->exponent_bits + format->mantissa_bits);
    uint32_t expected = search_nearest(format, magnitude);
    assert_int_equal(from_double(format, magnitude), expected);
    assert_int_equal(from_double(format, -magnitude), expected | sign);
}

static void test_rounding_at_every_tie(void **state)
{
    (void)state;
    for (size_t f = 0; f < FORMATS; f++)
        for (uint32_t pattern = 0; pattern < beyond(&formats[f]); pattern++) {
            double tie = (meaning(&formats[f], pattern) + meaning(&formats[f], pattern + 1)) / 2;
            check_rounding(&formats[f], tie);
            check_rounding(&formats[f], nextafter(tie, 0));
            check_rounding(&formats[f], nextafter(tie, INFINITY));
        }
}

static void test_random_values_round_to_even(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (size_t f = 0; f < FORMATS; f++) {
        double max = log2(meaning(&formats[f], beyond(&formats[f]))) + 2;
        double min = log2(meaning(&formats[f], 1)) - 4;
        for (int i = 0; i < 20000; i++) {
            double exponent = min + (max - min) * ldexp((double)(next_scattered(&seed) >> 11), -53);
            check_rounding(&formats[f], exp2(exponent));
        }
        static const double edges[] = {0, 5e-324, 0x1p-1022, 0x1p-1000, 0x1.fffffffffffffp1023, INFINITY};
        for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
            check_rounding(&formats[f], edges[i]);
    }
}

static void test_nan_stays_nan(void **state)
{
    (void)state;
    /* The lowest bits of a NaN do not fit in a smaller type. The remaining bits must not be read as
     * infinity. */
    static const uint64_t nans[] = {UINT64_C(0x7ff0000000000001), UINT64_C(0xfff8000000000000),
                                    UINT64_C(0x7fffffffffffffff)};
    for (size_t f = 0; f < FORMATS; f++)
        for (size_t i = 0; i < sizeof nans / sizeof nans[0]; i++) {
            double value;
            memcpy(&value, &nans[i], sizeof value);
            double back = to_double(&formats[f], from_double(&formats[f], value));
            assert_true(isnan(back));
            assert_int_equal(signbit(back) != 0, nans[i] >> 63);
        }
}

static void test_known_values_convert_exactly(void **state)
{
    (void)state;
    assert_int_equal(half_from_double(65504), 0x7bff);
    assert_int_equal(half_from_double(65519.99), 0x7bff);
    assert_int_equal(half_from_double(65520), 0x7c00);
    assert_int_equal(half_from_double(0x1p-25), 0);
    assert_int_equal(half_from_double(0x1.0000000000001p-25), 1);
    assert_int_equal(half_from_double(-0.0), 0x8000);
    assert_true(half_to_float(0x3555) == 0x1.554p-2f);
    assert_int_equal(bfloat_from_double(0x1.01p0), 0x3f80);
    /* This value is not a tie. It would be a tie if it were first rounded to float. */
    assert_int_equal(bfloat_from_double(0x1.0100000000001p0), 0x3f81);
    assert_true(bfloat_to_float(0xc0a0) == -5.0f);
    assert_int_equal(from_double(&formats[2], 448), 0x7e);
    assert_int_equal(from_double(&formats[2], 464), 0x7e);
    assert_int_equal(from_double(&formats[2], 465), 0x7f);
    assert_int_equal(from_double(&formats[3], 57344), 0x7b);
    assert_int_equal(from_double(&formats[3], 61440), 0x7c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pattern_round_trips),    cmocka_unit_test(test_rounding_at_every_tie),
        cmocka_unit_test(test_random_values_round_to_even),  cmocka_unit_test(test_nan_stays_nan),
        cmocka_unit_test(test_known_values_convert_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
