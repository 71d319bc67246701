/* joule/stats/steady.h - is a series, such as power or temperature during warm-up, steady?
 *
 * A straight line is fitted to equally spaced values. Successive values of sensors are correlated, so the
 * error of the slope is widened by the correlation of neighbours.
 */
#ifndef JOULE_STATS_STEADY_H
#define JOULE_STATS_STEADY_H

#include <stddef.h>

#define STEADY_MIN_VALUES 8 /* shorter series are unknown */

/* The drift of a series: the change of the fitted line from the first to the last value, in the unit of the
 * values. Unknown: NaN. */
struct drift {
    double mean; /* of the series */
    double change, low, high;
};

/* The verdict about a series. */
enum steadiness {
    STEADINESS_UNKNOWN, /* too short or too noisy: measure longer */
    STEADINESS_STEADY,  /* the whole interval of the change is within the tolerance */
    STEADINESS_DRIFTS,  /* the change exceeds the tolerance, and its interval excludes 0 */
};

/* Returns the drift of equally spaced values, with an interval at `level`. Least squares. If the noise of
 * neighbours has the correlation r > 0, the series counts as n (1 - r) / (1 + r) values (Santer and others,
 * "Statistical significance of trends and trend differences in layer-average atmospheric temperature time
 * series", 2000). The interval is unknown if this leaves too few values. */
struct drift drift_fit(const double *values, size_t count, double level);
/* The same for values whose noise is independent, such as the mean powers of separate runs. A curve, such as
 * that of a machine that heats up, does not widen the interval as much as correlated noise does. */
struct drift drift_fit_independent(const double *values, size_t count, double level);
/* Judges a drift. tolerance: in the unit of the values, such as 0.02 * drift.mean for power, or 1 for
 * temperatures in degrees. */
enum steadiness drift_judge(const struct drift *drift, double tolerance);

#endif
