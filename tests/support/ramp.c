/* support/ramp.c - see ramp.h. */
#include "support/ramp.h"

#include <inttypes.h>
#include <stdio.h>

int ramp_value(void *ramp, int64_t time_ns, uint64_t *out_value)
{
    const struct ramp *r = ramp;
    if (r->frozen_ns && time_ns > r->frozen_ns)
        time_ns = r->frozen_ns;
    uint64_t count = r->start + (uint64_t)(r->watts * (double)time_ns * 1e-9 / r->unit_joules);
    *out_value = r->modulus ? count % r->modulus : count;
    return 0;
}

ssize_t ramp_text(void *ramp, int64_t time_ns, char *buffer, size_t size)
{
    uint64_t value;
    ramp_value(ramp, time_ns, &value);
    return snprintf(buffer, size, "%" PRIu64 "\n", value);
}
