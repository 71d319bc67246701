/* Checks block formats of weights: the error of each element, and encodings that were written by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "unit/forge/dtype_trial.h"

enum { BLOCKS = 400, ELEMENTS = BLOCKS * 32 };

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_q8_0_errs_by_half_a_step),
        cmocka_unit_test(test_q4_0_errs_by_half_a_step),
        cmocka_unit_test(test_blocks_by_hand),
        cmocka_unit_test(test_blocks_at_the_edges),
        cmocka_unit_test(test_k_blocks_are_read_exactly),
        cmocka_unit_test(test_k_blocks_err_by_about_half_a_step),
        cmocka_unit_test(test_k_blocks_of_exact_values_return_them),
        cmocka_unit_test(test_k_blocks_at_the_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
