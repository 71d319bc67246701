/* Tests AWS Neuron devices: percentages of each minute are read, and joules are known only if the user states
 * watts. The virtual clock begins at 2026-01-01 00:00:01. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <joule/devices.h>
#include "joule/sources/accelerator/neuron_list.h"
#include "joule/sources/accelerator/neuron_power.h"
#include "joule/sources/hwmon/watts_pair.h"
#include "support/check.h"
#include "support/machine.h"

#define NODE     "/sys/class/neuron_device/neuron0/"
#define POWER    NODE "stats/power/utilization"
#define MINUTE_S 60

/* --- the line ------------------------------------------------------------------------------------------- */

static void test_lines_are_read(void **state)
{
    struct neuron_power power;
    (void)state;
    assert_int_equal(neuron_power_parse("POWER_STATUS_VALID,1755000000,3.12,87.45,41.07\n", &power),
                     JOULE_OK);
    assert_true(power.is_valid && power.end_s == 1755000000);
    assert_near(power.mean, 0.4107, 1e-12);
    assert_int_equal(neuron_power_parse("POWER_STATUS_NO_DATA,1755000060,0.00,0.00,0.00\n", &power),
                     JOULE_OK);
    assert_false(power.is_valid);
    assert_int_equal(neuron_power_parse("POWER_STATUS_INVALID,0,0.00,0.00,0.00\n", &power), JOULE_OK);
    assert_false(power.is_valid);
    assert_int_equal(neuron_power_parse("POWER_STATUS_MAX,1755000060,0.00,0.00,0.00\n", &power), JOULE_OK);
    assert_false(power.is_valid);
}

static void test_invalid_lines_are_refused(void **state)
{
    static const char *const lines[] = {
        "",
        "POWER_STATUS_VALID",
        "POWER_STATUS_VALID,1755000000,3.12,87.45",
        "POWER_STATUS_VALID,1755000000,3.12,87.45,41.07,1",
        "POWER_STATUS_VALID,1755000000,3.12,187.45,41.07",
        "POWER_STATUS_VALID,1755000000,3.12,87.45,nan",
        "POWER_STATUS_VALID,1755000000,50,87.45,41.07", /* mean below the minimum */
        "POWER_STATUS_VALID,-1,3.12,87.45,41.07",
        "VALID,1755000000,3.12,87.45,41.07",
        "auto"}; /* the kernel's own power folder */
    struct neuron_power power;
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_int_equal(neuron_power_parse(lines[i], &power), JOULE_FAILED);
}

static void test_pairs_of_watts(void **state)
{
    static const char *const wrong[] = {"",         "90",   "90,", ",192",   "192,90",
                                        "90,192,3", "-1,5", "0,0", "90;192", "1,6000"};
    struct watts_pair pair;
    (void)state;
    assert_true(watts_pair_parse("90,192", &pair));
    assert_near(pair.idle, 90, 0);
    assert_near(pair.max, 192, 0);
    assert_near(watts_pair_at(pair, 0.5), 141, 1e-12);
    assert_near(watts_pair_at(pair, 7), 192, 0);
    assert_true(watts_pair_parse("0,35.5", &pair));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(watts_pair_parse(wrong[i], &pair));
}

/* --- a device ------------------------------------------------------------------------------------------- */

/* State of the driver. It shows the mean power of the last complete minute as a percentage. Each minute shows
 * 10 percentage points more than the previous minute. */
static struct {
    int64_t epoch_s;     /* seconds since 1970 at virtual time 0 */
    int64_t no_data_min; /* minute without data; < 0 means none */
    int64_t shift_s;     /* offset of the driver's clock */
} driver;

static ssize_t write_line(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)context;
    int64_t minute = time_ns / 1000000000 / MINUTE_S;
    double percent = 10 * (double)(minute % 10);
    const char *status = minute == driver.no_data_min ? "NO_DATA" : "VALID";
    if (minute == driver.no_data_min)
        percent = 0;
    return snprintf(buffer, size, "POWER_STATUS_%s,%lld,%.2f,%.2f,%.2f\n", status,
                    (long long)(driver.epoch_s + minute * MINUTE_S + driver.shift_s), percent / 2, percent,
                    percent);
}

static void setup_device(struct machine_bench *bench, const char *watts)
{
    struct joule_host *host = bench->host;
    driver.epoch_s =
        (host->ops->clock_ns(host, CLOCK_REALTIME) - host->ops->clock_ns(host, CLOCK_MONOTONIC)) / 1000000000;
    driver.no_data_min = -1;
    driver.shift_s = 0;
    host_script_set_time(host, 30 * 1000000000LL);
    machine_add(host, machine_fixture("trn1"), "");
    host_script_file(host, POWER, write_line, NULL);
    if (watts)
        host_script_env(host, "JOULE_NEURON_WATTS", watts);
}

static double joules_of(const struct machine_bench *bench, int64_t from_s, int64_t to_s)
{
    struct window w = meter_window(bench->meter, machine_require_channel(bench->meter, "neuron-0")->info.id,
                                   from_s * 1000000000, to_s * 1000000000);
    return w.joules.value;
}

static void test_joules_with_watts(void **state)
{
    struct machine_bench *bench = *state;
    setup_device(bench, "100,300");
    bench->meter = machine_open(bench->host, "neuron");
    machine_run(bench->meter, 400, 10);
    const joule_domain *info = &machine_require_channel(bench->meter, "neuron-0")->info;
    assert_int_equal(info->cls, JOULE_CLASS_ASSUMED);
    assert_int_equal(info->scope, JOULE_SCOPE_GPU);
    assert_string_equal(info->device, "neuron:0");
    assert_string_equal(info->model, "Trainium1");
    /* The line that appears in minute n describes the previous minute. Its power is 10 n % of a range of 200
     * W that begins at 100 W. */
    assert_near(joules_of(bench, 60, 120), 60 * (100 + 0.2 * 200), 1e-6);
    assert_near(joules_of(bench, 240, 300), 60 * (100 + 0.5 * 200), 1e-6);
    assert_near(joules_of(bench, 60, 360), 60 * (500 + (0.2 + 0.3 + 0.4 + 0.5 + 0.6) * 200), 1e-6);
    joule_quantity joules;
    assert_int_equal(joule_energy_joules(bench->meter, JOULE_GPU, &joules), JOULE_OK);
    assert_int_equal(joules.cls, JOULE_CLASS_ASSUMED);
    assert_true(joules.high > 1.3 * joules.value && joules.low < 0.8 * joules.value);
}

static void test_no_joules_without_watts(void **state)
{
    struct machine_bench *bench = *state;
    double value;
    joule_quantity joules;
    setup_device(bench, NULL);
    bench->meter = machine_open(bench->host, "neuron");
    machine_run(bench->meter, 200, 10);
    assert_int_equal(machine_require_channel(bench->meter, "neuron-0")->info.state, JOULE_UNSUPPORTED);
    assert_contains(machine_require_channel(bench->meter, "neuron-0")->info.remedy,
                    "JOULE_NEURON_WATTS=IDLE,MAX");
    assert_int_not_equal(joule_energy_joules(bench->meter, JOULE_GPU, &joules), JOULE_OK);
    assert_int_equal(joule_gauge(bench->meter,
                                 machine_require_channel(bench->meter, "neuron-0-power-share")->info.id,
                                 &value),
                     JOULE_OK);
    assert_near(value, 0.3, 1e-12); /* the value at 230 s */
}

static void test_a_minute_without_data_is_a_gap(void **state)
{
    struct machine_bench *bench = *state;
    setup_device(bench, "100,300");
    driver.no_data_min = 3;
    bench->meter = machine_open(bench->host, "neuron");
    machine_run(bench->meter, 400, 10);
    struct window w = meter_window(bench->meter, machine_require_channel(bench->meter, "neuron-0")->info.id,
                                   60000000000, 360000000000);
    assert_near(w.covered_s, 240, 1e-6);
    assert_near(w.joules.value, 60 * (400 + (0.2 + 0.4 + 0.5 + 0.6) * 200), 1e-6);
}

/* A line with an unchanged timestamp is not a new minute. If the timestamp is far in the future or in the
 * past, a clock was set, and the line is ignored. */
static void test_timestamps_must_be_new_and_plausible(void **state)
{
    struct machine_bench *bench = *state;
    setup_device(bench, "100,300");
    host_script_text(bench->host, POWER, "POWER_STATUS_VALID,1767225610,10.00,20.00,15.00\n");
    bench->meter = machine_open(bench->host, "neuron");
    machine_run(bench->meter, 100, 10);
    host_script_text(bench->host, POWER, "POWER_STATUS_VALID,1767225670,10.00,20.00,15.00\n");
    machine_run(bench->meter, 300, 10);
    /* two minutes are covered: the one in which the meter was opened, and the one of this line */
    assert_near(machine_require_channel(bench->meter, "neuron-0")->integrator.covered_s, 120, 1e-6);
    host_script_text(bench->host, POWER, "POWER_STATUS_VALID,1767229999,10.00,20.00,15.00\n");
    machine_run(bench->meter, 20, 10);
    assert_int_equal(machine_require_channel(bench->meter, "neuron-0")->info.state, JOULE_STALE);
    host_script_text(bench->host, POWER, "POWER_STATUS_VALID,1767225730,10.00,20.00,15.00\n");
    machine_run(bench->meter, 20, 10);
    assert_int_equal(machine_require_channel(bench->meter, "neuron-0")->info.state, JOULE_STALE);
    assert_near(machine_require_channel(bench->meter, "neuron-0")->integrator.covered_s, 120, 1e-6);
}

/* A failed reading must not cause the same minute to be counted twice. */
static void test_a_minute_counts_once(void **state)
{
    struct machine_bench *bench = *state;
    setup_device(bench, "100,300");
    bench->meter = machine_open(bench->host, "neuron");
    machine_run(bench->meter, 100, 10);
    host_script_error(bench->host, POWER, EIO);
    machine_run(bench->meter, 10, 10);
    host_script_file(bench->host, POWER, write_line, NULL);
    machine_run(bench->meter, 30, 10);
    double covered_s = machine_require_channel(bench->meter, "neuron-0")->integrator.covered_s;
    machine_run(bench->meter, 60, 10);
    assert_near(covered_s, 120, 1e-6); /* two minutes: those that end at 60 s and at 120 s */
    assert_near(machine_require_channel(bench->meter, "neuron-0")->integrator.covered_s, 180, 1e-6);
}

static void test_garbage_and_older_drivers(void **state)
{
    struct machine_bench *bench = *state;
    setup_device(bench, "100,300");
    host_script_text(bench->host, POWER, "17%\n");
    bench->meter = machine_open(bench->host, "neuron");
    machine_run(bench->meter, 70, 10);
    assert_int_equal(machine_require_channel(bench->meter, "neuron-0-power-share")->info.state, JOULE_FAILED);
    joule_close(bench->meter);
    host_script_text(bench->host, POWER, NULL);
    bench->meter = machine_open(bench->host, "neuron");
    assert_int_equal(machine_require_channel(bench->meter, "neuron-0")->info.state, JOULE_ABSENT);
    assert_contains(machine_require_channel(bench->meter, "neuron-0")->info.remedy, "2.21.37");
    assert_null(machine_channel(bench->meter, "neuron-0-power-share"));
    joule_close(bench->meter);
    host_script_error(bench->host, POWER, EACCES);
    bench->meter = machine_open(bench->host, "neuron");
    assert_int_equal(machine_require_channel(bench->meter, "neuron-0")->info.state, JOULE_DENIED);
}

static void test_wrong_watts_are_refused(void **state)
{
    struct machine_bench *bench = *state;
    setup_device(bench, "300");
    bench->meter = machine_open(bench->host, "neuron");
    const struct source *source = bench->meter->lanes[bench->meter->lane_count - 1]->sources[0];
    assert_int_equal(source->state, JOULE_INVALID);
    assert_contains(source->remedy, "JOULE_NEURON_WATTS");
}

static void test_device_has_its_facts(void **state)
{
    struct machine_bench *bench = *state;
    joule_device device = {.struct_size = sizeof device};
    setup_device(bench, NULL);
    bench->meter = machine_open_devices(bench->host, "neuron");
    machine_run(bench->meter, 20, 10);
    assert_int_equal(joule_device_count(bench->meter), 1);
    assert_int_equal(joule_device_get(bench->meter, 0, &device), JOULE_OK);
    assert_string_equal(device.name, "neuron:0");
    assert_string_equal(device.vendor, "amazon");
    assert_string_equal(device.model, "Trainium1");
    assert_string_equal(device.architecture, "NCv2, 2 cores");
    assert_string_equal(device.uuid, "00008a1f2b3c4d5e");
    assert_true(device.memory_used_bytes == 193986816 + 20971520);
    assert_true(device.memory_total_bytes == JOULE_BYTES_UNKNOWN);
}

/* --- neuron-ls ------------------------------------------------------------------------------------------ */

#define LIST                                                                                                 \
    "[{\"neuron_device\":1,\"bdf\":\"cd:00.0\",\"memory_size\":1,\"neuron_processes\":[]},\n"                \
    " {\"neuron_device\":0,\"bdf\":\"cc:00.0\",\"connected_to\":[12,3],\"nc_count\":2,"                      \
    "\"memory_size\":34359738368,\"neuroncore_ids\":[0,1],"                                                  \
    "\"neuron_processes\":[{\"pid\":113985,\"command\":\"neuron-bench\"}]}]\n"

static void test_device_lists_are_read(void **state)
{
    static const char *const others[] = {"",
                                         "[]",
                                         "{}",
                                         "neuron-ls: no devices\n",
                                         "[{\"neuron_device\":0,\"memory_size\":0}]",
                                         "[{\"neuron_device\":0,\"memory_size\":-1}]",
                                         "[{\"neuron_device\":\"x\",\"memory_size\":7}]",
                                         "[{\"memory_size\":7},7,null,[]]",
                                         "[{\"neuron_device\":0,\"memory_size\":7}"};
    struct neuron_listed devices[2];
    char text[512];
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(text, sizeof text, "%s", others[i]);
        if (neuron_list_parse(text, strlen(text), devices, 2) != 0)
            fail_msg("taken: %s", others[i]);
    }
    snprintf(text, sizeof text, "%s", LIST);
    assert_int_equal(neuron_list_parse(text, strlen(text), devices, 2), 2);
    assert_int_equal(devices[1].number, 0);
    assert_true(devices[1].memory_bytes == 34359738368);
    snprintf(text, sizeof text, "%s", LIST);
    assert_int_equal(neuron_list_parse(text, strlen(text), devices, 1), 1);
}

/* The output of neuron-ls, and how often it was called. */
struct program {
    const char *text;
    int status;
    ssize_t error;
    unsigned runs;
};

static ssize_t run_program(void *context, int64_t time_ns, const char *const *argv, char *buffer, size_t size,
                           int *out_status)
{
    struct program *program = context;
    (void)time_ns;
    assert_string_equal(argv[1], "-j");
    program->runs++;
    *out_status = program->status;
    if (program->error)
        return program->error;
    snprintf(buffer, size, "%s", program->text);
    return (ssize_t)strlen(program->text);
}

static void assert_total(struct machine_bench *bench, const char *name, struct program *program,
                         uint64_t wanted)
{
    joule_device device = {.struct_size = sizeof device};
    assert_true(host_script_program(bench->host, name, run_program, program));
    bench->meter = machine_open_devices(bench->host, "neuron");
    machine_run(bench->meter, 40, 10);
    assert_int_equal(joule_device_get(bench->meter, 0, &device), JOULE_OK);
    assert_true(device.memory_total_bytes == wanted);
    assert_true(device.memory_used_bytes == 193986816 + 20971520);
    assert_int_equal(program->runs, 1);
    joule_close(bench->meter);
    bench->meter = NULL;
}

static void test_memory_size_comes_from_the_list(void **state)
{
    struct machine_bench *bench = *state;
    struct program tools = {.text = LIST}, good = {.text = LIST}, failing = {.text = LIST, .status = 1},
                   hanging = {.text = "", .error = -ETIMEDOUT}, other = {.text = "no devices\n"},
                   own = {.text = LIST};
    setup_device(bench, NULL);
    assert_total(bench, "/opt/aws/neuron/bin/neuron-ls", &tools, 34359738368);
    assert_total(bench, "neuron-ls", &good, 34359738368);
    assert_total(bench, "neuron-ls", &failing, JOULE_BYTES_UNKNOWN);
    assert_total(bench, "neuron-ls", &hanging, JOULE_BYTES_UNKNOWN);
    assert_total(bench, "neuron-ls", &other, JOULE_BYTES_UNKNOWN);
    assert_true(host_script_env(bench->host, "JOULE_NEURON_LS", "/home/me/neuron-ls"));
    assert_total(bench, "/home/me/neuron-ls", &own, 34359738368);
}

/* A measurement without devices does not run neuron-ls. */
static void test_a_meter_runs_no_program(void **state)
{
    struct machine_bench *bench = *state;
    struct program program = {.text = LIST};
    setup_device(bench, NULL);
    assert_true(host_script_program(bench->host, "neuron-ls", run_program, &program));
    bench->meter = machine_open(bench->host, "neuron");
    machine_run(bench->meter, 40, 10);
    assert_int_equal(program.runs, 0);
}

#define ON_A_MACHINE(test) cmocka_unit_test_setup_teardown(test, machine_setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_are_read),
        cmocka_unit_test(test_invalid_lines_are_refused),
        cmocka_unit_test(test_pairs_of_watts),
        ON_A_MACHINE(test_joules_with_watts),
        ON_A_MACHINE(test_no_joules_without_watts),
        ON_A_MACHINE(test_a_minute_without_data_is_a_gap),
        ON_A_MACHINE(test_timestamps_must_be_new_and_plausible),
        ON_A_MACHINE(test_a_minute_counts_once),
        ON_A_MACHINE(test_garbage_and_older_drivers),
        ON_A_MACHINE(test_wrong_watts_are_refused),
        ON_A_MACHINE(test_device_has_its_facts),
        cmocka_unit_test(test_device_lists_are_read),
        ON_A_MACHINE(test_memory_size_comes_from_the_list),
        ON_A_MACHINE(test_a_meter_runs_no_program),
    };
    return cmocka_run_group_tests_name("neuron", tests, NULL, NULL);
}
