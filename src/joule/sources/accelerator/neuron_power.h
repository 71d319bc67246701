/* joule/sources/accelerator/neuron_power.h - one line of the Neuron driver's power file.
 *
 * Owns its text form, "POWER_STATUS_VALID,1755000000,3.12,87.45,41.07": status, seconds since 1970, and the least, greatest
 * and mean percentage of a minute. Newcomers: the percentage is of a number of watts that is not published, with
 * what the device draws at rest already taken away; of two dies it is that of the busier one.
 */
#ifndef JOULE_NEURON_POWER_H
#define JOULE_NEURON_POWER_H

#include <joule/base.h>
#include <stdbool.h>
#include <stdint.h>

struct neuron_power {
    bool is_valid; /* else the driver has no figures of that minute */
    int64_t end_s; /* when the minute ended, on CLOCK_REALTIME; 0: none has yet */
    double mean;   /* 0 to 1 */
};

/* OK; FAILED for text of another form. */
joule_status neuron_power_parse(const char *text, struct neuron_power *out_power);

#endif
