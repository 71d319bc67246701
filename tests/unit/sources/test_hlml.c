/* Tests Gaudi boards through a fake of the vendor's library, with one test for each known behaviour of the
 * library. Boards draw 300 W by default. */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <joule/devices.h>
#include "base/clock.h"
#include "joule/meter/lane.h"
#include "joule/sources/gaudi/hlml_abi.h"
#include "support/check.h"
#include "support/machine.h"

#define LIBRARY TEST_BINARY_DIR "/fakes/hlml/libhlml.so"
#define DRIVER  "/sys/bus/pci/drivers/habanalabs/bind"
#define WATTS   300.0

static struct script_symbol symbols[64];
static size_t symbol_count;
static void (*set_time)(int64_t monotonic_ns);

static void load(const char *script)
{
    bool (*set_script)(const char *);
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    *(void **)&set_script = dlsym(library, "fake_hlml_script");
    *(void **)&set_time = dlsym(library, "fake_hlml_set_time");
    assert_true(set_script(script));
    symbol_count = 0;
#define ADD(name, parameters)                                                                                \
    symbols[symbol_count++] = (struct script_symbol){"hlml_" #name, dlsym(library, "hlml_" #name)};
    HLML_FUNCTIONS(ADD)
#undef ADD
}

static void remove_symbol(const char *name)
{
    for (size_t i = 0; i < symbol_count; i++)
        if (strcmp(symbols[i].name, name) == 0)
            symbols[i] = symbols[--symbol_count];
}

static void run(struct machine_bench *bench, double seconds)
{
    for (int i = 0; i < (int)lround(seconds / 0.1); i++) {
        set_time(meter_now_ns(bench->meter) + 100000000);
        machine_run(bench->meter, 0.1, 0.1);
    }
}

static void open_meter(struct machine_bench *bench, const char *script)
{
    if (script)
        load(script);
    host_script_text(bench->host, DRIVER, "");
    host_script_library(bench->host, "/usr/lib/habanalabs/libhlml.so", symbols, symbol_count);
    set_time(bench->host->ops->clock_ns(bench->host, CLOCK_MONOTONIC));
    bench->meter = machine_open_devices(bench->host, "hlml");
}

static joule_quantity gpu_joules(const struct machine_bench *bench)
{
    joule_quantity joules;
    assert_int_equal(joule_energy_joules(bench->meter, JOULE_GPU, &joules), JOULE_OK);
    return joules;
}

/* --- energy and power ----------------------------------------------------------------------------------- */

static void test_the_counter_is_the_board(void **state)
{
    struct machine_bench *bench = *state;
    open_meter(bench, "");
    run(bench, 10);
    const joule_domain *info = &machine_require_channel(bench->meter, "hpu-0")->info;
    assert_string_equal(info->device, "hpu:0");
    assert_string_equal(info->vendor, "intel");
    assert_string_equal(info->model, "HL-325L");
    assert_int_equal(info->scope, JOULE_SCOPE_GPU);
    assert_int_equal(gpu_joules(bench).cls, JOULE_CLASS_MEASURED);
    assert_near(gpu_joules(bench).value, 10 * WATTS, 0.11 * WATTS);
}

static void test_power_stands_in_for_the_counter(void **state)
{
    struct machine_bench *bench = *state;
    open_meter(bench, "energy=0");
    run(bench, 10);
    assert_null(machine_channel(bench->meter, "hpu-0"));
    assert_int_equal(gpu_joules(bench).cls, JOULE_CLASS_DERIVED);
    assert_near(gpu_joules(bench).value, 10 * WATTS, 0.3 * WATTS);
}

static void test_a_frozen_counter_is_not_0_joules(void **state)
{
    struct machine_bench *bench = *state;
    open_meter(bench, "freeze_s=0");
    run(bench, 10);
    assert_int_equal(machine_require_channel(bench->meter, "hpu-0")->info.state, JOULE_UNSUPPORTED);
    assert_near(gpu_joules(bench).value, 10 * WATTS, 0.3 * WATTS);
}

static void test_a_counter_that_wraps(void **state)
{
    struct machine_bench *bench = *state;
    open_meter(bench, "first=1.8446744073709e19" /* the count begins near 2^64 */);
    run(bench, 60); /* the count rises by 18 million */
    assert_near(gpu_joules(bench).value, 60 * WATTS, 0.3 * WATTS);
}

static void test_board_without_values_is_shown(void **state)
{
    struct machine_bench *bench = *state;
    open_meter(bench, "silent=1");
    run(bench, 1);
    assert_int_equal(machine_require_channel(bench->meter, "hpu-0")->info.state, JOULE_UNSUPPORTED);
    assert_true(machine_require_channel(bench->meter, "hpu-0")->info.remedy[0]);
}

/* --- several boards ------------------------------------------------------------------------------------- */

static void test_boards_are_numbered_by_the_bus(void **state)
{
    struct machine_bench *bench = *state;
    host_script_text(bench->host, "/sys/bus/pci/devices/0000:31:00.0/uevent",
                     "PCI_CLASS=120000\nPCI_ID=1DA3:1060\n");
    host_script_text(bench->host, "/sys/bus/pci/devices/0000:32:00.0/uevent",
                     "PCI_CLASS=120000\nPCI_ID=1DA3:1060\n");
    open_meter(bench, "boards=2");
    run(bench, 2);
    /* the board that the library lists first is hpu-1 */
    assert_string_equal(machine_require_channel(bench->meter, "hpu-1")->info.uuid,
                        "01P4-HL3090A0-18-U4V193-22-07-00");
    assert_near(gpu_joules(bench).value, 2 * 2 * WATTS, 0.3 * WATTS);
}

static void test_a_board_without_access_is_shown(void **state)
{
    struct machine_bench *bench = *state;
    open_meter(bench, "boards=2 lost=1");
    run(bench, 2);
    assert_int_equal(machine_require_channel(bench->meter, "hpu-1")->info.state, JOULE_FAILED);
    assert_near(machine_watts(bench->meter, "hpu-0"), WATTS, 1);
}

/* --- faults --------------------------------------------------------------------------------------------- */

static void test_already_initialised_is_no_error(void **state)
{
    struct machine_bench *bench = *state;
    open_meter(bench, "init=5");
    run(bench, 2);
    assert_near(gpu_joules(bench).value, 2 * WATTS, 0.11 * WATTS);
}

static void test_reasons_for_no_library(void **state)
{
    static const struct {
        const char *script;
        joule_status status;
    } wanted[] = {{"init=9", JOULE_ABSENT},
                  {"init=49", JOULE_FAILED},
                  {"init=20", JOULE_NO_MEMORY},
                  {"boards=0", JOULE_ABSENT}};
    struct machine_bench *bench = *state;
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        open_meter(bench, wanted[i].script);
        assert_int_equal(machine_source(bench->meter, "hlml")->state, wanted[i].status);
        assert_true(machine_source(bench->meter, "hlml")->remedy[0]);
        joule_close(bench->meter);
    }
    host_script_text(bench->host, DRIVER, NULL);
    bench->meter = machine_open(bench->host, "hlml");
    assert_int_equal(bench->meter->lane_count, 1); /* a library that is missing gets no thread */
    assert_int_equal(machine_source(bench->meter, "hlml")->state, JOULE_ABSENT);
}

static void test_missing_symbols_cost_one_feature(void **state)
{
    struct machine_bench *bench = *state;
    load("");
    remove_symbol("hlml_device_get_total_energy_consumption");
    remove_symbol("hlml_device_get_clock_info");
    remove_symbol("hlml_device_get_pci_info");
    open_meter(bench, NULL);
    run(bench, 5);
    assert_int_equal(gpu_joules(bench).cls, JOULE_CLASS_DERIVED);
    assert_null(machine_channel(bench->meter, "hpu-0-clock"));
    assert_non_null(machine_channel(bench->meter, "hpu-0-busy"));
    joule_close(bench->meter);
    remove_symbol("hlml_device_get_count");
    open_meter(bench, NULL);
    assert_int_equal(machine_source(bench->meter, "hlml")->state, JOULE_UNSUPPORTED);
}

static void test_a_passing_failure_loses_no_energy(void **state)
{
    struct machine_bench *bench = *state;
    open_meter(bench, "fail_s=2 until_s=2.5 code=21");
    run(bench, 10);
    assert_int_equal(machine_require_channel(bench->meter, "hpu-0")->info.state, JOULE_OK);
    assert_near(gpu_joules(bench).value, 10 * WATTS, 0.11 * WATTS);
}

static void test_lasting_failure_is_reported(void **state)
{
    struct machine_bench *bench = *state;
    open_meter(bench, "fail_s=2 code=10");
    run(bench, 2.5);
    /* the first failures are tolerated */
    assert_int_equal(machine_require_channel(bench->meter, "hpu-0")->info.state, JOULE_OK);
    run(bench, 2);
    assert_int_equal(machine_require_channel(bench->meter, "hpu-0")->info.state, JOULE_STALE);
}

static void test_a_lost_board_is_left_alone(void **state)
{
    struct machine_bench *bench = *state;
    open_meter(bench, "fail_s=2 until_s=3 code=15");
    run(bench, 5);
    assert_int_equal(machine_require_channel(bench->meter, "hpu-0")->info.state, JOULE_FAILED);
    assert_int_equal(machine_require_channel(bench->meter, "hpu-0-busy")->info.state, JOULE_FAILED);
}

static void test_a_library_that_was_shut_down_is_started_again(void **state)
{
    struct machine_bench *bench = *state;
    open_meter(bench, "shut_s=2");
    run(bench, 10);
    assert_near(gpu_joules(bench).value, 10 * WATTS, 0.11 * WATTS);
}

/* --- gauges and facts ----------------------------------------------------------------------------------- */

static void test_gauges_are_read(void **state)
{
    static const struct {
        const char *name;
        double value;
    } wanted[] = {{"hpu-0-temperature", 52}, {"hpu-0-clock", 1600}, {"hpu-0-busy", 0.42}};
    struct machine_bench *bench = *state;
    double value;
    open_meter(bench, "");
    run(bench, 1);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        assert_int_equal(
            joule_gauge(bench->meter, machine_require_channel(bench->meter, wanted[i].name)->info.id, &value),
            JOULE_OK);
        assert_near(value, wanted[i].value, 1e-12);
    }
}

static void test_board_has_its_facts(void **state)
{
    struct machine_bench *bench = *state;
    joule_device device = {.struct_size = sizeof device};
    open_meter(bench, "");
    run(bench, 3);
    assert_int_equal(joule_device_count(bench->meter), 1);
    assert_int_equal(joule_device_get(bench->meter, 0, &device), JOULE_OK);
    assert_string_equal(device.name, "hpu:0");
    assert_string_equal(device.pci_address, "0000:31:00.0");
    assert_string_equal(device.driver, "habanalabs 1.22.1-97ec1a4");
    assert_true(device.memory_total_bytes == 131072ull << 20);
    assert_true(device.memory_used_bytes == 672ull << 20);
    assert_true(device.memory_free_bytes == 130400ull << 20);
    assert_near(device.power_limit_default_watts, 850, 1e-9);
    assert_int_equal(device.clock_reasons, JOULE_CLOCKS_POWER);
    assert_near(device.busy, 0.42, 1e-12);
}

/* --- a call that never returns -------------------------------------------------------------------------- */

static void test_hanging_call_delays_no_lane(void **state)
{
    joule_options options = {.struct_size = sizeof options, .period_s = 0.01, .sources = "hlml"};
    joule_meter *meter;
    (void)state;
    load("hang_s=0.3");
    setenv("JOULE_HLML_LIB", LIBRARY, 1);
    assert_int_equal(joule_open(&options, &meter, NULL), JOULE_OK);
    struct lane *slow = meter->lanes[meter->lane_count - 1];
    uint64_t ticks;
    int64_t end_ns = clock_now_ns() + 10 * NS_PER_S;
    do { /* reads until the hanging call is reported */
        ticks = slow->ticks;
        nanosleep(&(struct timespec){0, 400000000}, NULL);
    } while (slow->ticks != ticks && clock_now_ns() < end_ns);
    assert_int_equal(slow->ticks, ticks);
    int64_t begin_ns = clock_now_ns();
    joule_close(meter);
    assert_true(clock_now_ns() - begin_ns < NS_PER_S);
    unsetenv("JOULE_HLML_LIB");
}

#define ON_A_MACHINE(test) cmocka_unit_test_setup_teardown(test, machine_setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_MACHINE(test_the_counter_is_the_board),
        ON_A_MACHINE(test_power_stands_in_for_the_counter),
        ON_A_MACHINE(test_a_frozen_counter_is_not_0_joules),
        ON_A_MACHINE(test_a_counter_that_wraps),
        ON_A_MACHINE(test_board_without_values_is_shown),
        ON_A_MACHINE(test_boards_are_numbered_by_the_bus),
        ON_A_MACHINE(test_a_board_without_access_is_shown),
        ON_A_MACHINE(test_already_initialised_is_no_error),
        ON_A_MACHINE(test_reasons_for_no_library),
        ON_A_MACHINE(test_missing_symbols_cost_one_feature),
        ON_A_MACHINE(test_a_passing_failure_loses_no_energy),
        ON_A_MACHINE(test_lasting_failure_is_reported),
        ON_A_MACHINE(test_a_lost_board_is_left_alone),
        ON_A_MACHINE(test_a_library_that_was_shut_down_is_started_again),
        ON_A_MACHINE(test_gauges_are_read),
        ON_A_MACHINE(test_board_has_its_facts),
        /* this test is last, because its thread outlives the meter */
        cmocka_unit_test(test_hanging_call_delays_no_lane),
    };
    return cmocka_run_group_tests_name("hlml", tests, NULL, NULL);
}
