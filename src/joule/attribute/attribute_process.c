/* joule/attribute/attribute_process.c - see attribute_process.h.
 *
 * Newcomers: who uses most is asked of ten seconds, so that what comes and goes is not told apart and the number of series that
 * a day makes is bounded. A row stays for five minutes after its process ended, so that whoever asks now and then sees all of
 * it, or was last among those that use most, if its place is needed. One that is picked again counts from 0 again.
 */
#include "joule/attribute/attribute_process.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/string.h"
#include "joule/meter/engine.h"

#define PICK_NS 10000000000LL
#define KEPT_NS 300000000000LL

/* --- shares ------------------------------------------------------------------------------------------------------- */

static struct seen_process *process_of(struct process_shares *shares, const struct process_row *row)
{
    struct seen_process *process = process_table_find(&shares->table, row->pid);
    return process && process->start_ticks == row->start_ticks ? process : NULL;
}

static struct process_row *row_of(struct process_shares *shares, const struct seen_process *process)
{
    for (size_t i = 0; i < shares->count; i++)
        if (shares->rows[i].pid == process->pid && shares->rows[i].start_ticks == process->start_ticks)
            return &shares->rows[i];
    return NULL;
}

static double sum_steps(const struct process_table *table)
{
    double sum_s = 0;
    for (size_t i = 0; i < table->count; i++)
        sum_s += table->items[i].step_s;
    return sum_s;
}

void process_share_cpu(struct process_shares *shares, const joule_quantity *joules, double capacity_s)
{
    double used_s = sum_steps(&shares->table), told = 0, given = 0;
    double per_s = isnan(joules->value) || !(capacity_s > 0) ? 0 : joules->value / fmax(capacity_s, used_s);
    for (size_t i = 0; i < shares->count; i++) {
        const struct seen_process *process = process_of(shares, &shares->rows[i]);
        double share = process ? per_s * process->step_s : 0;
        shares->rows[i].cpu_joules += share;
        told += share;
    }
    for (size_t i = 0; i < shares->table.count; i++) {
        struct seen_process *process = &shares->table.items[i];
        process->cpu_joules += per_s * process->step_s;
        given += per_s * process->step_s;
        process->step_s = 0;
    }
    if (isnan(joules->value))
        return;
    shares->other_cpu_joules += fmax(0, given - told);
    shares->rest_cpu_joules += fmax(0, joules->value - fmax(given, told));
    shares->cpu_class = tenant_class(shares->cpu_class, joules->cls);
}

double process_share_device(struct process_shares *shares, uint64_t pid, double joules)
{
    struct seen_process *process = pid <= INT32_MAX ? process_table_find(&shares->table, (pid_t)pid) : NULL;
    if (!process)
        return 0;
    struct process_row *row = row_of(shares, process);
    process->gpu_joules += joules;
    *(row ? &row->gpu_joules : &shares->other_gpu_joules) += joules;
    return joules;
}

void process_leave_device(struct process_shares *shares, const joule_quantity *joules, double given)
{
    shares->rest_gpu_joules += fmax(0, joules->value - given);
    shares->gpu_class = tenant_class(shares->gpu_class, joules->cls);
}

/* --- who is told apart ---------------------------------------------------------------------------------------------- */

static void retire(struct process_shares *shares, struct process_row *row)
{
    shares->ended_cpu_joules += row->cpu_joules;
    shares->ended_gpu_joules += row->gpu_joules;
    *row = shares->rows[--shares->count];
}

static void retire_ended(struct process_shares *shares, int64_t now_ns)
{
    for (size_t i = 0; i < shares->count;)
        if (now_ns - shares->rows[i].alive_ns >= KEPT_NS)
            retire(shares, &shares->rows[i]);
        else
            i++;
}

/* Another process had this number: its labels may be the same. */
static void retire_namesake(struct process_shares *shares, pid_t pid)
{
    for (size_t i = 0; i < shares->count; i++)
        if (shares->rows[i].pid == pid) {
            retire(shares, &shares->rows[i]);
            return;
        }
}

/* When a row was last of interest. */
static int64_t last_ns(struct process_shares *shares, const struct process_row *row)
{
    return process_of(shares, row) ? row->most_ns : row->alive_ns;
}

/* Takes the place of who has been of no interest for longest, and for long enough. */
static bool make_place(struct process_shares *shares, int64_t now_ns)
{
    if (shares->count < shares->most * PROCESS_ROWS_PER_ONE)
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

static void take(struct process_shares *shares, const struct seen_process *process, int64_t now_ns)
{
    struct process_row *row = row_of(shares, process);
    if (!row) {
        retire_namesake(shares, process->pid);
        if (!make_place(shares, now_ns))
            return; /* it stays among the others */
        row = &shares->rows[shares->count++];
        *row = (struct process_row){
            .pid = process->pid, .start_ticks = process->start_ticks, .alive_ns = now_ns};
        string_copy(row->name, sizeof row->name, process->name);
    }
    row->most_ns = now_ns;
}

static double joules_of(const struct seen_process *process)
{
    return process->cpu_joules + process->gpu_joules;
}

/* Those that used most since the last choice, in any order. */
static size_t find_most(const struct process_shares *shares, const struct seen_process *most[PROCESSES_MOST])
{
    size_t count = 0;
    for (size_t i = 0; i < shares->table.count; i++) {
        const struct seen_process *process = &shares->table.items[i];
        size_t at = count;
        while (at > 0 && joules_of(process) > joules_of(most[at - 1]))
            at--;
        if (at == shares->most || !(joules_of(process) > 0))
            continue;
        count += count < shares->most;
        memmove(&most[at + 1], &most[at], (count - at - 1) * sizeof *most);
        most[at] = process;
    }
    return count;
}

static void pick(struct process_shares *shares, int64_t now_ns)
{
    const struct seen_process *most[PROCESSES_MOST];
    size_t count = find_most(shares, most);
    for (size_t i = 0; i < count; i++)
        take(shares, most[i], now_ns);
    for (size_t i = 0; i < shares->table.count; i++)
        shares->table.items[i].cpu_joules = shares->table.items[i].gpu_joules = 0;
    shares->picked_ns = count ? now_ns : shares->picked_ns;
}

/* It keeps the tenant in which it was found first; what that is called may come later. */
static void name_tenant(struct process_row *row, const struct tenants *tenants)
{
    const struct tenant *tenant = tenants_of_process(tenants, (uint64_t)row->pid);
    if (!tenant || (row->tenant[0] && strcmp(row->tenant, tenant->path) != 0))
        return;
    string_copy(row->tenant, sizeof row->tenant, tenant->path);
    row->tenant_name = tenant->name;
}

joule_status process_look(struct process_shares *shares, const struct tenants *tenants, int64_t now_ns)
{
    joule_status status = process_table_look(&shares->table, tenants->meter->host);
    if (status != JOULE_OK)
        return status;
    bool is_due = !shares->picked_ns || now_ns - shares->picked_ns >= PICK_NS;
    if (is_due)
        pick(shares, now_ns);
    for (size_t i = 0; i < shares->count; i++) {
        struct process_row *row = &shares->rows[i];
        const struct seen_process *process = process_of(shares, row);
        if (!process)
            continue;
        row->alive_ns = now_ns;
        string_copy(row->name, sizeof row->name, process->name);
        if (is_due)
            name_tenant(row, tenants);
    }
    retire_ended(shares, now_ns);
    return JOULE_OK;
}

void process_shares_free(struct process_shares *shares)
{
    process_table_free(&shares->table);
    free(shares->rows);
    *shares = (struct process_shares){.most = shares->most};
}
