/* Tests hardware monitors (chips in /sys/class/hwmon): which part of the machine each chip measures, and how
 * its values are read. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joule/api/open.h"
#include "support/check.h"
#include "support/machine.h"

#define HWMON "/sys/class/hwmon/"

/* --- scripted chips ------------------------------------------------------------------------------------- */

/* Writes a file below /sys/class/hwmon, such as "hwmon0/name". */
static void put(struct machine_bench *bench, const char *file, const char *content)
{
    char path[256];
    snprintf(path, sizeof path, HWMON "%s", file);
    assert_true(host_script_text(bench->host, path, content));
}

static void run(struct machine_bench *bench, double seconds)
{
    if (!bench->meter)
        bench->meter = machine_open(bench->host, "hwmon");
    machine_run(bench->meter, seconds, 0.025);
}

static void test_power_is_integrated(void **state)
{
    struct machine_bench *bench = *state;
    put(bench, "hwmon0/name", "someone");
    put(bench, "hwmon0/power1_input", "12500000\n");
    run(bench, 10);
    const struct channel *ch = machine_require_channel(bench->meter, "someone-power1");
    assert_int_equal(ch->info.scope, JOULE_SCOPE_RAIL);
    assert_int_equal(ch->info.cls, JOULE_CLASS_DERIVED);
    assert_relative(machine_mean_watts(bench->meter, ch->info.id), 12.5, 1e-9);
    /* The part of the machine that an unknown rail feeds is unknown, so the rail is not in the total. */
    assert_true(isnan(machine_mean_watts(bench->meter, JOULE_TOTAL)));
}

static ssize_t energy_at_100_watts(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)context;
    return snprintf(buffer, size, "%lld\n", 5000000000LL + (long long)(time_ns / 10)); /* 100 W in uJ */
}

static void test_energy_is_counted(void **state)
{
    struct machine_bench *bench = *state;
    put(bench, "hwmon0/name", "amd_energy");
    put(bench, "hwmon0/energy1_label", "Ecore000");
    put(bench, "hwmon0/energy1_input", "17");
    put(bench, "hwmon0/energy2_label", "Esocket0");
    host_script_file(bench->host, HWMON "hwmon0/energy2_input", energy_at_100_watts, NULL);
    run(bench, 10);
    assert_int_equal(joule_domain_count(bench->meter), 1);
    const struct channel *ch = machine_require_channel(bench->meter, "package-0");
    assert_int_equal(ch->info.scope, JOULE_SCOPE_PACKAGE);
    assert_int_equal(ch->info.cls, JOULE_CLASS_MEASURED);
    assert_string_equal(ch->zone, "cpu0/package");
    double watts = machine_mean_watts(bench->meter, JOULE_TOTAL);
    assert_true(fabs(watts - 100) < 0.1);
}

static void test_pairs_by_chip(void **state)
{
    struct machine_bench *bench = *state;
    put(bench, "hwmon0/name", "ina3221");
    put(bench, "hwmon0/in1_input", "12000");
    put(bench, "hwmon0/curr1_input", "1000");
    put(bench, "hwmon0/in4_input", "150"); /* the voltage of a shunt, not of the supply */
    put(bench, "hwmon0/curr4_input", "1000");
    put(bench, "hwmon1/name", "ina226");
    put(bench, "hwmon1/in0_input", "2"); /* the voltage of a shunt, not of the supply */
    put(bench, "hwmon1/in1_input", "5000");
    put(bench, "hwmon1/curr1_input", "300");
    run(bench, 2);
    assert_int_equal(joule_domain_count(bench->meter), 2);
    assert_relative(machine_watts(bench->meter, "ina3221-pair1"), 12, 1e-9);
    assert_relative(machine_watts(bench->meter, "ina226-pair1"), 1.5, 1e-9);
}

static void test_pairs_by_label(void **state)
{
    struct machine_bench *bench = *state;
    put(bench, "hwmon0/name", "regulator");
    put(bench, "hwmon0/in1_label", "vin");
    put(bench, "hwmon0/in1_input", "48000");
    put(bench, "hwmon0/in2_label", "vout1");
    put(bench, "hwmon0/in2_input", "1000");
    put(bench, "hwmon0/curr1_label", "iout1");
    put(bench, "hwmon0/curr1_input", "20000");
    put(bench, "hwmon0/curr2_label", "elsewhere");
    put(bench, "hwmon0/curr2_input", "20000");
    run(bench, 2);
    assert_int_equal(joule_domain_count(bench->meter), 1);
    assert_relative(machine_watts(bench->meter, "regulator-iout1"), 20, 1e-9);
}

static void test_given_power_beats_a_pair(void **state)
{
    struct machine_bench *bench = *state;
    put(bench, "hwmon0/name", "ina226");
    put(bench, "hwmon0/in1_input", "5000");
    put(bench, "hwmon0/curr1_input", "300");
    put(bench, "hwmon0/power1_input", "1490000");
    put(bench, "hwmon0/update_interval", "250");
    run(bench, 3);
    assert_int_equal(joule_domain_count(bench->meter), 1);
    const struct channel *ch = machine_require_channel(bench->meter, "ina226-power1");
    assert_relative(ch->info.update_period_s, 0.25, 1e-9);
    assert_relative(machine_mean_watts(bench->meter, ch->info.id), 1.49, 1e-9);
}

/* --- the ACPI power meter ------------------------------------------------------------------------------- */

static void put_acpi(struct machine_bench *bench)
{
    put(bench, "hwmon0/name", "power_meter");
    put(bench, "hwmon0/device/power1_average", "262000000");
    put(bench, "hwmon0/device/power1_average_interval", "1000");
    put(bench, "hwmon0/device/power1_oem_info", "");
}

static void test_acpi_meter_is_the_node(void **state)
{
    struct machine_bench *bench = *state;
    put_acpi(bench);
    run(bench, 20);
    const struct channel *ch = machine_require_channel(bench->meter, "node");
    assert_int_equal(ch->info.scope, JOULE_SCOPE_NODE);
    assert_relative(ch->info.update_period_s, 1, 1e-9);
    /* the machine has no meter of its parts, so the ACPI meter counts */
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 262, 1e-9);
}

static void test_acpi_without_a_value(void **state)
{
    struct machine_bench *bench = *state;
    put_acpi(bench);
    run(bench, 10);
    const struct channel *ch = machine_require_channel(bench->meter, "node");
    double joules = ch->integrator.joules;
    assert_true(joules > 0);
    put(bench, "hwmon0/device/power1_average", "4294967295000");
    run(bench, 5);
    assert_int_equal(ch->info.state, JOULE_UNSUPPORTED);
    assert_relative(ch->integrator.joules, joules, 1e-9);
    host_script_error(bench->host, HWMON "hwmon0/device/power1_average", ENODATA);
    run(bench, 5);
    assert_int_equal(ch->info.state, JOULE_UNSUPPORTED);
    put_acpi(bench);
    run(bench, 5);
    assert_int_equal(ch->info.state, JOULE_OK);
    assert_relative(machine_mean_watts(bench->meter, ch->info.id), 262, 1e-9);
    /* less than 16 s of 25 s are covered, because the gap between two values is not filled */
    assert_true(ch->integrator.covered_s < 16);
}

static void test_grace_total_is_the_socket(void **state)
{
    struct machine_bench *bench = *state;
    bench->host->ops->close(bench->host);
    bench->host = machine_load(machine_fixture("grace"));
    run(bench, 10);
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 62 + 40, 1e-9);
    assert_relative(machine_mean_watts(bench->meter, JOULE_CPU), 62 + 40, 1e-9);
    const struct channel *module = machine_require_channel(bench->meter, "module-0"),
                         *package = machine_require_channel(bench->meter, "package-0");
    assert_int_equal(module->info.scope, JOULE_SCOPE_MODULE);
    assert_string_equal(package->parent_zone, module->zone);
    assert_string_equal(machine_require_channel(bench->meter, "core-0")->parent_zone, package->zone);
    assert_string_equal(machine_require_channel(bench->meter, "sysio-0")->parent_zone, package->zone);
    assert_relative(machine_mean_watts(bench->meter, module->info.id), 80, 1e-9);
    assert_relative(package->info.update_period_s, 0.05, 1e-9);
    assert_relative(machine_require_channel(bench->meter, "package-1")->integrator.covered_s,
                    package->integrator.covered_s, 1e-9);
}

/* The kernel may give packages any numbers. The modelled source and the monitor must use the same numbers. */
static void test_sockets_are_the_kernels_packages(void **state)
{
    struct machine_bench *bench = *state;
    static const char *const ids[] = {"36", "36", "3180", "3180"}, *const lists[] = {"0-1", "0-1", "2-3",
                                                                                     "2-3"};
    bench->host->ops->close(bench->host);
    bench->host = machine_load(machine_fixture("grace"));
    for (unsigned cpu = 0; cpu < 4; cpu++) {
        char path[96];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/physical_package_id", cpu);
        host_script_text(bench->host, path, ids[cpu]);
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/package_cpus_list", cpu);
        host_script_text(bench->host, path, lists[cpu]);
    }
    host_script_text(bench->host, "/proc/stat",
                     "cpu  4 0 4 9 0 0 0 0\ncpu0 1 0 1 2 0 0 0 0\ncpu1 1 0 1 2 0 0 0 0\n"
                     "cpu2 1 0 1 2 0 0 0 0\ncpu3 1 0 1 3 0 0 0 0\n");
    host_script_text(bench->host, "/sys/devices/system/cpu/online", "0-3");
    bench->meter = machine_open(bench->host, "hwmon,estimated");
    run(bench, 10);
    const struct channel *model = machine_require_channel(bench->meter, "package-36"),
                         *meter = machine_require_channel(bench->meter, "package-36@hwmon");
    assert_int_equal(model->info.cls, JOULE_CLASS_MODELLED);
    assert_true(model->moved);
    assert_string_equal(model->zone, meter->zone);
    assert_relative(machine_mean_watts(bench->meter, meter->info.id), 62, 1e-9);
    assert_relative(machine_watts(bench->meter, "package-3180@hwmon"), 40, 1e-9);
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 62 + 40, 1e-9);
}

static void test_sensors_of_power9_are_read(void **state)
{
    struct machine_bench *bench = *state;
    bench->host->ops->close(bench->host);
    bench->host = machine_load(machine_fixture("power9"));
    run(bench, 10);
    /* The recorded energy counters are constant, so powers are used: those of 2 chips and of their memory. */
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 72 + 21 + 70 + 19, 1e-9);
    assert_int_equal(machine_require_channel(bench->meter, "node")->info.scope, JOULE_SCOPE_NODE);
    assert_string_equal(machine_require_channel(bench->meter, "package-8")->zone, "cpu8/package");
    assert_int_equal(machine_require_channel(bench->meter, "ibmpowernv-chip-8-gpu")->info.scope,
                     JOULE_SCOPE_RAIL);
}

static void test_xgene_is_a_sum(void **state)
{
    struct machine_bench *bench = *state;
    put(bench, "hwmon0/name", "apm_xgene");
    put(bench, "hwmon0/power1_label", "CPU power");
    put(bench, "hwmon0/power1_input", "30000000");
    put(bench, "hwmon0/power2_label", "IO power");
    put(bench, "hwmon0/power2_input", "12000000");
    run(bench, 2);
    assert_int_equal(joule_domain_count(bench->meter), 1);
    assert_string_equal(machine_require_channel(bench->meter, "package-0")->info.label,
                        "CPU power + IO power");
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 42, 1e-9);
}

/* --- graphics ------------------------------------------------------------------------------------------- */

static void put_pci(struct machine_bench *bench, const char *address)
{
    char link[128];
    snprintf(link, sizeof link, "../../../devices/pci0000:00/0000:00:01.0/%s", address);
    host_script_link(bench->host, HWMON "hwmon0/device", link);
}

static void test_energy_of_an_intel_card_is_counted(void **state)
{
    struct machine_bench *bench = *state;
    put_pci(bench, "0000:03:00.0");
    put(bench, "hwmon0/name", "xe");
    put(bench, "hwmon0/energy1_label", "card");
    host_script_file(bench->host, HWMON "hwmon0/energy1_input", energy_at_100_watts, NULL);
    put(bench, "hwmon0/energy2_label", "pkg");
    host_script_file(bench->host, HWMON "hwmon0/energy2_input", energy_at_100_watts, NULL);
    run(bench, 10);
    const struct channel *card = machine_require_channel(bench->meter, "gpu-0");
    assert_int_equal(card->info.scope, JOULE_SCOPE_GPU);
    assert_string_equal(card->info.uuid, "0000:03:00.0");
    assert_string_equal(card->info.vendor, "intel");
    assert_int_equal(machine_require_channel(bench->meter, "xe-pkg")->info.scope, JOULE_SCOPE_RAIL);
    /* the card contains the package, so the package is not added */
    assert_true(fabs(machine_mean_watts(bench->meter, JOULE_GPU) - 100) < 0.5);
    assert_true(fabs(machine_mean_watts(bench->meter, JOULE_TOTAL) - 100) < 0.5);
}

/* On some kernels the card's counter stays at 0. */
static void test_intel_card_that_stands_still(void **state)
{
    struct machine_bench *bench = *state;
    put_pci(bench, "0000:03:00.0");
    put(bench, "hwmon0/name", "xe");
    put(bench, "hwmon0/energy1_label", "card");
    put(bench, "hwmon0/energy1_input", "0");
    put(bench, "hwmon0/energy2_label", "pkg");
    host_script_file(bench->host, HWMON "hwmon0/energy2_input", energy_at_100_watts, NULL);
    put(bench, "hwmon0/power2_label", "pkg"); /* a second view of the package's energy */
    put(bench, "hwmon0/power2_input", "100000000");
    run(bench, 10);
    assert_true(fabs(machine_mean_watts(bench->meter, JOULE_GPU) - 100) < 0.5);
    assert_true(fabs(machine_mean_watts(bench->meter, JOULE_TOTAL) - 100) < 0.5);
    struct cover cover;
    meter_cover(bench->meter, JOULE_TOTAL, bench->meter->begin_ns, meter_now_ns(bench->meter), &cover);
    assert_true(cover.is_partial);
    assert_int_equal(cover.still_id, machine_require_channel(bench->meter, "gpu-0")->info.id);
    joule_device device = {.struct_size = sizeof device};
    assert_int_equal(joule_device_get(bench->meter, 0, &device), JOULE_OK);
    assert_true(fabs(device.power_watts.value - 100) < 0.5);
    assert_int_equal(device.domain, machine_require_channel(bench->meter, "xe-pkg")->info.id);
}

static void test_intel_chip_without_card(void **state)
{
    struct machine_bench *bench = *state;
    put_pci(bench, "0000:03:00.0");
    put(bench, "hwmon0/name", "xe");
    put(bench, "hwmon0/energy2_label", "pkg");
    host_script_file(bench->host, HWMON "hwmon0/energy2_input", energy_at_100_watts, NULL);
    run(bench, 10);
    assert_string_equal(machine_require_channel(bench->meter, "gpu-0")->zone, "gpu0/board");
}

/* Linux 6.5 to 6.7 has one energy file without a label. */
static void test_intel_card_without_labels(void **state)
{
    struct machine_bench *bench = *state;
    put_pci(bench, "0000:03:00.0");
    put(bench, "hwmon0/name", "xe");
    put(bench, "hwmon0/power1_max", "190000000"); /* the file is a limit, not a power */
    host_script_file(bench->host, HWMON "hwmon0/energy1_input", energy_at_100_watts, NULL);
    run(bench, 10);
    assert_int_equal(joule_domain_count(bench->meter), 1);
    assert_string_equal(machine_require_channel(bench->meter, "gpu-0")->zone, "gpu0/board");
}

/* The counter of i915 and xe. The register has 32 bits in units of 2^-14 J; at each reading, the driver adds
 * the increase of the register to a 64-bit sum. */
struct intel_count {
    struct sensor sensor;
    uint32_t previous;
    uint64_t units;
};

static ssize_t intel_energy(void *context, int64_t time_ns, char *buffer, size_t size)
{
    struct intel_count *count = context;
    uint64_t raw;
    int error = sensor_count(&count->sensor, time_ns, &raw);
    if (error)
        return error;
    count->units += (uint32_t)((uint32_t)raw - count->previous);
    count->previous = (uint32_t)raw;
    return snprintf(buffer, size, "%llu\n", (unsigned long long)(count->units * 1000000 >> 14));
}

#define KILOWATT 1000.0

static struct load kilowatt_load;
static struct intel_count kilowatt_count;

/* Opens a meter with the longest allowed period, on a board that draws 1 kW. */
static const struct lane *open_kilowatt(struct machine_bench *bench)
{
    joule_options options = {.struct_size = sizeof options, .sources = "hwmon", .period_s = 60};
    kilowatt_load = load_steady(KILOWATT);
    kilowatt_count = (struct intel_count){
        .sensor = {.load = &kilowatt_load, .unit_joules = 0x1p-14, .modulus = UINT64_C(1) << 32}};
    put_pci(bench, "0000:03:00.0");
    put(bench, "hwmon0/name", "i915");
    host_script_file(bench->host, HWMON "hwmon0/energy1_input", intel_energy, &kilowatt_count);
    assert_int_equal(meter_open_on(bench->host, false, &options, &bench->meter, NULL), JOULE_OK);
    for (size_t i = 0; i < bench->meter->lane_count; i++)
        if (bench->meter->lanes[i]->source_count &&
            strcmp(bench->meter->lanes[i]->sources[0]->ops->name, "hwmon") == 0)
            return bench->meter->lanes[i];
    fail_msg("hwmon has no lane");
    return NULL;
}

/* The board uses 600 kJ, more than twice the register's range. The lane reads often enough that no wrap is
 * lost. */
static void test_intel_count_is_kept_alive(void **state)
{
    struct machine_bench *bench = *state;
    const struct lane *lane = open_kilowatt(bench);
    double pace_s = (double)lane->period_ns * 1e-9;
    assert_true(pace_s <= 10);
    machine_run(bench->meter, 600, pace_s);
    const struct curve *curve = &machine_require_channel(bench->meter, "gpu-0")->curve;
    const struct curve_point *last = &curve->points[curve->count - 1];
    assert_true(fabs(last->covered_s - 600) < 0.2);
    assert_true(fabs(last->joules - KILOWATT * last->covered_s) < 1e-4 * KILOWATT * 600);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0")->counter.rejected, 0);
}

/* Without readings for 5 minutes, the register wraps once and the driver's count lacks 262 kJ. The count
 * rises by only 38 kJ. The meter must report a gap instead of these 38 kJ. */
static void test_intel_count_that_was_left_alone(void **state)
{
    struct machine_bench *bench = *state;
    open_kilowatt(bench);
    machine_run(bench->meter, 10, 0.1);
    machine_run(bench->meter, 300, 300);
    machine_run(bench->meter, 10, 0.1);
    const struct channel *ch = machine_require_channel(bench->meter, "gpu-0");
    const struct curve_point *last = &ch->curve.points[ch->curve.count - 1];
    assert_int_equal(ch->counter.rejected, 1);
    assert_true(fabs(last->joules - KILOWATT * last->covered_s) < 200);
    assert_true(fabs(last->covered_s - 20) < 0.5);
}

static void test_amd_card_and_processor(void **state)
{
    struct machine_bench *bench = *state;
    put_pci(bench, "0000:c1:00.0");
    put(bench, "hwmon0/name", "amdgpu");
    put(bench, "hwmon0/power1_average", "16000000");
    put(bench, "hwmon0/power1_label", "PPT");
    put(bench, "hwmon1/name", "amdgpu");
    put(bench, "hwmon1/in1_label", "vddnb");
    put(bench, "hwmon1/power1_input", "9000000");
    run(bench, 5);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0")->info.scope, JOULE_SCOPE_GPU);
    /* RAPL measures the same zone, the package, so the energy is counted only once. */
    assert_string_equal(machine_require_channel(bench->meter, "package-0")->zone, "cpu0/package");
    assert_relative(machine_mean_watts(bench->meter, JOULE_GPU), 16, 1e-9);
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 25, 1e-9);
}

/* AMD's accelerator with CPU cores reports the power of cores and GPU together. RAPL measures the same cores,
 * so its energy is not added to the total. */
static void test_accelerator_with_cores(void **state)
{
    struct machine_bench *bench = *state;
    put(bench, "hwmon0/name", "amdgpu");
    put(bench, "hwmon0/power1_input", "550000000");
    put(bench, "hwmon0/device/device", "0x74a0\n");
    put(bench, "hwmon1/name", "amd_hsmp_hwmon");
    put(bench, "hwmon1/power1_input", "90000000");
    put(bench, "hwmon2/name", "power_meter");
    put(bench, "hwmon2/power1_average", "700000000");
    /* the label of a module, as another board vendor writes it */
    put(bench, "hwmon2/power1_oem_info", "Module Power Socket 0");
    run(bench, 5);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0")->info.scope, JOULE_SCOPE_MODULE);
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 550, 1e-9);
    assert_relative(machine_mean_watts(bench->meter, JOULE_CPU), 90, 1e-9);
}

static ssize_t count_reads(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)time_ns;
    ++*(unsigned *)context;
    return snprintf(buffer, size, "16000000\n");
}

static void test_sleeping_card_is_left_alone(void **state)
{
    struct machine_bench *bench = *state;
    unsigned reads = 0;
    const char *runtime = "/sys/devices/pci0000:00/0000:00:01.0/0000:03:00.0/power/runtime_status";
    put(bench, "hwmon0/name", "amdgpu");
    host_script_link(bench->host, HWMON "hwmon0/device", "/sys/devices/pci0000:00/0000:00:01.0/0000:03:00.0");
    host_script_text(bench->host, runtime, "suspended\n");
    host_script_file(bench->host, HWMON "hwmon0/power1_average", count_reads, &reads);
    run(bench, 5);
    const struct channel *ch = machine_require_channel(bench->meter, "gpu-0");
    assert_int_equal(reads, 0);
    assert_int_equal(ch->info.state, JOULE_STALE);
    assert_true(ch->info.remedy[0]);
    host_script_text(bench->host, runtime, "active\n");
    run(bench, 5);
    assert_true(reads > 0);
    assert_int_equal(ch->info.state, JOULE_OK);
}

/* --- failures ------------------------------------------------------------------------------------------- */

static void test_denied_is_listed(void **state)
{
    struct machine_bench *bench = *state;
    put(bench, "hwmon0/name", "amd_energy");
    put(bench, "hwmon0/energy1_label", "Esocket0");
    put(bench, "hwmon0/energy1_input", "1");
    host_script_error(bench->host, HWMON "hwmon0/energy1_input", EACCES);
    run(bench, 1);
    const struct channel *ch = machine_require_channel(bench->meter, "package-0");
    assert_int_equal(ch->info.state, JOULE_DENIED);
    assert_contains(ch->info.remedy, "sudo chmod a+r /sys/class/hwmon/hwmon0/energy1_input");
}

static void test_disabled_and_batteries_are_left_out(void **state)
{
    struct machine_bench *bench = *state;
    put(bench, "hwmon0/name", "chip");
    put(bench, "hwmon0/power1_input", "1000000");
    put(bench, "hwmon0/power1_enable", "0\n");
    put(bench, "hwmon0/power2_input", "2000000");
    put(bench, "hwmon0/power2_enable", "1\n");
    put(bench, "hwmon1/name", "BAT0");
    put(bench, "hwmon1/power1_input", "3000000");
    put(bench, "hwmon1/device/type", "Battery\n");
    run(bench, 1);
    assert_int_equal(joule_domain_count(bench->meter), 1);
    assert_non_null(machine_channel(bench->meter, "chip-power2"));
}

static void test_bad_values_are_gaps(void **state)
{
    static const char *const bad[] = {"",
                                      "\n",
                                      "-5000000",
                                      "garbage",
                                      "1e6",
                                      "0x10",
                                      "12 34",
                                      "nan",
                                      "inf",
                                      "5000000001", /* slightly above the limit of 5000 W */
                                      "99999999999999999999999999",
                                      "\xff\xfe",
                                      "- 1",
                                      "5000000,0"};
    struct machine_bench *bench = *state;
    put(bench, "hwmon0/name", "chip");
    put(bench, "hwmon0/power1_input", "1000000");
    run(bench, 2);
    const struct channel *ch = machine_require_channel(bench->meter, "chip-power1");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        double joules = ch->integrator.joules;
        put(bench, "hwmon0/power1_input", bad[i]);
        run(bench, 1);
        if (ch->info.state == JOULE_OK)
            fail_msg("\"%s\" was taken for a power", bad[i]);
        assert_relative(ch->integrator.joules, joules, 1e-9);
        put(bench, "hwmon0/power1_input", "1000000");
        run(bench, 1);
        assert_int_equal(ch->info.state, JOULE_OK);
        assert_relative(ch->gauge, 1, 1e-9);
    }
}

static void test_machine_without_monitors(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, 1);
    assert_int_equal(joule_domain_count(bench->meter), 0);
    assert_int_equal(bench->meter->lanes[0]->sources[0]->state, JOULE_ABSENT);
    assert_true(bench->meter->lanes[0]->sources[0]->remedy[0]);
}

/* Whatever a file contains, no value is negative, infinite or above the limit. */
static uint32_t random_state = 12345;
static uint32_t next_random(void)
{
    return random_state = random_state * 1664525u + 1013904223u;
}

static ssize_t anything(void *context, int64_t time_ns, char *buffer, size_t size)
{
    static const char alphabet[] = "0123456789-+.eExX \n\tnainf,\xff\x01";
    (void)context;
    (void)time_ns;
    uint32_t kind = next_random() >> 24;
    if (kind < 16)
        return -(ssize_t)(int[]){EIO, ENODATA, ENXIO, EACCES}[kind % 4];
    if (kind < 128)
        return snprintf(buffer, size, "%d\n", (int)next_random());
    if (kind < 160)
        return snprintf(buffer, size, "%lld\n", (long long)((uint64_t)next_random() << 32 | next_random()));
    size_t length = (next_random() >> 16) % 80;
    length = length < size ? length : size - 1;
    for (size_t i = 0; i < length; i++)
        buffer[i] = alphabet[(next_random() >> 16) % (sizeof alphabet - 1)];
    buffer[length] = '\0';
    return (ssize_t)length;
}

static void check_channel(const struct channel *ch)
{
    if (ch->mode == CHANNEL_POWER && ch->readings)
        assert_true(isfinite(ch->gauge) && ch->gauge >= 0 && ch->gauge <= ch->integrator.max_watts);
    double last = 0;
    for (size_t i = 0; i < ch->curve.count; i++) {
        assert_true(isfinite(ch->curve.points[i].joules) && ch->curve.points[i].joules >= last);
        last = ch->curve.points[i].joules;
    }
}

static void test_any_content_is_harmless(void **state)
{
    static const char *const chips[] = {"power_meter", "amd_energy", "ina3221", "ibmpowernv",
                                        "apm_xgene",   "xe",         "amdgpu",  ""};
    static const char *const files[] = {
        "energy1_input",          "energy1_label", "power1_average", "power1_input", "power1_label",
        "power1_enable",          "in1_input",     "curr1_input",    "power2_input", "power1_oem_info",
        "power1_average_interval"};
    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        struct joule_host *host = host_script_open();
        for (size_t c = 0; c < sizeof chips / sizeof chips[0]; c++) {
            char path[128];
            snprintf(path, sizeof path, HWMON "hwmon%zu/name", c);
            host_script_text(host, path, chips[c]);
            for (size_t f = 0; f < sizeof files / sizeof files[0]; f++) {
                snprintf(path, sizeof path, HWMON "hwmon%zu/%s", c, files[f]);
                if (next_random() >> 31)
                    host_script_file(host, path, anything, NULL);
            }
        }
        joule_meter *meter = machine_open(host, "hwmon");
        machine_run(meter, 3, 0.05);
        for (size_t i = 0; i < joule_domain_count(meter); i++)
            check_channel(meter->channels[i].channel);
        joule_close(meter);
        host->ops->close(host);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, machine_setup, machine_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_power_is_integrated),
        TEST(test_energy_is_counted),
        TEST(test_pairs_by_chip),
        TEST(test_pairs_by_label),
        TEST(test_given_power_beats_a_pair),
        TEST(test_acpi_meter_is_the_node),
        TEST(test_acpi_without_a_value),
        TEST(test_grace_total_is_the_socket),
        TEST(test_sockets_are_the_kernels_packages),
        TEST(test_sensors_of_power9_are_read),
        TEST(test_xgene_is_a_sum),
        TEST(test_energy_of_an_intel_card_is_counted),
        TEST(test_intel_card_that_stands_still),
        TEST(test_intel_chip_without_card),
        TEST(test_intel_card_without_labels),
        TEST(test_intel_count_is_kept_alive),
        TEST(test_intel_count_that_was_left_alone),
        TEST(test_amd_card_and_processor),
        TEST(test_accelerator_with_cores),
        TEST(test_sleeping_card_is_left_alone),
        TEST(test_denied_is_listed),
        TEST(test_disabled_and_batteries_are_left_out),
        TEST(test_bad_values_are_gaps),
        TEST(test_machine_without_monitors),
        TEST(test_any_content_is_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
