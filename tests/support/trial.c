/* support/trial.c - see trial.h. */
#include "support/trial.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joule/attribute/attribute.h"
#include "joule/attribute/idle_baseline.h"
#include "joule/sources/nvidia/nvml_abi.h"
#include "support/chance.h"
#include "support/machine.h"
#include "support/truth.h"

/* --- hardware ------------------------------------------------------------------------------------------- */

/* Properties of a sensor, according to its vendor and to published measurements. */
struct hardware {
    double tick_s; /* mean time between two updates; the time varies by up to 20 % */
    /* power is the mean over this time before the update; 0 means the mean since the previous update */
    double mean_s;
    double unit; /* resolution of the sensor: joules of a counter, or watts of a power sensor */
    double level_watts;
    bool keeps_samples;
};

static struct {
    const struct hardware *hardware;
    int64_t begin_ns; /* virtual time at which the trial begins */
    double gain;
    double tick_s, before_s, next_s; /* times of the last update, of the previous one, and of the next one */
} now;

/* The samples since the trial began, if the driver stores samples. */
static struct {
    struct nvml_sample samples[64];
    size_t count;
} ring;

static void keep_sample(void)
{
    double mean_s = now.tick_s - now.before_s;
    double watts = (truth_joules_at(now.tick_s) - truth_joules_at(now.before_s)) / mean_s * now.gain;
    if (mean_s > 0 && ring.count < sizeof ring.samples / sizeof ring.samples[0])
        ring.samples[ring.count++] =
            (struct nvml_sample){.time_us = (uint64_t)(now.begin_ns + (int64_t)(now.tick_s * 1e9)) / 1000,
                                 .value.u32 = (uint32_t)(watts * 1e3)};
}

static void advance(double t_s)
{
    while (now.next_s <= t_s) {
        now.before_s = now.tick_s;
        now.tick_s = now.next_s;
        now.next_s += now.hardware->tick_s * chance_between(0.8, 1.2);
        if (now.hardware->keeps_samples)
            keep_sample();
    }
}

static double seconds_of(int64_t time_ns)
{
    return (double)(time_ns - now.begin_ns) * 1e-9;
}

/* Returns the counter's joules. The counter does not begin at 0, because it already counted before the
 * trial. */
static double counter_joules(int64_t time_ns)
{
    advance(seconds_of(time_ns));
    double joules = (truth_joules_at(now.tick_s) + (double)now.begin_ns * 1e-9) * now.gain;
    return now.hardware->unit * floor(joules / now.hardware->unit);
}

static double sensor_watts(int64_t time_ns)
{
    advance(seconds_of(time_ns));
    double mean_s = now.hardware->mean_s > 0 ? now.hardware->mean_s : now.tick_s - now.before_s;
    double watts = (truth_joules_at(now.tick_s) - truth_joules_at(now.tick_s - mean_s)) / mean_s * now.gain;
    return now.hardware->unit * round(watts / now.hardware->unit);
}

/* --- its files ------------------------------------------------------------------------------------------ */

static ssize_t microjoules_file(void *context, int64_t time_ns, char *text, size_t size)
{
    (void)context;
    return snprintf(text, size, "%.0f\n", counter_joules(time_ns) * 1e6);
}

static ssize_t microwatts_file(void *context, int64_t time_ns, char *text, size_t size)
{
    (void)context;
    return snprintf(text, size, "%.0f\n", sensor_watts(time_ns) * 1e6);
}

/* Writes the current for 12 V. The current and the voltage are each rounded. */
static ssize_t milliamperes_file(void *context, int64_t time_ns, char *text, size_t size)
{
    (void)context;
    return snprintf(text, size, "%.0f\n", sensor_watts(time_ns) / 12 * 1e3);
}

static int register_value(void *context, int64_t time_ns, uint64_t *out_value)
{
    (void)context;
    *out_value = (uint64_t)(counter_joules(time_ns) * 0x1p14) & 0xffffffff;
    return 0;
}

static int unit_register(void *context, int64_t time_ns, uint64_t *out_value)
{
    (void)context;
    (void)time_ns;
    *out_value = 0xa0e03; /* 2^-14 J */
    return 0;
}

static int perf_value(void *context, int64_t time_ns, uint64_t *out_value)
{
    (void)context;
    *out_value = (uint64_t)(counter_joules(time_ns) * 0x1p32);
    return 0;
}

static void put_rapl(struct joule_host *host)
{
    machine_put_cpus(host, "GenuineIntel", 6, 0x55, 1);
}

static void put_powercap(struct joule_host *host)
{
    put_rapl(host);
    host_script_text(host, "/sys/class/powercap/intel-rapl:0/name", "package-0\n");
    host_script_text(host, "/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
    host_script_file(host, "/sys/class/powercap/intel-rapl:0/energy_uj", microjoules_file, NULL);
}

static void put_msr(struct joule_host *host)
{
    put_rapl(host);
    host_script_register(host, 0, 0x606, unit_register, NULL);
    host_script_register(host, 0, 0x611, register_value, NULL);
}

#define PMU "/sys/bus/event_source/devices/power"

static void put_perf(struct joule_host *host)
{
    put_rapl(host);
    host_script_text(host, PMU "/type", "23\n");
    host_script_text(host, PMU "/cpumask", "0\n");
    host_script_text(host, PMU "/events/energy-pkg", "event=0x02\n");
    host_script_text(host, PMU "/events/energy-pkg.unit", "Joules\n");
    host_script_text(host, PMU "/events/energy-pkg.scale", "2.3283064365386962890625e-10\n");
    host_script_perf(host, &(struct host_perf_event){23, 2, 0}, perf_value, NULL);
}

#define CHIP "/sys/class/hwmon/hwmon0/"

static void put_acpi_meter(struct joule_host *host)
{
    host_script_text(host, CHIP "name", "power_meter\n");
    host_script_text(host, CHIP "power1_average_interval", "1000\n");
    host_script_file(host, CHIP "power1_average", microwatts_file, NULL);
}

static void put_shunt(struct joule_host *host)
{
    host_script_text(host, CHIP "name", "ina226\n");
    host_script_text(host, CHIP "update_interval", "35\n");
    host_script_file(host, CHIP "power1_input", microwatts_file, NULL);
}

static void put_pair(struct joule_host *host)
{
    host_script_text(host, CHIP "name", "ina3221\n");
    host_script_text(host, CHIP "in1_input", "12000\n");
    host_script_file(host, CHIP "curr1_input", milliamperes_file, NULL);
}

static void put_hwmon_counter(struct joule_host *host)
{
    host_script_text(host, CHIP "name", "xe\n");
    host_script_file(host, CHIP "energy1_input", microjoules_file, NULL);
}

#define SUPPLY "/sys/class/power_supply/BAT0/"

static void put_battery(struct joule_host *host)
{
    host_script_text(host, SUPPLY "type", "Battery\n");
    host_script_text(host, SUPPLY "status", "Discharging\n");
    host_script_file(host, SUPPLY "power_now", microwatts_file, NULL);
}

/* --- an NVIDIA board ------------------------------------------------------------------------------------ */

static struct {
    struct joule_host *host;
    unsigned architecture;
    bool has_energy, has_instant, has_ring;
} board;

static int64_t board_ns(void)
{
    return board.host->ops->clock_ns(board.host, CLOCK_MONOTONIC);
}

static nvml_return board_init(void)
{
    return NVML_SUCCESS;
}

static nvml_return board_count(unsigned *count)
{
    *count = 1;
    return NVML_SUCCESS;
}

static nvml_return board_handle(unsigned index, nvml_device *device)
{
    (void)index;
    *device = (nvml_device)&board;
    return NVML_SUCCESS;
}

static nvml_return board_architecture(nvml_device device, unsigned *architecture)
{
    (void)device;
    *architecture = board.architecture;
    return NVML_SUCCESS;
}

static nvml_return board_energy(nvml_device device, unsigned long long *millijoules)
{
    (void)device;
    *millijoules = (unsigned long long)(counter_joules(board_ns()) * 1e3);
    return board.has_energy ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

static nvml_return board_usage(nvml_device device, unsigned *milliwatts)
{
    (void)device;
    *milliwatts = (unsigned)(sensor_watts(board_ns()) * 1e3);
    return board.has_energy ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}

static nvml_return board_field(nvml_device device, int count, struct nvml_field *field)
{
    (void)device;
    (void)count;
    field->status = NVML_ERROR_NOT_SUPPORTED;
    if (field->id == NVML_FI_DEV_POWER_INSTANT && board.has_instant) {
        field->status = NVML_SUCCESS;
        field->value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
        field->value.u32 = (unsigned)(sensor_watts(board_ns()) * 1e3);
    }
    return NVML_SUCCESS;
}

static nvml_return board_samples(nvml_device device, int type, unsigned long long last_us, int *value_type,
                                 unsigned *count, struct nvml_sample *samples)
{
    (void)device;
    (void)type;
    (void)last_us;
    unsigned room = *count;
    advance(seconds_of(board_ns()));
    *value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
    *count = 0;
    if (!board.has_ring)
        return NVML_ERROR_NOT_SUPPORTED;
    for (size_t i = 0; i < ring.count && *count < room; i++)
        samples[(*count)++] = ring.samples[i];
    ring.count = 0;
    return *count ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

static void put_nvml(struct joule_host *host, unsigned architecture, bool has_energy, bool has_instant)
{
    static const struct script_symbol symbols[] = {
        {"nvmlInit_v2", (void *)board_init},
        {"nvmlDeviceGetCount_v2", (void *)board_count},
        {"nvmlDeviceGetHandleByIndex_v2", (void *)board_handle},
        {"nvmlDeviceGetArchitecture", (void *)board_architecture},
        {"nvmlDeviceGetTotalEnergyConsumption", (void *)board_energy},
        {"nvmlDeviceGetPowerUsage", (void *)board_usage},
        {"nvmlDeviceGetFieldValues", (void *)board_field},
        {"nvmlDeviceGetSamples", (void *)board_samples},
    };
    board.host = host;
    board.architecture = architecture;
    board.has_energy = has_energy;
    board.has_instant = has_instant;
    board.has_ring = false;
    host_script_library(host, "libnvidia-ml.so.1", symbols, sizeof symbols / sizeof symbols[0]);
}

#define VOLTA  5
#define HOPPER 9

static void put_nvml_energy(struct joule_host *host)
{
    put_nvml(host, HOPPER, true, false);
}
static void put_nvml_ring(struct joule_host *host)
{
    put_nvml(host, HOPPER, false, false);
    board.has_ring = true;
    advance(1); /* the board was already running before the trial */
}
static void put_nvml_instant(struct joule_host *host)
{
    put_nvml(host, HOPPER, false, true);
}
static void put_nvml_mean(struct joule_host *host)
{
    put_nvml(host, HOPPER, false, false);
}
static void put_nvml_volta(struct joule_host *host)
{
    put_nvml(host, VOLTA, false, false);
}

/* --- the kernel's time ---------------------------------------------------------------------------------- */

#define TICKS 100 /* ticks per second in /proc/stat */
#define CPUS  4

static double busy_cpu_s; /* busy CPU seconds of the machine */

static ssize_t stat_file(void *context, int64_t time_ns, char *text, size_t size)
{
    (void)context;
    double busy = floor(busy_cpu_s * TICKS), all = floor(seconds_of(time_ns) * CPUS * TICKS);
    return snprintf(text, size, "cpu  %.0f 0 0 %.0f 0 0 0 0 0 0\n", busy, all - busy);
}

/* --- all sensors ---------------------------------------------------------------------------------------- */

static const struct sensor_kind {
    const char *name, *source;
    void (*put)(struct joule_host *host);
    struct hardware hardware;
} sensors[] = {
    {"rapl_perf", "rapl_perf", put_perf, {0.001, 0, 0x1p-14, 90}},
    {"rapl_powercap", "rapl_powercap", put_powercap, {0.001, 0, 0x1p-14, 90}},
    {"rapl_msr", "rapl_msr", put_msr, {0.001, 0, 0x1p-14, 90}},
    {"hwmon energy", "hwmon", put_hwmon_counter, {0.001, 0, 1e-6, 90}},
    {"hwmon mean of 1 s", "hwmon", put_acpi_meter, {1, 0, 0.1, 300}},
    {"hwmon instant", "hwmon", put_shunt, {0.0352, 0.0352, 0.025, 30}},
    {"hwmon V x I", "hwmon", put_pair, {0.0066, 0.0022, 0.025, 30}},
    {"battery", "battery", put_battery, {1, 0.25, 0.01, 12}},
    {"nvml energy", "nvml", put_nvml_energy, {0.1, 0, 1e-3, 300}},
    {"nvml ring", "nvml", put_nvml_ring, {0.02, 0, 1e-3, 300, true}},
    {"nvml 25 of 100 ms", "nvml", put_nvml_instant, {0.1, 0.025, 1e-3, 300}},
    {"nvml 10 of 20 ms", "nvml", put_nvml_volta, {0.02, 0.01, 1e-3, 200}},
    {"nvml mean of 1 s", "nvml", put_nvml_mean, {0.1, 1, 1e-3, 300}},
};

struct trial {
    const struct sensor_kind *kind;
    struct joule_host *host;
    joule_meter *meter;
    struct channel *channel;
    struct lane *lane;
    int64_t time_ns;
};

struct trial *trial_open(const char *name)
{
    struct trial *trial = calloc(1, sizeof *trial);
    /* restarts the sequence, so that a sensor's results do not depend on the sensors tried before */
    chance_state = CHANCE_SEED;
    for (size_t i = 0; i < sizeof sensors / sizeof sensors[0]; i++)
        if (strcmp(sensors[i].name, name) == 0)
            trial->kind = &sensors[i];
    trial->host = host_script_open();
    now.hardware = &trial->kind->hardware;
    now.begin_ns = 0;
    now.gain = 1;
    now.tick_s = now.next_s = 0;
    truth_make(LOAD_STEADY, 1000, trial->kind->hardware.level_watts);
    trial->kind->put(trial->host);
    host_script_file(trial->host, "/proc/stat", stat_file, NULL);
    host_script_text(trial->host, "/proc/self/stat", "1 (test)");
    trial->meter = machine_open(trial->host, trial->kind->source);
    for (size_t i = 0; i < meter_channel_count(trial->meter) && !trial->channel; i++) {
        trial->channel = trial->meter->channels[i].channel;
        trial->lane = trial->meter->channels[i].lane;
    }
    if (!trial->channel)
        fail_msg("%s: its source finds nothing", name);
    trial->time_ns = meter_now_ns(trial->meter);
    return trial;
}

void trial_close(struct trial *trial)
{
    joule_close(trial->meter);
    trial->host->ops->close(trial->host);
    free(trial);
}

/* Resets the channel to its state directly after the source has described it, without history. */
static void forget(struct channel *ch)
{
    const struct counter c = ch->counter;
    const struct integrator in = ch->integrator;
    ch->counter = (struct counter){.modulus = c.modulus,
                                   .fold_counts = c.fold_counts,
                                   .unit_joules = c.unit_joules,
                                   .max_watts = c.max_watts,
                                   .tick_s = c.tick_s};
    ch->integrator = (struct integrator){.period_s = in.period_s,
                                         .averaged_part = in.averaged_part,
                                         .age_s = in.age_s,
                                         .lag_s = in.lag_s,
                                         .max_watts = in.max_watts};
    ch->curve.count = 0;
    ch->read_ns = ch->curve.read_ns = 0;
    ch->mirror.of = NULL;
}

static double tick_of(const struct channel *ch)
{
    return ch->mode == CHANNEL_COUNTER ? ch->counter.tick_s : ch->integrator.period_s;
}

static int64_t stamp(double t_s)
{
    return now.begin_ns + (int64_t)llround(t_s * 1e9);
}

static void read_at(struct trial *trial, double t_s)
{
    host_script_set_time(trial->host, stamp(t_s));
    lane_read(trial->lane);
}

/* Reads at the same times as the lane's thread. Each reading is late by a random wake-up delay. If the sensor
 * is faster than the lane, readings are also moved by a random part of the period. */
static void read_until(struct trial *trial, double begin_s, double end_s)
{
    double period_s = (double)trial->lane->period_ns * 1e-9;
    bool dithers = tick_of(trial->channel) < period_s;
    for (double t = begin_s + period_s; t < end_s; t += period_s)
        read_at(trial, t + 0.0002 * chance() - (dithers ? LANE_DITHER * period_s * chance() : 0));
}

static void begin_trial(struct trial *trial)
{
    const struct hardware *hw = now.hardware = &trial->kind->hardware;
    now.begin_ns = trial->time_ns + 10000000000;
    now.gain = 1 + trial->channel->gain_sd * chance_normal();
    now.tick_s = now.before_s = now.next_s = 0;
    ring.count = 0;
    advance(hw->tick_s * chance());
    forget(trial->channel);
}

struct trial_outcome trial_run(struct trial *trial, enum trial_load load, const struct trial_plan *plan)
{
    const struct hardware *hw = &trial->kind->hardware;
    struct channel *ch = trial->channel;
    double period_s = fmax((double)trial->lane->period_ns * 1e-9, tick_of(ch));
    double length_s = plan->window_s * chance_between(0.8, 1.2), lead_s = 2 * hw->tick_s + hw->mean_s;
    double first_s = lead_s + hw->tick_s * chance();
    double begin_s = plan->is_asked ? first_s : first_s + (8 + 2 * chance()) * period_s,
           end_s = begin_s + length_s;
    double last_s = plan->is_asked ? end_s : end_s + 4 * period_s + ch->integrator.lag_s;
    truth_make(load, last_s + hw->tick_s, hw->level_watts);
    begin_trial(trial);
    read_at(trial, first_s);
    read_until(trial, first_s, last_s);
    if (plan->is_asked)
        read_at(trial, last_s);
    trial->time_ns = meter_now_ns(trial->meter);
    struct window w = meter_channel_window(trial->meter, ch->info.id, stamp(begin_s), stamp(end_s));
    return (struct trial_outcome){w.joules, truth_joules_at(end_s) - truth_joules_at(begin_s), now.gain};
}

/* --- derived values of a report ------------------------------------------------------------------------- */

#define IDLE_S         5.0
#define COMMAND_LOG_SD 0.3 /* standard deviation of log(joules per CPU second) between programs */

/* Returns the attribution of a command that used `part` of the busy time. A CPU second of the command and one
 * of other programs use different energy. */
static struct attribution account(struct trial *trial, double begin_s, double end_s, double part)
{
    double job_s = end_s - begin_s, own_s = part * job_s;
    busy_cpu_s = 1000 * chance();
    struct attribute_group *group = attribute_begin(trial->host, ATTRIBUTE_SUBREAPER);
    read_at(trial, begin_s);
    attribute_start(group);
    read_until(trial, begin_s, end_s);
    busy_cpu_s += job_s;
    read_at(trial, end_s);
    attribute_reaped(group, 1, own_s);
    struct attribution share = attribute_finish(group);
    attribute_free(group);
    return share;
}

struct trial_job trial_job(struct trial *trial, double job_s)
{
    const struct hardware *hw = &trial->kind->hardware;
    double period_s = (double)trial->lane->period_ns * 1e-9, idle_joules;
    double begin_s = IDLE_S + 2 * period_s, end_s = begin_s + job_s, part = chance_between(0.05, 0.95);
    truth_make_job(begin_s, end_s, end_s + 4 * period_s, hw->level_watts, &idle_joules);
    begin_trial(trial);
    read_at(trial, period_s);
    read_until(trial, period_s, begin_s);
    struct attribution share = account(trial, begin_s, end_s, part);
    trial->time_ns = meter_now_ns(trial->meter);
    struct estimate idle_watts =
        baseline_watts(trial->meter, JOULE_TOTAL, stamp(period_s), stamp(period_s + IDLE_S));
    struct estimate total = meter_window(trial->meter, JOULE_TOTAL, stamp(begin_s), stamp(end_s)).joules;
    struct estimate idle = estimate_scale(idle_watts, job_s);
    struct estimate command = attribute_energy(&share, &total, &idle);
    double net = truth_joules_at(end_s) - truth_joules_at(begin_s) - idle_joules;
    double weight = part * exp(COMMAND_LOG_SD * chance_normal());
    return (struct trial_job){.net = baseline_net(&total, &idle),
                              .net_truth = net,
                              .command = estimate_quantity(&command),
                              .command_truth = net * weight / (weight + 1 - part)};
}
