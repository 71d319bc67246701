/* Checks gradients against finite differences in double: every operation, mode and kind of broadcasting, and
 * compositions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "support/check.h"
#include "support/derivative.h"

/* --- element by element --------------------------------------------------------------------------------- */

static forge_value unary(forge_builder *b, const forge_value *x, int kind)
{
    return forge_unary(b, (forge_unary_kind)kind, x[0]);
}

static void test_slopes_of_unary_operations_equal_differences(void **state)
{
    (void)state;
    for (int kind = 0; kind < FORGE_UNARY_KINDS; kind++) {
        if (kind == FORGE_NOT || kind == FORGE_IS_NAN)
            continue;
        bool is_positive =
            kind == FORGE_SQRT || kind == FORGE_RSQRT || kind == FORGE_LOG || kind == FORGE_RECIPROCAL;
        bool is_smooth = kind != FORGE_ABS && kind != FORGE_SIGN && kind != FORGE_FLOOR &&
                         kind != FORGE_CEIL && kind != FORGE_ROUND && kind != FORGE_RELU;
        struct function f = {"unary", unary,    kind, 1, {forge_shape_of(3, 5)}, is_positive ? 0.3 : -2.1,
                             2.3,     is_smooth};
        if (kind == FORGE_LOG1P)
            f.low = -0.6;
        derivative_check(&f);
    }
}

static forge_value binary(forge_builder *b, const forge_value *x, int kind)
{
    return forge_binary(b, (forge_binary_kind)kind, x[0], x[1]);
}

static void test_slopes_of_binary_operations_equal_differences(void **state)
{
    (void)state;
    static const int kinds[] = {FORGE_ADD, FORGE_SUB, FORGE_MUL, FORGE_DIV,
                                FORGE_POW, FORGE_MAX, FORGE_MIN, FORGE_MOD};
    forge_shape shapes[][2] = {
        {forge_shape_of(2, 3), forge_shape_of(2, 3)},    {forge_shape_of(2, 3), forge_shape_of(3)},
        {forge_shape_of(3), forge_shape_of(2, 1)},       {forge_shape_of(2, 3), {0}},
        {forge_shape_of(1, 3), forge_shape_of(2, 1, 1)}, {forge_shape_of(0, 3), forge_shape_of(3)}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            struct function f = {
                "binary", binary, kinds[k], 2, {shapes[s][0], shapes[s][1]}, 0.3, 2.2, kinds[k] <= FORGE_POW};
            derivative_check(&f);
        }
}

static forge_value chosen(forge_builder *b, const forge_value *x, int kind)
{
    (void)kind;
    return forge_select(b, forge_binary(b, FORGE_GT, x[0], x[1]), forge_mul(b, x[0], x[0]), x[2]);
}

static forge_value twice_cast(forge_builder *b, const forge_value *x, int kind)
{
    (void)kind; /* a cast through i64 has no gradient; a cast from f64 to f64 would be no node */
    forge_value whole = forge_cast(b, FORGE_F64, forge_cast(b, FORGE_I64, x[0]));
    return forge_add(b, forge_mul(b, x[0], x[0]), whole);
}

static void test_slopes_of_select_and_cast_equal_differences(void **state)
{
    (void)state;
    derivative_check(&(struct function){"select",
                                        chosen,
                                        0,
                                        3,
                                        {forge_shape_of(2, 3), forge_shape_of(3), forge_shape_of(2, 1)},
                                        -1,
                                        1,
                                        true});
    derivative_check(&(struct function){"cast", twice_cast, 0, 1, {forge_shape_of(4)}, 0.2, 0.9, true});
}

/* --- across elements ------------------------------------------------------------------------------------ */

static forge_value reduced(forge_builder *b, const forge_value *x, int kind)
{
    uint32_t axes = (uint32_t)kind >> 4 & 7;
    return forge_reduce(b, (forge_reduce_kind)(kind & 7), x[0], axes, kind & 8);
}

static void test_slopes_of_reductions_equal_differences(void **state)
{
    (void)state;
    for (int kind = FORGE_SUM; kind <= FORGE_PRODUCT; kind++)
        for (int axes = 0; axes < 8; axes++)
            for (int keeps = 0; keeps < 2; keeps++) {
                bool is_smooth = kind == FORGE_SUM || kind == FORGE_MEAN || kind == FORGE_PRODUCT;
                derivative_check(&(struct function){"reduce",
                                                    reduced,
                                                    kind | keeps << 3 | axes << 4,
                                                    1,
                                                    {forge_shape_of(2, 3, 2)},
                                                    -1.5,
                                                    1.5,
                                                    is_smooth});
            }
}

static forge_value zero_product(forge_builder *b, const forge_value *x, int kind)
{
    (void)kind; /* the rows have zero, one and two factors that are exactly 0 */
    double numbers[] = {1, 1, 1, 0, 1, 1, 0, 0, 1};
    forge_tensor mask;
    forge_shape shape = forge_shape_of(3, 3);
    assert_int_equal(forge_tensor_new(FORGE_F64, &shape, &mask, NULL), JOULE_OK);
    memcpy(forge_tensor_data(&mask), numbers, sizeof numbers);
    forge_value m = forge_constant(b, &mask);
    forge_buffer_release(mask.buffer);
    forge_value one = forge_scalar(b, FORGE_F64, 1);
    /* Subtract x0 where the mask is 0. The factor is then 0 at the tested point, but still a function of
     * x. */
    forge_value moved = forge_sub(b, x[0], forge_mul(b, x[1], forge_sub(b, one, m)));
    return forge_reduce(b, FORGE_PRODUCT, moved, 2, false);
}

static void test_slopes_of_products_with_zeros_equal_differences(void **state)
{
    (void)state;
    struct function f = {"product with zeros",
                         zero_product,
                         0,
                         2,
                         {forge_shape_of(3, 3), forge_shape_of(3, 3)},
                         0.5,
                         1.5,
                         false};
    struct trial t = {0};
    derivative_begin(&t, &f);
    memcpy(forge_tensor_data(&t.x[1]), forge_tensor_data(&t.x[0]), 9 * sizeof(double));
    derivative_compare(&t, &f, 0, "loss", 'g');
    derivative_end(&t, &f);
}

static forge_value product(forge_builder *b, const forge_value *x, int kind)
{
    return forge_matmul(b, x[0], x[1], (uint32_t)kind);
}

static void test_slopes_of_matrix_products_equal_differences(void **state)
{
    (void)state;
    for (int flags = 0; flags < 4; flags++) {
        bool ta = flags & FORGE_TRANSPOSE_A, tb = flags & FORGE_TRANSPOSE_B;
        forge_shape a = ta ? forge_shape_of(3, 2) : forge_shape_of(2, 3),
                    c = tb ? forge_shape_of(4, 3) : forge_shape_of(3, 4);
        derivative_check(&(struct function){"matmul", product, flags, 2, {a, c}, -1, 1, true});
        forge_shape wide_a = forge_shape_of(2, 1, a.dims[0], a.dims[1]),
                    wide_c = forge_shape_of(3, c.dims[0], c.dims[1]);
        derivative_check(
            &(struct function){"matmul of batches", product, flags, 2, {wide_a, wide_c}, -1, 1, true});
    }
    derivative_check(&(struct function){
        "matmul of nothing", product, 0, 2, {forge_shape_of(2, 0), forge_shape_of(0, 3)}, -1, 1, true});
}

/* --- moving, composing ---------------------------------------------------------------------------------- */

static forge_value moved(forge_builder *b, const forge_value *x, int kind)
{
    static const uint32_t order[] = {2, 0, 1};
    forge_value y = forge_transpose(b, x[0], order); /* [4,2,3] */
    if (kind == 1)
        y = forge_reshape(b, y, forge_shape_of(4, 6));
    if (kind == 2)
        y = forge_broadcast(b, forge_reshape(b, y, forge_shape_of(4, 1, 6)), forge_shape_of(2, 4, 3, 6));
    return forge_unary(b, FORGE_SQUARE, y);
}

static void test_slopes_of_shape_operations_equal_differences(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++)
        derivative_check(&(struct function){"moves", moved, kind, 1, {forge_shape_of(2, 3, 4)}, -1, 1, true});
}

static forge_value same_twice_body(forge_builder *b, const forge_value *x, size_t count, const void *context)
{
    (void)count, (void)context;
    return forge_mul(b, forge_exp(b, x[0]), forge_unary(b, FORGE_SIN, x[1]));
}

/* kind 0: both operands of the composite are the same value. kind 1: the operands differ. kind 2: one operand
 * is the result of another composite. */
static forge_value composed(forge_builder *b, const forge_value *x, int kind)
{
    forge_value inputs[] = {x[0], kind == 0 ? x[0] : kind == 1 ? forge_exp(b, x[0]) : x[0]};
    forge_value y = forge_composite(b, "same_twice", inputs, 2, same_twice_body, NULL);
    return kind == 2 ? forge_composite(b, "same_twice", (forge_value[]){y, x[0]}, 2, same_twice_body, NULL)
                     : y;
}

/* Returns three values, two of which are the same. */
static void three_values_body(forge_builder *b, const forge_value *x, size_t count, const void *context,
                              forge_value *out_values)
{
    (void)count, (void)context;
    forge_value product = forge_mul(b, forge_exp(b, x[0]), x[1]);
    out_values[0] = product;
    out_values[1] = forge_unary(b, FORGE_SIN, x[1]);
    out_values[2] = product;
}

/* Uses all of a composite's values, only its second, or its first and third. */
static forge_value composed_of_many(forge_builder *b, const forge_value *x, int kind)
{
    forge_value y[3];
    forge_composite_many(b, "three_values", x, 2, three_values_body, NULL, y, 3);
    forge_value sum = forge_mul(b, y[0], forge_unary(b, FORGE_SQUARE, y[2]));
    return kind == 0 ? forge_mul(b, sum, y[1]) : kind == 1 ? y[1] : sum;
}

static forge_value softmax(forge_builder *b, const forge_value *x, int kind)
{
    (void)kind;
    return forge_log_softmax(b, x[0]);
}

static forge_value entropy(forge_builder *b, const forge_value *x, int kind)
{
    (void)kind;
    return forge_cross_entropy(b, x[0], forge_iota(b, FORGE_I64, forge_shape_of(4), 0));
}

static void test_slopes_of_composites_equal_differences(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++)
        derivative_check(
            &(struct function){"composite", composed, kind, 1, {forge_shape_of(2, 3)}, -1, 1, true});
    for (int kind = 0; kind < 3; kind++)
        derivative_check(&(struct function){"composite of many",
                                            composed_of_many,
                                            kind,
                                            2,
                                            {forge_shape_of(2, 3), forge_shape_of(2, 3)},
                                            -1,
                                            1,
                                            true});
    derivative_check(&(struct function){"log_softmax", softmax, 0, 1, {forge_shape_of(2, 5)}, -3, 3, true});
    derivative_check(&(struct function){"cross_entropy", entropy, 0, 1, {forge_shape_of(4, 5)}, -3, 3, true});
}

/* --- kinks and ties ------------------------------------------------------------------------------------- */

static void expect(struct function f, const double *at0, const double *at1, const double *want0,
                   const double *want1)
{
    struct trial t = {0};
    forge_tensor g;
    derivative_begin(&t, &f);
    size_t count = forge_tensor_elements(&t.x[0]);
    memcpy(forge_tensor_data(&t.x[0]), at0, count * sizeof *at0);
    if (at1)
        memcpy(forge_tensor_data(&t.x[1]), at1, count * sizeof *at1);
    derivative_run(&t, &f);
    assert_int_equal(forge_instance_get(t.instance, "g0", &g, NULL), JOULE_OK);
    for (size_t i = 0; i < count; i++)
        assert_true(((double *)forge_tensor_data(&g))[i] == want0[i]);
    if (want1) {
        assert_int_equal(forge_instance_get(t.instance, "g1", &g, NULL), JOULE_OK);
        for (size_t i = 0; i < count; i++)
            assert_true(((double *)forge_tensor_data(&g))[i] == want1[i]);
    }
    derivative_end(&t, &f);
}

static forge_value summed_unary(forge_builder *b, const forge_value *x, int kind)
{
    return forge_div(b, unary(b, x, kind), forge_scalar(b, FORGE_F64, 1));
}

static void test_kinks_have_a_defined_slope(void **state)
{
    (void)state;
    /* Results are multiplied by the trial's weights. Exact bits can therefore be compared only if the slope
     * is 0 or the ratio is known. */
    double zero = 0, none = 0;
    struct function relu = {"relu at 0", summed_unary, FORGE_RELU, 1, {forge_shape_of(1)}, 0, 0, false};
    expect(relu, &zero, NULL, &none, NULL);
    struct function absolute = {"abs at 0", summed_unary, FORGE_ABS, 1, {forge_shape_of(1)}, 0, 0, false};
    expect(absolute, &zero, NULL, &none, NULL);
}

/* Computes the slopes of a binary operation at the point (x, z), times the trial's weight. */
static void slopes_at(int kind, double x, double z, double out[2])
{
    struct function f = {"a place", binary, kind, 2, {forge_shape_of(1), forge_shape_of(1)}, 0, 0, false};
    struct trial t = {0};
    forge_tensor g;
    derivative_begin(&t, &f);
    *(double *)forge_tensor_data(&t.x[0]) = x;
    *(double *)forge_tensor_data(&t.x[1]) = z;
    derivative_run(&t, &f);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(forge_instance_get(t.instance, i ? "g1" : "g0", &g, NULL), JOULE_OK);
        out[i] = *(double *)forge_tensor_data(&g);
    }
    derivative_end(&t, &f);
}

static void test_slopes_at_ends_of_ranges_are_defined(void **state)
{
    (void)state;
    double slopes[2];
    /* the double 0.1 is slightly above 1/10, so it fits into 1 only nine times, although 1 / 0.1 rounds to
     * 10 */
    slopes_at(FORGE_MOD, 1, 0.1, slopes);
    assert_true(slopes[0] != 0 && slopes[1] == -9 * slopes[0]);
    slopes_at(FORGE_POW, 0, 2, slopes);
    assert_true(slopes[0] == 0 && slopes[1] == 0);
    slopes_at(FORGE_POW, 0, -1, slopes);
    assert_true(isinf(slopes[0]) && isinf(slopes[1]));
}

static void test_equal_maxima_share_the_slope(void **state)
{
    (void)state;
    struct function max = {
        "max of equals", binary, FORGE_MAX, 2, {forge_shape_of(1), forge_shape_of(1)}, 1, 1, false};
    struct function maximum = {
        "maximum of equals", reduced, FORGE_MAXIMUM | 1 << 4, 1, {forge_shape_of(4)}, 1, 1, false};
    struct trial t = {0};
    forge_tensor a, c;
    derivative_begin(&t, &max);
    derivative_run(&t, &max);
    forge_instance_get(t.instance, "g0", &a, NULL);
    forge_instance_get(t.instance, "g1", &c, NULL);
    double half = *(double *)forge_tensor_data(&a);
    assert_true(half != 0 && half == *(double *)forge_tensor_data(&c));
    derivative_end(&t, &max);
    derivative_begin(&t, &maximum);
    derivative_run(&t, &maximum);
    forge_instance_get(t.instance, "g0", &a, NULL);
    for (int i = 0; i < 4; i++)
        assert_true(((double *)forge_tensor_data(&a))[i] ==
                    half / 2); /* the gradient is 1/4 of the weight, not 1/2 */
    derivative_end(&t, &maximum);
}

static void test_no_dependence_gives_zeros(void **state)
{
    (void)state;
    joule_error error;
    forge_graph *graph = NULL;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2)),
                y = forge_input(b, "y", FORGE_F32, forge_shape_of(3)), g;
    forge_gradients(b, forge_reduce(b, FORGE_SUM, x, 1, false), &y, 1, &g);
    forge_shape shape = forge_value_shape(b, g);
    assert_true(shape.rank == 1 && shape.dims[0] == 3);
    forge_gradients(b, x, &y, 1, &g);
    assert_int_equal(forge_builder_finish(b, &graph, &error), JOULE_INVALID);
    assert_contains(error.message, "one float");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slopes_of_unary_operations_equal_differences),
        cmocka_unit_test(test_slopes_of_binary_operations_equal_differences),
        cmocka_unit_test(test_slopes_of_select_and_cast_equal_differences),
        cmocka_unit_test(test_slopes_of_reductions_equal_differences),
        cmocka_unit_test(test_slopes_of_products_with_zeros_equal_differences),
        cmocka_unit_test(test_slopes_of_matrix_products_equal_differences),
        cmocka_unit_test(test_slopes_of_shape_operations_equal_differences),
        cmocka_unit_test(test_slopes_of_composites_equal_differences),
        cmocka_unit_test(test_kinks_have_a_defined_slope),
        cmocka_unit_test(test_slopes_at_ends_of_ranges_are_defined),
        cmocka_unit_test(test_equal_maxima_share_the_slope),
        cmocka_unit_test(test_no_dependence_gives_zeros),
    };
    return cmocka_run_group_tests_name("gradient", tests, NULL, NULL);
}
