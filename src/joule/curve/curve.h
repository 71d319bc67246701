/* joule/curve/curve.h - the energy of a domain as a function of time.
 *
 * Owns one growing, never falling curve for each domain: joules, covered seconds and variance since the start, at
 * each tick of the sensor. The energy of any window is a difference of two points on it, so that windows split and
 * add up by construction. When full, the older half keeps every second point: old edges get coarser, nothing is lost.
 * Newcomers: a point's time is when its joules were true, which is earlier than when they were read: a counter that
 * ticks every T shows, on average, the energy of T/2 ago. Not thread-safe; the lane's lock is held around calls.
 */
#ifndef JOULE_CURVE_H
#define JOULE_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "joule/curve/estimate.h"

struct curve_point {
    int64_t time_ns; /* when `joules` were true */
    double joules;
    double covered_s;
    double variance;  /* J^2, independent, of joules */
    double time_sd_s; /* standard error of time_ns: each point's own, or see is_sampled */
    uint64_t serial;  /* 1 for the first that was ever added, and so on; given by curve_append */
};

struct curve {
    struct curve_point *points; /* oldest first */
    size_t count, capacity;     /* capacity grows to the limit, then the curve thins */
    size_t limit;
    uint64_t added;  /* points so far, those thinned out since included */
    int64_t read_ns; /* last reading that answered, also when the sensor had not ticked: see curve_window */
};

/* What is known of the sensor behind a curve. */
struct curve_traits {
    joule_class cls;
    double tick_s;      /* the sensor's update period */
    double unit_joules; /* resolution */
    double gain_sd;     /* relative error common to `cause` */
    uint32_t cause;
    /* integrated power: points are late together, and what that did to steps is in their variance */
    bool is_sampled;
    /* sampled power: how long a reading looks back where that is longer than to the one before; else 0 */
    double blur_s;
};

struct window {
    struct estimate joules; /* unknown where nothing was covered */
    double length_s;
    double covered_s;
    bool is_final; /* the sensor has ticked at or after the end */
};

/* limit: most points kept (>= 16). */
void curve_init(struct curve *curve, size_t limit);
void curve_free(struct curve *curve);
/* Adds a point not earlier than the last one; several may have one time. False when memory is used up; the curve is then unchanged. */
bool curve_append(struct curve *curve, struct curve_point point);
/* Takes, and touches, all the memory that the curve can come to need. False: there is not so much; nothing is changed. */
bool curve_reserve(struct curve *curve);
/* Energy between two times. Edges between points are interpolated, at a cost in variance. An end after the last point
 * is reached at the last power, but no further than the last reading and one tick past it, and not beyond the time in
 * which a counter that works would have ticked; a begin before the first point is not covered. */
struct window curve_window(const struct curve *curve, const struct curve_traits *traits, int64_t begin_ns,
                           int64_t end_ns);
/* The time of the last point; 0: none. */
int64_t curve_last_ns(const struct curve *curve);
/* The number of points at or before a time. */
size_t curve_count_until(const struct curve *curve, int64_t time_ns);
/* Joules between the first and the last point in [begin_ns, end_ns], as the sensor showed them, without
 * interpolation. */
double curve_joules_shown(const struct curve *curve, int64_t begin_ns, int64_t end_ns);
/* Times of points in (after_ns, last_ns]: writes the first `capacity`, returns how many there are. */
size_t curve_ticks(const struct curve *curve, int64_t after_ns, int64_t last_ns, int64_t *out_ticks_ns,
                   size_t capacity);
/* Mean power in watts over the last points that span at least span_s; unknown with fewer than two points. */
struct estimate curve_power(const struct curve *curve, const struct curve_traits *traits, double span_s);

#endif
