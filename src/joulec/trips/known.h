/* joulec/trips/known.h - what is known of whole numbers at a place in a function.
 *
 * Owns what conditions say of them: those of branches on the only way there, and JOULE_ASSUME before it. With formulas of
 * scalar evolution over what is known of the function's arguments and of its loops, this gives ranges of what calls pass.
 * Newcomers: a range that is no narrower than the type says is unknown.
 */
#ifndef JOULEC_KNOWN_H
#define JOULEC_KNOWN_H

#include "joulec/module/loops.h"
#include "joulec/trips/trips.h"

/* A function, and what holds all over it. */
struct known {
    const struct function *function;
    const struct loops *loops;
    const struct scev_function *facts;
    struct expr_range *
        values; /* by name of facts->pool: ranges of arguments, of iteration numbers, and of what LLVM knows */
    struct expr_range *points; /* the same at their middle */
    size_t count;
};

/* The formula of an operand; `room` is for those that the text has none of. */
const struct expr *known_formula(const struct scev_function *facts, const struct operand *operand,
                                 struct expr *room);
/* In `arena`. Symbols are what is known of the function's arguments, trips that of its loops; NULL: nothing. NO_MEMORY, or OK. */
joule_status known_prepare(struct arena *arena, const struct function *function, const struct loops *loops,
                           const struct scev_function *facts, const struct trips_symbol *symbols,
                           size_t symbol_count, const struct trips *trips, struct known *out);
/* What `operand` is at a call: the one with this place in its block. False: unknown. The name is left as it is. */
bool known_at_call(const struct known *known, uint32_t block, size_t call, const struct operand *operand,
                   struct trips_symbol *out);
enum known_answer { KNOWN_NOT, KNOWN_HOLDS, KNOWN_FAILS };
/* Whether a condition holds anywhere in the function. */
enum known_answer known_answers(const struct known *known, const struct condition *condition);
/* What holds wherever a block runs by what JOULE_ASSUME says on all ways to it, at most `room`; of the first block: in all of the
 * function. Their number. */
size_t known_promised(const struct known *known, uint32_t block, struct trips_symbol *out, size_t room);
/* Narrows what is known of symbols to what they are wherever a loop is entered, by branches on the only way there, too. */
void known_on_entry(const struct known *known, int32_t loop, struct trips_symbol *symbols, size_t count);

#endif
