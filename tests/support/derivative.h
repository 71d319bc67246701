/* support/derivative.h - compares derivatives of a function with finite differences.
 *
 * The function is in double precision. The loss is a weighted sum of its result. Compares the first and
 * second derivatives of the loss. Note: a failure ends the test with the function's name. Weights are fixed,
 * so results can be compared between runs. */
#ifndef SUPPORT_DERIVATIVE_H
#define SUPPORT_DERIVATIVE_H

#include <forge/program.h>

#define DERIVATIVE_INPUTS 3

/* A function of up to three arrays, with the ranges of its arguments. */
struct function {
    const char *name;
    forge_value (*build)(forge_builder *b, const forge_value *x, int kind);
    int kind;
    size_t inputs;
    forge_shape shapes[DERIVATIVE_INPUTS];
    double low, high;
    bool is_smooth; /* second derivatives exist in these ranges */
};

/* A program that computes the loss, its gradients g0, g1 ..., and "slope", a weighted sum of all gradients.
 * If the function is smooth, it also computes h0, h1 ..., the gradients of the slope. */
struct trial {
    forge_device *device;
    forge_graph *graph;
    forge_program *program;
    forge_states *states;
    forge_instance *instance;
    forge_tensor x[DERIVATIVE_INPUTS];
};

/* Compares all derivatives of the function. Creates and frees the trial. */
void derivative_check(const struct function *function);

void derivative_begin(struct trial *trial, const struct function *function);
/* Runs the program with the inputs in trial->x. */
void derivative_run(struct trial *trial, const struct function *function);
/* Takes the derivative of the output `what` ("loss" or "slope") with respect to each element of input i, and
 * compares it with a finite difference. The derivative is the output whose name is `letter` (g or h) and i,
 * for example "g0". */
void derivative_compare(struct trial *trial, const struct function *function, size_t i, const char *what,
                        char letter);
void derivative_end(struct trial *trial, const struct function *function);

#endif
