/* Checks that random graphs give the same bits with memory shared by the compiler and with a separate buffer
 * for each value. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/compiler.h>
#include <forge/random.h>
#include "base/array.h"
#include "forge/compiler/pass.h"
#include "support/random_graph.h"

struct side {
    forge_program *program;
    forge_states *states;
    forge_instance *instance;
};

/* skip: the passes that do not run. */
static struct side load(forge_device *device, const forge_graph *graph, const char *skip)
{
    forge_compile_options options = {.struct_size = sizeof options, .skip = skip};
    struct side s = {0};
    joule_error error = {0};
    if (forge_compile_with(graph, device, &options, &s.program, &error) ||
        forge_states_new(device, 1, &s.states, &error) ||
        forge_instance_new(s.program, device, s.states, &s.instance, &error))
        fail_msg("%s", error.message);
    return s;
}

static void unload(struct side *s)
{
    forge_instance_free(s->instance);
    forge_states_free(s->states);
    forge_program_free(s->program);
}

static void run(const struct side *s, const forge_graph *graph, uint32_t round)
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

static void assert_same(const forge_tensor *a, const forge_tensor *b, uint64_t seed, const char *name)
{
    size_t bytes = forge_dtype_size_bytes(a->dtype, forge_tensor_elements(a));
    if (memcmp(forge_tensor_data(a), forge_tensor_data(b), bytes) != 0)
        fail_msg("graph of seed %llu: '%s' differs", (unsigned long long)seed, name);
}

static void compare(const struct side *a, const struct side *b, const forge_graph *graph, uint64_t seed)
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

/* Makes every value an output, so that no value shares its buffer with another one. */
static void show_everything(forge_graph *graph)
{
    for (forge_value v = 1; v < graph->value_count; v++) {
        char name[32];
        int length = snprintf(name, sizeof name, "value %u", v);
        assert_true(ARRAY_ROOM(graph->outputs, graph->output_capacity, graph->output_count));
        graph->outputs[graph->output_count++] =
            (struct port){arena_copy(&graph->arena, name, (size_t)length), v};
    }
    for (size_t i = 0; i < graph->slot_count; i++)
        graph->slots[i].in_place = false;
}

static void test_shared_memory_changes_nothing(void **state)
{
    (void)state;
    forge_device *device;
    assert_int_equal(forge_device_open("cpu", &device, NULL), JOULE_OK);
    for (uint64_t seed = 0; seed < 60; seed++) {
        forge_graph *graph = random_graph(seed, 20 + seed % 60, RANDOM_GRAPH_GRADIENTS), *all = NULL,
                    *plain = NULL;
        for (size_t i = 0; i < graph->slot_count; i++)
            graph->slots[i].in_place = false;
        assert_int_equal(pass_expand(graph, NULL, NULL, &plain, NULL), JOULE_OK);
        assert_int_equal(pass_expand(graph, NULL, NULL, &all, NULL), JOULE_OK);
        if (all != plain)
            show_everything(all);
        struct side a = load(device, plain, NULL), b = load(device, all, NULL);
        for (uint32_t round = 0; round < 3; round++) {
            run(&a, plain, round);
            run(&b, all, round);
            compare(&a, &b, plain, seed);
        }
        unload(&a);
        unload(&b);
        forge_graph_free(all);
        forge_graph_free(plain);
        forge_graph_free(graph);
    }
    forge_device_close(device);
}

static uint64_t graphs(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) /* these make the test ten times slower */
    return 40;
#endif
    const char *full = getenv("JOULE_TEST_FULL");
    return full && strcmp(full, "1") == 0 ? 10000 : 40;
}

/* Runs the graph compiled without some passes, and compares the bits. skip: the passes that change
 * rounding. */
static void compare_without(forge_device *device, const forge_graph *graph, const char *skip, uint64_t seed)
{
    static const char *const others[] = {",fuse", ",order", ",fuse,order"};
    struct side all = load(device, graph, skip);
    run(&all, graph, 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char names[64];
        snprintf(names, sizeof names, "%s%s", skip, *skip ? others[i] : others[i] + 1);
        struct side less = load(device, graph, names);
        run(&less, graph, 0);
        compare(&all, &less, graph, seed);
        unload(&less);
    }
    unload(&all);
}

/* All subsets of the passes that may be skipped. `fold` computes with reference kernels and `regroup`
 * computes batch norms in another order, which changes the rounding. So bits are compared among the subsets
 * that agree in these two passes. */
static void test_passes_change_nothing(void **state)
{
    static const char *const rounding[] = {"", "fold", "regroup", "fold,regroup"};
    (void)state;
    forge_device *device;
    assert_int_equal(forge_device_open("cpu", &device, NULL), JOULE_OK);
    for (uint64_t seed = 0; seed < graphs(); seed++) {
        forge_graph *graph = random_graph(1000 + seed, 10 + seed % 50, RANDOM_GRAPH_GRADIENTS);
        for (size_t i = 0; i < sizeof rounding / sizeof *rounding; i++)
            compare_without(device, graph, rounding[i], 1000 + seed);
        forge_graph_free(graph);
    }
    forge_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shared_memory_changes_nothing),
                                       cmocka_unit_test(test_passes_change_nothing)};
    return cmocka_run_group_tests_name("program_random", tests, NULL, NULL);
}
