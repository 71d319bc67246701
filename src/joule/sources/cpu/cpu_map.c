/* joule/sources/cpu/cpu_map.c - see cpu_map.h.
 *
 * Note: units are the same as in the RAPL sources, so a package's modelled and measured energy are views of
 * one zone and are never added. */
#include "joule/sources/cpu/cpu_map.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/string.h"

#define CPU_FOLDER "/sys/devices/system/cpu/"
#define STAT_SIZE  8192
#define LIST_SIZE  4096
#define MAX_CPUS   8192 /* the kernel's upper limit (CONFIG_NR_CPUS); higher CPU numbers are ignored */

static bool read_cpu_file(struct joule_host *host, unsigned cpu, const char *name, char *buffer, size_t size)
{
    char path[128];
    string_print(path, sizeof path, CPU_FOLDER "cpu%u/%s", cpu, name);
    return host_read_text(host, path, buffer, size);
}

static double read_cpu_number(struct joule_host *host, unsigned cpu, const char *name)
{
    char text[64];
    double value;
    return read_cpu_file(host, cpu, name, text, sizeof text) && string_to_double(text, &value) ? value : NAN;
}

/* --- frequency ------------------------------------------------------------------------------------------ */

/* Returns the frequency in hertz that the vendor guarantees on all cores, or NaN if unknown. The frequency
 * comes from the driver, the firmware or the CPU's name. */
static double base_hz(struct joule_host *host, const struct cpu_info *info)
{
    double base_khz = read_cpu_number(host, 0, "cpufreq/base_frequency");
    if (base_khz > 0)
        return base_khz * 1e3;
    double nominal_mhz = read_cpu_number(host, 0, "acpi_cppc/nominal_freq");
    return nominal_mhz > 0 ? nominal_mhz * 1e6 : info->nominal_hz;
}

/* Returns the frequency in hertz at which the published power was measured, or NaN if unknown. Published
 * power is that of a CPU whose cores are all busy. Busy cores run between the base and the highest frequency,
 * so the result is the geometric mean of these two frequencies. */
static double reference_hz(struct joule_host *host, const struct cpu_info *info)
{
    double base = base_hz(host, info);
    double highest = read_cpu_number(host, 0, "cpufreq/cpuinfo_max_freq") * 1e3;
    if (!(highest > 0))
        return base;
    return base > 0 ? sqrt(base * highest) : highest;
}

double cpu_map_frequency_hz(struct joule_host *host, unsigned cpu)
{
    return read_cpu_number(host, cpu, "cpufreq/scaling_cur_freq") * 1e3;
}

/* --- topology ------------------------------------------------------------------------------------------- */

static void find_highest(unsigned cpu, void *context)
{
    struct cpu_map *map = context;
    if (cpu >= map->count && cpu < MAX_CPUS)
        map->count = cpu + 1;
}

static void mark_online(unsigned cpu, void *context)
{
    struct cpu_map *map = context;
    if (cpu < map->count)
        map->places[cpu].is_online = true;
}

/* Writes a CPU list "0-N", where N is the highest CPU number in /proc/stat. The list is used on machines that
 * hide the kernel's list of online CPUs. */
static void list_from_stat(struct joule_host *host, char *list, size_t size)
{
    char stat[STAT_SIZE] = "";
    unsigned cpu, highest = 0;
    host->ops->read_file(host, "/proc/stat", stat, sizeof stat);
    for (const char *line = stat; (line = strstr(line, "\ncpu")) != NULL; line++)
        if (sscanf(line, "\ncpu%5u ", &cpu) == 1 && cpu > highest && cpu < MAX_CPUS)
            highest = cpu;
    string_print(list, size, "0-%u", highest);
}

static unsigned find_unit(struct cpu_map *map, struct cpu_unit unit)
{
    for (unsigned i = 0; i < map->unit_count; i++)
        if (cpu_is_same_unit(map->units[i], unit))
            return i;
    map->units[map->unit_count] = unit;
    return map->unit_count++;
}

static struct cpu_unit unit_of(struct joule_host *host, const struct cpu_info *info, unsigned cpu)
{
    struct cpu_unit unit = {.die = -1};
    if (!info->is_virtual) /* the sockets that a guest sees are not those of the hardware */
        cpu_find_unit(host, info, cpu, &unit);
    return unit;
}

/* The place that all CPUs in one sysfs list share. Each CPU has a file that lists the CPUs of its core or
 * package. One of these files sets the place of all listed CPUs, so the other files are not read. Large
 * machines have thousands of these files. */
struct peers {
    struct cpu_map *map;
    struct cpu_place place;
};

static void share_core(unsigned cpu, void *context)
{
    const struct peers *peers = context;
    struct cpu_place *place = cpu < peers->map->count ? &peers->map->places[cpu] : NULL;
    if (place && !place->knows_core) {
        place->core = peers->place.core;
        place->knows_core = true;
    }
}

static void share_unit(unsigned cpu, void *context)
{
    const struct peers *peers = context;
    struct cpu_place *place = cpu < peers->map->count ? &peers->map->places[cpu] : NULL;
    if (place && !place->knows_unit) {
        place->unit = peers->place.unit;
        place->knows_unit = true;
    }
}

static void place_core(struct joule_host *host, struct cpu_map *map, unsigned cpu)
{
    char list[LIST_SIZE];
    double first;
    struct peers peers = {.map = map, .place.core = cpu};
    bool is_known = read_cpu_file(host, cpu, "topology/thread_siblings_list", list, sizeof list) &&
                    string_scan_double(list, &first);
    if (is_known && first >= 0 && first < map->count) {
        peers.place.core = (unsigned)first;
        string_each_cpu(list, share_core, &peers);
    }
    share_core(cpu, &peers);
}

static void place_unit(struct joule_host *host, struct cpu_map *map, unsigned cpu)
{
    char list[LIST_SIZE];
    struct cpu_unit unit = unit_of(host, &map->info, cpu);
    struct peers peers = {.map = map, .place.unit = find_unit(map, unit)};
    const char *file = unit.die >= 0 ? "topology/die_cpus_list" : "topology/core_siblings_list";
    if (map->info.is_virtual) /* a guest has one unit */
        for (unsigned i = 0; i < map->count; i++)
            share_unit(i, &peers);
    else if (read_cpu_file(host, cpu, file, list, sizeof list))
        string_each_cpu(list, share_unit, &peers);
    share_unit(cpu, &peers);
}

static bool place_cpus(struct joule_host *host, struct arena *arena, const char *online, struct cpu_map *map)
{
    map->count = 1;
    string_each_cpu(online, find_highest, map);
    map->places = arena_alloc(arena, map->count * sizeof *map->places);
    map->units = arena_alloc(arena, map->count * sizeof *map->units);
    if (!map->places || !map->units)
        return false;
    string_each_cpu(online, mark_online, map);
    for (unsigned i = 0; i < map->count; i++) {
        struct cpu_place *place = &map->places[i];
        if (!place->is_online)
            continue;
        if (!place->knows_unit)
            place_unit(host, map, i);
        if (!place->knows_core)
            place_core(host, map, i);
        map->cpu.threads++;
        map->cpu.cores += place->core == i;
    }
    cpu_unset_single_dies(map->units, map->unit_count, sizeof *map->units);
    if (map->unit_count == 0)
        map->units[map->unit_count++].die = -1;
    map->cpu.packages = map->unit_count;
    return true;
}

/* Sets the CPU's identity for the cost model. The model's table has entries only for Arm's own core designs.
 * Cores that licensees design are modelled as a generic Arm core. */
static void name_cpu(const struct cpu_info *info, struct cost_cpu *cpu)
{
    static const char *const vendors[] = {"intel", "amd", "hygon", "arm", ""};
    bool is_licensee = true;
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; i++)
        is_licensee = is_licensee && strcmp(info->vendor, vendors[i]) != 0;
    string_copy(cpu->vendor, sizeof cpu->vendor, is_licensee ? "arm" : info->vendor);
    string_copy(cpu->name, sizeof cpu->name, info->model);
    cpu->family = info->family;
    cpu->model = is_licensee ? 0 : info->number;
    cpu->is_virtual = info->is_virtual;
}

bool cpu_map_read(struct joule_host *host, const struct cpu_info *info, struct arena *arena,
                  struct cpu_map *out_map)
{
    char online[1024];
    *out_map = (struct cpu_map){.info = *info};
    name_cpu(info, &out_map->cpu);
    out_map->reference_hz = reference_hz(host, info);
    if (!host_read_text(host, CPU_FOLDER "online", online, sizeof online) || !*online)
        list_from_stat(host, online, sizeof online);
    return place_cpus(host, arena, online, out_map);
}

bool cpu_map_identify(struct joule_host *host, struct cost_cpu *out_cpu)
{
    struct arena arena = {0};
    struct cpu_info info;
    struct cpu_map map;
    cpu_info_read(host, &info);
    bool done = cpu_map_read(host, &info, &arena, &map);
    if (done)
        *out_cpu = map.cpu;
    arena_free(&arena);
    return done;
}
