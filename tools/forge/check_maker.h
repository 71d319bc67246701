/* tools/forge/check_maker.h - builds a case: its state, and functions that add inputs, operations and
 * outputs.
 *
 * Note: case_widen builds a case again with another floating-point type and needs equal inputs. So the order
 * of random numbers must not depend on the type.
 */
#ifndef FORGE_CHECK_MAKER_H
#define FORGE_CHECK_MAKER_H

#include "check_case.h"

struct maker {
    forge_builder *b;
    enum case_purpose purpose;
    uint64_t state; /* state of the random number generator */
    struct check_case *c;
    forge_value inputs[CASE_INPUTS];
    forge_dtype dtype; /* type of all floating-point inputs, except stored weights and caches */
};

/* Returns a random number from 0 to limit - 1. */
uint32_t maker_below(struct maker *m, uint32_t limit);
/* Returns a random size from 1 to `max`; in CASE_GRAD from 1 to max / 8, rounded up. In CASE_TIME returns
 * `large`. */
int64_t maker_size(struct maker *m, uint32_t max, int64_t large);
/* Adds an input with random values from low to high (integers: to high - 1). Returns the input. */
forge_value maker_input(struct maker *m, forge_dtype dtype, forge_shape shape, double low, double high);
/* Adds the outputs "loss", a weighted sum of y, and "g0" ..., its gradients with respect to the
 * floating-point inputs made so far. */
void maker_gradients(struct maker *m, forge_value y);

/* Returns true if the operation can be tested. Leaves, such as inputs, cannot be tested, because they compute
 * nothing. */
bool family_exists(enum op op);
/* Adds the operation with random arguments. Returns its value, or FORGE_NO_VALUE if the operation has no
 * case for m->purpose. */
forge_value family_make(struct maker *m, enum op op);

/* Returns the name of row i of ir/library.def; NULL: there are fewer rows. */
const char *composite_name(unsigned i);
/* Returns true for the composites of language models, whose activations are f32. */
bool composite_is_of_models(unsigned i);
/* Adds composite i, which must exist. Its outputs are "y", "y1" ..., except in CASE_GRAD. If it has a
 * gradient, it also has the outputs of maker_gradients for y, except in CASE_TIME. Returns false if the
 * composite has no case for m->purpose. */
bool composite_make(struct maker *m, unsigned i);

#endif
