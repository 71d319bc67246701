/* joule/sources/hwmon/hwmon_socket.c - finds the CPU package that belongs to a socket number of the firmware.
 * See hwmon.h.
 *
 * This file reads the package numbers below /sys/devices/system/cpu, one CPU for each package.
 * Note: a wrong number would count a package twice: measured under one number and modelled under the
 * other. */
#include <string.h>
#include "base/string.h"
#include "joule/sources/hwmon/hwmon.h"
#include "joule/sources/sysfs.h"

#define MAX_CPUS 8192

static bool read_list(struct source *source, unsigned cpu, const char *file, char *out_text, size_t size)
{
    char path[96];
    string_print(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/%s", cpu, file);
    return sysfs_read_text(source, path, out_text, size);
}

static void add_id(struct hwmon_sockets *sockets, unsigned id)
{
    size_t at = 0;
    while (at < sockets->count && sockets->ids[at] < id)
        at++;
    if (sockets->count == HWMON_MAX_SOCKETS || (at < sockets->count && sockets->ids[at] == id))
        return;
    memmove(&sockets->ids[at + 1], &sockets->ids[at], (sockets->count - at) * sizeof sockets->ids[0]);
    sockets->ids[at] = id;
    sockets->count++;
}

static void mark(unsigned cpu, void *context)
{
    if (cpu < MAX_CPUS)
        ((bool *)context)[cpu] = true;
}

static void read_sockets(struct source *source, struct hwmon_sockets *sockets)
{
    char **names, text[512];
    bool seen[MAX_CPUS] = {false};
    ssize_t count = source->host->ops->list(source->host, "/sys/devices/system/cpu", &source->arena, &names);
    for (ssize_t i = 0; i < count; i++) {
        unsigned cpu, id;
        if (!sysfs_parse_numbered(names[i], "cpu", &cpu) || cpu >= MAX_CPUS || seen[cpu] ||
            !cpu_read_topology(source->host, cpu, "physical_package_id", &id))
            continue;
        add_id(sockets, id);
        if (read_list(source, cpu, "package_cpus_list", text, sizeof text) ||
            read_list(source, cpu, "core_siblings_list", text, sizeof text))
            string_each_cpu(text, mark, seen);
    }
    sockets->is_read = true;
}

unsigned hwmon_package_of_socket(const struct hwmon_chip *chip, unsigned number)
{
    struct hwmon_sockets *sockets = chip->sockets;
    if (!sockets->is_read)
        read_sockets(chip->source, sockets);
    for (size_t i = 0; i < sockets->count; i++)
        if (sockets->ids[i] == number)
            return number;
    return number < sockets->count ? sockets->ids[number] : number;
}
