/* tools/forge/check_case.h - one operation on random arguments, as a graph.
 *
 * Owns a case's life and what its inputs are filled with; check_family.c and check_composite.c make it. Newcomers: the same
 * seed gives the same case; cases are small and oddly shaped, their arguments often views, except where they are timed.
 */
#ifndef FORGE_CHECK_CASE_H
#define FORGE_CHECK_CASE_H

#include "forge/ir/graph.h"

enum case_purpose {
    CASE_VALUE, /* any types, any views */
    CASE_GRAD,  /* f64, what has a gradient, away from poles; inputs "g0" ... are in outputs, "loss" is one */
    CASE_TIME,  /* f32, large */
};

enum { CASE_INPUTS = 16 };

struct case_input {
    char name[8];
    forge_tensor tensor;
    double low, high; /* its numbers; of whole ones, from low to high - 1 */
};

struct check_case {
    unsigned subject;
    uint64_t seed;
    forge_graph *graph; /* its output "y", or in CASE_GRAD "loss" and gradients */
    struct case_input inputs[CASE_INPUTS];
    size_t input_count;
};

/* What is checked: enum op, and from OP_COUNT on composites. NULL: there are no more. */
const char *case_name(unsigned subject);
/* False for leaves, too. */
bool case_exists(unsigned subject);
enum { CASE_SUBJECTS = OP_COUNT + 32 }; /* at most */
/* UNSUPPORTED: there is nothing to check for this purpose. What is there is for case_free, whatever comes back. */
joule_status case_make(unsigned subject, enum case_purpose purpose, uint64_t seed,
                       struct check_case *out_case, joule_error *error);
/* A composite's case for values again, with f64 in place of f32 and the same numbers. */
joule_status case_widen(const struct check_case *c, struct check_case *out_wide, joule_error *error);
void case_free(struct check_case *c);

#endif
