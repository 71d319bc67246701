/* runtime/states.h - the slots that instances share by name; see <forge/program.h>.
 *
 * Note: a slot is initialised when the first instance that uses the slot is created. The key of its random
 * values depends only on the seed and the slot's name, so other slots do not affect the values.
 */
#ifndef FORGE_RUNTIME_STATES_H
#define FORGE_RUNTIME_STATES_H

#include "base/index.h"
#include "forge/hal/backend.h"

/* A slot: its name and its value. */
struct state {
    char *name;
    forge_tensor tensor;
    forge_buffer *copy; /* copy of the value by forge_states_snapshot; NULL: never copied */
    bool has_copy;      /* `copy` contains a value */
};

/* The slots of one device. */
struct forge_states {
    forge_device *device;
    uint64_t seed;
    GRAPH_ARRAY(struct state, states, state);
    struct index index; /* finds a slot by its name */
};

/* Returns the buffer of a slot in *out_buffer. Creates and initialises the slot if it does not exist. The
 * states own the buffer. Returns JOULE_INVALID if a slot with this name has another type or shape, and
 * JOULE_NO_MEMORY if out of memory. */
joule_status states_bind(forge_states *states, const forge_program *program,
                         const struct program_buffer *slot, forge_buffer **out_buffer,
                         joule_error *out_error);

#endif
