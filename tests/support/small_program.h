/* support/small_program.h - runs arbitrary programs if they are small.
 *
 * Limits the size of programs, and runs them with fixed inputs. Note: a device may still refuse a small
 * program. No program may access memory other than its own. */
#ifndef SUPPORT_SMALL_PROGRAM_H
#define SUPPORT_SMALL_PROGRAM_H

#include <stdlib.h>
#include <string.h>
#include "forge/ir/program.h"

static inline double program_elements(const forge_program *program, const forge_shape *shape)
{
    struct dim_table dims = program_dims(program);
    forge_shape max_shape = dim_max_shape(&dims, shape);
    return (double)forge_shape_elements(&max_shape);
}

static inline bool program_is_small(const forge_program *program)
{
    const double max_bytes = 1 << 18;
    double bytes = (double)program->arena_bytes;
    if (program->launches.count > 256 || program->buffers.count > 1024)
        return false;
    for (size_t i = 0; i < program->buffers.count; i++)
        bytes += (double)program_buffers(program)[i].size_bytes;
    for (size_t i = 0; i < program->launches.count; i++) {
        const struct program_launch *launch = &program_launches(program)[i];
        double work = 1;
        for (size_t k = 0; k < (size_t)launch->input_count + launch->output_count; k++)
            work *=
                1 + program_elements(program, &program_bindings(program)[launch->first_binding + k].shape);
        if (work > max_bytes * 64)
            return false;
    }
    return bytes <= max_bytes;
}

typedef void program_take_fn(const void *bytes, size_t size, void *context);

/* program_take_fn without an effect. */
static inline void program_ignore(const void *bytes, size_t size, void *context)
{
    (void)bytes, (void)size, (void)context;
}

/* program_take_fn that updates a hash; `context`: a uint64_t. */
static inline void program_hash_bytes(const void *bytes, size_t size, void *context)
{
    uint64_t *hash = context;
    for (size_t i = 0; i < size; i++)
        *hash = (*hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
}

/* Runs the program with a size for each symbol: `less` steps below the maximum of the symbol, but at least
 * its minimum. */
static inline joule_status program_try_at(const forge_program *program, forge_instance *instance,
                                          int64_t less, program_take_fn *take, void *context)
{
    forge_symbol_facts symbol = {.struct_size = sizeof symbol};
    struct dim_table dims = program_dims(program);
    int64_t *values = calloc(dims.count + 1, sizeof *values);
    joule_status status = values ? JOULE_OK : JOULE_NO_MEMORY;
    for (size_t i = 0; values && forge_program_symbol(program, i, &symbol) == JOULE_OK; i++) {
        int64_t largest = symbol.max / symbol.multiple * symbol.multiple;
        int64_t steps = (largest - symbol.min) / symbol.multiple;
        int64_t value = largest - (less < steps ? less : steps) * symbol.multiple;
        values[dim_find(&dims, symbol.name) - dims.entries] = value;
        forge_instance_set_size(instance, symbol.name, value, NULL);
    }
    if (values && !dim_evaluate(&dims, values))
        status = JOULE_INVALID;
    for (size_t i = 0; status == JOULE_OK && i < program->buffers.count; i++) {
        const struct program_buffer *declared = &program_buffers(program)[i];
        forge_shape shape = dim_substitute_shape(&declared->shape, values);
        forge_tensor tensor;
        if (declared->kind != BUFFER_INPUT ||
            forge_tensor_new((forge_dtype)declared->dtype, &shape, &tensor, NULL) != JOULE_OK)
            continue;
        char *bytes = forge_tensor_data(&tensor);
        for (size_t k = 0; k < forge_buffer_size_bytes(tensor.buffer); k++)
            bytes[k] = declared->dtype == FORGE_F32 ? "\x00\x00\x80\x3f"[k % 4] : (char)(k % 2);
        forge_instance_set(instance, program_string(program, declared->name), &tensor, NULL);
        forge_buffer_release(tensor.buffer);
    }
    free(values);
    if (status == JOULE_OK)
        status = forge_instance_run(instance, NULL);
    for (size_t i = 0; status == JOULE_OK && i < program->buffers.count; i++) {
        const struct program_buffer *declared = &program_buffers(program)[i];
        forge_tensor tensor;
        if (declared->kind == BUFFER_OUTPUT &&
            forge_instance_get(instance, program_string(program, declared->name), &tensor, NULL) == JOULE_OK)
            take(forge_tensor_data(&tensor),
                 forge_dtype_size_bytes(tensor.dtype, forge_tensor_elements(&tensor)), context);
    }
    return status;
}

/* Runs the program with up to four sizes of its symbols on new states. Passes the bytes of every output to
 * `take`. */
static inline joule_status program_try(const forge_program *program, forge_device *device,
                                       program_take_fn *take, void *context)
{
    static const int64_t less[] = {0, 1, 7, INT64_MAX};
    forge_program_facts facts = {.struct_size = sizeof facts};
    forge_states *states = NULL;
    forge_instance *instance = NULL;
    forge_program_query(program, &facts);
    joule_status status = forge_states_new(device, 7, &states, NULL);
    if (status == JOULE_OK)
        status = forge_instance_new(program, device, states, &instance, NULL);
    for (size_t i = 0; status == JOULE_OK && i < (facts.symbols ? 4 : 1); i++)
        status = program_try_at(program, instance, less[i], take, context);
    forge_instance_free(instance);
    forge_states_free(states);
    return status;
}

#endif
