/* runtime/instance.h - the structure of an instance, and functions that the files of the runtime share.
 *
 * Note: only the thread that runs the instance may use it. New sizes take effect at the next run.
 */
#ifndef FORGE_RUNTIME_INSTANCE_H
#define FORGE_RUNTIME_INSTANCE_H

#include "forge/hal/backend.h"
#include "forge/ir/sized.h"

struct energy; /* defined in energy.h */

/* The state of an input. */
struct given {
    forge_shape shape; /* shape of the tensor in forge_instance_set */
    bool is_given;     /* the input was set, by forge_instance_set or forge_instance_set_zeros */
    bool is_zeros;     /* forge_instance_set_zeros was used: `shape` does not apply */
};

/* The repacked copy of a whole slot. */
struct repacked {
    forge_buffer *copy; /* NULL: the slot was not repacked */
    forge_dtype dtype;
    forge_shape shape;
};

/* A program with its memory on a device. */
struct forge_instance {
    const forge_program *program;
    forge_device *device;
    forge_buffer *arena;
    /* one for each of the program's buffers; the instance owns the buffers of inputs and outputs, but not the
     * buffers of slots */
    forge_buffer **buffers;
    struct sized sized;  /* the sizes for which the launches are bound */
    int64_t *wanted;     /* one for each entry of the program's dim table: a symbol's value from the next
                             * run on */
    bool is_bound;       /* launches are bound for the wanted sizes */
    struct given *given; /* one for each buffer */
    bool has_inputs;     /* true once all inputs are set; never becomes false again */
    struct view *views;  /* one for each binding */
    struct bound_launch *launches;
    const char **kernels; /* one for each launch: the name of its kernel at the bound sizes */
    /* one for each launch: total cost of the first `runs_done` runs, which ran before the last change of
     * sizes */
    struct program_cost *done;
    uint64_t runs_done;
    /* one for each launch: the body of a composite whose sizes are symbols, else NULL */
    forge_graph **bodies;
    int64_t **body_sizes; /* one for each body: values of its dim table */
    /* [launches + 1]: start of the last run, and end of each launch, in ns; used if energy is not counted */
    int64_t *timestamps;
    int64_t *taken_ns; /* one for each launch: its total time over all runs */
    uint64_t runs;
    struct energy *energy; /* NULL: energy is not counted */
    bool is_poisoned;      /* a run failed midway: slots may be partially updated */
    /* one for each launch: true if a checked run found that it computes infinities from finite operands;
     * NULL: no run was checked */
    bool *makes_infinities;
    /* one for each buffer: a slot's copy in the device's order of bytes (forge_instance_repack). NULL: no
     * slot was repacked */
    struct repacked *repacked;
};

/* Sets out_error to the message that an earlier run failed midway. Returns JOULE_FAILED. */
joule_status instance_fail_poisoned(joule_error *out_error);

/* Returns JOULE_OK if all inputs were set, or if the device only estimates. Otherwise returns JOULE_INVALID;
 * the message names an input that was never set. */
joule_status instance_check_inputs(forge_instance *instance, joule_error *out_error);
/* Returns the name of the first input, from buffer *at on, that was never set, and sets *at to the next
 * buffer. Returns NULL if there is no such input, or if the device only estimates. */
const char *instance_find_missing(const forge_instance *instance, size_t *at);
/* Sets out_error to the message that the input was never set. Returns JOULE_INVALID. */
joule_status instance_fail_missing(const char *input, joule_error *out_error);

/* --- repack.c ------------------------------------------------------------------------------------------- */

/* Returns the repacked copy of the array that a launch reads from a buffer, NULL: none. offset_bytes: offset
 * of the view in the buffer. */
const void *instance_repacked(const forge_instance *instance, size_t buffer, const struct view *view,
                              uint64_t offset_bytes);
void instance_free_repacked(forge_instance *instance);

/* --- sizes.c -------------------------------------------------------------------------------------------- */

/* Creates the bodies of composites whose sizes are symbols, so that instance_bind can compute their costs.
 * Returns false if out of memory. The caller frees the bodies with instance_free_bodies in any case. */
bool instance_make_bodies(forge_instance *instance);
void instance_free_bodies(forge_instance *instance);
/* Binds the launches for the wanted sizes. Allocates no memory. Returns JOULE_INVALID if the sizes are not
 * possible, and JOULE_UNSUPPORTED if the device has no kernel for a launch; the message names the cause. */
joule_status instance_bind(forge_instance *instance, joule_error *out_error);
/* Returns `shape` at the wanted sizes. */
forge_shape instance_wanted_shape(const forge_instance *instance, const forge_shape *shape);
/* Sets the wanted values of symbols so that `shape` has the sizes of `to_be`, which has the same rank.
 * Returns JOULE_INVALID, with a message, if a value is out of its symbol's range. Returns JOULE_ABSENT,
 * without a message, if a dimension that is not a symbol differs. After an error the wanted sizes are
 * unchanged. */
joule_status instance_request_shape(forge_instance *instance, const forge_shape *shape,
                                    const forge_shape *to_be, joule_error *out_error);
/* Returns the cost of a launch in one run, as the mean over the runs since forge_instance_reset_times.
 * Returns the cost at the bound sizes if there was no such run. */
struct program_cost instance_cost(const forge_instance *instance, size_t launch);

#endif
