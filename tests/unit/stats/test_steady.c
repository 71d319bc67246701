/* Tests drift against SciPy 1.17 (linregress), the verdicts about it, and how often its interval covers
 * the true drift for independent and for correlated noise. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "joule/stats/steady.h"
#include "support/check.h"
#include "support/simulation.h"

#define MAX_VALUES 200

static void test_drift_equals_scipy(void **state)
{
    (void)state;
    const double watts[] = {50, 50.4, 49.8, 50.9, 50.6, 51.1, 50.7, 51.5, 51.2, 51.9};
    struct drift d = drift_fit(watts, 10, 0.95);
    assert_near(d.mean, 50.81, 1e-12);
    assert_near(d.change, 1.696363636363639, 1e-12);
    /* the correlation of neighbours is negative, so the interval is that of independent values */
    assert_near(d.high - d.change, 2.306004135204166 * 0.3282712041454048, 1e-10);
    assert_near(d.change - d.low, 2.306004135204166 * 0.3282712041454048, 1e-10);
}

static void test_verdicts(void **state)
{
    (void)state;
    const struct {
        struct drift drift;
        enum steadiness expected;
    } rows[] = {
        {{100, 0.1, -0.5, 0.7}, STEADINESS_STEADY}, {{100, 0.6, 0.2, 0.9}, STEADINESS_STEADY},
        {{100, 0.1, -3, 3.2}, STEADINESS_UNKNOWN},  {{100, 2, -1, 5}, STEADINESS_UNKNOWN},
        {{100, 2, 0.5, 3.5}, STEADINESS_DRIFTS},    {{100, -2, -3.5, -0.5}, STEADINESS_DRIFTS},
        {{100, 2, NAN, NAN}, STEADINESS_UNKNOWN},   {{NAN, NAN, NAN, NAN}, STEADINESS_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(drift_judge(&rows[i].drift, 1), rows[i].expected);
}

static void test_short_or_unknown_series_are_unknown(void **state)
{
    (void)state;
    double values[20];
    for (int i = 0; i < 20; i++)
        values[i] = 50;
    struct drift d = drift_fit(values, STEADY_MIN_VALUES - 1, 0.95);
    assert_true(isnan(d.mean) && isnan(d.change) && isnan(d.low));
    values[3] = NAN;
    d = drift_fit(values, 20, 0.95);
    assert_int_equal(drift_judge(&d, 1), STEADINESS_UNKNOWN);
    assert_true(isnan(d.low));
}

static void test_a_constant_series_is_steady(void **state)
{
    (void)state;
    double values[20];
    for (int i = 0; i < 20; i++)
        values[i] = 50;
    struct drift d = drift_fit(values, 20, 0.95);
    assert_int_equal(drift_judge(&d, 0.01), STEADINESS_STEADY);
}

static void test_warming_up_drifts_until_it_is_steady(void **state)
{
    (void)state;
    struct generator generator = {SIMULATION_SEED};
    double watts[400];
    for (int i = 0; i < 400; i++) /* approaches 100 W with a time constant of 40 values */
        watts[i] = 100 - 20 * exp(-i / 40.0) + 0.3 * simulated_normal(&generator);
    struct drift first = drift_fit(watts, 40, 0.95), last = drift_fit(watts + 300, 40, 0.95);
    assert_int_equal(drift_judge(&first, 0.02 * first.mean), STEADINESS_DRIFTS);
    assert_int_equal(drift_judge(&last, 0.02 * last.mean), STEADINESS_STEADY);
}

static void test_turning_the_series_round_inverts_the_drift(void **state)
{
    (void)state;
    struct generator generator = {3};
    double forwards[50], backwards[50];
    for (int i = 0; i < 50; i++)
        forwards[i] = backwards[49 - i] = i + 3 * simulated_normal(&generator);
    struct drift a = drift_fit(forwards, 50, 0.95), b = drift_fit(backwards, 50, 0.95);
    assert_near(a.change, -b.change, 1e-12);
    assert_near(a.low, -b.high, 1e-12);
}

/* Checks that few intervals exclude the true drift. The drift is 3, the noise has an sd of 1, and its
 * neighbours have a correlation. Unknown intervals exclude nothing. */
static void check_coverage(double correlation, size_t count, double low, double high, uint64_t seed)
{
    struct generator generator = {seed};
    size_t covering = 0, repetitions = simulation_is_full() ? 50000 : 4000;
    for (size_t k = 0; k < repetitions; k++) {
        double values[MAX_VALUES], noise = simulated_normal(&generator);
        for (size_t i = 0; i < count; i++) {
            values[i] = 3 * (double)i / ((double)count - 1) + noise;
            noise = correlation * noise + sqrt(1 - correlation * correlation) * simulated_normal(&generator);
        }
        struct drift d = drift_fit(values, count, 0.95);
        covering += !(d.low > 3 || d.high < 3);
    }
    char what[80];
    snprintf(what, sizeof what, "drift covered, %zu values, correlation %.1f", count, correlation);
    simulation_check(what, covering, repetitions, low, high);
}

static void test_intervals_cover_the_true_drift(void **state)
{
    (void)state;
    check_coverage(0, 24, 0.93, 0.975, SIMULATION_SEED);
    check_coverage(0, 96, 0.93, 0.97, SIMULATION_SEED);
    check_coverage(0.4, 24, 0.93, 0.97, SIMULATION_SEED);
    check_coverage(0.6, 48, 0.93, 0.97, SIMULATION_SEED);
    check_coverage(0.8, 96, 0.93, 0.97, SIMULATION_SEED);
    check_coverage(0.8, 192, 0.93, 0.97, SIMULATION_SEED);
    /* Not reached: a short series does not show how correlated it is. */
    check_coverage(0.6, 12, 0.89, 0.94, SIMULATION_SEED);
    check_coverage(0.8, 24, 0.89, 0.94, SIMULATION_SEED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drift_equals_scipy),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_short_or_unknown_series_are_unknown),
        cmocka_unit_test(test_a_constant_series_is_steady),
        cmocka_unit_test(test_warming_up_drifts_until_it_is_steady),
        cmocka_unit_test(test_turning_the_series_round_inverts_the_drift),
        cmocka_unit_test(test_intervals_cover_the_true_drift),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
