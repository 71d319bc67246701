/* Tests TPUs that are found on the bus and measured through the service of the program that uses them.
 *
 * The cases are different numbers of chips and cores, joules with and without known watts, and programs that
 * start, end or do not answer. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <joule/devices.h>
#include "joule/sources/accelerator/tpu_metrics.h"
#include "support/check.h"
#include "support/machine.h"
#include "support/tpu_service.h"

#define ADDRESS "tcp:127.0.0.1:8431"
#define GIB     (INT64_C(1) << 30)

/* --- messages ------------------------------------------------------------------------------------------- */

/* The bytes were computed from tpu_metric_service.proto. */
static void test_messages_have_the_bytes_of_the_protocol(void **state)
{
    static const uint8_t begin[] = {0x0a, 0x48, 0x0a, 0x28},
                         end[] = {0x1a, 0x1c, 0x0a, 0x0f, 0x0a, 0x09, 'd',  'e',  'v',  'i',
                                  'c',  'e',  '-',  'i',  'd',  0x12, 0x02, 0x18, 0x08, 0x1a,
                                  0x09, 0x09, 0,    0,    0,    0,    0,    0,    0x59, 0x40};
    uint8_t question[TPU_MESSAGE_BYTES], response[74];
    struct tpu_point points[TPU_MAX_POINTS];
    size_t count;
    (void)state;
    assert_int_equal(tpu_write_request(TPU_METRIC_DUTY, question), 42);
    assert_memory_equal(question, "\x0a\x28" TPU_METRIC_DUTY, 42);
    memcpy(response, begin, 4);
    memcpy(response + 4, TPU_METRIC_DUTY, 40);
    memcpy(response + 44, end, sizeof end);
    assert_true(tpu_parse_points(response, sizeof response, points, &count));
    assert_int_equal(count, 1);
    assert_int_equal(points[0].device, 8);
    assert_near(points[0].value, 100, 0);
    for (size_t size = 0; size < sizeof response; size++)
        assert_false(tpu_parse_points(response, size, points, &count) && count > 0);
}

static void test_points_without_number_or_value_are_left_out(void **state)
{
    static const int64_t ids[] = {1, 2, 3}, integers[] = {7, INT64_MAX, -1};
    static const double doubles[] = {1, NAN, INFINITY};
    uint8_t message[512];
    struct tpu_point points[TPU_MAX_POINTS];
    size_t count;
    (void)state;
    assert_true(
        tpu_parse_points(message, tpu_service_message("m", ids, doubles, NULL, 3, message), points, &count));
    assert_int_equal(count, 1);
    assert_true(
        tpu_parse_points(message, tpu_service_message("m", ids, NULL, integers, 3, message), points, &count));
    assert_int_equal(count, 3);
    assert_near(points[2].value, -1, 0);
    /* The first point has a string instead of a number. The value of the second point is not a gauge. Between
     * the points is an unknown field. */
    static const uint8_t others[] = {0x0a, 0x18, 0x1a, 0x0a, 0x0a, 0x04, 0x12, 0x02, 0x0a,
                                     0x00, 0x1a, 0x02, 0x10, 0x05, 0x20, 0x01, 0x1a, 0x08,
                                     0x0a, 0x04, 0x12, 0x02, 0x18, 0x01, 0x22, 0x00};
    assert_true(tpu_parse_points(others, sizeof others, points, &count));
    assert_int_equal(count, 0);
}

/* --- chips ---------------------------------------------------------------------------------------------- */

static struct tpu_service service;

static void open_machine(struct machine_bench *bench, const char *machine)
{
    assert_true(machine_add(bench->host, machine_fixture(machine), ""));
    service = (struct tpu_service){.chips = 4,
                                   .cores = 4,
                                   /* numbers within a slice that consists of several machines */
                                   .ids = {9, 8, 13, 12},
                                   .duty = {50, 100, 0, 25},
                                   .total_bytes = 31 * GIB,
                                   .used_bytes = 18 * GIB};
    host_script_service(bench->host, ADDRESS, tpu_service_answer, &service);
    bench->meter = machine_open_devices(bench->host, "tpu");
}

static double busy(struct machine_bench *bench, const char *name)
{
    double value;
    assert_int_equal(joule_gauge(bench->meter, machine_require_channel(bench->meter, name)->info.id, &value),
                     JOULE_OK);
    return value;
}

static void test_a_v4_is_modelled(void **state)
{
    struct machine_bench *bench = *state;
    joule_quantity joules;
    open_machine(bench, "tpu-v4");
    machine_run(bench->meter, 20, 1);
    const joule_domain *info = &machine_require_channel(bench->meter, "tpu-0")->info;
    assert_int_equal(info->cls, JOULE_CLASS_MODELLED);
    assert_int_equal(info->scope, JOULE_SCOPE_GPU);
    assert_int_equal(info->tier, 1);
    assert_string_equal(info->model, "TPU v4");
    assert_near(machine_mean_watts(bench->meter, info->id), 192, 1e-6);
    assert_near(machine_watts(bench->meter, "tpu-1"), 141, 1e-6);
    assert_near(machine_watts(bench->meter, "tpu-2"), 90 + 0.25 * 102, 1e-6);
    assert_near(machine_watts(bench->meter, "tpu-3"), 90, 1e-6);
    assert_int_equal(joule_energy_joules(bench->meter, JOULE_GPU, &joules), JOULE_OK);
    /* the interval is wide */
    assert_true(joules.low < 0.7 * joules.value && joules.high > 1.5 * joules.value);
    assert_null(machine_channel(bench->meter, "tpu-4")); /* the fifth device is a network card */
    assert_near(busy(bench, "tpu-0-busy"), 1, 0);
}

static void test_newer_chips_need_watts(void **state)
{
    struct machine_bench *bench = *state;
    open_machine(bench, "tpu-v6e");
    machine_run(bench->meter, 5, 1);
    assert_int_equal(machine_require_channel(bench->meter, "tpu-0")->info.state, JOULE_UNSUPPORTED);
    assert_contains(machine_require_channel(bench->meter, "tpu-0")->info.remedy, "JOULE_TPU_WATTS=IDLE,MAX");
    assert_near(busy(bench, "tpu-1-busy"), 0.5, 0);
    assert_null(machine_channel(bench->meter, "tpu-4")); /* network card and disk are not TPUs */
}

static void test_watts_of_the_user(void **state)
{
    struct machine_bench *bench = *state;
    host_script_env(bench->host, "JOULE_TPU_WATTS", "60,260");
    open_machine(bench, "tpu-v6e");
    machine_run(bench->meter, 20, 1);
    assert_int_equal(machine_require_channel(bench->meter, "tpu-1")->info.cls, JOULE_CLASS_ASSUMED);
    assert_near(machine_watts(bench->meter, "tpu-1"), 160, 1e-6);
}

static void test_wrong_settings_are_refused(void **state)
{
    static const char *const settings[][2] = {{"JOULE_TPU_WATTS", "much"},
                                              {"TPU_RUNTIME_METRICS_PORTS", "8431,http"},
                                              {"TPU_RUNTIME_METRICS_PORTS", "70000"}};
    struct machine_bench *bench = *state;
    for (size_t i = 0; i < 3; i++) {
        host_script_env(bench->host, settings[i][0], settings[i][1]);
        open_machine(bench, "tpu-v4");
        const struct source *source = bench->meter->lanes[bench->meter->lane_count - 1]->sources[0];
        assert_int_equal(source->state, JOULE_INVALID);
        assert_contains(source->remedy, settings[i][0]);
        joule_close(bench->meter);
        bench->meter = NULL;
        host_script_env(bench->host, settings[i][0], "");
    }
}

/* --- programs that start and end ------------------------------------------------------------------------ */

static void test_without_a_program_load_is_unknown(void **state)
{
    struct machine_bench *bench = *state;
    open_machine(bench, "tpu-v4");
    host_script_service(bench->host, ADDRESS, NULL, NULL);
    machine_run(bench->meter, 5, 1);
    assert_int_equal(machine_require_channel(bench->meter, "tpu-0")->info.state, JOULE_STALE);
    double covered_s = machine_require_channel(bench->meter, "tpu-0")->integrator.covered_s;
    host_script_service(bench->host, ADDRESS, tpu_service_answer, &service);
    machine_run(bench->meter, 10, 1);
    assert_int_equal(machine_require_channel(bench->meter, "tpu-0")->info.state, JOULE_OK);
    /* at most 10.5 more seconds are covered, because the time before the program started is a gap */
    assert_true(machine_require_channel(bench->meter, "tpu-0")->integrator.covered_s - covered_s < 10.5);
}

static void test_programs_that_do_not_answer(void **state)
{
    struct machine_bench *bench = *state;
    open_machine(bench, "tpu-v4");
    service.refuses = true;
    machine_run(bench->meter, 2, 1);
    assert_int_equal(machine_require_channel(bench->meter, "tpu-0")->info.state, JOULE_UNSUPPORTED);
    service.refuses = false;
    service.is_silent = true;
    machine_run(bench->meter, 2, 1);
    assert_int_equal(machine_require_channel(bench->meter, "tpu-0")->info.state, JOULE_FAILED);
}

/* Two programs use the chips. Each has its own port and its own chips. */
static void test_programs_share_the_chips(void **state)
{
    struct machine_bench *bench = *state;
    struct tpu_service other = {.chips = 2, .cores = 2, .ids = {12, 13}, .duty = {10, 20}};
    host_script_env(bench->host, "TPU_RUNTIME_METRICS_PORTS", "8431,8440");
    host_script_service(bench->host, "tcp:[::1]:8440", tpu_service_answer, &other);
    open_machine(bench, "tpu-v4");
    /* this program uses the first two chips of `service`, which have the numbers 9 and 8 */
    service.chips = service.cores = 2;
    machine_run(bench->meter, 5, 1);
    assert_near(busy(bench, "tpu-0-busy"), 1, 0);
    assert_near(busy(bench, "tpu-1-busy"), 0.5, 0);
    assert_near(busy(bench, "tpu-2-busy"), 0.1, 1e-12);
    assert_near(busy(bench, "tpu-3-busy"), 0.2, 1e-12);
}

/* A program uses only some of the chips. If the service gives numbers within this machine, they identify the
 * chips. Numbers within a slice do not identify them. */
static void test_some_of_the_chips(void **state)
{
    struct machine_bench *bench = *state;
    open_machine(bench, "tpu-v4");
    service = (struct tpu_service){.chips = 2, .ids = {3, 1}, .duty = {30, 10}};
    machine_run(bench->meter, 5, 1);
    assert_near(busy(bench, "tpu-1-busy"), 0.1, 1e-12);
    assert_near(busy(bench, "tpu-3-busy"), 0.3, 1e-12);
    assert_int_equal(machine_require_channel(bench->meter, "tpu-0")->info.state, JOULE_STALE);
    service.ids[0] = 9;
    machine_run(bench->meter, 5, 1);
    assert_int_equal(machine_require_channel(bench->meter, "tpu-1")->info.state, JOULE_FAILED);
}

static void test_impossible_percentages_are_failures(void **state)
{
    struct machine_bench *bench = *state;
    open_machine(bench, "tpu-v4");
    service.duty[1] = 101;
    machine_run(bench->meter, 5, 1);
    assert_int_equal(machine_require_channel(bench->meter, "tpu-0")->info.state, JOULE_FAILED);
    assert_int_equal(machine_require_channel(bench->meter, "tpu-1")->info.state, JOULE_OK);
}

/* --- facts ---------------------------------------------------------------------------------------------- */

static void test_memory_of_chips_is_read(void **state)
{
    struct machine_bench *bench = *state;
    joule_device device = {.struct_size = sizeof device};
    open_machine(bench, "tpu-v6e");
    machine_run(bench->meter, 5, 1);
    assert_int_equal(joule_device_count(bench->meter), 4);
    assert_int_equal(joule_device_get(bench->meter, 3, &device), JOULE_OK);
    assert_string_equal(device.name, "tpu:3");
    assert_string_equal(device.model, "TPU v6e");
    assert_string_equal(device.pci_address, "0000:00:07.0");
    assert_true(device.memory_total_bytes == 31 * GIB && device.memory_used_bytes == 18 * GIB);
    assert_true(device.memory_free_bytes == 13 * GIB);
}

/* For chips of the third generation, programs see two cores per chip, each with half of the chip's memory. */
static void test_memory_of_cores(void **state)
{
    struct machine_bench *bench = *state;
    joule_device device = {.struct_size = sizeof device};
    for (int i = 4; i < 8; i++) {
        char path[] = "/sys/bus/pci/devices/0000:00:04.0/uevent";
        path[strlen("/sys/bus/pci/devices/0000:00:0")] = (char)('0' + i);
        host_script_text(bench->host, path, "PCI_ID=1AE0:0027\nPCI_SUBSYS_ID=1AE0:004F\n");
    }
    open_machine(bench, "tpu-v4");
    service.cores = 8;
    for (int i = 0; i < 8; i++)
        service.ids[i] = i;
    machine_run(bench->meter, 5, 1);
    assert_int_equal(joule_device_get(bench->meter, 0, &device), JOULE_OK);
    assert_string_equal(device.model, "TPU v3");
    /* the mean is not exact, because the first reading differs */
    assert_true(device.memory_total_bytes == 62 * GIB);
    assert_near(machine_watts(bench->meter, "tpu-1"), 262, 4);
}

#define ON_A_MACHINE(test) cmocka_unit_test_setup_teardown(test, machine_setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_have_the_bytes_of_the_protocol),
        cmocka_unit_test(test_points_without_number_or_value_are_left_out),
        ON_A_MACHINE(test_a_v4_is_modelled),
        ON_A_MACHINE(test_newer_chips_need_watts),
        ON_A_MACHINE(test_watts_of_the_user),
        ON_A_MACHINE(test_wrong_settings_are_refused),
        ON_A_MACHINE(test_without_a_program_load_is_unknown),
        ON_A_MACHINE(test_programs_that_do_not_answer),
        ON_A_MACHINE(test_programs_share_the_chips),
        ON_A_MACHINE(test_some_of_the_chips),
        ON_A_MACHINE(test_impossible_percentages_are_failures),
        ON_A_MACHINE(test_memory_of_chips_is_read),
        ON_A_MACHINE(test_memory_of_cores),
    };
    return cmocka_run_group_tests_name("tpu", tests, NULL, NULL);
}
