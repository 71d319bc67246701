/* joulec/trips/trips_analysis.h - the state of the analysis in trips.c, and the bounds of formulas in
 * trips_bounds.c.
 *
 * Note: formulas are over true integers, but the machine's numbers may overflow. So for a formula over
 * ranges, all values between the ends must be checked too.
 */
#ifndef JOULEC_TRIPS_ANALYSIS_H
#define JOULEC_TRIPS_ANALYSIS_H

#include "joulec/trips/trips.h"

struct plan {
    const struct expr *taken; /* a formula whose names are all known; NULL: none */
    bool has_symbols;         /* it contains symbols */
    bool has_ranges;          /* it contains a symbol whose value is a range */
    bool has_types;           /* the bound is only that of a type */
    struct trips_range fixed; /* without a formula: iterations per arrival */
    double max;               /* maximum of iterations per entry, from LLVM */
};

struct trips_analysis {
    const struct expr_pool *pool;
    const struct trips_loop *loops;
    const struct trips_symbol *symbols;
    size_t count, symbol_count;
    double default_trips;
    struct plan *plans;
    bool is_bound;                         /* the tables by name belong to `symbols` */
    bool has_lists;                        /* some loops have their own lists of symbols */
    size_t bound_count;                    /* used entries of symbol_name */
    const struct trips_symbol **symbol_of; /* by name; NULL: none */
    uint32_t *symbol_name;                 /* by symbol; INDEX_NONE: no formula contains it */
    uint32_t *loop_of;                     /* by name; TRIPS_NONE: none */
    struct expr_range *values;             /* by name */
    size_t name_count;
    uint64_t budget;
    struct trips *out;
};

/* Returns true if all names in a formula of this loop are known: symbols from the caller, iteration numbers
 * of loops around it. Adds what kinds of symbols it contains to *plan. */
bool trips_is_bound(const struct trips_analysis *analysis, const struct expr *expr, size_t loop,
                    struct plan *plan);
/* Returns true if the formulas of the loop and of those around it contain no ranges. The estimate of a range
 * may be too low for the loop to be entered. */
bool trips_nest_is_exact(const struct trips_analysis *analysis, size_t loop);
/* Returns true if a negative value of this loop's formula does not mean that its guard was not passed. */
bool trips_is_unguarded(const struct trips_loop *loop);
/* Returns the range of a formula for all values of the symbols and all iterations of the loops around it. */
struct expr_range trips_formula_range(struct trips_analysis *analysis, const struct expr *expr, size_t loop);
/* Returns the maximum of iterations per entry that the exits allow; infinite if that is only the size of the
 * address space. */
double trips_max_by_exits(struct trips_analysis *analysis, size_t loop);
/* Returns true if a bound on the iterations per entry is no smaller than the types of the compared values
 * allow. */
bool trips_is_type_bound(struct trips_analysis *analysis, size_t loop, double max);
/* Returns true if this loop's formula equals the machine's count, and its guard has the assumed meaning, for
 * all values of the symbols and all iterations of the loops around it. */
bool trips_formula_is_valid(struct trips_analysis *analysis, size_t loop);

#endif
