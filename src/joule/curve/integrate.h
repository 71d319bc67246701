/* joule/curve/integrate.h - integrates sampled power to energy.
 *
 * The integrator applies the trapezoid rule at the sensor's own update times. If a sensor reports energy per
 * sample, the integrator adds up the samples. The integrator drops readings that were polled twice, does not
 * integrate over gaps of more than three update periods, and adds up the variance from sampling.
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
    /* Fraction of each period over which a reading is a mean. 1: the reading is a mean over the whole period,
     * so the sum of reading times period is exact. 0: the reading is an instantaneous value. 0.25, for
     * example: the reading does not show the other three quarters of the period. */
    double averaged_part;
    /* maximum age of a reading without a timestamp, which is the sensor's own period; 0 means period_s */
    double age_s;
    /* delay of a reading, which is half of the time over which it is a mean; used if averaged_part < 1 */
    double lag_s;
    double max_watts;  /* higher readings are rejected; <= 0: no limit */
    double stamp_sd_s; /* standard error of the next reading's time */
    /* maintained by integrate_* */
    bool primed;
    int64_t last_ns;           /* end of the integrated time */
    int64_t first_ns, seen_ns; /* times of the first and the latest reading of last_watts */
    double last_watts, last_change;
    uint64_t changes;
    /* running means of d^2 and of d times the previous d, where d is the change of power in watts */
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
 * the poll. Without an exact time, a reading that equals the last one may be the same sample, polled again.
 * Such a reading is held: the totals change at most two periods later. If age_s shows that the sensor has
 * updated since, an equal reading is a new sample and is not held. When a different value is read, the old
 * value is assumed to have lasted until one period before this reading. A reading that is not later than the
 * reading before is dropped. */
enum integrate_verdict integrate_power(struct integrator *in, int64_t time_ns, bool exact_time, double watts);

/* Adds the joules that a sensor reports for the period that ends at time_ns. Each call is a new sample.
 * exact_time has no effect. */
enum integrate_verdict integrate_energy(struct integrator *in, int64_t time_ns, bool exact_time,
                                        double joules);

/* Returns the time in seconds over which a reading is a mean, if it is longer than a period; otherwise 0.
 * Readings of such a sensor overlap. */
double integrator_blur_s(const struct integrator *in);

/* Marks a gap: integration restarts with the next reading. */
void integrate_break(struct integrator *in);

#endif
