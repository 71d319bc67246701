/* compiler/schedule_model.c - the model behind a schedule: reuse distances, live bytes, and the cost of a
 * launch; see schedule.h.
 */
#include <math.h>
#include <stdlib.h>
#include "forge/compiler/schedule.h"

enum { NONE = UINT32_MAX };

/* --- reuse distances and live bytes --------------------------------------------------------------------- */

/* State of one trace. The values that were used are in a list, the last one first. */
struct trace {
    const struct schedule_problem *problem;
    double *distances;
    uint32_t *next, *previous; /* [value_count + 1]: the list; the last entry is its head */
    uint32_t *reads, *left;    /* [value_count]: accesses that read the value: all, and those to come */
    uint32_t *write;           /* [value_count]: the write that no read has followed yet, or NONE */
    double *live;              /* [value_count]: bytes in the arena now */
    double live_bytes, peak_bytes;
    double limit; /* distances above this one are INFINITY, in bytes */
};

static bool is_listed(const struct trace *t, uint32_t value)
{
    return t->next[value] != NONE;
}

static void unlist(struct trace *t, uint32_t value)
{
    if (!is_listed(t, value))
        return;
    t->next[t->previous[value]] = t->next[value];
    t->previous[t->next[value]] = t->previous[value];
    t->next[value] = NONE;
}

static void list_first(struct trace *t, uint32_t value)
{
    uint32_t head = (uint32_t)t->problem->value_count;
    t->next[value] = t->next[head];
    t->previous[value] = head;
    t->previous[t->next[head]] = value;
    t->next[head] = value;
}

/* Returns the bytes of all values that were used since the last use of `value`, including its own; INFINITY
 * if they exceed the limit or the value is not listed. */
static double distance_of(const struct trace *t, uint32_t value)
{
    double bytes = t->problem->values[value].bytes;
    if (!is_listed(t, value))
        return INFINITY;
    for (uint32_t v = t->next[t->problem->value_count]; v != value && bytes <= t->limit; v = t->next[v])
        bytes += t->problem->values[v].bytes;
    return bytes <= t->limit ? bytes : INFINITY;
}

static void read_value(struct trace *t, uint32_t access)
{
    uint32_t value = t->problem->accesses[access].value;
    double distance = distance_of(t, value);
    t->distances[access] = distance;
    if (t->write[value] != NONE)
        t->distances[t->write[value]] = distance;
    t->write[value] = NONE;
    t->left[value]--;
    unlist(t, value);
    list_first(t, value);
}

/* Frees the arena's bytes of a value. */
static void end_life(struct trace *t, uint32_t value)
{
    t->live_bytes -= t->live[value];
    t->live[value] = 0;
    unlist(t, value);
}

/* Ends the life of the first input in whose memory the output may be stored and which no later launch
 * reads. */
static void take_over(struct trace *t, const struct schedule_launch *launch,
                      const struct schedule_access *output)
{
    const struct schedule_value *values = t->problem->values;
    for (uint32_t i = 0; i < launch->read_count && i < 32; i++) {
        uint32_t value = t->problem->accesses[launch->first_access + i].value;
        if (!(output->over >> i & 1) || t->left[value] || !(t->live[value] > 0) ||
            values[value].bytes != values[output->value].bytes)
            continue;
        end_life(t, value);
        return;
    }
}

static void write_value(struct trace *t, const struct schedule_launch *launch, uint32_t access)
{
    const struct schedule_access *output = &t->problem->accesses[access];
    const struct schedule_value *value = &t->problem->values[output->value];
    t->distances[access] = INFINITY;
    t->write[output->value] = access;
    unlist(t, output->value);
    list_first(t, output->value);
    if (!value->is_arena)
        return;
    take_over(t, launch, output);
    t->live_bytes += value->bytes - t->live[output->value];
    t->live[output->value] = value->bytes;
}

/* Returns the bytes that are live during the launch. */
static double trace_launch(struct trace *t, const struct schedule_launch *launch)
{
    uint32_t first = launch->first_access, middle = first + launch->read_count;
    uint32_t end = middle + launch->write_count;
    for (uint32_t i = first; i < middle; i++)
        read_value(t, i);
    for (uint32_t i = middle; i < end; i++)
        write_value(t, launch, i);
    double live_bytes = t->live_bytes;
    for (uint32_t i = first; i < end; i++) {
        uint32_t value = t->problem->accesses[i].value;
        if (t->problem->values[value].is_arena && t->left[value] == 0)
            end_life(t, value);
    }
    return live_bytes;
}

/* out_live: [launch_count]; may be NULL. */
static void trace_run(struct trace *t, const uint32_t *order, double *out_live)
{
    for (size_t i = 0; i < t->problem->value_count; i++)
        t->left[i] = t->reads[i];
    t->live_bytes = 0;
    for (size_t i = 0; i < t->problem->launch_count; i++) {
        double live_bytes = trace_launch(t, &t->problem->launches[order[i]]);
        t->peak_bytes = fmax(t->peak_bytes, live_bytes);
        if (out_live)
            out_live[i] = live_bytes;
    }
}

static void count_reads(struct trace *t)
{
    const struct schedule_problem *p = t->problem;
    for (size_t i = 0; i < p->launch_count; i++)
        for (uint32_t k = 0; k < p->launches[i].read_count; k++)
            t->reads[p->accesses[p->launches[i].first_access + k].value]++;
}

double schedule_trace(const struct schedule_problem *problem, const uint32_t *order, double *out_distances,
                      double *out_live)
{
    size_t count = problem->value_count;
    const struct device_rates *rates = problem->rates;
    uint32_t *numbers = calloc(5 * count + 2, sizeof *numbers);
    struct trace t = {.problem = problem,
                      .distances = out_distances,
                      .live = calloc(count + 1, sizeof *t.live),
                      .limit = fmax(rates->cores * rates->l2_bytes, rates->llc_bytes)};
    if (numbers && t.live) {
        t.next = numbers;
        t.previous = numbers + count + 1;
        t.reads = t.previous + count + 1;
        t.left = t.reads + count;
        t.write = t.left + count;
        for (size_t i = 0; i < count; i++)
            t.next[i] = t.write[i] = NONE;
        t.next[count] = t.previous[count] = (uint32_t)count;
        count_reads(&t);
        trace_run(&t, order, NULL); /* the first run fills the caches for the second */
        trace_run(&t, order, out_live);
    }
    double peak = numbers && t.live ? t.peak_bytes : NAN;
    free(numbers);
    free(t.live);
    return peak;
}

/* --- the cost of a launch ------------------------------------------------------------------------------- */

/* Returns the number of cores that work at full rate on average. The last of several rounds may have fewer
 * parts than cores. */
static double busy_cores(const struct launch_work *work, unsigned cores)
{
    double parts = work->parts ? (double)work->parts : 1;
    return parts / ceil(parts / cores);
}

struct schedule_cost schedule_launch_cost(const struct schedule_problem *problem, uint32_t launch,
                                          unsigned cores, const double *distances)
{
    const struct device_rates *rates = problem->rates;
    const struct schedule_launch *l = &problem->launches[launch];
    double busy = busy_cores(&l->work, cores), transfer_s = 0;
    unsigned used = cores < l->work.parts ? cores : l->work.parts ? (unsigned)l->work.parts : 1;
    struct schedule_cost cost = {0};
    for (uint32_t i = l->first_access; i < l->first_access + l->read_count + l->write_count; i++)
        cost.bytes[rates_level(rates, used, distances[i])] += problem->accesses[i].bytes;
    for (int level = 0; level < RATE_LEVELS; level++) {
        transfer_s +=
            cost.bytes[level] / fmin(busy * rates->core_bytes_per_s[level], rates->total_bytes_per_s[level]);
        cost.joules += cost.bytes[level] * rates->byte_joules[level];
    }
    double compute_s = fmax(l->flop / rates->flop_per_s, l->work.plain_s) / busy;
    cost.seconds = fmax(compute_s, transfer_s) + rates->launch_s;
    cost.joules += (rates->static_watts + cores * rates->core_watts) * cost.seconds;
    cost.joules += l->flop * rates->flop_joules;
    return cost;
}

void schedule_divide_bytes(const double *sizes, size_t reads, size_t writes, double read_bytes,
                           double written_bytes, double *out_bytes)
{
    double read = 0, written = 0;
    for (size_t i = 0; i < reads + writes; i++)
        *(i < reads ? &read : &written) += sizes[i];
    for (size_t i = 0; i < reads + writes; i++) {
        double all = i < reads ? read : written, moved = i < reads ? read_bytes : written_bytes;
        out_bytes[i] = all > 0 ? sizes[i] * moved / all : 0;
    }
}

double schedule_score(forge_minimise objective, const struct schedule_cost *cost)
{
    if (objective == FORGE_MINIMISE_TIME)
        return cost->seconds;
    return objective == FORGE_MINIMISE_EDP ? cost->joules * cost->seconds : cost->joules;
}
