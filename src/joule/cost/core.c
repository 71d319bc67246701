/* joule/cost/core.c - see core.h: the limits of a core, how they combine, and the resulting energy and power.
 *
 * Note: cycles have two errors. The error of the core's description is common to all programs on a machine
 * and cancels in their ratio. The error of an unknown order of work is independent in each program.
 */
#include "joule/cost/core.h"

#include <math.h>

/* Maximum time of a stream of lines, relative to its time at the bandwidth limit (assumed). It is small,
 * because most lines are prefetched. */
#define STREAM_WORST 3

/* Lines in random order lie on random pages and cause TLB misses. At worst, TLB misses multiply the time by
 * this factor (assumed). */
#define PAGES_WORST 1.5

enum cost_level cost_core_level(const struct cost_core *core, double bytes)
{
    int level = COST_L1;
    while (level < COST_DRAM && !(bytes <= core->cache_bytes[level]))
        level++;
    return (enum cost_level)level;
}

/* Combines two limits that act on the same work. a, b: the cycles of the work if only one of the limits
 * existed. Returns the cycles with both limits. power: exponent of the norm that combines them. With 1 the
 * result is a + b; with higher exponents it approaches the larger limit. */
static double combine_limits(double a, double b, double power)
{
    double max = fmax(a, b), min = fmin(a, b);
    return max > 0 ? max * pow(1 + pow(min / max, power), 1 / power) : 0;
}

/* Returns the cycles that mispredicted branches cost. low: the branch condition is known at once. est: the
 * condition waits for a load. high: twice the refill of the pipeline. */
static struct cost_range lost_to_mispredicts(const struct cost_core *core, const struct cost_features *work)
{
    double count = work->amount[COST_MISPREDICTS], min = count * core->latency[COST_MISPREDICTS];
    return (struct cost_range){min, min + count * core->latency[COST_L1_LOADS], 2 * min};
}

/* Returns the cycles of units that several classes share. Integer operations and branches share one set of
 * units, and all floating-point operations share another set. The class with the most units sets the rate of
 * a set. */
static double shared_units(const struct cost_core *core, const double *amount)
{
    double integers =
        amount[COST_INT_OPS] + amount[COST_INT_MULS] + amount[COST_INT_DIVS] + amount[COST_BRANCHES];
    double floats = amount[COST_FP_OPS] + amount[COST_FP_FMAS] + amount[COST_FP_DIVS];
    return fmax(integers / core->per_cycle[COST_INT_OPS], floats / core->per_cycle[COST_FP_OPS]);
}

/* Returns the cycles of execution alone: the maximum over all classes and the core's width. */
static double execution(const struct cost_core *core, const struct cost_features *work)
{
    double cycles = shared_units(core, work->amount);
    for (int i = COST_UOPS; i <= COST_BRANCHES; i++)
        if (core->per_cycle[i] > 0)
            cycles = fmax(cycles, work->amount[i] / core->per_cycle[i]);
    return cycles;
}

/* Returns the cycles to transfer all lines at the bandwidth of each level. */
static double best_lines(const struct cost_core *core, const struct cost_features *work)
{
    double cycles = 0;
    for (int i = COST_L2_LINES; i <= COST_DRAM_LINES; i++)
        cycles += work->amount[i] / core->per_cycle[i];
    return cycles;
}

/* Returns the cycles to transfer all lines if each is requested after the one before has arrived. */
static double worst_lines(const struct cost_core *core, const struct cost_features *work)
{
    double cycles = 0;
    for (int i = COST_L2_LINES; i <= COST_DRAM_LINES; i++)
        cycles += work->amount[i] * core->latency[i];
    return cycles;
}

/* Returns true if all amounts are finite and not negative. Note: later code uses fmax, fmin and comparisons,
 * which would hide a NaN. */
static bool is_counted(const struct cost_features *work)
{
    bool is_counted = work->version == COST_VERSION;
    for (int i = COST_UOPS; i <= COST_DRAM_LINES; i++)
        is_counted = is_counted && work->amount[i] >= 0 && isfinite(work->amount[i]);
    return is_counted;
}

double cost_core_throughput(const struct cost_core *core, const struct cost_features *work)
{
    if (!is_counted(work))
        return NAN;
    return fmax(execution(core, work) + lost_to_mispredicts(core, work).low, best_lines(core, work));
}

double cost_core_overlapped(const struct cost_core *core, double a, double b)
{
    return combine_limits(a, b, core->overlap);
}

double cost_core_restarted(const struct cost_core *core, double chain_cycles, double uops)
{
    return uops > 0 ? chain_cycles / (1 + core->window / uops) : chain_cycles;
}

/* Returns the sum of the latencies of all operations, in cycles. Stores, branches and vector widths add no
 * latency, because the operations that they belong to are counted already. */
static double serial_execution(const struct cost_core *core, const struct cost_features *work)
{
    double cycles = 0;
    for (int i = COST_INT_OPS; i <= COST_BRANCHES; i++)
        cycles += work->amount[i] * core->latency[i];
    return fmax(cycles, execution(core, work));
}

double cost_core_serial(const struct cost_core *core, const struct cost_features *work)
{
    if (!is_counted(work))
        return NAN;
    return serial_execution(core, work) + lost_to_mispredicts(core, work).high +
           fmax(worst_lines(core, work), best_lines(core, work));
}

/* Returns the cycles of execution in the known order. If the chain is unknown, only two extremes are known:
 * no waiting, and only waiting. The estimate is then their geometric mean, which compiled code reaches on
 * average (1 to 2 micro-operations per cycle). */
static struct cost_range order_execution(const struct cost_core *core, const struct cost_features *work,
                                         const struct cost_flow *flow)
{
    double flat = execution(core, work), chain = flow->chain_cycles,
           serial = fmax(flat, serial_execution(core, work)),
           longest = flow->longest_cycles > 0 ? fmin(serial, fmax(flat, flow->longest_cycles)) : serial;
    if (!isfinite(chain))
        return (struct cost_range){flat, sqrt(flat * longest), serial};
    chain = fmax(chain, 0);
    return (struct cost_range){fmax(flat, chain), combine_limits(flat, chain, core->overlap), flat + chain};
}

/* Returns the cycles to transfer the lines in the known order. streamed: the part of the lines in a regular
 * order, which arrives at the bandwidth limit; NaN: unknown. At best, several of the other lines are
 * transferred at once. At worst, each address depends on the line before, and the lines arrive one after the
 * other. The estimate is the geometric mean of the two times. */
static struct cost_range order_lines(const struct cost_core *core, const struct cost_features *work,
                                     double streamed)
{
    double best = best_lines(core, work), worst = fmax(worst_lines(core, work), best),
           middle = sqrt(best * worst);
    double part = isnan(streamed) ? 0.5 : fmin(fmax(streamed, 0), 1),
           random_part = isnan(streamed) ? 1 : 1 - part;
    double stream_worst = fmin(STREAM_WORST * best, worst), random_worst = PAGES_WORST * worst;
    return (struct cost_range){.low = best,
                               .est = part * best + (1 - part) * middle,
                               .high = (1 - random_part) * stream_worst + random_part * random_worst};
}

/* Returns the range of cycles of all orders of work that `flow` permits, without the error of the core's
 * description. */
static struct cost_range ordered(const struct cost_core *core, const struct cost_features *work,
                                 const struct cost_flow *flow)
{
    if (!is_counted(work))
        return (struct cost_range){NAN, NAN, NAN};
    struct cost_range units = order_execution(core, work, flow);
    struct cost_range lines = order_lines(core, work, flow->streamed);
    struct cost_range lost = lost_to_mispredicts(core, work);
    return (struct cost_range){.low = fmax(units.low + lost.low, lines.low),
                               .est = combine_limits(units.est + lost.est, lines.est, core->overlap),
                               .high = units.high + lost.high + lines.high};
}

/* Returns the standard deviation of the logarithm of a value with this 90 % range; 0 for no cycles. */
static double spread(struct cost_range range)
{
    return range.est > 0 ? log(range.high / range.low) / (2 * Z90) : 0;
}

/* Returns the range widened by a scale error, whose logarithm has the standard deviation log_sd. */
static struct cost_range widen(struct cost_range range, double log_sd)
{
    double down = hypot(log(range.est / range.low), Z90 * log_sd),
           up = hypot(log(range.high / range.est), Z90 * log_sd);
    if (!(range.est > 0))
        return range;
    return (struct cost_range){range.est * exp(-down), range.est, range.est * exp(up)};
}

struct cost_range cost_core_cycles(const struct cost_core *core, const struct cost_features *work,
                                   const struct cost_flow *flow)
{
    return widen(ordered(core, work, flow), core->log_sd);
}

/* Returns `e` with the errors of time added. own_sd: error of the unknown order, independent in each run.
 * common_sd: error of the core's description. */
static struct estimate add_time_error(struct estimate e, uint32_t instance, double own_sd, double common_sd)
{
    uint32_t cause = CAUSE(CAUSE_CPU_SEED, instance * COST_CAUSES + COST_CAUSE_TIME);
    if (isnan(e.value))
        return e;
    struct estimate error = estimate_make(0, e.cls, own_sd, cause, common_sd);
    return estimate_add(e, 1, &error);
}

void cost_core_run(const struct cost_core *core, const struct cost_table *table,
                   const struct cost_features *work, const struct cost_flow *flow, struct cost_run *out_run)
{
    struct cost_range order = ordered(core, work, flow);
    struct cost_features all = *work;
    double own = spread(order), seconds = order.est / core->hz,
           whole_log_sd = hypot(core->log_sd, core->hz_log_sd);
    all.amount[COST_CYCLES] = order.est;
    all.amount[COST_PACKAGE_SECONDS] = seconds * core->package_share;
    struct cost energy = cost_of(table, &all);
    double cycle_joules = energy.part[COST_CYCLES].value,
           package_joules = energy.part[COST_PACKAGE_SECONDS].value;
    double timed = cycle_joules + package_joules, untimed = energy.total.value - timed;

    /* Energy priced by amounts does not depend on the time, so its power falls if the work takes longer. If
     * the frequency is higher, the power of amounts and of cycles rises. */
    struct estimate watts = seconds > 0 ? estimate_scale(energy.total, 1 / seconds) : estimate_unknown();
    out_run->watts =
        add_time_error(watts, core->instance, own * untimed / seconds,
                       -hypot(core->log_sd * untimed, core->hz_log_sd * (untimed + cycle_joules)) / seconds);

    out_run->cycles = widen(order, core->log_sd);
    struct cost_range in_seconds = {order.low / core->hz, seconds, order.high / core->hz};
    out_run->seconds = widen(in_seconds, whole_log_sd);
    double cycle_sd = cycle_joules * core->log_sd, package_sd = package_joules * whole_log_sd;
    struct estimate *part = energy.part;
    energy.total = add_time_error(energy.total, core->instance, own * timed, cycle_sd + package_sd);
    part[COST_CYCLES] = add_time_error(part[COST_CYCLES], core->instance, own * cycle_joules, cycle_sd);
    part[COST_PACKAGE_SECONDS] =
        add_time_error(part[COST_PACKAGE_SECONDS], core->instance, own * package_joules, package_sd);
    out_run->energy = energy;
}
