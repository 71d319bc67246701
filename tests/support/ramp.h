/* support/ramp.h - a counter of a known truth: constant watts since the scripted machine came up.
 *
 * Owns the two forms in which hosts ask for it, text and value. Newcomers: it wraps at its modulus, as hardware does.
 */
#ifndef TEST_RAMP_H
#define TEST_RAMP_H

#include "joule/host/host.h"

struct ramp {
    double watts, unit_joules;
    uint64_t start;    /* counts at time 0 */
    uint64_t modulus;  /* 0: 64 bits */
    int64_t frozen_ns; /* stands still from here on; 0: never */
};

int ramp_value(void *ramp, int64_t time_ns, uint64_t *out_value);          /* script_value_fn */
ssize_t ramp_text(void *ramp, int64_t time_ns, char *buffer, size_t size); /* script_file_fn */

#endif
