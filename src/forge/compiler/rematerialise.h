/* compiler/rematerialise.h - repeats launches, so that fewer bytes are live at once.
 *
 * A value of the forward pass is often needed again in the backward pass, and stays in memory until then. If
 * it is computed a second time before its later readers, its memory is free in between. This costs the time
 * and the joules of the repeated launches.
 *
 * Note: like schedule.h, this file knows no graphs and no kernels. */
#ifndef FORGE_COMPILER_REMATERIALISE_H
#define FORGE_COMPILER_REMATERIALISE_H

#include "forge/compiler/schedule.h"

/* A problem with copies of launches. The launches, values and accesses of the original problem come first and
 * keep their numbers. The copies follow, and some accesses read values that copies write. */
struct rematerialisation {
    struct schedule_problem problem; /* has no edges */
    uint32_t *order;                 /* [problem.launch_count] */
    uint32_t *launch_of;             /* [problem.launch_count]: the launch that is repeated, or itself */
    /* [problem.value_count]: for a new value, the original access that writes the repeated value */
    uint32_t *access_of;
    double peak_bytes; /* largest number of live bytes in this order */
    /* owned arrays of `problem` */
    struct schedule_launch *launches;
    struct schedule_access *accesses;
    struct schedule_value *values;
};

/* Repeats launches until at most problem->max_bytes are live at once, or until no further copy helps. Each
 * step repeats the value, possibly with the launches that compute its operands, that removes most of the
 * bytes above the bound for its cost, as the objective of the problem counts it. order: [launch_count], an
 * order that satisfies all edges. Returns false if out of memory. The caller frees *out with
 * rematerialisation_free, also after a failure. */
bool rematerialise(const struct schedule_problem *problem, const uint32_t *order,
                   struct rematerialisation *out);
void rematerialisation_free(struct rematerialisation *rematerialisation);

#endif
