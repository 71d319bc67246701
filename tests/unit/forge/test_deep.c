/* Checks that building, compiling and loading a network take the same work per layer for any number of
 * layers.
 *
 * The test counts comparisons of names, keys and attributes. A search among all of them would take more
 * comparisons per layer in deeper networks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/nn.h>
#include <forge/optim.h>
#include <forge/program.h>
#include "forge/runtime/items.h"
#include "support/check.h"

int __real_strcmp(const char *a, const char *b);
int __real_strncmp(const char *a, const char *b, size_t size);
int __real_memcmp(const void *a, const void *b, size_t size);
int __wrap_strcmp(const char *a, const char *b);
int __wrap_strncmp(const char *a, const char *b, size_t size);
int __wrap_memcmp(const void *a, const void *b, size_t size);

static size_t comparisons;

int __wrap_strcmp(const char *a, const char *b)
{
    comparisons++;
    return __real_strcmp(a, b);
}

int __wrap_strncmp(const char *a, const char *b, size_t size)
{
    comparisons++;
    return __real_strncmp(a, b, size);
}

int __wrap_memcmp(const void *a, const void *b, size_t size)
{
    comparisons++;
    return __real_memcmp(a, b, size);
}

/* --- a network ------------------------------------------------------------------------------------------ */

static forge_value loss_of(forge_builder *b, unsigned layers, bool checkpoint_activations)
{
    const forge_gpt_options options = {.struct_size = sizeof options,
                                       .layers = layers,
                                       .heads = 2,
                                       .vocabulary = 16,
                                       .context = 8,
                                       .width = 16,
                                       .is_training = true,
                                       .checkpoint_activations = checkpoint_activations,
                                       .dropout = 0.1};
    forge_value tokens = forge_input(b, "tokens", FORGE_I32, forge_shape_of(2, 8));
    forge_value labels = forge_input(b, "labels", FORGE_I32, forge_shape_of(16));
    forge_value logits = forge_reshape(b, forge_gpt(b, NULL, tokens, &options), forge_shape_of(16, 16));
    return forge_cross_entropy(b, logits, labels);
}

/* Returns a training step. Each parameter's gradient is also an output. */
static forge_graph *graph_of(unsigned layers, bool checkpoint_activations)
{
    joule_error error;
    forge_graph *graph = NULL;
    forge_builder *b = forge_builder_new();
    forge_adamw_options adamw = FORGE_ADAMW_OPTIONS;
    forge_value loss = loss_of(b, layers, checkpoint_activations);
    for (size_t i = 0; i < forge_parameter_count(b); i++) {
        char name[40];
        snprintf(name, sizeof name, "before.%zu", i);
        forge_output(b, name, forge_read(b, forge_parameter_slot(b, i)));
    }
    forge_adamw(b, loss, forge_scalar(b, FORGE_F32, 1e-4), &adamw);
    assert_ok(forge_builder_finish(b, &graph, &error), &error);
    return graph;
}

static void make_instance(const forge_program *program, forge_device *device)
{
    joule_error error;
    forge_states *states = NULL;
    forge_instance *instance = NULL;
    struct items items;
    assert_ok(forge_states_new(device, 1, &states, &error), &error);
    assert_ok(forge_instance_new(program, device, states, &instance, &error), &error);
    assert_true(items_make(&items, program));
    items_free(&items);
    forge_instance_free(instance);
    forge_states_free(states);
}

static void print_and_parse(const forge_graph *graph)
{
    joule_error error;
    char *text = NULL;
    forge_graph *again = NULL;
    assert_ok(forge_graph_print(graph, &text, &error), &error);
    assert_ok(forge_graph_parse(text, strlen(text), &again, &error), &error);
    assert_int_equal(forge_graph_nodes(again), forge_graph_nodes(graph));
    forge_graph_free(again);
    free(text);
}

/* Compiles layers to an instance, prints the graph as text and parses the text. Returns the number of
 * comparisons. */
static size_t comparisons_for(forge_device *device, unsigned layers, bool checkpoint_activations)
{
    joule_error error;
    forge_program *program = NULL;
    comparisons = 0;
    forge_graph *graph = graph_of(layers, checkpoint_activations);
    assert_ok(forge_compile(graph, device, &program, &error), &error);
    make_instance(program, device);
    print_and_parse(graph);
    size_t all = comparisons;
    forge_program_free(program);
    forge_graph_free(graph);
    return all;
}

static void test_comparisons_for_each_layer(void **state)
{
    (void)state;
    enum { FEW = 16, MANY = 64 };
    joule_error error;
    forge_device *device = NULL;
    assert_ok(forge_device_open("cpu", &device, &error), &error);
    for (int checkpoint_activations = 0; checkpoint_activations < 2; checkpoint_activations++) {
        double few = (double)comparisons_for(device, FEW, checkpoint_activations) / FEW;
        double many = (double)comparisons_for(device, MANY, checkpoint_activations) / MANY;
        assert_true(few > 0);
        if (many > 1.2 * few)
            fail_msg("%.0f comparisons for each of %d layers, %.0f for each of %d", few, FEW, many, MANY);
    }
    forge_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comparisons_for_each_layer),
    };
    return cmocka_run_group_tests_name("deep", tests, NULL, NULL);
}
