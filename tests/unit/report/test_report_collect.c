/* Tests that a scripted machine is reported correctly: the total is the sum of its devices, unreadable
 * domains are listed with unknown energy, and regions become functions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "joule/api/open.h"
#include "joule/report/report.h"
#include "support/check.h"
#include "support/machine.h"

#define ZONES "/sys/class/powercap/intel-rapl:"
#define S     1000000000LL /* nanoseconds */

static ssize_t constant_power(void *context, int64_t time_ns, char *buffer, size_t size)
{
    const double *watts = context;
    return snprintf(buffer, size, "%.0f\n", (double)time_ns * 1e-3 * *watts);
}

static void add_zone(struct joule_host *host, const char *id, const char *name, double *watts)
{
    char path[128];
    snprintf(path, sizeof path, ZONES "%s/name", id);
    host_script_text(host, path, name);
    snprintf(path, sizeof path, ZONES "%s/max_energy_range_uj", id);
    host_script_text(host, path, "262143328850\n");
    snprintf(path, sizeof path, ZONES "%s/energy_uj", id);
    if (watts)
        host_script_file(host, path, constant_power, watts);
    else
        host_script_error(host, path, EACCES);
}

/* The package draws 100 W, of which its cores draw 60 W. Memory draws 20 W. */
static int set_up(void **state)
{
    static double package = 100, cores = 60, memory = 20;
    machine_setup(state);
    struct machine_bench *bench = *state;
    bench->next_ns = 1 * S;
    host_script_set_time(bench->host, bench->next_ns);
    host_script_text(bench->host, "/proc/cpuinfo",
                     "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
                     "model name\t: Intel(R) Xeon(R) w9-3595X\nflags\t\t: fpu tsc\n\n");
    add_zone(bench->host, "0", "package-0\n", &package);
    add_zone(bench->host, "0:0", "core\n", &cores);
    add_zone(bench->host, "0:1", "dram\n", &memory);
    return 0;
}

static const struct report_device *find(const struct report *report, const char *type)
{
    for (size_t i = 0; i < report->device_count; i++)
        if (strcmp(report->devices[i].type, type) == 0)
            return &report->devices[i];
    fail_msg("no %s among the devices", type);
    return NULL;
}

static void test_total_is_the_sum_of_devices(void **state)
{
    struct machine_bench *bench = *state;
    struct report report;
    bench->meter = machine_open(bench->host, "rapl_powercap");
    machine_run_until(bench, 12 * S);
    assert_int_equal(report_collect(&report, bench->meter, "program", 2 * S, 12 * S), JOULE_OK);
    assert_string_equal(report.program, "program");
    assert_near(report.duration_s, 10, 0.1);
    assert_near(report.total_joules.value, 1200, 12);
    assert_near(report.mean_watts.value, 120, 1.2);
    assert_near(report.coverage, 1, 0.01);
    assert_false(report.is_partial);
    assert_int_equal(report.device_count, 2);
    const struct report_device *cpu = find(&report, "cpu"), *memory = find(&report, "memory");
    assert_near(cpu->energy_joules.value, 1000, 10);
    assert_near(memory->energy_joules.value, 200, 2);
    assert_true(fabs(cpu->energy_joules.value + memory->energy_joules.value - report.total_joules.value) <
                1e-9);
    assert_string_equal(cpu->measurement, "rapl");
    assert_string_equal(cpu->vendor, "intel");
    assert_int_equal(cpu->index, 0);
    assert_int_equal(cpu->tier, 2);
    assert_near(report.by_class[JOULE_CLASS_MEASURED].value, 1200, 12);
    assert_true(isnan(report.by_class[JOULE_CLASS_MODELLED].value));
    assert_null(report.first_advice);
    assert_true(report.ticks > 100);
    /* Only `joule run` fills these fields. */
    assert_int_equal(report.share.method, ATTRIBUTE_NONE);
    assert_true(isnan(report.net_joules.value) && isnan(report.budget_joules));
    report_free(&report);
}

static void test_what_cannot_be_read_is_listed(void **state)
{
    struct machine_bench *bench = *state;
    struct report report;
    add_zone(bench->host, "1", "package-1\n", NULL);
    bench->meter = machine_open(bench->host, "rapl_powercap");
    machine_run_until(bench, 6 * S);
    assert_int_equal(report_collect(&report, bench->meter, NULL, 2 * S, 6 * S), JOULE_OK);
    assert_true(report.is_partial);
    assert_near(report.total_joules.value, 480, 4.8); /* the energy of package 1 is not estimated */
    assert_int_equal(report.device_count, 3);
    const struct report_device *refused = &report.devices[2];
    assert_string_equal(refused->type, "cpu");
    assert_int_equal(refused->index, 1);
    assert_true(isnan(refused->energy_joules.value));
    assert_non_null(report.first_advice);
    assert_true(report.program[0] != '\0');
    report_free(&report);
}

static void test_late_start_gives_half_coverage(void **state)
{
    struct machine_bench *bench = *state;
    struct report report;
    bench->next_ns = 5 * S;
    host_script_set_time(bench->host, bench->next_ns);
    bench->meter = machine_open(bench->host, "rapl_powercap");
    machine_run_until(bench, 9 * S);
    assert_int_equal(report_collect(&report, bench->meter, "late", 1 * S, 9 * S), JOULE_OK);
    assert_true(fabs(report.coverage - 0.5) < 0.02);
    report_free(&report);
}

static void test_without_sensors_energy_is_unknown(void **state)
{
    struct machine_bench *bench = *state;
    struct report report;
    joule_options options = {.struct_size = sizeof options, .sources = "rapl_perf"};
    assert_int_equal(meter_open_on(bench->host, false, &options, &bench->meter, NULL), JOULE_OK);
    machine_run_until(bench, 3 * S);
    assert_int_equal(report_collect(&report, bench->meter, "program", 1 * S, 3 * S), JOULE_OK);
    assert_true(isnan(report.total_joules.value));
    assert_int_equal(report.device_count, 0);
    assert_contains(report.first_advice, "joule doctor");
    report_free(&report);
}

static void test_regions_become_functions(void **state)
{
    struct machine_bench *bench = *state;
    struct report report;
    joule_span span = {
        .struct_size = sizeof span, .tag = joule_tag("work"), .device_index = -1, .scale_ns = 1};
    joule_budget_options limit = {.struct_size = sizeof limit, .tag = span.tag, .max_joules = 1000};
    joule_budget *budget;
    bench->meter = machine_open(bench->host, "rapl_powercap");
    machine_run_until(bench, 2 * S);
    assert_int_equal(joule_budget_begin(bench->meter, &limit, &budget, NULL), JOULE_OK);
    machine_run_until(bench, 4 * S);
    span.begin = 3.5 * S;
    span.end = 4.0 * S;
    assert_int_equal(joule_span_add(bench->meter, &span), JOULE_OK);
    machine_run_until(bench, 8 * S);
    assert_int_equal(joule_budget_end(budget, NULL), JOULE_OK);
    assert_int_equal(report_collect(&report, bench->meter, "program", 1 * S, 8 * S), JOULE_OK);
    assert_int_equal(report.function_count, 1);
    assert_string_equal(report.functions[0].name, "work");
    assert_near(report.functions[0].result.attributed.value, 60, 0.6);
    assert_true(report.functions[0].budget_joules == 1000);
    assert_int_equal(report_function_status(&report.functions[0]), JOULE_BUDGET_WITHIN);
    report_free(&report);
}

static void test_public_function_prints_json(void **state)
{
    struct machine_bench *bench = *state;
    char text[8192], small[16];
    size_t length, small_length;
    bench->meter = machine_open(bench->host, "rapl_powercap");
    machine_run_until(bench, 3 * S);
    assert_int_equal(joule_report_json(bench->meter, "p", text, sizeof text, &length), JOULE_OK);
    assert_int_equal(strlen(text), length);
    assert_int_equal(text[length - 1], '}');
    assert_contains(text, "\"program\":\"p\"");
    assert_int_equal(joule_report_json(bench->meter, "p", small, sizeof small, &small_length), JOULE_OK);
    assert_int_equal(strlen(small), sizeof small - 1);
    assert_true(small_length > 1000);
    assert_int_equal(joule_report_json(bench->meter, NULL, NULL, 0, &small_length), JOULE_OK);
    assert_int_equal(joule_report_json(bench->meter, NULL, NULL, 5, &small_length), JOULE_INVALID);
}

#define machine(test) cmocka_unit_test_setup_teardown(test, set_up, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        machine(test_total_is_the_sum_of_devices),    machine(test_what_cannot_be_read_is_listed),
        machine(test_late_start_gives_half_coverage), machine(test_without_sensors_energy_is_unknown),
        machine(test_regions_become_functions),       machine(test_public_function_prints_json),
    };
    return cmocka_run_group_tests_name("report_collect", tests, NULL, NULL);
}
