/* joule/curve/integrate.h - sampled power made into energy.
 *
 * Owns the trapezoid on the sensor's own update times and the plain sum for meters that give energy per sample.
 * It drops readings that were polled twice, bridges no gap over three update periods, and keeps the variance
 * that sampling brought in.
 * Newcomers: time that was not covered adds neither joules nor covered seconds; nobody fills it in later.
 */
#ifndef JOULE_INTEGRATE_H
#define JOULE_INTEGRATE_H

#include <stdbool.h>
#include <stdint.h>

struct integrator {
    /* set by the owner */
    double period_s; /* the sensor's update period, > 0 */
    /* part of each period that a reading is the mean of. 1: all of it, and the sum of reading times
     * period is exact; 0: an instant; between: the rest of the period is unseen */
    double seen;
    double age_s; /* a reading without a stamp is at most so old, the sensor's own pace; 0: period_s */
    double lag_s; /* seen < 1: a reading speaks for this long before its stamp (half of what it averages) */
    double max_watts;  /* readings above are rejected; <= 0: no limit */
    double stamp_sd_s; /* standard error of the next reading's time */
    /* kept by integrate_* */
    bool primed;
    int64_t last_ns;           /* end of what is integrated */
    int64_t first_ns, seen_ns; /* the last value was shown from then until then at least */
    double last_watts, last_change;
    uint64_t changes;
    double change_square,
        change_product; /* running means of d^2 and of d times the d before, d the change in watts */
    double joules, covered_s, variance; /* totals; variance in J^2 */
    uint64_t samples, duplicates, gaps, rejected;
};

enum integrate_verdict {
    INTEGRATE_HELD, /* taken; the totals did not move */
    INTEGRATE_MOVED,
    INTEGRATE_REJECTED, /* not a number, negative or above max_watts: nothing was taken */
};

/* Takes one reading in watts. time_ns is the sensor's own timestamp if it has one (`exact_time`), else the
 * middle of the poll. Without an exact time an equal value may be the same sample, unless age_s shows that
 * the sensor has updated since. Such a value is held: totals move after at most two periods. When another
 * value comes, the old one is taken to have lasted until one period before. Readings must come in order of
 * time; others are dropped. */
enum integrate_verdict integrate_power(struct integrator *in, int64_t time_ns, bool exact_time, double watts);

/* Takes `joules` that a meter says were used in the period ending at time_ns. Each call is a sample of its own, whether
 * or not its time is exact. */
enum integrate_verdict integrate_energy(struct integrator *in, int64_t time_ns, bool exact_time,
                                        double joules);

/* How long a reading looks back where that is longer than to the reading before, so that one moment is in several; else
 * 0. */
double integrator_blur_s(const struct integrator *in);

/* Marks a gap: the next reading starts anew. */
void integrate_break(struct integrator *in);

#endif
