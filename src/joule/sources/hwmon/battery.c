/* joule/sources/hwmon/battery.c - the source "battery": a laptop's power, from its discharging batteries.
 *
 * The source reads /sys/class/power_supply and adds the power of all batteries that discharge while no
 * adapter is online. Batteries of mice and headsets (scope Device) are ignored.
 * Note: on mains power, a battery reports its charging power, not the machine's power. The adapters are
 * therefore checked at every reading, and no power is reported while one of them is online. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "joule/sources/source.h"
#include "joule/sources/sysfs.h"

#define MAX_SUPPLIES 8
#define MAX_WATTS    1000.0
#define POLL_S       0.5
/* Update period: the kernel queries the firmware at most once a second; fuel gauges update every 1 to 60
 * s. */
#define PERIOD_S 1.0
#define GAIN_SD  0.03 /* assumed: fuel gauges are specified with 1 to 3 % */
#define ON_MAINS "the machine runs on mains power: unplug it to measure its battery"

struct cell {
    int status, power, current, voltage; /* handles; negative: no such attribute */
};

struct battery {
    struct channel *channel;
    struct cell cells[MAX_SUPPLIES];
    size_t cell_count;
    int adapters[MAX_SUPPLIES]; /* handles of the files `online` of power adapters */
    size_t adapter_count;
};

/* --- opening -------------------------------------------------------------------------------------------- */

static int open_attribute(struct source *source, const char *supply, const char *attribute)
{
    char path[128];
    string_print(path, sizeof path, "/sys/class/power_supply/%s/%s", supply, attribute);
    return source->host->ops->open_file(source->host, path);
}

static bool read_attribute(struct source *source, const char *supply, const char *attribute, char *out_text,
                           size_t size)
{
    char path[128];
    string_print(path, sizeof path, "/sys/class/power_supply/%s/%s", supply, attribute);
    return sysfs_read_text(source, path, out_text, size);
}

static bool attribute_is(struct source *source, const char *supply, const char *attribute, const char *value)
{
    char text[32];
    return read_attribute(source, supply, attribute, text, sizeof text) && strcmp(text, value) == 0;
}

static void add_cell(struct source *source, const char *supply)
{
    struct battery *battery = source->data;
    if (battery->cell_count == MAX_SUPPLIES || attribute_is(source, supply, "scope", "Device") ||
        attribute_is(source, supply, "present", "0"))
        return;
    battery->cells[battery->cell_count++] = (struct cell){
        .status = open_attribute(source, supply, "status"),
        .power = open_attribute(source, supply, "power_now"),
        .current = open_attribute(source, supply, "current_now"),
        .voltage = open_attribute(source, supply, "voltage_now"),
    };
}

static void add_adapter(struct source *source, const char *supply)
{
    struct battery *battery = source->data;
    int handle = open_attribute(source, supply, "online");
    if (handle < 0)
        return;
    if (battery->adapter_count < MAX_SUPPLIES)
        battery->adapters[battery->adapter_count++] = handle;
    else
        source->host->ops->close_handle(source->host, handle);
}

static bool add_channel(struct source *source, const char *supply)
{
    struct battery *battery = source->data;
    struct channel *ch = battery->channel = source_add_channel(source);
    if (!ch)
        return false;
    joule_domain *info = &ch->info;
    info->scope = JOULE_SCOPE_BATTERY;
    info->reading = JOULE_READING_POWER;
    info->cls = JOULE_CLASS_DERIVED;
    string_copy(info->name, sizeof info->name, "battery");
    string_copy(info->device, sizeof info->device, "node");
    string_copy(info->remedy, sizeof info->remedy, ON_MAINS);
    string_print(info->label, sizeof info->label, "%zu batteries", battery->cell_count);
    if (battery->cell_count == 1)
        string_copy(info->label, sizeof info->label, supply);
    read_attribute(source, supply, "manufacturer", info->vendor, sizeof info->vendor);
    read_attribute(source, supply, "model_name", info->model, sizeof info->model);
    ch->mode = CHANNEL_POWER;
    string_copy(ch->zone, sizeof ch->zone, "battery");
    ch->rank = RANK_BOARD;
    ch->gain_sd = GAIN_SD;
    ch->cause = CAUSE(CAUSE_BATTERY_GAIN, 0);
    ch->integrator.period_s = PERIOD_S;
    ch->integrator.max_watts = MAX_WATTS;
    return true;
}

static joule_status battery_open(struct source *source)
{
    char **supplies;
    const char *first = NULL;
    ssize_t count =
        source->host->ops->list(source->host, "/sys/class/power_supply", &source->arena, &supplies);
    struct battery *battery = source->data = arena_alloc(&source->arena, sizeof *battery);
    if (!battery)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    for (ssize_t i = 0; i < count; i++) {
        if (attribute_is(source, supplies[i], "type", "Mains"))
            add_adapter(source, supplies[i]);
        if (!attribute_is(source, supplies[i], "type", "Battery"))
            continue;
        add_cell(source, supplies[i]);
        if (battery->cell_count == 1 && !first)
            first = supplies[i];
    }
    if (battery->cell_count && add_channel(source, first))
        return JOULE_OK;
    source->ops->close(source);
    return source_set_state(source, JOULE_ABSENT, "no battery powers this machine");
}

/* --- reading -------------------------------------------------------------------------------------------- */

static bool is_on_mains(struct joule_host *host, const struct battery *battery)
{
    for (size_t i = 0; i < battery->adapter_count; i++) {
        int64_t online;
        if (sysfs_read_i64(host, battery->adapters[i], &online) == JOULE_OK && online == 1)
            return true;
    }
    return false;
}

static bool is_discharging(struct joule_host *host, const struct cell *cell)
{
    char status[32];
    return cell->status >= 0 && host->ops->read_handle(host, cell->status, status, sizeof status) > 0 &&
           strcmp(string_trim(status), "Discharging") == 0;
}

static joule_status read_handle(struct joule_host *host, int handle, int64_t *out_value)
{
    return handle < 0 ? status_of_errno(-handle) : sysfs_read_i64(host, handle, out_value);
}

/* Writes the absolute value in watts, because drivers differ in the sign; the file `status` shows the
 * direction. */
static joule_status read_cell(struct joule_host *host, const struct cell *cell, double *out_watts)
{
    int64_t power_uw = 0, current_ua = 0, voltage_uv = 0;
    joule_status status = read_handle(host, cell->power, &power_uw);
    if (status == JOULE_OK) {
        *out_watts = fabs((double)power_uw) * 1e-6;
    } else if (cell->current >= 0 && cell->voltage >= 0) {
        status = read_handle(host, cell->current, &current_ua);
        if (status == JOULE_OK)
            status = read_handle(host, cell->voltage, &voltage_uv);
        if (status == JOULE_OK)
            *out_watts = fabs((double)current_ua) * fabs((double)voltage_uv) * 1e-12;
    }
    if (status != JOULE_OK)
        return status == JOULE_ABSENT ? JOULE_UNSUPPORTED : status;
    /* A running machine draws power, so 0 means that the gauge has no value yet. */
    return *out_watts == 0 ? JOULE_UNSUPPORTED : JOULE_OK;
}

static joule_status read_watts(struct joule_host *host, const struct battery *battery, double *out_watts)
{
    size_t discharging = 0;
    *out_watts = 0;
    if (is_on_mains(host, battery))
        return JOULE_UNSUPPORTED;
    for (size_t i = 0; i < battery->cell_count; i++) {
        double watts;
        if (!is_discharging(host, &battery->cells[i]))
            continue;
        joule_status status = read_cell(host, &battery->cells[i], &watts);
        if (status != JOULE_OK)
            return status;
        *out_watts += watts;
        discharging++;
    }
    if (discharging == 0)
        return JOULE_UNSUPPORTED;
    return *out_watts <= MAX_WATTS ? JOULE_OK : JOULE_FAILED;
}

static void battery_read(struct source *source, struct sink *sink)
{
    struct battery *battery = source->data;
    double watts;
    joule_status status = read_watts(source->host, battery, &watts);
    if (status == JOULE_OK)
        sink_power(sink, battery->channel, 0, watts);
    else
        sink_fail(sink, battery->channel, status);
}

static void battery_close(struct source *source)
{
    const struct battery *battery = source->data;
    for (size_t i = 0; i < battery->adapter_count; i++)
        source->host->ops->close_handle(source->host, battery->adapters[i]);
    for (size_t i = 0; i < battery->cell_count; i++) {
        const struct cell *cell = &battery->cells[i];
        const int handles[] = {cell->status, cell->power, cell->current, cell->voltage};
        for (size_t k = 0; k < sizeof handles / sizeof handles[0]; k++)
            host_close_handle(source->host, handles[k]);
    }
}

const struct source_ops source_battery = {
    .name = "battery",
    .measurement = "battery",
    .tier = 2,
    .is_slow = true, /* the embedded controller may take tens of milliseconds */
    .folder = "/sys/class/power_supply",
    .period_s = POLL_S,
    .open = battery_open,
    .read = battery_read,
    .close = battery_close,
};
