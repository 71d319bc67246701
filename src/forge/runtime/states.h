/* runtime/states.h - the slots that instances share by name; see <forge/program.h>.
 *
 * Note: a slot is initialised when the first instance that has it is made. Its random key comes from the seed
 * and its name, so other slots do not affect it.
 */
#ifndef FORGE_RUNTIME_STATES_H
#define FORGE_RUNTIME_STATES_H

#include "base/index.h"
#include "forge/hal/backend.h"

/* A slot with its value. */
struct state {
    char *name;
    forge_tensor tensor;
    forge_buffer *kept; /* its value at forge_states_snapshot; NULL: never kept */
    bool is_kept;
};

/* The slots of one device. */
struct forge_states {
    forge_device *device;
    uint64_t seed;
    GRAPH_ARRAY(struct state, states, state);
    struct index index; /* from names to slots */
};

/* Writes the buffer of a slot to *out_buffer; the states own it. Makes and initialises the slot if it is new.
 * Returns JOULE_INVALID if a slot with this name has another type or shape. */
joule_status states_bind(forge_states *states, const forge_program *program,
                         const struct program_buffer *slot, forge_buffer **out_buffer,
                         joule_error *out_error);

#endif
