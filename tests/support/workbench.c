/* support/workbench.c - see workbench.h. */
#include "support/check.h"
#include "support/workbench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/runtime/instance.h"
#include "forge/runtime/items.h"

joule_status workbench_begin(struct workbench *bench, uint64_t seed, joule_error *error)
{
    *bench = (struct workbench){0};
    joule_status status = forge_device_open("cpu", &bench->device, error);
    return status == JOULE_OK ? forge_states_new(bench->device, seed, &bench->states, error) : status;
}

void workbench_end(struct workbench *bench)
{
    workbench_unload(bench);
    forge_states_free(bench->states);
    forge_device_close(bench->device);
}

int workbench_set_up(void **state)
{
    *state = malloc(sizeof(struct workbench));
    return !*state || workbench_begin(*state, 42, NULL) != JOULE_OK;
}

int workbench_tear_down(void **state)
{
    workbench_end(*state);
    free(*state);
    return 0;
}

joule_status workbench_try_load(struct workbench *bench, forge_builder *b, joule_error *error)
{
    forge_graph *graph = NULL;
    workbench_unload(bench);
    joule_status status = forge_builder_finish(b, &graph, error);
    if (status == JOULE_OK)
        status = forge_compile_with(graph, bench->device,
                                    &(forge_compile_options){.struct_size = sizeof(forge_compile_options),
                                                             .skip = bench->skip,
                                                             .precision = bench->precision},
                                    &bench->program, error);
    forge_graph_free(graph);
    if (status == JOULE_OK)
        status = forge_instance_new(bench->program, bench->device, bench->states, &bench->instance, error);
    return status;
}

void workbench_load(struct workbench *bench, forge_builder *b)
{
    joule_error error = {0};
    assert_ok(workbench_try_load(bench, b, &error), &error);
}

void workbench_unload(struct workbench *bench)
{
    forge_instance_free(bench->instance);
    forge_program_free(bench->program);
    bench->instance = NULL;
    bench->program = NULL;
}

static const struct program_buffer *input_of(const forge_program *program, const char *name)
{
    for (size_t i = 0; i < program->buffers.count; i++) {
        const struct program_buffer *buffer = &program_buffers(program)[i];
        if (buffer->kind == BUFFER_INPUT && strcmp(program_string(program, buffer->name), name) == 0)
            return buffer;
    }
    fail_msg("no input %s", name);
    return NULL;
}

void workbench_set(struct workbench *bench, const char *input, const void *elements)
{
    const struct program_buffer *declared = input_of(bench->program, input);
    forge_tensor tensor;
    forge_buffer *buffer;
    assert_int_equal(forge_buffer_wrap((void *)elements, declared->size_bytes, NULL, NULL, &buffer, NULL),
                     JOULE_OK);
    forge_shape shape = instance_wanted_shape(bench->instance, &declared->shape);
    assert_int_equal(forge_tensor_view(buffer, 0, (forge_dtype)declared->dtype, &shape, &tensor, NULL),
                     JOULE_OK);
    assert_int_equal(forge_instance_set(bench->instance, input, &tensor, NULL), JOULE_OK);
    forge_buffer_release(buffer);
}

void workbench_run(struct workbench *bench)
{
    joule_error error = {0};
    assert_ok(forge_instance_run(bench->instance, &error), &error);
}

forge_tensor workbench_output(const struct workbench *bench, const char *name)
{
    forge_tensor tensor;
    joule_error error = {0};
    assert_ok(forge_instance_get(bench->instance, name, &tensor, &error), &error);
    return tensor;
}

forge_tensor workbench_slot(const struct workbench *bench, const char *name)
{
    forge_tensor tensor;
    if (forge_states_find(bench->states, name, &tensor) != JOULE_OK)
        fail_msg("no slot %s", name);
    return tensor;
}

forge_program_facts workbench_facts(const struct workbench *bench)
{
    forge_program_facts facts = {.struct_size = sizeof facts};
    assert_int_equal(forge_program_query(bench->program, &facts), JOULE_OK);
    return facts;
}

const struct program_launch *workbench_launch(const struct workbench *bench, const char *name)
{
    const struct program_launch *launches = program_launches(bench->program);
    for (size_t i = 0; i < bench->program->launches.count; i++)
        if (strcmp(program_launch_name(bench->program, &launches[i]), name) == 0)
            return &launches[i];
    fail_msg("no %s", name);
    return NULL;
}

double workbench_part(const struct workbench *bench, const char *scope)
{
    struct items items;
    assert_true(items_make(&items, bench->program));
    double part = items_part(&items, bench->program, 0, scope);
    items_free(&items);
    return part;
}

static void assert_elements(const forge_tensor *tensor, const float *expected, size_t count)
{
    const float *elements = forge_tensor_data(tensor);
    assert_true(tensor->dtype == FORGE_F32);
    assert_int_equal(forge_tensor_elements(tensor), count);
    for (size_t i = 0; i < count; i++)
        if (elements[i] != expected[i])
            fail_msg("element %zu is %g, not %g", i, (double)elements[i], (double)expected[i]);
}

void workbench_assert_output(const struct workbench *bench, const char *name, const float *expected,
                             size_t count)
{
    forge_tensor tensor = workbench_output(bench, name);
    assert_elements(&tensor, expected, count);
}

void workbench_assert_slot(const struct workbench *bench, const char *name, const float *expected,
                           size_t count)
{
    forge_tensor tensor = workbench_slot(bench, name);
    assert_elements(&tensor, expected, count);
}

void workbench_keep(struct kept *kept, const forge_tensor *tensor)
{
    size_t size = forge_dtype_size_bytes(tensor->dtype, forge_tensor_elements(tensor));
    kept->bytes = realloc(kept->bytes, kept->size + size + 1);
    assert_non_null(kept->bytes);
    memcpy(kept->bytes + kept->size, forge_tensor_data(tensor), size);
    kept->size += size;
}
