/* Tests that the output of joule-redfish is read correctly, and which of the reported powers is used as the
 * power of the machine. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joule/sources/node/redfish_text.h"
#include "support/check.h"
#include "support/machine.h"

#define SUPPLY      "/redfish/v1/Chassis/1U/PowerSubsystem/PowerSupplies/Bay"
#define ENVIRONMENT "/redfish/v1/Chassis/1U/EnvironmentMetrics"
#define POWER       "/redfish/v1/Chassis/1U/Power"

/* --- lines ---------------------------------------------------------------------------------------------- */

static void test_lines_are_read(void **state)
{
    struct redfish_text text;
    (void)state;
    redfish_parse("model Contoso 3500RX\nreading supply 200.5 " SUPPLY "1\nreading supply 180 " SUPPLY "2\n"
                  "reading environment - " ENVIRONMENT "\nsomething new\nreading control 344 " POWER "\n",
                  &text);
    assert_int_equal(text.status, JOULE_OK);
    assert_string_equal(text.model, "Contoso 3500RX");
    assert_int_equal(text.count, 4);
    assert_string_equal(text.readings[1].target, "supply:" SUPPLY "2");
    assert_relative(redfish_watts(&text, REDFISH_SUPPLIES), 380.5, 1e-6);
    assert_relative(redfish_watts(&text, REDFISH_CHASSIS), NAN, 1e-6);
    assert_relative(redfish_watts(&text, REDFISH_CONTROL), 344, 1e-6);
}

static void test_one_supply_of_two_is_no_sum(void **state)
{
    struct redfish_text text;
    (void)state;
    redfish_parse("reading supply 200 " SUPPLY "1\nreading supply - " SUPPLY "2\n", &text);
    assert_relative(redfish_watts(&text, REDFISH_SUPPLIES), NAN, 1e-6);
}

static void test_failures_have_a_status_and_a_reason(void **state)
{
    struct redfish_text text;
    (void)state;
    redfish_parse("failed 2 it refuses user and password (401)\n", &text);
    assert_int_equal(text.status, JOULE_DENIED);
    assert_string_equal(text.reason, "it refuses user and password (401)");
    redfish_parse("failed ? what\n", &text);
    assert_int_equal(text.status, JOULE_FAILED);
}

static void test_invalid_lines_are_ignored(void **state)
{
    static const char *const lines[] = {"reading",
                                        "reading supply",
                                        "reading supply 12",
                                        "reading supply 12 relative",
                                        "reading supply x /a",
                                        "reading supply -5 /a",
                                        "reading supply 1e9 /a",
                                        "reading supply nan /a",
                                        "reading fan 12 /a"};
    struct redfish_text text;
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        redfish_parse(lines[i], &text);
        if (text.count || text.status != JOULE_OK)
            fail_msg("%s", lines[i]);
    }
}

/* --- the source ----------------------------------------------------------------------------------------- */

static struct truth {
    double supply_watts, environment_watts, control_watts; /* NaN means that the controller reports null */
    const char *failure; /* the program's error message; NULL means that it succeeds */
    ssize_t error;
    unsigned finds, reads;
} truth;

static void add_reading(char *buffer, size_t size, const char *kind, double watts, const char *path)
{
    char number[32] = "-";
    size_t length = strlen(buffer);
    if (!isnan(watts))
        snprintf(number, sizeof number, "%.9g", watts);
    snprintf(buffer + length, size - length, "reading %s %s %s\n", kind, number, path);
}

static ssize_t run_program(void *context, int64_t time_ns, const char *const *argv, char *buffer, size_t size,
                           int *out_status)
{
    (void)context, (void)time_ns;
    assert_string_equal(argv[1], "/etc/redfish.conf");
    *(argv[2] ? &truth.reads : &truth.finds) += 1;
    if (argv[2])
        assert_string_equal(argv[2], "supply:" SUPPLY "1/Metrics");
    buffer[0] = '\0';
    if (truth.error)
        return truth.error;
    if (truth.failure) {
        *out_status = 125;
        return snprintf(buffer, size, "%s\n", truth.failure);
    }
    add_reading(buffer, size, "supply", truth.supply_watts, SUPPLY "1/Metrics");
    add_reading(buffer, size, "environment", truth.environment_watts, ENVIRONMENT);
    add_reading(buffer, size, "control", truth.control_watts, POWER);
    return (ssize_t)strlen(buffer);
}

static int setup(void **state)
{
    machine_setup(state);
    struct machine_bench *bench = *state;
    truth = (struct truth){.supply_watts = 937.4, .environment_watts = 374, .control_watts = 344};
    host_script_env(bench->host, "JOULE_REDFISH", "/etc/redfish.conf");
    host_script_program(bench->host, "joule-redfish", run_program, NULL);
    return 0;
}

static void run(struct machine_bench *bench, double seconds)
{
    if (!bench->meter)
        bench->meter = machine_open(bench->host, "redfish");
    machine_run(bench->meter, seconds, 5);
}

static void test_supplies_are_the_total(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, 100);
    assert_int_equal(joule_domain_count(bench->meter), 3);
    assert_relative(machine_watts(bench->meter, "node-supplies"), 937.4, 1e-6);
    assert_relative(machine_watts(bench->meter, "node-chassis"), 374, 1e-6);
    assert_relative(machine_watts(bench->meter, "node-control"), 344, 1e-6);
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 937.4, 1e-6);
    assert_int_equal(truth.finds, 1);
    assert_in_range(truth.reads, 20, 22);
}

static void test_chassis_counts_without_supplies(void **state)
{
    truth.supply_watts = NAN;
    run(*state, 50);
    assert_relative(machine_mean_watts(((struct machine_bench *)*state)->meter, JOULE_TOTAL), 374, 1e-6);
}

static void test_control_counts_last(void **state)
{
    truth.supply_watts = truth.environment_watts = NAN;
    run(*state, 50);
    assert_relative(machine_mean_watts(((struct machine_bench *)*state)->meter, JOULE_TOTAL), 344, 1e-6);
}

static void test_what_was_found_is_looked_for_again(void **state)
{
    run(*state, 5 * 125);
    assert_int_equal(truth.finds, 2);
}

static void test_a_controller_that_stops(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, 20);
    truth.error = -ETIMEDOUT;
    run(bench, 5);
    assert_int_equal(machine_channel(bench->meter, "node-supplies")->info.state, JOULE_STALE);
    truth.error = 0;
    truth.failure = "failed 2 refused";
    run(bench, 5);
    assert_int_equal(machine_channel(bench->meter, "node-supplies")->info.state, JOULE_DENIED);
    truth.failure = NULL;
    run(bench, 5);
    assert_int_equal(machine_channel(bench->meter, "node-supplies")->info.state, JOULE_OK);
}

static void test_refusal_is_denied(void **state)
{
    truth.failure = "failed 2 it refuses user and password (401)";
    machine_expect_absent(*state, "redfish", JOULE_DENIED, "it refuses user and password (401)");
}

static void test_without_the_program(void **state)
{
    truth.error = -ENOENT;
    machine_expect_absent(*state, "redfish", JOULE_ABSENT, "libcurl");
}

static void test_never_unless_asked_for(void **state)
{
    struct machine_bench *bench = *state;
    host_script_env(bench->host, "JOULE_REDFISH", "");
    machine_expect_absent(bench, "redfish", JOULE_ABSENT, "JOULE_REDFISH=FILE");
    assert_int_equal(truth.finds, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_are_read),
        cmocka_unit_test(test_one_supply_of_two_is_no_sum),
        cmocka_unit_test(test_failures_have_a_status_and_a_reason),
        cmocka_unit_test(test_invalid_lines_are_ignored),
        TEST(test_supplies_are_the_total),
        TEST(test_chassis_counts_without_supplies),
        TEST(test_control_counts_last),
        TEST(test_what_was_found_is_looked_for_again),
        TEST(test_a_controller_that_stops),
        TEST(test_refusal_is_denied),
        TEST(test_without_the_program),
        TEST(test_never_unless_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
