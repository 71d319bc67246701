/* Checks a device's energy: it is counted since the last reset, never decreases, and is NaN if unknown. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>
#include <forge/telemetry.h>
#include <joule/meter.h>

static void work(void)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) < 0.15);
}

static void test_energy_counts_from_a_reset_on(void **state)
{
    (void)state;
    forge_device *device;
    joule_quantity before, after, watts;
    assert_int_equal(forge_device_open("cpu", &device, NULL), JOULE_OK);
    assert_int_equal(joule_sample_now(NULL), JOULE_OK);
    work();
    work();
    joule_status status = forge_energy_consumed(device, &before);
    assert_int_equal(status, JOULE_OK); /* the CPU model works on every machine */
    assert_true(before.value > 0 && before.low < before.value && before.value < before.high);
    assert_true(forge_power_draw(device, &watts) == JOULE_OK && watts.value > 0);
    assert_int_equal(forge_reset_counters(device), JOULE_OK);
    work();
    status = forge_energy_consumed(device, &after);
    assert_true(status == JOULE_OK || status == JOULE_PENDING);
    assert_true(isnan(after.value) || after.value < before.value);
    joule_quantity all;
    assert_int_equal(joule_energy_joules(NULL, JOULE_CPU, &all), JOULE_OK);
    assert_true(all.value >= before.value); /* the reset concerns the device, not the meter */
    assert_true(forge_energy_consumed_joules(device) > 0);
    double celsius = forge_temperature_celsius(device);
    assert_true(isnan(celsius) || (celsius > -40 && celsius < 150));
    forge_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_energy_counts_from_a_reset_on)};
    return cmocka_run_group_tests_name("telemetry", tests, NULL, NULL);
}
