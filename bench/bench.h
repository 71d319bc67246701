/* bench/bench.h - medians and clocks for the benchmarks.
 *
 * Benchmarks run their cases in turns, and report the median of many rounds. Note: on a shared machine a mean
 * would include the worst disturbance, and a minimum only the best moment.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Returns the median of the values, which are sorted in place. */
static inline double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

/* Returns the 25 % quantile of the values, which are sorted in place. */
static inline double lower_quartile(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 4];
}

static inline int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Returns the CPU time of this thread in ns. It excludes the time in which other threads use the CPU. */
static inline int64_t thread_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

#endif
