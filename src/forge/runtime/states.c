/* runtime/states.c - see states.h. */
#include "forge/runtime/states.h"

#include <forge/random.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "forge/hal/memory.h"

static struct index_key state_key(const void *states, uint32_t state)
{
    return index_name(((const forge_states *)states)->states[state].name);
}

joule_status forge_states_new(forge_device *device, uint64_t seed, forge_states **out_states,
                              joule_error *out_error)
{
    forge_states *states = calloc(1, sizeof *states);
    if (!states)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot create states: out of memory");
    states->device = device;
    states->seed = seed;
    states->index.key_of = state_key;
    *out_states = states;
    return JOULE_OK;
}

void forge_states_free(forge_states *states)
{
    for (size_t i = 0; states && i < states->state_count; i++) {
        forge_buffer_release(states->states[i].tensor.buffer);
        forge_buffer_release(states->states[i].copy);
        free(states->states[i].name);
    }
    if (states) {
        free(states->states);
        index_free(&states->index);
    }
    free(states);
}

size_t forge_states_count(const forge_states *states)
{
    return states->state_count;
}

joule_status forge_states_get(forge_states *states, size_t i, forge_tensor *out_tensor, const char **out_name)
{
    if (i >= states->state_count)
        return JOULE_INVALID;
    if (states->device->ops->expect)
        return JOULE_UNSUPPORTED;
    *out_tensor = states->states[i].tensor;
    *out_name = states->states[i].name;
    return JOULE_OK;
}

static struct state *find_state(const forge_states *states, const char *name)
{
    uint32_t i = index_find(&states->index, states, index_name(name));
    return i == INDEX_NONE ? NULL : &states->states[i];
}

joule_status forge_states_find(forge_states *states, const char *name, forge_tensor *out_tensor)
{
    const struct state *state = find_state(states, name);
    if (!state)
        return JOULE_ABSENT;
    if (states->device->ops->expect)
        return JOULE_UNSUPPORTED;
    *out_tensor = state->tensor;
    return JOULE_OK;
}

/* --- initial values ------------------------------------------------------------------------------------- */

static void draw(const forge_random *random, const struct program_buffer *slot, size_t first, size_t count,
                 float *out)
{
    if (slot->init_kind == FORGE_INIT_CONSTANT) {
        for (size_t i = 0; i < count; i++)
            out[i] = (float)slot->init_a;
        return;
    }
    bool is_normal = slot->init_kind == FORGE_INIT_NORMAL;
    if (is_normal)
        forge_random_normal(random, first, count, out);
    else
        forge_random_uniform(random, first, count, out);
    double scale = is_normal ? slot->init_b : slot->init_b - slot->init_a;
    for (size_t i = 0; i < count; i++)
        out[i] = (float)(slot->init_a + scale * (double)out[i]);
}

static joule_status initialise(const forge_states *states, const char *name,
                               const struct program_buffer *slot, const forge_tensor *tensor)
{
    enum { PIECE = 256 };
    forge_random random = {.key = states->seed ^ hash_bytes(HASH_START, name, strlen(name))};
    size_t count = forge_tensor_elements(tensor);
    float values[PIECE];
    for (size_t first = 0; first < count; first += PIECE) {
        size_t some = count - first < PIECE ? count - first : PIECE;
        draw(&random, slot, first, some, values);
        joule_status status = forge_convert(
            FORGE_F32, values, tensor->dtype,
            (char *)forge_tensor_data(tensor) + forge_dtype_size_bytes(tensor->dtype, first), some);
        if (status != JOULE_OK)
            return status;
    }
    return JOULE_OK;
}

/* Appends a slot with a copy of the name. On success the states own the tensor's buffer. */
static joule_status append_state(forge_states *states, const char *name, const forge_tensor *tensor,
                                 joule_error *out_error)
{
    struct state state = {.name = strdup(name), .tensor = *tensor};
    if (state.name && ARRAY_ROOM(states->states, states->state_capacity, states->state_count)) {
        states->states[states->state_count] = state;
        if (index_add(&states->index, states, (uint32_t)states->state_count)) {
            states->state_count++;
            return JOULE_OK;
        }
    }
    free(state.name);
    return error_set(out_error, JOULE_NO_MEMORY, "cannot add a slot: out of memory");
}

static joule_status add_state(forge_states *states, const char *name, const struct program_buffer *slot,
                              struct state **out, joule_error *out_error)
{
    char what[80];
    forge_tensor tensor = {0};
    snprintf(what, sizeof what, "slot '%s'", name);
    joule_status status = device_take(states->device, slot->size_bytes, what, &tensor.buffer, out_error);
    if (status == JOULE_OK)
        status =
            forge_tensor_view(tensor.buffer, 0, (forge_dtype)slot->dtype, &slot->shape, &tensor, out_error);
    if (status == JOULE_OK && !states->device->ops->expect)
        status = initialise(states, name, slot, &tensor);
    if (status == JOULE_OK)
        status = append_state(states, name, &tensor, out_error);
    if (status != JOULE_OK)
        forge_buffer_release(tensor.buffer);
    else
        *out = &states->states[states->state_count - 1];
    return status;
}

static void release_buffer(void *buffer)
{
    forge_buffer_release(buffer);
}

joule_status forge_states_add(forge_states *states, const char *name, const forge_tensor *tensor,
                              joule_error *out_error)
{
    forge_tensor view;
    if (states->device->ops->expect)
        return error_set(out_error, JOULE_UNSUPPORTED, "cannot add slot '%s': the device only estimates",
                         name);
    if (find_state(states, name) || !forge_tensor_is_packed(tensor))
        return error_set(out_error, JOULE_INVALID, "cannot add slot '%s': %s", name,
                         forge_tensor_is_packed(tensor) ? "it exists" : "the tensor is not packed");
    size_t bytes = forge_dtype_size_bytes(tensor->dtype, forge_tensor_elements(tensor));
    forge_buffer *buffer;
    joule_status status = forge_buffer_wrap(forge_tensor_data(tensor), bytes, release_buffer, tensor->buffer,
                                            &buffer, out_error);
    if (status != JOULE_OK)
        return status;
    forge_buffer_retain(tensor->buffer);
    status = forge_tensor_view(buffer, 0, tensor->dtype, &tensor->shape, &view, out_error);
    if (status == JOULE_OK)
        status = append_state(states, name, &view, out_error);
    if (status != JOULE_OK)
        forge_buffer_release(buffer);
    return status;
}

joule_status states_bind(forge_states *states, const forge_program *program,
                         const struct program_buffer *slot, forge_buffer **out_buffer, joule_error *out_error)
{
    const char *name = program_string(program, slot->name);
    struct state *state = find_state(states, name);
    if (!state) {
        joule_status status = add_state(states, name, slot, &state, out_error);
        if (status != JOULE_OK)
            return status;
    }
    if (state->tensor.dtype != (forge_dtype)slot->dtype ||
        !forge_shape_equal(&state->tensor.shape, &slot->shape)) {
        char is[100], wanted[100];
        forge_shape_format(&state->tensor.shape, is, sizeof is);
        forge_shape_format(&slot->shape, wanted, sizeof wanted);
        return error_set(out_error, JOULE_INVALID, "slot '%s' is %s%s, but the program needs %s%s", name,
                         forge_dtype_name(state->tensor.dtype), is,
                         forge_dtype_name((forge_dtype)slot->dtype), wanted);
    }
    *out_buffer = state->tensor.buffer;
    return JOULE_OK;
}
