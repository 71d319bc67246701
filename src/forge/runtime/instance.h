/* runtime/instance.h - the inside of an instance, for the rooms of the runtime.
 *
 * Newcomers: whoever looks into it is on the thread that runs it.
 */
#ifndef FORGE_RUNTIME_INSTANCE_H
#define FORGE_RUNTIME_INSTANCE_H

#include "forge/hal/device.h"

struct energy; /* energy.h */

struct forge_instance {
    const forge_program *program;
    forge_device *device;
    forge_buffer *arena;
    forge_buffer **buffers; /* of each of the program's: inputs and outputs are its own, states are not */
    struct view *views;     /* of each binding */
    struct bound_launch *launches;
    int64_t *stamps;   /* of the last run where nobody counts joules: its begin and each launch's end */
    int64_t *taken_ns; /* by each launch, over all runs */
    uint64_t runs;
    struct energy *energy; /* NULL: nobody counts joules */
    bool is_poisoned;      /* a run failed in the middle: states may be half new */
    bool *is_usual; /* of each launch: it makes infinities when all is well; NULL: no run was checked */
};

/* FAILED, with what a run says after one that failed. */
joule_status instance_is_poisoned(joule_error *out_error);

#endif
