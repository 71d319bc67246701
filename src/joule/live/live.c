/* joule/live/live.c - divides the energy of the CPUs among processes; see live.h.
 *
 * Note: the kernel's busy time includes all processes, interrupts and processes that are not visible here.
 * The energy of busy time without a visible process is added to rest_joules.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/string.h"
#include "joule/live/live_state.h"
#include "joule/sources/cpu/cpu_map.h"

/* --- joules of one account ------------------------------------------------------------------------------ */

bool live_take_joules(joule_meter *meter, int32_t domain, struct live_meter *account, struct live_sum *sum,
                      double *out_joules, double *out_seconds)
{
    struct cover cover;
    meter_cover(meter, domain, meter->begin_ns, meter_now_ns(meter), &cover);
    int64_t horizon_ns = meter_cover_horizon_ns(meter, &cover);
    if (horizon_ns == 0)
        return false;
    if (account->begin_ns == 0) {
        account->begin_ns = account->shared_ns = horizon_ns;
        return false;
    }
    if (horizon_ns <= account->shared_ns)
        return false;
    struct window step = meter_cover_window(meter, &cover, account->shared_ns, horizon_ns);
    struct window all = meter_cover_window(meter, &cover, account->begin_ns, horizon_ns);
    if (isnan(step.joules.value))
        return false;
    *out_joules = step.joules.value;
    *out_seconds = (double)(horizon_ns - account->shared_ns) * 1e-9;
    account->shared_ns = horizon_ns;
    sum->total_joules += step.joules.value;
    sum->cls = all.joules.cls > JOULE_CLASS_DERIVED ? all.joules.cls : JOULE_CLASS_DERIVED;
    sum->relative_sd = all.joules.value > 0 ? estimate_sd(&all.joules) / all.joules.value : 0;
    return true;
}

joule_quantity live_quantity(const struct live_sum *sum, double joules)
{
    if (isnan(joules) || sum->cls == JOULE_CLASS_NONE)
        return quantity_unknown();
    double active = sum->alive_joules + sum->ended_joules + sum->rest_joules;
    double share = active > 0 ? fmin(joules / active, 1) : 1;
    double sd = joules * hypot(sum->relative_sd, ATTRIBUTE_SPREAD_LOG_SD * (1 - share));
    struct estimate estimate = estimate_make(joules, sum->cls, sd, CAUSE_NONE, 0);
    return estimate_quantity(&estimate);
}

/* --- CPUs ----------------------------------------------------------------------------------------------- */

/* Returns the part of the CPUs' joules that is idle energy, 0 to 1, by the cost model. */
static double modelled_idle_part(const struct live *live, double busy_s, double wall_s)
{
    const struct cost_cpu *cpu = &live->cpu.model;
    struct cost_table table;
    if (!live->cpu.has_model || !(wall_s > 0))
        return 0;
    cost_cpu_table(cpu, &table);
    double idle = table.joules[COST_PACKAGE_SECONDS] * cpu->packages * wall_s;
    double active = cost_cpu_energy(cpu, busy_s, wall_s).value;
    return idle + active > 0 ? idle / (idle + active) : 0;
}

/* Returns the idle part of `joules` of the CPUs over `seconds`, from the idle power if it is known, otherwise
 * from the cost model. */
static double idle_joules(const struct live *live, double joules, double seconds, double busy_s,
                          double wall_s)
{
    if (busy_s <= 0)
        return joules;
    if (!isnan(live->cpu.idle_watts.value))
        return fmin(joules, live->cpu.idle_watts.value * seconds);
    return joules * modelled_idle_part(live, busy_s, wall_s);
}

/* Returns the sum of the steps of all processes: the CPU seconds whose energy is not divided yet. */
static double sum_steps(const struct process_table *table)
{
    double sum_s = 0;
    for (size_t i = 0; i < table->count; i++)
        sum_s += table->items[i].step_s;
    return sum_s;
}

/* Adds to each process its part of active_joules: its step divided by busy_s. Sets each mean power over
 * wall_s, and clears the steps. Returns the joules of all running processes since measuring began. */
static double share_energy(struct process_table *table, double active_joules, double busy_s, double wall_s)
{
    double sum = 0;
    for (size_t i = 0; i < table->count; i++) {
        struct seen_process *process = &table->items[i];
        if (process->is_outside)
            continue;
        double joules = process->step_s > 0 ? active_joules * process->step_s / busy_s : 0;
        process->cpu_joules += joules;
        process->cpu_watts = wall_s > 0 ? joules / wall_s : 0;
        process->step_s = 0;
        sum += process->cpu_joules;
    }
    return sum;
}

static void clear_steps(struct process_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        table->items[i].step_s = 0;
}

/* Divides the new joules of the CPUs among processes, idle and rest. Without new joules, only moves the
 * energy of ended processes to ended_joules. */
static void share_cpus(struct live *live, int64_t now_ns, struct machine_time machine)
{
    struct live_sum *sum = &live->sums[0];
    bool had_begun = live->cpu.account.begin_ns != 0;
    double joules, seconds;
    sum->ended_joules += live->table.ended_joules;
    sum->alive_joules -= live->table.ended_joules;
    if (!live_take_joules(live->meter, JOULE_CPU, &live->cpu.account, sum, &joules, &seconds)) {
        if (had_begun || live->cpu.account.begin_ns == 0)
            return;
        clear_steps(&live->table); /* these steps are from before the first reading of energy */
    } else {
        double wall_s = (double)(now_ns - live->cpu.shared_ns) * 1e-9;
        double known_s = sum_steps(&live->table), busy_s = machine.busy_s - live->cpu.shared.busy_s;
        /* busy_s is unknown, or too small because the kernel's tick counts lag behind */
        if (!(busy_s > known_s))
            busy_s = known_s;
        double idle = idle_joules(live, joules, seconds, busy_s, wall_s);
        double alive = share_energy(&live->table, joules - idle, busy_s, wall_s);
        sum->idle_joules += idle;
        sum->rest_joules += joules - idle - (alive - sum->alive_joules);
        sum->alive_joules = alive;
        if (isnan(live->cpu.idle_watts.value) && sum->cls < JOULE_CLASS_MODELLED)
            sum->cls = JOULE_CLASS_MODELLED;
    }
    live->cpu.shared_ns = now_ns;
    live->cpu.shared = machine;
}

/* --- opening and closing -------------------------------------------------------------------------------- */

struct live *live_open(joule_meter *meter)
{
    struct live *live = calloc(1, sizeof *live);
    if (!live)
        return NULL;
    live->meter = meter;
    live->cpu.idle_watts = estimate_unknown();
    live->cpu.has_model = cpu_map_identify(meter->host, &live->cpu.model);
    live->sums = calloc(1, sizeof *live->sums);
    if (!live->sums) {
        live_close(live);
        return NULL;
    }
    live->sum_capacity = 1;
    live->sums[0] = (struct live_sum){.device = "cpu", .busy = NAN};
    return live;
}

void live_close(struct live *live)
{
    if (!live)
        return;
    live_free_devices(live);
    process_table_free(&live->table);
    free(live->sums);
    free(live);
}

void live_set_idle(struct live *live, const struct estimate *cpu_watts)
{
    live->cpu.idle_watts = *cpu_watts;
}

joule_status live_update(struct live *live)
{
    joule_status status = process_table_update(&live->table, live->meter->host);
    if (status != JOULE_OK)
        return status;
    int64_t now_ns = meter_now_ns(live->meter);
    struct machine_time machine = attribute_machine(live->meter->host);
    double elapsed_s = machine.total_s - live->cpu.updated.total_s;
    if (live->updated_ns && elapsed_s > 0)
        live->sums[0].busy = (machine.busy_s - live->cpu.updated.busy_s) / elapsed_s;
    live->cpu.updated = machine;
    share_cpus(live, now_ns, machine);
    status = live_update_devices(live, now_ns);
    live->updated_ns = now_ns;
    return status;
}

const struct seen_process *live_processes(const struct live *live, size_t *out_count)
{
    *out_count = live->table.count;
    return live->table.items;
}

const struct live_sum *live_sums(const struct live *live, size_t *out_count)
{
    *out_count = 1 + live->device_count;
    return live->sums;
}
