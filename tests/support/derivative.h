/* support/derivative.h - derivatives of a function against differences.
 *
 * Owns the trial of one function in double: first derivatives of a weighted sum of its result, and derivatives of these.
 * Newcomers: whatever fails ends the test with the function's name; weights are fixed, so results can be compared.
 */
#ifndef SUPPORT_DERIVATIVE_H
#define SUPPORT_DERIVATIVE_H

#include <forge/program.h>

#define DERIVATIVE_INPUTS 3

/* A function of up to three arrays, and where its arguments may lie. */
struct function {
    const char *name;
    forge_value (*build)(forge_builder *b, const forge_value *x, int kind);
    int kind;
    size_t inputs;
    forge_shape shapes[DERIVATIVE_INPUTS];
    double low, high;
    bool is_smooth; /* has second derivatives where it is tried */
};

/* A program that gives loss, gradients, and a directional derivative of the gradients. */
struct trial {
    forge_device *device;
    forge_graph *graph;
    forge_program *program;
    forge_states *states;
    forge_instance *instance;
    forge_tensor x[DERIVATIVE_INPUTS];
};

/* Compares all derivatives, by a trial of its own. */
void derivative_check(const struct function *function);

void derivative_begin(struct trial *trial, const struct function *function);
/* With trial->x as it is now. */
void derivative_run(struct trial *trial, const struct function *function);
/* d `what` ("loss" or "slope") / d every element of input i, by the program's `letter` (g or h) and by differences. */
void derivative_compare(struct trial *trial, const struct function *function, size_t i, const char *what,
                        char letter);
void derivative_end(struct trial *trial, const struct function *function);

#endif
