/* infer/engine/power_limit.c - see power_limit.h. */
#include "forge/infer/engine/power_limit.h"

#include <math.h>
#include "base/clock.h"

#define MIN_DISTANCE_NS (NS_PER_S / 100)
#define MEAN_STEP       0.2 /* weight of a new measurement in a mean */
#define MAX_USE         0.9 /* the rest is for steps that use more than expected */
#define MAX_GROWTH      4   /* maximum number of rows of a step, relative to the largest measured one */

void power_limit_open(struct power_limit *limit, double max_watts, double idle_watts)
{
    double idle = isfinite(idle_watts) ? idle_watts : 0;
    *limit = (struct power_limit){.max_watts = max_watts, .max_step_joules = MAX_USE * (max_watts - idle)};
}

/* --- readings ------------------------------------------------------------------------------------------- */

static const struct power_sample *sample(const struct power_limit *limit, unsigned i)
{
    return &limit->samples[(limit->first + i) % POWER_SAMPLES];
}

void power_limit_add(struct power_limit *limit, int64_t time_ns, double joules)
{
    /* Any two neighbours among the distances of samples have a sum of MIN_DISTANCE_NS or more. So
     * POWER_SAMPLES samples cover more than a second. */
    unsigned count = limit->count;
    bool replaces = count >= 2 && time_ns - sample(limit, count - 2)->time_ns < MIN_DISTANCE_NS;
    if (!replaces && count == POWER_SAMPLES) {
        limit->first = (limit->first + 1) % POWER_SAMPLES;
        limit->count--;
    }
    limit->count += !replaces;
    limit->samples[(limit->first + limit->count - 1) % POWER_SAMPLES] =
        (struct power_sample){time_ns, joules, replaces};
}

/* Returns the energy at a time, interpolated between readings. Before the first reading, returns the first
 * reading's energy. */
static double joules_at(const struct power_limit *limit, int64_t time_ns)
{
    unsigned i = limit->count;
    while (i > 0 && sample(limit, i - 1)->time_ns > time_ns)
        i--;
    if (i == 0)
        return sample(limit, 0)->joules;
    const struct power_sample *before = sample(limit, i - 1), *after = sample(limit, i);
    if (i == limit->count)
        return before->joules;
    double part = (double)(time_ns - before->time_ns) / (double)(after->time_ns - before->time_ns);
    return before->joules + part * (after->joules - before->joules);
}

double power_limit_watts(const struct power_limit *limit)
{
    if (limit->count < 2)
        return NAN;
    const struct power_sample *first = sample(limit, 0), *last = sample(limit, limit->count - 1);
    int64_t from_ns = last->time_ns - NS_PER_S;
    from_ns = from_ns > first->time_ns ? from_ns : first->time_ns;
    if (from_ns >= last->time_ns)
        return NAN;
    return (last->joules - joules_at(limit, from_ns)) / clock_seconds(last->time_ns - from_ns);
}

/* --- steps ---------------------------------------------------------------------------------------------- */

/* Returns the largest quotient of a part of `size` and that of a measured step; at least 1. */
static double ratio_of(const struct step_size *size, const struct power_step *step)
{
    double ratio = 1;
    for (int part = 0; part < SIZE_PARTS; part++)
        ratio = fmax(ratio, size->parts[part] / step->size.parts[part]);
    return ratio;
}

void power_limit_add_step(struct power_limit *limit, const struct step_size *size)
{
    double joules = power_limit_expect(limit, size);
    limit->new_steps++;
    limit->new_joules += isfinite(joules) ? joules : 0;
    for (int part = 0; part < SIZE_PARTS; part++)
        limit->new_size.parts[part] += size->parts[part];
}

/* Adds a measured step to the means. */
static void add_measured(struct power_limit *limit, const struct step_size *size, double joules)
{
    int index = 0;
    while (index + 1 < POWER_STEPS && size->parts[SIZE_ROWS] >= (double)(2 << index))
        index++;
    struct power_step *step = &limit->steps[index];
    double weight = step->joules > 0 ? MEAN_STEP : 1;
    step->joules += weight * (joules - step->joules);
    for (int part = 0; part < SIZE_PARTS; part++)
        step->size.parts[part] += weight * (size->parts[part] - step->size.parts[part]);
    limit->largest = fmax(limit->largest, size->parts[SIZE_ROWS]);
    /* Each mean gives an upper limit for this step. If the step used more, the mean is too low. */
    for (step = limit->steps; step < limit->steps + POWER_STEPS; step++)
        if (step->joules > 0)
            step->joules = fmax(step->joules, joules / ratio_of(size, step));
}

void power_limit_measure(struct power_limit *limit, double joules)
{
    double steps = (double)limit->new_steps;
    if (limit->new_steps == 0)
        return;
    for (int part = 0; part < SIZE_PARTS; part++)
        limit->new_size.parts[part] /= steps;
    add_measured(limit, &limit->new_size, joules / steps);
    limit->new_steps = 0;
    limit->new_size = (struct step_size){0};
    limit->new_joules = 0;
}

double power_limit_expect(const struct power_limit *limit, const struct step_size *size)
{
    double joules = NAN;
    for (int i = 0; i < POWER_STEPS; i++)
        if (limit->steps[i].joules > 0)
            joules = fmin(joules, limit->steps[i].joules * ratio_of(size, &limit->steps[i]));
    return joules;
}

bool power_limit_allows(const struct power_limit *limit, const struct step_size *size)
{
    return size->parts[SIZE_ROWS] <= MAX_GROWTH * limit->largest &&
           power_limit_expect(limit, size) <= limit->max_step_joules;
}

int64_t power_limit_wait_ns(const struct power_limit *limit, double joules)
{
    if (!(limit->max_watts > 0) || limit->count == 0)
        return 0;
    const struct power_sample *last = sample(limit, limit->count - 1);
    double from_joules = last->joules - limit->max_watts + (isfinite(joules) ? joules : 0);
    unsigned i = 0;
    while (i < limit->count && sample(limit, i)->joules < from_joules)
        i++;
    if (i == 0 || i == limit->count)
        return i == 0 ? 0 : NS_PER_S;
    /* The second may begin when the source had from_joules. Between merged readings, this time is unknown. */
    const struct power_sample *before = sample(limit, i - 1), *after = sample(limit, i);
    double part = after->has_merged ? 1 : (from_joules - before->joules) / (after->joules - before->joules);
    int64_t from_ns = before->time_ns + (int64_t)ceil(part * (double)(after->time_ns - before->time_ns)),
            wait_ns = from_ns + NS_PER_S - last->time_ns;
    return wait_ns > 0 ? wait_ns : 0;
}
