/* Tests temperatures and clocks: which sensors are read, how often, and how invalid file contents are
 * handled. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "support/machine.h"

#define HWMON "/sys/class/hwmon/"
#define CPU   "/sys/devices/system/cpu/"

__attribute__((format(printf, 3, 4))) static void put(struct machine_bench *bench, const char *content,
                                                      const char *path, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, path);
    vsnprintf(text, sizeof text, path, arguments);
    va_end(arguments);
    assert_true(host_script_text(bench->host, text, content));
}

static void run(struct machine_bench *bench, double seconds)
{
    if (!bench->meter)
        bench->meter = machine_open(bench->host, "thermal");
    machine_run(bench->meter, seconds, 0.1);
}

static double gauge(struct machine_bench *bench, const char *name)
{
    const struct channel *ch = machine_channel(bench->meter, name);
    double value;
    if (!ch)
        fail_msg("no gauge is called %s", name);
    return joule_gauge(bench->meter, ch->info.id, &value) == JOULE_OK ? value : NAN;
}

static void put_coretemp(struct machine_bench *bench)
{
    put(bench, "coretemp", HWMON "hwmon0/name");
    put(bench, "Package id 0", HWMON "hwmon0/temp1_label");
    put(bench, "55000", HWMON "hwmon0/temp1_input");
    put(bench, "Core 0", HWMON "hwmon0/temp2_label");
    put(bench, "61000", HWMON "hwmon0/temp2_input");
}

static void test_package_temperature_is_a_gauge(void **state)
{
    struct machine_bench *bench = *state;
    put_coretemp(bench);
    run(bench, 2);
    assert_true(gauge(bench, "coretemp-package-id-0") == 55);
    /* reading a core's sensor would interrupt the core */
    assert_null(machine_channel(bench->meter, "coretemp-core-0"));
    const struct channel *ch = machine_channel(bench->meter, "coretemp-package-id-0");
    assert_string_equal(ch->info.device, "cpu:0");
    assert_int_equal(ch->info.reading, JOULE_READING_TEMPERATURE);
    assert_string_equal(ch->zone, "");
    assert_true(meter_hottest_celsius(bench->meter) == 55);
}

static void test_unwired_inputs_and_disks_are_left_out(void **state)
{
    struct machine_bench *bench = *state;
    put(bench, "nct6775", HWMON "hwmon0/name");
    put(bench, "127000", HWMON "hwmon0/temp1_input");
    put(bench, "drivetemp", HWMON "hwmon1/name");
    put(bench, "31000", HWMON "hwmon1/temp1_input");
    put(bench, "acpitz", "/sys/class/thermal/thermal_zone0/type");
    put(bench, "-5500", "/sys/class/thermal/thermal_zone0/temp");
    run(bench, 1);
    assert_int_equal(joule_domain_count(bench->meter), 1);
    assert_true(gauge(bench, "thermal-acpitz") == -5.5);
}

static void test_impossible_values_are_unknown(void **state)
{
    static const char *const bad[] = {"", "garbage", "200001", "-273150", "5e4", "99999999999999999999"};
    struct machine_bench *bench = *state;
    put_coretemp(bench);
    run(bench, 2);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put(bench, bad[i], HWMON "hwmon0/temp1_input");
        run(bench, 1.5);
        if (!isnan(gauge(bench, "coretemp-package-id-0")))
            fail_msg("\"%s\" was taken for a temperature", bad[i]);
    }
    assert_true(isnan(meter_hottest_celsius(bench->meter)));
    put_coretemp(bench);
    run(bench, 1.5);
    assert_true(gauge(bench, "coretemp-package-id-0") == 55);
}

static ssize_t count_reads(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)time_ns;
    ++*(unsigned *)context;
    return snprintf(buffer, size, "40000\n");
}

static void test_pace_is_one_second(void **state)
{
    struct machine_bench *bench = *state;
    unsigned reads = 0;
    put(bench, "k10temp", HWMON "hwmon0/name");
    host_script_file(bench->host, HWMON "hwmon0/temp1_input", count_reads, &reads);
    bench->meter = machine_open(bench->host, "thermal");
    machine_run(bench->meter, 10, 0.001);
    assert_in_range(reads, 10, 13);
}

static void test_number_of_gauges_is_bounded(void **state)
{
    struct machine_bench *bench = *state;
    for (unsigned zone = 0; zone < 200; zone++)
        put(bench, "40000", "/sys/class/thermal/thermal_zone%u/temp", zone);
    run(bench, 1);
    assert_in_range(joule_domain_count(bench->meter), 1, 64);
}

static void put_cpu(struct machine_bench *bench, unsigned cpu, const char *package, const char *khz)
{
    put(bench, package, CPU "cpu%u/topology/physical_package_id", cpu);
    put(bench, khz, CPU "cpu%u/cpufreq/scaling_cur_freq", cpu);
}

static void test_clock_is_the_mean_of_a_package(void **state)
{
    struct machine_bench *bench = *state;
    put_cpu(bench, 0, "0", "2000000");
    put_cpu(bench, 1, "0", "3000000");
    put_cpu(bench, 2, "1", "1000000");
    put_cpu(bench, 3, "1", "garbage");
    put(bench, "0-3", CPU "online");
    run(bench, 3);
    assert_true(gauge(bench, "clock-cpu0") == 2500);
    assert_true(gauge(bench, "clock-cpu1") == 1000);
    const struct channel *ch = machine_channel(bench->meter, "clock-cpu1");
    assert_int_equal(ch->info.reading, JOULE_READING_CLOCK);
    assert_string_equal(ch->info.device, "cpu:1");
}

static void test_clocks_of_a_large_machine(void **state)
{
    struct machine_bench *bench = *state;
    for (unsigned cpu = 0; cpu < 200; cpu++)
        put_cpu(bench, cpu, cpu < 100 ? "0" : "1", cpu < 100 ? "2000000" : "4000000");
    run(bench, 3);
    assert_true(gauge(bench, "clock-cpu0") == 2000);
    assert_true(gauge(bench, "clock-cpu1") == 4000);
}

static void test_clock_from_cpuinfo(void **state)
{
    struct machine_bench *bench = *state;
    put(bench,
        "processor\t: 0\ncpu MHz\t\t: 2100.500\nphysical id\t: 0\n\n"
        "processor\t: 1\ncpu MHz\t\t: 2199.500\nphysical id\t: 0\n\n"
        "processor\t: 2\ncpu MHz\t\t: -4\nphysical id\t: 0\n\n"
        "processor\t: 3\ncpu MHz\t\t: 90000\nphysical id\t: 99\n\n",
        "/proc/cpuinfo");
    run(bench, 3);
    assert_int_equal(joule_domain_count(bench->meter), 1);
    assert_true(gauge(bench, "clock-cpu0") == 2150);
}

static void test_invalid_cpuinfo_gives_no_clock(void **state)
{
    static const char *const texts[] = {"",
                                        "\n\n\n",
                                        "cpu MHz",
                                        "cpu MHz : \nphysical id : ",
                                        "physical id : 1e300",
                                        "cpu MHz : 1e400\nphysical id : 0",
                                        "cpu MHz : 5\nphysical id : -1"};
    struct machine_bench *bench = *state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        put(bench, texts[i], "/proc/cpuinfo");
        joule_meter *meter = machine_open(bench->host, "thermal");
        machine_run(meter, 3, 0.5);
        assert_int_equal(joule_domain_count(meter), 0);
        joule_close(meter);
    }
}

static void test_machine_without_gauges(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, 1);
    assert_int_equal(joule_domain_count(bench->meter), 0);
    assert_int_equal(bench->meter->lanes[1]->sources[0]->state, JOULE_ABSENT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, machine_setup, machine_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_package_temperature_is_a_gauge), TEST(test_unwired_inputs_and_disks_are_left_out),
        TEST(test_impossible_values_are_unknown),  TEST(test_pace_is_one_second),
        TEST(test_number_of_gauges_is_bounded),    TEST(test_clock_is_the_mean_of_a_package),
        TEST(test_clocks_of_a_large_machine),      TEST(test_clock_from_cpuinfo),
        TEST(test_invalid_cpuinfo_gives_no_clock), TEST(test_machine_without_gauges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
