/* base/clock.h - the machine's steady clock and the wall's, and times in their unit.
 *
 * Owns the reading of CLOCK_MONOTONIC where a real thread waits or stamps, and of what people call the time; readings
 * of sensors take the host's clocks (host.h), which may be virtual.
 * Newcomers: times are nanoseconds in an int64_t, lengths in seconds are doubles.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)

/* Async-signal-safe. */
static inline int64_t clock_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Since 1970, as somebody has set it: it may jump. Async-signal-safe. */
static inline int64_t clock_wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static inline struct timespec clock_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

static inline double clock_seconds(int64_t ns)
{
    return (double)ns * 1e-9;
}

#endif
