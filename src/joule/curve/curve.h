/* joule/curve/curve.h - the energy of a domain as a function of time.
 *
 * A curve stores joules, covered seconds and variance since the start, at each tick of the sensor. The joules
 * never decrease. The energy of a window is the difference of two points, so the parts of a window add up to
 * it exactly. A full curve drops every second point of its older half. The resolution in that half decreases,
 * but no energy is lost.
 * Note: a point's time is the time at which its joules were correct, which is before the reading. A counter
 * with the update period T shows, on average, the energy of T/2 ago.
 * Not thread-safe; callers hold the lane's lock.
 */
#ifndef JOULE_CURVE_H
#define JOULE_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "joule/curve/estimate.h"

/* The state of a sensor at one tick. */
struct curve_point {
    int64_t time_ns; /* time at which `joules` were correct */
    double joules;
    double covered_s;
    double variance; /* variance of `joules` in J^2; independent errors only */
    /* standard error of time_ns; independent for each point, or common to all points if is_sampled */
    double time_sd_s;
    uint64_t serial; /* 1 for the first point ever added, then 2 ...; set by curve_append */
};

/* A curve. Initialise with curve_init. */
struct curve {
    struct curve_point *points; /* oldest first */
    size_t count, capacity;     /* capacity grows up to limit; then points are dropped */
    size_t limit;               /* maximum capacity */
    uint64_t added;             /* points added so far, including dropped ones */
    int64_t read_ns; /* time of the last successful reading, even if it showed no tick; see curve_window */
};

/* Properties of the sensor of a curve. */
struct curve_traits {
    joule_class cls;    /* class of the curve's joules */
    double tick_s;      /* the sensor's update period */
    double unit_joules; /* resolution */
    double gain_sd;     /* standard deviation of the sensor's relative gain error */
    uint32_t cause;     /* cause of the gain error: CAUSE(...) */
    /* the sensor reports power. All points are then late by the same time, and the `variance` of the points
     * includes the error that late timestamps cause where power changes */
    bool is_sampled;
    /* time in seconds over which a reading of power is a mean, if longer than the time between two readings;
     * otherwise 0 */
    double blur_s;
};

/* The energy between two times. */
struct window {
    struct estimate joules; /* unknown if no part of the time was covered */
    double length_s;
    double covered_s;
    bool is_final; /* the sensor has ticked at or after the end */
};

/* Initialises an empty curve. limit: maximum number of points (at least 16). */
void curve_init(struct curve *curve, size_t limit);
/* Frees the points; the curve is then empty. */
void curve_free(struct curve *curve);
/* Adds a point. A time before that of the last point is replaced by the time of the last point. Equal times
 * are allowed. Returns false if out of memory; the curve is then unchanged. */
bool curve_append(struct curve *curve, struct curve_point point);
/* Allocates and touches all memory that the curve may need. Returns false if out of memory; the curve is then
 * unchanged. */
bool curve_reserve(struct curve *curve);
/* Returns the energy between two times. Edges between points are interpolated, which adds variance. If the
 * end is after the last point, extrapolates with the last power, at most to one tick after the last reading.
 * Extrapolation also ends at the time by which a working counter would have ticked. Time before the first
 * point is not covered. */
struct window curve_window(const struct curve *curve, const struct curve_traits *traits, int64_t begin_ns,
                           int64_t end_ns);
/* Returns the sum of two windows over the same time: the sum of the known energies and the shorter of the
 * covered times. The sum is final if both windows are final. */
struct window window_add(struct window a, const struct window *b);
/* Returns the time of the last point, or 0 if there is no point. */
int64_t curve_last_ns(const struct curve *curve);
/* Returns the number of points at or before a time. */
size_t curve_count_until(const struct curve *curve, int64_t time_ns);
/* Returns the joules between the first and the last point in [begin_ns, end_ns], without interpolation, or 0
 * if there are fewer than two points. */
double curve_joules_shown(const struct curve *curve, int64_t begin_ns, int64_t end_ns);
/* Writes the times of the first `capacity` points in (after_ns, last_ns]; returns their total number. */
size_t curve_ticks(const struct curve *curve, int64_t after_ns, int64_t last_ns, int64_t *out_ticks_ns,
                   size_t capacity);
/* Returns the mean power in watts over the last points that span at least span_s. The result is unknown if
 * there are fewer than two points. */
struct estimate curve_power(const struct curve *curve, const struct curve_traits *traits, double span_s);

#endif
