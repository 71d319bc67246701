/* support/ramp.h - a counter with known truth: constant watts from time 0 of the scripted machine.
 *
 * Returns the count in both forms in which a host delivers counts: as text and as a value. Note: the count
 * wraps at its modulus, as in hardware. */
#ifndef TEST_RAMP_H
#define TEST_RAMP_H

#include "joule/host/host.h"

struct ramp {
    double watts, unit_joules;
    uint64_t start;    /* count at time 0 */
    uint64_t modulus;  /* 0 means 2^64 */
    int64_t frozen_ns; /* time from which the count stays constant; 0 means never */
};

int ramp_value(void *ramp, int64_t time_ns, uint64_t *out_value);          /* script_value_fn */
ssize_t ramp_text(void *ramp, int64_t time_ns, char *buffer, size_t size); /* script_file_fn */

#endif
