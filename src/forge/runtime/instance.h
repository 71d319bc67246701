/* runtime/instance.h - the inside of an instance, for the rooms of the runtime.
 *
 * Newcomers: whoever looks into it is on the thread that runs it. Sizes that are set count from the next run on; until then
 * everything is as the last one had it.
 */
#ifndef FORGE_RUNTIME_INSTANCE_H
#define FORGE_RUNTIME_INSTANCE_H

#include "forge/hal/device.h"
#include "forge/ir/sized.h"

struct energy; /* energy.h */

/* What an input was set with. */
struct given {
    forge_shape shape;
    bool is_given;
    bool is_zeros; /* set to zeros, at any size */
};

struct forge_instance {
    const forge_program *program;
    forge_device *device;
    forge_buffer *arena;
    forge_buffer **buffers; /* of each of the program's: inputs and outputs are its own, states are not */
    struct sized sized;     /* what the launches are bound to */
    int64_t *wanted;        /* of each of the program's symbols: its number from the next run on */
    bool is_bound;          /* to what is wanted */
    struct given *given;    /* of each buffer */
    bool has_inputs;        /* all inputs are set, and stay set */
    struct view *views;     /* of each binding */
    struct bound_launch *launches;
    const char **kernels;      /* of each launch: what runs it at these sizes */
    struct program_cost *done; /* of each launch, in the first `runs_done` runs, which had other sizes */
    uint64_t runs_done;
    forge_graph **bodies; /* of each launch that is a composite whose sizes change; NULL of others */
    int64_t **body_sizes; /* of these bodies */
    int64_t *stamps;      /* of the last run where nobody counts joules: its begin and each launch's end */
    int64_t *taken_ns;    /* by each launch, over all runs */
    uint64_t runs;
    struct energy *energy; /* NULL: nobody counts joules */
    bool is_poisoned;      /* a run failed in the middle: states may be half new */
    bool *is_usual; /* of each launch: it makes infinities when all is well; NULL: no run was checked */
};

/* FAILED, with what a run says after one that failed. */
joule_status instance_is_poisoned(joule_error *out_error);

/* Returns INVALID, with a message that names the input, if the device computes and an input was never set. */
joule_status instance_check_inputs(forge_instance *instance, joule_error *out_error);
/* Returns the name of the first input from buffer *at on that was never set and moves *at past it; NULL:
 * none. */
const char *instance_find_missing(const forge_instance *instance, size_t *at);
joule_status instance_refuse_missing(const char *input, joule_error *out_error);

/* --- sizes.c ------------------------------------------------------------------------------------------------ */

/* Makes what binding needs; false: no memory. Freed with the instance, by instance_forget_bodies. */
bool instance_make_bodies(forge_instance *instance);
void instance_forget_bodies(forge_instance *instance);
/* Binds the launches to what is wanted. Allocates nothing. */
joule_status instance_bind(forge_instance *instance, joule_error *out_error);
/* A shape at the sizes that are wanted. */
forge_shape instance_wanted(const forge_instance *instance, const forge_shape *shape);
/* Wants the sizes for symbols in `shape` that stand in `to_be`, of equal rank. INVALID: a symbol cannot be that; ABSENT,
 * without a message: the shape becomes another one. What is wanted is as it was, then. */
joule_status instance_want(forge_instance *instance, const forge_shape *shape, const forge_shape *to_be,
                           joule_error *out_error);
/* What a launch does in one run: the mean of those since the last reset; where there were none, at the sizes that it is bound
 * to. */
struct program_cost instance_cost(const forge_instance *instance, size_t launch);

#endif
