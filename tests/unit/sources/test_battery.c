/* Tests that a laptop's power is read from its batteries while it runs on them, and is unknown while it is
 * plugged in. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "support/check.h"
#include "support/machine.h"

#define SUPPLY "/sys/class/power_supply/"

struct bench {
    struct joule_host *host;
    joule_meter *meter;
    const struct channel *battery;
};

static int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    bench->host = machine_load(machine_fixture("laptop-battery"));
    *state = bench;
    return bench->host ? 0 : -1;
}

static int teardown(void **state)
{
    struct bench *bench = *state;
    joule_close(bench->meter);
    bench->host->ops->close(bench->host);
    free(bench);
    return 0;
}

static void put(struct bench *bench, const char *file, const char *content)
{
    char path[256];
    snprintf(path, sizeof path, SUPPLY "%s", file);
    assert_true(host_script_text(bench->host, path, content));
}

static void run(struct bench *bench, double seconds)
{
    if (!bench->meter) {
        bench->meter = machine_open(bench->host, "battery");
        bench->battery = machine_channel(bench->meter, "battery");
    }
    machine_run(bench->meter, seconds, 0.5);
}

static void assert_watts(struct bench *bench, double wanted)
{
    double watts = machine_mean_watts(bench->meter, JOULE_TOTAL);
    if (!(fabs(watts - wanted) <= 1e-9 * wanted))
        fail_msg("%.12g W instead of %.12g W", watts, wanted);
}

static void test_discharge_of_a_laptop_is_measured(void **state)
{
    struct bench *bench = *state;
    run(bench, 20);
    assert_int_equal(joule_domain_count(bench->meter), 1);
    assert_int_equal(bench->battery->info.scope, JOULE_SCOPE_BATTERY);
    assert_int_equal(bench->battery->info.cls, JOULE_CLASS_DERIVED);
    assert_string_equal(bench->battery->info.label, "BAT0"); /* the other battery is the mouse's */
    assert_string_equal(bench->battery->info.model, "LNV-45N1");
    assert_watts(bench, 5.002);
}

static void test_current_times_voltage(void **state)
{
    struct bench *bench = *state;
    put(bench, "BAT0/power_now", NULL);
    put(bench, "BAT0/current_now", "-500000");
    put(bench, "BAT0/voltage_now", "12000000");
    run(bench, 10);
    assert_watts(bench, 6); /* this driver shows discharging as a negative current */
}

static void test_batteries_add_up(void **state)
{
    struct bench *bench = *state;
    put(bench, "BAT1/type", "Battery");
    put(bench, "BAT1/status", "Discharging");
    put(bench, "BAT1/power_now", "3000000");
    put(bench, "BAT2/type", "Battery");
    put(bench, "BAT2/status", "Full");
    put(bench, "BAT2/power_now", "7000000");
    run(bench, 10);
    assert_watts(bench, 8.002);
}

static void test_plugging_in_is_a_gap(void **state)
{
    struct bench *bench = *state;
    run(bench, 10);
    double joules = bench->battery->integrator.joules, covered_s = bench->battery->integrator.covered_s;
    put(bench, "AC/online", "1");
    put(bench, "BAT0/status", "Charging");
    put(bench, "BAT0/power_now", "30000000");
    run(bench, 10);
    assert_int_equal(bench->battery->info.state, JOULE_UNSUPPORTED);
    assert_true(bench->battery->integrator.joules == joules);
    put(bench, "AC/online", "0");
    put(bench, "BAT0/status", "Discharging");
    put(bench, "BAT0/power_now", "5002000");
    run(bench, 10);
    assert_int_equal(bench->battery->info.state, JOULE_OK);
    assert_watts(bench, 5.002);
    assert_true(bench->battery->integrator.covered_s > covered_s + 5);
    assert_true(bench->battery->integrator.covered_s < 20.1);
}

static void test_mains_power_gets_a_remedy(void **state)
{
    struct bench *bench = *state;
    /* the adapter is too weak: the battery supplies only the rest, so the laptop's power is unknown */
    put(bench, "AC/online", "1");
    run(bench, 3);
    assert_int_equal(bench->battery->info.state, JOULE_UNSUPPORTED);
    assert_contains(bench->battery->info.remedy, "unplug");
    assert_true(isnan(machine_mean_watts(bench->meter, JOULE_TOTAL)));
}

static void test_remedy_disappears_with_its_cause(void **state)
{
    struct bench *bench = *state;
    joule_domain domain = {.struct_size = sizeof domain};
    put(bench, "AC/online", "1");
    run(bench, 3);
    assert_int_equal(joule_domain_get(bench->meter, 0, &domain), JOULE_OK);
    assert_contains(domain.remedy, "unplug");
    put(bench, "AC/online", "0");
    run(bench, 3);
    assert_int_equal(joule_domain_get(bench->meter, 0, &domain), JOULE_OK);
    assert_string_equal(domain.remedy, "");
}

static void test_states_that_are_no_discharge(void **state)
{
    static const char *const states[] = {"Charging", "Full",         "Not charging", "Unknown",
                                         "",         "discharging?", "\xff"};
    struct bench *bench = *state;
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        put(bench, "BAT0/status", states[i]);
        run(bench, 3);
        assert_int_equal(bench->battery->info.state, JOULE_UNSUPPORTED);
    }
    assert_true(isnan(machine_mean_watts(bench->meter, JOULE_TOTAL)));
}

static void test_impossible_values_are_gaps(void **state)
{
    static const char *const bad[] = {"", "0", "garbage", "1e6", "1000000001", "99999999999999999999"};
    struct bench *bench = *state;
    put(bench, "BAT0/voltage_now", NULL);
    run(bench, 10);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put(bench, "BAT0/power_now", bad[i]);
        run(bench, 3);
        if (bench->battery->info.state == JOULE_OK)
            fail_msg("\"%s\" was taken for a power", bad[i]);
    }
    host_script_error(bench->host, SUPPLY "BAT0/power_now", EIO);
    run(bench, 3);
    assert_int_equal(bench->battery->info.state, JOULE_FAILED);
    assert_watts(bench, 5.002);
}

static void test_missing_battery_is_absent(void **state)
{
    struct bench *bench = *state;
    put(bench, "BAT0/present", "0");
    run(bench, 1);
    assert_null(bench->battery);
    assert_int_equal(bench->meter->lanes[1]->sources[0]->state, JOULE_ABSENT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_discharge_of_a_laptop_is_measured),
        TEST(test_current_times_voltage),
        TEST(test_batteries_add_up),
        TEST(test_plugging_in_is_a_gap),
        TEST(test_mains_power_gets_a_remedy),
        TEST(test_remedy_disappears_with_its_cause),
        TEST(test_states_that_are_no_discharge),
        TEST(test_impossible_values_are_gaps),
        TEST(test_missing_battery_is_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
