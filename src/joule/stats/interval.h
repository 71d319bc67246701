/* joule/stats/interval.h - confidence intervals of one sample's mean and median.
 *
 * level: the probability with which the interval contains the true value, such as 0.95. An unknown interval,
 * for example of fewer than 2 values, has the bounds NaN. NaN bounds never mean "exact".
 */
#ifndef JOULE_STATS_INTERVAL_H
#define JOULE_STATS_INTERVAL_H

#include <stddef.h>
#include "joule/stats/generator.h"

/* An estimate with its bounds; all three in the unit of the values. */
struct interval {
    double value, low, high;
};

/* The usual number of resamples. A bound of a 95 % interval then has a random error of about 6 % of the
 * figure's standard error (Efron and Tibshirani, "An introduction to the bootstrap", 1993, chapter 14). */
#define INTERVAL_RESAMPLES 2000

/* Returns the mean with its t interval: mean +- t s / sqrt(n). Exact for normal values. For skewed values
 * the coverage approaches `level` as the count grows. */
struct interval interval_mean(const double *values, size_t count, double level);
/* Returns the mean of a normal sample of `count` values from its mean and sd, as interval_mean does. */
struct interval interval_from_moments(double mean, double sd, size_t count, double level);

/* Which figure of a sample is bootstrapped. */
enum interval_figure { INTERVAL_MEAN, INTERVAL_MEDIAN };

/* Arguments of the bootstrap. */
struct interval_bootstrap {
    enum interval_figure figure;
    double level;
    size_t resamples;            /* such as INTERVAL_RESAMPLES; at least 100 */
    struct generator *generator; /* equal seeds give equal intervals */
};

/* Returns the number of doubles of scratch that interval_bootstrap needs. */
size_t interval_scratch_count(size_t count, size_t resamples);
/* Returns the figure with its bootstrap interval: bias-corrected and accelerated (BCa; Efron, "Better
 * bootstrap confidence intervals", 1987). The acceleration of the median is 0, because the jackknife is
 * inconsistent for the median. The level is widened for small samples (Hesterberg, "What teachers should
 * know about the bootstrap", 2015). No bound lies outside the values. Unknown if count < 2 or
 * resamples < 100. scratch: [interval_scratch_count(count, resamples)]
 * Note: 95 % intervals of the mean of five values cover it in 90 % of cases. If a few runs are much slower
 * than the others, no interval of a mean reaches its level; intervals of the median do (test_interval). */
struct interval interval_bootstrap(const struct interval_bootstrap *arguments, const double *values,
                                   size_t count, double *scratch);

/* Returns the half-width of an interval divided by |value|; NaN if unknown or if the value is 0. */
double interval_relative_half_width(const struct interval *interval);

#endif
