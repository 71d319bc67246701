/* joule/curve/integrate.h - integrates sampled power to energy.
 *
 * The integrator uses the trapezoid rule on the sensor's own update times, or the sum for sensors that report
 * energy per sample. It drops readings that were polled twice, does not integrate over gaps of more than
 * three update periods, and adds up the variance from sampling.
 * Note: time that is not covered adds neither joules nor covered seconds.
 */
#ifndef JOULE_INTEGRATE_H
#define JOULE_INTEGRATE_H

#include <stdbool.h>
#include <stdint.h>

/* The state of one sensor's integration. Initialise it with zeros, then set the members that belong to the
 * owner. */
struct integrator {
    /* set by the owner */
    double period_s; /* the sensor's update period, > 0 */
    /* fraction of each period over which a reading is a mean. 1: the whole period, so the sum of reading
     * times period is exact; 0: an instantaneous value; between: the reading does not show the rest of the
     * period */
    double averaged_part;
    double age_s;     /* maximum age of a reading without a timestamp: the sensor's own period; 0: period_s */
    double lag_s;     /* if averaged_part < 1: delay of a reading, half of the time over which it is a mean */
    double max_watts; /* higher readings are rejected; <= 0: no limit */
    double stamp_sd_s; /* standard error of the next reading's time */
    /* maintained by integrate_* */
    bool primed;
    int64_t last_ns;           /* end of the integrated time */
    int64_t first_ns, seen_ns; /* first and latest reading of the last value */
    double last_watts, last_change;
    uint64_t changes;
    /* running means of d^2 and of d times the previous d, with d the change in watts */
    double change_square, change_product;
    double joules, covered_s, variance; /* totals; variance in J^2 */
    uint64_t samples, duplicates, gaps, rejected;
};

/* The effect of a reading. */
enum integrate_verdict {
    INTEGRATE_HELD,     /* accepted; the totals did not change */
    INTEGRATE_MOVED,    /* accepted; the totals changed */
    INTEGRATE_REJECTED, /* not a number, negative or above max_watts; the reading was ignored */
};

/* Processes one reading in watts. time_ns: the sensor's own timestamp if exact_time, otherwise the middle of
 * the poll. Without an exact time, an equal value may be the same sample, unless age_s shows that the sensor
 * has updated since. Such a value is held: the totals change after at most two periods. When another value
 * comes, the old value is assumed to have lasted until one period before that reading. A reading that is not
 * later than the reading before is dropped. */
enum integrate_verdict integrate_power(struct integrator *in, int64_t time_ns, bool exact_time, double watts);

/* Adds the joules that a sensor reports for the period that ends at time_ns. Each call is a new sample;
 * exact_time has no effect. */
enum integrate_verdict integrate_energy(struct integrator *in, int64_t time_ns, bool exact_time,
                                        double joules);

/* Returns the time in seconds over which a reading is a mean, if it is longer than a period; otherwise 0.
 * Readings of such a sensor overlap. */
double integrator_blur_s(const struct integrator *in);

/* Marks a gap: integration restarts with the next reading. */
void integrate_break(struct integrator *in);

#endif
