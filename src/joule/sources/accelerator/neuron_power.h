/* joule/sources/accelerator/neuron_power.h - parses a line of the Neuron driver's power file.
 *
 * The line is "POWER_STATUS_VALID,1755000000,3.12,87.45,41.07": status, seconds since 1970, and the minimum,
 * maximum and mean percentage of a minute.
 * Note: AWS does not publish how many watts 100 % are, and the percentage excludes idle power. On a device
 * with two dies, the line describes the busier die. */
#ifndef JOULE_NEURON_POWER_H
#define JOULE_NEURON_POWER_H

#include <joule/base.h>
#include <stdbool.h>
#include <stdint.h>

struct neuron_power {
    bool is_valid; /* the driver measured this minute */
    int64_t end_s; /* end of the minute, on CLOCK_REALTIME; 0: no minute has ended yet */
    double mean;   /* mean power as a fraction of the maximum, 0 to 1 */
};

/* Parses one line of the power file. Returns JOULE_OK, or JOULE_FAILED if the line is malformed. */
joule_status neuron_power_parse(const char *text, struct neuron_power *out_power);

#endif
