/* Tests joint p-values of dependent tests, and the correction of energy, time, power and their product. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "joule/stats/compare.h"
#include "joule/stats/joint.h"
#include "support/check.h"
#include "support/simulation.h"

#define RIGHT_ANGLE 1.57079632679489662
#define MANY        1e9 /* degrees of freedom: the normal distribution */

static void test_equal_directions_count_as_one_test(void **state)
{
    (void)state;
    const double angles[] = {0.3, 0.3, 0.3, 0.3 + 2 * RIGHT_ANGLE};
    assert_near(joint_p(angles, 1, 0.03, 7), 0.03, 0);
    assert_near(joint_p(angles, 4, 0.03, MANY), 0.03, 1e-4);
    assert_true(joint_p(angles, 4, 0.03, 7) >= 0.03);
}

static void test_independent_tests_multiply(void **state)
{
    (void)state;
    const double angles[] = {0, RIGHT_ANGLE};
    for (double p = 0.001; p < 0.9; p *= 2)
        assert_near(joint_p(angles, 2, p, MANY), 1 - (1 - p) * (1 - p), 1e-3 * p);
}

static void test_the_result_is_between_one_test_and_the_sum_of_all(void **state)
{
    (void)state;
    struct generator generator = {SIMULATION_SEED};
    for (int i = 0; i < 1000; i++) {
        double angles[JOINT_MAX_TESTS], p = simulated_uniform(&generator);
        double freedom = 1 + 50 * simulated_uniform(&generator);
        for (int k = 0; k < JOINT_MAX_TESTS; k++)
            angles[k] = 7 * simulated_normal(&generator);
        double joint = joint_p(angles, JOINT_MAX_TESTS, p, freedom);
        assert_true(joint >= p && joint <= fmin(1, JOINT_MAX_TESTS * p));
    }
}

static void test_unknown_values_and_limits(void **state)
{
    (void)state;
    const double angles[] = {0, 1};
    assert_true(isnan(joint_p(angles, 2, NAN, 5)));
    assert_true(isnan(joint_p(angles, 2, 0.5, NAN)));
    assert_near(joint_p(angles, 2, 0, 5), 0, 0);
    assert_near(joint_p(angles, 2, 1, 5), 1, 0);
    assert_true(joint_p(angles, 2, 1e-200, 20) >= 1e-200);
}

static const struct ratio_rule usual = {.level = 0.95};

/* Sets the ratios of x, y, x / y and x * y of normal logarithms. */
static void measure(struct generator *generator, size_t blocks, double sd_x, double sd_y, double shift,
                    struct ratio *out)
{
    double a[4][64], b[4][64];
    for (size_t i = 0; i < blocks; i++) {
        double x = exp(shift + sd_x * simulated_normal(generator));
        double y = exp(shift + sd_y * simulated_normal(generator));
        const double values[] = {x, y, x / y, x * y};
        for (int m = 0; m < RATIO_PRODUCTS; m++) {
            a[m][i] = 1;
            b[m][i] = values[m];
        }
    }
    for (int m = 0; m < RATIO_PRODUCTS; m++)
        out[m] = ratio_paired(a[m], b[m], blocks, &usual);
}

static void test_corrected_values_are_not_smaller_and_keep_their_order(void **state)
{
    (void)state;
    struct generator generator = {SIMULATION_SEED};
    for (int i = 0; i < 300; i++) {
        struct ratio before[3][RATIO_PRODUCTS], after[3][RATIO_PRODUCTS];
        double scratch[3 * 3 * RATIO_PRODUCTS];
        for (int k = 0; k < 3; k++) {
            measure(&generator, 8, 0.01, 0.02, k == 0 ? 0.01 : 0, before[k]);
            memcpy(after[k], before[k], sizeof after[k]);
        }
        ratio_correct_products(after, &usual, 3, scratch);
        for (int k = 0; k < 3; k++)
            for (int m = 0; m < RATIO_PRODUCTS; m++) {
                double old = before[k][m].p, new = after[k][m].p;
                assert_true(new >= old &&new <= fmin(1, 12 * old));
                for (int j = 0; j < RATIO_PRODUCTS; j++)
                    assert_true(old > before[k][j].p || new <= after[k][j].p);
            }
    }
}

static void test_comparisons_with_one_known_metric_are_corrected_as_by_holm(void **state)
{
    (void)state;
    const double p[] = {0.01, 0.04, 0.03, 0.005}, expected[] = {0.03, 0.06, 0.06, 0.02};
    struct ratio ratios[5][RATIO_PRODUCTS];
    double scratch[3 * 5 * RATIO_PRODUCTS];
    for (int i = 0; i < 5; i++)
        for (int m = 0; m < RATIO_PRODUCTS; m++)
            ratios[i][m] = (struct ratio){.value = 2,
                                          .p = m == RATIO_Y && i < 4 ? p[i] : NAN,
                                          .equivalence_p = NAN,
                                          .log_sd = m == RATIO_Y ? 1 : NAN,
                                          .freedom = 9};
    ratio_correct_products(ratios, &usual, 5, scratch);
    for (int i = 0; i < 4; i++)
        assert_near(ratios[i][RATIO_Y].p, expected[i], 1e-15);
    assert_int_equal(ratios[0][RATIO_Y].verdict, RATIO_WORSE);
    assert_int_equal(ratios[1][RATIO_Y].verdict, RATIO_UNKNOWN);
    assert_true(isnan(ratios[4][RATIO_Y].p) && isnan(ratios[0][RATIO_X].p));
}

static void test_values_without_scatter_are_certain(void **state)
{
    (void)state;
    struct generator generator = {SIMULATION_SEED};
    struct ratio ratios[1][RATIO_PRODUCTS];
    double scratch[3 * RATIO_PRODUCTS];
    measure(&generator, 4, 0, 0, log(2), ratios[0]);
    ratio_correct_products(ratios, &usual, 1, scratch);
    assert_int_equal(ratios[0][RATIO_X].verdict, RATIO_WORSE);
    assert_int_equal(ratios[0][RATIO_PRODUCT].verdict, RATIO_WORSE);
    assert_int_equal(ratios[0][RATIO_QUOTIENT].verdict, RATIO_UNKNOWN);
}

/* The level of the single test, at which the corrected test rejects, is between that of one test and that of
 * all tests. */
static void test_the_level_of_one_test_agrees_with_the_correction(void **state)
{
    (void)state;
    struct generator generator = {SIMULATION_SEED};
    struct ratio ratios[2][RATIO_PRODUCTS];
    double scratch[3 * 2 * RATIO_PRODUCTS];
    measure(&generator, 10, 0.01, 0.02, 0, ratios[0]);
    double level = ratio_products_level(ratios[0], &usual, 1);
    assert_true(level > 0.95 && level <= 0.9875);
    assert_true(ratio_products_level(ratios[0], &usual, 3) > level);
    for (int side = -1; side <= 1; side += 2) {
        for (int m = 0; m < RATIO_PRODUCTS; m++)
            ratios[1][m] = ratios[0][m];
        ratios[1][RATIO_X].p = 1 - level + side * 1e-3;
        for (int m = RATIO_Y; m < RATIO_PRODUCTS; m++)
            ratios[1][m].p = 0.9;
        ratio_correct_products(&ratios[1], &usual, 1, scratch);
        assert_int_equal(ratios[1][RATIO_X].p > 0.05, side > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_directions_count_as_one_test),
        cmocka_unit_test(test_independent_tests_multiply),
        cmocka_unit_test(test_the_result_is_between_one_test_and_the_sum_of_all),
        cmocka_unit_test(test_unknown_values_and_limits),
        cmocka_unit_test(test_corrected_values_are_not_smaller_and_keep_their_order),
        cmocka_unit_test(test_comparisons_with_one_known_metric_are_corrected_as_by_holm),
        cmocka_unit_test(test_values_without_scatter_are_certain),
        cmocka_unit_test(test_the_level_of_one_test_agrees_with_the_correction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
