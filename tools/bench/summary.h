/* bench/summary.h - the figures of a command: means and medians with their intervals, and ratios. */
#ifndef BENCH_SUMMARY_H
#define BENCH_SUMMARY_H

#include "experiment.h"
#include "joule/stats/compare.h"
#include "joule/stats/interval.h"
#include "joule/stats/sample.h"

/* A metric over the runs that count. Unknown: NaN. */
struct figure {
    size_t count;
    struct interval mean; /* with the t interval at 95 % */
    struct interval median,
        by_bootstrap; /* median and mean with bootstrap intervals; only summary_full_figure */
    double sd, min, max;
};

/* Returns a metric's mean and scatter. */
struct figure summary_figure(const struct variant *v, enum basis basis, enum metric metric);
/* Like summary_figure, with median and bootstrap intervals. */
struct figure summary_full_figure(const struct variant *v, enum basis basis, enum metric metric);
/* Returns work per joule (per_second: per second) with its interval; unknown without work. */
struct figure summary_work(const struct experiment *e, const struct variant *v, bool per_second);
/* Returns the error common to all runs, relative to the mean energy: one standard deviation. */
double summary_common_error(const struct experiment *e, const struct variant *v);
/* Returns the mean independent error of the sensor in one run, relative to the mean energy. */
double summary_own_error(const struct experiment *e, const struct variant *v);
size_t summary_rejected_count(const struct variant *v);
size_t summary_warm_up_count(const struct variant *v);
/* Returns a mean with its t interval. */
struct interval summary_interval(const struct moments *moments);
/* Sets the row of the database from the sums of the variant's runs. */
void summary_store(const struct experiment *e, struct variant *v, const struct run_sums *sums);

/* The comparison of a variant with its reference. */
struct comparison {
    const struct variant *variant;
    size_t block_count;
    struct ratio ratios[METRICS];
    double blocks_needed[METRICS]; /* to be certain of the measured ratio; NaN: unknown */
};
/* Compares all variants with their references, and corrects for their number. The caller frees the result.
 * Returns NULL if out of memory. *out_count: number of comparisons. */
struct comparison *summary_compare(const struct experiment *e, size_t *out_count);
/* Returns the interval of a ratio for one of `check_count` conditions: at the level 1 - 0.05 / check_count,
 * so that the probability of any false failure is at most 5 %. */
struct ratio summary_ratio_for_checks(const struct experiment *e, const struct comparison *c,
                                      enum metric metric, size_t check_count);

#endif
