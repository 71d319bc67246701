/* Checks unary and binary operations on floats against libm in long double, and select. Every kind, type and
 * memory layout is tested. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "forge/core/dtype.h"
#include "forge/reference/reference.h"
#include "support/views.h"

static const forge_dtype floats[] = {FORGE_F16, FORGE_BF16, FORGE_F32, FORGE_F64};
enum { FLOATS = 4 };

/* --- floats --------------------------------------------------------------------------------------------- */

/* Computes the formulas of <forge/unary.def> in long double. */
static long double unary_wanted(forge_unary_kind kind, long double x)
{
    const long double root_2_pi = sqrtl(2 / acosl(-1));
    switch (kind) {
    case FORGE_NEG:
        return -x;
    case FORGE_ABS:
        return fabsl(x);
    case FORGE_SIGN:
        return isnan(x) ? x : x > 0 ? 1 : x < 0 ? -1 : 0;
    case FORGE_RECIPROCAL:
        return 1 / x;
    case FORGE_SQUARE:
        return x * x;
    case FORGE_SQRT:
        return sqrtl(x);
    case FORGE_RSQRT:
        return 1 / sqrtl(x);
    case FORGE_EXP:
        return expl(x);
    case FORGE_EXPM1:
        return expm1l(x);
    case FORGE_LOG:
        return logl(x);
    case FORGE_LOG1P:
        return log1pl(x);
    case FORGE_SIN:
        return sinl(x);
    case FORGE_COS:
        return cosl(x);
    case FORGE_ERF:
        return erfl(x);
    case FORGE_FLOOR:
        return floorl(x);
    case FORGE_CEIL:
        return ceill(x);
    case FORGE_ROUND:
        return x - remainderl(x, 1);
    case FORGE_RELU:
        return isnan(x) ? x : x > 0 ? x : 0;
    case FORGE_SIGMOID:
        return 1 / (1 + expl(-x));
    case FORGE_TANH:
        return tanhl(x);
    case FORGE_SOFTPLUS:
        return log1pl(expl(x));
    case FORGE_SILU:
        return x / (1 + expl(-x));
    case FORGE_GELU:
        return x * 0.5L * erfcl(-x * sqrtl(0.5L));
    case FORGE_GELU_TANH:
        return x / (1 + expl(-2 * root_2_pi * (x + 0.044715L * x * x * x)));
    case FORGE_IS_NAN:
        return isnan(x);
    default:
        fail_msg("kind %d", kind);
        return 0;
    }
}

/* Asserts that the element is correct within one rounding of the type. of_doubles: allowed relative error of
 * f64. */
static void assert_close(forge_dtype dtype, const void *element, long double wanted, double of_doubles)
{
    unsigned char rounded[8];
    double number = (double)wanted, nearest, got;
    dtype_row(dtype)->store(rounded, 0, 1, &number);
    dtype_row(dtype)->load(rounded, 0, 1, &nearest);
    dtype_row(dtype)->load(element, 0, 1, &got);
    double error = dtype == FORGE_F64   ? of_doubles
                   : dtype == FORGE_F32 ? 0x1.01p-24
                   : dtype == FORGE_F16 ? 0x1.01p-11
                                        : 0x1.01p-8;
    double min_error = dtype == FORGE_F64 ? 1e-322 : dtype == FORGE_F16 ? 0x1.01p-25 : 1e-40;
    bool is_same = isnan(nearest) ? isnan(got) : got == nearest;
    if (!is_same && !(fabsl(got - wanted) <= (long double)error * fabsl(wanted) + (long double)min_error))
        fail_msg("%s: %.17g, not %.17g", forge_dtype_name(dtype), got, nearest);
}

static const double chosen[] = {0.0, -0.0, 1,  -1,  0.5, -0.5, 1.5, 2.5, -2.5, 1e-7,  -1e-7, 3e-5,
                                10,  -10,  30, -30, 60,  -60,  88,  -88, 1000, -1000, 60000, -60000};
enum { CHOSEN = sizeof chosen / sizeof chosen[0], NUMBERS = 600 };

static void fill_numbers(forge_dtype dtype, void *data, double *out_exact)
{
    for (size_t i = 0; i < NUMBERS; i++)
        out_exact[i] =
            i < CHOSEN ? chosen[i] : ((double)(random_bits() >> 11) * 0x1p-53 - 0.5) * (i % 3 ? 8 : 80);
    dtype_row(dtype)->store(data, 0, NUMBERS, out_exact);
    dtype_row(dtype)->load(data, 0, NUMBERS, out_exact);
}

/* Returns the allowed relative error of f64. The exponent in gelu is itself rounded, so the error grows with
 * the exponent. */
static double error_of(uint32_t kind, double x)
{
    bool is_steep = kind == FORGE_GELU || kind == FORGE_GELU_TANH;
    return is_steep ? 1e-15 + 4e-16 * fabs(x * x * x) : 1e-15;
}

static void test_unary_operations_of_floats_equal_the_definition(void **state)
{
    (void)state;
    for (size_t t = 0; t < FLOATS; t++)
        for (uint32_t kind = 0; kind < FORGE_UNARY_KINDS; kind++) {
            double x[NUMBERS], data[NUMBERS], results[NUMBERS];
            forge_dtype gives = kind == FORGE_IS_NAN ? FORGE_BOOL : floats[t];
            if (kind == FORGE_NOT)
                continue;
            fill_numbers(floats[t], data, x);
            struct view in = view_packed(floats[t], data, forge_shape_of(2, NUMBERS / 2));
            struct view out = view_packed(gives, results, in.shape);
            run_reference(OP_UNARY, &(struct kind_attributes){kind}, &in, 1, &out, 1);
            for (size_t i = 0; i < NUMBERS; i++)
                if (gives == FORGE_BOOL)
                    assert_int_equal(((unsigned char *)results)[i], 0);
                else
                    assert_close(gives, view_address(&out, &out.shape, i),
                                 unary_wanted((forge_unary_kind)kind, x[i]), error_of(kind, x[i]));
        }
}

static double unary(uint32_t kind, double x)
{
    double result;
    struct view in = view_packed(FORGE_F64, &x, (forge_shape){0}),
                out = view_packed(FORGE_F64, &result, (forge_shape){0});
    run_reference(OP_UNARY, &(struct kind_attributes){kind}, &in, 1, &out, 1);
    return result;
}

static void test_unary_operations_of_nan_and_infinity_equal_the_definition(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < FORGE_UNARY_KINDS; kind++)
        if (kind != FORGE_NOT && kind != FORGE_IS_NAN)
            assert_true(isnan(unary(kind, NAN)));
    assert_true(unary(FORGE_RSQRT, 0) == INFINITY);
    assert_true(unary(FORGE_RSQRT, INFINITY) == 0);
    assert_true(unary(FORGE_RECIPROCAL, -0.0) == -INFINITY);
    assert_true(isnan(unary(FORGE_LOG, -1)));
    assert_true(unary(FORGE_LOG, 0) == -INFINITY);
    assert_true(unary(FORGE_SIGMOID, -INFINITY) == 0);
    assert_true(unary(FORGE_SIGMOID, INFINITY) == 1);
    assert_true(unary(FORGE_SIGMOID, -740) > 0); /* e^740 overflows, but the result must not be 0 */
    assert_true(unary(FORGE_SOFTPLUS, 1e300) == 1e300);
    assert_true(unary(FORGE_SOFTPLUS, -INFINITY) == 0);
    assert_true(unary(FORGE_SILU, INFINITY) == INFINITY);
    assert_true(unary(FORGE_GELU, INFINITY) == INFINITY);
    assert_true(unary(FORGE_GELU, -20) < 0); /* the result is small, but not flushed to 0 */
    assert_true(unary(FORGE_GELU_TANH, -10) < 0);
    assert_true(unary(FORGE_GELU_TANH, 1e200) == 1e200);
    assert_true(unary(FORGE_RELU, INFINITY) == INFINITY);
    assert_true(unary(FORGE_ROUND, 0.5) == 0 && unary(FORGE_ROUND, 1.5) == 2 &&
                unary(FORGE_ROUND, -2.5) == -2);
    float in_data[4] = {NAN, INFINITY, 0, -NAN};
    unsigned char out_data[4];
    struct view in = view_packed(FORGE_F32, in_data, forge_shape_of(4)),
                out = view_packed(FORGE_BOOL, out_data, in.shape);
    run_reference(OP_UNARY, &(struct kind_attributes){FORGE_IS_NAN}, &in, 1, &out, 1);
    assert_memory_equal(out_data, "\1\0\0\1", 4);
}

static double binary(uint32_t kind, double a, double b)
{
    double result = 0;
    unsigned char truth = 0;
    bool compares = kind >= FORGE_EQ;
    struct view in[2] = {view_packed(FORGE_F64, &a, (forge_shape){0}),
                         view_packed(FORGE_F64, &b, (forge_shape){0})};
    struct view out =
        view_packed(compares ? FORGE_BOOL : FORGE_F64, compares ? (void *)&truth : &result, (forge_shape){0});
    run_reference(OP_BINARY, &(struct kind_attributes){kind}, in, 2, &out, 1);
    return compares ? truth : result;
}

static void test_binary_numbers_by_hand(void **state)
{
    (void)state;
    for (uint32_t kind = 0; kind < FORGE_BINARY_KINDS; kind++) {
        if (kind == FORGE_AND || kind == FORGE_OR || kind == FORGE_XOR)
            continue;
        double left = binary(kind, NAN, 2), right = binary(kind, 2, NAN), both = binary(kind, NAN, NAN);
        if (kind >= FORGE_EQ)
            assert_true(left == right && left == both && both == (kind == FORGE_NE));
        else
            assert_true(isnan(left) && isnan(right) && isnan(both));
    }
    assert_true(binary(FORGE_MAX, -INFINITY, 3) == 3 && binary(FORGE_MIN, -INFINITY, 3) == -INFINITY);
    assert_true(binary(FORGE_POW, 2, -2) == 0.25 && binary(FORGE_POW, NAN, 0) == 1 &&
                isnan(binary(FORGE_POW, -8, 0.5)));
    assert_true(binary(FORGE_DIV, 1, 0) == INFINITY && isnan(binary(FORGE_DIV, 0, 0)));
    assert_true(binary(FORGE_MOD, 7, 3) == 1 && binary(FORGE_MOD, -7, 3) == 2 &&
                binary(FORGE_MOD, 7, -3) == -2);
    assert_true(binary(FORGE_MOD, -7, -3) == -1 && isnan(binary(FORGE_MOD, 1, 0)));
    assert_true(binary(FORGE_MOD, 1, INFINITY) == 1 && binary(FORGE_MOD, 1, -INFINITY) == -INFINITY);
    assert_true(signbit(binary(FORGE_MOD, 6, -3)) && !signbit(binary(FORGE_MOD, -6, 3)));
    assert_true(binary(FORGE_EQ, 0.0, -0.0) == 1 && binary(FORGE_LE, 1, 1) == 1 &&
                binary(FORGE_LT, 1, 1) == 0);
    assert_true(binary(FORGE_GT, 2, 1) == 1 && binary(FORGE_GE, 1, 2) == 0);
}

static long double binary_wanted(forge_binary_kind kind, double a, double b)
{
    long double x = a, y = b;
    switch (kind) {
    case FORGE_ADD:
        return x + y;
    case FORGE_SUB:
        return x - y;
    case FORGE_MUL:
        return x * y;
    case FORGE_DIV:
        return x / y;
    case FORGE_POW:
        return powl(x, y);
    case FORGE_MAX:
        return x > y ? x : y;
    case FORGE_MIN:
        return x < y ? x : y;
    case FORGE_MOD:
        return x - y * floorl(x / y);
    case FORGE_EQ:
        return x == y;
    case FORGE_NE:
        return x != y;
    case FORGE_LT:
        return x < y;
    case FORGE_LE:
        return x <= y;
    case FORGE_GT:
        return x > y;
    case FORGE_GE:
        return x >= y;
    default:
        fail_msg("kind %d", kind);
        return 0;
    }
}

/* One operand has a reversed dimension, a repeated one and gaps. The other operand lacks a dimension. */
static void test_binary_operations_of_any_views_equal_the_definition(void **state)
{
    (void)state;
    const forge_shape shape = forge_shape_of(3, 4, 70);
    for (size_t t = 0; t < FLOATS; t++)
        for (uint32_t kind = 0; kind < FORGE_BINARY_KINDS; kind++) {
            double numbers[NUMBERS], data[NUMBERS], more[NUMBERS], results[3 * 4 * 70];
            if (kind == FORGE_AND || kind == FORGE_OR || kind == FORGE_XOR)
                continue;
            size_t size = forge_dtype_block_bytes(floats[t]);
            for (size_t i = 0; i < NUMBERS;
                 i++) /* numbers are small, so that some are equal and quotients of MOD are exact */
                numbers[i] = (double)(random_bits() % 64) / 8 + 0.125;
            dtype_row(floats[t])->store(data, 0, NUMBERS, numbers);
            dtype_row(floats[t])->store(more, 1, NUMBERS - 1, numbers);
            struct view in[2] = {
                {(char *)data + 590 * size, floats[t], shape, {-200, 0, -2}},
                {(char *)more + size, floats[t], forge_shape_of(4, 1), {3, 99}},
            };
            struct view out = view_packed(kind >= FORGE_EQ ? FORGE_BOOL : floats[t], results, shape);
            run_reference(OP_BINARY, &(struct kind_attributes){kind}, in, 2, &out, 1);
            for (size_t i = 0; i < 3 * 4 * 70; i++) {
                double a, b;
                dtype_row(floats[t])->load(view_address(&in[0], &shape, i), 0, 1, &a);
                dtype_row(floats[t])->load(view_address(&in[1], &shape, i), 0, 1, &b);
                long double wanted = binary_wanted((forge_binary_kind)kind, a, b);
                if (kind >= FORGE_EQ)
                    assert_int_equal(((unsigned char *)results)[i], wanted != 0);
                else
                    assert_close(floats[t], view_address(&out, &shape, i), wanted, 1e-15);
            }
        }
}

/* --- select ---------------------------------------------------------------------------------------- */

static void test_select_equals_the_definition(void **state)
{
    (void)state;
    unsigned char condition[300], data[300 * 8], other[8], results[600 * 8];
    for (forge_dtype dtype = FORGE_BOOL; dtype <= FORGE_F64; dtype++) {
        size_t size = forge_dtype_block_bytes(dtype);
        for (size_t i = 0; i < sizeof data; i++) /* bytes are random, so some NaNs have a payload */
            data[i] = (unsigned char)random_bits();
        for (size_t i = 0; i < 300; i++)
            condition[i] = random_bits() % 2;
        memcpy(other, data + 40, 8);
        struct view in[3] = {view_packed(FORGE_BOOL, condition, forge_shape_of(300)),
                             {data + 299 * size, dtype, forge_shape_of(2, 300), {0, -1}},
                             view_packed(dtype, other, (forge_shape){0})};
        struct view out = view_packed(dtype, results, forge_shape_of(2, 300));
        run_reference(OP_SELECT, &(struct no_attributes){0}, in, 3, &out, 1);
        for (size_t i = 0; i < 600; i++)
            assert_memory_equal(results + i * size,
                                view_address(&in[condition[i % 300] ? 1 : 2], &out.shape, i), size);
    }
}

/* --- empty values, and the program's own place ---------------------------------------------------------- */

static void test_operands_without_elements_are_accepted(void **state)
{
    (void)state;
    struct view in[3] = {view_packed(FORGE_BOOL, NULL, forge_shape_of(3, 0)),
                         view_packed(FORGE_F32, NULL, forge_shape_of(3, 0)),
                         view_packed(FORGE_F32, NULL, forge_shape_of(1, 0))};
    struct view out = view_packed(FORGE_F32, NULL, forge_shape_of(3, 0));
    char none[1];
    out.data = none;
    run_reference(OP_UNARY, &(struct kind_attributes){FORGE_EXP}, &in[1], 1, &out, 1);
    run_reference(OP_BINARY, &(struct kind_attributes){FORGE_ADD}, &in[1], 2, &out, 1);
    run_reference(OP_SELECT, &(struct no_attributes){0}, in, 3, &out, 1);
    run_reference(OP_CAST, &(struct cast_attributes){FORGE_F32}, &in[0], 1, &out, 1);
}

static void test_result_may_replace_an_operand(void **state)
{
    (void)state;
    float data[1000];
    for (size_t i = 0; i < 1000; i++)
        data[i] = (float)i;
    struct view view = view_packed(FORGE_F32, data, forge_shape_of(10, 100)), in[2] = {view, view};
    struct launch launch = {OP_BINARY, &(struct kind_attributes){FORGE_ADD}, in, 2, &view, 1};
    reference_of(OP_BINARY)(&launch, 0, launch_rows(&launch));
    for (size_t i = 0; i < 1000; i++)
        assert_true(data[i] == 2 * (float)i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary_operations_of_floats_equal_the_definition),
        cmocka_unit_test(test_unary_operations_of_nan_and_infinity_equal_the_definition),
        cmocka_unit_test(test_binary_numbers_by_hand),
        cmocka_unit_test(test_binary_operations_of_any_views_equal_the_definition),
        cmocka_unit_test(test_select_equals_the_definition),
        cmocka_unit_test(test_operands_without_elements_are_accepted),
        cmocka_unit_test(test_result_may_replace_an_operand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
