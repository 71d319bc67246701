/* runtime/instance.h - the structure of an instance, for the files of the runtime.
 *
 * Note: use it only on the thread that runs the instance. New sizes take effect at the next run.
 */
#ifndef FORGE_RUNTIME_INSTANCE_H
#define FORGE_RUNTIME_INSTANCE_H

#include "forge/hal/backend.h"
#include "forge/ir/sized.h"

struct energy; /* energy.h */

/* The state of an input. */
struct given {
    forge_shape shape; /* the shape of the tensor that was set */
    bool is_given;     /* the input was set */
    bool is_zeros;     /* the input is zeros, of the size that the run needs */
};

/* A program with its memory on a device. */
struct forge_instance {
    const forge_program *program;
    forge_device *device;
    forge_buffer *arena;
    forge_buffer **buffers; /* one for each of the program's buffers; owns those of inputs and outputs, not of
                             * states */
    struct sized sized;     /* the sizes to which the launches are bound */
    int64_t *wanted;        /* one for each entry of the program's dim table: a symbol's value from the next
                             * run on */
    bool is_bound;          /* launches are bound to the wanted sizes */
    struct given *given;    /* one for each buffer */
    bool has_inputs;        /* true once all inputs are set; never becomes false again */
    struct view *views;     /* one for each binding */
    struct bound_launch *launches;
    const char **kernels;      /* one for each launch: its kernel's name at these sizes */
    struct program_cost *done; /* one for each launch: cost of the first `runs_done` runs, which had other
                                * sizes */
    uint64_t runs_done;
    forge_graph **bodies; /* one for each launch: a composite's body if its sizes change, else NULL */
    int64_t **body_sizes; /* one for each body: values of its dim table */
    /* used if energy is not counted: the start of the last run, and the end of each launch */
    int64_t *timestamps;
    int64_t *taken_ns; /* one for each launch: its total time over all runs */
    uint64_t runs;
    struct energy *energy;  /* NULL: energy is not counted */
    bool is_poisoned;       /* a run failed midway: states may be partially updated */
    bool *makes_infinities; /* one for each launch: true if it makes infinities also in correct runs; NULL: no
                             * run was checked */
};

/* Writes to out_error that an earlier run failed midway. Returns JOULE_FAILED. */
joule_status instance_fail_poisoned(joule_error *out_error);

/* Returns JOULE_INVALID, with a message that names the input, if an input was never set. A device that only
 * estimates needs no inputs. */
joule_status instance_check_inputs(forge_instance *instance, joule_error *out_error);
/* Returns the name of the first input, from buffer *at on, that was never set. Moves *at past this input.
 * Returns NULL if there is none. A device that only estimates needs no inputs. */
const char *instance_find_missing(const forge_instance *instance, size_t *at);
/* Writes to out_error that the input was never set. Returns JOULE_INVALID. */
joule_status instance_fail_missing(const char *input, joule_error *out_error);

/* --- sizes.c -------------------------------------------------------------------------------------------- */

/* Makes the bodies of composites that binding needs. Returns false if out of memory. Free them with
 * instance_free_bodies. */
bool instance_make_bodies(forge_instance *instance);
void instance_free_bodies(forge_instance *instance);
/* Binds the launches to the wanted sizes. Allocates nothing. */
joule_status instance_bind(forge_instance *instance, joule_error *out_error);
/* Returns `shape` at the wanted sizes. */
forge_shape instance_wanted_shape(const forge_instance *instance, const forge_shape *shape);
/* Sets the wanted values of symbols so that `shape` becomes `to_be`, which has the same rank. Returns
 * JOULE_INVALID, with a message, if a symbol cannot have its value. Returns JOULE_ABSENT, without a message,
 * if a dimension that is not a symbol differs. After an error the wanted sizes are unchanged. */
joule_status instance_request_shape(forge_instance *instance, const forge_shape *shape,
                                    const forge_shape *to_be, joule_error *out_error);
/* Returns the cost of a launch in one run: the mean over the runs since the last reset. If there was no run,
 * returns the cost at the bound sizes. */
struct program_cost instance_cost(const forge_instance *instance, size_t launch);

#endif
