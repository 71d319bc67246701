/* tools/forge/check_case.h - makes one operation on random arguments, as a graph with filled inputs.
 *
 * Note: the same seed gives the same case. Except in timed cases, shapes are small and odd, and arguments are
 * often views.
 */
#ifndef FORGE_CHECK_CASE_H
#define FORGE_CHECK_CASE_H

#include "forge/ir/graph.h"

enum case_purpose {
    CASE_VALUE, /* any element types, any views */
    CASE_GRAD,  /* f64 and away from poles; outputs: "loss", and "g0" ... for the inputs */
    CASE_TIME,  /* f32 and large */
};

enum { CASE_INPUTS = 16 };

struct case_input {
    char name[8];
    forge_tensor tensor;
    double low, high; /* range of the random values; integers reach high - 1 */
};

struct check_case {
    unsigned subject;
    uint64_t seed;
    forge_graph *graph; /* its output is "y", or in CASE_GRAD "loss" and gradients */
    struct case_input inputs[CASE_INPUTS];
    size_t input_count;
};

/* Returns the name of a subject: an enum op, or from OP_COUNT on a composite. NULL: past the last. */
const char *case_name(unsigned subject);
/* Returns false also for leaves, which compute nothing. */
bool case_exists(unsigned subject);
enum { CASE_SUBJECTS = OP_COUNT + 32 }; /* upper limit */
/* Makes a case; the caller frees it with case_free, also after an error. UNSUPPORTED: the subject has no case
 * for this purpose. */
joule_status case_make(unsigned subject, enum case_purpose purpose, uint64_t seed,
                       struct check_case *out_case, joule_error *error);
/* Makes the same case of a composite with f64 in place of f32 and with the same values. Same ownership as
 * case_make. */
joule_status case_widen(const struct check_case *c, struct check_case *out_wide, joule_error *error);
void case_free(struct check_case *c);

#endif
