/* hal/expected.h - expected time and joules of work, with errors that can be added.
 *
 * Note: each error has a cause that all launches of a device share, for example a peak rate that is too high.
 * Errors with the same cause are added linearly, and errors with different causes in quadrature.
 */
#ifndef FORGE_HAL_EXPECTED_H
#define FORGE_HAL_EXPECTED_H

#include <joule/quantity.h>
#include <stdbool.h>

#define EXPECTED_CAUSES 9 /* number of causes */

/* Expected time in s and energy in J, with an error for each cause. */
struct expected {
    double seconds, joules;
    /* For each cause, the change of seconds and of joules if the error of the cause is one standard deviation
     * higher; may be negative. */
    double seconds_sd[EXPECTED_CAUSES], joules_sd[EXPECTED_CAUSES];
};

/* Adds times * part to *sum, both values and errors. */
void expected_add(struct expected *sum, double times, const struct expected *part);
/* Return the value with a log-normal 90 % interval, of class JOULE_CLASS_MODELLED. */
joule_quantity expected_seconds(const struct expected *expected);
joule_quantity expected_joules(const struct expected *expected);
/* Returns joules / seconds, in W; NaN if seconds is 0. An error that changes joules and seconds by the same
 * factor has no effect on the result. */
joule_quantity expected_watts(const struct expected *expected);
/* Returns the value with a log-normal 90 % interval and the class `cls`. log_sd: standard deviation of the
 * value's natural logarithm. */
joule_quantity expected_quantity(double value, double log_sd, joule_class cls);

#endif
