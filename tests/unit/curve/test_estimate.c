/* Tests quantities: errors that add up, errors that cancel, and the resulting intervals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "joule/curve/estimate.h"
#include "support/check.h"

static void test_independent_errors_add_in_quadrature(void **state)
{
    (void)state;
    struct estimate a = estimate_make(100, JOULE_CLASS_MEASURED, 3, CAUSE_NONE, 0);
    struct estimate b = estimate_make(50, JOULE_CLASS_MEASURED, 4, CAUSE_NONE, 0);
    struct estimate sum = estimate_add(a, 1, &b);
    assert_near(sum.value, 150, 0);
    assert_near(estimate_sd(&sum), 5, 1e-12);
    joule_quantity q = estimate_quantity(&sum);
    assert_near(q.low, 150 - Z90 * 5, 1e-9);
    assert_near(q.high, 150 + Z90 * 5, 1e-9);
}

static void test_a_common_gain_adds_in_sums_and_cancels_in_differences(void **state)
{
    (void)state;
    uint32_t gain = CAUSE(CAUSE_RAPL_GAIN, 0);
    struct estimate a = estimate_make(100, JOULE_CLASS_MEASURED, 0, gain, 2);
    struct estimate b = estimate_make(100, JOULE_CLASS_MEASURED, 0, gain, 2);
    struct estimate sum = estimate_add(a, 1, &b), difference = estimate_add(a, -1, &b);
    assert_near(estimate_sd(&sum), 4, 1e-12);
    assert_near(estimate_sd(&difference), 0, 1e-12);
    struct estimate other = estimate_make(100, JOULE_CLASS_MEASURED, 0, CAUSE(CAUSE_RAPL_GAIN, 1), 2);
    difference = estimate_add(a, -1, &other);
    assert_near(estimate_sd(&difference), 2 * sqrt(2), 1e-12);
}

static void test_a_sum_carries_the_weakest_class_and_subtotals(void **state)
{
    (void)state;
    struct estimate a = estimate_make(100, JOULE_CLASS_MEASURED, 1, CAUSE_NONE, 0);
    struct estimate b = estimate_make(20, JOULE_CLASS_MODELLED, 1, CAUSE_NONE, 0);
    struct estimate sum = estimate_add(a, 1, &b);
    assert_int_equal(sum.cls, JOULE_CLASS_MODELLED);
    assert_near(sum.by_class[JOULE_CLASS_MEASURED], 100, 0);
    assert_near(sum.by_class[JOULE_CLASS_MODELLED], 20, 0);
}

static void test_unknown_is_never_zero(void **state)
{
    (void)state;
    struct estimate a = estimate_make(100, JOULE_CLASS_MEASURED, 1, CAUSE_NONE, 0), b = estimate_unknown();
    struct estimate sum = estimate_add(a, 1, &b);
    assert_true(isnan(sum.value));
    joule_quantity q = estimate_quantity(&sum);
    assert_true(isnan(q.value) && isnan(q.low) && isnan(q.high));
    assert_int_equal(q.cls, JOULE_CLASS_NONE);
    assert_true(isnan(joule_confidence(q)) && isnan(joule_probability_below(q, 1)));
}

static void test_modelled_values_are_lognormal(void **state)
{
    (void)state;
    struct estimate e = estimate_make(10, JOULE_CLASS_MODELLED, 0, CAUSE_CPU_SEED, 4);
    joule_quantity q = estimate_quantity(&e);
    assert_near(q.low, 10 * exp(-Z90 * 0.4), 1e-9);
    assert_near(q.high, 10 * exp(Z90 * 0.4), 1e-9);
    assert_near(joule_probability_below(q, q.low), 0.05, 1e-9);
    assert_near(joule_probability_below(q, 10), 0.5, 1e-9);
    assert_near(joule_probability_below(q, q.high), 0.95, 1e-9);
    assert_near(joule_probability_below(q, 0), 0, 0);
}

static void test_confidence_follows_the_interval(void **state)
{
    (void)state;
    struct estimate e = estimate_make(100, JOULE_CLASS_MEASURED, 20 / 1.959963985, CAUSE_NONE, 0);
    assert_near(joule_confidence(estimate_quantity(&e)), 0.95, 1e-9);
    e = estimate_make(100, JOULE_CLASS_MEASURED, 0, CAUSE_NONE, 0);
    assert_near(joule_confidence(estimate_quantity(&e)), 1, 0);
}

static void test_more_causes_than_places_never_shrink_the_error(void **state)
{
    (void)state;
    struct estimate sum = estimate_zero();
    for (unsigned i = 0; i < 40; i++) {
        struct estimate e =
            estimate_make(1, JOULE_CLASS_MEASURED, 0, CAUSE(CAUSE_GPU_GAIN, i), i % 2 ? 1 : -1);
        sum = estimate_add(sum, 1, &e);
    }
    assert_true(estimate_sd(&sum) >= sqrt(40));
}

/* Scaling changes every field of an estimate. Weakening, which lowers the class, changes no other field. */
static void test_scaling_changes_every_field_and_weakening_only_the_class(void **state)
{
    (void)state;
    struct estimate e = estimate_make(10, JOULE_CLASS_MEASURED, 1, CAUSE_RAPL_GAIN, 2);
    struct estimate half = estimate_scale(e, 0.5);
    assert_near(estimate_sd(&half), estimate_sd(&e) / 2, 1e-12);
    struct estimate weak = estimate_weaken(e, JOULE_CLASS_DERIVED);
    assert_int_equal(weak.cls, JOULE_CLASS_DERIVED);
    assert_near(weak.by_class[JOULE_CLASS_DERIVED], 10, 0);
    assert_near(weak.by_class[JOULE_CLASS_MEASURED], 0, 0);
    assert_near(weak.value, 10, 0);
    joule_quantity whole = estimate_quantity(&e), part = quantity_scale(whole, 0.25);
    assert_near(part.value, 2.5, 0);
    assert_near(part.low, whole.low / 4, 0);
    assert_near(part.high, whole.high / 4, 0);
    assert_int_equal(part.cls, JOULE_CLASS_MEASURED);
    assert_near(joule_confidence(part), joule_confidence(whole), 1e-12);
    assert_true(isnan(quantity_scale(quantity_unknown(), 2).value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_independent_errors_add_in_quadrature),
        cmocka_unit_test(test_a_common_gain_adds_in_sums_and_cancels_in_differences),
        cmocka_unit_test(test_a_sum_carries_the_weakest_class_and_subtotals),
        cmocka_unit_test(test_unknown_is_never_zero),
        cmocka_unit_test(test_modelled_values_are_lognormal),
        cmocka_unit_test(test_confidence_follows_the_interval),
        cmocka_unit_test(test_more_causes_than_places_never_shrink_the_error),
        cmocka_unit_test(test_scaling_changes_every_field_and_weakening_only_the_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
