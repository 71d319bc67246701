/* joule/stats/stop_rule.h - decides how many runs are enough.
 *
 * A measurement that is repeated until its interval is narrow stops too often when the scatter is small by
 * chance. Its interval then covers the true value too rarely. Two remedies are combined here:
 * - Few checks. After a pilot, the scatter predicts the number of runs. The next check follows when these
 *   runs are complete (Stein, "A two-sample test for a linear hypothesis whose power is independent of the
 *   variance", 1945).
 * - A few more runs after the target is reached, which corrects the scatter (Simons, "On the cost of not
 *   knowing the variance when making a fixed-width confidence interval for the mean", 1968). They may widen
 *   the interval slightly beyond the target.
 */
#ifndef JOULE_STATS_STOP_RULE_H
#define JOULE_STATS_STOP_RULE_H

#include <stdbool.h>
#include <stddef.h>

/* When to stop. */
struct stop_rule {
    double half_width; /* target: half-width of the t interval of the mean */
    bool is_relative;  /* half_width is a fraction of |mean|; otherwise it has the unit of the values. For the
                        * logarithms of ratios, 0.01 in the unit of the values means 1 %. */
    double level;      /* such as 0.95 */
    size_t min_runs;   /* size of the pilot; if smaller, STOP_RULE_MIN_RUNS */
    size_t max_runs;   /* the cap */
};

#define STOP_RULE_MIN_RUNS   6 /* a smaller pilot predicts too badly */
#define STOP_RULE_EXTRA_RUNS 8 /* after the target is reached; with 8, coverage is at least 94.1 % */

/* Returns the number of runs up to which to measure before the next call. The result equals `count` if
 * the measurement is complete. Call it first with count 0, then with all values so far, in the order of
 * the runs. values: [count], without rejected runs
 * Note: the function keeps no state. It repeats its checks of the first values each time. */
size_t stop_rule_next(const struct stop_rule *rule, const double *values, size_t count);

#endif
