/* joule/stats/change_points.h - divides a power series into phases of constant mean: a guess at the
 * phases of a program without marks.
 *
 * Minimises the sum over samples of min((value - mean)^2, limit) / variance, plus a penalty for each
 * change. The minimum is exact. It is found by functional pruning (Maidstone, Hocking, Rigaill and
 * Fearnhead, "On optimal multiple changepoint algorithms for large data", 2017), with the biweight loss
 * of Fearnhead and Rigaill, "Changepoint detection in the presence of outliers", 2019. Unlike PELT, its
 * time is about O(n) also for a series without changes. The worst case is O(n^2).
 */
#ifndef JOULE_STATS_CHANGE_POINTS_H
#define JOULE_STATS_CHANGE_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"

/* A phase: the values first to first + count - 1. */
struct phase {
    size_t first, count;
    double mean;      /* of all values, so mean times duration is the energy of the phase */
    double low, high; /* 95 % interval of the mean; NaN if unknown */
};

struct phases {
    struct phase *items; /* in the arena, ascending, without gaps */
    size_t count;        /* at least 1 if there are values */
    double noise_sd;     /* see change_points_noise */
};

/* Which phases to find. */
struct phase_rule {
    /* Number of values from which an excursion is a phase; shorter ones are outliers. A step between two
     * levels may be shorter. Noise that is correlated over fewer values makes no phases. */
    size_t min_count;
    double penalty_factor; /* of the penalty of a change; 0 means 1; larger values find fewer phases */
};

/* Divides `count` finite values, at equal intervals, into phases. Returns false if out of memory or if a
 * value is not finite; do not use out's items then. All memory is in the arena: up to about 40 bytes per
 * value.
 * Note: a drift or a slow wave has no phases. It is divided into steps. */
bool change_points_find(const double *values, size_t count, const struct phase_rule *rule,
                        struct arena *arena, struct phases *out);
/* Returns a robust sd of the noise of one value within phases. The differences of neighbouring means of
 * 1, 2, 4 ... max_block values each give an estimate, equal if noise is independent, and larger for
 * longer means if noise is correlated. Returns the largest, at least the resolution of the values divided
 * by sqrt(12). NaN if count < 2; 0 if all values are equal. scratch: [count] */
double change_points_noise(const double *values, size_t count, size_t max_block, double *scratch);

#endif
