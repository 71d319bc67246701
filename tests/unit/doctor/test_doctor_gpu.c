/* Tests the doctor's findings about GPUs: GPUs that can be read, and each reason why a GPU cannot be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "support/check.h"
#include "support/doctor_bench.h"

/* --- NVIDIA --------------------------------------------------------------------------------------------- */

static void add_board(struct joule_host *host, const char *driver)
{
    host_script_text(host, "/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
    host_script_text(host, "/sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
    /* the board's audio function */
    host_script_text(host, "/sys/bus/pci/devices/0000:01:00.1/vendor", "0x10de\n");
    host_script_text(host, "/sys/bus/pci/devices/0000:01:00.1/class", "0x040300\n");
    if (driver)
        host_script_link(host, "/sys/bus/pci/devices/0000:01:00.0/driver", driver);
}

static void test_leftover_nodes_are_reported(void **state)
{
    struct doctor_bench *bench = *state;
    host_script_text(bench->host, "/dev/nvidia0", "");
    host_script_text(bench->host, "/dev/nvidiactl", "");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "nvidia_nodes", FINDING_FACT, NULL);
    doctor_bench_assert_absent(bench, "nvidia_driver");
}

static void test_board_held_by_nouveau(void **state)
{
    struct doctor_bench *bench = *state;
    add_board(bench->host, "../../../bus/pci/drivers/nouveau");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "nvidia_driver", FINDING_ADVICE, "nvidia-driver");
    assert_contains(doctor_bench_find(bench, "nvidia_driver")->what, "1, bound to nouveau");
}

static void test_board_lent_to_a_guest(void **state)
{
    struct doctor_bench *bench = *state;
    add_board(bench->host, "../../../bus/pci/drivers/vfio-pci");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "nvidia_driver", FINDING_LIMIT, NULL);
}

static void test_driver_without_library(void **state)
{
    struct doctor_bench *bench = *state;
    add_board(bench->host, "../../../bus/pci/drivers/nvidia");
    host_script_text(bench->host, "/proc/driver/nvidia/version", "NVRM version: 570\n");
    host_script_text(bench->host, "/.dockerenv", "");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "nvml_missing", FINDING_ADVICE, "utility");
    doctor_bench_assert_absent(bench, "nvidia_driver");
}

/* --- AMD and Intel -------------------------------------------------------------------------------------- */

#define CARD "0000:03:00.0"

static void add_function(struct joule_host *host, const char *address, const char *vendor, const char *kind)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", address);
    host_script_text(host, path, vendor);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/class", address);
    host_script_text(host, path, kind);
}

static void bind(struct joule_host *host, const char *address, const char *driver)
{
    char path[96], target[96];
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/driver", address);
    snprintf(target, sizeof target, "../../../../bus/pci/drivers/%s", driver);
    host_script_link(host, path, target);
    snprintf(path, sizeof path, "/sys/module/%s/refcnt", driver);
    host_script_text(host, path, "1\n");
}

/* Adds an AMD card and its audio function to a machine whose CPU is measured. */
static void add_amd_card(struct joule_host *host)
{
    doctor_bench_add_zone(host, true);
    add_function(host, CARD, "0x1002\n", "0x030000\n");
    add_function(host, "0000:03:00.1", "0x1002\n", "0x040300\n");
}

static void add_hwmon(struct joule_host *host, const char *name, const char *file, int errno_value)
{
    char path[64];
    snprintf(path, sizeof path, "/sys/class/hwmon/hwmon0/%s", file);
    host_script_text(host, "/sys/class/hwmon/hwmon0/name", name);
    host_script_link(host, "/sys/class/hwmon/hwmon0/device", "/sys/devices/pci0000:00/0000:00:01.0/" CARD);
    host_script_text(host, path, "16000000\n");
    if (errno_value)
        host_script_error(host, path, errno_value);
}

static void test_amd_card_without_driver(void **state)
{
    struct doctor_bench *bench = *state;
    add_amd_card(bench->host);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "amd_gpu_no_driver", FINDING_ADVICE, "sudo modprobe amdgpu");
    assert_contains(doctor_bench_find(bench, "amd_gpu_no_driver")->what, "GPU (" CARD "):");
}

static void test_driver_is_not_loaded_from_a_container(void **state)
{
    struct doctor_bench *bench = *state;
    host_script_text(bench->host, "/.dockerenv", "");
    add_amd_card(bench->host);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "amd_gpu_no_driver", FINDING_LIMIT, NULL);
}

static void test_amd_card_that_its_driver_refused(void **state)
{
    struct doctor_bench *bench = *state;
    add_amd_card(bench->host);
    host_script_text(bench->host, "/sys/module/amdgpu/refcnt", "0\n");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "amd_gpu_not_taken", FINDING_ADVICE, "dmesg | grep -i amdgpu");
    doctor_bench_assert_absent(bench, "amd_gpu_no_driver");
}

static void test_amd_card_is_read(void **state)
{
    struct doctor_bench *bench = *state;
    add_amd_card(bench->host);
    bind(bench->host, CARD, "amdgpu");
    add_hwmon(bench->host, "amdgpu", "power1_average", 0);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "amd_gpu_energy", FINDING_FACT, NULL);
    assert_contains(doctor_bench_find(bench, "amd_gpu_energy")->what, "derived by hwmon");
    doctor_bench_assert_nothing_to_do(bench);
}

static void test_amd_card_is_denied(void **state)
{
    struct doctor_bench *bench = *state;
    add_amd_card(bench->host);
    bind(bench->host, CARD, "amdgpu");
    add_hwmon(bench->host, "amdgpu", "power1_average", EACCES);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "amd_gpu_denied", FINDING_ADVICE,
                                "chmod a+r /sys/class/drm/card*/device/hwmon");
}

static void test_amd_card_asleep(void **state)
{
    struct doctor_bench *bench = *state;
    add_amd_card(bench->host);
    bind(bench->host, CARD, "amdgpu");
    add_hwmon(bench->host, "amdgpu", "power1_average", 0);
    host_script_text(bench->host, "/sys/devices/pci0000:00/0000:00:01.0/" CARD "/power/runtime_status",
                     "suspended\n");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "amd_gpu_asleep", FINDING_FACT, NULL);
    doctor_bench_assert_nothing_to_do(bench);
}

/* Eight accelerators whose driver reports no energy give one finding, not eight. */
static void test_accelerators_without_meter(void **state)
{
    struct doctor_bench *bench = *state;
    char address[16];
    doctor_bench_add_zone(bench->host, true);
    for (unsigned bus = 1; bus <= 8; bus++) {
        snprintf(address, sizeof address, "0000:%02x:00.0", bus * 0x10);
        add_function(bench->host, address, "0x1002\n", "0x120000\n");
        bind(bench->host, address, "amdgpu");
    }
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "amd_gpu_no_meter", FINDING_LIMIT, NULL);
    const char *what = doctor_bench_find(bench, "amd_gpu_no_meter")->what;
    assert_contains(doctor_bench_find(bench, "amd_gpu_no_meter")->why, "amd_smi (absent)");
    assert_contains(what, "GPUs (0000:10:00.0, 0000:20:00.0, 0000:30:00.0, 0000:40:00.0 ...)");
    size_t limits = 0;
    for (size_t i = 0; i < bench->diagnosis.count; i++)
        limits += bench->diagnosis.findings[i].severity == FINDING_LIMIT;
    assert_int_equal(limits, 1);
}

static void test_intel_cards_are_judged_by_their_driver(void **state)
{
    struct doctor_bench *bench = *state;
    doctor_bench_add_zone(bench->host, true);
    add_function(bench->host, CARD, "0x8086\n", "0x038000\n");
    add_function(bench->host, "0000:43:00.0", "0x8086\n", "0x030000\n");
    bind(bench->host, CARD, "xe");
    bind(bench->host, "0000:43:00.0", "vfio-pci");
    add_hwmon(bench->host, "xe", "energy1_input", 0);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "intel_gpu_energy", FINDING_FACT, NULL);
    assert_contains(doctor_bench_find(bench, "intel_gpu_energy")->why, "driver xe");
    assert_contains(doctor_bench_find(bench, "intel_gpu_energy")->why, "hwmon (ok), level_zero (");
    doctor_bench_assert_finding(bench, "intel_gpu_lent", FINDING_LIMIT, NULL);
}

static void test_intel_card_without_driver(void **state)
{
    struct doctor_bench *bench = *state;
    add_function(bench->host, CARD, "0x8086\n", "0x030000\n");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "intel_gpu_no_driver", FINDING_ADVICE, "modprobe xe");
}

/* The package's energy includes integrated graphics and an integrated accelerator, with or without a
 * driver. */
static void test_graphics_inside_processors(void **state)
{
    struct doctor_bench *bench = *state;
    doctor_bench_add_zone(bench->host, true);
    add_function(bench->host, "0000:00:02.0", "0x8086\n", "0x030000\n");
    add_function(bench->host, "0000:00:0b.0", "0x8086\n", "0x120000\n");
    add_function(bench->host, "0000:c1:00.0", "0x1002\n", "0x030000\n");
    add_function(bench->host, "0000:c1:00.2", "0x1022\n", "0x108000\n");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_nothing_to_do(bench);
}

/* In a virtual machine a card may be on bus 0. */
static void test_card_of_a_virtual_machine(void **state)
{
    struct doctor_bench *bench = *state;
    doctor_bench_make_virtual(bench->host);
    add_function(bench->host, "0000:00:08.0", "0x1002\n", "0x120000\n");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "amd_gpu_no_driver", FINDING_ADVICE, "modprobe");
}

#define machine(test) cmocka_unit_test_setup_teardown(test, doctor_bench_set_up, doctor_bench_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        machine(test_leftover_nodes_are_reported),
        machine(test_board_held_by_nouveau),
        machine(test_board_lent_to_a_guest),
        machine(test_driver_without_library),
        machine(test_amd_card_without_driver),
        machine(test_driver_is_not_loaded_from_a_container),
        machine(test_amd_card_that_its_driver_refused),
        machine(test_amd_card_is_read),
        machine(test_amd_card_is_denied),
        machine(test_amd_card_asleep),
        machine(test_accelerators_without_meter),
        machine(test_intel_cards_are_judged_by_their_driver),
        machine(test_intel_card_without_driver),
        machine(test_graphics_inside_processors),
        machine(test_card_of_a_virtual_machine),
    };
    return cmocka_run_group_tests_name("doctor_gpu", tests, NULL, NULL);
}
