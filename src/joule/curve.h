/* joule/curve.h - the energy of a domain as a function of time.
 *
 * Owns one growing, never falling curve for each domain: joules, covered seconds and variance since the start, at
 * each reading. The energy of any window is a difference of two points, so that windows split and add up by
 * construction. When full, the older half keeps every second point: old edges get coarser, nothing is lost.
 * Newcomers: not thread-safe; the lane that owns a curve holds its lock around every call.
 */
#ifndef JOULE_CURVE_H
#define JOULE_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "joule/estimate.h"

struct curve_point {
    int64_t time_ns;
    double joules;
    double covered_s;
    double variance; /* J^2, independent, of joules */
};

struct curve {
    struct curve_point *points; /* oldest first */
    size_t count, capacity;     /* capacity grows to the limit, then thins */
    size_t limit;
};

/* What is known of the sensor behind a curve. */
struct curve_traits {
    joule_class cls;
    double tick_s;      /* a counter's update period: an edge is late by up to this; 0 for integrated power */
    double unit_joules; /* resolution */
    double gain_sd;     /* relative error common to `cause` */
    uint32_t cause;
};

struct window {
    struct estimate joules; /* unknown where nothing was covered */
    double length_s;
    double covered_s;
    bool is_final; /* a reading at or after the end exists */
};

/* limit: most points kept (>= 16). */
void curve_init(struct curve *curve, size_t limit);
void curve_free(struct curve *curve);
/* Adds a point not earlier than the last one. False when memory is used up; the curve is then unchanged. */
bool curve_append(struct curve *curve, struct curve_point point);
/* Energy between two times. Edges between points are interpolated, at a cost in variance; before the first and
 * after the last point nothing is covered. */
struct window curve_window(const struct curve *curve, const struct curve_traits *traits, int64_t begin_ns,
                           int64_t end_ns);

#endif
