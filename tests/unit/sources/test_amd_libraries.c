/* Tests that AMD boards are measured through fakes of librocm_smi64 and libamd_smi of several releases.
 * Boards draw 200 W by default. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <joule/devices.h>
#include "base/clock.h"
#include "support/fake_amd.h"

#define WATTS 200.0
#define BOARD "gpu-0"

static struct fake_amd fake;

static void prepare(int interface, const char *script)
{
    if (!fake_amd_prepare(&fake, TEST_BINARY_DIR, interface, script))
        fail_msg("no fake library %s: %s", fake_amd_interfaces[interface].library, dlerror());
}

static void open_with(int interface, const char *script)
{
    prepare(interface, script);
    fake_amd_open(&fake, NULL);
}

static const struct channel *board_channel(const char *name)
{
    const struct channel *ch = fake_amd_channel(&fake, name);
    if (!ch)
        fail_msg("%s %s has no channel %s", fake.interface->source, fake.interface->library, name);
    return ch;
}

static joule_status state(void)
{
    return fake_amd_source(&fake, fake.interface->source)->state;
}

static joule_quantity total(void)
{
    joule_quantity joules;
    assert_int_equal(joule_energy_joules(fake.meter, JOULE_TOTAL, &joules), JOULE_OK);
    return joules;
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%s %s: %g is not within %g of %g", fake.interface->source, fake.interface->library, value,
                 tolerance, expected);
}

/* --- values of each release ----------------------------------------------------------------------------- */

static void energy_is_counted(void **test)
{
    (void)test;
    for (int interface = 0; interface < FAKE_FILES; interface++) {
        double value;
        open_with(interface, "");
        assert_int_equal(state(), JOULE_OK);
        fake_amd_run(&fake, 10);
        const struct channel *energy = board_channel(BOARD);
        assert_string_equal(energy->info.source, fake.interface->source);
        assert_string_equal(energy->info.device, "gpu:0");
        assert_string_equal(energy->info.model, "AMD Fake Instinct");
        assert_int_equal(energy->info.scope, JOULE_SCOPE_GPU);
        assert_int_equal(total().cls, JOULE_CLASS_MEASURED);
        assert_near(total().value, 10 * WATTS, 1e-3 * WATTS);
        assert_int_equal(joule_gauge(fake.meter, board_channel(BOARD "-temperature")->info.id, &value),
                         JOULE_OK);
        assert_near(value, 61, 0);
        assert_int_equal(joule_gauge(fake.meter, board_channel(BOARD "-memory-temperature")->info.id, &value),
                         JOULE_OK);
        assert_near(value, 66, 0);
        assert_int_equal(joule_gauge(fake.meter, board_channel(BOARD "-busy")->info.id, &value), JOULE_OK);
        assert_near(value, 0.42, 1e-12);
        fake_amd_close(&fake);
    }
}

static void device_has_its_facts(void **test)
{
    (void)test;
    for (int interface = 0; interface < FAKE_FILES; interface++) {
        joule_device device = {.struct_size = sizeof device};
        open_with(interface, "");
        fake_amd_run(&fake, 3);
        assert_int_equal(joule_device_count(fake.meter), 1);
        assert_int_equal(joule_device_get(fake.meter, 0, &device), JOULE_OK);
        assert_int_equal(device.state, JOULE_OK);
        assert_string_equal(device.name, "gpu:0");
        assert_string_equal(device.vendor, "amd");
        assert_string_equal(device.model, "AMD Fake Instinct");
        assert_string_equal(device.pci_address, "0000:c1:00.0");
        assert_true(device.uuid[0] != '\0');
        assert_true(device.memory_total_bytes == UINT64_C(64) << 30);
        assert_true(device.memory_used_bytes == UINT64_C(3) << 30);
        assert_true(device.memory_free_bytes == UINT64_C(61) << 30);
        assert_near(device.power_limit_watts, 300, 1e-9);
        assert_near(device.power_limit_default_watts, 300, 1e-9);
        assert_near(device.power_limit_max_watts, 300, 1e-9);
        assert_near(device.power_limit_min_watts, 0, 1e-9);
        assert_near(device.temperature_celsius, 61, 1e-9);
        assert_near(device.busy, 0.42, 1e-9);
        assert_near(device.energy_joules.value, 3 * WATTS, 1e-3 * WATTS);
        fake_amd_close(&fake);
    }
}

/* Without an energy counter, average or current power is used. ROCm 5 has only average power; the power of
 * libamd_smi before version 24 is not used. */
static void power_replaces_a_missing_counter(void **test)
{
    static const struct {
        int interface;
        const char *script;
    } cases[] = {{FAKE_ROCM_6, "energy=0"},          {FAKE_ROCM_6, "energy=0; power=2"},
                 {FAKE_ROCM_5, "energy=0"},          {FAKE_ROCM_6, "energy=-1"},
                 {FAKE_AMD_24, "energy=0"},          {FAKE_AMD_24, "energy=-3"},
                 {FAKE_ROCM_6, "energy=-3"},         {FAKE_AMD_24, "energy=-1; power=2"},
                 {FAKE_AMD_25, "energy=0; power=2"}, {FAKE_AMD_25, "energy=-2"}};
    (void)test;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        open_with(cases[i].interface, cases[i].script);
        fake_amd_run(&fake, 10);
        assert_int_equal(total().cls, JOULE_CLASS_DERIVED);
        assert_near(total().value, 10 * WATTS,
                    0.3 * WATTS); /* the energy between the first and the last reading */
        if (strstr(cases[i].script, "energy=0") || strstr(cases[i].script, "energy=-3"))
            assert_null(
                /* the power channel is the only one, so its name is BOARD without "-power" */
                fake_amd_channel(&fake, BOARD "-power"));
        fake_amd_close(&fake);
    }
}

static void unknown_figures_are_left_out(void **test)
{
    static const struct {
        int interface;
        const char *script;
        joule_status state;
    } cases[] = {{FAKE_ROCM_6, "energy=0 power=0 celsius=0 busy=101", JOULE_UNSUPPORTED},
                 {FAKE_ROCM_5, "energy=0 power=2 celsius=0 busy=101", JOULE_UNSUPPORTED},
                 {FAKE_AMD_1, "energy=0 celsius=0 busy=101", JOULE_UNSUPPORTED},
                 {FAKE_AMD_24, "energy=-2 power=-2 celsius=0 busy=101", JOULE_UNSUPPORTED},
                 {FAKE_ROCM_6, "denied=1", JOULE_DENIED},
                 {FAKE_AMD_25, "denied=1", JOULE_DENIED},
                 {FAKE_ROCM_6, "boards=0", JOULE_ABSENT},
                 {FAKE_AMD_24, "boards=0", JOULE_ABSENT},
                 {FAKE_ROCM_6, "init_code=8", JOULE_FAILED},
                 {FAKE_ROCM_6, "init_code=16", JOULE_FAILED},
                 {FAKE_ROCM_6, "init_code=4", JOULE_DENIED},
                 {FAKE_AMD_24, "init_code=34", JOULE_ABSENT},
                 {FAKE_AMD_24, "init_code=10", JOULE_DENIED},
                 {FAKE_AMD_24, "init_code=18", JOULE_FAILED}};
    (void)test;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        open_with(cases[i].interface, cases[i].script);
        fake_amd_run(&fake, 1);
        if (state() != cases[i].state)
            fail_msg("%s \"%s\": status %d (%s)", fake.interface->library, cases[i].script, state(),
                     fake_amd_source(&fake, fake.interface->source)->remedy);
        assert_true(fake_amd_source(&fake, fake.interface->source)->remedy[0] != '\0');
        fake_amd_close(&fake);
    }
}

static void missing_symbols_cost_one_figure(void **test)
{
    (void)test;
    prepare(FAKE_ROCM_6, "");
    fake_amd_remove(&fake, "rsmi_dev_energy_count_get");
    fake_amd_remove(&fake, "rsmi_dev_temp_metric_get");
    fake_amd_remove(&fake, "rsmi_dev_busy_percent_get");
    fake_amd_open(&fake, NULL);
    fake_amd_run(&fake, 10);
    assert_int_equal(total().cls, JOULE_CLASS_DERIVED);
    fake_amd_close(&fake);
    prepare(FAKE_AMD_24, "");
    fake_amd_remove(&fake, "amdsmi_get_power_info");
    fake_amd_remove(&fake, "amdsmi_get_processor_type");
    fake_amd_remove(&fake, "amdsmi_get_gpu_activity");
    fake_amd_remove(&fake, "amdsmi_get_temp_metric");
    fake_amd_open(&fake, NULL);
    fake_amd_run(&fake, 10);
    assert_near(total().value, 10 * WATTS, 1e-3 * WATTS);
    fake_amd_close(&fake);
    static const char *const first[] = {"rsmi_num_monitor_devices", "amdsmi_get_gpu_device_bdf"};
    for (int i = 0; i < 2; i++) {
        prepare(i == 0 ? FAKE_ROCM_6 : FAKE_AMD_25, "");
        fake_amd_remove(&fake, first[i]);
        fake_amd_open(&fake, NULL);
        assert_int_equal(state(), JOULE_UNSUPPORTED);
        assert_int_equal(fake_amd_start_count(&fake), 0);
        fake_amd_close(&fake);
    }
}

/* --- faults --------------------------------------------------------------------------------------------- */

static void busy_library_is_queried_again(void **test)
{
    (void)test;
    for (int interface = 0; interface < FAKE_FILES; interface++) {
        open_with(interface, "busy_at_ms=3000 busy_for_ms=500");
        fake_amd_run(&fake, 3.3);
        assert_int_equal(board_channel(BOARD)->info.state, JOULE_OK);
        fake_amd_run(&fake, 6.7);
        /* the counter continued while the library was busy */
        assert_near(total().value, 10 * WATTS, 1e-3 * WATTS);
        fake_amd_close(&fake);
        open_with(interface, "busy_at_ms=3000 busy_for_ms=4000");
        fake_amd_run(&fake, 6);
        assert_int_equal(board_channel(BOARD)->info.state, JOULE_FAILED);
        fake_amd_run(&fake, 4);
        assert_int_equal(board_channel(BOARD)->info.state, JOULE_OK);
        fake_amd_close(&fake);
    }
}

static void a_failing_board_is_failed(void **test)
{
    (void)test;
    for (int interface = 0; interface < FAKE_FILES; interface++) {
        open_with(interface, "boards=2; 1.fail_at_ms=3000");
        fake_amd_run(&fake, 5);
        assert_int_equal(board_channel("gpu-1")->info.state, JOULE_FAILED);
        assert_int_equal(board_channel(BOARD)->info.state, JOULE_OK);
        fake_amd_close(&fake);
    }
}

static void a_counter_that_stops_is_not_0_joules(void **test)
{
    (void)test;
    for (int interface = 0; interface < FAKE_FILES; interface++) {
        open_with(interface, "stand_at_ms=3000");
        fake_amd_run(&fake, 10);
        assert_int_equal(board_channel(BOARD)->info.state, JOULE_UNSUPPORTED);
        fake_amd_close(&fake);
    }
}

/* libamd_smi has no reference count. If the measured program shuts the library down, it is shut down for all
 * users. */
static void handles_are_renewed(void **test)
{
    (void)test;
    for (int interface = FAKE_AMD_1; interface <= FAKE_AMD_25; interface++) {
        open_with(interface, "gone_at_ms=3000; boards=2");
        fake_amd_run(&fake, 10);
        assert_int_equal(board_channel(BOARD)->info.state, JOULE_OK);
        assert_int_equal(board_channel("gpu-1")->info.state, JOULE_OK);
        assert_near(total().value, 10 * 2 * WATTS, 1e-2 * WATTS);
        fake_amd_close(&fake);
        assert_int_equal(fake_amd_start_count(&fake), 1); /* joule never shuts this library down */
    }
}

static void rocm_smi_is_shut_down(void **test)
{
    (void)test;
    for (int i = 0; i < 2; i++) {
        open_with(FAKE_ROCM_6, i == 0 ? "" : "boards=0");
        fake_amd_close(&fake);
        assert_int_equal(fake_amd_start_count(&fake), 0);
    }
}

/* --- when to query -------------------------------------------------------------------------------------- */

#define CARD "/sys/class/drm/card1/device/"
#define ALL  "-estimated" /* the list names no source; it only excludes one */

static void expect_asked(const char *sources, bool is_asked)
{
    fake_amd_open(&fake, sources);
    assert_int_equal(fake_amd_start_count(&fake) != 0, is_asked);
    assert_int_equal(state() == JOULE_OK, is_asked);
    assert_int_equal(state() == JOULE_ABSENT, !is_asked);
    fake_amd_close(&fake);
}

static void library_is_used_where_the_kernel_has_no_sensors(void **test)
{
    (void)test;
    for (int interface = 0; interface < FAKE_FILES; interface++) {
        prepare(interface, "");
        expect_asked(ALL, true);
        prepare(interface, "");
        assert_true(host_script_error(fake.host, CARD "gpu_metrics", EACCES));
        expect_asked(ALL, true);
    }
}

static void library_is_not_used_where_the_kernel_has_sensors(void **test)
{
    static const char metrics[] = CARD "gpu_metrics", sleep[] = CARD "power/runtime_status";
    (void)test;
    for (int interface = 0; interface < FAKE_FILES; interface++) {
        prepare(interface, "");
        host_script_text(fake.host, CARD "hwmon/hwmon4/power1_input", "5000000\n");
        expect_asked(ALL, false);
        prepare(interface, "");
        host_script_text(fake.host, sleep, "suspended\n"); /* the board is suspended and stays so */
        host_script_error(fake.host, metrics, EIO);
        expect_asked(ALL, false);
        prepare(interface, "");
        host_script_text(fake.host, CARD "uevent", "DRIVER=ast\n");
        expect_asked(ALL, false);
    }
}

static void library_is_used_if_named(void **test)
{
    (void)test;
    for (int interface = 0; interface < FAKE_FILES; interface++) {
        prepare(interface, "");
        host_script_text(fake.host, CARD "hwmon/hwmon4/power1_input", "5000000\n");
        expect_asked(NULL, true);
        prepare(interface, "");
        /* without a card the library is not loaded, because it would only print errors */
        host_script_text(fake.host, CARD "uevent", NULL);
        expect_asked(NULL, false);
        prepare(interface, "");
        host_script_text(fake.host, CARD "uevent", NULL);
        host_script_env(fake.host, "JOULE_ROCM_SMI_LIB", fake.interface->library);
        host_script_env(fake.host, "JOULE_AMD_SMI_LIB", fake.interface->library);
        expect_asked(NULL, true);
    }
}

static void another_file_may_be_named(void **test)
{
    (void)test;
    prepare(FAKE_ROCM_6, "");
    host_script_env(fake.host, "JOULE_ROCM_SMI_LIB", "/no/such/librocm_smi64.so.6");
    fake_amd_open(&fake, ALL);
    assert_int_equal(state(), JOULE_ABSENT); /* the library in the usual place is not tried */
    fake_amd_close(&fake);
}

/* --- real time ------------------------------------------------------------------------------------------ */

/* If the library is missing, its lane has nothing to read, and the lane's thread ends. */
static void an_absent_library_keeps_no_thread(void **test)
{
    (void)test;
    bool is_over = false;
    setenv("JOULE_ROCM_SMI_LIB", "/no/such/librocm_smi64.so.6", 1);
    joule_options options = {.struct_size = sizeof options, .wait_s = 30, .sources = "rocm_smi"};
    assert_int_equal(joule_open(&options, &fake.meter, NULL), JOULE_OK);
    assert_int_equal(fake.meter->lane_count, 2);
    struct lane *lane = fake.meter->lanes[1];
    assert_int_equal(lane->sources[0]->state, JOULE_ABSENT);
    for (int64_t begin_ns = clock_now_ns(); !is_over && clock_now_ns() - begin_ns < 20 * NS_PER_S;) {
        pthread_mutex_lock(&lane->lock);
        is_over = lane->finished;
        pthread_mutex_unlock(&lane->lock);
    }
    assert_true(is_over);
    joule_close(fake.meter);
    unsetenv("JOULE_ROCM_SMI_LIB");
}

static void hanging_library_is_abandoned(void **test)
{
    (void)test;
    static const struct {
        int interface;
        const char *variable;
    } cases[] = {{FAKE_ROCM_6, "JOULE_ROCM_SMI_LIB"}, {FAKE_AMD_24, "JOULE_AMD_SMI_LIB"}};
    for (int i = 0; i < 2; i++) {
        char path[4096];
        prepare(cases[i].interface, "block_at_ms=0; block_s=30");
        fake_amd_free_clock(&fake);
        fake.host->ops->close(fake.host);
        snprintf(path, sizeof path, TEST_BINARY_DIR "/fakes/%s/%s", fake.interface->folder,
                 fake.interface->library);
        setenv(cases[i].variable, path, 1);
        joule_options options = {
            .struct_size = sizeof options, .wait_s = 0.05, .sources = fake.interface->source};
        assert_int_equal(joule_open(&options, &fake.meter, NULL), JOULE_OK);
        int64_t begin_ns = clock_now_ns();
        joule_close(fake.meter);
        assert_true(clock_now_ns() - begin_ns < 1000000000);
        unsetenv(cases[i].variable);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energy_is_counted),
        cmocka_unit_test(device_has_its_facts),
        cmocka_unit_test(power_replaces_a_missing_counter),
        cmocka_unit_test(unknown_figures_are_left_out),
        cmocka_unit_test(missing_symbols_cost_one_figure),
        cmocka_unit_test(busy_library_is_queried_again),
        cmocka_unit_test(a_failing_board_is_failed),
        cmocka_unit_test(a_counter_that_stops_is_not_0_joules),
        cmocka_unit_test(handles_are_renewed),
        cmocka_unit_test(rocm_smi_is_shut_down),
        cmocka_unit_test(library_is_used_where_the_kernel_has_no_sensors),
        cmocka_unit_test(library_is_not_used_where_the_kernel_has_sensors),
        cmocka_unit_test(library_is_used_if_named),
        cmocka_unit_test(another_file_may_be_named),
        cmocka_unit_test(an_absent_library_keeps_no_thread),
        /* this test is last, because its threads outlive the meters */
        cmocka_unit_test(hanging_library_is_abandoned),
    };
    return cmocka_run_group_tests_name("amd_libraries", tests, NULL, NULL);
}
