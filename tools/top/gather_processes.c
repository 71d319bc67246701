/* tools/top/gather_processes.c - see gather.h. */
#include "gather.h"

#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/string.h"

struct known_process {
    pid_t pid;
    uint64_t start_ticks;
    char name[TREE_NAME]; /* name at the time when user and command were read; a name changes at exec */
    char user[16];
    char command[160];
};

/* Reads the user of a process: the user's name, or the user id if there is no name. */
static void read_user(struct joule_host *host, pid_t pid, char out_user[16])
{
    char path[48], text[2048];
    unsigned uid;
    string_print(path, sizeof path, "/proc/%d/status", (int)pid);
    *out_user = '\0';
    const char *line =
        host->ops->read_file(host, path, text, sizeof text) > 0 ? strstr(text, "\nUid:") : NULL;
    if (!line || sscanf(line, "\nUid: %u", &uid) != 1)
        return;
    const struct passwd *entry = host == host_real() ? getpwuid((uid_t)uid) : NULL;
    if (entry)
        string_copy(out_user, 16, entry->pw_name);
    else
        string_print(out_user, 16, "%u", uid);
}

/* Reads the command line, whose arguments end in zero bytes. A kernel thread has no command line, so its name
 * is shown in brackets. */
static void read_command(struct joule_host *host, struct known_process *known)
{
    char path[48];
    string_print(path, sizeof path, "/proc/%d/cmdline", (int)known->pid);
    ssize_t length = host->ops->read_file(host, path, known->command, sizeof known->command);
    for (ssize_t i = 0; i + 1 < length; i++)
        if (known->command[i] == '\0' || known->command[i] == '\n')
            known->command[i] = ' ';
    if (length <= 0 || !*string_trim(known->command))
        string_print(known->command, sizeof known->command, "[%s]", known->name);
}

static int by_pid(const void *a, const void *b)
{
    pid_t left = ((const struct known_process *)a)->pid, right = ((const struct known_process *)b)->pid;
    return (left > right) - (left < right);
}

static const struct known_process *find_known(const struct gathering *g, const struct seen_process *process)
{
    struct known_process wanted = {.pid = process->pid};
    const struct known_process *known =
        g->known_count ? bsearch(&wanted, g->known, g->known_count, sizeof *g->known, by_pid) : NULL;
    bool is_same =
        known && known->start_ticks == process->start_ticks && strcmp(known->name, process->name) == 0;
    return is_same ? known : NULL;
}

static struct known_process describe_process(struct gathering *g, const struct seen_process *process)
{
    const struct known_process *known = find_known(g, process);
    if (known)
        return *known;
    struct known_process fresh = {.pid = process->pid, .start_ticks = process->start_ticks};
    string_copy(fresh.name, sizeof fresh.name, process->name);
    if (process->is_outside) {
        string_copy(fresh.command, sizeof fresh.command, "(of another container)");
        return fresh;
    }
    read_user(g->meter->host, process->pid, fresh.user);
    read_command(g->meter->host, &fresh);
    return fresh;
}

static joule_class weaker(joule_class a, joule_class b)
{
    return a > b ? a : b;
}

/* Returns the sum over all devices. sums[0] is the CPUs. */
static struct live_sum all_devices(const struct live_sum *sums, size_t count)
{
    struct live_sum all = {.cls = JOULE_CLASS_NONE};
    for (size_t i = 1; i < count; i++) {
        all.total_joules += sums[i].total_joules;
        all.alive_joules += sums[i].alive_joules;
        all.ended_joules += sums[i].ended_joules;
        all.idle_joules += sums[i].idle_joules;
        all.rest_joules += sums[i].rest_joules;
        all.cls = weaker(all.cls, sums[i].cls);
        all.relative_sd = fmax(all.relative_sd, sums[i].relative_sd);
    }
    return all;
}

static joule_quantity add(joule_quantity a, joule_quantity b)
{
    if (isnan(a.value) || isnan(b.value))
        return isnan(a.value) ? b : a;
    double low = hypot(a.value - a.low, b.value - b.low), high = hypot(a.high - a.value, b.high - b.value);
    double value = a.value + b.value;
    return (joule_quantity){value, value - low, value + high, weaker(a.cls, b.cls), 0};
}

static void fill(struct process_row *row, const struct seen_process *process,
                 const struct known_process *known, const struct live_sum *cpu,
                 const struct live_sum *devices)
{
    *row = (struct process_row){.pid = process->pid,
                                .start_ticks = process->start_ticks,
                                .is_outside = process->is_outside,
                                .cpu_share = process->cpu_share,
                                .gpu_share = process->gpu_share,
                                .gpu_memory_bytes = process->gpu_memory_bytes};
    string_copy(row->user, sizeof row->user, known->user);
    string_copy(row->command, sizeof row->command, known->command);
    bool has_cpu = cpu->cls != JOULE_CLASS_NONE && !isnan(process->cpu_joules);
    bool has_gpu = devices->cls != JOULE_CLASS_NONE && process->gpu_joules > 0;
    row->watts =
        has_cpu || has_gpu ? (has_cpu ? process->cpu_watts : 0) + (has_gpu ? process->gpu_watts : 0) : NAN;
    joule_quantity none = quantity_unknown();
    row->joules = add(has_cpu ? live_quantity(cpu, process->cpu_joules) : none,
                      has_gpu ? live_quantity(devices, process->gpu_joules) : none);
    row->cls = row->joules.cls;
}

/* Stores the entries for the next tick; `fresh` has one entry per process, sorted by id. */
static void store_known(struct gathering *g, const struct known_process *fresh, size_t count)
{
    if (array_reserve((void **)&g->known, &g->known_capacity, count, sizeof *g->known)) {
        memcpy(g->known, fresh, count * sizeof *fresh);
        g->known_count = count;
    }
}

void gather_processes(struct gathering *g, struct model *model)
{
    size_t count, sum_count;
    const struct seen_process *list = live_processes(g->live, &count);
    const struct live_sum *sums = live_sums(g->live, &sum_count);
    struct live_sum devices = all_devices(sums, sum_count);
    struct arena arena = {0};
    struct known_process *fresh = count ? arena_alloc(&arena, count * sizeof *fresh) : NULL;
    bool all_use = true; /* no driver reports which processes use the device of the detail view */
    for (size_t i = 1; i < sum_count; i++)
        all_use = all_use && strcmp(sums[i].device, model->detail) != 0;
    bool is_reserved =
        array_reserve((void **)&model->processes, &model->process_capacity, count, sizeof *model->processes);
    model->process_count = 0;
    for (size_t i = 0; fresh && is_reserved && i < count; i++) {
        fresh[i] = describe_process(g, &list[i]);
        struct process_row *row = &model->processes[model->process_count++];
        fill(row, &list[i], &fresh[i], &sums[0], &devices);
        row->uses_detail = all_use || live_uses(g->live, &list[i], model->detail);
    }
    if (fresh && is_reserved)
        store_known(g, fresh, count);
    arena_free(&arena);
    model->sums = (struct sums){.total = sums[0].total_joules + devices.total_joules,
                                .processes = sums[0].alive_joules + devices.alive_joules,
                                .ended = sums[0].ended_joules + devices.ended_joules,
                                .idle = sums[0].idle_joules + devices.idle_joules,
                                .rest = sums[0].rest_joules + devices.rest_joules};
}
