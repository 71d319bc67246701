/* Fuzz target: contents of sysfs and procfs files. Reading must not crash. Checks that no power, energy or
 * gauge is negative, infinite or above its limit.
 *
 * The input is one machine: the contents of `paths`, in order, each ended by a byte 0xFE. If a piece is
 * missing, its file does not exist. Halfway through the run, each file gets the contents of the next file. A
 * number in an open file may thus become text. */
#include "machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HWMON   "/sys/class/hwmon/"
#define SUPPLY  "/sys/class/power_supply/"
#define ZONE    "/sys/class/powercap/intel-rapl:0/"
#define CARD    "/sys/class/drm/card0/device/"
#define PMU     "/sys/bus/event_source/devices/xe_0000_03_00.0/"
#define KFD     "/sys/class/kfd/kfd/"
#define IIO     "/sys/bus/i2c/drivers/ina3221x/1-0040/iio:device0/"
#define SOURCES "hwmon,battery,thermal,rapl_powercap,amdgpu,jetson,pm_counters,intel_gpu"
#define ROUNDS  8

static const char *const paths[] = {
    HWMON "hwmon0/name",
    HWMON "hwmon0/energy1_input",
    HWMON "hwmon0/energy1_label",
    HWMON "hwmon0/power1_average",
    HWMON "hwmon0/power1_average_interval",
    HWMON "hwmon0/power1_oem_info",
    HWMON "hwmon0/power2_input",
    HWMON "hwmon0/power2_label",
    HWMON "hwmon0/power2_enable",
    HWMON "hwmon0/temp1_input",
    HWMON "hwmon0/temp1_label",
    HWMON "hwmon0/update_interval",
    HWMON "hwmon1/name",
    HWMON "hwmon1/in1_input",
    HWMON "hwmon1/in1_label",
    HWMON "hwmon1/curr1_input",
    HWMON "hwmon1/curr1_label",
    HWMON "hwmon1/device/device",
    SUPPLY "BAT0/type",
    SUPPLY "BAT0/status",
    SUPPLY "BAT0/power_now",
    SUPPLY "BAT0/current_now",
    SUPPLY "BAT0/voltage_now",
    SUPPLY "AC/type",
    SUPPLY "AC/online",
    ZONE "name",
    ZONE "energy_uj",
    ZONE "max_energy_range_uj",
    "/sys/class/thermal/thermal_zone0/type",
    "/sys/class/thermal/thermal_zone0/temp",
    "/proc/cpuinfo",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
    "/sys/devices/system/cpu/cpu0/topology/physical_package_id",
    CARD "uevent",
    CARD "gpu_busy_percent",
    CARD "power/runtime_status",
    IIO "rail_name_0",
    IIO "in_power0_input",
    IIO "in_voltage1_input",
    IIO "in_current1_input",
    "/sys/devices/gpu.0/load",
    "/sys/cray/pm_counters/energy",
    "/sys/cray/pm_counters/freshness",
    CARD "tile0/gt0/freq0/act_freq",
    CARD "tile0/gt0/freq0/throttle/status",
    CARD "tile0/gt0/freq0/throttle/reason_pl1",
    CARD "tile0/physical_vram_size_bytes",
    CARD "hwmon/hwmon0/name",
    CARD "hwmon/hwmon0/power1_max",
    CARD "hwmon/hwmon0/power1_cap",
    PMU "type",
    PMU "cpumask",
    PMU "events/engine-active-ticks",
    PMU "events/engine-total-ticks",
    PMU "events/rcs0-busy",
    PMU "format/gt",
    PMU "format/engine_class",
    PMU "format/engine_instance",
    CARD "current_compute_partition",
    CARD "current_memory_partition",
    KFD "topology/generation_id",
    KFD "topology/nodes/1/properties",
    KFD "topology/nodes/1/gpu_id",
    KFD "topology/nodes/1/mem_banks/0/properties",
    KFD "proc/77/vram_5",
};
#define PATHS (sizeof paths / sizeof paths[0])

/* The machine to which the contents are written. shift: piece i of the input is written to the file paths[i +
 * shift]. */
struct writing {
    struct joule_host *host;
    size_t shift;
};

static void write_file(void *context, size_t index, char *text)
{
    const struct writing *writing = context;
    host_script_text(writing->host, paths[(index + writing->shift) % PATHS], text);
}

static void require_sound_values(joule_meter *meter)
{
    for (size_t i = 0; i < joule_domain_count(meter); i++) {
        const struct channel *ch = meter->channels[i].channel;
        if (ch->mode == CHANNEL_POWER && ch->readings)
            require(ch->gauge >= 0 && ch->gauge <= ch->integrator.max_watts);
        if (ch->mode == CHANNEL_GAUGE && ch->readings)
            require(isfinite(ch->gauge) && fabs(ch->gauge) <= 20000);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct writing writing = {host_script_open(), 0};
    each_piece(data, size, PATHS, write_file, &writing);
    joule_meter *meter = open_machine(writing.host, SOURCES);
    for (int round = 1; round <= ROUNDS; round++) {
        if (round == ROUNDS / 2) {
            writing.shift = 1;
            each_piece(data, size, PATHS, write_file, &writing);
        }
        read_round(writing.host, meter);
    }
    require_sound_energy(meter);
    require_sound_devices(meter);
    require_sound_values(meter);
    close_machine(writing.host, meter);
    return 0;
}
