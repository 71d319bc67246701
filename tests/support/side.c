/* support/side.c - see side.h. */
#include "support/side.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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

struct side side_load_without(forge_device *device, const forge_graph *graph, const char *skip)
{
    return side_load(device, graph,
                     &(forge_compile_options){.struct_size = sizeof(forge_compile_options), .skip = skip});
}

void side_unload(struct side *s)
{
    forge_instance_free(s->instance);
    forge_states_free(s->states);
    forge_program_free(s->program);
}

static void set_input(const struct side *s, const char *name, const forge_tensor *x)
{
    joule_error error = {0};
    if (forge_instance_set(s->instance, name, x, &error))
        fail_msg("%s", error.message);
}

static void run(const struct side *s)
{
    joule_error error = {0};
    if (forge_instance_run(s->instance, &error))
        fail_msg("%s", error.message);
}

/* Returns a tensor of zeros for input `i`; the caller releases its buffer. */
static forge_tensor zeros_of(const forge_graph *graph, size_t i)
{
    const struct value *value = &graph->values[graph->inputs[i].value];
    forge_tensor x;
    assert_int_equal(forge_tensor_new(value->dtype, &value->shape, &x, NULL), JOULE_OK);
    return x;
}

void side_run(const struct side *s, const forge_graph *graph, uint32_t round)
{
    for (size_t i = 0; i < graph->input_count; i++) {
        forge_tensor x = zeros_of(graph, i);
        if (x.dtype == FORGE_F32)
            forge_random_uniform(&(forge_random){.key = round, .stream = (uint32_t)i}, 0,
                                 forge_tensor_elements(&x), forge_tensor_data(&x));
        set_input(s, graph->inputs[i].name, &x);
        forge_buffer_release(x.buffer);
    }
    run(s);
}

void side_run_filled(const struct side *a, const struct side *b, const forge_graph *graph, side_fill_fn *fill)
{
    for (size_t i = 0; i < graph->input_count; i++) {
        forge_tensor x = zeros_of(graph, i);
        fill(&x);
        set_input(a, graph->inputs[i].name, &x);
        set_input(b, graph->inputs[i].name, &x);
        forge_buffer_release(x.buffer);
    }
    run(a);
    run(b);
}

/* Returns element i; it is not exact for integers of 64 bits. */
static double number_at(const forge_tensor *x, size_t i)
{
    double number = 0;
    size_t bytes = forge_dtype_block_bytes(x->dtype);
    forge_convert(x->dtype, (const char *)forge_tensor_data(x) + i * bytes, FORGE_F64, &number, 1);
    return number;
}

static void assert_same(const forge_tensor *a, const forge_tensor *b, const char *what, const char *name)
{
    const char *x = forge_tensor_data(a), *y = forge_tensor_data(b);
    size_t bytes = forge_dtype_block_bytes(a->dtype), count = forge_tensor_elements(a);
    assert_int_equal(count, forge_tensor_elements(b));
    if (memcmp(x, y, bytes * count) == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        double m = number_at(a, i), n = number_at(b, i);
        if (memcmp(x + i * bytes, y + i * bytes, bytes) != 0 && !(isnan(m) && isnan(n)))
            fail_msg("%s: element %zu of '%s' differs: %.17g and %.17g", what, i, name, m, n);
    }
}

void side_compare_named(const struct side *a, const struct side *b, const forge_graph *graph,
                        const char *what)
{
    forge_tensor x, y;
    for (size_t i = 0; i < graph->output_count; i++) {
        assert_int_equal(forge_instance_get(a->instance, graph->outputs[i].name, &x, NULL), JOULE_OK);
        assert_int_equal(forge_instance_get(b->instance, graph->outputs[i].name, &y, NULL), JOULE_OK);
        assert_same(&x, &y, what, graph->outputs[i].name);
    }
    for (size_t i = 0; i < graph->slot_count; i++) {
        assert_int_equal(forge_states_find(a->states, graph->slots[i].name, &x), JOULE_OK);
        assert_int_equal(forge_states_find(b->states, graph->slots[i].name, &y), JOULE_OK);
        assert_same(&x, &y, what, graph->slots[i].name);
    }
}

void side_compare(const struct side *a, const struct side *b, const forge_graph *graph, uint64_t seed)
{
    char what[50];
    snprintf(what, sizeof what, "graph of seed %llu", (unsigned long long)seed);
    side_compare_named(a, b, graph, what);
}

void side_run_both(const struct side *a, const struct side *b, const forge_graph *graph, uint32_t rounds,
                   uint64_t seed)
{
    for (uint32_t round = 0; round < rounds; round++) {
        side_run(a, graph, round);
        side_run(b, graph, round);
        side_compare(a, b, graph, seed);
    }
}
