/* joulec/trips/formula.h - prints the trip count of a loop as a formula of the function's parameters.
 *
 * Note: formulas that contain other values are not printed, because these values have no names in the source.
 */
#ifndef JOULEC_FORMULA_H
#define JOULEC_FORMULA_H

#include "base/string.h"
#include "joulec/module/module.h"
#include "joulec/trips/scev_facts.h"

/* Appends the formula of the iterations per entry, such as "n - 1", to `out`. Returns false if the count is
 * no formula of parameters; `out` may then contain a part of a formula. */
bool formula_of_loop(const struct scev_function *facts, const struct scev_loop *loop,
                     const struct function *function, struct text *out);
/* Returns the parameter that determines the exits of an unbounded loop, or the first of several such
 * parameters. The name belongs to `facts`. NULL: the exits also depend on other values. */
const char *formula_parameter(const struct scev_function *facts, const struct scev_loop *loop,
                              const struct function *function);

#endif
