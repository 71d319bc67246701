/* joule/stats/outliers.h - finds runs that do not belong to the others.
 *
 * A value is an outlier if its distance from the median exceeds a limit times the robust sd. The limit is
 * such that OUTLIERS_CHANCE of clean normal samples contain an outlier, whatever their size, so rejecting
 * outliers hardly changes error rates.
 * Note: apply it to logarithms of energies or times, and to log ratios of blocks for a comparison. A rule
 * for each command alone could favour one of them. A program whose slow runs are real should keep them:
 * the caller always reports how many runs were rejected.
 */
#ifndef JOULE_STATS_OUTLIERS_H
#define JOULE_STATS_OUTLIERS_H

#include <stdbool.h>
#include <stddef.h>

#define OUTLIERS_CHANCE 0.01 /* probability that a clean sample contains an outlier */
#define OUTLIERS_MIN    5    /* a smaller sample has no outliers */

/* Returns the limit, in robust sds from the median, for a sample of `count` values; INFINITY below
 * OUTLIERS_MIN. */
double outliers_limit(size_t count);
/* Sets out_is_outlier[i] for each value and returns the number of outliers. At most a third of the values
 * are outliers: if there are more, the sample has two groups, and none is marked. A value that is not
 * finite is an outlier. If the robust sd is 0, no finite value is an outlier. out_is_outlier: [count];
 * scratch: [2 * count] */
size_t outliers_find(const double *values, size_t count, bool *out_is_outlier, double *scratch);

#endif
