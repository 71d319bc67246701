/* joule/stats/stop_rule.h - decides how many runs are enough.
 *
 * A measurement that is repeated until its interval is narrow stops too often when the scatter looks small by
 * chance. Its interval then covers the true value too rarely. Stein ("A two-sample test for a linear
 * hypothesis whose power is independent of the variance", 1945) avoids this with one look: a pilot of fixed
 * size predicts the number of runs. This rule looks as rarely: after the pilot it predicts the number of runs,
 * and looks again only when they are complete.
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
    size_t min_runs;   /* size of the pilot; at least STOP_RULE_MIN_RUNS is used */
    size_t max_runs;   /* the cap */
};

/* With fewer runs in the pilot, the prediction scatters too much. test_stop_rule shows the coverage. */
#define STOP_RULE_MIN_RUNS 5

/* Returns the number of runs up to which to measure before the next call. The result equals `count` if the
 * measurement is complete: the target is reached or count >= max_runs. Call it first with count 0.
 * values: [count], without rejected runs */
size_t stop_rule_next(const struct stop_rule *rule, const double *values, size_t count);

#endif
