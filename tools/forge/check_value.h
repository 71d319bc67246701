/* tools/forge/check_value.h - compares a case's result on a device with the reference.
 *
 * The reference computes in double and rounds once, so its result counts as exact. Allowed errors: 4 sqrt(K)
 * eps sum |a||b| for sums of K products, 2 eps for functions, 32 eps of the output's largest magnitude for
 * composites and their gradients (whose bodies are computed in f64), and 0 for all other operations.
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
/* Compiles the case's graph for the device and makes an instance. `loaded` must be zeroed. Call
 * loaded_case_close in any case. */
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
/* Compares the gradients' derivative in one direction with finite differences of the loss. */
joule_status check_grad(forge_device *device, struct check_case *c, struct verdict *out_verdict,
                        joule_error *error);

#endif
