/* Tests Cerebras' and SambaNova's systems. The vendors' programs list the devices. Joules come from
 * metered plugs, from a controller, or from watts that the user states. Each origin gives the joules
 * another class. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <joule/devices.h>
#include "joule/sources/rack/sambanova_text.h"
#include "support/check.h"
#include "support/machine.h"

#define HEADING "TILE                  %idle %exec %pload %aload %chkpt %quiesce     PID     USER COMMAND\n"
#define TWO_RDUS                                                                                             \
    HEADING "/XRDU_0/RDU_0/TILE_0    8.0  91.6    0.3    0.1    0.0      0.0 2750333  user python app.py\n"  \
            "/XRDU_0/RDU_0/TILE_1   12.0  87.6    0.3    0.1    0.0      0.0 2750333  user python app.py\n"  \
            "/XRDU_0/RDU_1/TILE_0  100.0   0.0    0.0    0.0    0.0      0.0\n"                              \
            "/XRDU_0/RDU_1/TILE_1  100.0   0.0    0.0    0.0    0.0      0.0\n"

static struct programs {
    const char *tiles, *systems; /* output of sntilestat and of csctl; NULL means that the program fails */
    const char *watts;           /* output of snmpget and of joule-redfish */
} programs;

static ssize_t print_text(const char *text, char *buffer, size_t size, int *out_status)
{
    *out_status = text ? 0 : 1;
    return snprintf(buffer, size, "%s", text ? text : "error: cannot connect\n");
}

static ssize_t sntilestat(void *context, int64_t time_ns, const char *const *argv, char *buffer, size_t size,
                          int *out_status)
{
    (void)context, (void)time_ns, (void)argv;
    return print_text(programs.tiles, buffer, size, out_status);
}

static ssize_t csctl(void *context, int64_t time_ns, const char *const *argv, char *buffer, size_t size,
                     int *out_status)
{
    (void)context, (void)time_ns;
    assert_string_equal(argv[1], "get");
    assert_string_equal(argv[4], "-ojson");
    return print_text(programs.systems, buffer, size, out_status);
}

static ssize_t print_watts(void *context, int64_t time_ns, const char *const *argv, char *buffer, size_t size,
                           int *out_status)
{
    (void)context, (void)time_ns, (void)argv;
    return print_text(programs.watts, buffer, size, out_status);
}

static void run(struct machine_bench *bench, const char *source, const char *variable, const char *value)
{
    host_script_text(bench->host, "/opt/cerebras/config_v2", "{}");
    host_script_text(bench->host, "/opt/sambaflow/bin/x", "");
    if (programs.tiles)
        host_script_program(bench->host, "sntilestat", sntilestat, NULL);
    host_script_program(bench->host, "csctl", csctl, NULL);
    host_script_program(bench->host, "snmpget", print_watts, NULL);
    host_script_program(bench->host, "joule-redfish", print_watts, NULL);
    if (value)
        host_script_env(bench->host, variable, value);
    bench->meter = machine_open_devices(bench->host, source);
    machine_run(bench->meter, 60, 5);
}

static const struct source *source_of(const struct machine_bench *bench)
{
    return bench->meter->lanes[bench->meter->lane_count - 1]->sources[0];
}

static void expect_power(const struct machine_bench *bench, const char *name, double watts, joule_class cls)
{
    const struct channel *ch = machine_channel(bench->meter, name);
    assert_non_null(ch);
    assert_int_equal(ch->info.cls, cls);
    double mean = machine_mean_watts(bench->meter, ch->info.id);
    if (!(fabs(mean - watts) <= 1e-6 * watts))
        fail_msg("%s draws %g W instead of %g", name, mean, watts);
}

/* --- SambaNova ------------------------------------------------------------------------------------------ */

static void test_rows_of_tiles(void **state)
{
    static const char *const none[] = {"",
                                       HEADING,
                                       "/XRDU_0/RDU_0/TILE_0\n",
                                       "/XRDU_0/RDU_0/TILE_0 8.0 91.6\n1 2 3 4 5\n",
                                       "/XRDU_0/RDU_0/TILE_0 N/A 0 0 0 0 0\n",
                                       "/XRDU_0/RDU_0/TILE_0 900 0 0 0 0 0\n",
                                       "/TILE_0 8 92 0 0 0 0\n",
                                       "command not found\n"};
    struct sambanova_tiles tiles;
    (void)state;
    assert_true(sambanova_parse(TWO_RDUS, &tiles));
    assert_int_equal(tiles.count, 2);
    assert_string_equal(tiles.rdus[0].path, "/XRDU_0/RDU_0");
    assert_true(fabs(tiles.rdus[0].busy - 0.9) < 1e-12 && tiles.rdus[1].busy == 0);
    assert_int_equal(tiles.rdus[0].process_count, 1);
    assert_true(tiles.rdus[0].pids[0] == 2750333 && tiles.rdus[1].process_count == 0);
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        if (sambanova_parse(none[i], &tiles))
            fail_msg("taken: %s", none[i]);
}

static void test_sambanova_devices_are_listed(void **state)
{
    struct machine_bench *bench = *state;
    programs = (struct programs){.tiles = TWO_RDUS};
    run(bench, "sambanova", NULL, NULL);
    assert_int_equal(joule_device_count(bench->meter), 2);
    joule_device device = machine_device(bench->meter, 0);
    assert_string_equal(device.name, "rdu:0");
    assert_string_equal(device.vendor, "sambanova");
    assert_true(fabs(device.busy - 0.9) < 1e-12);
    assert_int_equal(device.process_count, 1);
    assert_contains(device.remedy, "JOULE_SAMBANOVA");
    assert_true(isnan(device.power_watts.value));
    /* The rack is outside the machine, so the machine's total is complete without the rack. */
    assert_null(machine_channel(bench->meter, "sambanova"));
}

/* The load of the RDUs (processors of the rack) determines the power of the whole rack. A load of 0.45 gives
 * the power at 0.45 of the range from 2 kW to 10 kW. */
static void test_sambanova_power_follows_the_load(void **state)
{
    struct machine_bench *bench = *state;
    programs = (struct programs){.tiles = TWO_RDUS};
    run(bench, "sambanova", "JOULE_SAMBANOVA", "watts 2000,10000");
    expect_power(bench, "sambanova", 2000 + 0.45 * 8000, JOULE_CLASS_ASSUMED);
    assert_contains(machine_device(bench->meter, 1).remedy, "domain sambanova contains the energy");
    programs.tiles = HEADING; /* the runtime has stopped, so the load is unknown */
    machine_run(bench->meter, 20, 5);
    assert_int_equal(machine_channel(bench->meter, "sambanova")->info.state, JOULE_FAILED);
    assert_true(isnan(machine_device(bench->meter, 0).busy));
}

/* --- Cerebras ------------------------------------------------------------------------------------------- */

static const char one_system[] = "{\"items\":[{\"meta\":{\"name\":\"cs-sy01\"}}]}";

static void test_cerebras_devices_are_listed(void **state)
{
    struct machine_bench *bench = *state;
    programs = (struct programs){.systems = one_system};
    run(bench, "cerebras", NULL, NULL);
    assert_int_equal(joule_device_count(bench->meter), 1);
    joule_device device = machine_device(bench->meter, 0);
    assert_string_equal(device.name, "wse:0");
    assert_string_equal(device.vendor, "cerebras");
    assert_string_equal(device.uuid, "cs-sy01");
    assert_int_equal(device.state, JOULE_OK);
    assert_contains(device.remedy, "JOULE_CEREBRAS");
    assert_int_equal(bench->meter->channel_count, 0);
}

static void test_cerebras_by_plugs(void **state)
{
    struct machine_bench *bench = *state;
    programs = (struct programs){.systems = one_system, .watts = "1750\n"};
    run(bench, "cerebras", "JOULE_CEREBRAS", "pdu apc:pdu1:device.1");
    expect_power(bench, "cerebras", 17500, JOULE_CLASS_DERIVED); /* the plug's unit is 10 W */
    joule_device device = machine_device(bench->meter, 0);
    assert_true(fabs(device.power_watts.value - 17500) < 1e-3);
    assert_string_equal(device.remedy, "");
}

static void test_cerebras_by_redfish(void **state)
{
    struct machine_bench *bench = *state;
    programs = (struct programs){
        .systems = one_system,
        .watts = "model CS\nreading environment 16500 /redfish/v1/Chassis/1/EnvironmentMetrics\n"};
    run(bench, "cerebras", "JOULE_CEREBRAS", "redfish /etc/joule/cs.conf");
    if (!machine_channel(bench->meter, "cerebras"))
        fail_msg("%s", source_of(bench)->remedy);
    expect_power(bench, "cerebras", 16500, JOULE_CLASS_DERIVED);
}

/* The load of a system is unknown. Its power is the middle of the range, with an interval that includes both
 * ends. */
static void test_cerebras_power_is_an_interval(void **state)
{
    struct machine_bench *bench = *state;
    programs = (struct programs){.systems = one_system};
    run(bench, "cerebras", "JOULE_CEREBRAS", "watts 9000,21000");
    expect_power(bench, "cerebras", 15000, JOULE_CLASS_ASSUMED);
    joule_device device = machine_device(bench->meter, 0);
    assert_true(device.power_watts.low <= 9600 && device.power_watts.high >= 20400);
}

/* If the cluster does not answer, the power is still the value that the user stated, but the state of the
 * system is unknown. */
static void test_a_silent_cluster(void **state)
{
    struct machine_bench *bench = *state;
    programs = (struct programs){.watts = "1750\n"};
    run(bench, "cerebras", "JOULE_CEREBRAS", "pdu apc:pdu1:device.1");
    expect_power(bench, "cerebras", 17500, JOULE_CLASS_DERIVED);
    machine_teardown(state);
    machine_setup(state);
    bench = *state;
    programs = (struct programs){.systems = NULL};
    run(bench, "cerebras", NULL, NULL);
    assert_int_equal(source_of(bench)->state, JOULE_FAILED);
    assert_contains(source_of(bench)->remedy, "csctl");
}

static void test_invalid_settings_are_refused(void **state)
{
    static const char *const settings[] = {"x",       "pdu",       "pdu nonsense", "watts",
                                           "watts 5", "watts 9,1", "watts 1,2e9",  "redfish"};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        struct machine_bench *bench = *state;
        programs = (struct programs){.systems = one_system};
        run(bench, "cerebras", "JOULE_CEREBRAS", settings[i]);
        if (source_of(bench)->state != JOULE_INVALID || !strstr(source_of(bench)->remedy, "JOULE_CEREBRAS"))
            fail_msg("\"%s\": %s", settings[i], source_of(bench)->remedy);
        machine_teardown(state);
        machine_setup(state);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, machine_setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_tiles),
        TEST(test_sambanova_devices_are_listed),
        TEST(test_sambanova_power_follows_the_load),
        TEST(test_cerebras_devices_are_listed),
        TEST(test_cerebras_by_plugs),
        TEST(test_cerebras_by_redfish),
        TEST(test_cerebras_power_is_an_interval),
        TEST(test_a_silent_cluster),
        TEST(test_invalid_settings_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
