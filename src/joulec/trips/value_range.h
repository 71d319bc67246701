/* joulec/trips/value_range.h - ranges of integers at a place in a function.
 *
 * The ranges follow from conditions: branches that dominate the place, and JOULE_ASSUME before the place.
 * These conditions are combined with scalar evolution's formulas and with the known ranges of the function's
 * arguments and loops.
 * Note: a range that is no narrower than its type is unknown.
 */
#ifndef JOULEC_VALUE_RANGE_H
#define JOULEC_VALUE_RANGE_H

#include "joulec/module/loops.h"
#include "joulec/trips/trips.h"

/* A function, and the ranges that hold in the whole function. */
struct value_ranges {
    const struct function *function;
    const struct loops *loops;
    const struct scev_function *facts;
    /* By name in facts->pool: ranges of arguments, of iteration numbers, and from LLVM. */
    struct expr_range *values;
    struct expr_range *points; /* by name: the likely value */
    size_t count;
};

/* Returns the formula of an operand: scalar evolution's formula, or else *storage, which is set to the
 * operand itself. */
const struct expr *operand_formula(const struct scev_function *facts, const struct operand *operand,
                                   struct expr *storage);
/* Sets *out, whose arrays are allocated in `arena`. symbols: ranges of the function's arguments; trips:
 * counts of its loops, NULL: unknown. Returns JOULE_OK or JOULE_NO_MEMORY. */
joule_status value_range_prepare(struct arena *arena, const struct function *function,
                                 const struct loops *loops, const struct scev_function *facts,
                                 const struct trips_symbol *symbols, size_t symbol_count,
                                 const struct trips *trips, struct value_ranges *out);
/* Sets *out, except its name, to the range of `operand` at the call with this index in `block`. Returns false
 * if the range is unknown. */
bool value_range_of_argument(const struct value_ranges *ranges, uint32_t block, size_t call,
                             const struct operand *operand, struct trips_symbol *out);
enum truth { TRUTH_UNKNOWN, TRUTH_TRUE, TRUTH_FALSE };
/* Returns whether a condition is true in the whole function, or false in the whole function. */
enum truth value_range_evaluate(const struct value_ranges *ranges, const struct condition *condition);
/* Writes at most `capacity` ranges that JOULE_ASSUME states in `block`, or in blocks that dominate `block`.
 * For block 0, the ranges hold in the whole function. Returns the number of ranges. */
size_t value_range_assumed(const struct value_ranges *ranges, uint32_t block, struct trips_symbol *out,
                           size_t capacity);
/* Narrows the ranges of symbols to those at the entry of a loop. The ranges follow from the branches that
 * dominate the entry. */
void value_range_narrow_at_entry(const struct value_ranges *ranges, int32_t loop,
                                 struct trips_symbol *symbols, size_t count);

#endif
