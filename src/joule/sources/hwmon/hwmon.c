/* joule/sources/hwmon/hwmon.c - the source "hwmon": energy and power from the kernel's hardware monitors.
 *
 * This file opens and reads the sensors. Each sensor has its own handles and period. hwmon.h lists the other
 * files.
 * Note: a read may take milliseconds in firmware or on a slow bus, so the source has its own lane. A read
 * would also wake a suspended device. The sensors of a suspended device are therefore not read, and their
 * channels are STALE. */
#include "joule/sources/hwmon/hwmon.h"

#include <math.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "joule/sources/jetson/jetson.h"
#include "joule/sources/sysfs.h"

#define MAX_SENSORS 128
#define MAX_RAILS   64 /* maximum number of rails among the sensors */
/* the lane's period: half of the shortest known update period, so that no update is missed */
#define LANE_S      0.025
#define SLOW_PACE_S 0.1     /* period for rails and energy counters */
#define NO_DATA_UW  4.29e12 /* ACPI's 2^32 - 1 mW: the sensor has no value */
#define UNIT_J      1e-6

struct term {
    int first, second; /* handles; second < 0: no factor */
};

struct sensor {
    struct channel *channel;
    struct term terms[HWMON_TERMS];
    size_t term_count;
    int power_state; /* handle of the device's runtime_status; < 0: never suspended */
    bool is_readable;
    double max_watts, unit_watts;
    bool zero_is_unknown;
    int64_t pace_ns, next_ns; /* time between readings; time of the next reading */
};

struct hwmon {
    struct sensor sensors[MAX_SENSORS];
    size_t count, rails;
    struct hwmon_sockets sockets;
    struct hwmon_name {
        char name[32];
        unsigned seen;
    } names[32]; /* number of chips of each name so far */
};

/* --- opening -------------------------------------------------------------------------------------------- */

static int open_attribute(const struct hwmon_chip *chip, const char *file)
{
    char path[160];
    string_print(path, sizeof path, "%s/%s", chip->folder, file);
    return chip->source->host->ops->open_file(chip->source->host, path);
}

/* Opens the files of an input as terms of `sensor`. Returns 0, or the -errno of the first file that cannot be
 * opened. */
static int open_terms(const struct hwmon_chip *chip, const struct hwmon_input *input, struct sensor *sensor)
{
    int error = 0;
    for (size_t i = 0; i < input->term_count; i++) {
        struct term *term = &sensor->terms[sensor->term_count++];
        term->first = open_attribute(chip, input->terms[i].first);
        term->second = input->terms[i].second[0] ? open_attribute(chip, input->terms[i].second) : -1;
        if (term->first < 0)
            error = error ? error : term->first;
        else if (term->second < 0 && input->terms[i].second[0])
            error = error ? error : term->second;
    }
    return error;
}

static void describe(struct channel *ch, const struct hwmon_chip *chip, const struct hwmon_domain *d)
{
    joule_domain *info = &ch->info;
    info->scope = d->scope;
    info->device_index = d->device_index;
    info->tier = d->tier;
    info->update_period_s = d->period_is_known ? d->period_s : NAN;
    string_copy(info->name, sizeof info->name, d->name);
    string_copy(info->label, sizeof info->label, d->label);
    string_copy(info->device, sizeof info->device, d->device);
    string_copy(info->vendor, sizeof info->vendor, d->vendor);
    string_copy(info->model, sizeof info->model, d->model);
    string_copy(info->uuid, sizeof info->uuid, chip->pci);
    string_copy(ch->zone, sizeof ch->zone, d->zone);
    string_copy(ch->parent_zone, sizeof ch->parent_zone, d->parent_zone);
    ch->rank = d->rank;
    ch->gain_sd = d->gain_sd;
    ch->cause = d->cause;
}

static void set_energy(struct channel *ch, const struct hwmon_domain *d)
{
    ch->mode = CHANNEL_COUNTER;
    ch->info.reading = JOULE_READING_ENERGY;
    ch->info.cls = JOULE_CLASS_MEASURED;
    ch->counter.modulus = 0; /* drivers accumulate into 64 bits and publish no range */
    ch->counter.unit_joules = UNIT_J;
    ch->counter.fold_counts = (uint64_t)(d->fold_joules / UNIT_J);
    ch->counter.max_watts = d->max_watts;
    ch->counter.tick_s = d->period_s;
}

static void set_power(struct channel *ch, const struct hwmon_input *input, const struct hwmon_domain *d,
                      double pace_s)
{
    ch->mode = CHANNEL_POWER;
    ch->info.reading = JOULE_READING_POWER;
    ch->info.cls = JOULE_CLASS_DERIVED;
    /* If the sensor updates faster than it is polled, its effective period is the polling period. */
    ch->integrator.period_s = fmax(d->period_s, pace_s);
    ch->integrator.age_s = d->period_s;
    double coverage = input->is_average ? 1 : d->coverage;
    ch->integrator.averaged_part =
        d->period_is_known || d->coverage > 0 ? coverage * fmin(1, d->period_s / pace_s) : 0;
    ch->integrator.lag_s = coverage * d->period_s / 2;
    ch->integrator.max_watts = d->max_watts;
}

/* If the domain covers a board, adds the board as a device, because there may be no other source that
 * describes it. */
static void add_device(const struct hwmon_chip *chip, const struct hwmon_domain *d)
{
    char kind[sizeof d->device];
    string_copy(kind, sizeof kind, d->device);
    kind[strcspn(kind, ":")] = '\0';
    bool is_board = d->tier == 3 && (d->scope == JOULE_SCOPE_GPU || d->scope == JOULE_SCOPE_MODULE);
    struct device *device = is_board ? source_add_device(chip->source, kind, d->device_index) : NULL;
    if (!device)
        return;
    string_copy(device->vendor, sizeof device->vendor, d->vendor);
    string_copy(device->pci_address, sizeof device->pci_address, chip->pci);
    string_copy(device->driver, sizeof device->driver, chip->driver[0] ? chip->driver : chip->name);
}

static void add_input(const struct hwmon_chip *chip, const struct hwmon_input *input, void *context)
{
    struct hwmon *hwmon = context;
    struct hwmon_domain domain;
    if (!hwmon_domain_of(chip, input, &domain))
        return;
    bool is_rail = domain.scope == JOULE_SCOPE_RAIL || domain.scope == JOULE_SCOPE_CORE;
    if (hwmon->count == MAX_SENSORS || (is_rail && hwmon->rails == MAX_RAILS))
        return;
    struct channel *ch = source_add_channel(chip->source);
    if (!ch)
        return;
    struct sensor *sensor = &hwmon->sensors[hwmon->count++];
    hwmon->rails += is_rail;
    /* An energy counter can be read rarely, because it also counts the energy between two readings. */
    bool is_slow = is_rail || input->kind == HWMON_ENERGY;
    double pace_s = fmax(is_slow ? SLOW_PACE_S : LANE_S, domain.period_s / 2);
    if (chip->source->period_s == 0 || pace_s < chip->source->period_s)
        chip->source->period_s = pace_s;
    describe(ch, chip, &domain);
    add_device(chip, &domain);
    if (input->kind == HWMON_ENERGY)
        set_energy(ch, &domain);
    else
        set_power(ch, input, &domain, pace_s);
    sensor->channel = ch;
    sensor->max_watts = domain.max_watts;
    sensor->unit_watts = domain.unit_watts;
    sensor->zero_is_unknown = domain.zero_is_unknown;
    /* half a lane period early, so that jitter does not delay a reading by a whole period */
    sensor->pace_ns = (int64_t)((pace_s - LANE_S / 2) * 1e9);
    sensor->power_state = hwmon_open_power_state(chip);
    int error = open_terms(chip, input, sensor);
    sensor->is_readable = error == 0;
    if (error)
        ch->info.state = status_of_errno(-error);
    if (ch->info.state == JOULE_DENIED)
        string_print(ch->info.remedy, sizeof ch->info.remedy, "run as root, or: sudo chmod a+r %s/%s",
                     chip->folder, input->terms[0].first);
    else if (sensor->power_state >= 0)
        string_copy(ch->info.remedy, sizeof ch->info.remedy,
                    "the device is suspended or does not answer; it is read once a program wakes it");
}

/* Returns the number of earlier chips with this name, or MAX_SENSORS if the table of names is full. */
static unsigned count_name(struct hwmon *hwmon, const char *name)
{
    for (size_t i = 0; i < sizeof hwmon->names / sizeof hwmon->names[0]; i++) {
        struct hwmon_name *entry = &hwmon->names[i];
        if (entry->seen == 0)
            string_copy(entry->name, sizeof entry->name, name);
        if (strcmp(entry->name, name) == 0)
            return entry->seen++;
    }
    /* the table is full: return any number except 0, because 0 would mean the first chip */
    return MAX_SENSORS;
}

/* Returns true if another source reads the chip: "battery" reads batteries and adapters, "jetson" reads a
 * Jetson's rails. */
static bool has_own_source(const struct hwmon_chip *chip)
{
    return chip->is_power_supply || jetson_has_chip(chip->source, chip->folder, chip->name);
}

static joule_status open_chips(struct source *source, char **ids, size_t count)
{
    struct hwmon *hwmon = source->data;
    for (size_t i = 0; i < count; i++) {
        struct hwmon_chip chip;
        if (!hwmon_chip_open(source, ids[i], &chip) || has_own_source(&chip))
            continue;
        chip.sockets = &hwmon->sockets;
        chip.index = (unsigned)i;
        chip.ordinal = count_name(hwmon, chip.name);
        hwmon_each_input(&chip, add_input, hwmon);
    }
    if (hwmon->count == 0)
        return source_set_state(source, JOULE_ABSENT,
                                "no hardware monitor of this machine reports energy or power");
    return JOULE_OK;
}

static joule_status hwmon_open(struct source *source)
{
    char **ids;
    ssize_t count = source->host->ops->list(source->host, "/sys/class/hwmon", &source->arena, &ids);
    if (count < 0)
        return source_set_state(source, status_of_errno((int)-count), "no /sys/class/hwmon");
    source->data = arena_alloc(&source->arena, sizeof(struct hwmon));
    if (!source->data)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    return open_chips(source, ids, (size_t)count);
}

/* --- reading -------------------------------------------------------------------------------------------- */

static void read_energy(struct joule_host *host, const struct sensor *sensor, struct sink *sink)
{
    int64_t raw, before_ns = sink_now(sink);
    joule_status status = sysfs_read_i64(host, sensor->terms[0].first, &raw);
    if (status == JOULE_OK && raw < 0)
        status = JOULE_FAILED;
    if (status == JOULE_OK)
        sink_counter(sink, sensor->channel, before_ns, sink_now(sink), (uint64_t)raw);
    else
        sink_fail(sink, sensor->channel, status);
}

static joule_status read_term(struct joule_host *host, const struct term *term, double *out_microwatts)
{
    int64_t first, second = 1;
    joule_status status = sysfs_read_i64(host, term->first, &first);
    if (status == JOULE_OK && term->second >= 0)
        status = sysfs_read_i64(host, term->second, &second);
    if (status == JOULE_OK)
        *out_microwatts = (double)first * (double)second;
    return status;
}

static joule_status read_watts(struct joule_host *host, const struct sensor *sensor, double *out_watts)
{
    double sum = 0;
    for (size_t i = 0; i < sensor->term_count; i++) {
        double value;
        joule_status status = read_term(host, &sensor->terms[i], &value);
        if (status != JOULE_OK)
            return status;
        if (value >= NO_DATA_UW)
            return JOULE_UNSUPPORTED;
        if (value < 0)
            return JOULE_FAILED;
        sum += value;
    }
    if (sum <= 0 && sensor->zero_is_unknown)
        return JOULE_STALE;
    *out_watts = sum * sensor->unit_watts;
    return *out_watts <= sensor->max_watts ? JOULE_OK : JOULE_FAILED;
}

static void read_power(struct joule_host *host, const struct sensor *sensor, struct sink *sink)
{
    double watts;
    joule_status status = read_watts(host, sensor, &watts);
    if (status == JOULE_OK)
        sink_power(sink, sensor->channel, 0, watts);
    else
        sink_fail(sink, sensor->channel, status);
}

static void hwmon_read(struct source *source, struct sink *sink)
{
    struct hwmon *hwmon = source->data;
    for (size_t i = 0; i < hwmon->count; i++) {
        struct sensor *sensor = &hwmon->sensors[i];
        int64_t now_ns = sink_now(sink);
        if (!sensor->is_readable || now_ns < sensor->next_ns)
            continue;
        sensor->next_ns = now_ns + sensor->pace_ns;
        if (hwmon_is_suspended(source->host, sensor->power_state))
            sink_fail(sink, sensor->channel, JOULE_STALE);
        else if (sensor->channel->mode == CHANNEL_COUNTER)
            read_energy(source->host, sensor, sink);
        else
            read_power(source->host, sensor, sink);
    }
}

/* --- closing -------------------------------------------------------------------------------------------- */

static void close_sensor(struct joule_host *host, struct sensor *sensor)
{
    host_close_handle(host, sensor->power_state);
    for (size_t k = 0; k < sensor->term_count; k++) {
        host_close_handle(host, sensor->terms[k].first);
        host_close_handle(host, sensor->terms[k].second);
    }
    sensor->power_state = -1;
    sensor->term_count = 0;
    sensor->is_readable = false;
}

static void hwmon_close(struct source *source)
{
    struct hwmon *hwmon = source->data;
    for (size_t i = 0; hwmon && i < hwmon->count; i++)
        close_sensor(source->host, &hwmon->sensors[i]);
}

static void hwmon_close_channel(struct source *source, const struct channel *channel)
{
    struct hwmon *hwmon = source->data;
    for (size_t i = 0; i < hwmon->count; i++)
        if (hwmon->sensors[i].channel == channel)
            close_sensor(source->host, &hwmon->sensors[i]);
}

const struct source_ops source_hwmon = {
    .name = "hwmon",
    .measurement = "hwmon",
    .tier = 2,
    .is_slow = true,
    .folder = "/sys/class/hwmon",
    .period_s = LANE_S,
    .open = hwmon_open,
    .read = hwmon_read,
    .close = hwmon_close,
    .close_channel = hwmon_close_channel,
};
