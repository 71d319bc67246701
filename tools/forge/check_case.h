/* tools/forge/check_case.h - makes a test case: a graph of one operation, and random values for its inputs.
 *
 * Note: the same seed gives the same case. Shapes are small and irregular, and arguments are often views (for
 * example transposed). Cases of CASE_TIME have large shapes and no views.
 */
#ifndef FORGE_CHECK_CASE_H
#define FORGE_CHECK_CASE_H

#include "forge/ir/graph.h"

enum case_purpose {
    CASE_VALUE, /* to compare results: random element types and views */
    CASE_GRAD,  /* to check gradients: f64, values away from poles */
    CASE_TIME,  /* to measure time: weights in q8_0, caches in f16, large shapes */
};

enum { CASE_INPUTS = 16 };

struct case_input {
    char name[8];
    forge_tensor tensor;
    double low, high;  /* range of the random values; of integers: low to high - 1 */
    bool is_ascending; /* the elements rise evenly from low to high instead of being random */
};

struct check_case {
    unsigned subject; /* number of the operation or composite, see case_name */
    uint64_t seed;
    forge_graph *graph; /* outputs: "y"; in CASE_GRAD "loss" and gradients "g0" ... */
    struct case_input inputs[CASE_INPUTS];
    size_t input_count;
};

/* Returns the name of a subject; NULL: the number is too large. Subjects below OP_COUNT are operations (enum
 * op), and subject OP_COUNT + i is composite i. */
const char *case_name(unsigned subject);
/* Returns true if the subject can be tested. Leaves, such as inputs, cannot be tested, because they compute
 * nothing. */
bool case_exists(unsigned subject);
enum { CASE_SUBJECTS = OP_COUNT + 32 }; /* upper limit of the number of subjects */
/* Makes a case. dtype: the type of the floats; FORGE_DTYPE_NONE: random in CASE_VALUE, f32 in CASE_TIME.
 * Gradients are always checked in f64, and the composites of language models always have activations in f32.
 * The caller frees the case with case_free, also after an error. Returns JOULE_UNSUPPORTED if the subject has
 * no case for this purpose. */
joule_status case_make(unsigned subject, enum case_purpose purpose, forge_dtype dtype, uint64_t seed,
                       struct check_case *out_case, joule_error *error);
/* Copies c, a case of a composite. In the copy, all floats, except stored weights and caches, are f64 with
 * equal values. The caller frees
 * *out_wide with case_free, also after an error. */
joule_status case_widen(const struct check_case *c, struct check_case *out_wide, joule_error *error);
void case_free(struct check_case *c);

#endif
