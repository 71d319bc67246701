/* joule/curve/curve.c - see curve.h. */
#include "joule/curve/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 32
/* Relative scatter of power that is assumed if there is only one segment. */
#define PRIOR_SCATTER 0.35

void curve_init(struct curve *curve, size_t limit)
{
    *curve = (struct curve){.limit = limit < 16 ? 16 : limit};
}

void curve_free(struct curve *curve)
{
    free(curve->points);
    *curve = (struct curve){0};
}

static double seconds(int64_t from_ns, int64_t to_ns)
{
    return (double)(to_ns - from_ns) * 1e-9;
}

/* Removes every second point of the older half. Note: the first point stays, because all sums begin there. */
static void drop_points(struct curve *curve)
{
    size_t half = curve->count / 2, kept = 0;
    for (size_t i = 0; i < half; i += 2)
        curve->points[kept++] = curve->points[i];
    memmove(curve->points + kept, curve->points + half, (curve->count - half) * sizeof *curve->points);
    curve->count = kept + curve->count - half;
}

/* Sets the capacity. Returns false, and changes nothing, if out of memory. */
static bool grow(struct curve *curve, size_t capacity)
{
    struct curve_point *points = realloc(curve->points, capacity * sizeof *points);
    if (!points)
        return false;
    curve->points = points;
    curve->capacity = capacity;
    return true;
}

/* Ensures capacity for one more point; drops points if the limit is reached. Returns false if out of
 * memory. */
static bool make_room(struct curve *curve)
{
    if (curve->count < curve->capacity)
        return true;
    if (curve->capacity >= curve->limit) {
        drop_points(curve);
        return true;
    }
    size_t capacity = curve->capacity ? 2 * curve->capacity : FIRST_CAPACITY;
    return grow(curve, capacity < curve->limit ? capacity : curve->limit);
}

bool curve_reserve(struct curve *curve)
{
    if (curve->capacity >= curve->limit)
        return true;
    if (!grow(curve, curve->limit))
        return false;
    memset(curve->points + curve->count, 0, (curve->capacity - curve->count) * sizeof *curve->points);
    return true;
}

bool curve_append(struct curve *curve, struct curve_point point)
{
    if (!make_room(curve))
        return false;
    if (curve->count && point.time_ns < curve->points[curve->count - 1].time_ns)
        point.time_ns = curve->points[curve->count - 1].time_ns;
    point.serial = ++curve->added;
    curve->points[curve->count++] = point;
    return true;
}

int64_t curve_last_ns(const struct curve *curve)
{
    return curve->count ? curve->points[curve->count - 1].time_ns : 0;
}

size_t curve_count_until(const struct curve *curve, int64_t time_ns)
{
    size_t low = 0, high = curve->count; /* points[low - 1] <= time < points[high] */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (curve->points[middle].time_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the index of the last point at or before time_ns; curve->count if there is none. */
static size_t find(const struct curve *curve, int64_t time_ns)
{
    size_t until = curve_count_until(curve, time_ns);
    return until ? until - 1 : curve->count;
}

double curve_joules_shown(const struct curve *curve, int64_t begin_ns, int64_t end_ns)
{
    size_t first = curve_count_until(curve, begin_ns - 1), until = curve_count_until(curve, end_ns);
    return until > first + 1 ? curve->points[until - 1].joules - curve->points[first].joules : 0;
}

size_t curve_ticks(const struct curve *curve, int64_t after_ns, int64_t last_ns, int64_t *out_ticks_ns,
                   size_t capacity)
{
    size_t count = 0;
    for (size_t i = curve_count_until(curve, after_ns);
         i < curve->count && curve->points[i].time_ns <= last_ns; i++, count++)
        if (count < capacity)
            out_ticks_ns[count] = curve->points[i].time_ns;
    return count;
}

/* Returns the mean power in watts of the segment that starts at point i, or NaN if the segment is not
 * covered. */
static double segment_watts(const struct curve *curve, size_t i)
{
    if (i + 1 >= curve->count)
        return NAN;
    const struct curve_point *a = &curve->points[i], *b = a + 1;
    double covered_s = b->covered_s - a->covered_s;
    return covered_s > 0 ? (b->joules - a->joules) / covered_s : NAN;
}

/* Returns the mean power in watts of about five segments around segment i, or NaN if they are not covered.
 * Note: the mean of one segment alone is too inaccurate if its timestamps are late by a large part of its
 * length. */
static double local_watts(const struct curve *curve, size_t i)
{
    size_t first = i >= 2 ? i - 2 : 0, last = i + 3 < curve->count ? i + 3 : curve->count - 1;
    const struct curve_point *a = &curve->points[first], *b = &curve->points[last];
    double covered_s = b->covered_s - a->covered_s;
    return covered_s > 0 ? (b->joules - a->joules) / covered_s : NAN;
}

/* Describes how power varies around segment i. Both members are estimated from the changes between
 * neighbouring segments. */
struct noise {
    double scatter_watts; /* standard deviation of the mean power of a segment */
    double white;         /* 1: independent between segments (white noise); 0: random walk */
};

static double squared(double x)
{
    return x * x;
}

#define NEIGHBOURS 12
/* Exponent that lowers the estimate of `white`. If power stays correlated over a few segments, its changes
 * look almost like white noise, although the power is smooth inside a segment. For an Ornstein-Uhlenbeck
 * process the exact value is even lower, but a correlation measured over few segments is uncertain. */
#define WHITE_POWER 3
/* Upper limit of the estimate of `white` before the exponent is applied. An estimate from few terms scatters
 * around the true value. With a limit of 1, white noise would on average be estimated as less than white. */
#define WHITEST 1.3
/* The variance that late timestamps explain is multiplied by this factor before it is subtracted. Note: with
 * a factor of 1, a positive mean would remain, because negative differences are replaced by 0. */
#define STAMPS_SHARE 1.15
/* If points are closer together than this many ticks, the sensor is polled about as often as it ticks ("in
 * step"). */
#define IN_STEP_SPACING 2
/* A sensor counts as polled in step only if the lateness of its points varies by more than this part of a
 * tick. */
#define IN_STEP_LATENESS 0.75
/* Correlation of the lateness of neighbouring points of a sensor polled in step: 0.5 if ticks jitter by +-20
 * %, 1 without jitter. */
#define IN_STEP_CORRELATION 0.6

/* Returns half the variance, in W^2, of the change of power from segment k to segment k + 1 that late
 * timestamps alone would cause. */
static double stamp_variance(const struct curve *curve, size_t k, double watts)
{
    const struct curve_point *p = &curve->points[k];
    double first = 1 / seconds(p[0].time_ns, p[1].time_ns), second = 1 / seconds(p[1].time_ns, p[2].time_ns);
    return squared(watts) / 2 *
           (squared(p[0].time_sd_s * first) + squared(p[1].time_sd_s * (first + second)) +
            squared(p[2].time_sd_s * second));
}

/* Estimates the noise of power from up to NEIGHBOURS segments on each side of segment i. */
static struct noise noise_at(const struct curve *curve, const struct curve_traits *traits, size_t i)
{
    double squares = 0, products = 0, stamps = 0, previous = NAN, mean = local_watts(curve, i);
    int terms = 0, pairs = 0;
    for (size_t k = i >= NEIGHBOURS ? i - NEIGHBOURS : 0; k < i + NEIGHBOURS && k + 2 < curve->count; k++) {
        double change = segment_watts(curve, k + 1) - segment_watts(curve, k);
        if (isnan(change)) {
            previous = NAN;
            continue;
        }
        squares += squared(change) / 2;
        stamps += traits->is_sampled ? 0 : stamp_variance(curve, k, mean);
        terms++;
        if (!isnan(previous)) {
            products += change * previous / 2;
            pairs++;
        }
        previous = change;
    }
    struct noise t = {PRIOR_SCATTER * (isnan(mean) ? 0 : mean), 1};
    if (terms == 0)
        return t;
    /* The variance that timestamps explain is added elsewhere as an error of the timestamps. The factor 1 +
     * 3/n widens the interval for few terms, as a t distribution would. */
    t.scatter_watts = sqrt(fmax(0, squares - STAMPS_SHARE * stamps) / terms * (1 + 3.0 / terms));
    /* Successive changes have the correlation -1/2 if segments are independent, +1/4 for a random walk. */
    if (pairs && squares > 0) {
        double correlation = (products / pairs) / (squares / terms);
        t.white = pow(fmin(WHITEST, fmax(0, (0.25 - correlation) / 0.75)), WHITE_POWER);
    }
    return t;
}

/* Returns the variance, in J^2, of linear interpolation of the energy between the parts `from` and `to` (0 to
 * 1) of segment i. If power is white noise, the error of the energy is a Brownian bridge. If power is a
 * random walk, the error is the integral of a Brownian bridge. Note: power is not white noise at short time
 * scales. So the error is limited to the effect of a constant error of power over the shorter of the two
 * parts of the segment. */
static double bridge_variance(const struct curve *curve, const struct curve_traits *traits, size_t i,
                              double from, double to)
{
    struct noise t = noise_at(curve, traits, i);
    double length_s = seconds(curve->points[i].time_ns, curve->points[i + 1].time_ns);
    double part = to - from, left = 1 - part;
    if (left <= 0)
        return 0;
    double bridge = part * left;
    double integral = squared(part) * (pow(from, 3) + pow(1 - to, 3)) / left;
    double rough_watts = fmax(t.scatter_watts, PRIOR_SCATTER * fabs(local_watts(curve, i)));
    return fmin(squared(t.scatter_watts * length_s) * fmax(0, t.white * bridge + (1 - t.white) * integral),
                squared(rough_watts * length_s * fmin(part, left)));
}

/* The value of the curve at any time, with its errors. */
struct edge {
    double joules, covered_s, cumulative_variance;
    double watts;    /* local mean power; 0: unknown */
    double shift;    /* joules that correspond to the time error common to all points */
    double variance; /* variance of this edge alone, J^2 */
    bool after_last;
};

/* Returns the edge at a point of the curve. watts: local mean power; NaN: unknown. */
static struct edge edge_at_point(const struct curve_traits *traits, const struct curve_point *p, double watts)
{
    watts = isnan(watts) ? 0 : watts;
    double moved = watts * p->time_sd_s;
    return (struct edge){.joules = p->joules,
                         .covered_s = p->covered_s,
                         .cumulative_variance = p->variance,
                         .watts = watts,
                         .shift = traits->is_sampled ? moved : 0,
                         .variance = traits->is_sampled ? 0 : squared(moved)};
}

/* Returns the variance (s^2) of the time at the fraction f (0 to 1) of the segment that starts at a. Note:
 * successive timestamps are late together if the cause lasts, such as the phase between a sensor and its
 * polling at the same rate. */
static double stamps_variance(const struct curve_point *a, const struct curve_traits *traits, double f)
{
    const struct curve_point *b = a + 1;
    if (traits->is_sampled)
        return 0;
    double first_s = (1 - f) * a->time_sd_s, second_s = f * b->time_sd_s;
    bool in_step = seconds(a->time_ns, b->time_ns) < IN_STEP_SPACING * traits->tick_s &&
                   fmin(a->time_sd_s, b->time_sd_s) * sqrt(12) > IN_STEP_LATENESS * traits->tick_s;
    return squared(first_s) + squared(second_s) +
           (in_step ? 2 * IN_STEP_CORRELATION * first_s * second_s : 0);
}

/* Returns the variance, in J^2, that overlapping readings cause at the edge of a window. Readings overlap
 * because each reading is a mean over blur_s seconds. If power is white noise, the result is the variance of
 * the energy in a twelfth of blur_s. If power is a random walk, the exact variance is slightly less. */
static double blur_variance(const struct curve *curve, const struct curve_traits *traits, size_t i)
{
    if (traits->blur_s <= 0)
        return 0;
    double length_s = seconds(curve->points[i].time_ns, curve->points[i + 1].time_ns);
    return squared(noise_at(curve, traits, i).scatter_watts) * pow(traits->blur_s, 3) / (6 * length_s);
}

/* Returns the edge at time_ns within segment i, by linear interpolation. */
static struct edge edge_between(const struct curve *curve, const struct curve_traits *traits, size_t i,
                                int64_t time_ns)
{
    const struct curve_point *a = &curve->points[i], *b = a + 1;
    double length_s = seconds(a->time_ns, b->time_ns), f = seconds(a->time_ns, time_ns) / length_s;
    double watts = local_watts(curve, i);
    struct edge e = {
        .joules = a->joules + f * (b->joules - a->joules),
        .covered_s = a->covered_s + f * (b->covered_s - a->covered_s),
        .cumulative_variance = a->variance + f * (b->variance - a->variance),
    };
    if (isnan(watts))
        return e;
    e.watts = watts;
    e.shift = traits->is_sampled ? watts * b->time_sd_s : 0;
    e.variance = squared(watts) * stamps_variance(a, traits, f) + bridge_variance(curve, traits, i, 0, f) +
                 blur_variance(curve, traits, i);
    return e;
}

/* Returns the maximum time, in seconds, for which power is extrapolated after a counter's last tick. The next
 * tick is expected after the sensor's period plus the time in which one unit of energy is used. The counter
 * stands still if no tick comes for three times this sum, and for longer than between the last two ticks. */
static double max_extrapolation_s(const struct curve *curve, const struct curve_traits *traits, double watts)
{
    if (traits->unit_joules <= 0)
        return INFINITY; /* sampled power: equal readings are new samples */
    const struct curve_point *last = &curve->points[curve->count - 1];
    return fmax(3 * (traits->tick_s + traits->unit_joules / watts), seconds(last[-1].time_ns, last->time_ns));
}

/* Returns the edge at time_ns after the last point. Extrapolates with the last power, up to one tick after
 * the last reading. */
static struct edge edge_after(const struct curve *curve, const struct curve_traits *traits, int64_t time_ns)
{
    size_t last = curve->count - 1;
    const struct curve_point *p = &curve->points[last];
    double watts = last ? segment_watts(curve, last - 1) : NAN;
    struct edge e = edge_at_point(traits, p, watts);
    e.after_last = true;
    int64_t reach_ns = curve->read_ns + (int64_t)(traits->tick_s * 1e9);
    if (isnan(watts) || reach_ns <= p->time_ns)
        return e;
    double beyond_s = fmin(seconds(p->time_ns, time_ns < reach_ns ? time_ns : reach_ns),
                           max_extrapolation_s(curve, traits, watts));
    e.joules += watts * beyond_s;
    e.covered_s += beyond_s;
    e.variance += squared(noise_at(curve, traits, last - 1).scatter_watts * beyond_s);
    return e;
}

/* Returns the edge at any time. Before the first point, returns the edge at the first point. */
static struct edge edge_at(const struct curve *curve, const struct curve_traits *traits, int64_t time_ns)
{
    size_t i = find(curve, time_ns);
    if (i == curve->count) /* before the first point */
        return edge_at_point(traits, &curve->points[0], local_watts(curve, 0));
    if (i == curve->count - 1 && time_ns > curve->points[i].time_ns)
        return edge_after(curve, traits, time_ns);
    if (time_ns == curve->points[i].time_ns)
        return edge_at_point(traits, &curve->points[i], local_watts(curve, i ? i - 1 : 0));
    return edge_between(curve, traits, i, time_ns);
}

/* Returns the part of a segment, 0 to 1, that lies before time_ns. */
static double part_of(const struct curve_point *segment, int64_t time_ns)
{
    return seconds(segment[0].time_ns, time_ns) / seconds(segment[0].time_ns, segment[1].time_ns);
}

/* Returns the variance, in J^2, of the energy between the parts `from` and `to` of segment i. */
static double slice_variance(const struct curve *curve, const struct curve_traits *traits, size_t i,
                             double from, double to)
{
    const struct curve_point *p = &curve->points[i];
    double stamps = traits->is_sampled ? 0 : squared(p[0].time_sd_s) + squared(p[1].time_sd_s);
    return bridge_variance(curve, traits, i, from, to) +
           squared((to - from) * local_watts(curve, i)) * stamps;
}

/* Returns the variance, in J^2, of the energy of a window from the errors of its two edges. If both edges are
 * in one segment, their errors are correlated: only the distribution of energy in the segment and its length
 * are uncertain. Edges in neighbouring segments share the timestamp of the point between them. */
static double edges_variance(const struct curve *curve, const struct curve_traits *traits, int64_t begin_ns,
                             int64_t end_ns, const struct edge *a, const struct edge *b)
{
    size_t i = find(curve, begin_ns);
    double sum = a->variance + b->variance;
    if (i + 1 >= curve->count)
        return sum;
    const struct curve_point *p = &curve->points[i];
    double from = part_of(p, begin_ns);
    if (end_ns <= p[1].time_ns)
        return slice_variance(curve, traits, i, from, part_of(p, end_ns));
    if (i + 2 >= curve->count || end_ns > p[2].time_ns || traits->is_sampled)
        return sum;
    double left = 1 - part_of(p + 1, end_ns);
    return fmax(0, sum - 2 * from * left * a->watts * b->watts * squared(p[1].time_sd_s));
}

struct window curve_window(const struct curve *curve, const struct curve_traits *traits, int64_t begin_ns,
                           int64_t end_ns)
{
    struct window w = {.joules = estimate_unknown(), .length_s = seconds(begin_ns, end_ns)};
    if (end_ns < begin_ns || curve->count == 0)
        return w;
    struct edge a = edge_at(curve, traits, begin_ns), b = edge_at(curve, traits, end_ns);
    w.is_final = !b.after_last && curve->points[curve->count - 1].time_ns >= end_ns;
    w.covered_s = b.covered_s - a.covered_s;
    if (!(w.covered_s > 0))
        return w;
    double joules = b.joules - a.joules;
    double variance = fmax(0, b.cumulative_variance - a.cumulative_variance) +
                      edges_variance(curve, traits, begin_ns, end_ns, &a, &b) + squared(b.shift - a.shift) +
                      squared(traits->unit_joules) / 6;
    w.joules = estimate_make(joules, traits->cls, sqrt(variance), traits->cause, traits->gain_sd * joules);
    return w;
}

struct window window_add(struct window a, const struct window *b)
{
    if (isnan(a.joules.value))
        a.joules = b->joules;
    else if (!isnan(b->joules.value))
        a.joules = estimate_add(a.joules, 1, &b->joules);
    a.covered_s = fmin(a.covered_s, b->covered_s);
    a.is_final = a.is_final && b->is_final;
    return a;
}

struct estimate curve_power(const struct curve *curve, const struct curve_traits *traits, double span_s)
{
    if (curve->count < 2)
        return estimate_unknown();
    size_t first = curve->count - 2;
    int64_t end_ns = curve->points[curve->count - 1].time_ns;
    while (first > 0 && seconds(curve->points[first].time_ns, end_ns) < span_s)
        first--;
    struct window w = curve_window(curve, traits, curve->points[first].time_ns, end_ns);
    return w.covered_s > 0 ? estimate_scale(w.joules, 1 / w.covered_s) : estimate_unknown();
}
