/* hal/expected.h - time and joules that are expected of work, with errors that can be added up.
 *
 * Owns the sum and its intervals. Newcomers: an error belongs to a cause that all of a device's launches share (its peak
 * was taken too high, say), so errors of one cause add up by value and those of different causes by square.
 */
#ifndef FORGE_HAL_EXPECTED_H
#define FORGE_HAL_EXPECTED_H

#include <joule/quantity.h>
#include <stdbool.h>

#define EXPECTED_CAUSES 9

struct expected {
    double seconds, joules;
    /* Their change when a cause is one sd up; signed. */
    double seconds_sd[EXPECTED_CAUSES], joules_sd[EXPECTED_CAUSES];
};

/* sum += times * part */
void expected_add(struct expected *sum, double times, const struct expected *part);
/* Log-normal, of class modelled. */
joule_quantity expected_seconds(const struct expected *expected);
joule_quantity expected_joules(const struct expected *expected);
/* Joules over seconds, whose common errors cancel; NaN where nothing was done. */
joule_quantity expected_watts(const struct expected *expected);
/* A figure with an sd of its logarithm. */
joule_quantity expected_quantity(double value, double log_sd, joule_class cls);

#endif
