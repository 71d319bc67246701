/* joule/sources/cpu/rapl_powercap.c - the source "rapl_powercap": RAPL energy from the powercap folders of
 * sysfs.
 *
 * The source reads the zones of the control types intel-rapl and intel-rapl-mmio; AMD's zones are named
 * intel-rapl too.
 * Note: the numbers in a zone's id are hexadecimal and have no meaning; the file `name` identifies the zone.
 * A zone of intel-rapl-mmio repeats a zone of intel-rapl and is used only if the latter cannot be read. On
 * AMD, the zone `core` covers only one core and is not used. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/cpu/rapl.h"

#define CLASS "/sys/class/powercap"

#define REMEDY_DENIED                                                                                        \
    "sudo chmod a+r " CLASS "/*/energy_uj (until reboot), or run as root; prefer the remedy of rapl_perf"
#define REMEDY_MASKED                                                                                        \
    "hidden by the container: docker run --security-opt systempaths=unconfined, or podman run "              \
    "--security-opt unmask=/sys/devices/virtual/powercap"

struct zone {
    const char *id; /* such as "intel-rapl:a:0" */
    bool is_mmio;
    enum rapl_domain domain;
    struct rapl_place place;
    char name[64];
    int handle; /* handle of energy_uj, or -errno */
};

static bool read_zone_file(struct source *source, const char *id, const char *file, char *text, size_t size)
{
    char path[256];
    string_print(path, sizeof path, CLASS "/%s/%s", id, file);
    return host_read_text(source->host, path, text, size);
}

/* Parses "package-1" or "package-0-die-1". */
static bool parse_package(const char *name, struct cpu_unit *out_unit)
{
    unsigned package;
    int die = -1, end = 0;
    if (sscanf(name, "package-%5u%n", &package, &end) != 1)
        return false;
    if (name[end] != '\0' && (sscanf(name + end, "-die-%5d%n", &die, &end) != 1 || die < 0))
        return false;
    *out_unit = (struct cpu_unit){package, die};
    return true;
}

/* Finds the domain of a zone below a package by its name. */
static bool parse_part(const char *name, enum rapl_domain *out_domain)
{
    static const struct {
        const char *name;
        enum rapl_domain domain;
    } parts[] = {{"core", RAPL_CORES}, {"uncore", RAPL_UNCORE}, {"dram", RAPL_DRAM}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (strcmp(name, parts[i].name) == 0) {
            *out_domain = parts[i].domain;
            return true;
        }
    }
    return false;
}

static bool parse_psys(const char *name, struct zone *out_zone)
{
    out_zone->domain = RAPL_PSYS;
    out_zone->place = (struct rapl_place){.unit.die = -1};
    return strcmp(name, "psys") == 0 || sscanf(name, "psys-%5u", &out_zone->place.unit.package) == 1;
}

/* Sets the name, domain and place of the zone `id`. Returns false if it is unknown what the zone covers. */
static bool identify(struct source *source, const char *id, struct zone *out_zone)
{
    if (!read_zone_file(source, id, "name", out_zone->name, sizeof out_zone->name))
        return false;
    if (parse_psys(out_zone->name, out_zone))
        return true;
    out_zone->domain = RAPL_PACKAGE;
    if (parse_package(out_zone->name, &out_zone->place.unit))
        return true;
    char parent[64], parent_name[64];
    string_copy(parent, sizeof parent, id);
    char *last = strrchr(parent, ':');
    if (last == strchr(parent, ':'))
        return false; /* no parent zone */
    *last = '\0';
    const struct rapl *rapl = source->data;
    return parse_part(out_zone->name, &out_zone->domain) &&
           !(out_zone->domain == RAPL_CORES && cpu_is_amd(rapl->cpu)) &&
           read_zone_file(source, parent, "name", parent_name, sizeof parent_name) &&
           parse_package(parent_name, &out_zone->place.unit);
}

/* Returns the modulus of the counter in microjoules, or 0 if it is unknown or invalid. The register has 32
 * bits, so the modulus is 2^32 register units, but max_energy_range_uj is only 2^32 - 1 units. */
static uint64_t read_modulus(struct source *source, const char *id)
{
    char path[256];
    uint64_t range;
    string_print(path, sizeof path, CLASS "/%s/max_energy_range_uj", id);
    if (!host_read_u64(source->host, path, &range) || range == 0 || range > UINT64_MAX / 2)
        return 0;
    return range + (range < UINT32_MAX ? 1 : range / UINT32_MAX);
}

static bool is_same_part(const struct zone *a, const struct zone *b)
{
    return a->domain == b->domain && cpu_is_same_unit(a->place.unit, b->place.unit);
}

/* Returns true for an mmio zone that repeats another zone's registers, unless only the mmio zone can be
 * read. */
static bool is_duplicate(const struct zone *zones, size_t count, const struct zone *zone)
{
    for (size_t i = 0; zone->is_mmio && i < count; i++)
        if (!zones[i].is_mmio && is_same_part(&zones[i], zone))
            return zones[i].handle >= 0 || zone->handle < 0;
    return false;
}

static void attach(struct rapl_reading *reading, int handle)
{
    if (handle == -ENOENT)
        rapl_set_handle(reading, -EOPNOTSUPP, "this zone sets limits only: it has no energy counter");
    else if (handle == -EACCES || handle == -EPERM)
        rapl_set_handle(reading, handle, REMEDY_DENIED);
    else
        rapl_set_handle(reading, handle, handle < 0 ? strerror(-handle) : "");
}

static void close_zone(struct source *source, const struct zone *zone)
{
    if (zone->handle >= 0)
        source->host->ops->close_handle(source->host, zone->handle);
}

static void add_zone(struct source *source, const struct zone *zone)
{
    struct rapl_reading *reading = rapl_add(source, zone->domain, &zone->place, zone->name);
    if (!reading) {
        close_zone(source, zone);
        return;
    }
    struct channel *channel = reading->channel;
    channel->rank = zone->is_mmio ? RANK_POWERCAP_MMIO : RANK_POWERCAP;
    channel->counter.unit_joules = 1e-6;
    channel->counter.modulus = read_modulus(source, zone->id);
    attach(reading, zone->handle);
}

/* Writes the RAPL zones among `names` to `zones`, and opens their counters. Returns their number. */
static size_t find_zones(struct source *source, char **names, size_t count, struct zone *zones)
{
    struct rapl *rapl = source->data;
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        struct zone *zone = &zones[found];
        char path[256];
        zone->is_mmio = string_starts(names[i], "intel-rapl-mmio:");
        if ((!zone->is_mmio && !string_starts(names[i], "intel-rapl:")) || !identify(source, names[i], zone))
            continue;
        zone->id = names[i];
        string_print(path, sizeof path, CLASS "/%s/energy_uj", zone->id);
        zone->handle = source->host->ops->open_file(source->host, path);
        rapl->has_psys = rapl->has_psys || zone->domain == RAPL_PSYS;
        found++;
    }
    return found;
}

/* Returns true if a container has an empty folder mounted over the zones. The links in CLASS then have no
 * target. */
static bool is_masked(struct source *source, char **names, size_t count)
{
    char path[256], target[256];
    for (size_t i = 0; i < count; i++) {
        string_print(path, sizeof path, CLASS "/%s", names[i]);
        if (!string_starts(names[i], "intel-rapl:") ||
            source->host->ops->read_link(source->host, path, target, sizeof target) < 0)
            continue;
        string_print(path, sizeof path, CLASS "/%s/name", names[i]);
        if (source->host->ops->read_file(source->host, path, target, sizeof target) == -ENOENT)
            return true;
    }
    return false;
}

static joule_status set_failure(struct source *source, char **names, size_t count)
{
    const struct rapl *rapl = source->data;
    if (is_masked(source, names, count)) {
        struct rapl_reading *reading =
            rapl_add(source, RAPL_PACKAGE, &(struct rapl_place){.unit.die = -1}, "intel-rapl");
        if (reading) {
            reading->channel->rank = RANK_POWERCAP;
            rapl_set_handle(reading, -EACCES, REMEDY_MASKED);
        }
        return rapl_set_state(source);
    }
    if (rapl->cpu->is_virtual)
        return source_set_state(source, JOULE_ABSENT,
                                "a virtual machine without powercap zones: ask the host's operator");
    return source_set_state(source, JOULE_ABSENT, "no powercap zones: sudo modprobe intel_rapl_msr");
}

static joule_status open_rapl_powercap(struct source *source)
{
    char **names = NULL;
    if (!rapl_create(source))
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    ssize_t count = source->host->ops->list(source->host, CLASS, &source->arena, &names);
    if (count < 0)
        count = 0;
    struct zone *zones = arena_alloc(&source->arena, ((size_t)count + 1) * sizeof *zones);
    if (!zones)
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    size_t found = find_zones(source, names, (size_t)count, zones);
    if (found == 0)
        return set_failure(source, names, (size_t)count);
    for (size_t i = 0; i < found; i++) {
        if (is_duplicate(zones, found, &zones[i]))
            close_zone(source, &zones[i]);
        else
            add_zone(source, &zones[i]);
    }
    return rapl_set_state(source);
}

static int read_microjoules(struct joule_host *host, const struct rapl_reading *reading, uint64_t *out_raw)
{
    char text[32];
    ssize_t length = host->ops->read_handle(host, reading->handle, text, sizeof text);
    if (length < 0)
        return (int)length;
    return string_to_u64(text, 10, out_raw) ? 0 : -EIO;
}

static void read_rapl_powercap(struct source *source, struct sink *sink)
{
    rapl_read(source, sink, read_microjoules);
}

const struct source_ops source_rapl_powercap = {
    .name = "rapl_powercap",
    .measurement = "rapl",
    .tier = 2,
    .open = open_rapl_powercap,
    .read = read_rapl_powercap,
    .close = rapl_close,
    .close_channel = rapl_close_channel,
};
