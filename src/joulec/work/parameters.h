/* joulec/work/parameters.h - the parameters of functions: which of them matter, and what all calls of a
 * function pass.
 *
 * Note: a static function whose address is not taken is called by this module alone, so that its calls say
 * what its parameters are.
 */
#ifndef JOULEC_PARAMETERS_H
#define JOULEC_PARAMETERS_H

#include "joulec/work/evaluate.h"

#define PARAMETERS_MAX 16 /* of a function of which something is known */

/* Adds the names of all parameters to the pool, also of those that are in no formula, with the bits of their
 * types. False: no memory. */
bool parameters_name(const struct function *function, struct expr_pool *pool);
/* Sets f->matters: of each parameter, whether loops, branches or calls depend on it. Functions that it calls
 * come first. */
void parameters_find_what_matters(const struct evaluator *e, struct evaluated *f);
/* Prepares all functions, and sets `passed` of those that only this module calls. Needs e->groups. NO_MEMORY,
 * or OK. */
joule_status parameters_from_calls(struct evaluator *e);

#endif
