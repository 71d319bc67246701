/* Checks element types: names, sizes, all patterns of small floats, rounding, integer wrapping and
 * saturation, 4-bit elements and block formats.
 *
 * Rounding is compared with a search for the nearest pattern. Block formats are compared with encodings
 * written by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/core/dtype.h"

/* Returns the next number of a well-distributed sequence of 64-bit numbers (SplitMix64). */
static uint64_t next_scattered(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

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

/* --- small floats --- */

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

/* --- integers --- */

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

/* --- blocks --- */

enum { BLOCKS = 400, ELEMENTS = BLOCKS * 32 };

static uint16_t f16_at(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static void fill_blocks(float *values)
{
    uint64_t seed = 4;
    for (int i = 0; i < ELEMENTS; i++) {
        float size = ldexpf(1, i / 32 % 24 - 12);
        values[i] = size * ldexpf((float)(int32_t)(next_scattered(&seed) >> 32), -31);
    }
    memset(values, 0, 32 * sizeof *values);
}

static void test_q8_0_errs_by_half_a_step(void **state)
{
    (void)state;
    static float values[ELEMENTS], back[ELEMENTS];
    static uint8_t packed[BLOCKS * 34];
    fill_blocks(values);
    assert_int_equal(forge_convert(FORGE_F32, values, FORGE_Q8_0, packed, ELEMENTS), JOULE_OK);
    assert_int_equal(forge_convert(FORGE_Q8_0, packed, FORGE_F32, back, ELEMENTS), JOULE_OK);
    for (int b = 0; b < BLOCKS; b++) {
        float largest = 0;
        for (int i = 0; i < 32; i++)
            largest = fmaxf(largest, fabsf(values[32 * b + i]));
        assert_int_equal(f16_at(packed + 34 * b), half_from_double(largest / 127));
        for (int i = 0; i < 32; i++) {
            int quant = (int8_t)packed[34 * b + 2 + i];
            float exact = largest > 0 ? values[32 * b + i] / (largest / 127) : 0;
            assert_true(fabsf((float)quant - exact) <= 0.5f + 1e-4f);
            assert_true(back[32 * b + i] == (float)quant * half_to_float(f16_at(packed + 34 * b)));
        }
    }
}

static void test_q4_0_errs_by_half_a_step(void **state)
{
    (void)state;
    static float values[ELEMENTS], back[ELEMENTS];
    static uint8_t packed[BLOCKS * 18];
    fill_blocks(values);
    assert_int_equal(forge_convert(FORGE_F32, values, FORGE_Q4_0, packed, ELEMENTS), JOULE_OK);
    assert_int_equal(forge_convert(FORGE_Q4_0, packed, FORGE_F32, back, ELEMENTS), JOULE_OK);
    for (int b = 0; b < BLOCKS; b++) {
        float extreme = 0;
        for (int i = 0; i < 32; i++)
            if (fabsf(values[32 * b + i]) > fabsf(extreme))
                extreme = values[32 * b + i];
        assert_int_equal(f16_at(packed + 18 * b), half_from_double(extreme / -8));
        for (int i = 0; i < 32; i++) {
            uint8_t byte = packed[18 * b + 2 + i % 16];
            int quant = (i < 16 ? byte & 15 : byte >> 4) - 8;
            float exact = extreme != 0 ? values[32 * b + i] / (extreme / -8) : 0;
            assert_true(fabsf((float)quant - fminf(exact, 7)) <= 0.5f + 1e-5f);
            assert_true(back[32 * b + i] == (float)quant * half_to_float(f16_at(packed + 18 * b)));
        }
    }
}

static void test_blocks_by_hand(void **state)
{
    (void)state;
    float values[32] = {127, -127, 0.5f, -0.5f, 1.5f, 2.4f}, back[32];
    /* Ties are rounded away from 0. */
    uint8_t packed[34], expected[34] = {0x00, 0x3c, 127, 0x81, 1, 0xff, 2, 2};
    assert_int_equal(forge_convert(FORGE_F32, values, FORGE_Q8_0, packed, 32), JOULE_OK);
    assert_memory_equal(packed, expected, 34);

    float small[32] = {-8, 8, 7, -0.5f, 0.4f, [16] = 3, [17] = -3};
    /* The encoding of 8 would be 16, which saturates at 15. */
    uint8_t nibbles[18] = {0x00, 0x3c, 0xb0, 0x5f, 0x8f, 0x88, 0x88};
    memset(nibbles + 7, 0x88, 11);
    assert_int_equal(forge_convert(FORGE_F32, small, FORGE_Q4_0, packed, 32), JOULE_OK);
    assert_memory_equal(packed, nibbles, 18);
    assert_int_equal(forge_convert(FORGE_Q4_0, packed, FORGE_F32, back, 32), JOULE_OK);
    assert_true(back[0] == -8 && back[1] == 7 && back[16] == 3 && back[17] == -3 && back[31] == 0);
}

static void test_blocks_at_the_edges(void **state)
{
    (void)state;
    static const forge_dtype types[] = {FORGE_Q8_0, FORGE_Q4_0};
    static const double losses[] = {NAN, INFINITY, -INFINITY, 1e300, 1e8};
    for (int t = 0; t < 2; t++) {
        double values[32], back[32];
        uint8_t packed[34];
        for (size_t k = 0; k < sizeof losses / sizeof losses[0]; k++) {
            for (int i = 0; i < 32; i++)
                values[i] = i == 17 ? losses[k] : 0;
            assert_int_equal(forge_convert(FORGE_F64, values, types[t], packed, 32), JOULE_OK);
            assert_int_equal(forge_convert(types[t], packed, FORGE_F64, back, 32), JOULE_OK);
            assert_true(isnan(back[0])); /* a NaN must not become 0 */
            assert_false(isfinite(back[17]));
        }
        for (int i = 0; i < 32; i++)
            values[i] = 1e-42 * i; /* these values need a scale that is too small for f16 */
        assert_int_equal(forge_convert(FORGE_F64, values, types[t], packed, 32), JOULE_OK);
        assert_int_equal(forge_convert(types[t], packed, FORGE_F64, back, 32), JOULE_OK);
        for (int i = 0; i < 32; i++)
            assert_true(back[i] == 0);
        assert_int_equal(forge_convert(FORGE_F64, values, types[t], packed, 31), JOULE_INVALID);
        assert_int_equal(forge_convert(types[t], packed, FORGE_F64, values, 33), JOULE_INVALID);
    }
}

/* --- blocks of 256 --- */

/* Fills bytes with random numbers, and makes the f16 at offset `at` finite. */
static void fill_bytes(uint8_t *bytes, size_t size, size_t at, uint64_t *seed)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(next_scattered(seed) >> 56);
    bytes[at + 1] &= 0xbf; /* exponents below 16 */
}

/* Returns element `i` of a q4_k block: d * scale * quant - dmin * min. Written from the format's
 * description: bytes 0 and 2 contain d and dmin, bytes 4 to 15 the scales, the rest the quants. */
static double q4_k_element(const uint8_t *block, int i)
{
    const uint8_t *s = block + 4, *quants = block + 16 + i / 64 * 32;
    int j = i / 32, scale, min;
    if (j < 4) {
        scale = s[j] & 63;
        min = s[j + 4] & 63;
    } else {
        scale = (s[j + 4] & 15) | ((s[j - 4] >> 6) << 4);
        min = (s[j + 4] >> 4) | ((s[j] >> 6) << 4);
    }
    int quant = i % 64 < 32 ? quants[i % 32] & 15 : quants[i % 32] >> 4;
    return (double)half_to_float(f16_at(block)) * scale * quant -
           (double)half_to_float(f16_at(block + 2)) * min;
}

/* Returns element `i` of a q6_k block: d * scale * (quant - 32), with d in the last two bytes. */
static double q6_k_element(const uint8_t *block, int i)
{
    int half = i / 128, l = i % 32;
    const uint8_t *ql = block + 64 * half, *qh = block + 128 + 32 * half;
    const int8_t *scales = (const int8_t *)block + 192 + 8 * half;
    int quant = 0, scale = scales[l / 16 + i % 128 / 32 * 2];
    switch (i % 128 / 32) {
    case 0:
        quant = (ql[l] & 15) | (qh[l] & 3) << 4;
        break;
    case 1:
        quant = (ql[l + 32] & 15) | (qh[l] >> 2 & 3) << 4;
        break;
    case 2:
        quant = ql[l] >> 4 | (qh[l] >> 4 & 3) << 4;
        break;
    case 3:
        quant = ql[l + 32] >> 4 | qh[l] >> 6 << 4;
        break;
    }
    return (double)half_to_float(f16_at(block + 208)) * scale * (quant - 32);
}

static void test_k_blocks_are_read_exactly(void **state)
{
    (void)state;
    enum { COUNT = 50 };
    static uint8_t q4[COUNT * 144], q6[COUNT * 210];
    static double from_q4[COUNT * 256], from_q6[COUNT * 256];
    uint64_t seed = 9;
    for (int b = 0; b < COUNT; b++) {
        fill_bytes(q4 + 144 * b, 144, 0, &seed);
        q4[144 * b + 3] &= 0xbf;
        fill_bytes(q6 + 210 * b, 210, 208, &seed);
    }
    assert_int_equal(forge_convert(FORGE_Q4_K, q4, FORGE_F64, from_q4, COUNT * 256), JOULE_OK);
    assert_int_equal(forge_convert(FORGE_Q6_K, q6, FORGE_F64, from_q6, COUNT * 256), JOULE_OK);
    for (int i = 0; i < COUNT * 256; i++) {
        assert_true(from_q4[i] == q4_k_element(q4 + 144 * (i / 256), i % 256));
        assert_true(from_q6[i] == q6_k_element(q6 + 210 * (i / 256), i % 256));
    }
}

/* Writes a block of groups whose ranges differ by up to 2^-4, and checks the error against the step of the
 * group. The scale of a group is rounded to a 63rd or 127th of the largest, which adds to the error. */
static void test_k_blocks_err_by_about_half_a_step(void **state)
{
    (void)state;
    static double values[256 * 40], from_q4[256 * 40], from_q6[256 * 40];
    static uint8_t q4[40 * 144], q6[40 * 210];
    uint64_t seed = 10;
    for (int i = 0; i < 256 * 40; i++)
        values[i] =
            ldexp((double)(int64_t)next_scattered(&seed), -63 - i / 32 % 5) + (i / 2560 % 2 ? 0.5 : 0);
    assert_int_equal(forge_convert(FORGE_F64, values, FORGE_Q4_K, q4, 256 * 40), JOULE_OK);
    assert_int_equal(forge_convert(FORGE_F64, values, FORGE_Q6_K, q6, 256 * 40), JOULE_OK);
    assert_int_equal(forge_convert(FORGE_Q4_K, q4, FORGE_F64, from_q4, 256 * 40), JOULE_OK);
    assert_int_equal(forge_convert(FORGE_Q6_K, q6, FORGE_F64, from_q6, 256 * 40), JOULE_OK);
    for (int b = 0; b < 40; b++)
        for (int g = 0; g < 16; g++) {
            double low = 0, high = 0, largest = 0;
            for (int i = g / 2 * 32; i < g / 2 * 32 + 32; i++) {
                low = fmin(low, values[256 * b + i]);
                high = fmax(high, values[256 * b + i]);
            }
            for (int i = g * 16; i < g * 16 + 16; i++)
                largest = fmax(largest, fabs(values[256 * b + i]));
            /* The largest range is 2 or less, and the scales of groups have steps of a 63rd or a 127th of
             * it. */
            for (int i = g * 16; i < g * 16 + 16; i++) {
                assert_true(fabs(from_q4[256 * b + i] - values[256 * b + i]) <=
                            (high - low) / 30 * 1.05 + 2.0 / 63);
                assert_true(fabs(from_q6[256 * b + i] - values[256 * b + i]) <=
                            largest / 62 * 1.05 + 1.5 / 127);
            }
        }
}

static void test_k_blocks_of_exact_values_return_them(void **state)
{
    (void)state;
    double values[256], back[256];
    uint8_t packed[210];
    /* scale 1 and minimum scale 1: group g has elements from -g to 15 * 63 - g in steps of 63 */
    for (int i = 0; i < 256; i++)
        values[i] = i % 16 * 63 - (i / 32 == 7 ? 63 : 0);
    assert_int_equal(forge_convert(FORGE_F64, values, FORGE_Q4_K, packed, 256), JOULE_OK);
    assert_int_equal(forge_convert(FORGE_Q4_K, packed, FORGE_F64, back, 256), JOULE_OK);
    for (int i = 0; i < 256; i++)
        assert_true(back[i] == values[i]);
    for (int i = 0; i < 256; i++)
        values[i] = (i % 16 == 0 ? -31 : i % 16 + 10) * (i / 16 == 3 ? 127 : i / 16);
    assert_int_equal(forge_convert(FORGE_F64, values, FORGE_Q6_K, packed, 256), JOULE_OK);
    assert_int_equal(forge_convert(FORGE_Q6_K, packed, FORGE_F64, back, 256), JOULE_OK);
    for (int i = 0; i < 256; i++)
        assert_true(back[i] == values[i]);
}

static void test_k_blocks_at_the_edges(void **state)
{
    (void)state;
    static const forge_dtype types[] = {FORGE_Q4_K, FORGE_Q6_K};
    static const double losses[] = {NAN, INFINITY, -INFINITY, 1e300, 1e9, -1e9};
    for (int t = 0; t < 2; t++) {
        double values[256] = {0}, back[256];
        uint8_t packed[210];
        for (size_t k = 0; k < sizeof losses / sizeof losses[0]; k++) {
            values[170] = losses[k];
            assert_int_equal(forge_convert(FORGE_F64, values, types[t], packed, 256), JOULE_OK);
            assert_int_equal(forge_convert(types[t], packed, FORGE_F64, back, 256), JOULE_OK);
            for (int i = 0; i < 256; i++)
                assert_true(isnan(back[i]));
        }
        for (int i = 0; i < 256; i++)
            values[i] = 1e-42 * (i - 100);
        assert_int_equal(forge_convert(FORGE_F64, values, types[t], packed, 256), JOULE_OK);
        assert_int_equal(forge_convert(types[t], packed, FORGE_F64, back, 256), JOULE_OK);
        for (int i = 0; i < 256; i++)
            assert_true(back[i] == 0);
        assert_int_equal(forge_convert(FORGE_F64, values, types[t], packed, 255), JOULE_INVALID);
        assert_int_equal(forge_convert(types[t], packed, FORGE_F64, values, 32), JOULE_INVALID);
    }
}

/* --- all pairs --- */

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
        cmocka_unit_test(test_every_pattern_round_trips),
        cmocka_unit_test(test_rounding_at_every_tie),
        cmocka_unit_test(test_random_values_round_to_even),
        cmocka_unit_test(test_nan_stays_nan),
        cmocka_unit_test(test_known_values_convert_exactly),
        cmocka_unit_test(test_integers_wrap_when_narrowed),
        cmocka_unit_test(test_floats_saturate_when_converted_to_integers),
        cmocka_unit_test(test_integers_round_once),
        cmocka_unit_test(test_bool_is_false_for_zeros_only),
        cmocka_unit_test(test_four_bit_integers_share_bytes),
        cmocka_unit_test(test_q8_0_errs_by_half_a_step),
        cmocka_unit_test(test_q4_0_errs_by_half_a_step),
        cmocka_unit_test(test_blocks_by_hand),
        cmocka_unit_test(test_blocks_at_the_edges),
        cmocka_unit_test(test_k_blocks_are_read_exactly),
        cmocka_unit_test(test_k_blocks_err_by_about_half_a_step),
        cmocka_unit_test(test_k_blocks_of_exact_values_return_them),
        cmocka_unit_test(test_k_blocks_at_the_edges),
        cmocka_unit_test(test_all_pairs_of_types_convert),
        cmocka_unit_test(test_wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
