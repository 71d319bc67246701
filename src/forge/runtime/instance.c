/* runtime/instance.c - instances: programs with memory for arena, inputs and outputs, and the time of each
 * launch.
 *
 * Note: all memory is allocated when the instance is created; a run allocates nothing. sizes.c binds launches
 * to addresses and sizes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/abi.h"
#include "base/error.h"
#include "forge/hal/memory.h"
#include "forge/ir/text.h"
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
    sized_free(&instance->sized);
    free(instance->wanted);
    free(instance->given);
    free(instance->kernels);
    instance_free_bodies(instance);
    instance_free_repacked(instance);
    free(instance->done);
    free(instance->views);
    free(instance->launches);
    free(instance->timestamps);
    free(instance->taken_ns);
    free(instance->makes_infinities);
    energy_free(instance->energy);
    free(instance);
}

/* --- memory --------------------------------------------------------------------------------------------- */

static joule_status allocate_buffers(forge_instance *instance, forge_states *states, joule_error *error)
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

static bool allocate(forge_instance *instance)
{
    const forge_program *program = instance->program;
    struct dim_table dims = program_dims(program);
    size_t launches = program->launches.count;
    instance->buffers = calloc(program->buffers.count + 1, sizeof(forge_buffer *));
    instance->given = calloc(program->buffers.count + 1, sizeof *instance->given);
    instance->wanted = calloc(dims.count + 1, sizeof *instance->wanted);
    instance->views = calloc(program->bindings.count + 1, sizeof *instance->views);
    instance->launches = calloc(launches + 1, sizeof *instance->launches);
    instance->kernels = calloc(launches + 1, sizeof *instance->kernels);
    instance->bodies = calloc(launches + 1, sizeof(forge_graph *));
    instance->body_sizes = calloc(launches + 1, sizeof(int64_t *));
    instance->done = calloc(launches + 1, sizeof *instance->done);
    instance->timestamps = calloc(launches + 1, sizeof *instance->timestamps);
    instance->taken_ns = calloc(launches + 1, sizeof *instance->taken_ns);
    if (!sized_init(&instance->sized, program) || !instance->buffers || !instance->given ||
        !instance->wanted || !instance->views || !instance->launches || !instance->kernels ||
        !instance->bodies || !instance->body_sizes || !instance->done || !instance->timestamps ||
        !instance->taken_ns)
        return false;
    dim_set_max(&dims, instance->wanted);
    return instance_make_bodies(instance);
}

static void compile_launches(forge_instance *instance)
{
    const struct device_ops *ops = instance->device->ops;
    for (size_t i = 0; ops->compile && i < instance->program->launches.count; i++)
        instance->launches[i].launch.compiled = ops->compile(instance->device, &instance->launches[i].launch);
}

joule_status forge_instance_new(const forge_program *program, forge_device *device, forge_states *states,
                                forge_instance **out_instance, joule_error *out_error)
{
    forge_instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot create an instance: out of memory");
    instance->program = program;
    instance->device = device;
    joule_status status = JOULE_OK;
    if (!allocate(instance))
        status = error_set(out_error, JOULE_NO_MEMORY, "cannot create an instance: out of memory");
    if (status == JOULE_OK)
        status = allocate_buffers(instance, states, out_error);
    if (status == JOULE_OK)
        status = instance_bind(instance, out_error);
    if (status == JOULE_OK)
        compile_launches(instance);
    if (status == JOULE_OK)
        *out_instance = instance;
    else
        forge_instance_free(instance);
    return status;
}

/* --- inputs and outputs --------------------------------------------------------------------------------- */

/* Finds the index of the buffer with this kind and name. Returns JOULE_ABSENT, with a message, if there is no
 * such buffer. */
static joule_status find_buffer(const forge_instance *instance, enum buffer_kind kind, const char *name,
                                size_t *out_buffer, joule_error *error)
{
    const forge_program *program = instance->program;
    for (size_t i = 0; i < program->buffers.count; i++) {
        const struct program_buffer *buffer = &program_buffers(program)[i];
        if (buffer->kind == kind && strcmp(program_string(program, buffer->name), name) == 0) {
            *out_buffer = i;
            return JOULE_OK;
        }
    }
    return error_set(error, JOULE_ABSENT, "the program has no %s '%s'",
                     kind == BUFFER_INPUT ? "input" : "output", name);
}

static joule_status refuse_tensor(const forge_instance *instance, const struct program_buffer *input,
                                  const forge_tensor *tensor, joule_error *error)
{
    struct dim_table dims = program_dims(instance->program);
    char is[100], wanted[200];
    struct text text;
    text_init(&text, wanted, sizeof wanted);
    dim_print_shape(&dims, &input->shape, &text);
    forge_shape_format(&tensor->shape, is, sizeof is);
    return error_set(error, JOULE_INVALID, "input '%s' must be %s%s, packed, not %s%s",
                     program_string(instance->program, input->name),
                     forge_dtype_name((forge_dtype)input->dtype), wanted, forge_dtype_name(tensor->dtype),
                     is);
}

joule_status forge_instance_set(forge_instance *instance, const char *input, const forge_tensor *tensor,
                                joule_error *out_error)
{
    size_t i;
    joule_error reason;
    joule_status status = find_buffer(instance, BUFFER_INPUT, input, &i, out_error);
    if (status != JOULE_OK)
        return status;
    const struct program_buffer *buffer = &program_buffers(instance->program)[i];
    if (tensor->dtype != (forge_dtype)buffer->dtype || tensor->shape.rank != buffer->shape.rank ||
        !forge_tensor_is_packed(tensor))
        return refuse_tensor(instance, buffer, tensor, out_error);
    status = instance_request_shape(instance, &buffer->shape, &tensor->shape, &reason);
    if (status == JOULE_ABSENT) /* the shape differs in a dimension that is not a symbol */
        return refuse_tensor(instance, buffer, tensor, out_error);
    if (status != JOULE_OK)
        return error_set(out_error, status, "input '%s': %s", input, reason.message);
    instance->given[i] = (struct given){.shape = tensor->shape, .is_given = true};
    if (!instance->device->ops->expect)
        memcpy(forge_buffer_data(instance->buffers[i]), forge_tensor_data(tensor),
               forge_dtype_size_bytes(tensor->dtype, forge_tensor_elements(tensor)));
    return JOULE_OK;
}

static bool is_missing(const forge_instance *instance, size_t i)
{
    const struct program_buffer *buffer = &program_buffers(instance->program)[i];
    return buffer->kind == BUFFER_INPUT && !instance->given[i].is_given;
}

static void set_zeros(forge_instance *instance, size_t i)
{
    instance->given[i] = (struct given){.is_given = true, .is_zeros = true};
    if (!instance->device->ops->expect)
        memset(forge_buffer_data(instance->buffers[i]), 0, program_buffers(instance->program)[i].size_bytes);
}

joule_status forge_instance_set_zeros(forge_instance *instance, const char *input, joule_error *out_error)
{
    size_t i;
    joule_status status = input ? find_buffer(instance, BUFFER_INPUT, input, &i, out_error) : JOULE_OK;
    if (input && status == JOULE_OK)
        set_zeros(instance, i);
    for (i = 0; !input && i < instance->program->buffers.count; i++)
        if (is_missing(instance, i))
            set_zeros(instance, i);
    return status;
}

const char *instance_find_missing(const forge_instance *instance, size_t *at)
{
    const forge_program *program = instance->program;
    while (*at < program->buffers.count && !instance->device->ops->expect)
        if (is_missing(instance, (*at)++))
            return program_string(program, program_buffers(program)[*at - 1].name);
    return NULL;
}

joule_status instance_fail_missing(const char *input, joule_error *out_error)
{
    return error_set(out_error, JOULE_INVALID,
                     "input '%s' was never set; call forge_instance_set or forge_instance_set_zeros", input);
}

joule_status instance_check_inputs(forge_instance *instance, joule_error *out_error)
{
    size_t at = 0;
    if (instance->has_inputs)
        return JOULE_OK;
    const char *missing = instance_find_missing(instance, &at);
    if (missing)
        return instance_fail_missing(missing, out_error);
    instance->has_inputs = true;
    return JOULE_OK;
}

joule_status forge_instance_get(forge_instance *instance, const char *output, forge_tensor *out_tensor,
                                joule_error *out_error)
{
    size_t i;
    joule_status status = find_buffer(instance, BUFFER_OUTPUT, output, &i, out_error);
    if (status != JOULE_OK)
        return status;
    if (instance->device->ops->expect) {
        *out_tensor = (forge_tensor){0};
        return error_set(out_error, JOULE_UNSUPPORTED,
                         "output '%s' has no value: the device %s only estimates", output,
                         instance->device->ops->name);
    }
    const struct program_buffer *buffer = &program_buffers(instance->program)[i];
    forge_shape shape = dim_substitute_shape(&buffer->shape, instance->sized.values);
    return forge_tensor_view(instance->buffers[i], 0, (forge_dtype)buffer->dtype, &shape, out_tensor,
                             out_error);
}

/* --- running -------------------------------------------------------------------------------------------- */

joule_status instance_fail_poisoned(joule_error *out_error)
{
    return error_set(out_error, JOULE_FAILED, "an earlier run failed midway: state may be partially updated");
}

joule_status forge_instance_run(forge_instance *instance, joule_error *out_error)
{
    size_t count = instance->program->launches.count;
    if (instance->is_poisoned)
        return instance_fail_poisoned(out_error);
    if (!instance->is_bound) {
        joule_status status = instance_bind(instance, out_error);
        if (status != JOULE_OK)
            return status;
    }
    if (instance_check_inputs(instance, out_error) != JOULE_OK)
        return JOULE_INVALID;
    struct energy *energy = instance->energy;
    int64_t *timestamps = energy ? spans_next_row(&energy->spans) : instance->timestamps;
    timestamps[0] = device_now_ns(instance->device);
    joule_status status =
        instance->device->ops->run(instance->device, instance->launches, count, timestamps + 1, out_error);
    instance->is_poisoned = status != JOULE_OK;
    if (status != JOULE_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        instance->taken_ns[i] += timestamps[i + 1] - timestamps[i];
    if (energy)
        spans_add_row(&energy->spans);
    instance->runs++;
    return JOULE_OK;
}

joule_status forge_instance_launch(const forge_instance *instance, size_t i, forge_launch_facts *out_facts)
{
    const forge_program *program = instance->program;
    if (i >= program->launches.count || !abi_has_room(out_facts, SIZE_UP_TO(forge_launch_facts, seconds)))
        return JOULE_INVALID;
    const struct program_launch *launch = &program_launches(program)[i];
    struct program_cost cost = instance_cost(instance, i);
    forge_launch_facts facts = {.phase = (forge_phase)launch->phase,
                                .op = program_launch_name(program, launch),
                                .kernel = instance->kernels[i],
                                .scope = program_string(program, launch->scope),
                                .flop = cost.flop,
                                .read_bytes = cost.read_bytes,
                                .written_bytes = cost.written_bytes,
                                .runs = instance->runs,
                                .seconds = (double)instance->taken_ns[i] * 1e-9,
                                .shape = instance->launches[i].launch.outputs[0].shape,
                                .dtype = instance->launches[i].launch.outputs[0].dtype,
                                .cores = launch->cores};
    abi_write(out_facts, &facts, sizeof facts);
    return JOULE_OK;
}

void forge_instance_reset_times(forge_instance *instance)
{
    memset(instance->taken_ns, 0, instance->program->launches.count * sizeof *instance->taken_ns);
    memset(instance->done, 0, instance->program->launches.count * sizeof *instance->done);
    instance->runs = instance->runs_done = 0;
}
