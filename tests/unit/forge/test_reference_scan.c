/* Checks scans and sorts of every type against plain loops, on views of every kind. */
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

enum { SPACE = 8000, OUTER = 2, INNER = 3, LONGEST = 12 };

static unsigned char space[SPACE * 8], results[SPACE * 8];
static int64_t places[SPACE];

static double combined(uint32_t kind, double a, double b)
{
    switch (kind) {
    case FORGE_SUM:
        return a + b;
    case FORGE_PRODUCT:
        return a * b;
    case FORGE_MAXIMUM:
        return a > b ? a : b;
    default:
        return a < b ? a : b;
    }
}

static bool is_unsigned(forge_dtype dtype)
{
    return dtype <= FORGE_U64;
}

/* Elements are small, so that sums and products are exact in every type. Elements of -1 change a product's
 * sign, and 0 makes all later products 0. */
static void check_scan(uint32_t kind, forge_dtype dtype, int64_t count, uint32_t flags)
{
    struct scan_attributes attributes = {kind, 1, flags};
    struct view x = view_of_numbers(dtype, space, SPACE, forge_shape_of(OUTER, count, INNER),
                                    is_unsigned(dtype) ? 0 : -1, kind == FORGE_PRODUCT ? 1 : 3);
    struct view out = view_packed(dtype, results, x.shape);
    run_reference(OP_SCAN, &attributes, &x, 1, &out, 1);
    for (int64_t line = 0; line < OUTER * INNER; line++)
        for (int64_t i = 0; i < count; i++) {
            bool is_reverse = flags & FORGE_SCAN_REVERSE, is_exclusive = flags & FORGE_SCAN_EXCLUSIVE;
            int64_t from = is_reverse ? i + is_exclusive : 0, to = is_reverse ? count : i + !is_exclusive;
            int64_t base = line / INNER * count * INNER + line % INNER;
            double got = view_number(&out, (size_t)(base + i * INNER)), expected = NAN;
            for (int64_t k = from; k < to; k++) {
                double next = view_number(&x, (size_t)(base + k * INNER));
                expected = k == from ? next : combined(kind, expected, next);
            }
            if (from < to)
                assert_true(got == expected);
            else if (kind == FORGE_SUM || kind == FORGE_PRODUCT)
                assert_true(got == (kind == FORGE_PRODUCT));
            else if (forge_dtype_is_float(dtype))
                assert_true(got == (kind == FORGE_MAXIMUM ? -INFINITY : INFINITY));
        }
}

static void test_random_scans_equal_the_definition(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {FORGE_SUM, FORGE_PRODUCT, FORGE_MAXIMUM, FORGE_MINIMUM};
    for (int round = 0; round < 1200; round++)
        check_scan(kinds[random_bits() % 4], (forge_dtype)(FORGE_U8 + random_bits() % 12),
                   (int64_t)(random_bits() % LONGEST), (uint32_t)(random_bits() % 4));
    check_scan(FORGE_MAXIMUM, FORGE_F32, 1000, 0); /* a line of more than one tile */
    check_scan(FORGE_SUM, FORGE_I16, 600, FORGE_SCAN_REVERSE | FORGE_SCAN_EXCLUSIVE);
}

static void test_exclusive_scans_begin_with_the_neutral_element(void **state)
{
    (void)state;
    int8_t bytes[] = {5, -7}, min[2];
    uint64_t large[] = {UINT64_MAX, 7}, max[2];
    struct view in = view_packed(FORGE_I8, bytes, forge_shape_of(2)),
                out = view_packed(FORGE_I8, min, in.shape);
    run_reference(OP_SCAN, &(struct scan_attributes){FORGE_MAXIMUM, 0, FORGE_SCAN_EXCLUSIVE}, &in, 1, &out,
                  1);
    assert_true(min[0] == INT8_MIN && min[1] == 5);
    in = view_packed(FORGE_U64, large, forge_shape_of(2));
    out = view_packed(FORGE_U64, max, in.shape);
    run_reference(OP_SCAN, &(struct scan_attributes){FORGE_MINIMUM, 0, FORGE_SCAN_EXCLUSIVE}, &in, 1, &out,
                  1);
    assert_true(max[0] == UINT64_MAX && max[1] == UINT64_MAX);
    run_reference(OP_SCAN, &(struct scan_attributes){FORGE_SUM, 0, 0}, &in, 1, &out, 1);
    assert_true(max[1] == 6); /* the product wraps modulo 2^64 */
}

static void test_scans_lose_nothing_and_keep_nan(void **state)
{
    (void)state;
    double values[] = {1, 1e100, 1, -1e100}, sums[4];
    struct view in = view_packed(FORGE_F64, values, forge_shape_of(4)),
                out = view_packed(FORGE_F64, sums, in.shape);
    run_reference(OP_SCAN, &(struct scan_attributes){FORGE_SUM, 0, 0}, &in, 1, &out, 1);
    assert_true(sums[0] == 1 && sums[1] == 1e100 && sums[3] == 2);
    values[1] = NAN;
    struct launch launch = {OP_SCAN, &(struct scan_attributes){FORGE_MAXIMUM, 0, 0}, &in, 1, &out, 1};
    reference_scan(&launch, 0, 1);
    assert_true(sums[0] == 1 && isnan(sums[1]) && isnan(sums[2]) && isnan(sums[3]));
}

/* --- sorting -------------------------------------------------------------------------------------------- */

static bool comes_before(double a, double b, bool is_descending)
{
    if (isnan(a) || isnan(b))
        return !isnan(a) && isnan(b);
    return is_descending ? a > b : a < b;
}

/* Checks that each result is the element with the stated index and that results are in order. If only the
 * first elements are kept, no omitted element may belong before the last result. */
static void check_sort(struct view x, int64_t kept, bool is_descending)
{
    int64_t count = x.shape.dims[1];
    forge_shape shape = forge_shape_of(OUTER, kept, INNER);
    struct sort_attributes attributes = {1, is_descending, shape};
    struct view out[] = {view_packed(x.dtype, results, shape), view_packed(FORGE_I64, places, shape)};
    run_reference(OP_SORT, &attributes, &x, 1, out, 2);
    for (int64_t line = 0; line < OUTER * INNER; line++) {
        int64_t from = line / INNER * count * INNER + line % INNER,
                to = line / INNER * kept * INNER + line % INNER;
        bool is_taken[LONGEST * 100] = {false};
        for (int64_t i = 0; i < kept; i++) {
            int64_t place = places[to + i * INNER];
            assert_true(place >= 0 && place < count && !is_taken[place]);
            assert_memory_equal(results + (size_t)(to + i * INNER) * forge_dtype_block_bytes(x.dtype),
                                view_address(&x, &x.shape, (size_t)(from + place * INNER)),
                                forge_dtype_block_bytes(x.dtype));
            is_taken[place] = true;
            double chosen = view_number(&x, (size_t)(from + place * INNER));
            for (int64_t k = 0; k < count; k++) {
                double other = view_number(&x, (size_t)(from + k * INNER));
                assert_true(is_taken[k] || comes_before(chosen, other, is_descending) ||
                            (!comes_before(other, chosen, is_descending) && place < k));
            }
        }
    }
}

static void test_random_sorts_equal_the_definition(void **state)
{
    (void)state;
    for (int round = 0; round < 1200; round++) {
        forge_dtype dtype = (forge_dtype)(FORGE_BOOL + random_bits() % 13);
        int64_t count = (int64_t)(random_bits() % LONGEST),
                kept = (int64_t)(random_bits() % (uint64_t)(count + 1));
        int64_t max = dtype == FORGE_BOOL ? 1 : 5, min = is_unsigned(dtype) ? 0 : -5;
        struct view x = view_of_numbers(dtype, space, SPACE, forge_shape_of(OUTER, count, INNER), min, max);
        check_sort(x, round & 1 ? count : kept, round & 2);
    }
    check_sort(view_of_numbers(FORGE_I32, space, SPACE, forge_shape_of(OUTER, 300, INNER), -100, 100), 300,
               true);
}

static void test_nan_is_sorted_last(void **state)
{
    (void)state;
    float *values = (float *)(void *)space;
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < OUTER * 9 * INNER; i++) {
            int number = (int)(random_bits() % 6);
            values[i] = number == 0   ? NAN
                        : number == 1 ? INFINITY
                        : number == 2 ? -0.0f
                                      : (float)(number - 4);
        }
        check_sort(view_packed(FORGE_F32, values, forge_shape_of(OUTER, 9, INNER)), 1 + round % 9, round & 1);
    }
}

/* The integers differ, but are equal when converted to double. */
static void test_large_integers_are_compared_exactly(void **state)
{
    (void)state;
    uint64_t values[] = {UINT64_MAX - 1, 1, UINT64_MAX, UINT64_C(1) << 63}, sorted[4];
    int64_t indices[4];
    struct view out[] = {view_packed(FORGE_U64, sorted, forge_shape_of(4)),
                         view_packed(FORGE_I64, indices, forge_shape_of(4))};
    struct view in = view_packed(FORGE_U64, values, forge_shape_of(4));
    run_reference(OP_SORT, &(struct sort_attributes){0}, &in, 1, out, 2);
    assert_true(indices[0] == 1 && indices[1] == 3 && indices[2] == 0 && indices[3] == 2 &&
                sorted[3] == UINT64_MAX);
    in.dtype = out[0].dtype = FORGE_I64; /* the same bits are now -2, 1, -1 and the minimum */
    run_reference(OP_SORT, &(struct sort_attributes){0}, &in, 1, out, 2);
    assert_true(indices[0] == 3 && indices[1] == 0 && indices[2] == 2 && indices[3] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_scans_equal_the_definition),
        cmocka_unit_test(test_exclusive_scans_begin_with_the_neutral_element),
        cmocka_unit_test(test_scans_lose_nothing_and_keep_nan),
        cmocka_unit_test(test_random_sorts_equal_the_definition),
        cmocka_unit_test(test_nan_is_sorted_last),
        cmocka_unit_test(test_large_integers_are_compared_exactly),
    };
    return cmocka_run_group_tests_name("reference_scan", tests, NULL, NULL);
}
