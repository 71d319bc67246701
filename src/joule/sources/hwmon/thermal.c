/* joule/sources/hwmon/thermal.c - the source "thermal": temperatures and clocks, as gauges.
 *
 * The source reads thermal zones and the hwmon chips whose temperature inputs are all connected. Monitor
 * chips of mainboards are not read, because some of their inputs are unconnected. Disks are not read, because
 * a read wakes them.
 * Note: at most MAX_GAUGES temperatures are read, at most once a second, independent of the meter's
 * period. */
#include "joule/sources/hwmon/thermal.h"

#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "joule/sources/accelerator/accelerator.h"
#include "joule/sources/hwmon/hwmon.h"
#include "joule/sources/sysfs.h"

#define MAX_GAUGES  (64 - CLOCK_MAX_PACKAGES)
#define MAX_OF_CHIP 16
#define PERIOD_NS   1000000000LL
#define EARLY_NS    (PERIOD_NS / 10) /* tolerance, because a lane's deadlines vary */
#define MIN_MILLIC  (-60000)
#define MAX_MILLIC  200000

struct gauge {
    struct channel *channel;
    int handle, power_state;
};

struct thermal {
    struct gauge gauges[MAX_GAUGES];
    size_t count;
    struct clocks clocks;
    int64_t next_ns;
};

/* Chips that are read. If a chip has inputs whose labels begin with `label`, only these inputs are read:
 * reading the temperature of a core would interrupt that core. */
static const struct chip_rule {
    const char *name, *label, *device; /* device: a number is appended to all except "node" */
} chip_rules[] = {
    {"coretemp", "P",
     /* Labels of packages are "Package id 0", or "Physical id 0" on older kernels; other inputs are "Core 0"
      * and so on. */
     "cpu"},
    {"k10temp", "Tctl", "cpu"},
    {"zenpower", "Tdie", "cpu"},
    {"apm_xgene", NULL, "cpu"},
    {"ibmpowernv", "Chip ", "node"},
    {"scmi_sensors", NULL, "node"},
    {"amdgpu", NULL, "gpu"},
    {"xe", NULL, "gpu"},
    {"i915", NULL, "gpu"},
    {"nouveau", NULL, "gpu"},
    {"radeon", NULL, "gpu"},
    {"qaic", NULL, "npu"},
    {"wormhole", NULL, "npu"},
    {"blackhole", NULL, "npu"},
    {"jc42", NULL, "node"},
    {"spd5118", NULL, "node"},
};

static const struct chip_rule *rule_of(const char *chip)
{
    for (size_t i = 0; i < sizeof chip_rules / sizeof chip_rules[0]; i++)
        if (strcmp(chip_rules[i].name, chip) == 0)
            return &chip_rules[i];
    return NULL;
}

/* --- opening -------------------------------------------------------------------------------------------- */

struct channel *thermal_add_gauge(struct source *source, joule_reading_kind reading, const char *title,
                                  const char *label)
{
    struct channel *ch = source_add_channel(source);
    if (!ch)
        return NULL;
    ch->mode = CHANNEL_GAUGE;
    ch->info.reading = reading;
    ch->info.cls = JOULE_CLASS_NONE;
    ch->info.update_period_s = (double)PERIOD_NS * 1e-9;
    sysfs_slug(ch->info.name, sizeof ch->info.name, title);
    string_copy(ch->info.label, sizeof ch->info.label, label);
    string_copy(ch->info.device, sizeof ch->info.device, "node");
    return ch;
}

static struct gauge *add_temperature(struct source *source, const char *path, const char *title,
                                     const char *label)
{
    struct thermal *thermal = source->data;
    if (thermal->count == MAX_GAUGES)
        return NULL;
    int handle = source->host->ops->open_file(source->host, path);
    if (handle < 0)
        return NULL;
    struct channel *ch = thermal_add_gauge(source, JOULE_READING_TEMPERATURE, title, label);
    if (!ch) {
        source->host->ops->close_handle(source->host, handle);
        return NULL;
    }
    struct gauge *gauge = &thermal->gauges[thermal->count++];
    *gauge = (struct gauge){.channel = ch, .handle = handle, .power_state = -1};
    return gauge;
}

/* Returns the number of the next temperature input at or after the file *position whose label begins with
 * `label`, or 0 if there are no more. If `label` is NULL, all inputs match. Advances *position. */
static unsigned next_input(const struct hwmon_chip *chip, const char *label, size_t *position)
{
    while (*position < chip->file_count) {
        unsigned number;
        const char *suffix;
        char text[64];
        if (!sysfs_parse_attribute(chip->files[(*position)++], "temp", &number, &suffix) ||
            strcmp(suffix, "input") != 0)
            continue;
        if (!label ||
            (hwmon_read_text(chip, "temp", number, "label", text, sizeof text) && string_starts(text, label)))
            return number;
    }
    return 0;
}

static void set_package(joule_domain *info, const struct hwmon_chip *chip, const char *label)
{
    unsigned package = chip->ordinal;
    if (!sysfs_parse_numbered(label, "Package id ", &package))
        sysfs_parse_numbered(label, "Physical id ", &package);
    string_print(info->device, sizeof info->device, "cpu:%u", package);
    info->device_index = (int)package;
}

/* Returns the role of a board's temperature according to its label: memory as a whole, the chip, or ROLE_NONE
 * for other parts. */
static enum gauge_role gpu_role(const char *label)
{
    if (strcmp(label, "mem") == 0 || strcmp(label, "vram") == 0)
        return ROLE_MEMORY_TEMPERATURE;
    bool is_other_part =
        string_starts(label, "vram_ch_") || strcmp(label, "mctrl") == 0 || strcmp(label, "pcie") == 0;
    return is_other_part ? ROLE_NONE : ROLE_TEMPERATURE;
}

/* Sets name, device and role of a GPU's channel. The name contains the GPU's number, because several boards
 * may have the same driver. */
static void set_gpu(struct channel *ch, const struct hwmon_chip *chip, const char *label)
{
    char word[32];
    sysfs_slug(word, sizeof word, label);
    gpu_name_channel(ch, gpu_index(chip->source, chip->pci[0] ? chip->pci : chip->id), word);
    ch->role = gpu_role(label);
}

static void set_npu(struct channel *ch, const struct hwmon_chip *chip, const char *label)
{
    char word[32];
    sysfs_slug(word, sizeof word, label);
    accelerator_name_channel(ch, "npu", hwmon_accelerator_index(chip, "npu"), word);
    ch->role = ROLE_TEMPERATURE;
}

static void add_input(struct source *source, const struct hwmon_chip *chip, const struct chip_rule *rule,
                      unsigned number)
{
    char path[160], label[64], title[112];
    string_print(path, sizeof path, "%s/temp%u_input", chip->folder, number);
    if (!hwmon_read_text(chip, "temp", number, "label", label, sizeof label))
        string_print(label, sizeof label, "temp%u", number);
    string_print(title, sizeof title, "%s %s", chip->name, label);
    struct gauge *gauge = add_temperature(source, path, title, label);
    if (!gauge)
        return;
    joule_domain *info = &gauge->channel->info;
    gauge->power_state = hwmon_open_power_state(chip);
    string_copy(info->uuid, sizeof info->uuid, chip->pci);
    string_copy(info->device, sizeof info->device, rule->device);
    if (strcmp(rule->device, "cpu") == 0)
        set_package(info, chip, label);
    else if (strcmp(rule->device, "gpu") == 0)
        set_gpu(gauge->channel, chip, label);
    else if (strcmp(rule->device, "npu") == 0)
        set_npu(gauge->channel, chip, label);
}

static void add_chip(struct source *source, const struct hwmon_chip *chip, const struct chip_rule *rule)
{
    size_t position = 0;
    const char *label = next_input(chip, rule->label, &position) ? rule->label : NULL;
    position = 0;
    for (unsigned n, i = 0; i < MAX_OF_CHIP && (n = next_input(chip, label, &position)) != 0; i++)
        add_input(source, chip, rule, n);
}

static void add_chips(struct source *source)
{
    unsigned seen[sizeof chip_rules / sizeof chip_rules[0]] = {0};
    char **ids;
    ssize_t count = source->host->ops->list(source->host, "/sys/class/hwmon", &source->arena, &ids);
    for (ssize_t i = 0; i < count; i++) {
        struct hwmon_chip chip;
        if (!hwmon_chip_open(source, ids[i], &chip))
            continue;
        const struct chip_rule *rule = rule_of(chip.name);
        if (!rule)
            continue;
        chip.ordinal = seen[rule - chip_rules]++;
        add_chip(source, &chip, rule);
    }
}

static void add_zones(struct source *source)
{
    char **zones;
    ssize_t count = source->host->ops->list(source->host, "/sys/class/thermal", &source->arena, &zones);
    for (ssize_t i = 0; i < count; i++) {
        char path[96], type[48], title[64];
        if (!string_starts(zones[i], "thermal_zone"))
            continue;
        string_print(path, sizeof path, "/sys/class/thermal/%s/type", zones[i]);
        if (!sysfs_read_text(source, path, type, sizeof type))
            string_copy(type, sizeof type, zones[i]);
        string_print(path, sizeof path, "/sys/class/thermal/%s/temp", zones[i]);
        string_print(title, sizeof title, "thermal %s", type);
        add_temperature(source, path, title, type);
    }
}

static joule_status thermal_open(struct source *source)
{
    struct thermal *thermal = source->data = arena_alloc(&source->arena, sizeof *thermal);
    if (!thermal)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    add_chips(source);
    add_zones(source);
    clocks_open(source, &thermal->clocks);
    if (source->channel_count)
        return JOULE_OK;
    source->ops->close(source);
    return source_set_state(source, JOULE_ABSENT, "this machine reports no temperatures and no clocks");
}

/* --- reading -------------------------------------------------------------------------------------------- */

static void read_gauge(struct joule_host *host, const struct gauge *gauge, struct sink *sink)
{
    int64_t millicelsius;
    joule_status status = JOULE_STALE;
    if (!hwmon_is_suspended(host, gauge->power_state))
        status = sysfs_read_i64(host, gauge->handle, &millicelsius);
    if (status == JOULE_OK && (millicelsius < MIN_MILLIC || millicelsius > MAX_MILLIC))
        status = JOULE_FAILED;
    if (status == JOULE_OK)
        sink_gauge(sink, gauge->channel, (double)millicelsius * 1e-3);
    else
        sink_fail(sink, gauge->channel, status);
}

static void thermal_read(struct source *source, struct sink *sink)
{
    struct thermal *thermal = source->data;
    int64_t now_ns = sink_now(sink);
    if (now_ns < thermal->next_ns)
        return;
    /* Old kernels take 10 ms for a CPU's clock. The first reading skips clocks, so that opening a meter does
     * not wait. */
    if (thermal->next_ns)
        clocks_read(source, &thermal->clocks, sink);
    thermal->next_ns = now_ns + PERIOD_NS - EARLY_NS;
    for (size_t i = 0; i < thermal->count; i++)
        read_gauge(source->host, &thermal->gauges[i], sink);
}

static void thermal_close(struct source *source)
{
    struct thermal *thermal = source->data;
    for (size_t i = 0; i < thermal->count; i++) {
        source->host->ops->close_handle(source->host, thermal->gauges[i].handle);
        host_close_handle(source->host, thermal->gauges[i].power_state);
    }
    clocks_close(source, &thermal->clocks);
}

const struct source_ops source_thermal = {
    .name = "thermal",
    .measurement = "hwmon",
    .tier = 2,
    .is_slow = true, /* embedded controllers and clocks on old kernels take milliseconds */
    .period_s = 1.0,
    .open = thermal_open,
    .read = thermal_read,
    .close = thermal_close,
};
