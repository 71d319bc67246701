/* Tests boards that environment variables hide from programs, such as CUDA_VISIBLE_DEVICES. They are in no
 * total, and the report says so. A meter of the whole machine still includes them.
 *
 * The machine has two AMD boards with 100 W and 250 W. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joule/report/report.h"
#include "support/check.h"
#include "support/machine.h"

static void put_board(struct joule_host *host, int number, const char *address, const char *microwatts)
{
    char path[128], target[64];
    snprintf(path, sizeof path, "/sys/class/hwmon/hwmon%d/name", number);
    host_script_text(host, path, "amdgpu");
    snprintf(path, sizeof path, "/sys/class/hwmon/hwmon%d/power1_average", number);
    host_script_text(host, path, microwatts);
    snprintf(path, sizeof path, "/sys/class/hwmon/hwmon%d/device", number);
    snprintf(target, sizeof target, "../../../%s", address);
    host_script_link(host, path, target);
    snprintf(path, sizeof path, "/sys/class/kfd/kfd/topology/nodes/%d/properties", number);
    host_script_text(host, path, "simd_count 304\n");
}

static void setup_boards(struct machine_bench *bench, const char *variable, const char *value)
{
    put_board(bench->host, 1, "0000:03:00.0", "100000000");
    put_board(bench->host, 2, "0000:83:00.0", "250000000");
    host_script_env(bench->host, variable, value);
}

static joule_domain domain(const struct machine_bench *bench, const char *name)
{
    joule_domain found = {.struct_size = sizeof found};
    assert_int_equal(joule_domain_get(bench->meter, (size_t)machine_domain(bench->meter, name), &found),
                     JOULE_OK);
    return found;
}

static void assert_watts(const struct machine_bench *bench, double wanted)
{
    double watts = machine_mean_watts(bench->meter, JOULE_GPU);
    if (!(fabs(watts - wanted) < 1e-6))
        fail_msg("%g W instead of %g", watts, wanted);
}

static void test_a_hidden_board_is_in_no_total(void **state)
{
    struct machine_bench *bench = *state;
    setup_boards(bench, "ROCR_VISIBLE_DEVICES", "1");
    bench->meter = machine_open(bench->host, "hwmon");
    machine_run(bench->meter, 3, 0.05);
    assert_watts(bench, 250);
    joule_domain hidden = domain(bench, "gpu-0"), shown = domain(bench, "gpu-1");
    assert_int_equal(hidden.state, JOULE_OK);
    assert_int_equal(hidden.in_total, 0);
    assert_contains(hidden.remedy, "ROCR_VISIBLE_DEVICES");
    assert_int_equal(shown.in_total, 1);
    assert_string_equal(shown.remedy, "");
}

static void assert_advice(const struct machine_bench *bench, const char *variable, const char *boards,
                          const char *rest)
{
    struct report report;
    assert_int_equal(
        report_collect(&report, bench->meter, "test", bench->meter->begin_ns, meter_now_ns(bench->meter)),
        JOULE_OK);
    assert_non_null(report.first_advice);
    if (!strstr(report.first_advice, variable) || !strstr(report.first_advice, boards) ||
        !strstr(report.first_advice, rest))
        fail_msg("%s", report.first_advice);
    report_free(&report);
}

/* The report names the variable and the boards that it hides, and states what the total covers. */
static void test_report_names_the_variable_that_hides(void **state)
{
    static const char *const variables[] = {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                            "GPU_DEVICE_ORDINAL"};
    static const struct {
        const char *sources, *value, *boards, *rest;
    } cases[] = {
        {"hwmon", "1", "hides gpu:0:", "measured"},
        {"hwmon", "", "hides gpu:0, gpu:1:", "unknown"},
    };
    struct machine_bench *bench = *state;
    for (size_t v = 0; v < sizeof variables / sizeof variables[0]; v++)
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            assert_int_equal(machine_teardown(state), 0);
            assert_int_equal(machine_setup(state), 0);
            bench = *state;
            machine_put_cpus(bench->host, "GenuineIntel", 6, 85, 1);
            setup_boards(bench, variables[v], cases[i].value);
            bench->meter = machine_open(bench->host, cases[i].sources);
            machine_run(bench->meter, 3, 0.05);
            assert_advice(bench, variables[v], cases[i].boards, cases[i].rest);
        }
}

static void test_it_is_still_measured(void **state)
{
    struct machine_bench *bench = *state;
    joule_quantity joules;
    setup_boards(bench, "ROCR_VISIBLE_DEVICES", "");
    bench->meter = machine_open(bench->host, "hwmon");
    machine_run(bench->meter, 3, 0.05);
    assert_int_equal(joule_energy_joules(bench->meter, machine_domain(bench->meter, "gpu-0"), &joules),
                     JOULE_OK);
    assert_int_not_equal(joule_energy_joules(bench->meter, JOULE_GPU, &joules), JOULE_OK);
}

static void test_uncertain_variables_hide_nothing(void **state)
{
    struct machine_bench *bench = *state;
    /* the ids of these boards are unknown, so it is unknown which of them the variable hides */
    setup_boards(bench, "ROCR_VISIBLE_DEVICES", "GPU-1234");
    bench->meter = machine_open(bench->host, "hwmon");
    machine_run(bench->meter, 3, 0.05);
    assert_watts(bench, 350);
}

static void test_the_machine_has_all(void **state)
{
    struct machine_bench *bench = *state;
    setup_boards(bench, "ROCR_VISIBLE_DEVICES", "1");
    bench->meter = machine_open_devices(bench->host, "hwmon");
    machine_run(bench->meter, 3, 0.05);
    assert_watts(bench, 350);
}

/* The source hwmon does not know the boards' ids, but another source does. The result does not depend on the
 * order in which sources open. */
static void test_sources_know_parts(void **state)
{
    struct machine_bench *bench = *state;
    setup_boards(bench, "ROCR_VISIBLE_DEVICES", "GPU-aaaa");
    for (int i = 0; i < 2; i++) {
        static const char *const addresses[] = {"0000:03:00.0", "0000:83:00.0"}, *const ids[] = {
                                                                                     "aaaa000000000001",
                                                                                     "bbbb000000000002"};
        char path[128], text[128];
        snprintf(path, sizeof path, "/sys/class/drm/card%d/device/uevent", i);
        snprintf(text, sizeof text, "DRIVER=amdgpu\nPCI_ID=1002:740F\nPCI_SLOT_NAME=%s\n", addresses[i]);
        host_script_text(bench->host, path, text);
        snprintf(path, sizeof path, "/sys/class/drm/card%d/device/unique_id", i);
        host_script_text(bench->host, path, ids[i]);
        snprintf(path, sizeof path, "/sys/class/drm/card%d/device/gpu_busy_percent", i);
        host_script_text(bench->host, path, "5\n");
    }
    bench->meter = machine_open(bench->host, "amdgpu,hwmon");
    machine_run(bench->meter, 3, 0.05);
    assert_watts(bench, 100);
}

#define ON_A_MACHINE(test) cmocka_unit_test_setup_teardown(test, machine_setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_MACHINE(test_a_hidden_board_is_in_no_total),
        ON_A_MACHINE(test_report_names_the_variable_that_hides),
        ON_A_MACHINE(test_it_is_still_measured),
        ON_A_MACHINE(test_uncertain_variables_hide_nothing),
        ON_A_MACHINE(test_the_machine_has_all),
        ON_A_MACHINE(test_sources_know_parts),
    };
    return cmocka_run_group_tests_name("hidden", tests, NULL, NULL);
}
