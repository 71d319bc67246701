/* hal/expected.c - see expected.h. */
#include "forge/hal/expected.h"

#include <math.h>

#define Z90 1.6448536269514722 /* 95 % quantile of the standard normal distribution */

void expected_add(struct expected *sum, double times, const struct expected *part)
{
    sum->seconds += times * part->seconds;
    sum->joules += times * part->joules;
    for (int i = 0; i < EXPECTED_CAUSES; i++) {
        sum->seconds_sd[i] += times * part->seconds_sd[i];
        sum->joules_sd[i] += times * part->joules_sd[i];
    }
}

joule_quantity expected_quantity(double value, double log_sd, joule_class cls)
{
    return (joule_quantity){value, value * exp(-Z90 * log_sd), value * exp(Z90 * log_sd), cls, 0};
}

static joule_quantity with_errors(double value, const double *sd)
{
    double square = 0;
    for (int i = 0; i < EXPECTED_CAUSES; i++)
        square += sd[i] * sd[i];
    return expected_quantity(value, value > 0 ? sqrt(square) / value : 0, JOULE_CLASS_MODELLED);
}

joule_quantity expected_seconds(const struct expected *expected)
{
    return with_errors(expected->seconds, expected->seconds_sd);
}

joule_quantity expected_joules(const struct expected *expected)
{
    return with_errors(expected->joules, expected->joules_sd);
}

joule_quantity expected_watts(const struct expected *e)
{
    double watts = e->joules / e->seconds, sd[EXPECTED_CAUSES];
    if (!(e->seconds > 0))
        return (joule_quantity){NAN, NAN, NAN, JOULE_CLASS_NONE, 0};
    for (int i = 0; i < EXPECTED_CAUSES; i++)
        sd[i] = watts * (e->joules_sd[i] / e->joules - e->seconds_sd[i] / e->seconds);
    return with_errors(watts, sd);
}
