/* joule/attribute/attribute_process.c - see attribute_process.h.
 *
 * Note: half of the rows are reserved for processes that have run for ten seconds. So short processes cannot
 * take all rows, and the number of series per day is bounded. A row stays for five minutes after its process
 * ended, so that infrequent scrapes see its final value. If the row is needed, a running process loses it
 * five minutes after the process was last among the largest. A process that gets a row again counts from
 * 0.
 */
#include "joule/attribute/attribute_process.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/array.h"
#include "base/string.h"
#include "joule/attribute/attribute.h"
#include "joule/meter/engine.h"

#define PICK_NS 10000000000LL
#define KEPT_NS 300000000000LL

/* --- shares --------------------------------------------------------------------------------------------- */

/* Returns the process of a row; NULL: it has ended. */
static struct seen_process *process_of(struct process_shares *shares, const struct process_row *row)
{
    struct seen_process *process = process_table_find(&shares->table, row->pid);
    return process && process->start_ticks == row->start_ticks ? process : NULL;
}

/* Returns the row of a process; NULL: none. */
static struct process_row *row_of(struct process_shares *shares, const struct seen_process *process)
{
    for (size_t i = 0; i < shares->count; i++)
        if (shares->rows[i].pid == process->pid && shares->rows[i].start_ticks == process->start_ticks)
            return &shares->rows[i];
    return NULL;
}

/* Returns the CPU seconds of all processes for which no energy is attributed yet. */
static double sum_steps(const struct process_table *table)
{
    double sum_s = 0;
    for (size_t i = 0; i < table->count; i++)
        sum_s += table->items[i].step_s;
    return sum_s;
}

void process_share_cpu(struct process_shares *shares, const joule_quantity *joules, double capacity_s)
{
    double used_s = sum_steps(&shares->table), given = 0;
    double per_s = isnan(joules->value) || !(capacity_s > 0) ? 0 : joules->value / fmax(capacity_s, used_s);
    for (size_t i = 0; i < shares->table.count; i++) {
        struct seen_process *process = &shares->table.items[i];
        process->cpu_step_joules += per_s * process->step_s;
        given += per_s * process->step_s;
        process->step_s = 0;
    }
    if (isnan(joules->value))
        return;
    double idle =
        isnan(shares->busy_step_s) ? 0 : per_s * fmax(0, capacity_s - fmax(shares->busy_step_s, used_s));
    shares->knows_idle |= idle > 0;
    shares->idle_cpu_joules += idle;
    shares->rest_cpu_joules += fmax(0, joules->value - given - idle);
    shares->cpu_class = tenant_class(shares->cpu_class, joules->cls);
}

double process_share_device(struct process_shares *shares, uint64_t pid, double joules)
{
    struct seen_process *process = pid <= INT32_MAX ? process_table_find(&shares->table, (pid_t)pid) : NULL;
    if (!process)
        return 0;
    process->gpu_step_joules += joules;
    return joules;
}

void process_leave_device(struct process_shares *shares, const joule_quantity *joules, double given)
{
    shares->rest_gpu_joules += fmax(0, joules->value - given);
    shares->gpu_class = tenant_class(shares->gpu_class, joules->cls);
}

/* --- choosing rows -------------------------------------------------------------------------------------- */

/* Removes a row and adds its joules to those of ended rows. The last row moves to its place. */
static void retire(struct process_shares *shares, struct process_row *row)
{
    shares->ended_cpu_joules += row->cpu_joules;
    shares->ended_gpu_joules += row->gpu_joules;
    *row = shares->rows[--shares->count];
}

/* Removes rows whose process ended at least KEPT_NS ago. */
static void retire_ended(struct process_shares *shares, int64_t now_ns)
{
    for (size_t i = 0; i < shares->count;)
        if (now_ns - shares->rows[i].alive_ns >= KEPT_NS)
            retire(shares, &shares->rows[i]);
        else
            i++;
}

/* Removes the row of an earlier process with the same id, because the labels of both rows could be equal. */
static void retire_same_pid(struct process_shares *shares, pid_t pid)
{
    for (size_t i = 0; i < shares->count; i++)
        if (shares->rows[i].pid == pid) {
            retire(shares, &shares->rows[i]);
            return;
        }
}

/* Returns the time at which the process of a row was last among the largest. If the process has ended,
 * returns the time at which it was last seen alive. */
static int64_t last_ns(struct process_shares *shares, const struct process_row *row)
{
    return process_of(shares, row) ? row->top_ns : row->alive_ns;
}

/* Ensures capacity for one more row. If all rows are in use, removes the row with the oldest last_ns, if that
 * is at least KEPT_NS ago. Returns false if no row can be added. */
static bool make_room(struct process_shares *shares, int64_t now_ns)
{
    if (shares->count < shares->max_picked * ROWS_PER_PICKED_PROCESS)
        return ARRAY_ROOM(shares->rows, shares->capacity, shares->count);
    struct process_row *oldest = shares->rows;
    for (size_t i = 1; i < shares->count; i++)
        if (last_ns(shares, &shares->rows[i]) < last_ns(shares, oldest))
            oldest = &shares->rows[i];
    if (now_ns - last_ns(shares, oldest) < KEPT_NS)
        return false;
    retire(shares, oldest);
    return true;
}

/* Adds a row for a process if possible, and records that the process is among the largest now. */
static void take(struct process_shares *shares, const struct seen_process *process, int64_t now_ns)
{
    struct process_row *row = row_of(shares, process);
    if (!row) {
        retire_same_pid(shares, process->pid);
        if (!make_room(shares, now_ns))
            return; /* the process's joules remain in the sum of others */
        row = &shares->rows[shares->count++];
        *row = (struct process_row){
            .pid = process->pid, .start_ticks = process->start_ticks, .alive_ns = now_ns};
        string_copy(row->name, sizeof row->name, process->name);
    }
    row->top_ns = now_ns;
}

/* Returns the joules of a process since the last choice. */
static double joules_of(const struct seen_process *process)
{
    return process->cpu_joules + process->gpu_joules;
}

/* Returns the joules of a process in the window that is being settled. */
static double step_of(const struct seen_process *process)
{
    return process->cpu_step_joules + process->gpu_step_joules;
}

/* Lists the processes with the highest used(), in descending order. Returns their number, at most
 * max_picked. */
static size_t find_top(const struct process_shares *shares, double (*used)(const struct seen_process *),
                       const struct seen_process *top[MAX_PICKED_PROCESSES])
{
    size_t count = 0;
    for (size_t i = 0; i < shares->table.count; i++) {
        const struct seen_process *process = &shares->table.items[i];
        size_t at = count;
        while (at > 0 && used(process) > used(top[at - 1]))
            at--;
        if (at == shares->max_picked || !(used(process) > 0))
            continue;
        count += count < shares->max_picked;
        memmove(&top[at + 1], &top[at], (count - at - 1) * sizeof *top);
        top[at] = process;
    }
    return count;
}

/* Returns true if less than half of the rows are in use. */
static bool has_free_rows(const struct process_shares *shares)
{
    return shares->count < shares->max_picked * ROWS_PER_PICKED_PROCESS / 2;
}

/* Returns true if a process has run for PICK_NS. A process known only from a driver counts as old, because it
 * has no start time. */
static bool is_old(const struct process_shares *shares, const struct seen_process *process)
{
    double begin_s = (double)process->start_ticks / (double)sysconf(_SC_CLK_TCK);
    return (double)(shares->table.updated_ns - PICK_NS) * 1e-9 >= begin_s;
}

/* Gives rows to the processes with the most joules since the last choice, and sets these joules to 0. A young
 * process gets a new row only while fewer than half of the rows are in use. */
static void pick(struct process_shares *shares, int64_t now_ns)
{
    const struct seen_process *top[MAX_PICKED_PROCESSES];
    size_t count = find_top(shares, joules_of, top);
    for (size_t i = 0; i < count; i++)
        if (row_of(shares, top[i]) || has_free_rows(shares) || is_old(shares, top[i]))
            take(shares, top[i], now_ns);
    for (size_t i = 0; i < shares->table.count; i++)
        shares->table.items[i].cpu_joules = shares->table.items[i].gpu_joules = 0;
    shares->picked_ns = now_ns;
}

/* Adds rows at once while more than half of the rows are free. So a new row includes all joules of its
 * process. A process gets a row if it used at least 1 / (number of rows) of all joules of the window. Other
 * processes wait for the next choice. */
static void pick_early(struct process_shares *shares, int64_t now_ns)
{
    const struct seen_process *top[MAX_PICKED_PROCESSES];
    size_t places = shares->max_picked * ROWS_PER_PICKED_PROCESS, count = find_top(shares, step_of, top);
    double all_joules = 0;
    for (size_t i = 0; i < shares->table.count; i++)
        all_joules += step_of(&shares->table.items[i]);
    for (size_t i = 0; i < count && has_free_rows(shares); i++)
        if (!row_of(shares, top[i]) && step_of(top[i]) * (double)places >= all_joules)
            take(shares, top[i], now_ns);
}

void process_settle(struct process_shares *shares, int64_t now_ns)
{
    pick_early(shares, now_ns);
    for (size_t i = 0; i < shares->table.count; i++) {
        struct seen_process *process = &shares->table.items[i];
        if (!(step_of(process) > 0))
            continue;
        struct process_row *row = row_of(shares, process);
        *(row ? &row->cpu_joules : &shares->other_cpu_joules) += process->cpu_step_joules;
        *(row ? &row->gpu_joules : &shares->other_gpu_joules) += process->gpu_step_joules;
        process->cpu_joules += process->cpu_step_joules;
        process->gpu_joules += process->gpu_step_joules;
        process->cpu_step_joules = process->gpu_step_joules = 0;
    }
}

/* Sets the tenant of a row. A row keeps the tenant in which its process was first found. The tenant's name
 * may become known later. */
static void name_tenant(struct process_row *row, const struct tenants *tenants)
{
    const struct tenant *tenant = tenants_of_process(tenants, (uint64_t)row->pid);
    if (!tenant || (row->tenant[0] && strcmp(row->tenant, tenant->path) != 0))
        return;
    string_copy(row->tenant, sizeof row->tenant, tenant->path);
    row->tenant_name = tenant->name;
}

joule_status process_shares_update(struct process_shares *shares, const struct tenants *tenants,
                                   int64_t now_ns)
{
    bool is_first = !shares->table.updated_ns;
    joule_status status = process_table_update(&shares->table, tenants->meter->host);
    if (status != JOULE_OK)
        return status;
    double busy_s = attribute_machine(tenants->meter->host).busy_s;
    shares->busy_step_s = is_first ? NAN : busy_s - shares->machine_busy_s;
    shares->machine_busy_s = busy_s;
    if (!shares->picked_ns)
        shares->picked_ns = now_ns;
    bool is_due = now_ns - shares->picked_ns >= PICK_NS;
    if (is_due)
        pick(shares, now_ns);
    for (size_t i = 0; i < shares->count; i++) {
        struct process_row *row = &shares->rows[i];
        const struct seen_process *process = process_of(shares, row);
        if (!process)
            continue;
        row->alive_ns = now_ns;
        string_copy(row->name, sizeof row->name, process->name);
        if (is_due || !row->is_named)
            name_tenant(row, tenants);
        row->is_named = true;
    }
    retire_ended(shares, now_ns);
    return JOULE_OK;
}

void process_shares_free(struct process_shares *shares)
{
    process_table_free(&shares->table);
    free(shares->rows);
    *shares = (struct process_shares){.max_picked = shares->max_picked};
}
