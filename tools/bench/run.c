/* bench/run.c - see run.h. */
#include "run.h"

#include <math.h>
#include "base/array.h"

const char *basis_name(enum basis basis)
{
    static const char *const names[] = {"unknown", "gross", "net", "command"};
    return names[basis];
}

double run_joules(const struct run *run, enum basis basis)
{
    switch (basis) {
    case BASIS_GROSS:
        return run->machine_joules;
    case BASIS_NET:
        return run->net_joules;
    case BASIS_COMMAND:
        return run->command_joules;
    default:
        return NAN;
    }
}

double run_metric(const struct run *run, enum basis basis, enum metric metric)
{
    double joules = run_joules(run, basis);
    switch (metric) {
    case METRIC_ENERGY:
        return joules;
    case METRIC_TIME:
        return run->seconds;
    case METRIC_POWER:
        return joules / run->seconds;
    default:
        return joules * run->seconds;
    }
}

void moments_add(struct moments *moments, double value)
{
    double distance = value - moments->mean;
    moments->mean += distance / (double)++moments->count;
    moments->squares += distance * (value - moments->mean);
}

void run_sums_add(struct run_sums *sums, const struct run *run, enum basis basis)
{
    sums->rejected_count += !run->is_warm_up && run->rejected;
    if (run->is_warm_up || run->rejected)
        return;
    moments_add(&sums->joules, run_joules(run, basis));
    moments_add(&sums->seconds, run->seconds);
    moments_add(&sums->watts, run_metric(run, basis, METRIC_POWER));
    if (!isnan(run->work))
        moments_add(&sums->work, run->work);
}

bool run_list_add(struct run_list *list, const struct run *run)
{
    if (!ARRAY_ROOM(list->items, list->capacity, list->count))
        return false;
    list->items[list->count++] = *run;
    return true;
}

size_t run_list_metric(const struct run_list *list, enum basis basis, enum metric metric, double *out_values)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        if (!list->items[i].is_warm_up && !list->items[i].rejected)
            out_values[count++] = run_metric(&list->items[i], basis, metric);
    return count;
}

double run_list_mean(const struct run_list *list, size_t offset)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct run *run = &list->items[i];
        double value = *(const double *)((const char *)run + offset);
        if (run->is_warm_up || run->rejected || isnan(value))
            continue;
        sum += value;
        count++;
    }
    return count ? sum / (double)count : NAN;
}
