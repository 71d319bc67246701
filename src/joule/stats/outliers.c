/* joule/stats/outliers.c - see outliers.h. */
#include "joule/stats/outliers.h"

#include <math.h>
#include "joule/stats/distribution.h"
#include "joule/stats/sample.h"

/* Degrees of freedom of the robust sd per value. Fitted by simulation of normal samples of 5 to 1000 values,
 * so that OUTLIERS_CHANCE holds; test_outliers checks it. */
#define FREEDOM_PER_VALUE 0.45

double outliers_limit(size_t count)
{
    if (count < OUTLIERS_MIN)
        return INFINITY;
    double values = (double)count;
    return -student_quantile(OUTLIERS_CHANCE / (2 * values), FREEDOM_PER_VALUE * (values - 1));
}

/* Copies the finite values to `out` and returns their number. */
static size_t copy_finite(const double *values, size_t count, double *out)
{
    size_t finite = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]))
            out[finite++] = values[i];
    return finite;
}

/* Marks the values that are farther than `distance` from the center, or not finite. Returns their number. */
static size_t mark(const double *values, size_t count, double center, double distance, bool *out_is_outlier)
{
    size_t marked = 0;
    for (size_t i = 0; i < count; i++)
        marked += out_is_outlier[i] = !isfinite(values[i]) || fabs(values[i] - center) > distance;
    return marked;
}

size_t outliers_find(const double *values, size_t count, bool *out_is_outlier, double *scratch)
{
    size_t finite = copy_finite(values, count, scratch);
    double sd = sample_robust_sd(scratch, finite, scratch + count);
    sample_sort(scratch, finite);
    double center = sample_quantile(scratch, finite, 0.5);
    double distance = sd > 0 ? outliers_limit(finite) * sd : INFINITY;
    size_t marked = mark(values, count, center, distance, out_is_outlier);
    if (3 * (marked - (count - finite)) > finite)
        return mark(values, count, center, INFINITY, out_is_outlier);
    return marked;
}
