/* joule/sources/accelerator/neuron_power.h - parses a line of the Neuron driver's power file.
 *
 * The line is "POWER_STATUS_VALID,1755000000,3.12,87.45,41.07": status, seconds since 1970, and the minimum,
 * maximum and mean percentage of a minute. Note: 100 % is an unpublished number of watts, and idle power is
 * already subtracted. On a device with two dies, it is the percentage of the busier die. */
#ifndef JOULE_NEURON_POWER_H
#define JOULE_NEURON_POWER_H

#include <joule/base.h>
#include <stdbool.h>
#include <stdint.h>

struct neuron_power {
    bool is_valid; /* the driver has values of the minute */
    int64_t end_s; /* end of the minute, on CLOCK_REALTIME; 0: none yet */
    double mean;   /* 0 to 1 */
};

/* Parses one line of the power file. Returns OK, or FAILED for text of another form. */
joule_status neuron_power_parse(const char *text, struct neuron_power *out_power);

#endif
