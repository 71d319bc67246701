/* joulec/trips/trips_sum.h - the sum over a nest of loops, for one choice of all that is not known.
 *
 * Owns the summing: closed where inner counts are linear in the iterations around them, else iteration by iteration; where that is too
 * long, and what is likely is asked for, by some of them.
 * Newcomers: sums are doubles, exact below 2^53; what a formula gives is exact in any case.
 */
#ifndef JOULEC_TRIPS_SUM_H
#define JOULEC_TRIPS_SUM_H

#include "joulec/trips/expr.h"

#define TRIPS_MOST_LEVELS 64

struct trips_level {
    const struct expr *taken; /* NULL: `fixed` iterations per arrival */
    uint32_t name;            /* the iteration number's; INDEX_NONE: it has none */
    double fixed;
    double most;        /* iterations per arrival; infinite: no bound */
    double share;       /* of the arrivals that lead to its guard */
    bool is_sure;       /* a negative count does not say that a guard was not passed: it cannot be used */
    bool is_ordered;    /* a count below -1 says nothing either */
    bool misses_last;   /* the last iteration of the level above does not arrive */
    bool is_used_below; /* a deeper level's formula needs the iteration number: trips_sum finds out */
};

struct trips_nest {
    struct trips_level levels[TRIPS_MOST_LEVELS]; /* outermost first; the sum is of the last one's */
    size_t count;
    struct expr_range *values; /* by name: symbols are points; iteration numbers are written here */
    size_t value_count;
    uint64_t budget;  /* nodes of expressions that may still be evaluated */
    bool has_clamped; /* a count below 0 was taken for 0: sums are not polynomials */
    bool may_sample;  /* what is about right is better than nothing */
    bool has_sampled; /* and the sum is that */
};

struct trips_sums {
    double iterations, entries;
    bool is_sampled; /* they are only about right */
};

enum trips_status {
    TRIPS_SUMMED,
    TRIPS_NO_FORMULA, /* a formula has no value that can be used */
    TRIPS_TOO_LONG /* more evaluations than allowed, or an endless loop whose iterations others depend on */
};

/* Nothing of an endless loop is nothing. */
static inline double trips_times(double a, double b)
{
    return a == 0 || b == 0 ? 0 : a * b;
}

enum trips_status trips_sum(struct trips_nest *nest, struct trips_sums *out);

#endif
