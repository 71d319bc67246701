/* tools/forge/check_value.h - a case's result on a device against the reference.
 *
 * Owns the reference's run of a graph and the error that is allowed. Newcomers: the reference computes in double and rounds
 * once, so what it gives is the truth; sums may err by 4 sqrt(K) eps sum |a||b|, functions by 2 eps, all else not at all; and
 * composites and their gradients by 32 eps of a result's largest number, from their bodies in f64.
 */
#ifndef FORGE_CHECK_VALUE_H
#define FORGE_CHECK_VALUE_H

#include <forge/program.h>
#include "check_case.h"

/* A case loaded on a device. */
struct bench {
    forge_program *program;
    forge_states *states;
    forge_instance *instance;
};
joule_status bench_load(struct bench *bench, forge_device *device, const struct check_case *c,
                        joule_error *error);
/* Copies the inputs and runs once. */
joule_status bench_run(const struct bench *bench, const struct check_case *c, joule_error *error);
void bench_free(struct bench *bench);

/* How a case went. */
struct verdict {
    double worst; /* error over what is allowed; above 1: wrong. NaN: nothing was compared */
    size_t element;
    double got, wanted, allowed; /* there */
};

joule_status check_value(forge_device *device, const struct check_case *c, struct verdict *out_verdict,
                         joule_error *error);
/* The gradients' slope in a random direction against differences of the loss. */
joule_status check_grad(forge_device *device, struct check_case *c, struct verdict *out_verdict,
                        joule_error *error);

#endif
