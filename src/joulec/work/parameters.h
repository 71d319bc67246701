/* joulec/work/parameters.h - finds the parameters of a function on which its work depends, and the values
 * that all calls pass for them.
 *
 * Note: a static function whose address is not taken is called only in this module, so its calls determine
 * the values of its parameters.
 */
#ifndef JOULEC_PARAMETERS_H
#define JOULEC_PARAMETERS_H

#include "joulec/work/evaluate.h"

#define PARAMETERS_MAX 16 /* maximum number of parameters per function whose values are stored */

/* Adds the names of all integer parameters to the pool, with the bits of their types. Returns false if out of
 * memory. */
bool parameters_name(const struct function *function, struct expr_pool *pool);
/* Sets f->is_relevant[p] for each parameter p on which loops, branches or relevant arguments of calls depend.
 * The caller processes the callees of `f` first. */
void parameters_find_relevant(const struct evaluator *e, struct evaluated *f);
/* Prepares all functions (evaluate_prepare), and sets `passed` of those that only this module calls.
 * e->groups must be set. Returns JOULE_OK or JOULE_NO_MEMORY. */
joule_status parameters_from_calls(struct evaluator *e);

#endif
