/* Tests the number of runs, and that a measurement that stops by the rule still covers the true mean. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "joule/stats/interval.h"
#include "joule/stats/stop_rule.h"
#include "support/check.h"
#include "support/simulation.h"

#define MAX_RUNS 300

static const struct stop_rule usual = {
    .half_width = 0.01, .is_relative = true, .level = 0.95, .min_runs = 6, .max_runs = MAX_RUNS};

/* A measurement that followed the rule. */
struct outcome {
    size_t runs, checks;
    struct interval mean;
};

/* Measures normal runs with mean 1 and the given sd. */
static struct outcome measure(const struct stop_rule *rule, double sd, struct generator *generator)
{
    double values[MAX_RUNS];
    struct outcome outcome = {0};
    for (;;) {
        size_t until = stop_rule_next(rule, values, outcome.runs);
        if (until == outcome.runs)
            break;
        for (; outcome.runs < until; outcome.runs++)
            values[outcome.runs] = 1 + sd * simulated_normal(generator);
        outcome.checks++;
    }
    outcome.mean = interval_mean(values, outcome.runs, rule->level);
    return outcome;
}

static void test_runs_without_scatter_end_after_the_pilot(void **state)
{
    (void)state;
    const double equal[] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
    assert_int_equal(stop_rule_next(&usual, NULL, 0), 6);
    assert_int_equal(stop_rule_next(&usual, equal, 3), 6);
    assert_int_equal(stop_rule_next(&usual, equal, 6), 6 + STOP_RULE_EXTRA_RUNS);
    assert_int_equal(stop_rule_next(&usual, equal, 14), 14);
}

static void test_a_small_pilot_is_enlarged(void **state)
{
    (void)state;
    struct stop_rule rule = usual;
    rule.min_runs = 1;
    assert_int_equal(stop_rule_next(&rule, NULL, 0), 6);
    rule.min_runs = 8;
    assert_int_equal(stop_rule_next(&rule, NULL, 0), 8);
}

static void test_the_cap_ends_a_measurement(void **state)
{
    (void)state;
    struct stop_rule rule = usual;
    const double wild[] = {1, 9, 2, 8, 3, 7, 1, 9, 2, 8, 3, 7};
    rule.max_runs = 12;
    assert_int_equal(stop_rule_next(&rule, wild, 6), 12);
    assert_int_equal(stop_rule_next(&rule, wild, 12), 12);
    rule.max_runs = 3;
    assert_int_equal(stop_rule_next(&rule, wild, 0), 3);
    assert_int_equal(stop_rule_next(&rule, wild, 3), 3);
}

static void test_unknown_scatter_continues_to_the_cap(void **state)
{
    (void)state;
    struct stop_rule rule = usual;
    const double unknown[] = {1, NAN, 2, 1, 2, 1, 2, 1, 2, 1}, zero_mean[] = {1, -1, 1, -1, 1, -1};
    rule.max_runs = 10;
    assert_int_equal(stop_rule_next(&rule, unknown, 6), 10);
    assert_int_equal(stop_rule_next(&rule, unknown, 10), 10);
    assert_int_equal(stop_rule_next(&rule, zero_mean, 6), 10);
}

static void test_an_absolute_target_does_not_depend_on_the_mean(void **state)
{
    (void)state;
    struct stop_rule rule = usual;
    const double logs[] = {0.01, -0.01, 0.02, -0.02, 0.01, -0.01};
    rule.is_relative = false;
    size_t until = stop_rule_next(&rule, logs, 6);
    assert_true(until > 6 && until < 30);
}

static void test_checks_are_few_and_the_target_is_rarely_missed(void **state)
{
    (void)state;
    struct generator generator = {SIMULATION_SEED};
    size_t checks = 0, missed = 0;
    for (int i = 0; i < 4000; i++) {
        struct outcome outcome = measure(&usual, 0.02, &generator);
        checks += outcome.checks;
        missed += interval_relative_half_width(&outcome.mean) > 0.01;
    }
    print_message("%.2f checks on average\n", (double)checks / 4000);
    assert_true(checks < 4 * 4000);
    simulation_check("intervals wider than the target", missed, 4000, 0, 0.06);
}

/* Coverage is checked where it is worst: where the pilot is about as large as needed, and for some times
 * as many runs. The true coverage is at least 94.1 % there. With 20000 measurements, 93 % is 5.9 standard
 * errors away, so a fresh seed fails by chance with a probability below 10^-8. */
static void check_coverage(uint64_t seed, size_t repetitions, const double *sds, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        struct generator generator = {seed + k};
        size_t covering = 0, runs = 0;
        for (size_t i = 0; i < repetitions; i++) {
            struct outcome outcome = measure(&usual, sds[k], &generator);
            covering += outcome.mean.low <= 1 && outcome.mean.high >= 1;
            runs += outcome.runs;
        }
        char what[80];
        snprintf(what, sizeof what, "sd %.1f %%, target 1 %%, mean %.1f runs", 100 * sds[k],
                 (double)runs / (double)repetitions);
        simulation_check(what, covering, repetitions, 0.93, 0.97);
    }
}

static const double sds[] = {0.017, 0.02, 0.003, 0.01, 0.03, 0.05};
#define SDS (sizeof sds / sizeof *sds)

static void test_coverage_is_93_to_97_percent(void **state)
{
    (void)state;
    check_coverage(SIMULATION_SEED, simulation_is_full() ? 100000 : 4000, sds, SDS);
}

static void test_coverage_holds_for_a_fresh_seed(void **state)
{
    (void)state;
    bool is_full = simulation_is_full();
    check_coverage(simulation_fresh_seed(), is_full ? 100000 : 20000, sds, is_full ? SDS : 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_without_scatter_end_after_the_pilot),
        cmocka_unit_test(test_a_small_pilot_is_enlarged),
        cmocka_unit_test(test_the_cap_ends_a_measurement),
        cmocka_unit_test(test_unknown_scatter_continues_to_the_cap),
        cmocka_unit_test(test_an_absolute_target_does_not_depend_on_the_mean),
        cmocka_unit_test(test_checks_are_few_and_the_target_is_rarely_missed),
        cmocka_unit_test(test_coverage_is_93_to_97_percent),
        cmocka_unit_test(test_coverage_holds_for_a_fresh_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
