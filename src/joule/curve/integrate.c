/* joule/curve/integrate.c - see integrate.h. */
#include "joule/curve/integrate.h"

#include <math.h>

/* longest time between two readings that is integrated, in periods */
#define MAX_GAP_PERIODS 3.0
/* If a value changes more than this many periods after its first reading, the sensor has updated in between
 * without a change of the value. */
#define LATE_CHANGE_PERIODS 1.5
/* A reading with the same value at least this many periods later is a new sample, even if its time is not
 * exact. */
#define REPEAT_PERIODS 2.0
/* If the sensor's own period is known (age_s), a reading with the same value more than this many such periods
 * later is a new sample. */
#define UPDATED_AGES 2.0
/* number of changes from which noise is estimated */
#define MEMORY 64
/* Limit and exponent in `whiteness`. An estimate from few changes scatters around the true value. With a
 * limit of 1, white noise would on average be estimated as less than white. */
#define WHITEST     1.3
#define WHITE_POWER 3

/* Returns true for a finite value from 0 to `limit` (no limit if <= 0). Counts rejected values. */
static bool is_acceptable(struct integrator *in, double value, double limit)
{
    if (isfinite(value) && value >= 0 && (limit <= 0 || value <= limit))
        return true;
    in->rejected++;
    return false;
}

/* Returns the part of the scatter between readings that is independent noise. 1: all of the scatter; 0: none,
 * because power is a random walk. Successive changes have the correlation -1/2 if readings are independent,
 * and 0 for a random walk. Note: if the level of power lasts for a few readings, the correlation is almost
 * that of noise, although the readings follow the level. The exponent lowers the result in this case. */
static double whiteness(const struct integrator *in)
{
    if (in->change_square <= 0)
        return 0;
    return pow(fmin(WHITEST, fmax(0, -2 * in->change_product / in->change_square)), WHITE_POWER);
}

/* Updates the running means with a change of power in watts. */
static void learn_change(struct integrator *in, double change)
{
    double weight = fmax(1.0 / MEMORY, 1 / (double)++in->changes);
    in->change_square += weight * (change * change - in->change_square);
    in->change_product += weight * (change * in->last_change - in->change_product);
    in->last_change = change;
}

/* Returns the variance, in J^2, of the energy of a step of length t, in which power changes by d. The sensor
 * measured only averaged_part of the step; the rest, u = 1 - averaged_part, is unseen. Noise adds u d^2 t^2 /
 * 2, where d^2 is the mean over all changes. The factor 1 + 2/n widens it for few changes n, as in a t
 * distribution. Jumps or a random walk add u^2 d^2 t^2 / 12, the variance of the area between two readings
 * with the difference d. If readings are means, the divisor decreases from 12 to 8, because means differ by
 * less than instantaneous values.
 * An error s of a timestamp moves one side of a rectangle, which adds d^2 s^2. The error moves half of both
 * sides of a trapezoid. */
static double step_variance(struct integrator *in, double change, double elapsed_s)
{
    double moved = in->stamp_sd_s * (in->averaged_part >= 1 ? change : (change + in->last_change) / 2);
    learn_change(in, change);
    double white = whiteness(in);
    double unseen = 1 - in->averaged_part;
    double noise = unseen * in->change_square / 2 * (1 + 2 / (double)in->changes);
    double own = unseen * unseen * change * change / (12 - 4 * in->averaged_part);
    return elapsed_s * elapsed_s * fmax(0, white * noise + (1 - white) * own) + moved * moved;
}

/* Stores a new value, read at time_ns. The next step starts at this time. */
static void restart(struct integrator *in, int64_t time_ns, double watts)
{
    in->primed = true;
    in->last_ns = in->first_ns = in->seen_ns = time_ns;
    in->last_watts = watts;
}

static double seconds(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) * 1e-9;
}

/* Adds the energy of the last value up to until_ns. No effect if until_ns is not after last_ns. */
static void hold(struct integrator *in, int64_t until_ns)
{
    double elapsed_s = seconds(in->last_ns, until_ns);
    if (elapsed_s <= 0)
        return;
    in->joules += in->last_watts * elapsed_s;
    in->covered_s += elapsed_s;
    in->last_ns = until_ns;
}

/* Processes a reading that equals the last value. It is either the old sample, polled again, or a new sample
 * with the same value; only the time distinguishes them. A new sample is integrated up to one period before
 * time_ns. The last period is not integrated yet, because a later change may have begun in it. Returns
 * INTEGRATE_HELD for an old sample, INTEGRATE_MOVED for a new one. */
static enum integrate_verdict repeat(struct integrator *in, int64_t time_ns)
{
    in->seen_ns = time_ns;
    if (seconds(in->last_ns, time_ns) < REPEAT_PERIODS * in->period_s) {
        in->duplicates++;
        return INTEGRATE_HELD;
    }
    in->samples++;
    hold(in, time_ns - (int64_t)(in->period_s * 1e9));
    return INTEGRATE_MOVED;
}

/* Returns true if the sensor has certainly updated since the previous reading, because it updates faster than
 * it is read. Then even an equal value is a new sample. */
static bool has_updated(const struct integrator *in, int64_t time_ns)
{
    return in->age_s > 0 && seconds(in->seen_ns, time_ns) > UPDATED_AGES * in->age_s;
}

enum integrate_verdict integrate_power(struct integrator *in, int64_t time_ns, bool exact_time, double watts)
{
    if (!is_acceptable(in, watts, in->max_watts))
        return INTEGRATE_REJECTED;
    bool is_mean = in->averaged_part >= 1;
    if (!is_mean)
        time_ns -= (int64_t)(in->lag_s * 1e9);
    if (!in->primed) {
        restart(in, time_ns, watts);
        in->samples++;
        return INTEGRATE_MOVED;
    }
    if (time_ns <= in->seen_ns) {
        in->duplicates++;
        return INTEGRATE_HELD;
    }
    if (seconds(in->seen_ns, time_ns) > MAX_GAP_PERIODS * in->period_s) {
        hold(in, in->seen_ns);
        in->samples++;
        in->gaps++;
        restart(in, time_ns, watts);
        return INTEGRATE_MOVED;
    }
    if (!exact_time && watts == in->last_watts && !has_updated(in, time_ns))
        return repeat(in, time_ns);
    in->samples++;
    if (seconds(in->first_ns, time_ns) > LATE_CHANGE_PERIODS * in->period_s) {
        int64_t began_ns = time_ns - (int64_t)(in->period_s * 1e9);
        hold(in, began_ns < in->seen_ns ? began_ns : in->seen_ns);
    }
    double elapsed_s = seconds(in->last_ns, time_ns);
    in->joules += (is_mean ? watts : 0.5 * (watts + in->last_watts)) * elapsed_s;
    in->covered_s += elapsed_s;
    in->variance += step_variance(in, watts - in->last_watts, elapsed_s);
    restart(in, time_ns, watts);
    return INTEGRATE_MOVED;
}

enum integrate_verdict integrate_energy(struct integrator *in, int64_t time_ns, bool exact_time,
                                        double joules)
{
    (void)exact_time;
    double elapsed_s = in->primed ? (double)(time_ns - in->last_ns) * 1e-9 : in->period_s;
    if (!is_acceptable(in, joules, in->max_watts * fmax(elapsed_s, in->period_s)))
        return INTEGRATE_REJECTED;
    if (elapsed_s <= 0) {
        in->duplicates++;
        return INTEGRATE_HELD;
    }
    /* After a gap, a sample of energy still covers its period. */
    if (elapsed_s > MAX_GAP_PERIODS * in->period_s) {
        in->gaps++;
        elapsed_s = in->period_s;
    }
    in->samples++;
    in->joules += joules;
    in->covered_s += elapsed_s;
    restart(in, time_ns, joules / elapsed_s);
    return INTEGRATE_MOVED;
}

double integrator_blur_s(const struct integrator *in)
{
    return in->averaged_part < 1 && 2 * in->lag_s > in->period_s ? 2 * in->lag_s : 0;
}

void integrate_break(struct integrator *in)
{
    in->primed = false;
}
