/* Tests that a management controller is read through a program only if requested, and at most once per
 * second. */
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

/* State and results of the fake programs. */
static struct truth {
    bool has_text, has_raw, has_freeipmi;
    double watts;
    int exit_status;
    ssize_t error; /* -errno of starting a program, or 0 */
    unsigned runs;
} truth;

static ssize_t ipmitool(void *context, int64_t time_ns, const char *const *argv, char *buffer, size_t size,
                        int *out_status)
{
    (void)context;
    (void)time_ns;
    truth.runs++;
    if (truth.error)
        return truth.error;
    *out_status = truth.exit_status;
    if (strcmp(argv[1], "dcmi") == 0 && truth.has_text)
        return snprintf(
            buffer, size,
            "\n    Instantaneous power reading: %19.0f Watts\n    Power reading state is:     activated\n",
            truth.watts);
    if (strcmp(argv[1], "raw") == 0 && truth.has_raw)
        return snprintf(buffer, size, " dc %02x %02x bc 00 94 07 c2 00 26 8b 54 6a 88 13 00\n 00 40\n",
                        (unsigned)truth.watts & 0xff, (unsigned)truth.watts >> 8);
    *out_status = 1;
    return snprintf(buffer, size, "DCMI request failed because: Invalid data field in request (cc)\n");
}

static ssize_t ipmi_dcmi(void *context, int64_t time_ns, const char *const *argv, char *buffer, size_t size,
                         int *out_status)
{
    (void)context;
    (void)time_ns;
    assert_string_equal(argv[1], "--get-system-power-statistics");
    if (truth.has_freeipmi)
        return snprintf(buffer, size, "Current Power                        : %.0f Watts\n", truth.watts);
    *out_status = 1;
    return 0;
}

static int setup(void **state)
{
    machine_setup(state);
    struct machine_bench *bench = *state;
    truth = (struct truth){.has_text = true, .watts = 346};
    host_script_env(bench->host, "JOULE_IPMI", "local");
    host_script_program(bench->host, "ipmitool", ipmitool, NULL);
    host_script_program(bench->host, "ipmi-dcmi", ipmi_dcmi, NULL);
    return 0;
}

static void assert_watts(struct machine_bench *bench, double wanted)
{
    bench->meter = machine_open(bench->host, "ipmi");
    machine_run(bench->meter, 20, 1);
    double watts = machine_mean_watts(bench->meter, JOULE_TOTAL);
    if (!(fabs(watts - wanted) < 1e-6))
        fail_msg("%.12g instead of %.12g", watts, wanted);
    const struct channel *ch = machine_channel(bench->meter, "node");
    assert_non_null(ch);
    assert_int_equal(ch->info.scope, JOULE_SCOPE_NODE);
    assert_int_equal(ch->info.cls, JOULE_CLASS_DERIVED);
    assert_string_equal(ch->info.measurement, "ipmi");
}

static void test_power_is_read_with_ipmitool(void **state)
{
    assert_watts(*state, 346);
    assert_in_range(truth.runs, 20, 22);
}

/* The meter shows the value of the first reading at once, although the second reading follows only a second
 * later. */
static void test_first_reading_is_used(void **state)
{
    struct machine_bench *bench = *state;
    joule_quantity watts;
    bench->meter = machine_open(bench->host, "ipmi");
    assert_int_equal(joule_power_watts(bench->meter, machine_domain(bench->meter, "node"), &watts), JOULE_OK);
    assert_true(fabs(watts.value - 346) < 1e-9 && watts.low < 346 && watts.high > 346);
    truth.error = -ETIMEDOUT;
    machine_run(bench->meter, 1, 1);
    assert_int_equal(joule_power_watts(bench->meter, machine_domain(bench->meter, "node"), &watts),
                     JOULE_STALE);
}

static void test_power_is_read_with_freeipmi(void **state)
{
    truth = (struct truth){.has_freeipmi = true, .watts = 164};
    assert_watts(*state, 164);
}

static void test_power_is_read_from_bytes(void **state)
{
    truth = (struct truth){.has_raw = true, .watts = 1195};
    assert_watts(*state, 1195);
}

static void test_never_unless_asked_for(void **state)
{
    struct machine_bench *bench = *state;
    host_script_env(bench->host, "JOULE_IPMI", "");
    machine_expect_absent(bench, "ipmi", JOULE_ABSENT, "JOULE_IPMI=local");
    assert_int_equal(truth.runs, 0);
}

static void test_only_this_machine(void **state)
{
    struct machine_bench *bench = *state;
    host_script_env(bench->host, "JOULE_IPMI", "10.0.0.1");
    machine_expect_absent(bench, "ipmi", JOULE_INVALID, "local");
    assert_int_equal(truth.runs, 0);
}

static void test_a_controller_without_a_meter(void **state)
{
    truth = (struct truth){.has_text = true, .watts = 0};
    machine_expect_absent(*state, "ipmi", JOULE_UNSUPPORTED, "measures no power");
}

static void test_refusal_has_a_remedy(void **state)
{
    truth = (struct truth){0};
    machine_expect_absent(*state, "ipmi", JOULE_FAILED, "as root");
}

static void test_a_controller_that_stops(void **state)
{
    struct machine_bench *bench = *state;
    assert_watts(bench, 346);
    truth.error = -ETIMEDOUT;
    machine_run(bench->meter, 2, 1);
    assert_int_equal(machine_channel(bench->meter, "node")->info.state, JOULE_STALE);
    truth.error = 0;
    truth.exit_status = 1;
    machine_run(bench->meter, 2, 1);
    assert_int_equal(machine_channel(bench->meter, "node")->info.state, JOULE_FAILED);
    truth.exit_status = 0;
    machine_run(bench->meter, 2, 1);
    assert_int_equal(machine_channel(bench->meter, "node")->info.state, JOULE_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_power_is_read_with_ipmitool),  TEST(test_first_reading_is_used),
        TEST(test_power_is_read_with_freeipmi),  TEST(test_power_is_read_from_bytes),
        TEST(test_never_unless_asked_for),       TEST(test_only_this_machine),
        TEST(test_a_controller_without_a_meter), TEST(test_refusal_has_a_remedy),
        TEST(test_a_controller_that_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
