/* tools/forge/check_value.h - compares a case's result on a device with the reference.
 *
 * The reference computes in double and rounds once, so its result counts as exact. For a composite and its
 * gradient, the reference is the body computed in f64. Allowed errors: 4 sqrt(K) eps sum |a||b| for sums of K
 * products, and 2 eps for functions. For composites and their gradients, 32 eps of f32 of the output's
 * largest magnitude are allowed, and eps of the result if it is bf16 or f16. All other operations must be
 * exact.
 */
#ifndef FORGE_CHECK_VALUE_H
#define FORGE_CHECK_VALUE_H

#include <forge/program.h>
#include "check_case.h"

/* A case loaded on a device. */
struct loaded_case {
    forge_program *program;
    forge_states *states;
    forge_instance *instance;
};
/* Compiles the case's graph for the device and makes an instance. `loaded` must be zeroed before. Call
 * loaded_case_close also after an error. */
joule_status loaded_case_open(struct loaded_case *loaded, forge_device *device, const struct check_case *c,
                              joule_error *error);
/* Copies the inputs to the device and runs the program once. */
joule_status loaded_case_run(const struct loaded_case *loaded, const struct check_case *c,
                             joule_error *error);
void loaded_case_close(struct loaded_case *loaded);

/* The result of a comparison. */
struct verdict {
    /* greatest error divided by the allowed error; above 1: wrong; NaN: nothing was compared */
    double worst;
    size_t element;              /* the element with this error */
    double got, wanted, allowed; /* the element's result, the reference's result, and the allowed error */
};

/* Runs the case on the device and compares the results with the reference. */
joule_status check_value(forge_device *device, const struct check_case *c, struct verdict *out_verdict,
                         joule_error *error);
/* Compares the derivative of the loss in one direction, computed from the gradients, with finite differences.
 * Changes the inputs of *c and restores them. */
joule_status check_grad(forge_device *device, struct check_case *c, struct verdict *out_verdict,
                        joule_error *error);

#endif
