/* Tests NVIDIA boards through nvidia-smi: the tables of old and new drivers, and failing drivers. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/string.h"
#include "joule/sources/nvidia/nvidia_smi.h"
#include "support/check.h"
#include "support/fake_nvidia_smi.h"

#define MIB UINT64_C(1048576)

/* --- tables --------------------------------------------------------------------------------------------- */

static void test_boards_are_measured(void **state)
{
    struct machine_bench *bench = *state;
    fake_smi.table = fake_smi_read("boards.csv");
    joule_meter *meter = fake_smi_open(bench);
    machine_run(meter, 20, 1);
    assert_int_equal(joule_device_count(meter), 3);
    joule_device l4 = machine_device(meter, 0), a100 = machine_device(meter, 1),
                 mx = machine_device(meter, 2);
    assert_string_equal(l4.name, "gpu:0");
    assert_string_equal(l4.model, "NVIDIA L4");
    assert_string_equal(l4.architecture, "Ada Lovelace");
    assert_string_equal(l4.compute_capability, "8.9");
    assert_string_equal(l4.driver, "nvidia 560.28.03");
    assert_string_equal(l4.pci_address, "0000:65:00.0");
    assert_string_equal(l4.uuid, "GPU-33333333-0000-0000-0000-000000000001");
    assert_true(l4.memory_total_bytes == 23034 * MIB && l4.memory_used_bytes == 4000 * MIB);
    assert_relative(l4.power_limit_enforced_watts, 72, 5e-10);
    assert_relative(l4.power_limit_min_watts, 40, 5e-10);
    assert_relative(l4.busy, 0.35, 5e-10);
    assert_relative(l4.memory_busy, 0.12, 5e-10);
    assert_relative(l4.temperature_celsius, 48, 5e-10);
    assert_true(isnan(l4.memory_temperature_celsius));
    assert_relative(l4.clock_megahertz, 1500, 5e-10);
    assert_int_equal(l4.clock_reasons, JOULE_CLOCKS_POWER);
    assert_true(isnan(l4.fan_ratio)); /* the board has no fan of its own */
    assert_relative(l4.encoder_busy, 0.12, 5e-10);
    assert_relative(l4.decoder_busy, 0.07, 5e-10);
    assert_relative(l4.ecc_corrected, 3, 5e-10);
    assert_relative(l4.ecc_uncorrected, 0, 5e-10);
    assert_relative(l4.ecc_corrected_lifetime, 14, 5e-10);
    assert_relative(l4.ecc_uncorrected_lifetime, 1, 5e-10);
    assert_true(isnan(l4.pcie_replays));      /* only descriptions contain this value */
    assert_int_equal(l4.has_process_list, 0); /* the table has no process list */
    assert_int_equal(l4.state, JOULE_OK);
    /* the mean power, not the instantaneous one */
    assert_relative(machine_watts(meter, "gpu-0-power"), 41.5, 5e-10);

    assert_string_equal(a100.pci_address, "0001:ca:00.0");
    assert_relative(machine_watts(meter, "gpu-1-power"), 90.25, 5e-10);
    assert_true(isnan(a100.busy)); /* unknown, because MIG is on */
    assert_relative(a100.memory_temperature_celsius, 31, 5e-10);

    assert_string_equal(mx.model, "NVIDIA GeForce MX450");
    assert_int_equal(fake_smi_state(meter, "gpu-2-power"), JOULE_UNSUPPORTED);
    assert_true(isnan(mx.power_limit_watts));
    assert_relative(mx.fan_ratio, 0.35, 5e-10);
    assert_true(isnan(mx.ecc_corrected) && isnan(mx.ecc_uncorrected_lifetime)); /* the board has no ECC */
    assert_int_equal(mx.clock_reasons, JOULE_CLOCKS_UNKNOWN);
    assert_relative(mx.temperature_celsius, 40, 5e-10);
    joule_domain power = fake_smi_domain(meter, "gpu-0-power");
    assert_string_equal(power.source, "nvidia_smi");
    assert_string_equal(power.device, "gpu:0");
    assert_int_equal(power.cls, JOULE_CLASS_DERIVED);
}

/* Drivers before 535 have other names for clock reasons, and no averages. Drivers before 510 have no compute
 * capability. The error names the unknown field. */
static void test_fields_that_a_driver_does_not_know(void **state)
{
    struct machine_bench *bench = *state;
    fake_smi.table = strdup(
        "index, uuid, pci.bus_id, name, driver_version, power.draw [W], power.limit [W], "
        "enforced.power.limit [W], "
        "power.default_limit [W], power.min_limit [W], power.max_limit [W], temperature.gpu, "
        "temperature.memory, "
        "utilization.gpu [%], utilization.memory [%], memory.total [MiB], memory.used [MiB], memory.free "
        "[MiB], "
        "clocks.current.sm [MHz], clocks.current.memory [MHz], clocks_throttle_reasons.active\n"
        "0, GPU-22b2c6ac-2d49-4863-197c-9c469071178a, 00000000:08:00.0, GeForce RTX 2080, 440.100, 163.50 W, "
        "200.00 W, 200.00 W, 215.00 W, 105.00 W, 292.00 W, 40, N/A, 98 %, 40 %, 7982 MiB, 1242 MiB, 6740 "
        "MiB, 1900 MHz, "
        "7000 MHz, 0x0000000000000004\n");
    joule_meter *meter = fake_smi_open(bench);
    /* one run for each group of unknown fields, and two successful runs */
    assert_true(fake_smi.tables <= 10);
    machine_run(meter, 10, 1);
    joule_device device = machine_device(meter, 0);
    assert_string_equal(device.model, "GeForce RTX 2080");
    assert_string_equal(device.compute_capability, "");
    assert_int_equal(device.clock_reasons, JOULE_CLOCKS_POWER);
    assert_relative(device.power_limit_max_watts, 292, 5e-10);
    assert_relative(machine_watts(meter, "gpu-0-power"), 163.5, 5e-10);
}

/* If the error message does not name the unknown field, the program is run again with fewer fields until it
 * succeeds. */
static void test_refusals_without_a_name(void **state)
{
    struct machine_bench *bench = *state;
    fake_smi.table = fake_smi_read("boards.csv");
    fake_smi.unknown = "power.draw.average";
    fake_smi.is_mute = true;
    joule_meter *meter = fake_smi_open(bench);
    machine_run(meter, 10, 1);
    assert_relative(machine_watts(meter, "gpu-0-power"), 41.5, 5e-10); /* from the field power.draw */
}

static void test_power_changes_are_integrated(void **state)
{
    struct machine_bench *bench = *state;
    fake_smi.table = fake_smi_read("boards.csv");
    joule_meter *meter = fake_smi_open(bench);
    machine_run(meter, 30, 1);
    int32_t power = machine_domain(meter, "gpu-0-power");
    double before = machine_mean_watts(meter, power);
    fake_smi.factor = 1.2;
    machine_run(meter, 30, 1);
    double after = machine_mean_watts(meter, power);
    assert_relative(before, 41.5, 5e-10);
    if (!(after > 45 && after < 46.5)) /* the power was 49.8 W for half of the time */
        fail_msg("%g W", after);
}

/* --- faults --------------------------------------------------------------------------------------------- */

static void test_a_board_is_lost(void **state)
{
    struct machine_bench *bench = *state;
    fake_smi.table = fake_smi_read("boards.csv");
    joule_meter *meter = fake_smi_open(bench);
    machine_run(meter, 5, 1);
    fake_smi.lost = 0;
    machine_run(meter, 5, 1);
    assert_int_equal(fake_smi_state(meter, "gpu-0-power"), JOULE_FAILED);
    /* the board's number may have changed, so the address identifies it */
    assert_int_equal(fake_smi_state(meter, "gpu-1-power"), JOULE_OK);
    assert_relative(machine_watts(meter, "gpu-1-power"), 90.25, 5e-10);
    assert_int_equal(machine_device(meter, 0).state, JOULE_FAILED);
    fake_smi.lost = -1;
    machine_run(meter, 5, 1);
    assert_int_equal(fake_smi_state(meter, "gpu-0-power"), JOULE_OK);
    assert_int_equal(machine_device(meter, 0).state, JOULE_OK);
}

static void expect_words(struct machine_bench *bench, const char *value, joule_status status)
{
    char *table = strdup(fake_smi.table), *at;
    for (at = table; (at = strstr(at, "41.50 W")) != NULL;)
        memcpy(at, "@@@@@@@", 7);
    struct text text;
    char changed[4096];
    text_init(&text, changed, sizeof changed);
    for (at = table; *at; at++)
        if (strncmp(at, "@@@@@@@", 7) == 0) {
            text_add(&text, value);
            at += 6;
        } else {
            text_add_bytes(&text, at, 1);
        }
    char *good = fake_smi.table;
    fake_smi.table = changed;
    machine_run(bench->meter, 3, 1);
    assert_int_equal(fake_smi_state(bench->meter, "gpu-0-power"), status);
    assert_int_equal(fake_smi_state(bench->meter, "gpu-1-power"), JOULE_OK);
    fake_smi.table = good;
    machine_run(bench->meter, 3, 1);
    assert_int_equal(fake_smi_state(bench->meter, "gpu-0-power"), JOULE_OK);
    free(table);
}

static void test_words_instead_of_power_have_a_status(void **state)
{
    struct machine_bench *bench = *state;
    fake_smi.table = fake_smi_read("boards.csv");
    fake_smi_open(bench);
    machine_run(bench->meter, 3, 1);
    expect_words(bench, "[GPU is lost]", JOULE_FAILED);
    expect_words(bench, "[GPU requires reset]", JOULE_FAILED);
    expect_words(bench, "[Unknown Error]", JOULE_FAILED);
    expect_words(bench, "ERR!", JOULE_FAILED);
    expect_words(bench, "[Insufficient Permissions]", JOULE_DENIED);
    expect_words(bench, "[Not Supported]", JOULE_UNSUPPORTED);
    expect_words(bench, "N/A", JOULE_UNSUPPORTED);
    expect_words(bench, "[Some word of a driver to come]", JOULE_FAILED);
    expect_words(bench, "-1.00 W", JOULE_FAILED);
}

static void test_hanging_and_invalid_output_is_a_failure(void **state)
{
    struct machine_bench *bench = *state;
    fake_smi.table = fake_smi_read("boards.csv");
    joule_meter *meter = fake_smi_open(bench);
    machine_run(meter, 5, 1);
    fake_smi.failure = -ETIMEDOUT;
    machine_run(meter, 3, 1);
    assert_int_equal(fake_smi_state(meter, "gpu-0-power"), JOULE_FAILED);
    fake_smi.failure = 0;
    fake_smi.status = 255;
    fake_smi.instead = "Segmentation fault, 1, 2, 3\n,,,,\n";
    machine_run(meter, 3, 1);
    assert_int_equal(fake_smi_state(meter, "gpu-1-temperature"), JOULE_FAILED);
    fake_smi.status = 0;
    machine_run(meter, 3, 1);
    assert_int_equal(fake_smi_state(meter, "gpu-0-power"), JOULE_OK);
    assert_relative(machine_watts(meter, "gpu-0-power"), 41.5, 5e-10);
}

static void expect_state(struct machine_bench *bench, joule_status status, const char *remedy)
{
    bench->meter = machine_open(bench->host, "nvidia_smi");
    const struct source *source = bench->meter->lanes[0]->sources[0];
    for (size_t i = 0; i < bench->meter->lane_count; i++)
        if (bench->meter->lanes[i]->source_count)
            source = bench->meter->lanes[i]->sources[0];
    assert_int_equal(source->state, status);
    assert_contains(source->remedy, remedy);
    assert_int_equal(joule_device_count(bench->meter), 0);
    joule_close(bench->meter);
    bench->meter = NULL;
}

static void test_missing_boards_have_a_reason(void **state)
{
    struct machine_bench *bench = *state;
    fake_smi.failure = -ENOENT;
    expect_state(bench, JOULE_ABSENT, "there is no nvidia-smi");
    fake_smi.failure = -EACCES;
    expect_state(bench, JOULE_DENIED, "join the group");
    fake_smi.failure = -ETIMEDOUT;
    expect_state(bench, JOULE_FAILED, "no usable values");
    fake_smi.failure = 0;
    fake_smi.instead = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n";
    fake_smi.status = 9;
    expect_state(bench, JOULE_ABSENT, "no GPU");
    fake_smi.status = 4;
    expect_state(bench, JOULE_DENIED, "join the group");
    fake_smi.status = 15;
    expect_state(bench, JOULE_FAILED, "dmesg");
    fake_smi.status = 0;
    free(fake_smi.table);
    fake_smi.table = fake_smi_read("boards.csv");
    strcpy(strchr(fake_smi.table, '\n') + 1, "No devices were found\n");
    /* The list of boards is empty, but no description confirms that the machine has no board. */
    expect_state(bench, JOULE_FAILED, "no usable values");
    fake_smi.description = strdup("<nvidia_smi_log><attached_gpus>0</attached_gpus></nvidia_smi_log>");
    expect_state(bench, JOULE_ABSENT, "no GPU");
}

static void test_not_beside_the_library(void **state)
{
    struct machine_bench *bench = *state;
    static const struct script_symbol symbols[] = {{"nvmlInit_v2", NULL}};
    fake_smi.table = fake_smi_read("boards.csv");
    host_script_library(bench->host, "libnvidia-ml.so.1", symbols, 1);
    expect_state(bench, JOULE_ABSENT, "library is installed");
    host_script_env(bench->host, "JOULE_NVML_LIB", "/nowhere.so");
    host_script_env(bench->host, "JOULE_NVIDIA_SMI", "/opt/nvidia-smi");
    expect_state(bench, JOULE_ABSENT, "there is no nvidia-smi"); /* the named program does not exist */
    host_script_program(bench->host, "/opt/nvidia-smi", fake_smi_run, NULL);
    assert_int_equal(joule_device_count(fake_smi_open(bench)), 3);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_smi_setup, fake_smi_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_boards_are_measured),
        TEST(test_fields_that_a_driver_does_not_know),
        TEST(test_refusals_without_a_name),
        TEST(test_power_changes_are_integrated),
        TEST(test_a_board_is_lost),
        TEST(test_words_instead_of_power_have_a_status),
        TEST(test_hanging_and_invalid_output_is_a_failure),
        TEST(test_missing_boards_have_a_reason),
        TEST(test_not_beside_the_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
