/* Fuzz target: what sysfs and procfs files say. Whatever they hold, no crash, and no power, energy or gauge comes out
 * that is negative, infinite or beyond its limit.
 *
 * The input is one machine: the contents of `paths`, in order, each ended by a byte 0xFE; a missing one has no file.
 * Halfway through the run the contents move on by one file, so that a number turns into text under an open handle. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joule/engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HWMON     "/sys/class/hwmon/"
#define SUPPLY    "/sys/class/power_supply/"
#define ZONE      "/sys/class/powercap/intel-rapl:0/"
#define SOURCES   "hwmon,battery,thermal,rapl_powercap"
#define SEPARATOR 0xFE
#define ROUNDS    8

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
};
#define PATHS (sizeof paths / sizeof paths[0])

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void write_machine(struct joule_host *host, const uint8_t *data, size_t size, size_t shift)
{
    for (size_t i = 0; i < PATHS && size; i++) {
        const uint8_t *end = memchr(data, SEPARATOR, size);
        size_t length = end ? (size_t)(end - data) : size;
        char *text = malloc(length + 1);
        require(text != NULL);
        memcpy(text, data, length);
        text[length] = '\0';
        host_script_text(host, paths[(i + shift) % PATHS], text);
        free(text);
        length += end != NULL;
        data += length;
        size -= length;
    }
}

static void check(joule_meter *meter)
{
    for (size_t i = 0; i < joule_domain_count(meter); i++) {
        const struct channel *ch = meter->channels[i].channel;
        double last = 0;
        for (size_t k = 0; k < ch->curve.count; k++) {
            require(isfinite(ch->curve.points[k].joules) && ch->curve.points[k].joules >= last);
            last = ch->curve.points[k].joules;
        }
        if (ch->mode == CHANNEL_POWER && ch->readings)
            require(ch->gauge >= 0 && ch->gauge <= ch->integrator.max_watts);
        if (ch->mode == CHANNEL_GAUGE && ch->readings)
            require(isfinite(ch->gauge) && fabs(ch->gauge) <= 20000);
    }
    struct window w = meter_window(meter, JOULE_TOTAL, meter->begin_ns, meter_now_ns(meter));
    require(isnan(w.joules.value) || w.joules.value >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct joule_host *host = host_script_open();
    write_machine(host, data, size, 0);
    joule_options options = {.struct_size = sizeof options, .sources = SOURCES};
    joule_meter *meter;
    require(meter_open_on(host, false, &options, &meter, NULL) == JOULE_OK);
    for (int round = 1; round <= ROUNDS; round++) {
        if (round == ROUNDS / 2)
            write_machine(host, data, size, 1);
        host_script_set_time(host, meter_now_ns(meter) + INT64_C(600000000));
        meter_tick(meter);
    }
    check(meter);
    joule_close(meter);
    host->ops->close(host);
    return 0;
}
