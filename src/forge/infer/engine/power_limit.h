/* infer/engine/power_limit.h - keeps the mean power over any second below a limit, by waiting before
 * steps. */
#ifndef FORGE_INFER_POWER_LIMIT_H
#define FORGE_INFER_POWER_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

enum { POWER_SAMPLES = 128 };

/* Readings of the energy in the last second. Initialise with zeros and max_watts. */
struct power_limit {
    double max_watts; /* 0: no limit */
    int64_t times_ns[POWER_SAMPLES];
    double joules[POWER_SAMPLES]; /* readings of a source, which never decrease */
    unsigned first, count;
};

/* Stores a reading. It replaces the last reading if the last two are less than 10 ms apart. */
void power_limit_add(struct power_limit *limit, int64_t time_ns, double joules);
/* Returns the mean power of the last second before the last reading, in W; NaN: fewer than two
 * readings at different times. */
double power_limit_watts(const struct power_limit *limit);
/* Returns the time to wait before a step that is expected to use `joules`, in ns. After this wait, the energy
 * of the last second plus `joules` is within the limit. The time is at most one second, even for a step that
 * alone exceeds the limit. */
int64_t power_limit_wait_ns(const struct power_limit *limit, double joules);

#endif
