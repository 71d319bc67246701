/* From a scripted machine to a report: the total is the sum of its devices, unreadable domains are listed
 * with unknown energy, and regions become functions. */
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

#define ZONES "/sys/class/powercap/intel-rapl:"
#define S     1000000000LL /* nanoseconds */

struct fixture {
    struct joule_host *host;
    joule_meter *meter;
    int64_t now_ns;
};

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

/* Package 100 W, of which cores 60 W; memory 20 W. */
static int set_up(void **state)
{
    static double package = 100, cores = 60, memory = 20;
    static struct fixture fixture;
    fixture = (struct fixture){.host = host_script_open(), .now_ns = 1 * S};
    host_script_set_time(fixture.host, fixture.now_ns);
    host_script_text(fixture.host, "/proc/cpuinfo",
                     "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
                     "model name\t: Intel(R) Xeon(R) w9-3595X\nflags\t\t: fpu tsc\n\n");
    add_zone(fixture.host, "0", "package-0\n", &package);
    add_zone(fixture.host, "0:0", "core\n", &cores);
    add_zone(fixture.host, "0:1", "dram\n", &memory);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    joule_close(fixture->meter);
    fixture->host->ops->close(fixture->host);
    return 0;
}

static void open_meter(struct fixture *fixture)
{
    joule_options options = {.struct_size = sizeof options, .sources = "rapl_powercap"};
    joule_error error;
    if (meter_open_on(fixture->host, false, &options, &fixture->meter, &error) != JOULE_OK)
        fail_msg("%s", error.message);
}

static void run_until(struct fixture *fixture, int64_t end_ns)
{
    for (; fixture->now_ns <= end_ns; fixture->now_ns += S / 10) {
        host_script_set_time(fixture->host, fixture->now_ns);
        meter_tick(fixture->meter);
    }
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 0.01 * expected))
        fail_msg("%f instead of %f", value, expected);
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
    struct fixture *fixture = *state;
    struct report report;
    open_meter(fixture);
    run_until(fixture, 12 * S);
    assert_int_equal(report_collect(&report, fixture->meter, "program", 2 * S, 12 * S), JOULE_OK);
    assert_string_equal(report.program, "program");
    assert_near(report.duration_s, 10);
    assert_near(report.total_joules.value, 1200);
    assert_near(report.mean_watts.value, 120);
    assert_near(report.coverage, 1);
    assert_false(report.is_partial);
    assert_int_equal(report.device_count, 2);
    const struct report_device *cpu = find(&report, "cpu"), *memory = find(&report, "memory");
    assert_near(cpu->energy_joules.value, 1000);
    assert_near(memory->energy_joules.value, 200);
    assert_true(fabs(cpu->energy_joules.value + memory->energy_joules.value - report.total_joules.value) <
                1e-9);
    assert_string_equal(cpu->measurement, "rapl");
    assert_string_equal(cpu->vendor, "intel");
    assert_int_equal(cpu->index, 0);
    assert_int_equal(cpu->tier, 2);
    assert_near(report.by_class[JOULE_CLASS_MEASURED].value, 1200);
    assert_true(isnan(report.by_class[JOULE_CLASS_MODELLED].value));
    assert_null(report.first_advice);
    assert_true(report.ticks > 100);
    /* Fields that only `joule run` fills. */
    assert_int_equal(report.share.method, ATTRIBUTE_NONE);
    assert_true(isnan(report.net_joules.value) && isnan(report.budget_joules));
    report_free(&report);
}

static void test_what_cannot_be_read_is_listed(void **state)
{
    struct fixture *fixture = *state;
    struct report report;
    add_zone(fixture->host, "1", "package-1\n", NULL);
    open_meter(fixture);
    run_until(fixture, 6 * S);
    assert_int_equal(report_collect(&report, fixture->meter, NULL, 2 * S, 6 * S), JOULE_OK);
    assert_true(report.is_partial);
    assert_near(report.total_joules.value, 480); /* package 1 is not estimated */
    assert_int_equal(report.device_count, 3);
    const struct report_device *refused = &report.devices[2];
    assert_string_equal(refused->type, "cpu");
    assert_int_equal(refused->index, 1);
    assert_true(isnan(refused->energy_joules.value));
    assert_non_null(report.first_advice);
    assert_true(report.program[0] != '\0');
    report_free(&report);
}

static void test_half_covered(void **state)
{
    struct fixture *fixture = *state;
    struct report report;
    fixture->now_ns = 5 * S;
    host_script_set_time(fixture->host, fixture->now_ns);
    open_meter(fixture);
    run_until(fixture, 9 * S);
    assert_int_equal(report_collect(&report, fixture->meter, "late", 1 * S, 9 * S), JOULE_OK);
    assert_true(fabs(report.coverage - 0.5) < 0.02);
    report_free(&report);
}

static void test_nothing_measured(void **state)
{
    struct fixture *fixture = *state;
    struct report report;
    joule_options options = {.struct_size = sizeof options, .sources = "rapl_perf"};
    assert_int_equal(meter_open_on(fixture->host, false, &options, &fixture->meter, NULL), JOULE_OK);
    run_until(fixture, 3 * S);
    assert_int_equal(report_collect(&report, fixture->meter, "program", 1 * S, 3 * S), JOULE_OK);
    assert_true(isnan(report.total_joules.value));
    assert_int_equal(report.device_count, 0);
    assert_non_null(strstr(report.first_advice, "joule doctor"));
    report_free(&report);
}

static void test_regions_become_functions(void **state)
{
    struct fixture *fixture = *state;
    struct report report;
    joule_span span = {
        .struct_size = sizeof span, .tag = joule_tag("work"), .device_index = -1, .scale_ns = 1};
    joule_budget_options limit = {.struct_size = sizeof limit, .tag = span.tag, .max_joules = 1000};
    joule_budget *budget;
    open_meter(fixture);
    run_until(fixture, 2 * S);
    assert_int_equal(joule_budget_begin(fixture->meter, &limit, &budget, NULL), JOULE_OK);
    run_until(fixture, 4 * S);
    span.begin = 3.5 * S;
    span.end = 4.0 * S;
    assert_int_equal(joule_span_add(fixture->meter, &span), JOULE_OK);
    run_until(fixture, 8 * S);
    assert_int_equal(joule_budget_end(budget, NULL), JOULE_OK);
    assert_int_equal(report_collect(&report, fixture->meter, "program", 1 * S, 8 * S), JOULE_OK);
    assert_int_equal(report.function_count, 1);
    assert_string_equal(report.functions[0].name, "work");
    assert_near(report.functions[0].result.attributed.value, 60);
    assert_true(report.functions[0].budget_joules == 1000);
    assert_int_equal(report_function_status(&report.functions[0]), JOULE_BUDGET_WITHIN);
    report_free(&report);
}

static void test_public_json(void **state)
{
    struct fixture *fixture = *state;
    char text[8192], small[16];
    size_t length, small_length;
    open_meter(fixture);
    run_until(fixture, 3 * S);
    assert_int_equal(joule_report_json(fixture->meter, "p", text, sizeof text, &length), JOULE_OK);
    assert_int_equal(strlen(text), length);
    assert_int_equal(text[length - 1], '}');
    assert_non_null(strstr(text, "\"program\":\"p\""));
    assert_int_equal(joule_report_json(fixture->meter, "p", small, sizeof small, &small_length), JOULE_OK);
    assert_int_equal(strlen(small), sizeof small - 1);
    assert_true(small_length > 1000);
    assert_int_equal(joule_report_json(fixture->meter, NULL, NULL, 0, &small_length), JOULE_OK);
    assert_int_equal(joule_report_json(fixture->meter, NULL, NULL, 5, &small_length), JOULE_INVALID);
}

#define machine(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        machine(test_total_is_the_sum_of_devices),
        machine(test_what_cannot_be_read_is_listed),
        machine(test_half_covered),
        machine(test_nothing_measured),
        machine(test_regions_become_functions),
        machine(test_public_json),
    };
    return cmocka_run_group_tests_name("report_collect", tests, NULL, NULL);
}
