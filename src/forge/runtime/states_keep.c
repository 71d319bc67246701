/* runtime/states_keep.c - saves and restores the values of slots; see <forge/nonfinite.h>. */
#include <forge/nonfinite.h>
#include <string.h>
#include "base/error.h"
#include "forge/runtime/states.h"

static void drop_copies(forge_states *states)
{
    for (size_t i = 0; i < states->state_count; i++)
        states->states[i].has_copy = false;
}

joule_status forge_states_snapshot(forge_states *states, joule_error *out_error)
{
    if (states->device->ops->expect)
        return error_set(out_error, JOULE_UNSUPPORTED,
                         "cannot copy the values of slots: the device %s only estimates",
                         states->device->ops->name);
    joule_status status = JOULE_OK;
    for (size_t i = 0; status == JOULE_OK && i < states->state_count; i++) {
        struct state *state = &states->states[i];
        size_t size = forge_buffer_size_bytes(state->tensor.buffer);
        if (!state->copy)
            status = forge_buffer_new(size, &state->copy, out_error);
        if (status != JOULE_OK)
            break;
        memcpy(forge_buffer_data(state->copy), forge_buffer_data(state->tensor.buffer), size);
        state->has_copy = true;
    }
    if (status != JOULE_OK)
        drop_copies(states);
    return status;
}

joule_status forge_states_restore(forge_states *states, joule_error *out_error)
{
    bool is_any = false;
    for (size_t i = 0; i < states->state_count; i++) {
        const struct state *state = &states->states[i];
        is_any = is_any || state->has_copy;
        if (state->has_copy)
            memcpy(forge_buffer_data(state->tensor.buffer), forge_buffer_data(state->copy),
                   forge_buffer_size_bytes(state->copy));
    }
    return is_any ? JOULE_OK
                  : error_set(out_error, JOULE_ABSENT,
                              "cannot restore the values of slots: there is no snapshot");
}
