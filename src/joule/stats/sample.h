/* joule/stats/sample.h - describes a sample: location, scatter and quantiles.
 *
 * Note: a figure that the sample does not determine is NaN, for example the sd of one value. If a value is
 * not finite, all figures are NaN.
 */
#ifndef JOULE_STATS_SAMPLE_H
#define JOULE_STATS_SAMPLE_H

#include <stddef.h>

/* A sample in numbers. All members but `count` have the unit of the values. */
struct sample_summary {
    size_t count;
    double mean;
    double sd; /* square root of the unbiased variance; NaN if count < 2 */
    double min, lower_quartile, median, upper_quartile, max;
};

/* Returns the summary of `count` values. scratch: [count], overwritten with the sorted values. */
struct sample_summary sample_summarize(const double *values, size_t count, double *scratch);

/* Returns the mean; NaN if count is 0. The rounding error does not grow with the mean or the count. */
double sample_mean(const double *values, size_t count);
/* Returns the sd, with divisor count - 1; NaN if count < 2. Two passes, so a large mean does no harm. */
double sample_sd(const double *values, size_t count);

/* Sorts values in ascending order. No value may be NaN. */
void sample_sort(double *values, size_t count);
/* Returns the quantile p (0 to 1) of ascending values, by linear interpolation; NaN if count is 0. This is
 * definition 7 of Hyndman and Fan, "Sample quantiles in statistical packages", 1996, as in R and NumPy. */
double sample_quantile(const double *sorted, size_t count, double p);
/* normal_quantile(0.75): half of a standard normal variate's distances from 0 are smaller */
#define SAMPLE_NORMAL_QUARTILE 0.67448975019608174
/* Returns the robust sd: the median distance from the median, divided by SAMPLE_NORMAL_QUARTILE, which
 * makes it consistent for normal values. NaN if count is 0 or a value is not finite. scratch: [count],
 * overwritten */
double sample_robust_sd(const double *values, size_t count, double *scratch);

#endif
