/* tools/forge/check_maker.h - what the makers of cases share.
 *
 * Owns a case while it is made. Newcomers: whatever a maker draws, it draws in the same order for every type of floats, so
 * that the same case can be made in another.
 */
#ifndef FORGE_CHECK_MAKER_H
#define FORGE_CHECK_MAKER_H

#include "check_case.h"

struct maker {
    forge_builder *b;
    enum case_purpose purpose;
    uint64_t state;
    struct check_case *c;
    forge_value inputs[CASE_INPUTS];
    forge_dtype dtype; /* of floats */
};

uint32_t maker_below(struct maker *m, uint32_t limit);
/* 1 to `most`, or where it is timed `large`. */
int64_t maker_size(struct maker *m, uint32_t most, int64_t large);
/* An input with numbers from low to high, or of integers to high - 1. */
forge_value maker_input(struct maker *m, forge_dtype dtype, forge_shape shape, double low, double high);
/* Outputs: a weighted sum of y as "loss", and its gradients with respect to the inputs of floats so far, "g0" ... */
void maker_gradients(struct maker *m, forge_value y);

/* False for leaves. */
bool family_exists(enum op op);
/* No value: there is nothing to check for this purpose. */
forge_value family_make(struct maker *m, enum op op);

/* Composite i of ir/library.def; NULL: there is none. */
const char *composite_name(unsigned i);
/* Adds outputs: its values "y", "y1" ... and, where it has a gradient, what maker_gradients adds for y. */
bool composite_make(struct maker *m, unsigned i);

#endif
