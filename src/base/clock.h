/* base/clock.h - reads the monotonic clock and the wall clock, and converts times.
 *
 * Times are nanoseconds in int64_t; durations in seconds are doubles. Note: sensor readings use the host's
 * clocks (host.h), which a test may simulate.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)

/* Returns CLOCK_MONOTONIC in ns. Async-signal-safe. */
static inline int64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Returns the wall clock in ns since 1970; it may jump. Async-signal-safe. */
static inline int64_t clock_wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Converts nanoseconds (0 or more) to a timespec. */
static inline struct timespec clock_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

/* Converts nanoseconds to seconds. */
static inline double clock_seconds(int64_t ns)
{
    return (double)ns * 1e-9;
}

#endif
