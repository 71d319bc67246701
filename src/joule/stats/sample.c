/* joule/stats/sample.c - see sample.h. */
#include "joule/stats/sample.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

double sample_mean(const double *values, size_t count)
{
    double sum = 0, rest = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    double mean = count ? sum / (double)count : NAN;
    for (size_t i = 0; i < count; i++)
        rest += values[i] - mean;
    return mean + rest / (double)count;
}

double sample_sd(const double *values, size_t count)
{
    double mean = sample_mean(values, count), squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    return count < 2 ? NAN : sqrt(squares / (double)(count - 1));
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void sample_sort(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
}

double sample_quantile(const double *sorted, size_t count, double p)
{
    if (count == 0 || !(p >= 0 && p <= 1))
        return NAN;
    double place = p * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

/* Copies values to out and sorts them. Returns false, and leaves out unsorted, if a value is not finite. */
static bool copy_sorted(const double *values, size_t count, double *out)
{
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            return false;
        out[i] = values[i];
    }
    sample_sort(out, count);
    return true;
}

double sample_robust_sd(const double *values, size_t count, double *scratch)
{
    if (!copy_sorted(values, count, scratch))
        return NAN;
    double median = sample_quantile(scratch, count, 0.5);
    for (size_t i = 0; i < count; i++)
        scratch[i] = fabs(values[i] - median);
    sample_sort(scratch, count);
    return sample_quantile(scratch, count, 0.5) / SAMPLE_NORMAL_QUARTILE;
}

struct sample_summary sample_summarize(const double *values, size_t count, double *scratch)
{
    if (!copy_sorted(values, count, scratch))
        return (struct sample_summary){count, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    return (struct sample_summary){
        .count = count,
        .mean = sample_mean(values, count),
        .sd = sample_sd(values, count),
        .min = sample_quantile(scratch, count, 0),
        .lower_quartile = sample_quantile(scratch, count, 0.25),
        .median = sample_quantile(scratch, count, 0.5),
        .upper_quartile = sample_quantile(scratch, count, 0.75),
        .max = sample_quantile(scratch, count, 1),
    };
}
