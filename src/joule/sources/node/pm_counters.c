/* joule/sources/node/pm_counters.c - the source "pm_counters": energy counters of an HPE Cray node's
 * controller.
 *
 * The source reads the files below /sys/cray/pm_counters: joules of the node, its CPUs, its memory and each
 * accelerator.
 * Note: one counter covers all CPU sockets, and one counter covers all memory. It is unknown to which PCI
 * device an accelerator's counter belongs. Counters of accelerators, and on machines with several sockets
 * those of CPUs and memory, are therefore listed but are in no total. Otherwise energy that is also measured
 * for each socket or board would count twice. The node's counter includes all others. */
#include <math.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#include "joule/sources/cpu/cpu_map.h"
#include "joule/sources/source.h"
#include "joule/sources/sysfs.h"

#define FOLDER           "/sys/cray/pm_counters"
#define PERIOD_S         0.05 /* half of the controller's scan period, so that no scan is missed */
#define SCAN_HZ          10   /* scans per second if raw_scan_hz does not report their number */
#define STALE_S          3    /* a controller without a new scan for this time has stopped */
#define TRIES            3    /* attempts to read all counters of one scan */
#define GAIN_SD          0.03 /* assumed, as for power supplies */
#define FIRST_CAUSE      320  /* first instance of CAUSE_HWMON_GAIN */
#define MAX_NODE_WATTS   20000.0
#define MAX_DEVICE_WATTS 5000.0
#define ACCELERATORS     8
#define COUNTERS         (3 + ACCELERATORS)

struct pm_counter {
    struct channel *channel;
    int handle;
    joule_status status; /* status of the last reading */
    uint64_t joules;
};

struct pm_counters {
    struct pm_counter counters[COUNTERS];
    size_t count;
    int freshness;      /* handle of the file `freshness`; < 0: none */
    uint64_t scan;      /* number of the last scan */
    int64_t scanned_ns; /* time when the scan number last changed */
};

/* --- opening -------------------------------------------------------------------------------------------- */

static double scan_period_s(struct source *source)
{
    uint64_t hertz;
    bool is_known = host_read_u64(source->host, FOLDER "/raw_scan_hz", &hertz) && hertz >= 1 && hertz <= 1000;
    return 1.0 / (is_known ? (double)hertz : SCAN_HZ);
}

static struct channel *add_counter(struct source *source, const char *file, const char *name,
                                   const char *label)
{
    struct pm_counters *pm = source->data;
    int handle = source->host->ops->open_file(source->host, file);
    joule_status status = handle < 0 ? status_of_errno(-handle) : JOULE_OK;
    struct channel *ch = status == JOULE_ABSENT ? NULL : source_add_channel(source);
    if (!ch) {
        host_close_handle(source->host, handle);
        return NULL;
    }
    pm->counters[pm->count] = (struct pm_counter){.channel = ch, .handle = handle};
    ch->mode = CHANNEL_COUNTER;
    ch->rank = RANK_DRIVER;
    ch->info.scope = JOULE_SCOPE_RAIL;
    ch->info.state = status;
    if (status == JOULE_DENIED)
        string_print(ch->info.remedy, sizeof ch->info.remedy, "run as root, or: sudo chmod a+r %s", file);
    string_copy(ch->info.name, sizeof ch->info.name, name);
    string_copy(ch->info.label, sizeof ch->info.label, label);
    string_copy(ch->info.device, sizeof ch->info.device, "node");
    string_copy(ch->info.vendor, sizeof ch->info.vendor, "hpe");
    string_print(ch->zone, sizeof ch->zone, "node/%s", name);
    string_copy(ch->parent_zone, sizeof ch->parent_zone, "node");
    ch->gain_sd = GAIN_SD;
    ch->cause = CAUSE(CAUSE_HWMON_GAIN, FIRST_CAUSE + pm->count++);
    ch->counter.unit_joules = 1;
    ch->counter.max_watts = MAX_DEVICE_WATTS;
    ch->counter.tick_s = ch->info.update_period_s = scan_period_s(source);
    return ch;
}

static void add_node(struct source *source)
{
    struct channel *ch = add_counter(source, FOLDER "/energy", "node", "the whole node");
    if (!ch)
        return;
    ch->info.scope = JOULE_SCOPE_NODE;
    ch->counter.max_watts = MAX_NODE_WATTS;
    string_copy(ch->zone, sizeof ch->zone, "node");
    ch->parent_zone[0] = '\0';
}

/* If the machine has only one package, makes the channel a view of the package or of its memory. */
static void set_part(struct source *source, struct channel *ch, joule_scope scope, const char *part)
{
    struct cpu_map map;
    if (!ch || !cpu_map_read(source->host, source->cpu, &source->arena, &map) || map.unit_count != 1)
        return;
    struct cpu_unit unit = map.units[0];
    ch->info.scope = scope;
    ch->info.device_index = (int32_t)unit.package;
    ch->rank = RANK_BOARD;
    ch->parent_zone[0] = '\0';
    cpu_unit_zone(unit, part, ch->zone, sizeof ch->zone);
    cpu_unit_name(unit, part, ch->info.name, sizeof ch->info.name);
    string_print(ch->info.device, sizeof ch->info.device, "%s:%u",
                 scope == JOULE_SCOPE_DRAM ? "memory" : "cpu", unit.package);
}

static void add_accelerators(struct source *source)
{
    for (unsigned i = 0; i < ACCELERATORS; i++) {
        char file[64], name[16];
        string_print(file, sizeof file, FOLDER "/accel%u_energy", i);
        string_print(name, sizeof name, "accel-%u", i);
        struct channel *ch = add_counter(source, file, name, "an accelerator, by the node's controller");
        if (ch)
            ch->info.tier = 3;
    }
}

/* Opens the file `freshness`. Returns its handle. Negative: the file is missing or has no number. */
static int open_freshness(struct joule_host *host)
{
    int64_t scan;
    int handle = host->ops->open_file(host, FOLDER "/freshness");
    if (handle < 0 || sysfs_read_i64(host, handle, &scan) == JOULE_OK)
        return handle;
    host->ops->close_handle(host, handle);
    return -1;
}

static joule_status pm_open(struct source *source)
{
    struct pm_counters *pm = source->data = arena_alloc(&source->arena, sizeof *pm);
    if (!pm)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    pm->freshness = open_freshness(source->host);
    add_node(source);
    set_part(source, add_counter(source, FOLDER "/cpu_energy", "cpus", "all CPU sockets"),
             JOULE_SCOPE_PACKAGE, "package");
    set_part(source, add_counter(source, FOLDER "/memory_energy", "memory", "all memory"), JOULE_SCOPE_DRAM,
             "dram");
    add_accelerators(source);
    if (source->channel_count)
        return JOULE_OK;
    host_close_handle(source->host, pm->freshness);
    return source_set_state(source, JOULE_ABSENT, "no " FOLDER ": this is not an HPE Cray node");
}

/* --- reading -------------------------------------------------------------------------------------------- */

/* Parses "215334 J 1386019873123456 us"; the number after the unit is the controller's time. */
static bool parse_joules(const char *text, uint64_t *out_joules)
{
    char number[24];
    size_t digits = strspn(text, "0123456789");
    const char *unit = text + digits + strspn(text + digits, " ");
    if (digits == 0 || digits >= sizeof number || unit[0] != 'J' || (unit[1] && !strchr(" \n", unit[1])))
        return false;
    memcpy(number, text, digits);
    number[digits] = '\0';
    return string_to_u64(number, 10, out_joules);
}

static void read_counter(struct joule_host *host, struct pm_counter *counter)
{
    char text[64];
    ssize_t length = host->ops->read_handle(host, counter->handle, text, sizeof text);
    if (length < 0)
        counter->status = status_of_errno((int)-length);
    else
        counter->status = parse_joules(text, &counter->joules) ? JOULE_OK : JOULE_FAILED;
}

static uint64_t read_scan(struct joule_host *host, const struct pm_counters *pm)
{
    int64_t scan = 0;
    if (pm->freshness >= 0)
        sysfs_read_i64(host, pm->freshness, &scan);
    return (uint64_t)scan;
}

/* Reads all counters of one scan, whose number must be the same before and after. Returns false if a new scan
 * begins during each of TRIES attempts. */
static bool read_scan_whole(struct joule_host *host, struct pm_counters *pm, uint64_t *out_scan)
{
    for (int i = 0; i < TRIES; i++) {
        *out_scan = read_scan(host, pm);
        for (size_t k = 0; k < pm->count; k++)
            if (pm->counters[k].handle >= 0)
                read_counter(host, &pm->counters[k]);
        if (read_scan(host, pm) == *out_scan)
            return true;
    }
    return false;
}

/* Returns true if the controller has stopped scanning. */
static bool is_stale(struct pm_counters *pm, uint64_t scan, int64_t now_ns)
{
    if (pm->scanned_ns == 0 || scan != pm->scan)
        pm->scanned_ns = now_ns;
    pm->scan = scan;
    return pm->freshness >= 0 && now_ns - pm->scanned_ns > (int64_t)STALE_S * 1000000000;
}

static void pm_read(struct source *source, struct sink *sink)
{
    struct pm_counters *pm = source->data;
    uint64_t scan;
    int64_t before_ns = sink_now(sink);
    bool is_whole = read_scan_whole(source->host, pm, &scan);
    int64_t after_ns = sink_now(sink);
    bool is_old = is_stale(pm, scan, after_ns);
    for (size_t i = 0; i < pm->count; i++) {
        const struct pm_counter *counter = &pm->counters[i];
        joule_status status = is_old ? JOULE_STALE : is_whole ? counter->status : JOULE_FAILED;
        if (counter->handle < 0)
            continue;
        if (status == JOULE_OK)
            sink_counter(sink, counter->channel, before_ns, after_ns, counter->joules);
        else
            sink_fail(sink, counter->channel, status);
    }
}

static void pm_close(struct source *source)
{
    struct pm_counters *pm = source->data;
    if (!pm)
        return;
    host_close_handle(source->host, pm->freshness);
    for (size_t i = 0; i < pm->count; i++)
        host_close_handle(source->host, pm->counters[i].handle);
}

const struct source_ops source_pm_counters = {
    .name = "pm_counters",
    .measurement = "pm_counters",
    .tier = 2,
    .is_slow = true,
    .folder = FOLDER,
    .period_s = PERIOD_S,
    .open = pm_open,
    .read = pm_read,
    .close = pm_close,
};
