/* joulec/work/parameters.h - parameters of functions: which of them matter, and the values that all calls
 * pass.
 *
 * Note: a static function whose address is not taken is called only in this module, so its calls determine
 * the values of its parameters.
 */
#ifndef JOULEC_PARAMETERS_H
#define JOULEC_PARAMETERS_H

#include "joulec/work/evaluate.h"

#define PARAMETERS_MAX 16 /* parameters per function whose values are kept */

/* Adds the names of all parameters to the pool, with the bits of their types, including those in no formula.
 * False: no memory. */
bool parameters_name(const struct function *function, struct expr_pool *pool);
/* Sets f->matters: for each parameter, whether loops, branches or calls depend on it. Process the functions
 * that it calls first. */
void parameters_find_relevant(const struct evaluator *e, struct evaluated *f);
/* Prepares all functions and sets `passed` of those that only this module calls. Needs e->groups. NO_MEMORY,
 * or OK. */
joule_status parameters_from_calls(struct evaluator *e);

#endif
