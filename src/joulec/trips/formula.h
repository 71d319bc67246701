/* joulec/trips/formula.h - prints the trip count of a loop as a formula of the function's parameters.
 *
 * Note: other values have no name in the source, so formulas that contain them are not printed.
 */
#ifndef JOULEC_FORMULA_H
#define JOULEC_FORMULA_H

#include "base/string.h"
#include "joulec/module/module.h"
#include "joulec/trips/scev_facts.h"

/* Adds the formula of the iterations per entry, such as "n - 1", to `out`. Returns false if it is no formula
 * of parameters; `out` may then contain a part of it. */
bool formula_of_loop(const struct scev_function *facts, const struct scev_loop *loop,
                     const struct function *function, struct text *out);
/* Returns the parameter that determines the exits of an unbounded loop, or the first of several; NULL: the
 * exits depend on other values too. */
const char *formula_parameter(const struct scev_function *facts, const struct scev_loop *loop,
                              const struct function *function);

#endif
