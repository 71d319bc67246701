/* Tests joule-helper's sensors: each domain of the total is read in one working way, and coarse counters are
 * reported in steps. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "helper/sensors.h"
#include "support/check.h"

#define PMU   "/sys/bus/event_source/devices/power"
#define ZONE  "/sys/class/powercap/intel-rapl:0"
#define HWMON "/sys/class/hwmon/hwmon0"

static struct sensors sensors;
static uint64_t count; /* value of every register and event; increases with each reading */

static int moving(void *context, int64_t time_ns, uint64_t *out_value)
{
    (void)context, (void)time_ns;
    *out_value = count += 100000;
    return 0;
}

static int still(void *context, int64_t time_ns, uint64_t *out_value)
{
    (void)context, (void)time_ns;
    *out_value = 5;
    return 0;
}

static void add_event(struct joule_host *host, const char *name, unsigned code, script_value_fn value)
{
    char path[128], text[32];
    snprintf(path, sizeof path, PMU "/events/%s", name);
    snprintf(text, sizeof text, "event=0x%02x\n", code);
    host_script_text(host, path, text);
    snprintf(path, sizeof path, PMU "/events/%s.scale", name);
    host_script_text(host, path, "2.3283064365386962890625e-10\n");
    host_script_perf(host, &(struct host_perf_event){21, code, 0}, value, NULL);
}

static void add_zone(struct joule_host *host, const char *id, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "/sys/class/powercap/%s/name", id);
    host_script_text(host, path, name);
    snprintf(path, sizeof path, "/sys/class/powercap/%s/energy_uj", id);
    host_script_text(host, path, "123456789\n");
}

static int set_up(void **state)
{
    struct joule_host *host = *state = host_script_open();
    count = 0;
    sensors = (struct sensors){.host = host, .pace_ns = 1000000};
    host_script_text(host, "/proc/cpuinfo",
                     "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n");
    return 0;
}

static int tear_down(void **state)
{
    struct joule_host *host = *state;
    for (size_t i = 0; i < sensors.source_count; i++) {
        if (sensors.sources[i].state == JOULE_OK)
            sensors.sources[i].ops->close(&sensors.sources[i]);
        arena_free(&sensors.sources[i].arena);
    }
    host->ops->close(host);
    return 0;
}

static void add_pmu(struct joule_host *host, script_value_fn package)
{
    host_script_text(host, PMU "/type", "21\n");
    host_script_text(host, PMU "/cpumask", "0\n");
    add_event(host, "energy-pkg", 2, package);
    add_event(host, "energy-cores", 1, moving);
    add_event(host, "energy-ram", 3, moving);
}

static void open_all(void)
{
    joule_error error;
    assert_ok(sensors_open(&sensors, "rapl_perf,rapl_powercap,rapl_msr,hwmon", &error), &error);
}

static void expect(size_t i, const char *zone, const char *source)
{
    assert_string_equal(sensors.channels[i]->zone, zone);
    assert_string_equal(sensors.channels[i]->info.source, source);
}

static void test_best_moving_view_is_used(void **state)
{
    add_pmu(*state, moving);
    add_zone(*state, "intel-rapl:0", "package-0\n");
    open_all();
    /* the helper reads no domains of cores, because they are parts of packages */
    assert_int_equal(sensors.count, 2);
    expect(0, "cpu0/package", "rapl_perf");
    expect(1, "cpu0/dram", "rapl_perf");
}

/* If an event is constant and the register of the same domain is not, the register is used. */
static void test_constant_counters_are_replaced(void **state)
{
    add_pmu(*state, still);
    host_script_text(*state, "/sys/devices/system/cpu/online", "0\n");
    host_script_register(*state, 0, 0x606, still, NULL);
    host_script_register(*state, 0, 0x611, moving, NULL);
    open_all();
    assert_int_equal(sensors.count, 2);
    expect(0, "cpu0/dram", "rapl_perf");
    expect(1, "cpu0/package", "rapl_msr");
}

static void test_denied_counters_are_not_offered(void **state)
{
    add_zone(*state, "intel-rapl:0", "package-0\n");
    add_zone(*state, "intel-rapl:1", "package-1\n");
    host_script_error(*state, ZONE "/energy_uj", EACCES);
    open_all();
    assert_int_equal(sensors.count, 1);
    expect(0, "cpu1/package", "rapl_powercap");
    sensors_read(&sensors, 1);
    assert_int_equal(sensors.values[0].raw, 123456789);
    host_script_error(*state, "/sys/class/powercap/intel-rapl:1/energy_uj", EIO);
    sensors_read(&sensors, 2);
    assert_int_equal(sensors.values[0].status, JOULE_FAILED);
}

static void test_without_sensors_nothing_is_offered(void **state)
{
    (void)state;
    joule_error error;
    assert_int_equal(sensors_open(&sensors, "rapl_powercap", &error), JOULE_ABSENT);
    assert_contains(error.message, "modprobe");
    assert_int_equal(sensors_open(&sensors, "rapl_powercap,nvml", &error), JOULE_INVALID);
}

static void test_empty_request_is_refused(void **state)
{
    (void)state;
    joule_error error;
    assert_int_equal(sensors_open(&sensors, "", &error), JOULE_ABSENT);
    assert_contains(error.message, "no source was requested");
}

static void test_values_are_multiples_of_the_grain(void **state)
{
    add_zone(*state, "intel-rapl:0", "package-0\n");
    sensors.grain_joules = 10;
    sensors.pace_ns = NS_PER_S;
    sensors.keeps_pace = true;
    open_all();
    assert_int_equal(sensors.values[0].raw, 120000000);
    assert_true(sensors.channels[0]->counter.grain_joules == 10);
    assert_true(sensors.channels[0]->info.update_period_s == 1);
    assert_true(sensors.channels[0]->counter.tick_s == 0.001);
    /* Reported values change at full seconds, not at each request. */
    host_script_text(*state, ZONE "/energy_uj", "139999999\n");
    sensors_read(&sensors, 5300000000);
    assert_int_equal(sensors.values[0].raw, 130000000);
    assert_int_equal(sensors_due_ns(&sensors), 6000000000);
    host_script_text(*state, ZONE "/energy_uj", "150000000\n");
    sensors_refresh(&sensors, 7000000000);
    assert_int_equal(sensors.values[0].raw, 130000000);
}

static void test_sensors_are_read_at_their_pace(void **state)
{
    add_pmu(*state, moving);
    open_all();
    assert_int_equal(sensors_due_ns(&sensors), INT64_MAX);
    sensors_refresh(&sensors, 5000000000);
    uint64_t first = sensors.values[0].raw;
    sensors_refresh(&sensors, 5000999999);
    assert_int_equal(sensors.values[0].raw, first);
    sensors_refresh(&sensors, 5001000000);
    assert_true(sensors.values[0].raw > first);
}

static void test_power_becomes_an_energy_counter(void **state)
{
    host_script_text(*state, HWMON "/name", "power_meter\n");
    host_script_text(*state, HWMON "/power1_average", "217600000\n");
    sensors.grain_joules = 5;
    sensors.pace_ns = NS_PER_S;
    sensors.keeps_pace = true;
    open_all();
    assert_int_equal(sensors.count, 1);
    assert_int_equal(sensors.channels[0]->mode, CHANNEL_POWER);
    assert_int_equal(sensors.values[0].status, JOULE_OK);
    assert_true(helper_watts_of(sensors.values[0].raw) == 215);
    assert_true(sensors.channels[0]->integrator.period_s >= 1);
}

#define SENSORS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SENSORS_TEST(test_best_moving_view_is_used),
        SENSORS_TEST(test_constant_counters_are_replaced),
        SENSORS_TEST(test_denied_counters_are_not_offered),
        SENSORS_TEST(test_without_sensors_nothing_is_offered),
        SENSORS_TEST(test_empty_request_is_refused),
        SENSORS_TEST(test_values_are_multiples_of_the_grain),
        SENSORS_TEST(test_sensors_are_read_at_their_pace),
        SENSORS_TEST(test_power_becomes_an_energy_counter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
