/* runtime/instance.c - a program with memory.
 *
 * Owns arena, inputs and outputs of one program, its launches with addresses in them, and the time that each has taken.
 * Newcomers: everything is allocated and bound when the instance is made; a run only runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/abi.h"
#include "base/error.h"
#include "forge/hal/memory.h"
#include "forge/runtime/energy.h"
#include "forge/runtime/states.h"

static bool is_own(const struct program_buffer *buffer)
{
    return buffer->kind == BUFFER_INPUT || buffer->kind == BUFFER_OUTPUT;
}

void forge_instance_free(forge_instance *instance)
{
    if (!instance)
        return;
    for (size_t i = 0; instance->buffers && i < instance->program->buffers.count; i++)
        if (is_own(&program_buffers(instance->program)[i]))
            forge_buffer_release(instance->buffers[i]);
    forge_buffer_release(instance->arena);
    free(instance->buffers);
    free(instance->views);
    free(instance->launches);
    free(instance->stamps);
    free(instance->taken_ns);
    free(instance->is_usual);
    energy_free(instance->energy);
    free(instance);
}

/* --- binding ------------------------------------------------------------------------------------------------ */

static joule_status get_buffers(forge_instance *instance, forge_states *states, joule_error *error)
{
    const forge_program *program = instance->program;
    const struct program_buffer *buffers = program_buffers(program);
    char what[80];
    snprintf(what, sizeof what, "the arena of %zu launches", (size_t)program->launches.count);
    joule_status status = device_take(instance->device, program->arena_bytes, what, &instance->arena, error);
    for (size_t i = 0; status == JOULE_OK && i < program->buffers.count; i++) {
        if (buffers[i].kind == BUFFER_STATE) {
            status = states_bind(states, program, &buffers[i], &instance->buffers[i], error);
        } else if (is_own(&buffers[i])) {
            snprintf(what, sizeof what, "%s '%s'", buffers[i].kind == BUFFER_INPUT ? "input" : "output",
                     program_string(program, buffers[i].name));
            status = device_take(instance->device, buffers[i].size_bytes, what, &instance->buffers[i], error);
        }
    }
    return status;
}

static void *address_of(const forge_instance *instance, size_t i)
{
    const forge_program *program = instance->program;
    const struct program_buffer *buffer = &program_buffers(program)[i];
    if (buffer->kind == BUFFER_ARENA)
        return (char *)forge_buffer_data(instance->arena) + buffer->offset_bytes;
    if (buffer->kind == BUFFER_CONSTANT)
        return (char *)program_at(program, program->constants) + buffer->offset_bytes;
    return forge_buffer_data(instance->buffers[i]);
}

static joule_status bind_launches(forge_instance *instance, joule_error *error)
{
    const forge_program *program = instance->program;
    const struct program_binding *bindings = program_bindings(program);
    const struct program_launch *launches = program_launches(program);
    for (size_t i = 0; i < program->bindings.count; i++) {
        struct view *view = &instance->views[i];
        view->data = (char *)address_of(instance, bindings[i].buffer) + bindings[i].offset_bytes;
        view->dtype = (forge_dtype)bindings[i].dtype;
        view->shape = bindings[i].shape;
        memcpy(view->strides, bindings[i].strides, sizeof view->strides);
    }
    for (size_t i = 0; i < program->launches.count; i++) {
        const struct program_launch *made = &launches[i];
        const char *kernel = program_string(program, made->kernel);
        struct bound_launch *bound = &instance->launches[i];
        bound->launch = (struct launch){.op = (enum op)made->op,
                                        .attributes = (const char *)program_at(program, program->bytes) +
                                                      made->attributes,
                                        .inputs = instance->views + made->first_binding,
                                        .input_count = made->input_count,
                                        .outputs = instance->views + made->first_binding + made->input_count,
                                        .output_count = made->output_count};
        bound->cost = made->cost;
        bound->kernel = instance->device->ops->find_kernel(instance->device, kernel, &bound->launch);
        if (!bound->kernel)
            return error_set(error, JOULE_UNSUPPORTED,
                             "the device %s has no kernel '%s' for %s: compile the graph for it",
                             instance->device->ops->name, kernel, program_launch_name(program, made));
    }
    return JOULE_OK;
}

joule_status forge_instance_new(const forge_program *program, forge_device *device, forge_states *states,
                                forge_instance **out_instance, joule_error *out_error)
{
    forge_instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return error_set(out_error, JOULE_NO_MEMORY, "memory for an instance is used up");
    instance->program = program;
    instance->device = device;
    instance->buffers = calloc(program->buffers.count + 1, sizeof(forge_buffer *));
    instance->views = calloc(program->bindings.count + 1, sizeof *instance->views);
    instance->launches = calloc(program->launches.count + 1, sizeof *instance->launches);
    instance->stamps = calloc(program->launches.count + 1, sizeof *instance->stamps);
    instance->taken_ns = calloc(program->launches.count + 1, sizeof *instance->taken_ns);
    joule_status status = JOULE_OK;
    if (!instance->buffers || !instance->views || !instance->launches || !instance->stamps ||
        !instance->taken_ns)
        status = error_set(out_error, JOULE_NO_MEMORY, "memory for an instance is used up");
    if (status == JOULE_OK)
        status = get_buffers(instance, states, out_error);
    if (status == JOULE_OK)
        status = bind_launches(instance, out_error);
    if (status == JOULE_OK)
        *out_instance = instance;
    else
        forge_instance_free(instance);
    return status;
}

/* --- inputs and outputs ------------------------------------------------------------------------------------- */

static joule_status find(const forge_instance *instance, enum buffer_kind kind, const char *name,
                         forge_tensor *out_tensor, joule_error *error)
{
    const forge_program *program = instance->program;
    for (size_t i = 0; i < program->buffers.count; i++) {
        const struct program_buffer *buffer = &program_buffers(program)[i];
        if (buffer->kind == kind && strcmp(program_string(program, buffer->name), name) == 0)
            return forge_tensor_view(instance->buffers[i], 0, (forge_dtype)buffer->dtype, &buffer->shape,
                                     out_tensor, error);
    }
    return error_set(error, JOULE_ABSENT, "the program has no %s '%s'",
                     kind == BUFFER_INPUT ? "input" : "output", name);
}

joule_status forge_instance_set(forge_instance *instance, const char *input, const forge_tensor *tensor,
                                joule_error *out_error)
{
    forge_tensor own;
    joule_status status = find(instance, BUFFER_INPUT, input, &own, out_error);
    if (status != JOULE_OK)
        return status;
    if (tensor->dtype != own.dtype || !forge_shape_equal(&tensor->shape, &own.shape) ||
        !forge_tensor_is_packed(tensor)) {
        char is[100], wanted[100];
        forge_shape_format(&tensor->shape, is, sizeof is);
        forge_shape_format(&own.shape, wanted, sizeof wanted);
        return error_set(out_error, JOULE_INVALID, "input '%s' is %s%s, packed, not %s%s", input,
                         forge_dtype_name(own.dtype), wanted, forge_dtype_name(tensor->dtype), is);
    }
    if (!instance->device->ops->expect)
        memcpy(forge_tensor_data(&own), forge_tensor_data(tensor),
               forge_dtype_size_bytes(own.dtype, forge_tensor_elements(&own)));
    return JOULE_OK;
}

joule_status forge_instance_get(forge_instance *instance, const char *output, forge_tensor *out_tensor,
                                joule_error *out_error)
{
    joule_status status = find(instance, BUFFER_OUTPUT, output, out_tensor, out_error);
    if (status != JOULE_OK || !instance->device->ops->expect)
        return status;
    *out_tensor = (forge_tensor){0};
    return error_set(out_error, JOULE_UNSUPPORTED,
                     "output '%s' has no value: the device %s only estimates, nothing was computed", output,
                     instance->device->ops->name);
}

/* --- running ------------------------------------------------------------------------------------------------ */

joule_status instance_is_poisoned(joule_error *out_error)
{
    return error_set(out_error, JOULE_FAILED,
                     "an earlier run failed in the middle: its states may be half new");
}

joule_status forge_instance_run(forge_instance *instance, joule_error *out_error)
{
    size_t count = instance->program->launches.count;
    if (instance->is_poisoned)
        return instance_is_poisoned(out_error);
    struct energy *energy = instance->energy;
    int64_t *stamps = energy ? spans_row(&energy->spans) : instance->stamps;
    stamps[0] = device_now_ns(instance->device);
    joule_status status =
        instance->device->ops->run(instance->device, instance->launches, count, stamps + 1, out_error);
    instance->is_poisoned = status != JOULE_OK;
    if (status != JOULE_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        instance->taken_ns[i] += stamps[i + 1] - stamps[i];
    if (energy)
        spans_keep(&energy->spans);
    instance->runs++;
    return JOULE_OK;
}

joule_status forge_instance_launch(const forge_instance *instance, size_t i, forge_launch_facts *out_facts)
{
    const forge_program *program = instance->program;
    if (i >= program->launches.count || !abi_has_room(out_facts, SIZE_UP_TO(forge_launch_facts, seconds)))
        return JOULE_INVALID;
    const struct program_launch *launch = &program_launches(program)[i];
    forge_launch_facts facts = {.phase = (forge_phase)launch->phase,
                                .op = program_launch_name(program, launch),
                                .kernel = program_string(program, launch->kernel),
                                .scope = program_string(program, launch->scope),
                                .flop = launch->cost.flop,
                                .read_bytes = launch->cost.read_bytes,
                                .written_bytes = launch->cost.written_bytes,
                                .runs = instance->runs,
                                .seconds = (double)instance->taken_ns[i] * 1e-9};
    abi_give(out_facts, &facts, sizeof facts);
    return JOULE_OK;
}

void forge_instance_reset_spans(forge_instance *instance)
{
    memset(instance->taken_ns, 0, instance->program->launches.count * sizeof *instance->taken_ns);
    instance->runs = 0;
}

joule_status forge_program_look(const forge_program *program, forge_program_facts *out_facts)
{
    if (!abi_has_room(out_facts, SIZE_UP_TO(forge_program_facts, flop)))
        return JOULE_INVALID;
    forge_program_facts facts = {.launches = program->launches.count,
                                 .arena_bytes = program->arena_bytes,
                                 .arena_bound_bytes = program->arena_bound_bytes,
                                 .constant_bytes = program->constants.count};
    for (size_t i = 0; i < program->buffers.count; i++)
        if (program_buffers(program)[i].kind == BUFFER_STATE)
            facts.state_bytes += program_buffers(program)[i].size_bytes;
    for (size_t i = 0; i < program->launches.count; i++)
        facts.flop += program_launches(program)[i].cost.flop;
    abi_give(out_facts, &facts, sizeof facts);
    return JOULE_OK;
}
