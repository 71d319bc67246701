/* infer/engine/power_limit.c - see power_limit.h. */
#include "forge/infer/engine/power_limit.h"

#include <math.h>
#include "base/clock.h"

#define MIN_DISTANCE_NS (NS_PER_S / 100)

static unsigned entry_index(const struct power_limit *limit, unsigned i)
{
    return (limit->first + i) % POWER_SAMPLES;
}

void power_limit_add(struct power_limit *limit, int64_t time_ns, double joules)
{
    /* Readings less than MIN_DISTANCE_NS apart share one entry, so that POWER_SAMPLES entries cover more than
     * a second. */
    unsigned count = limit->count;
    bool replaces = count >= 2 && limit->times_ns[entry_index(limit, count - 1)] -
                                          limit->times_ns[entry_index(limit, count - 2)] <
                                      MIN_DISTANCE_NS;
    if (!replaces && limit->count == POWER_SAMPLES) {
        limit->first = entry_index(limit, 1);
        limit->count--;
    }
    unsigned at = entry_index(limit, replaces ? limit->count - 1 : limit->count++);
    limit->times_ns[at] = time_ns;
    limit->joules[at] = joules;
}

/* Returns the energy at a time, interpolated between readings. Before the first reading, returns the first
 * reading's energy. */
static double joules_at(const struct power_limit *limit, int64_t time_ns)
{
    unsigned i = limit->count;
    while (i > 0 && limit->times_ns[entry_index(limit, i - 1)] > time_ns)
        i--;
    if (i == 0)
        return limit->joules[limit->first];
    unsigned before = entry_index(limit, i - 1);
    if (i == limit->count)
        return limit->joules[before];
    unsigned after = entry_index(limit, i);
    double part = (double)(time_ns - limit->times_ns[before]) /
                  (double)(limit->times_ns[after] - limit->times_ns[before]);
    return limit->joules[before] + part * (limit->joules[after] - limit->joules[before]);
}

double power_limit_watts(const struct power_limit *limit)
{
    if (limit->count < 2)
        return NAN;
    unsigned last = entry_index(limit, limit->count - 1);
    int64_t from_ns = limit->times_ns[last] - NS_PER_S, first_ns = limit->times_ns[limit->first];
    from_ns = from_ns > first_ns ? from_ns : first_ns;
    if (from_ns >= limit->times_ns[last])
        return NAN;
    return (limit->joules[last] - joules_at(limit, from_ns)) / clock_seconds(limit->times_ns[last] - from_ns);
}

int64_t power_limit_wait_ns(const struct power_limit *limit, double joules)
{
    if (!(limit->max_watts > 0) || limit->count == 0)
        return 0;
    unsigned last = entry_index(limit, limit->count - 1);
    double allowed = limit->max_watts - (isfinite(joules) ? joules : 0);
    /* Finds the shortest wait after which at most `allowed` joules were used in the last second. */
    for (int64_t wait_ns = 0; wait_ns < NS_PER_S; wait_ns += NS_PER_S / 200)
        if (limit->joules[last] - joules_at(limit, limit->times_ns[last] - NS_PER_S + wait_ns) <= allowed)
            return wait_ns;
    return NS_PER_S;
}
