/* Tests the net energy of a run, which is its energy minus idle energy. The meter's scale error partly
 * cancels in this difference, but the variation of idle power does not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "joule/attribute/idle_baseline.h"
#include "support/check.h"

static double sd_of(joule_quantity q)
{
    return (q.high - q.low) / (2 * Z90);
}

static struct estimate measured(double joules, double gain_sd)
{
    return estimate_make(joules, JOULE_CLASS_MEASURED, 0, CAUSE_RAPL_GAIN, gain_sd * joules);
}

static void test_one_meter_errs_alike_in_both(void **state)
{
    (void)state;
    struct estimate total = measured(100, 0.02), idle = measured(60, 0.02);
    joule_quantity net = baseline_net(&total, &idle);
    assert_near(net.value, 40, 1e-9);
    assert_near(sd_of(net), 0.02 * 40, 1e-9);
}

static void test_unsteady_idling_stays(void **state)
{
    (void)state;
    struct estimate total = measured(100, 0.02), idle = measured(60, 0.02);
    struct estimate scatter = estimate_make(0, JOULE_CLASS_MEASURED, 0, CAUSE_IDLE, 3);
    idle = estimate_add(idle, 1, &scatter);
    assert_near(sd_of(baseline_net(&total, &idle)), hypot(0.8, 3), 1e-9);
}

static void test_two_models_may_cancel_to_nothing(void **state)
{
    (void)state;
    struct estimate total = estimate_make(10, JOULE_CLASS_MODELLED, 0, CAUSE_CPU_SEED, 4);
    struct estimate idle = estimate_make(9, JOULE_CLASS_MODELLED, 0, CAUSE_CPU_SEED, 4);
    joule_quantity net = baseline_net(&total, &idle);
    assert_near(net.value, 1, 1e-9);
    assert_true(net.low < 0 && net.high > 5);
    assert_int_equal(net.cls, JOULE_CLASS_MODELLED);
}

static void test_unknown_idle_power_gives_unknown_net_energy(void **state)
{
    (void)state;
    struct estimate total = measured(10, 0.02), idle = estimate_unknown();
    assert_true(isnan(baseline_net(&total, &idle).value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_meter_errs_alike_in_both),
        cmocka_unit_test(test_unsteady_idling_stays),
        cmocka_unit_test(test_two_models_may_cancel_to_nothing),
        cmocka_unit_test(test_unknown_idle_power_gives_unknown_net_energy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
