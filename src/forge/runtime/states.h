/* runtime/states.h - the inside of <forge/program.h>'s states.
 *
 * Owns the slots that instances share by name. Newcomers: a slot is filled when the first instance that has it is made, by
 * a key that comes from the seed and the slot's name: other slots and their order do not change it.
 */
#ifndef FORGE_RUNTIME_STATES_H
#define FORGE_RUNTIME_STATES_H

#include "base/index.h"
#include "forge/hal/device.h"

struct state {
    char *name;
    forge_tensor tensor;
    forge_buffer *kept; /* what it held at forge_states_keep; NULL: never */
    bool is_kept;
};

struct forge_states {
    forge_device *device;
    uint64_t seed;
    GRAPH_ARRAY(struct state, states, state);
    struct index index; /* of their names */
};

/* The buffer of the slot that the program describes, made and filled where it is not there. */
joule_status states_bind(forge_states *states, const forge_program *program,
                         const struct program_buffer *slot, forge_buffer **out_buffer,
                         joule_error *out_error);

#endif
