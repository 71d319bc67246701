/* joule/stats/stop_rule.c - see stop_rule.h. */
#include "joule/stats/stop_rule.h"

#include <math.h>
#include "joule/stats/interval.h"

/* Returns half the width of the interval of the mean of the first `count` values, divided by the target. A
 * result <= 1 means that the target is reached. NaN: unknown */
static double relative_excess(const struct stop_rule *rule, const double *values, size_t count)
{
    struct interval mean = interval_mean(values, count, rule->level);
    double target = rule->half_width * (rule->is_relative ? fabs(mean.value) : 1);
    double half = (mean.high - mean.low) / 2;
    return half == 0 ? 0 : half / target;
}

/* Returns the number of runs at the next check, if the half-width of `count` runs is `excess` times the
 * target: the width decreases with the root of the count. */
static size_t next_check(size_t count, double excess, size_t max_runs)
{
    double needed = ceil((double)count * excess * excess);
    if (!(needed < (double)max_runs))
        return max_runs;
    return needed > (double)count ? (size_t)needed : count + 1;
}

size_t stop_rule_next(const struct stop_rule *rule, const double *values, size_t count)
{
    size_t check = rule->min_runs > STOP_RULE_MIN_RUNS ? rule->min_runs : STOP_RULE_MIN_RUNS;
    while (check < rule->max_runs && check <= count) {
        double excess = relative_excess(rule, values, check);
        if (excess <= 1) {
            check += STOP_RULE_EXTRA_RUNS;
            break;
        }
        check = next_check(check, excess, rule->max_runs);
    }
    check = check < rule->max_runs ? check : rule->max_runs;
    return check > count ? check : count;
}
