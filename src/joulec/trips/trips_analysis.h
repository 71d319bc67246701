/* joulec/trips/trips_analysis.h - the state of the analysis in trips.c, and the bounds of formulas in
 * trips_bounds.c.
 *
 * Note: formulas are over true integers, but the machine's numbers may overflow. So if symbols have ranges,
 * all values between the ends must be checked too.
 */
#ifndef JOULEC_TRIPS_ANALYSIS_H
#define JOULEC_TRIPS_ANALYSIS_H

#include "joulec/trips/trips.h"

/* How one loop is counted. */
struct plan {
    const struct expr *taken; /* a formula whose names are all known; NULL: none */
    bool has_symbols;         /* the formula contains symbols */
    bool has_ranges;          /* the formula contains a symbol whose value is a range */
    bool has_types;           /* the bound comes only from the width of a type */
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
    bool is_bound;                         /* symbol_of and symbol_name are set for `symbols` */
    bool has_lists;                        /* some loops have their own lists of symbols */
    size_t bound_count;                    /* used entries of symbol_name */
    const struct trips_symbol **symbol_of; /* by name; NULL: none */
    uint32_t *symbol_name;                 /* by symbol; INDEX_NONE: no formula contains it */
    uint32_t *loop_of;                     /* by name; TRIPS_NONE: none */
    struct expr_range *values;             /* by name */
    size_t name_count;
    uint64_t budget; /* nodes of formulas that may still be evaluated */
    struct trips *out;
};

/* Returns true if all names in a formula of this loop are known: symbols from the caller, and iteration
 * numbers of the loops around this loop. Sets has_symbols, has_ranges and has_types of *plan if the formula
 * contains such symbols. */
bool trips_is_bound(const struct trips_analysis *analysis, const struct expr *expr, size_t loop,
                    struct plan *plan);
/* Returns true if the loop and all loops around it have formulas without ranges. Otherwise an estimate may be
 * so low that the loop is not entered. */
bool trips_nest_is_exact(const struct trips_analysis *analysis, size_t loop);
/* Returns true if a negative value of this loop's formula does not mean that its guard was not passed. */
bool trips_is_unguarded(const struct trips_loop *loop);
/* Returns the range of a formula for all values of the symbols and all iterations of the loops around it. */
struct expr_range trips_formula_range(struct trips_analysis *analysis, const struct expr *expr, size_t loop);
/* Returns the maximum of iterations per entry that the exits allow; infinite if only the size of the address
 * space limits the iterations. */
double trips_max_by_exits(struct trips_analysis *analysis, size_t loop);
/* Returns true if a bound on the iterations per entry is no smaller than the types of the compared values
 * allow. */
bool trips_is_type_bound(struct trips_analysis *analysis, size_t loop, double max);
/* Returns true if this loop's formula equals the machine's count, and its guard has the assumed meaning, for
 * all values of the symbols and all iterations of the loops around it. */
bool trips_formula_is_valid(struct trips_analysis *analysis, size_t loop);

#endif
