/* Tests Jetson boards: power rails in the old and the new layout of sysfs, which rail feeds the whole board,
 * and which rails are in no total. */
#include <errno.h>
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

#define OLD     "/sys/bus/i2c/drivers/ina3221x/"
#define NEW     "/sys/bus/i2c/drivers/ina3221/"
#define CLASS   "/sys/class/hwmon/"
#define DEVFREQ "/sys/class/devfreq/"

static void put(struct machine_bench *bench, const char *folder, const char *form, unsigned k,
                const char *content)
{
    char path[160], file[48];
    const char *hole = strchr(form, '#');
    snprintf(file, sizeof file, "%.*s%u%s", (int)(hole - form), form, k, hole + 1);
    snprintf(path, sizeof path, "%s/%s", folder, file);
    assert_true(host_script_text(bench->host, path, content));
}

static void put_number(struct machine_bench *bench, const char *folder, const char *form, unsigned k,
                       long value)
{
    char text[24];
    snprintf(text, sizeof text, "%ld\n", value);
    put(bench, folder, form, k, text);
}

/* Adds a rail in the layout of L4T 34 and later. `name` NULL means that the rail has no label. */
static void put_new(struct machine_bench *bench, const char *folder, unsigned k, const char *name,
                    long millivolts, long milliamperes)
{
    char path[160];
    snprintf(path, sizeof path, "%s/name", folder);
    host_script_text(bench->host, path, "ina3221\n");
    if (name)
        put(bench, folder, "in#_label", k, name);
    put_number(bench, folder, "in#_input", k, millivolts);
    put_number(bench, folder, "curr#_input", k, milliamperes);
}

/* Adds a rail in the layout of L4T up to 32. */
static void put_old(struct machine_bench *bench, const char *folder, unsigned k, const char *name,
                    long milliwatts)
{
    put(bench, folder, "rail_name_#", k, name);
    put_number(bench, folder, "in_voltage#_input", k, 5000);
    put_number(bench, folder, "in_current#_input", k, milliwatts / 5);
    put_number(bench, folder, "in_power#_input", k, milliwatts);
    put(bench, folder, "warn_current_limit_#", k, "32760 ma\n");
}

static void run(struct machine_bench *bench, const char *sources)
{
    bench->meter = machine_open(bench->host, sources);
    machine_run(bench->meter, 4, 0.05);
}

static ssize_t read_compatible(void *context, int64_t time_ns, char *buffer, size_t size)
{
    static const char words[] = "nvidia,p3768-0000+p3767-0005\0nvidia,p3767-0005\0nvidia,tegra234";
    (void)context;
    (void)time_ns;
    assert_true(sizeof words < size);
    memcpy(buffer, words, sizeof words);
    return sizeof words;
}

/* --- boards --------------------------------------------------------------------------------------------- */

static void test_rails_of_orin_nano_are_read(void **state)
{
    struct machine_bench *bench = *state;
    const char *chip = CLASS "hwmon1";
    host_script_text(bench->host, "/proc/device-tree/model", "NVIDIA Jetson Orin Nano Developer Kit");
    put_new(bench, chip, 1, "VDD_IN", 5000, 930);
    put_new(bench, chip, 2, "VDD_CPU_GPU_CV", 5000, 112);
    put_new(bench, chip, 3, "VDD_SOC", 5000, 296);
    put(bench, chip, "in#_input", 4, "1500\n"); /* the voltage of a shunt, in microvolts */
    put(bench, chip, "in#_label", 7, "sum of shunt voltages");
    put(bench, chip, "in#_input", 7, "1500\n");
    put(bench, chip, "curr#_input", 4, "1000\n");
    run(bench, "jetson,hwmon");
    /* the hwmon source did not use the chip, because jetson did */
    assert_int_equal(joule_domain_count(bench->meter), 3);
    assert_relative(machine_watts(bench->meter, "module-0"), 4.65, 1e-6);
    assert_relative(machine_watts(bench->meter, "rail-vdd-cpu-gpu-cv"), 0.56, 1e-6);
    assert_relative(machine_watts(bench->meter, "rail-vdd-soc"), 1.48, 1e-6);
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 4.65, 1e-6);
    const struct channel *ch = machine_require_channel(bench->meter, "module-0");
    assert_int_equal(ch->info.scope, JOULE_SCOPE_MODULE);
    assert_int_equal(ch->info.cls, JOULE_CLASS_DERIVED);
    assert_string_equal(ch->info.model, "NVIDIA Jetson Orin Nano Developer Kit");
    assert_string_equal(machine_require_channel(bench->meter, "rail-vdd-soc")->parent_zone, ch->zone);
    assert_true(isnan(machine_mean_watts(bench->meter, JOULE_GPU))); /* the GPU has no rail of its own */
}

static void test_old_layout_in_milliwatts(void **state)
{
    struct machine_bench *bench = *state;
    const char *chip = OLD "6-0040/iio:device0";
    put_old(bench, chip, 0, "POM_5V_IN", 2340);
    put_old(bench, chip, 1, "POM_5V_GPU", 125);
    put_old(bench, chip, 2, "POM_5V_CPU", 480);
    run(bench, "jetson");
    assert_int_equal(joule_domain_count(bench->meter), 3);
    assert_relative(machine_watts(bench->meter, "module-0"), 2.34, 1e-6);
    assert_relative(machine_watts(bench->meter, "gpu-0"), 0.125, 1e-6);
    assert_relative(machine_watts(bench->meter, "rail-pom-5v-cpu"), 0.48, 1e-6);
    /* the board's rail includes the GPU */
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 2.34, 1e-6);
    assert_relative(machine_mean_watts(bench->meter, JOULE_GPU), 0.125, 1e-6);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0")->info.scope, JOULE_SCOPE_GPU);
    assert_int_equal(machine_require_channel(bench->meter, "rail-pom-5v-cpu")->info.scope, JOULE_SCOPE_CORE);
}

static void test_old_layout_without_power(void **state)
{
    struct machine_bench *bench = *state;
    const char *chip = OLD "0-0041/iio:device1";
    put_old(bench, chip, 0, "VDD_IN", 2000);
    host_script_text(bench->host, OLD "0-0041/iio:device1/in_power0_input", NULL);
    run(bench, "jetson");
    assert_relative(machine_watts(bench->meter, "module-0"), 2.0, 1e-6);
}

static void test_agx_xavier_is_a_sum_of_six(void **state)
{
    static const char *const names[] = {"GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"};
    struct machine_bench *bench = *state;
    for (unsigned i = 0; i < 6; i++)
        put_old(bench, i < 3 ? OLD "1-0040/iio:device0" : OLD "1-0041/iio:device1", i % 3, names[i],
                100 * (i + 1));
    run(bench, "jetson");
    assert_int_equal(joule_domain_count(bench->meter), 7);
    assert_relative(machine_watts(bench->meter, "module-0"), 2.1, 1e-6);
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 2.1, 1e-6);
    assert_relative(machine_mean_watts(bench->meter, JOULE_GPU), 0.1, 1e-6);
    assert_string_equal(machine_require_channel(bench->meter, "module-0")->info.label,
                        "GPU + CPU + SOC + CV + VDDRQ + SYS5V");
}

static void put_agx_orin(struct machine_bench *bench)
{
    put_new(bench, NEW "1-0040/hwmon/hwmon3", 1, "VDD_GPU_SOC", 20000, 120);
    put_new(bench, NEW "1-0040/hwmon/hwmon3", 2, "VDD_CPU_CV", 20000, 40);
    put_new(bench, NEW "1-0040/hwmon/hwmon3", 3, "VIN_SYS_5V0", 5000, 700);
    put_new(bench, NEW "1-0041/hwmon/hwmon4", 1, "NC", 5000, 100);
    put_new(bench, NEW "1-0041/hwmon/hwmon4", 2, "VDDQ_VDD2_1V8AO", 5000, 60);
    put_new(bench, NEW "1-0041/hwmon/hwmon4", 3, "NC", 5000, 100);
}

static void test_agx_orin_is_a_sum_of_three(void **state)
{
    struct machine_bench *bench = *state;
    put_agx_orin(bench);
    run(bench, "jetson");
    assert_int_equal(joule_domain_count(bench->meter), 5);
    assert_relative(machine_watts(bench->meter, "module-0"), 2.4 + 0.8 + 3.5, 1e-6);
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 6.7, 1e-6);
    assert_string_equal(machine_require_channel(bench->meter, "rail-vddq-vdd2-1v8ao")->parent_zone,
                        machine_require_channel(bench->meter, "rail-vin-sys-5v0")->zone);
    assert_true(isnan(machine_mean_watts(bench->meter, JOULE_GPU)));
}

/* The chip's folder is below /sys/bus and below /sys/class. */
static void test_a_chip_that_is_found_twice_counts_once(void **state)
{
    struct machine_bench *bench = *state;
    put_agx_orin(bench);
    put_new(bench, CLASS "hwmon3", 1, "VDD_GPU_SOC", 20000, 120);
    put_new(bench, CLASS "hwmon4", 2, "VDDQ_VDD2_1V8AO", 5000, 60);
    host_script_text(bench->host, "/sys/bus/i2c/devices/1-0040/name", "ina3221\n");
    put_new(bench, "/sys/bus/i2c/devices/1-0040/hwmon/hwmon3", 1, "VDD_GPU_SOC", 20000, 120);
    run(bench, "jetson,hwmon");
    assert_int_equal(joule_domain_count(bench->meter), 5);
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 6.7, 1e-6);
}

static void test_an_incomplete_sum_is_none(void **state)
{
    struct machine_bench *bench = *state;
    put_new(bench, NEW "1-0040/hwmon/hwmon3", 1, "VDD_GPU_SOC", 20000, 120);
    put_new(bench, NEW "1-0040/hwmon/hwmon3", 2, "VDD_CPU_CV", 20000, 40);
    run(bench, "jetson");
    assert_null(machine_channel(bench->meter, "module-0"));
    assert_true(isnan(machine_mean_watts(bench->meter, JOULE_TOTAL)));
}

static void test_rails_without_labels(void **state)
{
    struct machine_bench *bench = *state;
    put_new(bench, CLASS "hwmon2", 1, NULL, 5000, 400);
    put_new(bench, CLASS "hwmon2", 2, NULL, 5000, 200);
    put(bench, CLASS "hwmon2", "in#_enable", 2, "0\n");
    host_script_file(bench->host, "/proc/device-tree/compatible", read_compatible, NULL);
    run(bench, "jetson,hwmon");
    assert_int_equal(joule_domain_count(bench->meter), 1);
    assert_relative(machine_watts(bench->meter, "rail-hwmon2-1"), 2, 1e-6);
    assert_true(isnan(machine_mean_watts(bench->meter, JOULE_TOTAL))); /* it is unknown what the rail feeds */
}

static void test_the_same_chip_elsewhere_is_hwmons(void **state)
{
    struct machine_bench *bench = *state;
    put_new(bench, CLASS "hwmon2", 1, "channel 1", 12000, 1000);
    run(bench, "jetson,hwmon");
    assert_int_equal(joule_domain_count(bench->meter), 1);
    assert_relative(machine_watts(bench->meter, "ina3221-channel-1"), 12, 1e-6);
}

/* --- faults --------------------------------------------------------------------------------------------- */

static void test_denied_rails_are_shown_with_a_remedy(void **state)
{
    struct machine_bench *bench = *state;
    put_old(bench, OLD "6-0040/iio:device0", 0, "POM_5V_IN", 2340);
    host_script_error(bench->host, OLD "6-0040/iio:device0/in_voltage0_input", EACCES);
    host_script_error(bench->host, OLD "6-0040/iio:device0/in_power0_input", EACCES);
    run(bench, "jetson");
    const struct channel *ch = machine_require_channel(bench->meter, "module-0");
    assert_int_equal(ch->info.state, JOULE_DENIED);
    assert_contains(ch->info.remedy, "sudo chmod a+r " OLD "6-0040/iio:device0");
    assert_true(isnan(machine_mean_watts(bench->meter, JOULE_TOTAL)));
}

static void test_a_rail_that_fails_leaves_the_sum_unknown(void **state)
{
    struct machine_bench *bench = *state;
    put_agx_orin(bench);
    host_script_error(bench->host, NEW "1-0040/hwmon/hwmon3/curr2_input", EIO);
    run(bench, "jetson");
    assert_int_equal(machine_require_channel(bench->meter, "module-0")->info.state, JOULE_FAILED);
    assert_int_equal(machine_require_channel(bench->meter, "rail-vdd-cpu-cv")->info.state, JOULE_FAILED);
    assert_relative(machine_watts(bench->meter, "rail-vdd-gpu-soc"), 2.4, 1e-6);
    assert_true(isnan(machine_mean_watts(bench->meter, JOULE_TOTAL)));
}

/* A rail that is switched off may show a slightly negative current. Its power is then 0, so that the sum is
 * not reduced. */
static void test_a_current_below_nothing(void **state)
{
    struct machine_bench *bench = *state;
    put_agx_orin(bench);
    put(bench, NEW "1-0040/hwmon/hwmon3", "curr#_input", 2, "-4\n");
    run(bench, "jetson");
    assert_int_equal(machine_require_channel(bench->meter, "rail-vdd-cpu-cv")->info.state, JOULE_FAILED);
    assert_relative(machine_watts(bench->meter, "module-0"), 2.4 - 0.08 + 3.5, 1e-6);
}

static void test_invalid_rails_are_ignored(void **state)
{
    static const char *const texts[] = {"", "nothing", "99999999999999999999", "4 mV", "1000000"};
    struct machine_bench *bench = *state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        put_new(bench, CLASS "hwmon2", 1, "VDD_IN", 5000, 1000000);
        put(bench, CLASS "hwmon2", "in#_input", 1, texts[i]);
        run(bench, "jetson");
        assert_int_equal(machine_require_channel(bench->meter, "module-0")->info.state, JOULE_FAILED);
        joule_close(bench->meter);
        bench->meter = NULL;
    }
}

static void test_unlabelled_rails_are_absent(void **state)
{
    struct machine_bench *bench = *state;
    put_old(bench, OLD "6-0040/nothing", 0, "VDD_IN", 2340);
    run(bench, "jetson");
    assert_int_equal(joule_domain_count(bench->meter), 0);
}

/* --- the GPU -------------------------------------------------------------------------------------------- */

static void test_gpu_load_and_clock(void **state)
{
    struct machine_bench *bench = *state;
    host_script_text(bench->host, DEVFREQ "15340000.vic/device/of_node/name", "vic");
    host_script_text(bench->host, DEVFREQ "15340000.vic/device/load", "1000\n");
    host_script_text(bench->host, DEVFREQ "17000000.ga10b/device/of_node/name", "ga10b");
    host_script_text(bench->host, DEVFREQ "17000000.ga10b/device/load", "123\n");
    host_script_text(bench->host, DEVFREQ "17000000.ga10b/cur_freq", "918000000\n");
    host_script_text(bench->host, "/proc/device-tree/model", "NVIDIA Jetson Orin Nano Developer Kit");
    run(bench, "jetson");
    assert_relative(machine_require_channel(bench->meter, "gpu-0-busy")->gauge, 0.123, 1e-6);
    assert_relative(machine_require_channel(bench->meter, "gpu-0-clock")->gauge, 918, 1e-6);
    assert_int_equal(joule_domain_count(bench->meter), 2);
    host_script_text(bench->host, DEVFREQ "17000000.ga10b/device/load", "1001\n");
    machine_run(bench->meter, 0.2, 0.05);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0-busy")->info.state, JOULE_FAILED);
}

static void test_gpu_is_a_device(void **state)
{
    struct machine_bench *bench = *state;
    put_old(bench, OLD "6-0040/iio:device0", 0, "VDD_SYS_GPU", 400);
    host_script_text(bench->host, DEVFREQ "17000000.gp10b/device/load", "250\n");
    host_script_text(bench->host, DEVFREQ "17000000.gp10b/cur_freq", "918000000\n");
    host_script_text(bench->host, "/proc/device-tree/model", "quill");
    bench->meter = machine_open_devices(bench->host, "jetson");
    machine_run(bench->meter, 4, 0.05);
    joule_device gpu = {.struct_size = sizeof gpu};
    assert_int_equal(joule_device_count(bench->meter), 1);
    assert_int_equal(joule_device_get(bench->meter, 0, &gpu), JOULE_OK);
    assert_int_equal(gpu.state, JOULE_OK);
    assert_string_equal(gpu.name, "gpu:0");
    assert_string_equal(gpu.model, "quill");
    assert_string_equal(gpu.architecture, "Pascal");
    assert_string_equal(gpu.pci_address, "");
    assert_relative(gpu.busy, 0.25, 1e-6);
    assert_relative(gpu.clock_megahertz, 918, 1e-6);
    assert_relative(gpu.power_watts.value, 0.4, 1e-6);
    assert_true(gpu.memory_total_bytes == JOULE_BYTES_UNKNOWN);
}

static void test_gpu_load_of_the_first_kernels(void **state)
{
    struct machine_bench *bench = *state;
    host_script_text(bench->host, "/sys/devices/gpu.0/load", "990\n");
    run(bench, "jetson");
    assert_relative(machine_require_channel(bench->meter, "gpu-0-busy")->gauge, 0.99, 1e-6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, machine_setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rails_of_orin_nano_are_read),
        TEST(test_old_layout_in_milliwatts),
        TEST(test_old_layout_without_power),
        TEST(test_agx_xavier_is_a_sum_of_six),
        TEST(test_agx_orin_is_a_sum_of_three),
        TEST(test_a_chip_that_is_found_twice_counts_once),
        TEST(test_an_incomplete_sum_is_none),
        TEST(test_rails_without_labels),
        TEST(test_the_same_chip_elsewhere_is_hwmons),
        TEST(test_denied_rails_are_shown_with_a_remedy),
        TEST(test_a_rail_that_fails_leaves_the_sum_unknown),
        TEST(test_a_current_below_nothing),
        TEST(test_invalid_rails_are_ignored),
        TEST(test_unlabelled_rails_are_absent),
        TEST(test_gpu_load_and_clock),
        TEST(test_gpu_is_a_device),
        TEST(test_gpu_load_of_the_first_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
