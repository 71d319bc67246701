/* Tests the distributions against mpmath 1.3 (30 digits: betainc, ncdf, findroot). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "joule/stats/distribution.h"
#include "support/check.h"

#define RELATIVE 1e-10

/* Fails unless two numbers agree to ten digits. */
static void assert_same(double value, double expected)
{
    assert_near(value / expected, 1, RELATIVE);
}

static void test_student_cdf_equals_mpmath(void **state)
{
    (void)state;
    static const double rows[][3] = {
        {-1, 1, 0.25},
        {-2.5, 0.5, 0.20048526452664659},
        {-2, 3, 0.069662984279421588},
        {-4.5, 7.3, 0.0012596868666213987},
        {1.7, 12.5, 0.94307050816310597},
        {-10, 29, 3.2999312882167562e-11},
        {-3, 1000, 0.0013833545221190962},
        {-40, 5, 9.2059810858864772e-8},
        {-5, 1e6, 2.8669989354453708e-7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_same(student_cdf(rows[i][0], rows[i][1]), rows[i][2]);
}

static void test_student_quantile_equals_mpmath(void **state)
{
    (void)state;
    static const double rows[][3] = {
        {0.025, 1, -12.706204736174704},   {0.025, 4, -2.7764451051977943},
        {0.975, 9, 2.262157162798205},     {0.001, 2.2, -17.893611839626569},
        {0.995, 29.5, 2.7531332702563245}, {1e-12, 10, -40.532096178662597},
        {0.3, 0.7, -0.8354411557069624},   {0.025, 1e6, -1.959966356814107},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_same(student_quantile(rows[i][0], rows[i][1]), rows[i][2]);
}

static void test_normal_equals_mpmath(void **state)
{
    (void)state;
    assert_same(normal_cdf(-1), 0.15865525393145705);
    assert_same(normal_cdf(-8), 6.2209605742717841e-16);
    assert_same(normal_cdf(-20), 2.7536241186062337e-89);
    assert_same(normal_cdf(2.5), 0.99379033467422386);
    assert_same(normal_quantile(0.025), -1.9599639845400542);
    assert_same(normal_quantile(1e-10), -6.3613409024040562);
    assert_same(normal_quantile(0.6), 0.25334710313579974);
    assert_same(normal_quantile(1e-100), -21.273453560965324);
}

static void test_quantile_is_the_inverse(void **state)
{
    (void)state;
    for (double freedom = 0.5; freedom < 1e5; freedom *= 1.7)
        for (double p = 1e-9; p < 0.999; p += p < 0.01 ? 9 * p : 0.03) {
            assert_near(student_cdf(student_quantile(p, freedom), freedom) / p, 1, RELATIVE);
            assert_near(student_quantile(1 - p, freedom), -student_quantile(p, freedom),
                        1e-6 * fabs(student_quantile(p, freedom)) + 1e-9);
        }
}

static void test_cdf_never_decreases(void **state)
{
    (void)state;
    for (double freedom = 0.5; freedom < 1e9; freedom *= 3) {
        double last = 0;
        for (double t = -60; t < 60; t += 0.0937) {
            double p = student_cdf(t, freedom);
            assert_true(p >= last - 1e-15 && p <= 1);
            last = p;
        }
    }
}

static void test_many_degrees_of_freedom_approach_the_normal_distribution(void **state)
{
    (void)state;
    assert_near(student_quantile(0.975, 1e8), normal_quantile(0.975), 1e-7);
    assert_near(student_cdf(-2, 2e8), normal_cdf(-2), 1e-9);
    assert_near(student_cdf(-2, INFINITY), normal_cdf(-2), 0);
}

static void test_edges(void **state)
{
    (void)state;
    assert_true(normal_quantile(0) == -INFINITY && normal_quantile(1) == INFINITY);
    assert_true(student_quantile(0, 3) == -INFINITY && student_quantile(1, 3) == INFINITY);
    assert_near(student_quantile(0.5, 3), 0, 0);
    assert_near(student_cdf(0, 3), 0.5, 0);
    assert_near(student_cdf(-INFINITY, 3), 0, 0);
    assert_near(student_cdf(INFINITY, 3), 1, 0);
    assert_near(student_cdf(1e200, 3), 1, 0);
    assert_true(isnan(normal_quantile(-0.1)) && isnan(normal_quantile(NAN)));
    assert_true(isnan(student_cdf(1, 0)) && isnan(student_cdf(NAN, 2)) && isnan(student_cdf(1, NAN)));
    assert_true(isnan(student_quantile(0.3, -1)) && isnan(student_quantile(1.1, 2)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_student_cdf_equals_mpmath),
        cmocka_unit_test(test_student_quantile_equals_mpmath),
        cmocka_unit_test(test_normal_equals_mpmath),
        cmocka_unit_test(test_quantile_is_the_inverse),
        cmocka_unit_test(test_cdf_never_decreases),
        cmocka_unit_test(test_many_degrees_of_freedom_approach_the_normal_distribution),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
