/* Tests which runs are outliers, and that clean samples rarely have one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "joule/stats/outliers.h"
#include "support/check.h"
#include "support/simulation.h"

#define MAX_VALUES 1000

static size_t find(const double *values, size_t count, bool *out_is_outlier)
{
    static double scratch[2 * MAX_VALUES];
    return outliers_find(values, count, out_is_outlier, scratch);
}

static void test_a_run_far_from_the_others_is_an_outlier(void **state)
{
    (void)state;
    const double logs[] = {0.01, 0.02, 0.0, 0.7, 0.015, 0.005, 0.01, 0.02, -0.01, 0.0};
    bool is_outlier[10];
    assert_int_equal(find(logs, 10, is_outlier), 1);
    for (int i = 0; i < 10; i++)
        assert_true(is_outlier[i] == (i == 3));
}

static void test_the_unit_and_an_offset_do_not_matter(void **state)
{
    (void)state;
    struct generator generator = {4};
    double values[40], moved[40];
    bool first[40], second[40];
    for (int i = 0; i < 40; i++) {
        values[i] = simulated_run(&generator, SIMULATED_SLOW_RUNS);
        moved[i] = 256 * values[i] - 64;
    }
    assert_int_equal(find(values, 40, first), find(moved, 40, second));
    assert_memory_equal(first, second, sizeof first);
}

static void test_small_samples_have_no_outliers(void **state)
{
    (void)state;
    const double values[] = {1, 1.01, 0.99, 50};
    bool is_outlier[4];
    assert_int_equal(find(values, 4, is_outlier), 0);
    assert_int_equal(find(values, 0, is_outlier), 0);
    assert_true(isinf(outliers_limit(4)) && outliers_limit(5) < 40);
}

static void test_a_second_group_is_not_rejected(void **state)
{
    (void)state;
    double values[20];
    bool is_outlier[20];
    for (int i = 0; i < 20; i++)
        values[i] = (i % 5 < 2 ? 9 : 1) + 0.01 * i;
    assert_int_equal(find(values, 20, is_outlier), 0);
}

static void test_unknown_values_are_outliers(void **state)
{
    (void)state;
    const double values[] = {1, 1.1, NAN, 0.9, 1, -INFINITY, 1.05, 0.95};
    bool is_outlier[8];
    assert_int_equal(find(values, 8, is_outlier), 2);
    assert_true(is_outlier[2] && is_outlier[5] && !is_outlier[0]);
}

static void test_equal_values_do_not_make_others_outliers(void **state)
{
    (void)state;
    const double values[] = {1, 1, 1, 1, 1, 1.2};
    bool is_outlier[6];
    assert_int_equal(find(values, 6, is_outlier), 0);
}

/* The robust sd of an odd number of values scatters more, so odd counts are the hard ones. */
static void test_one_clean_sample_in_a_hundred_has_an_outlier(void **state)
{
    (void)state;
    static const size_t counts[] = {5, 6, 7, 10, 11, 20, 21, 51, 101, 301, 1000};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        struct generator generator = {SIMULATION_SEED};
        size_t with = 0, repetitions = (simulation_is_full() ? 4000000 : 400000) / (counts[k] + 20);
        for (size_t i = 0; i < repetitions; i++) {
            double values[MAX_VALUES];
            bool is_outlier[MAX_VALUES];
            for (size_t j = 0; j < counts[k]; j++)
                values[j] = simulated_normal(&generator);
            with += find(values, counts[k], is_outlier) > 0;
        }
        char what[80];
        snprintf(what, sizeof what, "clean samples of %zu with an outlier", counts[k]);
        simulation_check(what, with, repetitions, 0, 0.02);
    }
}

static void test_slow_runs_are_found(void **state)
{
    (void)state;
    struct generator generator = {SIMULATION_SEED};
    size_t found = 0, slow = 0, clean = 0;
    for (int i = 0; i < 2000; i++) {
        double logs[30];
        bool is_outlier[30];
        for (int j = 0; j < 30; j++)
            logs[j] = log(simulated_run(&generator, SIMULATED_SLOW_RUNS));
        find(logs, 30, is_outlier);
        for (int j = 0; j < 30; j++) {
            bool is_slow = logs[j] > log(1.2); /* ten sds */
            slow += is_slow;
            found += is_slow && is_outlier[j];
            clean += logs[j] < 0.06 && is_outlier[j];
        }
    }
    print_message("%zu of %zu slow runs found; %zu of %d clean runs rejected\n", found, slow, clean, 57000);
    assert_true((double)found > 0.97 * (double)slow && clean < 57);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_far_from_the_others_is_an_outlier),
        cmocka_unit_test(test_the_unit_and_an_offset_do_not_matter),
        cmocka_unit_test(test_small_samples_have_no_outliers),
        cmocka_unit_test(test_a_second_group_is_not_rejected),
        cmocka_unit_test(test_unknown_values_are_outliers),
        cmocka_unit_test(test_equal_values_do_not_make_others_outliers),
        cmocka_unit_test(test_one_clean_sample_in_a_hundred_has_an_outlier),
        cmocka_unit_test(test_slow_runs_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
