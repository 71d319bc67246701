/* joule/sources/accelerator/neuron.c - the source "neuron": AWS's Inferentia and Trainium, read from their
 * driver's files.
 *
 * The driver reports the mean power of each minute as a percentage, the memory in use, and the device's
 * identity. The driver reports no watts, and AWS does not publish how many watts 100 % are. Energy is
 * computed only from the watts that the user sets in JOULE_NEURON_WATTS, and its class is `assumed`. The size
 * of a device's memory is from AWS's program neuron-ls; JOULE_NEURON_LS names a program to run instead.
 * Note: a value describes the minute before its timestamp and is available only after that minute. Shorter
 * times cannot be measured. */
#include <math.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "joule/sources/accelerator/accelerator.h"
#include "joule/sources/accelerator/neuron_list.h"
#include "joule/sources/accelerator/neuron_power.h"
#include "joule/sources/detection.h"
#include "joule/sources/hwmon/watts_pair.h"

#define FOLDER      "/sys/class/neuron_device"
#define MAX_DEVICES 64
#define PERIOD_S    10.0
#define WINDOW_S    60.0
#define NS_PER_S    INT64_C(1000000000)
#define LIST_BYTES  65536
#define TIMEOUT_NS  (5 * NS_PER_S)
#define GAIN_SD     0.3 /* assumed: power may not be linear in the percentage */
#define CAUSE_INDEX 1000
#define NO_WATTS                                                                                             \
    "AWS publishes no watts for this device: set JOULE_NEURON_WATTS=IDLE,MAX to its watts when idle and at " \
    "full load, or measure the machine by other means"

struct neuron {
    struct neuron_device {
        int power; /* open file stats/power/utilization; < 0: the driver does not provide it */
        struct device *device;
        struct channel *energy; /* NULL: the user set no watts */
        struct channel *share;  /* NULL: no power file */
        /* end of the last minute read: end_s on CLOCK_REALTIME, end_ns on CLOCK_MONOTONIC */
        int64_t end_s, end_ns;
        /* mean power of that minute as a fraction of the maximum; valid if is_known */
        double mean;
        bool is_known;
        uint64_t memory_bytes; /* size of the device's memory, or JOULE_BYTES_UNKNOWN */
        char folder[64];
    } devices[MAX_DEVICES];
    size_t count;
    struct watts_pair watts;
    bool has_watts, is_listed;
    char text[LIST_BYTES]; /* output of neuron-ls */
};

/* --- opening -------------------------------------------------------------------------------------------- */

static bool read_word(struct source *source, const char *folder, const char *file, char *out_word,
                      size_t size)
{
    char path[128];
    string_print(path, sizeof path, "%s/%s", folder, file);
    return sysfs_read_text(source, path, out_word, size);
}

/* Sets an architecture such as "NCv3, 4 cores". Only root may read the file core_count, so the cores' folders
 * are counted. */
static void find_architecture(struct source *source, const struct neuron_device *entry)
{
    char word[16], **names;
    unsigned number, cores = 0;
    ssize_t count = source->host->ops->list(source->host, entry->folder, &source->arena, &names);
    for (ssize_t i = 0; i < count; i++)
        cores += sysfs_parse_numbered(names[i], "neuron_core", &number);
    struct device *device = entry->device;
    if (!read_word(source, entry->folder, "neuron_core0/info/architecture/arch_type", word, sizeof word))
        read_word(source, entry->folder, "info/architecture/arch_type", word, sizeof word);
    string_print(device->architecture, sizeof device->architecture, cores ? "%s%s%u cores" : "%s", word,
                 word[0] ? ", " : "", cores);
}

static void identify(struct source *source, const struct neuron_device *entry)
{
    struct device *device = entry->device;
    string_copy(device->vendor, sizeof device->vendor, "amazon");
    read_word(source, entry->folder, "info/architecture/device_name", device->model, sizeof device->model);
    read_word(source, entry->folder, "info/serial_number", device->uuid, sizeof device->uuid);
    string_copy(device->driver, sizeof device->driver, "neuron");
    find_architecture(source, entry);
}

static struct channel *add_channel(struct source *source, const struct neuron_device *entry, const char *what)
{
    struct channel *ch = source_add_channel(source);
    if (!ch)
        return NULL;
    accelerator_name_channel(ch, "neuron", entry->device->index, what);
    ch->info.update_period_s = WINDOW_S;
    string_copy(ch->info.vendor, sizeof ch->info.vendor, entry->device->vendor);
    string_copy(ch->info.model, sizeof ch->info.model, entry->device->model);
    string_copy(ch->info.uuid, sizeof ch->info.uuid, entry->device->uuid);
    return ch;
}

static struct channel *add_energy(struct source *source, const struct neuron_device *entry)
{
    const struct neuron *neuron = source->data;
    struct channel *ch = add_channel(source, entry, "");
    if (!ch)
        return NULL;
    ch->mode = CHANNEL_ENERGY;
    ch->rank = RANK_MODEL;
    ch->info.scope = JOULE_SCOPE_GPU;
    ch->info.reading = JOULE_READING_POWER;
    ch->info.cls = JOULE_CLASS_ASSUMED;
    string_copy(ch->info.label, sizeof ch->info.label, "power percentage times JOULE_NEURON_WATTS");
    accelerator_zone("neuron", entry->device->index, ch->zone);
    ch->gain_sd = GAIN_SD;
    /* one setting applies to all devices, so their errors are common */
    ch->cause = CAUSE(CAUSE_GPU_GAIN, CAUSE_INDEX);
    ch->integrator.period_s = WINDOW_S;
    ch->integrator.max_watts = neuron->watts.max;
    return ch;
}

static struct channel *add_share(struct source *source, const struct neuron_device *entry)
{
    struct channel *ch = add_channel(source, entry, "power-share");
    if (!ch)
        return NULL;
    channel_set_gauge(ch, ROLE_NONE, "");
    string_copy(ch->info.label, sizeof ch->info.label,
                "mean power of a minute, relative to an unpublished maximum");
    accelerator_zone("neuron", entry->device->index, ch->parent_zone);
    return ch;
}

static void find_power(struct source *source, struct neuron_device *entry)
{
    const struct neuron *neuron = source->data;
    char path[128];
    string_print(path, sizeof path, "%s/stats/power/utilization", entry->folder);
    entry->power = source->host->ops->open_file(source->host, path);
    if (entry->power >= 0)
        entry->share = add_share(source, entry);
    struct channel *ch = add_energy(source, entry);
    if (ch && entry->power < 0) {
        ch->info.state = status_of_errno(-entry->power);
        string_copy(ch->info.remedy, sizeof ch->info.remedy,
                    "stats/power/utilization not found: needs Neuron driver 2.21.37 or later");
    } else if (ch && !neuron->has_watts) {
        ch->info.state = JOULE_UNSUPPORTED;
        string_copy(ch->info.remedy, sizeof ch->info.remedy, NO_WATTS);
    } else {
        entry->energy = ch;
    }
}

static bool add_device(struct source *source, const char *name)
{
    struct neuron *neuron = source->data;
    unsigned number;
    if (neuron->count == MAX_DEVICES || !sysfs_parse_numbered(name, "neuron", &number))
        return true;
    struct neuron_device *entry = &neuron->devices[neuron->count++];
    entry->power = -1;
    entry->memory_bytes = JOULE_BYTES_UNKNOWN;
    string_print(entry->folder, sizeof entry->folder, FOLDER "/%s", name);
    entry->device = source_add_device(source, "neuron", (int32_t)number);
    if (!entry->device)
        return false;
    identify(source, entry);
    find_power(source, entry);
    return true;
}

static bool has_device(char *const *names, ssize_t count)
{
    unsigned number;
    for (ssize_t i = 0; i < count; i++)
        if (sysfs_parse_numbered(names[i], "neuron", &number))
            return true;
    return false;
}

static joule_status neuron_open(struct source *source)
{
    char **names;
    bool is_wrong;
    ssize_t count = source->host->ops->list(source->host, FOLDER, &source->arena, &names);
    if (count <= 0) /* a container may show only the device files */
        count = source->host->ops->list(source->host, "/dev", &source->arena, &names);
    if (!has_device(names, count))
        return detection_absent(source, DETECT_NEURON,
                                "this machine has no AWS Neuron device, or its driver is not loaded");
    struct neuron *neuron = source->data = arena_alloc(&source->arena, sizeof *neuron);
    if (!neuron)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    neuron->has_watts = watts_pair_of_env(source->host, "JOULE_NEURON_WATTS", &neuron->watts, &is_wrong);
    if (is_wrong)
        return source_set_state(source, JOULE_INVALID,
                                "JOULE_NEURON_WATTS must be the idle and full-load watts of one device: "
                                "JOULE_NEURON_WATTS=IDLE,MAX");
    for (ssize_t i = 0; i < count; i++)
        if (!add_device(source, names[i]))
            return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    return JOULE_OK;
}

/* --- reading -------------------------------------------------------------------------------------------- */

static void fail(const struct neuron_device *entry, struct sink *sink, joule_status status)
{
    sink_fail(sink, entry->share, status);
    if (entry->energy)
        sink_fail(sink, entry->energy, status);
}

/* Converts the end of the minute from CLOCK_REALTIME to CLOCK_MONOTONIC. Returns false if the end is in the
 * future, which happens if CLOCK_REALTIME was set back. */
static bool end_of(struct joule_host *host, struct sink *sink, int64_t end_s, int64_t *out_ns)
{
    int64_t age_ns = host->ops->clock_ns(host, CLOCK_REALTIME) - end_s * NS_PER_S;
    *out_ns = sink_now(sink) - age_ns;
    return age_ns >= 0 && *out_ns > 0;
}

static void report(const struct neuron *neuron, const struct neuron_device *entry, struct sink *sink)
{
    sink_gauge(sink, entry->share, entry->mean);
    if (entry->energy)
        sink_energy(sink, entry->energy, entry->end_ns, watts_pair_at(neuron->watts, entry->mean) * WINDOW_S);
}

/* Stores the end and the mean power of a new minute. Returns JOULE_STALE if its power is unknown. */
static joule_status set_minute(struct joule_host *host, struct sink *sink, struct neuron_device *entry,
                               const struct neuron_power *power)
{
    bool is_forward = power->end_s > entry->end_s;
    entry->end_s = power->end_s;
    entry->mean = power->mean;
    entry->is_known = is_forward && power->is_valid && end_of(host, sink, power->end_s, &entry->end_ns);
    return entry->is_known ? JOULE_OK : JOULE_STALE;
}

/* Reads and reports the last minute of a device. The file contains the same line until the next
 * minute ends. */
static void read_device(struct source *source, struct neuron_device *entry, struct sink *sink)
{
    char text[128];
    struct neuron_power power = {0};
    ssize_t length = source->host->ops->read_handle(source->host, entry->power, text, sizeof text);
    joule_status status = length < 0 ? status_of_errno((int)-length) : neuron_power_parse(text, &power);
    if (status == JOULE_OK && power.end_s != entry->end_s)
        status = set_minute(source->host, sink, entry, &power);
    /* After a failure, the energy of the same minute must not be added again. */
    entry->is_known = entry->is_known && status == JOULE_OK;
    if (status != JOULE_OK)
        fail(entry, sink, status);
    else if (entry->is_known)
        report(source->data, entry, sink);
}

static void neuron_read(struct source *source, struct sink *sink)
{
    struct neuron *neuron = source->data;
    for (size_t i = 0; i < neuron->count; i++)
        if (neuron->devices[i].share)
            read_device(source, &neuron->devices[i], sink);
}

/* --- facts ---------------------------------------------------------------------------------------------- */

static joule_status run_list(struct source *source, const char *program, struct source_output *out)
{
    struct neuron *neuron = source->data;
    const char *const argv[] = {program, "-j", NULL};
    joule_status status = source_run(source, argv, TIMEOUT_NS, neuron->text, sizeof neuron->text, out);
    return status == JOULE_OK && out->exit_status != 0 ? JOULE_FAILED : status;
}

/* Runs neuron-ls once to find the size of each device's memory, which does not change. The program may be
 * outside PATH. */
static void list_devices(struct source *source)
{
    struct neuron *neuron = source->data;
    struct neuron_listed listed[MAX_DEVICES];
    struct source_output out;
    const char *own = source->host->ops->env(source->host, "JOULE_NEURON_LS");
    neuron->is_listed = true;
    joule_status status = run_list(source, own && *own ? own : "neuron-ls", &out);
    if (status == JOULE_ABSENT && !(own && *own))
        status = run_list(source, "/opt/aws/neuron/bin/neuron-ls", &out);
    size_t count = status == JOULE_OK ? neuron_list_parse(neuron->text, out.length, listed, MAX_DEVICES) : 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < neuron->count; k++)
            if ((uint64_t)neuron->devices[k].device->index == listed[i].number)
                neuron->devices[k].memory_bytes = listed[i].memory_bytes;
}

/* Reports the size of the device's memory, and the memory in use by all cores. */
static void query_device(struct source *source, const struct neuron_device *entry, struct sink *sink)
{
    struct device_facts facts = device_facts_unknown();
    uint64_t used = 0, bytes;
    char path[128];
    unsigned core = 0;
    for (;; core++, used += bytes) {
        string_print(path, sizeof path, "%s/neuron_core%u/stats/memory_usage/device_mem/total", entry->folder,
                     core);
        if (!host_read_u64(source->host, path, &bytes))
            break;
    }
    if (core > 0)
        facts.memory_used_bytes = used;
    facts.memory_total_bytes = entry->memory_bytes;
    sink_facts(sink, entry->device, &facts);
}

static void neuron_query(struct source *source, struct sink *sink)
{
    const struct neuron *neuron = source->data;
    if (!neuron->is_listed)
        list_devices(source);
    for (size_t i = 0; i < neuron->count; i++)
        query_device(source, &neuron->devices[i], sink);
}

static void neuron_close(struct source *source)
{
    const struct neuron *neuron = source->data;
    for (size_t i = 0; i < neuron->count; i++)
        host_close_handle(source->host, neuron->devices[i].power);
}

const struct source_ops source_neuron = {
    .name = "neuron",
    .measurement = "neuron",
    .tier = 1,
    .is_slow = true,
    .folder = FOLDER ":/dev/neuron*",
    .period_s = PERIOD_S,
    .open = neuron_open,
    .read = neuron_read,
    .query = neuron_query,
    .close = neuron_close,
};
