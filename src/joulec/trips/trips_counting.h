/* joulec/trips/trips_counting.h - what trips.c knows while it counts, and what may be said of a formula wherever it is used.
 *
 * Owns what trips.c and trips_anywhere.c share. Newcomers: formulas are of true integers and the machine's numbers run over; where a
 * formula has ends, all that lies between them has to be looked at as well.
 */
#ifndef JOULEC_TRIPS_COUNTING_H
#define JOULEC_TRIPS_COUNTING_H

#include "joulec/trips/trips.h"

struct plan {
    const struct expr *taken; /* a formula whose names are all known; else NULL */
    bool has_symbols;         /* it uses some */
    bool has_ranges;          /* and one of them is a range */
    bool has_types;           /* true if the bound is only that of a type */
    struct trips_range fixed; /* without a formula: iterations per arrival */
    double most;              /* iterations per entry, by LLVM */
};

struct counting {
    const struct expr_pool *pool;
    const struct trips_loop *loops;
    const struct trips_symbol *symbols;
    size_t count, symbol_count;
    double default_trips;
    struct plan *plans;
    bool is_bound;                         /* the tables of names are of `symbols` */
    bool has_lists;                        /* some loops have symbols of their own */
    size_t bound_count;                    /* of symbol_name that are in use */
    const struct trips_symbol **symbol_of; /* by name; NULL: none */
    uint32_t *symbol_name;                 /* by symbol; INDEX_NONE: no formula uses it */
    uint32_t *loop_of;                     /* by name; TRIPS_NONE: none */
    struct expr_range *values;             /* by name */
    size_t name_count;
    uint64_t budget;
    struct trips *out;
};

/* Whether every name in a formula of this loop's is bound: symbols by the caller, iteration numbers by loops around it. What they are
 * is added to *plan. */
bool trips_is_bound(const struct counting *counting, const struct expr *expr, size_t loop, struct plan *plan);
/* Whether neither it nor a loop around it, whose likely rounds may be too few to come to it, has a range. */
bool trips_is_of_points(const struct counting *counting, size_t loop);
/* Whether a negative formula of this loop's does not say that its guard was not passed. */
bool trips_is_sure(const struct trips_loop *loop);
/* The value of a formula for all that symbols and the loops around it may be. */
struct expr_range trips_value_anywhere(struct counting *counting, const struct expr *expr, size_t loop);
/* Returns the maximum of iterations per entry that the exits allow; infinite if that is only the size of the
 * address space. */
double trips_most_by_exits(struct counting *counting, size_t loop);
/* Returns true if a bound on the iterations per entry is no smaller than the types of the compared values
 * allow. */
bool trips_is_by_type(struct counting *counting, size_t loop, double most);
/* Whether this loop's formula is the machine's count, and its guard asks what it is taken to ask, for all that symbols and the loops
 * around it may be. */
bool trips_holds_anywhere(struct counting *counting, size_t loop);

#endif
