/* Tests summaries of samples against NumPy 2.4 and SciPy 1.17, and the generator. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "joule/stats/generator.h"
#include "joule/stats/sample.h"
#include "support/check.h"

static const double runs[] = {12.1, 11.8, 12.6, 12.0, 12.3, 13.9, 12.2, 11.9};
#define RUNS (sizeof runs / sizeof *runs)

static void test_summary_equals_numpy(void **state)
{
    (void)state;
    double scratch[RUNS];
    struct sample_summary s = sample_summarize(runs, RUNS, scratch);
    assert_int_equal(s.count, RUNS);
    assert_near(s.mean, 12.35, 1e-13);
    assert_near(s.sd, 0.6740072064048828, 1e-13);
    assert_near(s.min, 11.8, 0);
    assert_near(s.lower_quartile, 11.975, 1e-13);
    assert_near(s.median, 12.15, 1e-13);
    assert_near(s.upper_quartile, 12.375, 1e-13);
    assert_near(s.max, 13.9, 0);
    assert_near(sample_robust_sd(runs, RUNS, scratch), 0.29652044370112063, 1e-13);
}

static void test_small_samples_are_unknown_and_never_zero(void **state)
{
    (void)state;
    double one = 5, scratch[1];
    struct sample_summary s = sample_summarize(&one, 1, scratch), none = sample_summarize(NULL, 0, scratch);
    assert_true(s.mean == 5 && s.median == 5 && isnan(s.sd));
    assert_true(isnan(none.mean) && isnan(none.median) && isnan(none.sd) && isnan(none.min));
    assert_true(isnan(sample_mean(NULL, 0)) && isnan(sample_quantile(NULL, 0, 0.5)));
}

static void test_unknown_values_make_all_figures_unknown(void **state)
{
    (void)state;
    double values[] = {1, NAN, 3}, scratch[3];
    struct sample_summary s = sample_summarize(values, 3, scratch);
    assert_int_equal(s.count, 3);
    assert_true(isnan(s.mean) && isnan(s.sd) && isnan(s.min) && isnan(s.median) && isnan(s.max));
    assert_true(isnan(sample_robust_sd(values, 3, scratch)));
}

static void test_a_large_mean_does_not_hide_the_scatter(void **state)
{
    (void)state;
    double values[RUNS];
    for (size_t i = 0; i < RUNS; i++)
        values[i] = 1e12 + (double)(i % 2);
    assert_near(sample_sd(values, RUNS), sqrt(2.0 / 7), 1e-12);
    for (size_t i = 0; i < RUNS; i++)
        values[i] = 0.1;
    assert_near(sample_sd(values, RUNS), 0, 1e-17);
}

static void test_order_of_runs_does_not_matter(void **state)
{
    (void)state;
    struct generator generator = {1};
    double scratch[RUNS], shuffled[RUNS];
    size_t order[RUNS];
    struct sample_summary first = sample_summarize(runs, RUNS, scratch);
    for (int round = 0; round < 20; round++) {
        generator_order(&generator, order, RUNS);
        for (size_t i = 0; i < RUNS; i++)
            shuffled[i] = runs[order[i]];
        struct sample_summary s = sample_summarize(shuffled, RUNS, scratch);
        assert_near(s.mean, first.mean, 1e-14);
        assert_near(s.sd, first.sd, 1e-14);
        assert_true(s.median == first.median && s.upper_quartile == first.upper_quartile);
    }
}

static void test_generator_equals_published_numbers(void **state)
{
    (void)state;
    /* first outputs of the reference implementation (Vigna, splitmix64.c) for the seed 1234567 */
    struct generator generator = {1234567};
    assert_true(generator_bits(&generator) == UINT64_C(6457827717110365317));
    assert_true(generator_bits(&generator) == UINT64_C(3203168211198807973));
    assert_true(generator_bits(&generator) == UINT64_C(9817491932198370423));
}

static void test_orders_are_permutations_and_equally_likely(void **state)
{
    (void)state;
    struct generator generator = {7};
    int seen[3][3] = {{0}};
    for (int round = 0; round < 60000; round++) {
        size_t order[3];
        generator_order(&generator, order, 3);
        assert_int_equal(1 << order[0] | 1 << order[1] | 1 << order[2], 7);
        for (int i = 0; i < 3; i++)
            seen[i][order[i]]++;
    }
    for (int i = 0; i < 9; i++) /* sd: 115 */
        assert_near(seen[i / 3][i % 3], 20000, 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_summary_equals_numpy),
        cmocka_unit_test(test_small_samples_are_unknown_and_never_zero),
        cmocka_unit_test(test_unknown_values_make_all_figures_unknown),
        cmocka_unit_test(test_a_large_mean_does_not_hide_the_scatter),
        cmocka_unit_test(test_order_of_runs_does_not_matter),
        cmocka_unit_test(test_generator_equals_published_numbers),
        cmocka_unit_test(test_orders_are_permutations_and_equally_likely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
