/* support/small_program.h - running programs that may be anything, as long as they are small.
 *
 * Owns the bound on what is tried, and a run with inputs that are the same every time. Newcomers: a program that was accepted
 * may still be refused by the device or be too large; it must only never touch memory that is not its own.
 */
#ifndef SUPPORT_SMALL_PROGRAM_H
#define SUPPORT_SMALL_PROGRAM_H

#include <string.h>
#include "forge/ir/program.h"

static inline bool program_is_small(const forge_program *program)
{
    const double most = 1 << 18;
    double bytes = (double)program->arena_bytes;
    if (program->launches.count > 256 || program->buffers.count > 1024)
        return false;
    for (size_t i = 0; i < program->buffers.count; i++)
        bytes += (double)program_buffers(program)[i].size_bytes;
    for (size_t i = 0; i < program->launches.count; i++) {
        const struct program_launch *launch = &program_launches(program)[i];
        double work = 1;
        for (size_t k = 0; k < (size_t)launch->input_count + launch->output_count; k++) {
            size_t elements =
                forge_shape_elements(&program_bindings(program)[launch->first_binding + k].shape);
            work = work * (1 + (double)elements);
        }
        if (work > most * 64)
            return false;
    }
    return bytes <= most;
}

/* One run, on states of its own. Every output's bytes go to `take`. */
static inline joule_status program_try(const forge_program *program, forge_device *device,
                                       void (*take)(const void *bytes, size_t size, void *context),
                                       void *context)
{
    forge_states *states = NULL;
    forge_instance *instance = NULL;
    joule_status status = forge_states_new(device, 7, &states, NULL);
    if (status == JOULE_OK)
        status = forge_instance_new(program, device, states, &instance, NULL);
    for (size_t i = 0; status == JOULE_OK && i < program->buffers.count; i++) {
        const struct program_buffer *made = &program_buffers(program)[i];
        forge_tensor tensor;
        if (made->kind != BUFFER_INPUT ||
            forge_tensor_new((forge_dtype)made->dtype, &made->shape, &tensor, NULL) != JOULE_OK)
            continue;
        char *bytes = forge_tensor_data(&tensor);
        for (size_t k = 0; k < made->size_bytes; k++)
            bytes[k] = made->dtype == FORGE_F32 ? "\x00\x00\x80\x3f"[k % 4] : (char)(k % 2);
        forge_instance_set(instance, program_string(program, made->name), &tensor, NULL);
        forge_buffer_release(tensor.buffer);
    }
    if (status == JOULE_OK)
        status = forge_instance_run(instance, NULL);
    for (size_t i = 0; status == JOULE_OK && i < program->buffers.count; i++) {
        const struct program_buffer *made = &program_buffers(program)[i];
        forge_tensor tensor;
        if (made->kind == BUFFER_OUTPUT &&
            forge_instance_get(instance, program_string(program, made->name), &tensor, NULL) == JOULE_OK)
            take(forge_tensor_data(&tensor), made->size_bytes, context);
    }
    forge_instance_free(instance);
    forge_states_free(states);
    return status;
}

#endif
