/* Tests metered plugs: which values are requested, their accuracy, and that no secret is passed as a program
 * argument. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joule/sources/node/pdu_table.h"
#include "support/check.h"
#include "support/machine.h"

static void test_plugs_are_read(void **state)
{
    struct pdu_plugs plugs;
    (void)state;
    assert_true(pdu_parse_plugs(
        "  raritan:udp6:[fe80::1]:outlet.1.7,inlet.1.1 apc:pdu2:outlet.3  sentry3:p:infeed.1.2", &plugs));
    assert_int_equal(plugs.count, 4);
    assert_string_equal(plugs.list[0].host, "udp6:[fe80::1]");
    assert_string_equal(plugs.list[0].watts_oid, ".1.3.6.1.4.1.13742.6.5.4.3.1.4.1.7.5");
    assert_string_equal(plugs.list[0].digits_oid, ".1.3.6.1.4.1.13742.6.3.5.4.1.7.1.7.5");
    assert_string_equal(plugs.list[1].watts_oid, ".1.3.6.1.4.1.13742.6.5.2.3.1.4.1.1.5");
    assert_string_equal(plugs.list[1].digits_oid, ".1.3.6.1.4.1.13742.6.3.3.4.1.7.1.1.5");
    assert_string_equal(plugs.list[2].watts_oid, ".1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.3");
    assert_string_equal(plugs.list[2].digits_oid, "");
    assert_string_equal(plugs.list[3].watts_oid, ".1.3.6.1.4.1.1718.3.2.2.1.12.1.2");
    assert_true(pdu_parse_plugs("apc:pdu:device.1", &plugs));
    assert_string_equal(plugs.list[0].watts_oid, ".1.3.6.1.4.1.318.1.1.26.4.3.1.5.1");
    assert_relative(plugs.list[0].unit_watts, 10, 1e-6);
}

static void test_invalid_plugs_are_refused(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "apc",
        "apc:pdu",
        "apc::outlet.1",
        "apc:-c:outlet.1",
        "apc:p:",
        "apc:p:x.1",
        "apc:p:outlet",
        "apc:p:outlet.",
        "apc:p:outlet.1.2",
        "apc:p:outlet.1,x",
        "raritan:p:outlet.1",
        "other:p:outlet.1",
        "apc:p:outlet.12345",
        "apc:p:outlet.1a",
        "apc:p:outlet.-1",
        "apc:p:outlet.1,outlet.2,outlet.3,outlet.4,outlet.5,outlet.6,outlet.7,outlet.8,outlet.9"};
    struct pdu_plugs plugs;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (pdu_parse_plugs(texts[i], &plugs))
            fail_msg("\"%s\" was taken", texts[i]);
}

static void test_values_are_read(void **state)
{
    double values[3];
    (void)state;
    assert_int_equal(pdu_parse_values("34\r\n0\nNo Such Instance currently exists at this OID\n7", values, 3),
                     4);
    assert_relative(values[0], 34, 1e-6);
    assert_relative(values[1], 0, 1e-6);
    assert_relative(values[2], NAN, 1e-6);
    assert_int_equal(pdu_parse_values("", values, 3), 0);
}

/* --- the source ----------------------------------------------------------------------------------------- */

static struct truth {
    struct {
        const char *oid, *value;
    } values[4];
    ssize_t error;
    int exit_status;
    unsigned runs;
} truth;

static ssize_t snmpget(void *context, int64_t time_ns, const char *const *argv, char *buffer, size_t size,
                       int *out_status)
{
    size_t length = 0, word = 9;
    (void)context, (void)time_ns;
    truth.runs++;
    assert_string_equal(argv[3], "-Oqve");
    for (const char *const *each = argv; *each; each++)
        assert_true(strcmp(*each, "-c") != 0 && strcmp(*each, "-A") != 0 && strcmp(*each, "-X") != 0);
    if (truth.error)
        return truth.error;
    *out_status = truth.exit_status;
    for (; argv[word]; word++) {
        const char *value = "No Such Object available on this agent at this OID";
        for (size_t i = 0; i < 4 && truth.values[i].oid; i++)
            if (strcmp(truth.values[i].oid, argv[word]) == 0)
                value = truth.values[i].value;
        length += (size_t)snprintf(buffer + length, size - length, "%s\n", value);
    }
    return (ssize_t)length;
}

static void run(struct machine_bench *bench, const char *plugs)
{
    host_script_env(bench->host, "JOULE_PDU", plugs);
    host_script_program(bench->host, "snmpget", snmpget, NULL);
    bench->meter = machine_open(bench->host, "pdu");
    machine_run(bench->meter, 20, 2);
}

static void assert_watts(struct machine_bench *bench, double watts)
{
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), watts, 1e-6);
    assert_int_equal(machine_channel(bench->meter, "node-plugs")->info.scope, JOULE_SCOPE_NODE);
}

static void test_apc_counts_tens_of_watts(void **state)
{
    truth = (struct truth){.values = {{".1.3.6.1.4.1.318.1.1.26.4.3.1.5.1", "34"}}};
    run(*state, "apc:pdu1:device.1");
    assert_watts(*state, 340);
}

static void test_raritan_counts_with_decimals(void **state)
{
    truth = (struct truth){.values = {{".1.3.6.1.4.1.13742.6.5.4.3.1.4.1.7.5", "182500"},
                                      {".1.3.6.1.4.1.13742.6.3.5.4.1.7.1.7.5", "3"},
                                      {".1.3.6.1.4.1.13742.6.5.4.3.1.4.1.8.5", "190"},
                                      {".1.3.6.1.4.1.13742.6.3.5.4.1.7.1.8.5", "0"}}};
    run(*state, "raritan:pdu1:outlet.1.7,outlet.1.8");
    assert_watts(*state, 182.5 + 190);
}

static void test_plugs_of_two_units_add_up(void **state)
{
    truth = (struct truth){.values = {{".1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.3", "150"},
                                      {".1.3.6.1.4.1.1718.3.2.2.1.12.1.2", "160"}}};
    run(*state, "apc:pdu1:outlet.3 sentry3:pdu2:infeed.1.2");
    assert_watts(*state, 310);
}

static void test_plug_without_value_leaves_the_sum_unknown(void **state)
{
    struct machine_bench *bench = *state;
    truth = (struct truth){.values = {{".1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.3", "150"},
                                      {".1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.4", "160"}}};
    run(bench, "apc:pdu1:outlet.3,outlet.4");
    assert_watts(bench, 310);
    truth.values[1].oid = NULL;
    machine_run(bench->meter, 2, 2);
    assert_int_equal(machine_channel(bench->meter, "node-plugs")->info.state, JOULE_UNSUPPORTED);
    truth.error = -ETIMEDOUT;
    machine_run(bench->meter, 2, 2);
    assert_int_equal(machine_channel(bench->meter, "node-plugs")->info.state, JOULE_STALE);
    truth.error = 0;
    truth.exit_status = 1;
    machine_run(bench->meter, 2, 2);
    assert_int_equal(machine_channel(bench->meter, "node-plugs")->info.state, JOULE_FAILED);
}

static void test_failing_units_give_no_domain(void **state)
{
    static const struct {
        const char *plugs;
        struct truth truth;
        unsigned runs;
    } cases[] = {
        {"", {.exit_status = 0}, 0},
        {"nonsense", {.exit_status = 0}, 0},
        {"apc:pdu1:outlet.3", {.error = -ENOENT}, 1},
        {"apc:pdu1:outlet.3", {.exit_status = 1}, 1},
        {"raritan:pdu1:outlet.1.7", {.values = {{".1.3.6.1.4.1.13742.6.3.5.4.1.7.1.7.5", "77"}}}, 1}};
    struct machine_bench *bench = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        truth = cases[i].truth;
        run(bench, cases[i].plugs);
        assert_int_equal(joule_domain_count(bench->meter), 0);
        assert_int_equal(truth.runs, cases[i].runs);
        joule_close(bench->meter);
        bench->meter = NULL;
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, machine_setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plugs_are_read),
        cmocka_unit_test(test_invalid_plugs_are_refused),
        cmocka_unit_test(test_values_are_read),
        TEST(test_apc_counts_tens_of_watts),
        TEST(test_raritan_counts_with_decimals),
        TEST(test_plugs_of_two_units_add_up),
        TEST(test_plug_without_value_leaves_the_sum_unknown),
        TEST(test_failing_units_give_no_domain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
