/* tools/top/gather_machine.c - see gather.h. */
#include "gather.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/string.h"

#define LINE_BYTES 160 /* maximum length of a CPU's line in /proc/stat */

/* --- memory --------------------------------------------------------------------------------------------- */

static void update_memory(struct joule_host *host, struct model *model)
{
    char text[4096];
    model->memory_used_bytes = model->memory_total_bytes = JOULE_BYTES_UNKNOWN;
    if (host->ops->read_file(host, "/proc/meminfo", text, sizeof text) <= 0)
        return;
    uint64_t total = string_meminfo_bytes(text, "MemTotal:"),
             available = string_meminfo_bytes(text, "MemAvailable:");
    model->memory_total_bytes = total;
    if (total != JOULE_BYTES_UNKNOWN && available <= total)
        model->memory_used_bytes = total - available;
}

/* --- processors ----------------------------------------------------------------------------------------- */

/* Parses a line "cpu3 user nice system idle iowait irq softirq ...". These fields are busy time, except idle
 * and iowait. Returns false for other lines. */
static bool parse_line(const char *line, unsigned *out_cpu, uint64_t *out_busy, uint64_t *out_all)
{
    enum { IDLE = 3, IOWAIT = 4, FIELDS = 7 };
    char *at = NULL;
    if (!string_starts(line, "cpu") || line[3] < '0' || line[3] > '9')
        return false;
    *out_cpu = (unsigned)strtoul(line + 3, &at, 10);
    *out_busy = *out_all = 0;
    for (int i = 0; i < FIELDS; i++) {
        if (at[0] != ' ' || at[1] < '0' || at[1] > '9')
            return false;
        uint64_t ticks = strtoull(at, &at, 10);
        *out_all += ticks;
        *out_busy += i == IDLE || i == IOWAIT ? 0 : ticks;
    }
    return true;
}

/* Sums the ticks of CPUs by the kernel's package number. Returns false if packages are unknown or /proc/stat
 * cannot be read. */
static bool read_packages(struct machine *machine, struct joule_host *host, uint64_t busy[MAX_PACKAGES],
                          uint64_t all[MAX_PACKAGES])
{
    if (!machine->has_map || !machine->text ||
        host->ops->read_file(host, "/proc/stat", machine->text, machine->text_size) <= 0)
        return false;
    for (const char *line = machine->text; line && string_starts(line, "cpu");) {
        unsigned cpu;
        uint64_t cpu_busy, cpu_all;
        if (parse_line(line, &cpu, &cpu_busy, &cpu_all) && cpu < machine->map.count) {
            unsigned package = machine->map.units[machine->map.places[cpu].unit].package;
            if (package < MAX_PACKAGES) {
                busy[package] += cpu_busy;
                all[package] += cpu_all;
            }
        }
        line = strchr(line, '\n');
        line += line ? 1 : 0;
    }
    return true;
}

/* Reads the sums of all packages and stores them for the next tick. If `model` is not NULL, sets the load of
 * processor rows since the last tick. */
static void update_packages(struct machine *machine, struct joule_host *host, struct model *model)
{
    uint64_t busy[MAX_PACKAGES] = {0}, all[MAX_PACKAGES] = {0};
    if (!read_packages(machine, host, busy, all))
        return;
    for (size_t i = 0; model && i < model->device_count; i++) {
        struct device_row *row = &model->devices[i];
        uint64_t package;
        if (!string_starts(row->name, "cpu:") || !string_to_u64(row->name + 4, 10, &package) ||
            package >= MAX_PACKAGES)
            continue;
        uint64_t before_busy = machine->last[package].busy, before_all = machine->last[package].all;
        if (before_all && all[package] > before_all && busy[package] >= before_busy && isnan(row->busy))
            row->busy = (double)(busy[package] - before_busy) / (double)(all[package] - before_all);
    }
    for (unsigned p = 0; p < MAX_PACKAGES; p++) {
        machine->last[p].busy = busy[p];
        machine->last[p].all = all[p];
    }
}

/* Note: a single processor row shows the load of the whole machine, and a single memory row shows the use of
 * all memory. */
void gather_machine(struct machine *machine, joule_meter *meter, const struct live *live, struct model *model)
{
    struct device_row *cpu = NULL, *memory = NULL;
    size_t cpus = 0, memories = 0, count;
    model->cpu_busy = live_sums(live, &count)[0].busy;
    update_memory(meter->host, model);
    for (size_t i = 0; i < model->device_count; i++) {
        struct device_row *row = &model->devices[i];
        if (string_starts(row->name, "cpu:") && ++cpus)
            cpu = row;
        if (string_starts(row->name, "memory:") && ++memories)
            memory = row;
    }
    if (cpus == 1 && isnan(cpu->busy))
        cpu->busy = model->cpu_busy;
    else if (cpus > 1)
        update_packages(machine, meter->host, model);
    if (memories == 1) {
        memory->memory_used_bytes = model->memory_used_bytes;
        memory->memory_total_bytes = model->memory_total_bytes;
    }
}

/* --- open and close ------------------------------------------------------------------------------------- */

void gather_machine_open(struct machine *machine, joule_meter *meter)
{
    struct cpu_info info;
    cpu_info_read(meter->host, &info);
    machine->has_map = cpu_map_read(meter->host, &info, &machine->arena, &machine->map);
    machine->text_size = LINE_BYTES * ((size_t)machine->map.count + 1);
    machine->text = arena_alloc(&machine->arena, machine->text_size);
    if (machine->map.unit_count > 1)
        update_packages(machine, meter->host, NULL);
}

void gather_machine_close(struct machine *machine)
{
    arena_free(&machine->arena);
}
