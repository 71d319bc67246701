/* joulec/trips/trips_sum.h - sums iterations and entries over a nest of loops, for one choice of all unknown
 * values.
 *
 * The sum has a closed form if inner counts are linear in the iteration numbers around them. Otherwise
 * iterations are added one by one. If there are too many iterations and an estimate is sufficient, only a
 * sample of them is added.
 * Note: sums are doubles, which are exact below 2^53; counts from formulas are exact in any case.
 */
#ifndef JOULEC_TRIPS_SUM_H
#define JOULEC_TRIPS_SUM_H

#include "joulec/trips/expr.h"

#define TRIPS_MAX_LEVELS 64

/* A loop of the nest. */
struct trips_level {
    const struct expr *taken; /* NULL: `fixed` iterations per arrival */
    uint32_t name;            /* number of the loop's iteration number; INDEX_NONE: none */
    double fixed;
    double max_iterations; /* maximum of iterations per arrival; infinite: no bound */
    double probability;    /* probability that an arrival reaches the loop's guard */
    bool is_unguarded;     /* there is no guard, so a negative count is invalid */
    bool is_equality_test; /* a count below -1 is invalid too */
    bool misses_last;      /* the last iteration of the level above does not arrive at this loop */
    bool is_used_below;    /* a deeper level's formula contains the iteration number; set by trips_sum() */
};

struct trips_nest {
    struct trips_level levels[TRIPS_MAX_LEVELS]; /* outermost first; the sum is that of the last level */
    size_t count;
    struct expr_range *values; /* by name: symbols are single values; iteration numbers are written here */
    size_t value_count;
    uint64_t budget;  /* remaining number of expression nodes to evaluate */
    bool has_clamped; /* a count was limited to 0 or to max_iterations, so sums are no polynomials */
    bool may_sample;  /* an estimate is sufficient */
    bool has_sampled; /* the sum is an estimate */
};

/* Sums over all iterations of the nest. */
struct trips_sums {
    double iterations, entries;
    bool is_sampled; /* the sums are estimates */
};

enum trips_status {
    TRIPS_SUMMED,
    TRIPS_NO_FORMULA, /* a formula has no valid value */
    /* The sum needs more evaluations than allowed, or a formula contains the iteration number of an endless
     * loop. */
    TRIPS_TOO_LONG
};

/* Returns a * b, where 0 times infinity is 0. */
static inline double trips_times(double a, double b)
{
    return a == 0 || b == 0 ? 0 : a * b;
}

/* Sums the iterations and entries of the last level. Subtracts the evaluated nodes from nest->budget. Returns
 * TRIPS_SUMMED, or a reason why *out is not valid. */
enum trips_status trips_sum(struct trips_nest *nest, struct trips_sums *out);

#endif
