/* Checks reductions against plain loops: every kind, type and set of axes, and sums for which plain double
 * arithmetic is wrong. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "forge/core/dtype.h"
#include "support/views.h"

/* --- every set of axes ---------------------------------------------------------------------------------- */

enum { A = 3, B = 5, C = 70, ELEMENTS = A * B * C };

/* The result of a reduction after some elements. */
struct best {
    long double value;
    uint64_t bits;
    long count;
    long place;
};

static void take(struct best *best, uint32_t kind, double x, uint64_t bits, bool is_unsigned)
{
    bool is_greater = x > (double)best->value, is_less = x < (double)best->value;
    if (is_unsigned) { /* 64-bit integers do not fit in a double */
        is_greater = bits > best->bits;
        is_less = bits < best->bits;
    }
    long place = best->count++;
    if (kind <= FORGE_MEAN || kind == FORGE_PRODUCT) {
        best->value = kind == FORGE_PRODUCT && place ? best->value * x
                      : kind == FORGE_PRODUCT        ? x
                                                     : best->value + x;
        best->bits = kind == FORGE_PRODUCT && place ? best->bits * bits
                     : kind == FORGE_PRODUCT        ? bits
                                                    : best->bits + bits;
    } else if (place == 0 || (kind == FORGE_MINIMUM ? is_less : is_greater)) {
        best->value = x;
        best->bits = bits;
        best->place = place;
    }
}

/* Returns the index of the result to which the input at this position contributes. */
static size_t result_of(size_t position, uint32_t axes)
{
    size_t index[3] = {position / (B * C), position / C % B, position % C}, dims[3] = {A, B, C}, result = 0;
    for (size_t i = 0; i < 3; i++)
        if (!(axes >> i & 1))
            result = result * dims[i] + index[i];
    return result;
}

static forge_shape reduced(uint32_t axes, bool keep_dims)
{
    const forge_dim dims[3] = {A, B, C};
    forge_shape shape = {0};
    for (uint32_t i = 0; i < 3; i++)
        if (!(axes >> i & 1) || keep_dims)
            shape.dims[shape.rank++] = axes >> i & 1 ? 1 : dims[i];
    return shape;
}

static void check_numbers(const struct view *out, size_t i, uint32_t kind, const struct best *best)
{
    double got, wanted = (double)(kind == FORGE_MEAN ? best->value / best->count : best->value);
    double error = kind == FORGE_PRODUCT ? fabs(wanted) * 1e-12 : fabs(wanted) * 3e-16;
    unsigned char bytes[8];
    dtype_row(out->dtype)->load(out->data, i, 1, &got);
    if (out->dtype == FORGE_F64) {
        assert_true(fabs(got - wanted) <= error + 1e-16);
        return;
    }
    dtype_row(out->dtype)->store(bytes, 0, 1, &wanted);
    dtype_row(out->dtype)->load(bytes, 0, 1, &wanted);
    assert_true(got == wanted);
}

static void check_integers(const struct view *out, size_t i, const struct best *best)
{
    unsigned char bytes[8];
    uint64_t got, wanted;
    dtype_row(out->dtype)->load_bits(out->data, i, 1, &got);
    dtype_row(out->dtype)->store_bits(bytes, 0, 1, &best->bits);
    dtype_row(out->dtype)->load_bits(bytes, 0, 1, &wanted);
    assert_true(got == wanted);
}

static void check_reduction(const struct view *x, uint32_t kind, uint32_t axes, bool keep_dims)
{
    static struct best best[ELEMENTS];
    static double results[ELEMENTS];
    forge_dtype dtype = x->dtype;
    bool is_float = dtype_row(dtype)->kind == DTYPE_FLOAT;
    struct view out =
        view_packed(kind == FORGE_ARGMAX ? FORGE_I64 : dtype, results, reduced(axes, keep_dims));
    run_reference(OP_REDUCE, &(struct reduce_attributes){kind, axes, keep_dims, dtype}, x, 1, &out, 1);
    memset(best, 0, sizeof best);
    for (size_t i = 0; i < ELEMENTS; i++) {
        double number;
        uint64_t bits = 0;
        dtype_row(dtype)->load(view_address(x, &x->shape, i), 0, 1, &number);
        if (!is_float)
            dtype_row(dtype)->load_bits(view_address(x, &x->shape, i), 0, 1, &bits);
        take(&best[result_of(i, axes)], kind, number, bits, dtype_row(dtype)->kind == DTYPE_UNSIGNED);
    }
    for (size_t i = 0; i < forge_shape_elements(&out.shape); i++)
        if (kind == FORGE_ARGMAX)
            assert_int_equal(((int64_t *)results)[i], best[i].place);
        else if (is_float)
            check_numbers(&out, i, kind, &best[i]);
        else
            check_integers(&out, i, &best[i]);
}

/* The first view is packed and uses all elements. The second has strides and is reversed. */
static void test_every_kind_type_and_axes(void **state)
{
    (void)state;
    static uint64_t data[4 * ELEMENTS];
    for (forge_dtype dtype = FORGE_U8; dtype <= FORGE_F64; dtype++)
        for (uint32_t kind = 0; kind < FORGE_REDUCE_KINDS; kind++) {
            const struct dtype_row *row = dtype_row(dtype);
            if (kind == FORGE_MEAN && row->kind != DTYPE_FLOAT)
                continue;
            for (size_t i = 0; i < 4 * ELEMENTS; i++) {
                double number = kind == FORGE_PRODUCT ? 0.875 + (double)(random_bits() % 9) / 32
                                                      : (double)(random_bits() % 4096) / 64 - 32;
                uint64_t bits = random_bits() >> (random_bits() % 64);
                if (row->kind == DTYPE_FLOAT)
                    row->store(data, i, 1, &number);
                else
                    row->store_bits(data, i, 1, &bits);
            }
            struct view packed = view_packed(dtype, data, forge_shape_of(A, B, C));
            struct view other = {
                (char *)data + (4 * ELEMENTS - 1) * row->block_bytes, dtype, packed.shape, {-2, -6 * C, -6}};
            for (uint32_t axes = 0; axes < 8; axes++) {
                if (kind == FORGE_ARGMAX && __builtin_popcount(axes) != 1)
                    continue;
                check_reduction(&packed, kind, axes, false);
                check_reduction(&other, kind, axes, true);
            }
        }
}

/* --- hand-made cases ------------------------------------------------------------------------------------ */

static double reduce(uint32_t kind, const double *x, size_t count)
{
    int64_t place = -1;
    double result = 0;
    struct view in = view_packed(FORGE_F64, (void *)x, forge_shape_of((forge_dim)count));
    struct view out = kind == FORGE_ARGMAX ? view_packed(FORGE_I64, &place, (forge_shape){0})
                                           : view_packed(FORGE_F64, &result, (forge_shape){0});
    run_reference(OP_REDUCE, &(struct reduce_attributes){kind, 1, 0, FORGE_F64}, &in, 1, &out, 1);
    return kind == FORGE_ARGMAX ? (double)place : result;
}

static void test_nan_and_infinities(void **state)
{
    (void)state;
    const double with_nan[] = {1, INFINITY, NAN, 3, NAN}, nan_first[] = {NAN, 1, INFINITY};
    const double infinities[] = {1, INFINITY, 5, INFINITY}, opposite[] = {1, INFINITY, -INFINITY},
                 low[] = {-INFINITY, -INFINITY};
    for (uint32_t kind = FORGE_SUM; kind <= FORGE_PRODUCT; kind++) {
        assert_true(isnan(reduce(kind, with_nan, 5)));
        assert_true(isnan(reduce(kind, nan_first, 3)));
    }
    assert_true(reduce(FORGE_ARGMAX, with_nan, 5) == 2 && reduce(FORGE_ARGMAX, nan_first, 3) == 0);
    assert_true(reduce(FORGE_SUM, infinities, 4) == INFINITY &&
                reduce(FORGE_MEAN, infinities, 4) == INFINITY);
    assert_true(isnan(reduce(FORGE_SUM, opposite, 3)));
    assert_true(reduce(FORGE_ARGMAX, infinities, 4) == 1 && reduce(FORGE_MAXIMUM, low, 2) == -INFINITY);
    assert_true(reduce(FORGE_ARGMAX, low, 2) == 0);
}

static void test_sums_lose_nothing(void **state)
{
    (void)state;
    enum { COUNT = 100001 };
    static float data[COUNT];
    static double numbers[COUNT];
    float sum;
    double exact = 0;
    const double swamped[] = {1, 1e100, 1, -1e100};
    assert_true(reduce(FORGE_SUM, swamped, 4) == 2);
    for (size_t i = 0; i < COUNT; i++) {
        data[i] = 0.1f;
        /* rounding removes each of these terms if they are added one by one */
        numbers[i] = i == 0 ? 1 : 0x1p-53;
    }
    assert_true(reduce(FORGE_SUM, numbers, COUNT) == 1 + (COUNT - 1) * 0x1p-53);
    exact = (double)0.1f * COUNT; /* the exact sum fits in 53 bits */
    struct view in = view_packed(FORGE_F32, data, forge_shape_of(COUNT)),
                out = view_packed(FORGE_F32, &sum, (forge_shape){0});
    run_reference(OP_REDUCE, &(struct reduce_attributes){FORGE_SUM, 1, 0, FORGE_F32}, &in, 1, &out, 1);
    assert_true(sum == (float)exact);
}

static void test_integers_wrap_and_keep_their_order(void **state)
{
    (void)state;
    int8_t data[4] = {-128, 127, -1, 127}, result;
    uint64_t large[3] = {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX}, greatest;
    int64_t place;
    struct view in = view_packed(FORGE_I8, data, forge_shape_of(4)),
                out = view_packed(FORGE_I8, &result, (forge_shape){0});
    static const struct {
        uint32_t kind;
        int result;
    } rows[] = {{FORGE_SUM, 125}, {FORGE_PRODUCT, -128}, {FORGE_MAXIMUM, 127}, {FORGE_MINIMUM, -128}};
    for (size_t i = 0; i < 4; i++) {
        run_reference(OP_REDUCE, &(struct reduce_attributes){rows[i].kind, 1, 0, FORGE_I8}, &in, 1, &out, 1);
        assert_int_equal(result, rows[i].result);
    }
    out = view_packed(FORGE_I64, &place, (forge_shape){0});
    run_reference(OP_REDUCE, &(struct reduce_attributes){FORGE_ARGMAX, 1, 0, FORGE_I8}, &in, 1, &out, 1);
    assert_int_equal(place, 1);
    in = view_packed(FORGE_U64, large, forge_shape_of(3));
    run_reference(OP_REDUCE, &(struct reduce_attributes){FORGE_ARGMAX, 1, 0, FORGE_U64}, &in, 1, &out, 1);
    assert_int_equal(place, 0);
    out = view_packed(FORGE_U64, &greatest, (forge_shape){0});
    run_reference(OP_REDUCE, &(struct reduce_attributes){FORGE_MINIMUM, 1, 0, FORGE_U64}, &in, 1, &out, 1);
    assert_true(greatest == UINT64_MAX - 1);
}

static void test_reductions_of_no_elements_give_the_neutral_element(void **state)
{
    (void)state;
    static const double wanted[FORGE_REDUCE_KINDS] = {0, NAN, -INFINITY, INFINITY, 1, 0};
    for (uint32_t kind = 0; kind < FORGE_REDUCE_KINDS; kind++) {
        double results[3] = {7, 7, 7};
        int64_t *places = (int64_t *)results;
        struct view in = view_packed(FORGE_F64, NULL, forge_shape_of(3, 0));
        struct view out =
            view_packed(kind == FORGE_ARGMAX ? FORGE_I64 : FORGE_F64, results, forge_shape_of(3));
        run_reference(OP_REDUCE, &(struct reduce_attributes){kind, 2, 0, FORGE_F64}, &in, 1, &out, 1);
        for (size_t i = 0; i < 3; i++)
            assert_true(kind == FORGE_ARGMAX
                            ? places[i] == 0
                            : results[i] == wanted[kind] || (isnan(results[i]) && isnan(wanted[kind])));
        out.shape = forge_shape_of(0); /* an empty result is valid, too */
        run_reference(OP_REDUCE, &(struct reduce_attributes){kind, 1, 0, FORGE_F64}, &in, 1, &out, 1);
    }
    int8_t lowest[1];
    struct view in = view_packed(FORGE_I8, NULL, forge_shape_of(0, 4)),
                out = view_packed(FORGE_I8, lowest, (forge_shape){0});
    run_reference(OP_REDUCE, &(struct reduce_attributes){FORGE_MAXIMUM, 3, 0, FORGE_I8}, &in, 1, &out, 1);
    assert_int_equal(lowest[0], -128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_type_and_axes),
        cmocka_unit_test(test_nan_and_infinities),
        cmocka_unit_test(test_sums_lose_nothing),
        cmocka_unit_test(test_integers_wrap_and_keep_their_order),
        cmocka_unit_test(test_reductions_of_no_elements_give_the_neutral_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
