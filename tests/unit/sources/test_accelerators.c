/* Tests accelerators that are found on the bus: their list, their meters, and the reason if a board has no
 * meter. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <joule/devices.h>
#include "support/check.h"
#include "support/machine.h"

static void open_machine(struct machine_bench *bench, const char *machine)
{
    assert_true(machine_add(bench->host, machine_fixture(machine), ""));
    bench->meter = machine_open_devices(bench->host, "accelerators,hwmon");
}

static joule_device device(const struct machine_bench *bench, const char *name)
{
    joule_device found = {.struct_size = sizeof found};
    for (size_t i = 0; i < joule_device_count(bench->meter); i++) {
        assert_int_equal(joule_device_get(bench->meter, i, &found), JOULE_OK);
        if (strcmp(found.name, name) == 0)
            return found;
    }
    fail_msg("no device is called %s", name);
    return found;
}

/* --- list of devices ------------------------------------------------------------------------------------ */

static void test_accelerators_on_the_bus_are_listed(void **state)
{
    static const struct {
        const char *name, *vendor, *model, *address;
    } wanted[] = {{"npu:0", "intel", "Intel NPU", "0000:00:0b.0"},
                  {"npu:1", "groq", "GroqChip", "0000:21:00.0"},
                  {"npu:2", "graphcore", "Graphcore IPU", "0000:22:00.0"},
                  {"npu:3", "furiosa", "FuriosaAI Warboy", "0000:23:00.0"},
                  {"npu:4", "amd", "AMD NPU", "0000:c5:00.1"},
                  {"accel:0", "", "PCI device abcd:0001", "0000:24:00.0"}};
    struct machine_bench *bench = *state;
    open_machine(bench, "accelerators");
    machine_run(bench->meter, 2, 0.5);
    assert_int_equal(joule_device_count(bench->meter), sizeof wanted / sizeof wanted[0]);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        joule_device found = device(bench, wanted[i].name);
        assert_string_equal(found.vendor, wanted[i].vendor);
        assert_string_equal(found.model, wanted[i].model);
        assert_string_equal(found.pci_address, wanted[i].address);
        assert_int_equal(found.state, JOULE_OK);
    }
}

static void test_unmeasured_accelerators_are_reported(void **state)
{
    static const char *const silent[] = {"npu-1", "npu-2", "npu-3", "accel-0"};
    struct machine_bench *bench = *state;
    open_machine(bench, "accelerators");
    machine_run(bench->meter, 2, 0.5);
    for (size_t i = 0; i < sizeof silent / sizeof silent[0]; i++) {
        assert_int_equal(machine_require_channel(bench->meter, silent[i])->info.state, JOULE_UNSUPPORTED);
        assert_contains(machine_require_channel(bench->meter, silent[i])->info.remedy, "BMC");
    }
    assert_null(machine_channel(bench->meter, "npu-0")); /* the NPU is part of the package */
    assert_null(machine_channel(bench->meter, "npu-4"));
}

static ssize_t busy_half(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)context;
    return snprintf(buffer, size, "%lld\n", (long long)(time_ns / 2000));
}

static void test_npu_utilisation_is_measured(void **state)
{
    struct machine_bench *bench = *state;
    double value;
    assert_true(machine_add(bench->host, machine_fixture("accelerators"), ""));
    host_script_file(bench->host, "/sys/devices/pci0000:00/0000:00:0b.0/npu_busy_time_us", busy_half, NULL);
    bench->meter = machine_open_devices(bench->host, "accelerators");
    machine_run(bench->meter, 2, 0.5);
    assert_int_equal(
        joule_gauge(bench->meter, machine_require_channel(bench->meter, "npu-0-busy")->info.id, &value),
        JOULE_OK);
    assert_relative(value, 0.5, 1e-6);
    assert_relative(device(bench, "npu:0").busy, 0.5, 1e-6);
    /* the driver was reloaded, so the count begins at 0 */
    host_script_text(bench->host, "/sys/devices/pci0000:00/0000:00:0b.0/npu_busy_time_us", "0\n");
    machine_run(bench->meter, 1, 0.5);
    assert_int_equal(
        joule_gauge(bench->meter, machine_require_channel(bench->meter, "npu-0-busy")->info.id, &value),
        JOULE_OK);
    assert_relative(value, 0, 1e-6);
    host_script_text(bench->host, "/sys/devices/pci0000:00/0000:00:0b.0/npu_busy_time_us", "busy\n");
    machine_run(bench->meter, 1, 0.5);
    assert_int_equal(machine_require_channel(bench->meter, "npu-0-busy")->info.state, JOULE_FAILED);
}

static void test_machines_without_any(void **state)
{
    struct machine_bench *bench = *state;
    bench->meter = machine_open(bench->host, "accelerators");
    assert_int_equal(bench->meter->lane_count, 1);
    assert_int_equal(bench->meter->lanes[0]->sources[0]->state, JOULE_ABSENT);
}

/* --- boards measured by monitors of their drivers ------------------------------------------------------- */

/* The first board's firmware reports microwatts, the second's milliwatts. */
static void test_gaudi_is_measured_in_either_unit(void **state)
{
    struct machine_bench *bench = *state;
    open_machine(bench, "gaudi2");
    machine_run(bench->meter, 3, 0.05);
    assert_string_equal(machine_require_channel(bench->meter, "hpu-0")->info.device, "hpu:0");
    assert_string_equal(machine_require_channel(bench->meter, "hpu-0")->zone, "hpu0/board");
    assert_relative(machine_watts(bench->meter, "hpu-0"), 226, 1e-6);
    assert_relative(machine_watts(bench->meter, "hpu-1"), 310, 1e-6);
    assert_relative(machine_mean_watts(bench->meter, JOULE_GPU), 536, 1e-6);
    assert_string_equal(device(bench, "hpu:1").pci_address, "0000:32:00.0");
    assert_string_equal(device(bench, "hpu:1").model, "Intel Gaudi 2");
    assert_null(machine_channel(bench->meter, "gpu-0"));
}

static void test_a_gaudi_without_driver(void **state)
{
    struct machine_bench *bench = *state;
    host_script_text(bench->host, "/sys/bus/pci/devices/0000:31:00.0/uevent",
                     "PCI_CLASS=120000\nPCI_ID=1DA3:1020\n");
    bench->meter = machine_open_devices(bench->host, "accelerators");
    assert_int_equal(machine_require_channel(bench->meter, "hpu-0")->info.state, JOULE_UNSUPPORTED);
    assert_contains(machine_require_channel(bench->meter, "hpu-0")->info.remedy, "modprobe habanalabs");
}

static void test_four_devices_of_one_card_count_once(void **state)
{
    struct machine_bench *bench = *state;
    open_machine(bench, "ai100");
    machine_run(bench->meter, 3, 0.05);
    assert_int_equal(joule_device_count(bench->meter), 5); /* the modem is not an accelerator */
    for (int i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "npu-%d", i);
        assert_relative(machine_watts(bench->meter, name), 48.12, 1e-6);
        assert_string_equal(machine_require_channel(bench->meter, name)->zone, "npu0/board");
    }
    assert_string_equal(machine_require_channel(bench->meter, "npu-4")->zone, "npu4/board");
    assert_relative(machine_mean_watts(bench->meter, JOULE_GPU), 48.12 + 35, 1e-6);
}

/* Cards behind one PCI switch are separate boards, not parts of one board. */
static void test_cards_behind_one_switch(void **state)
{
    struct machine_bench *bench = *state;
    assert_true(machine_add(bench->host, machine_fixture("ai100"), ""));
    for (int i = 0; i < 4; i++) {
        char path[128], text[16];
        snprintf(path, sizeof path, "/sys/class/hwmon/hwmon%d/power1_input", 2 + i);
        snprintf(text, sizeof text, "%d\n", 40000000 + 10000 * i);
        assert_true(host_script_text(bench->host, path, text));
    }
    bench->meter = machine_open(bench->host, "accelerators,hwmon");
    machine_run(bench->meter, 3, 0.05);
    assert_relative(machine_mean_watts(bench->meter, JOULE_GPU), 4 * 40 + 0.06 + 35, 1e-6);
}

static void test_zero_watts_of_qualcomm_are_unknown(void **state)
{
    struct machine_bench *bench = *state;
    assert_true(machine_add(bench->host, machine_fixture("ai100"), ""));
    host_script_text(bench->host, "/sys/class/hwmon/hwmon6/power1_input", "0\n");
    bench->meter = machine_open(bench->host, "hwmon");
    machine_run(bench->meter, 3, 0.05);
    assert_int_equal(machine_require_channel(bench->meter, "npu-4")->info.state, JOULE_STALE);
}

/* The hardware monitor shows the power of the core, not of the whole board. This power is listed, but it is
 * in no total, and the board's power is unknown. */
static void test_core_power_of_tenstorrent_is_in_no_total(void **state)
{
    struct machine_bench *bench = *state;
    open_machine(bench, "tenstorrent");
    machine_run(bench->meter, 3, 0.05);
    assert_relative(machine_watts(bench->meter, "npu-0-core"), 34, 1e-6);
    assert_relative(machine_watts(bench->meter, "npu-1-core"), 57, 1e-6);
    assert_int_equal(machine_require_channel(bench->meter, "npu-1-core")->info.scope, JOULE_SCOPE_RAIL);
    assert_int_equal(machine_require_channel(bench->meter, "npu-1-core")->info.in_total, 0);
    assert_int_equal(machine_require_channel(bench->meter, "npu-1")->info.state, JOULE_UNSUPPORTED);
    assert_contains(machine_require_channel(bench->meter, "npu-1")->info.remedy,
                    "chip's core, without memory");
    assert_string_equal(device(bench, "npu:0").model, "Tenstorrent Wormhole");
}

static void test_temperatures_belong_to_their_device(void **state)
{
    struct machine_bench *bench = *state;
    assert_true(machine_add(bench->host, machine_fixture("tenstorrent"), ""));
    bench->meter = machine_open_devices(bench->host, "accelerators,thermal");
    machine_run(bench->meter, 3, 0.5);
    assert_string_equal(machine_require_channel(bench->meter, "npu-1-asic-temp")->info.device, "npu:1");
    assert_relative(device(bench, "npu:0").temperature_celsius, 41.312, 1e-6);
    assert_relative(device(bench, "npu:1").temperature_celsius, 48, 1e-6);
}

#define ON_A_MACHINE(test) cmocka_unit_test_setup_teardown(test, machine_setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_MACHINE(test_accelerators_on_the_bus_are_listed),
        ON_A_MACHINE(test_unmeasured_accelerators_are_reported),
        ON_A_MACHINE(test_npu_utilisation_is_measured),
        ON_A_MACHINE(test_machines_without_any),
        ON_A_MACHINE(test_gaudi_is_measured_in_either_unit),
        ON_A_MACHINE(test_a_gaudi_without_driver),
        ON_A_MACHINE(test_four_devices_of_one_card_count_once),
        ON_A_MACHINE(test_cards_behind_one_switch),
        ON_A_MACHINE(test_zero_watts_of_qualcomm_are_unknown),
        ON_A_MACHINE(test_core_power_of_tenstorrent_is_in_no_total),
        ON_A_MACHINE(test_temperatures_belong_to_their_device),
    };
    return cmocka_run_group_tests_name("accelerators", tests, NULL, NULL);
}
