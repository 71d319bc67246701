/* bench/bench.h - what the benchmarks share: a median, and clocks.
 *
 * Newcomers: a mean would carry the worst moment of a shared machine, a minimum the best; medians of rounds in which all
 * contestants take turns carry neither.
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

/* Puts the values in order. */
static inline double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

/* Puts the values in order. The first quarter of them is no greater. */
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

/* Of this thread alone: what it waits for others on a busy machine does not count. */
static inline int64_t thread_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

#endif
