/* joule/attribute/attribute_table.c - see attribute_table.h. */
#include "joule/attribute/attribute_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <joule/devices.h>
#include "base/array.h"
#include "base/error.h"
#include "base/string.h"

/* Returns the entry of a process in a list sorted by id, or the place where it must be inserted. */
static struct seen_process *place_of(struct seen_process *items, size_t count, pid_t pid)
{
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (items[middle].pid < pid)
            low = middle + 1;
        else
            count = middle;
    }
    return &items[low];
}

/* Returns the entry of a process in a list sorted by id; NULL: none. */
static struct seen_process *find_in(struct seen_process *items, size_t count, pid_t pid)
{
    struct seen_process *at = place_of(items, count, pid);
    return at < items + count && at->pid == pid ? at : NULL;
}

struct seen_process *process_table_find(struct process_table *table, pid_t pid)
{
    return find_in(table->items, table->count, pid);
}

struct seen_process *process_table_outside(struct process_table *table, pid_t pid)
{
    struct seen_process *known = process_table_find(table, pid);
    if (known || !ARRAY_ROOM(table->items, table->capacity, table->count))
        return known;
    struct seen_process *at = place_of(table->items, table->count, pid), *end = table->items + table->count;
    memmove(at + 1, at, (size_t)(end - at) * sizeof *at);
    table->count++;
    *at = (struct seen_process){.pid = pid,
                                .is_outside = true,
                                .cpu_share = NAN,
                                .gpu_share = NAN,
                                .cpu_joules = NAN,
                                .cpu_watts = NAN,
                                .gpu_memory_bytes = JOULE_BYTES_UNKNOWN};
    return at;
}

/* --- updates -------------------------------------------------------------------------------------------- */

/* State of one process_table_update. */
struct update {
    struct process_table *table;
    double elapsed_s;
    struct seen_process *next, *ended;
    size_t count, ended_count;
};

/* Returns an entry for a new process. The CPU time that the process has used so far counts only if it started
 * after the last update. The kernel rounds start times down to a tick. */
static struct seen_process make_process(const struct update *update, const struct tree_process *seen)
{
    int64_t since_ns = update->table->updated_ns;
    double ticks_per_s = (double)sysconf(_SC_CLK_TCK);
    bool is_young = since_ns && (double)seen->start_ticks + 1 >= (double)since_ns * 1e-9 * ticks_per_s;
    return (struct seen_process){.pid = seen->pid,
                                 .start_ticks = seen->start_ticks,
                                 .gpu_share = NAN,
                                 .gpu_memory_bytes = JOULE_BYTES_UNKNOWN,
                                 .own_s = is_young ? 0 : seen->cpu_s - seen->children_s,
                                 .children_s = is_young ? 0 : seen->children_s};
}

/* Adds CPU seconds that a process used since the last update. */
static void add_step(const struct update *update, struct seen_process *process, double step_s)
{
    process->cpu_share += update->elapsed_s > 0 ? step_s / update->elapsed_s : 0;
    process->step_s += step_s;
}

/* Appends a process to update->next, and counts the CPU time that it used itself since the last update.
 * process: its entry so far. */
static void update_process(struct update *update, struct seen_process process,
                           const struct tree_process *seen)
{
    double own_s = seen->cpu_s - seen->children_s;
    process.parent = seen->parent;
    string_copy(process.name, sizeof process.name, seen->name);
    process.cpu_share = 0;
    add_step(update, &process, fmax(own_s - process.own_s, 0));
    process.own_s = own_s;
    update->next[update->count++] = process;
}

/* Moves a process to the list of ended processes and adds its joules to ended_joules. */
static void end_process(struct update *update, const struct seen_process *process)
{
    update->table->ended_joules += isnan(process->cpu_joules) ? 0 : process->cpu_joules;
    update->ended[update->ended_count++] = *process;
}

/* Appends a process that /proc does not show to update->next if a driver still reports it; otherwise ends
 * it. */
static void keep_or_end(struct update *update, const struct seen_process *process)
{
    if (process->is_outside && process->is_listed)
        update->next[update->count++] = *process;
    else
        end_process(update, process);
}

/* Fills update->next by merging both lists, which are sorted by process id. */
static void merge(struct update *update, const struct tree_process *seen, size_t seen_count)
{
    const struct seen_process *old = update->table->items, *end = old + update->table->count;
    for (size_t i = 0; i < seen_count; i++) {
        for (; old < end && old->pid < seen[i].pid; old++)
            keep_or_end(update, old);
        bool has_id = old < end && old->pid == seen[i].pid;
        bool is_known = has_id && !old->is_outside && old->start_ticks == seen[i].start_ticks;
        if (has_id && !is_known)
            end_process(update, old); /* a new process has the same id */
        update_process(update, is_known ? *old : make_process(update, &seen[i]), &seen[i]);
        old += has_id;
    }
    for (; old < end; old++)
        keep_or_end(update, old);
}

/* Adds the CPU time of children that a process has waited for. Excludes the time that was counted while the
 * children lived. children_s: total from /proc. */
static void take_children(const struct update *update, struct seen_process *process, double children_s)
{
    double missed_s = children_s - process->children_s - process->owed_s;
    process->owed_s = fmax(-missed_s, 0);
    add_step(update, process, fmax(missed_s, 0));
    process->children_s = children_s;
}

/* Returns the process whose children_s will include the CPU time of an ended process: its closest living
 * ancestor. NULL: none. */
static struct seen_process *find_living_ancestor(struct update *update, const struct seen_process *ended)
{
    struct seen_process *ancestor = NULL;
    /* The limit ends cycles, which reused ids can form. */
    for (size_t i = 0; ended && !ancestor && i <= update->ended_count; i++) {
        ancestor = find_in(update->next, update->count, ended->parent);
        ended = find_in(update->ended, update->ended_count, ended->parent);
    }
    return ancestor;
}

/* For each process, adds the CPU time of its children that have ended. Excludes the time that was counted
 * while the children lived. */
static void settle_children(struct update *update, const struct tree_process *seen, size_t seen_count)
{
    for (size_t i = 0; i < update->ended_count; i++) {
        const struct seen_process *ended = &update->ended[i];
        struct seen_process *ancestor = find_living_ancestor(update, ended);
        if (ancestor)
            ancestor->owed_s += ended->own_s + ended->children_s + ended->owed_s;
    }
    struct seen_process *process = update->next;
    for (size_t i = 0; i < seen_count; i++, process++) {
        while (process->pid != seen[i].pid)
            process++; /* skip processes that /proc does not show */
        if (seen[i].children_s != process->children_s)
            take_children(update, process, seen[i].children_s);
    }
}

/* Replaces the table's entries by the new ones. */
static void take_over(struct process_table *table, size_t count, int64_t now_ns)
{
    struct process_table old = *table;
    table->items = old.next;
    table->capacity = old.next_capacity;
    table->count = count;
    table->next = old.items;
    table->next_capacity = old.capacity;
    table->updated_ns = now_ns;
}

static int by_pid(const void *a, const void *b)
{
    pid_t left = ((const struct tree_process *)a)->pid, right = ((const struct tree_process *)b)->pid;
    return (left > right) - (left < right);
}

/* Sorts the list by id, and removes processes that have ended but were not waited for, and duplicate ids.
 * Returns the number left. */
static size_t keep_living(struct tree_process *seen, size_t count)
{
    size_t living = 0, kept = 0;
    for (size_t i = 0; i < count; i++)
        if (seen[i].is_alive)
            seen[living++] = seen[i];
    if (living)
        qsort(seen, living, sizeof *seen, by_pid);
    for (size_t i = 0; i < living; i++)
        if (kept == 0 || seen[kept - 1].pid != seen[i].pid)
            seen[kept++] = seen[i];
    return kept;
}

joule_status process_table_update(struct process_table *table, struct joule_host *host)
{
    struct arena arena = {0};
    struct tree_process *seen;
    int64_t now_ns = host->ops->clock_ns(host, CLOCK_BOOTTIME);
    ssize_t found = tree_read(host, &arena, &seen);
    size_t count = found > 0 ? keep_living(seen, (size_t)found) : 0;
    struct update update = {.table = table};
    update.ended = arena_alloc(&arena, (table->count + 1) * sizeof *update.ended);
    bool has_room = update.ended && array_reserve((void **)&table->next, &table->next_capacity,
                                                  count + table->count + 1, sizeof *table->next);
    if (found >= 0 && has_room) {
        update.next = table->next;
        update.elapsed_s = table->updated_ns ? (double)(now_ns - table->updated_ns) * 1e-9 : 0;
        table->ended_joules = 0;
        merge(&update, seen, count);
        settle_children(&update, seen, count);
        take_over(table, update.count, now_ns);
    }
    arena_free(&arena);
    return found < 0 ? status_of_errno((int)-found) : has_room ? JOULE_OK : JOULE_NO_MEMORY;
}

void process_table_free(struct process_table *table)
{
    free(table->items);
    free(table->next);
    *table = (struct process_table){0};
}
