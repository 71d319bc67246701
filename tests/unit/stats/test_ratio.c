/* Tests comparisons against SciPy 1.17 (ttest_rel, ttest_ind, ttest_1samp on logarithms; nct), and what must
 * hold for all values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "joule/stats/compare.h"
#include "joule/stats/holm.h"
#include "support/check.h"
#include "support/simulation.h"

static const double a[] = {12.1, 11.8, 12.6, 12.0, 12.3, 13.9, 12.2, 11.9};
static const double b[] = {11.5, 11.6, 12.1, 11.4, 11.9, 12.9, 11.8, 11.2};
#define BLOCKS 8

static void test_paired_equals_scipy(void **state)
{
    (void)state;
    struct ratio_rule rule = {.level = 0.95, .margin = 0.05};
    struct ratio r = ratio_paired(a, b, BLOCKS, &rule);
    assert_near(r.value, 0.9558276950952016, 1e-12);
    assert_near(r.low, 0.9415291279590557, 1e-12);
    assert_near(r.high, 0.9703434079532118, 1e-12);
    assert_near(r.p, 0.00019577323650313546, 1e-13);
    assert_near(r.equivalence_p, 0.2942924835268163, 1e-11);
    assert_near(r.log_sd, 0.01802870684308438, 1e-13);
    assert_near(r.freedom, 7, 0);
    assert_int_equal(r.verdict, RATIO_BETTER);
}

static void test_unpaired_equals_scipy(void **state)
{
    (void)state;
    struct ratio_rule rule = {.level = 0.95};
    struct ratio r = ratio_unpaired(a, BLOCKS, b, 6, &rule);
    assert_near(r.value, 0.963902381073618, 1e-12);
    assert_near(r.low, 0.9100414351421859, 1e-11);
    assert_near(r.high, 1.020951095588549, 1e-11);
    assert_near(r.p, 0.1882053380108637, 1e-11);
    assert_near(r.freedom, 11.639090014869785, 1e-9);
    assert_true(isnan(r.equivalence_p));
    assert_int_equal(r.verdict, RATIO_UNKNOWN);
}

static void test_swapping_inverts_the_ratio_and_the_verdict(void **state)
{
    (void)state;
    struct ratio_rule rule = {.level = 0.95, .margin = 0.02};
    struct ratio pairs[][2] = {
        {ratio_paired(a, b, BLOCKS, &rule), ratio_paired(b, a, BLOCKS, &rule)},
        {ratio_unpaired(a, BLOCKS, b, 6, &rule), ratio_unpaired(b, 6, a, BLOCKS, &rule)},
    };
    for (int i = 0; i < 2; i++) {
        struct ratio *x = &pairs[i][0], *y = &pairs[i][1];
        assert_near(x->value * y->value, 1, 1e-13);
        assert_near(x->low * y->high, 1, 1e-12);
        assert_near(x->p, y->p, 1e-12);
        assert_near(x->equivalence_p, y->equivalence_p, 1e-12);
    }
    assert_int_equal(pairs[0][0].verdict, RATIO_BETTER);
    assert_int_equal(pairs[0][1].verdict, RATIO_WORSE);
}

static void test_the_unit_and_the_order_of_blocks_do_not_matter(void **state)
{
    (void)state;
    struct ratio_rule rule = {.level = 0.95, .margin = 0.02};
    struct ratio first = ratio_paired(a, b, BLOCKS, &rule);
    double x[BLOCKS], y[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        x[i] = 3.6e6 * a[(3 * i + 1) % BLOCKS];
        y[i] = 3.6e6 * b[(3 * i + 1) % BLOCKS];
    }
    struct ratio second = ratio_paired(x, y, BLOCKS, &rule);
    assert_near(second.value, first.value, 1e-12);
    assert_near(second.low, first.low, 1e-12);
    assert_near(second.p, first.p, 1e-12);
}

static void test_a_cause_common_to_a_block_cancels(void **state)
{
    (void)state;
    struct ratio_rule rule = {.level = 0.95};
    struct ratio first = ratio_paired(a, b, BLOCKS, &rule);
    double x[BLOCKS], y[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        x[i] = a[i] * (1 + (double)i);
        y[i] = b[i] * (1 + (double)i);
    }
    struct ratio second = ratio_paired(x, y, BLOCKS, &rule);
    assert_near(second.low, first.low, 1e-12);
    assert_near(second.high, first.high, 1e-12);
}

static void test_few_or_impossible_values_are_unknown(void **state)
{
    (void)state;
    struct ratio_rule rule = {.level = 0.95, .margin = 0.02};
    const double bad[] = {1, 0, 2}, negative[] = {1, -1, 2}, infinite[] = {1, INFINITY, 2};
    const struct ratio unknown[] = {
        ratio_paired(a, b, 0, &rule),
        ratio_paired(a, b, 1, &rule),
        ratio_paired(a, bad, 3, &rule),
        ratio_paired(negative, b, 3, &rule),
        ratio_paired(a, infinite, 3, &rule),
        ratio_unpaired(a, 1, b, 5, &rule),
        ratio_unpaired(a, 0, b, 5, &rule),
        ratio_unpaired(a, 5, b, 1, &rule),
        ratio_unpaired(negative, 3, b, 5, &rule),
    };
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        assert_true(isnan(unknown[i].low) && isnan(unknown[i].high) && isnan(unknown[i].p));
        assert_true(isnan(unknown[i].equivalence_p) && isnan(unknown[i].log_sd));
        assert_int_equal(unknown[i].verdict, RATIO_UNKNOWN);
    }
    assert_near(ratio_paired(a, b, 1, &rule).value, b[0] / a[0], 1e-13);
}

static void test_runs_without_scatter_give_certain_results(void **state)
{
    (void)state;
    struct ratio_rule rule = {.level = 0.95, .margin = 0.02};
    const double one[] = {2, 2, 2}, two[] = {4, 4, 4};
    struct ratio same = ratio_paired(one, one, 3, &rule), twice = ratio_unpaired(one, 3, two, 3, &rule);
    assert_near(same.p, 1, 0);
    assert_near(same.equivalence_p, 0, 0);
    assert_int_equal(same.verdict, RATIO_EQUIVALENT);
    assert_near(twice.p, 0, 0);
    assert_near(twice.low, 2, 1e-12);
    assert_int_equal(twice.verdict, RATIO_WORSE);
}

static void test_equivalence_precedes_a_certain_small_difference(void **state)
{
    (void)state;
    struct ratio_rule rule = {.level = 0.95, .margin = 0.02};
    const double x[] = {100, 101, 99, 100}, y[] = {100.5, 101.5, 99.51, 100.49};
    struct ratio r = ratio_paired(x, y, 4, &rule);
    assert_true(r.p < 0.001);
    assert_int_equal(r.verdict, RATIO_EQUIVALENT);
    rule.margin = 0;
    r = ratio_paired(x, y, 4, &rule);
    assert_int_equal(r.verdict, RATIO_WORSE);
    rule.higher_is_better = true;
    r = ratio_paired(x, y, 4, &rule);
    assert_int_equal(r.verdict, RATIO_BETTER);
    assert_string_equal(ratio_verdict_name(RATIO_UNKNOWN), "cannot tell");
}

static void test_holm_equals_r(void **state)
{
    (void)state;
    /* R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") */
    double p[] = {0.01, NAN, 0.04, 0.03, 0.005}, scratch[10];
    holm_correct(p, 5, scratch);
    assert_near(p[0], 0.03, 1e-15);
    assert_true(isnan(p[1]));
    assert_near(p[2], 0.06, 1e-15);
    assert_near(p[3], 0.06, 1e-15);
    assert_near(p[4], 0.02, 1e-15);
    double equal[] = {0.5, 0.5, 0.5};
    holm_correct(equal, 3, scratch);
    assert_near(equal[0], 1, 0);
    assert_near(equal[2], 1, 0);
}

static void test_many_metrics_weaken_verdicts(void **state)
{
    (void)state;
    struct ratio_rule rules[20];
    struct ratio ratios[20];
    double scratch[60];
    for (int i = 0; i < 20; i++) {
        rules[i] = (struct ratio_rule){.level = 0.95};
        ratios[i] = (struct ratio){.value = 0.9, .p = i == 0 ? 1e-4 : 0.03, .equivalence_p = NAN};
        ratios[i].verdict = ratio_judge(&ratios[i], &rules[i]);
        assert_int_equal(ratios[i].verdict, RATIO_BETTER);
    }
    ratio_correct(ratios, rules, 20, scratch);
    assert_near(ratios[0].p, 0.002, 1e-15);
    assert_int_equal(ratios[0].verdict, RATIO_BETTER);
    assert_int_equal(ratios[1].verdict, RATIO_UNKNOWN);
}

static void test_blocks_needed_equals_the_exact_number_within_one(void **state)
{
    (void)state;
    /* the exact number from the noncentral t distribution */
    assert_near(ratio_blocks_needed(0.02, 1.02, 0.95, 0.8), 11, 1);
    assert_near(ratio_blocks_needed(0.05, 1.02, 0.95, 0.8), 52, 1);
    assert_near(ratio_blocks_needed(0.01, 1.02, 0.95, 0.8), 5, 1);
    assert_near(ratio_blocks_needed(0.1, 1.1, 0.95, 0.8), 11, 1);
    assert_near(ratio_blocks_needed(0.05, 1 / 1.02, 0.95, 0.8), 52, 1);
    assert_near(ratio_blocks_needed(0, 1.02, 0.95, 0.8), 2, 0);
    assert_true(isinf(ratio_blocks_needed(0.05, 1, 0.95, 0.8)));
    assert_true(isnan(ratio_blocks_needed(NAN, 1.02, 0.95, 0.8)));
    assert_near(ratio_blocks_needed(1, 1.0001, 0.95, 0.8) / 7.85e8, 1, 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paired_equals_scipy),
        cmocka_unit_test(test_unpaired_equals_scipy),
        cmocka_unit_test(test_swapping_inverts_the_ratio_and_the_verdict),
        cmocka_unit_test(test_the_unit_and_the_order_of_blocks_do_not_matter),
        cmocka_unit_test(test_a_cause_common_to_a_block_cancels),
        cmocka_unit_test(test_few_or_impossible_values_are_unknown),
        cmocka_unit_test(test_runs_without_scatter_give_certain_results),
        cmocka_unit_test(test_equivalence_precedes_a_certain_small_difference),
        cmocka_unit_test(test_holm_equals_r),
        cmocka_unit_test(test_many_metrics_weaken_verdicts),
        cmocka_unit_test(test_blocks_needed_equals_the_exact_number_within_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
