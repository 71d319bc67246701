/* joulec/trips/formula.h - the formula of a loop's rounds for people, in names of the source.
 *
 * Owns the words. Newcomers: only formulas of a function's parameters are shown; others have names that nobody wrote.
 */
#ifndef JOULEC_FORMULA_H
#define JOULEC_FORMULA_H

#include "base/string.h"
#include "joulec/module/module.h"
#include "joulec/trips/scev_text.h"

/* Rounds for each time that the loop is entered, as in "n - 1". False: it is no formula of parameters. */
bool formula_of_loop(const struct scev_function *facts, const struct scev_loop *loop,
                     const struct function *function, struct text *out);
/* The only parameter that an unbounded loop's exits depend on, or the first; NULL: they depend on something else, too. */
const char *formula_parameter(const struct scev_function *facts, const struct scev_loop *loop,
                              const struct function *function);

#endif
