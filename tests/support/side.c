/* support/side.c - see side.h. */
#include "support/side.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <forge/random.h>
#include "forge/ir/graph.h"

struct side side_load(forge_device *device, const forge_graph *graph, const forge_compile_options *options)
{
    struct side s = {0};
    joule_error error = {0};
    if (forge_compile_with(graph, device, options, &s.program, &error) ||
        forge_states_new(device, 1, &s.states, &error) ||
        forge_instance_new(s.program, device, s.states, &s.instance, &error))
        fail_msg("%s", error.message);
    return s;
}

void side_unload(struct side *s)
{
    forge_instance_free(s->instance);
    forge_states_free(s->states);
    forge_program_free(s->program);
}

void side_run(const struct side *s, const forge_graph *graph, uint32_t round)
{
    for (size_t i = 0; i < graph->input_count; i++) {
        const struct value *value = &graph->values[graph->inputs[i].value];
        forge_tensor x;
        assert_int_equal(forge_tensor_new(value->dtype, &value->shape, &x, NULL), JOULE_OK);
        if (value->dtype == FORGE_F32)
            forge_random_uniform(&(forge_random){.key = round, .stream = (uint32_t)i}, 0,
                                 forge_tensor_elements(&x), forge_tensor_data(&x));
        assert_int_equal(forge_instance_set(s->instance, graph->inputs[i].name, &x, NULL), JOULE_OK);
        forge_buffer_release(x.buffer);
    }
    assert_int_equal(forge_instance_run(s->instance, NULL), JOULE_OK);
}

/* Returns true if element i of both is NaN. */
static bool are_nan(const forge_tensor *a, const forge_tensor *b, size_t i)
{
    double x = 0, y = 0;
    size_t bytes = forge_dtype_block_bytes(a->dtype);
    forge_convert(a->dtype, (const char *)forge_tensor_data(a) + i * bytes, FORGE_F64, &x, 1);
    forge_convert(b->dtype, (const char *)forge_tensor_data(b) + i * bytes, FORGE_F64, &y, 1);
    return isnan(x) && isnan(y);
}

static void assert_same(const forge_tensor *a, const forge_tensor *b, uint64_t seed, const char *name)
{
    const char *x = forge_tensor_data(a), *y = forge_tensor_data(b);
    size_t bytes = forge_dtype_block_bytes(a->dtype), count = forge_tensor_elements(a);
    if (memcmp(x, y, bytes * count) == 0)
        return;
    for (size_t i = 0; i < count; i++)
        if (memcmp(x + i * bytes, y + i * bytes, bytes) != 0 && !are_nan(a, b, i))
            fail_msg("graph of seed %llu: '%s' differs", (unsigned long long)seed, name);
}

void side_compare(const struct side *a, const struct side *b, const forge_graph *graph, uint64_t seed)
{
    forge_tensor x, y;
    for (size_t i = 0; i < graph->output_count; i++) {
        assert_int_equal(forge_instance_get(a->instance, graph->outputs[i].name, &x, NULL), JOULE_OK);
        assert_int_equal(forge_instance_get(b->instance, graph->outputs[i].name, &y, NULL), JOULE_OK);
        assert_same(&x, &y, seed, graph->outputs[i].name);
    }
    for (size_t i = 0; i < graph->slot_count; i++) {
        assert_int_equal(forge_states_find(a->states, graph->slots[i].name, &x), JOULE_OK);
        assert_int_equal(forge_states_find(b->states, graph->slots[i].name, &y), JOULE_OK);
        assert_same(&x, &y, seed, graph->slots[i].name);
    }
}
