/* Tests GPUs that no other source opens: each is listed by its name, with the reason why its energy is
 * unknown. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <joule/devices.h>
#include "support/check.h"
#include "support/machine.h"

#define PCI "/sys/bus/pci/devices/"

/* Adds a board at address `slot` with a uevent file like the kernel's. driver: NULL means that no driver is
 * bound. */
static void put_board(struct machine_bench *bench, const char *slot, const char *id, const char *class,
                      const char *driver)
{
    char path[128], text[160];
    snprintf(path, sizeof path, PCI "%s/uevent", slot);
    snprintf(text, sizeof text, "%s%s%sPCI_CLASS=%s\nPCI_ID=%s\nPCI_SLOT_NAME=%s\n", driver ? "DRIVER=" : "",
             driver ? driver : "", driver ? "\n" : "", class, id, slot);
    assert_true(host_script_text(bench->host, path, text));
    if (!driver)
        return;
    snprintf(path, sizeof path, "/sys/bus/pci/drivers/%s/%s", driver, slot);
    assert_true(host_script_link(bench->host, path, "../../../../devices/x"));
}

static void put_names(struct machine_bench *bench)
{
    host_script_text(bench->host, "/usr/share/hwdata/pci.ids",
                     "1002  Advanced Micro Devices, Inc. [AMD/ATI]\n"
                     "\t6798  Tahiti XT [Radeon HD 7970/8970 OEM / R9 280X]\n"
                     "10de  NVIDIA Corporation\n"
                     "\t1cb3  GP107GL [Quadro P400]\n");
}

static void run(struct machine_bench *bench, const char *sources)
{
    bench->meter = machine_open_devices(bench->host, sources);
    machine_run(bench->meter, 3, 0.5);
}

static void test_each_unmeasured_board_has_a_reason(void **state)
{
    static const struct {
        const char *id, *driver, *vendor, *model, *reason;
    } cases[] = {
        {"1002:6798", "radeon", "amd", "AMD Radeon HD 7970/8970 OEM / R9 280X", "amdgpu.si_support=1"},
        {"10DE:1CB3", "nouveau", "nvidia", "NVIDIA Quadro P400", "nouveau reports no power"},
        {"10DE:1CB3", "nvidia", "nvidia", "NVIDIA Quadro P400", "libnvidia-ml.so.1"},
        {"10DE:1CB3", "vfio-pci", "nvidia", "NVIDIA Quadro P400", "virtual machine"},
        {"10DE:1CB3", NULL, "nvidia", "NVIDIA Quadro P400", "no driver is bound"},
        {"1002:7550", NULL, "amd", "PCI device 1002:7550", "modprobe amdgpu"},
        {"8086:56A0", NULL, "intel", "PCI device 8086:56a0", "modprobe xe"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct machine_bench *bench = *state;
        put_names(bench);
        put_board(bench, "0000:03:00.0", cases[i].id, "30000", cases[i].driver);
        run(bench, "graphics,hwmon,thermal");
        assert_int_equal(joule_device_count(bench->meter), 1);
        joule_device device = machine_device(bench->meter, 0);
        assert_string_equal(device.name, "gpu:0");
        assert_string_equal(device.vendor, cases[i].vendor);
        assert_string_equal(device.model, cases[i].model);
        assert_string_equal(device.driver, cases[i].driver ? cases[i].driver : "");
        if (!strstr(device.remedy, cases[i].reason))
            fail_msg("%s: %s", cases[i].model, device.remedy);
        const struct channel *ch = machine_channel(bench->meter, "gpu-0");
        assert_non_null(ch);
        assert_int_equal(ch->info.state, JOULE_UNSUPPORTED);
        assert_string_equal(ch->info.remedy, device.remedy);
        assert_true(isnan(device.power_watts.value));
        machine_teardown(state);
        machine_setup(state);
    }
}

/* On some boards the driver nouveau has a hardware monitor. Its power is the board's, and no reason for
 * unknown energy is shown. */
static void test_power_of_nouveau(void **state)
{
    struct machine_bench *bench = *state;
    put_board(bench, "0000:03:00.0", "10DE:1CB3", "30000", "nouveau");
    host_script_text(bench->host, PCI "0000:03:00.0/hwmon/hwmon2/name", "nouveau\n");
    host_script_text(bench->host, PCI "0000:03:00.0/hwmon/hwmon2/power1_input", "31000000\n");
    host_script_text(bench->host, "/sys/class/hwmon/hwmon2/name", "nouveau\n");
    host_script_text(bench->host, "/sys/class/hwmon/hwmon2/power1_input", "31000000\n");
    host_script_text(bench->host, "/sys/class/hwmon/hwmon2/temp1_input", "47000\n");
    host_script_link(bench->host, "/sys/class/hwmon/hwmon2/device", "../../../0000:03:00.0");
    run(bench, "graphics,hwmon,thermal");
    joule_device device = machine_device(bench->meter, 0);
    assert_string_equal(device.driver, "nouveau");
    assert_true(fabs(device.power_watts.value - 31) < 1e-9);
    assert_true(device.temperature_celsius == 47);
    assert_string_equal(device.remedy, "");
}

/* Temperatures of an old board are shown although its energy is unknown. */
static void test_temperature_of_radeon(void **state)
{
    struct machine_bench *bench = *state;
    put_board(bench, "0000:03:00.0", "1002:6798", "30000", "radeon");
    host_script_text(bench->host, "/sys/class/hwmon/hwmon2/name", "radeon\n");
    host_script_text(bench->host, "/sys/class/hwmon/hwmon2/temp1_input", "51000\n");
    host_script_link(bench->host, "/sys/class/hwmon/hwmon2/device", "../../../0000:03:00.0");
    run(bench, "graphics,hwmon,thermal");
    assert_int_equal(joule_device_count(bench->meter), 1);
    assert_true(machine_device(bench->meter, 0).temperature_celsius == 51);
    assert_true(machine_device(bench->meter, 0).remedy[0]);
}

/* Boards with their own source, management controllers, virtual graphics and other devices of these vendors
 * are not listed. */
static void test_other_devices_are_no_boards(void **state)
{
    struct machine_bench *bench = *state;
    put_board(bench, "0000:03:00.0", "1002:744C", "30000", "amdgpu");
    put_board(bench, "0000:00:02.0", "8086:46A6", "30000", "i915");
    put_board(bench, "0000:04:00.0", "1A03:2000", "30000", "ast");
    put_board(bench, "0000:05:00.0", "1AF4:1050", "38000", "virtio-pci");
    put_board(bench, "0000:06:00.0", "8086:1521", "20000", "igb");
    put_board(bench, "0000:07:00.1", "10DE:10F1", "40300", NULL);
    bench->meter = machine_open_devices(bench->host, "graphics");
    machine_run(bench->meter, 2, 0.5);
    assert_int_equal(joule_device_count(bench->meter), 0);
    assert_int_equal(bench->meter->channel_count, 0);
}

/* The energy of a GPU inside a processor is part of the package's energy. The GPU is listed, and the total is
 * complete although the GPU has no meter. */
static void test_integrated_graphics_are_in_the_package(void **state)
{
    struct machine_bench *bench = *state;
    put_board(bench, "0000:00:02.0", "8086:46A6", "30000", NULL);
    run(bench, "graphics");
    assert_int_equal(joule_device_count(bench->meter), 1);
    assert_contains(machine_device(bench->meter, 0).remedy, "part of a processor");
    assert_int_equal(bench->meter->channel_count, 0);
}

/* The boards of all sources are numbered in one sequence. Boards of NVIDIA's driver come first, then the
 * others in order of address. */
static void test_boards_are_numbered_over_all_sources(void **state)
{
    static const char *const addresses[] = {"0000:41:00.0", "0000:81:00.0", "0000:c1:00.0"};
    struct machine_bench *bench = *state;
    put_board(bench, "0000:c1:00.0", "1002:6798", "30000", "radeon");
    put_board(bench, "0000:81:00.0", "10DE:2330", "30200", "nvidia");
    put_board(bench, "0000:41:00.0", "10DE:2330", "30200", "nvidia");
    run(bench, "graphics");
    assert_int_equal(joule_device_count(bench->meter), 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(machine_device(bench->meter, i).pci_address, addresses[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, machine_setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_each_unmeasured_board_has_a_reason),
        TEST(test_power_of_nouveau),
        TEST(test_temperature_of_radeon),
        TEST(test_other_devices_are_no_boards),
        TEST(test_integrated_graphics_are_in_the_package),
        TEST(test_boards_are_numbered_over_all_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
