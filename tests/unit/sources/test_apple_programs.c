/* Tests that the output of macmon and powermetrics is parsed for several releases, and that their sources
 * report it. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joule/sources/apple/apple_power.h"
#include "support/check.h"
#include "support/machine.h"

/* --- macmon --------------------------------------------------------------------------------------------- */

#define POWERS                                                                                               \
    "\"cpu_power\":0.2,\"gpu_power\":0.017,\"ane_power\":0.0,\"all_power\":0.217,\"sys_power\":5.875,"       \
    "\"ram_power\":0.116,\"gpu_ram_power\":0.001"
#define OLD_USAGE                                                                                            \
    "\"ecpu_usage\":[1181,0.08],\"pcpu_usage\":[1974,0.015],\"gpu_usage\":[461,0.25],\"cpu_usage_pct\":0.09"
#define NEW_RATIOS "\"gpu_freq_mhz\":461,\"gpu_scaled_ratio\":0.02,\"gpu_active_ratio\":0.09"
#define REST       "\"temp\":{\"cpu_temp_avg\":43.7,\"gpu_temp_avg\":36.5},\"memory\":{\"ram_total\":25769803776}"

static const char *const macmon_06 = "{" REST "," OLD_USAGE "," POWERS "}\n";
static const char *const macmon_07 =
    "{\"timestamp\":\"2025-02-24T20:38:15+00:00\"," OLD_USAGE "," REST "," POWERS "}\n";
static const char *const macmon_080 = "{" POWERS "," NEW_RATIOS "," REST "}\n";
static const char *const macmon_081 =
    "{\"soc\":{\"chip_name\":\"Apple M1\"}," OLD_USAGE "," NEW_RATIOS "," POWERS "," REST "}\n";

static bool parse_macmon(const char *text, struct apple_power *out_power)
{
    char copy[2048];
    snprintf(copy, sizeof copy, "%s", text);
    return macmon_parse(copy, out_power);
}

static void test_macmon_of_each_release(void **state)
{
    const struct {
        const char *text;
        double busy;
    } cases[] = {{macmon_06, 0.25}, {macmon_07, 0.25}, {macmon_080, 0.09}, {macmon_081, 0.09}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static const double watts[APPLE_PARTS] = {0.2, 0.017, 0, 0.116, 0.001, 5.875};
        struct apple_power power;
        assert_true(parse_macmon(cases[i].text, &power));
        for (int part = 0; part < APPLE_PARTS; part++)
            assert_relative(power.watts[part], watts[part], 1e-6);
        assert_relative(power.gpu_busy, cases[i].busy, 1e-6);
        assert_relative(power.gpu_megahertz, 461, 1e-6);
        assert_relative(power.gpu_celsius, 36.5, 1e-6);
    }
}

static void test_macmon_in_a_virtual_machine(void **state)
{
    struct apple_power power;
    (void)state;
    assert_true(parse_macmon("{\"cpu_power\":0.2,\"sys_power\":0}\n", &power));
    assert_relative(power.watts[APPLE_CPU], 0.2, 1e-6);
    assert_relative(power.watts[APPLE_SYSTEM], NAN, 1e-6);
    assert_relative(power.watts[APPLE_GPU], NAN, 1e-6);
    assert_relative(power.gpu_busy, NAN, 1e-6);
}

static void test_no_line_of_macmon(void **state)
{
    static const char *const texts[] = {"",
                                        "\n",
                                        "{}",
                                        "{\"cpu_power\":0.2}",
                                        "null\n",
                                        "[0.2]\n",
                                        "{}\n",
                                        "{\"cpu_power\":-1}\n",
                                        "{\"cpu_power\":\"0.2\"}\n",
                                        "{\"cpu_power\":0.2\n",
                                        "{\"cpu_power\":1e9}\n",
                                        "error: unexpected argument\n"};
    struct apple_power power;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (parse_macmon(texts[i], &power))
            fail_msg("%s", texts[i]);
}

/* --- powermetrics --------------------------------------------------------------------------------------- */

static const char report[] = "Machine model: Mac14,2\n\n*** Sampled system activity (Fri Sep 11 13:41:46 "
                             "2026 -0700) (1002.90ms elapsed) ***\n\n"
                             "**** Processor usage ****\n\nE-Cluster Power: 23 mW\nCPU Power: 823 mW\nGPU "
                             "Power: 26 mW\nANE Power: 323 mW\n"
                             "Combined Power (CPU + GPU + ANE): 1172 mW\n";

#define PLIST(ELAPSED, CPU, GPU, ANE)                                                                        \
    "<?xml version=\"1.0\"?>\n<plist version=\"1.0\">\n<dict>\n<key>elapsed_ns</key><integer>" ELAPSED       \
    "</integer>\n<key>processor</key>\n<dict>\n<key>cpu_energy</key><integer>" CPU                           \
    "</integer>\n<key>gpu_energy</key>\n\t<integer>" GPU "</integer><key>ane_energy</key><real>" ANE         \
    "</real>\n<key>combined_power</key><real>1172</real></dict></dict>\n</plist>\n"

static void assert_powers(const struct apple_power *power, double cpu, double gpu, double ane)
{
    assert_relative(power->watts[APPLE_CPU], cpu, 1e-6);
    assert_relative(power->watts[APPLE_GPU], gpu, 1e-6);
    assert_relative(power->watts[APPLE_NEURAL], ane, 1e-6);
    assert_relative(power->watts[APPLE_SYSTEM], NAN, 1e-6);
}

static void test_text_of_powermetrics_is_read(void **state)
{
    char twice[sizeof report * 2];
    struct apple_power power;
    (void)state;
    assert_true(powermetrics_parse(report, strlen(report), &power));
    assert_powers(&power, 0.823, 0.026, 0.323);
    snprintf(twice, sizeof twice, "%s*** Sampled system activity ***\nCPU Power: 1000 mW\n", report);
    assert_true(powermetrics_parse(twice, strlen(twice), &power));
    assert_powers(&power, 1, NAN, NAN);
    assert_false(powermetrics_parse("CPU Power: 12 mW\n", 17, &power));
}

/* Releases up to macOS 12 also report the memory's power. Memory is a domain of its own, outside the CPU's
 * package. */
static void test_memory_power_of_powermetrics_is_its_own_domain(void **state)
{
    static const char text[] =
        "*** Sampled system activity (Tue Mar  1 10:00:00 2022 +0000) (1000.00ms elapsed) "
        "***\nANE Power: 0 mW\nDRAM Power: 688 mW\nCPU Power: 742 mW\nGPU Power: 26 mW\n"
        "Package Power: 2151 mW\n";
    static const char list[] =
        "<plist "
        "version=\"1.0\"><dict><key>elapsed_ns</key><integer>2000000000</integer><key>processor</key><dict>"
        "<key>cpu_energy</key><integer>1000</integer><key>dram_energy</key><integer>1376</integer></dict></"
        "dict>"
        "</plist>\n";
    struct apple_power power;
    (void)state;
    assert_true(powermetrics_parse(text, strlen(text), &power));
    assert_powers(&power, 0.742, 0.026, 0);
    assert_relative(power.watts[APPLE_MEMORY], 0.688, 1e-6);
    assert_true(powermetrics_parse(list, strlen(list), &power));
    assert_relative(power.watts[APPLE_CPU], 0.5, 1e-6);
    assert_relative(power.watts[APPLE_MEMORY], 0.688, 1e-6);
    assert_true(powermetrics_parse(report, strlen(report), &power)); /* the report of a later release */
    assert_relative(power.watts[APPLE_MEMORY], NAN, 1e-6);
}

/* The property list contains energies, not powers. The interval of the list was longer than requested. */
static void test_lists_of_powermetrics_are_read(void **state)
{
    static const char lists[] =
        PLIST("1005000000", "1005", "201", "0") "\0" PLIST("2000000000", "1000", "500", "250.5");
    struct apple_power power;
    (void)state;
    assert_true(powermetrics_parse(lists, sizeof lists - 1, &power));
    assert_powers(&power, 0.5, 0.25, 0.12525);
    assert_true(powermetrics_parse(lists, strlen(lists), &power));
    assert_powers(&power, 1, 0.2, 0);
    for (size_t length = 0; length < strlen(lists) - 1; length++) {
        char cut[sizeof lists] = "";
        memcpy(cut, lists, length);
        if (powermetrics_parse(cut, length, &power) && length < strlen(lists) - strlen("\n"))
            fail_msg("%zu bytes are no whole list", length);
    }
    static const char zero[] = PLIST("0", "1005", "201", "0"), negative[] = PLIST("1000", "-5", "201", "0");
    assert_false(powermetrics_parse(zero, strlen(zero), &power));
    assert_false(powermetrics_parse(negative, strlen(negative), &power));
}

/* --- the sources ---------------------------------------------------------------------------------------- */

static struct truth {
    const char *text;
    size_t length;
    ssize_t error;
    unsigned runs;
} truth;

static ssize_t run_program(void *context, int64_t time_ns, const char *const *argv, char *buffer, size_t size,
                           int *out_status)
{
    (void)context, (void)time_ns, (void)out_status;
    assert_true(strcmp(argv[0], "macmon") != 0 || strcmp(argv[1], "pipe") == 0);
    truth.runs++;
    if (truth.error)
        return truth.error;
    assert_true(truth.length < size);
    memcpy(buffer, truth.text, truth.length);
    return (ssize_t)truth.length;
}

static int setup(void **state)
{
    machine_setup(state);
    struct machine_bench *bench = *state;
    truth = (struct truth){.text = macmon_081, .length = strlen(macmon_081)};
    host_script_program(bench->host, "macmon", run_program, NULL);
    host_script_program(bench->host, "powermetrics", run_program, NULL);
    return 0;
}

static void run(struct machine_bench *bench, const char *source)
{
    bench->meter = machine_open(bench->host, source);
    machine_run(bench->meter, 40, 2);
}

static void assert_gauge(const struct channel *ch, enum gauge_role role, joule_reading_kind reading)
{
    assert_int_equal(ch->mode, CHANNEL_GAUGE);
    assert_int_equal(ch->role, role);
    assert_int_equal(ch->info.reading, reading);
    assert_int_equal(ch->info.cls, JOULE_CLASS_NONE);
    assert_int_equal(ch->info.tier, 3);
    assert_string_equal(ch->info.vendor, "apple");
    assert_string_equal(ch->parent_zone, "gpu0/board");
}

static void test_macmon_is_measured(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "macmon");
    assert_relative(machine_watts(bench->meter, "package-0"), 0.2, 1e-6);
    assert_relative(machine_watts(bench->meter, "gpu-0"), 0.017, 1e-6);
    /* the total is the measured power of the whole machine */
    assert_relative(machine_watts(bench->meter, "node"), 5.875, 1e-6);
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 5.875, 1e-6);
    assert_relative(machine_channel(bench->meter, "gpu-0-busy")->gauge, 0.09, 1e-6);
    assert_gauge(machine_channel(bench->meter, "gpu-0-busy"), ROLE_BUSY, JOULE_READING_UTILISATION);
    assert_gauge(machine_channel(bench->meter, "gpu-0-clock"), ROLE_CLOCK, JOULE_READING_CLOCK);
    assert_gauge(machine_channel(bench->meter, "gpu-0-temperature"), ROLE_TEMPERATURE,
                 JOULE_READING_TEMPERATURE);
    assert_int_equal(machine_channel(bench->meter, "package-0")->info.cls, JOULE_CLASS_MODELLED);
    truth.error = -ETIMEDOUT;
    machine_run(bench->meter, 4, 2);
    assert_int_equal(machine_channel(bench->meter, "node")->info.state, JOULE_STALE);
}

static void test_powermetrics_is_measured(void **state)
{
    struct machine_bench *bench = *state;
    static const char list[] = PLIST("2000000000", "1000", "500", "250");
    truth = (struct truth){.text = list, .length = sizeof list - 1};
    run(bench, "powermetrics");
    assert_relative(machine_watts(bench->meter, "package-0"), 0.5, 1e-6);
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 0.875, 1e-6);
}

static void test_not_beside_ioreport(void **state)
{
    static const struct script_symbol symbols[] = {{"CFRelease", &truth}};
    struct machine_bench *bench = *state;
    host_script_library(bench->host, "/usr/lib/libIOReport.dylib", symbols, 1);
    run(bench, "macmon,powermetrics");
    assert_int_equal(joule_domain_count(bench->meter), 0);
    assert_int_equal(truth.runs, 0);
}

static void test_failing_programs_give_no_domains(void **state)
{
    static const struct truth troubles[] = {
        {"", 0, -ENOENT, 0}, {"", 0, -EACCES, 0}, {"", 0, 0, 0}, {"what\n", 5, 0, 0}};
    struct machine_bench *bench = *state;
    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
        truth = troubles[i];
        run(bench, "macmon,powermetrics");
        assert_int_equal(joule_domain_count(bench->meter), 0);
        joule_close(bench->meter);
        bench->meter = NULL;
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_macmon_of_each_release),
        cmocka_unit_test(test_macmon_in_a_virtual_machine),
        cmocka_unit_test(test_no_line_of_macmon),
        cmocka_unit_test(test_text_of_powermetrics_is_read),
        cmocka_unit_test(test_memory_power_of_powermetrics_is_its_own_domain),
        cmocka_unit_test(test_lists_of_powermetrics_are_read),
        TEST(test_macmon_is_measured),
        TEST(test_powermetrics_is_measured),
        TEST(test_not_beside_ioreport),
        TEST(test_failing_programs_give_no_domains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
