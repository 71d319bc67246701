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
#include "base/array.h"
#include "forge/compiler/pass.h"
#include "support/check.h"
#include "support/random_graph.h"
#include "support/side.h"

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
        struct side a = side_load(device, plain, NULL), b = side_load(device, all, NULL);
        side_run_both(&a, &b, plain, 3, seed);
        side_unload(&a);
        side_unload(&b);
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
    return is_full_test() ? 10000 : 40;
}

/* Runs the graph compiled without some passes, and compares the bits. skip: the passes that change
 * rounding. */
static void compare_without(forge_device *device, const forge_graph *graph, const char *skip, uint64_t seed)
{
    static const char *const others[] = {",fuse", ",order", ",fuse,order"};
    struct side all = side_load_without(device, graph, skip);
    side_run(&all, graph, 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char names[64];
        snprintf(names, sizeof names, "%s%s", skip, others[i]);
        struct side less = side_load_without(device, graph, names);
        side_run(&less, graph, 0);
        side_compare(&all, &less, graph, seed);
        side_unload(&less);
    }
    side_unload(&all);
}

/* All subsets of the passes that may be skipped, except `layout`. `fold` computes with reference kernels and
 * `regroup` computes batch norms in another order, which changes the rounding. So bits are compared among the
 * subsets that agree in these two passes. `layout` may change the rounding of each convolution, and depends
 * on the sizes of fused convolutions; test_layout.c checks it. */
static void test_passes_change_nothing(void **state)
{
    static const char *const rounding[] = {"layout", "layout,fold", "layout,regroup", "layout,fold,regroup"};
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
