/* tools/forge/check_maker.h - the state of a case that is being made, and functions that add its inputs
 * and outputs.
 *
 * Note: a maker must draw its random numbers in the same order for all floating-point types, so that
 * case_widen gets equal inputs with another type.
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
    forge_dtype dtype; /* type of all floating-point inputs */
};

/* Returns a random number from 0 to limit - 1. */
uint32_t maker_below(struct maker *m, uint32_t limit);
/* Returns a random size from 1 to `max`, or to max / 8 in CASE_GRAD. In CASE_TIME returns `large`. */
int64_t maker_size(struct maker *m, uint32_t max, int64_t large);
/* Adds an input with random values from low to high (integers: to high - 1). Returns the input. */
forge_value maker_input(struct maker *m, forge_dtype dtype, forge_shape shape, double low, double high);
/* Adds the outputs "loss", a weighted sum of y, and "g0" ..., its gradients with respect to the
 * floating-point inputs made so far. */
void maker_gradients(struct maker *m, forge_value y);

/* Returns true if the operation can be tested. Leaves, such as inputs, cannot, because they compute
 * nothing. */
bool family_exists(enum op op);
/* Adds the operation with random arguments. Returns its value, or FORGE_NO_VALUE if the operation has no
 * case for m->purpose. */
forge_value family_make(struct maker *m, enum op op);

/* Returns the name of row i of ir/library.def; NULL: past the last. */
const char *composite_name(unsigned i);
/* Adds composite i with the outputs "y", "y1" ... and, if it has a gradient, those of maker_gradients for y.
 * Returns false if it has no case for this purpose. */
bool composite_make(struct maker *m, unsigned i);

#endif
