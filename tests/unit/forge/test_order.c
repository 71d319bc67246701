/* Checks the order of updates, and the memory that it saves. Each update follows its gradient and all readers
 * of the old value; other nodes keep their order. */
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
#include "forge/compiler/pass.h"
#include "support/random_graph.h"
#include "support/workbench.h"

enum { LAYERS = 6, WIDTH = 64, ROWS = 2 };

static forge_graph *ordered(forge_builder *b, forge_graph **out_graph)
{
    forge_graph *made = NULL;
    joule_error error = {0};
    if (forge_builder_finish(b, out_graph, &error) != JOULE_OK ||
        pass_order(*out_graph, NULL, NULL, &made, &error) != JOULE_OK)
        fail_msg("%s", error.message);
    return made;
}

/* Returns a training step of a deep network whose layers have equal width. max_norm: limit for the norm of
 * all gradients together. */
static forge_builder *training(double max_norm)
{
    forge_builder *b = forge_builder_new();
    int64_t sizes[LAYERS];
    for (int i = 0; i < LAYERS; i++)
        sizes[i] = WIDTH;
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(ROWS, WIDTH));
    forge_value y = forge_mlp(b, NULL, x, sizes, LAYERS);
    forge_value loss = forge_reduce(b, FORGE_MEAN, forge_unary(b, FORGE_SQUARE, y), 3, false);
    forge_output(b, "loss", loss);
    forge_sgd_options sgd = {
        .struct_size = sizeof sgd, .momentum = 0.9, .weight_decay = 0.1, .max_norm = max_norm};
    forge_sgd(b, loss, forge_input(b, "rate", FORGE_F32, (forge_shape){0}), &sgd);
    return b;
}

static uint32_t writer_of(const forge_graph *graph, const char *slot)
{
    for (size_t i = 0; i < graph->slot_count; i++)
        if (strcmp(graph->slots[i].name, slot) == 0)
            return graph->values[graph->slots[i].write].node;
    fail_msg("there is no slot %s", slot);
    return 0;
}

static uint32_t last_of_phase(const forge_graph *graph, forge_phase phase)
{
    uint32_t last = 0;
    for (uint32_t n = 0; n < graph->node_count; n++)
        last = graph->nodes[n].phase == phase ? n : last;
    return last;
}

/* Asserts that nodes that read a slot's old value come before the node that updates the slot. */
static void assert_readers_come_first(const forge_graph *graph)
{
    for (uint32_t n = 0; n < graph->node_count; n++)
        for (size_t i = 0; i < graph->nodes[n].input_count; i++) {
            const struct node *read = graph_producer(graph, node_input(graph, &graph->nodes[n], i));
            if (read->op != OP_READ)
                continue;
            const struct slot *slot = &graph->slots[((const struct read_attributes *)read->attributes)->slot];
            assert_true(!slot->write || n <= graph->values[slot->write].node);
        }
}

static void test_updates_come_early(void **state)
{
    (void)state;
    forge_graph *before, *after = ordered(training(0), &before);
    assert_int_equal(before->node_count, after->node_count);
    assert_true(writer_of(before, "fc6.weight") > last_of_phase(before, FORGE_PHASE_BACKWARD));
    for (int i = LAYERS; i > 1; i--) {
        char name[2][32];
        snprintf(name[0], sizeof name[0], "fc%d.weight", i);
        snprintf(name[1], sizeof name[1], "fc%d.weight", i - 1);
        assert_true(writer_of(after, name[0]) < writer_of(after, name[1]));
        assert_true(writer_of(after, name[0]) < last_of_phase(after, FORGE_PHASE_BACKWARD));
    }
    assert_readers_come_first(after);
    forge_graph_free(before);
    forge_graph_free(after);
}

static void test_updates_that_need_all_gradients_come_last(void **state)
{
    (void)state;
    forge_graph *before, *after = ordered(training(1), &before);
    assert_true(writer_of(after, "fc6.weight") > last_of_phase(after, FORGE_PHASE_BACKWARD));
    assert_readers_come_first(after);
    forge_graph_free(before);
    forge_graph_free(after);
}

static void test_other_phases_stay(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        forge_graph *graph = random_graph(seed, 60, 0), *after = NULL;
        char *texts[2];
        joule_error error;
        for (size_t n = 0; n < graph->node_count; n++)
            graph->nodes[n].phase = FORGE_PHASE_FORWARD;
        assert_int_equal(pass_order(graph, NULL, NULL, &after, &error), JOULE_OK);
        assert_int_equal(forge_graph_print(graph, &texts[0], &error), JOULE_OK);
        assert_int_equal(forge_graph_print(after, &texts[1], &error), JOULE_OK);
        assert_string_equal(texts[0], texts[1]);
        free(texts[0]);
        free(texts[1]);
        forge_graph_free(graph);
        forge_graph_free(after);
    }
}

/* A transposed view of the matrix is also a reader: the gradient for x needs the old matrix. */
static void test_readers_through_views(void **state)
{
    (void)state;
    static const uint32_t turned[] = {1, 0};
    forge_builder *b = forge_builder_new();
    forge_slot slot =
        forge_state(b, "w", FORGE_F32, forge_shape_of(2, 2), (forge_init){FORGE_INIT_CONSTANT, 1, 0});
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 2)), w = forge_read(b, slot);
    forge_value view = forge_transpose(b, w, turned);
    forge_phase_set(b, FORGE_PHASE_BACKWARD);
    forge_value g = forge_exp(b, x), late = forge_add(b, forge_tanh(b, g), view);
    forge_output(b, "late", late);
    forge_phase_set(b, FORGE_PHASE_OPTIMISER);
    forge_write(b, slot, forge_sub(b, w, g), true);
    forge_graph *before, *after = ordered(b, &before);
    assert_true(writer_of(after, "w") > after->values[after->outputs[0].value].node);
    forge_graph_free(before);
    forge_graph_free(after);
}

/* At any time, memory holds the gradients of only a few weights. */
static void test_few_gradients_are_alive_at_once(void **state)
{
    struct workbench *m = *state;
    size_t gradients = LAYERS * WIDTH * WIDTH * sizeof(float);
    workbench_load(m, training(0));
    assert_true(workbench_facts(m).arena_bytes < gradients / 2);
    workbench_unload(m);
    workbench_load(m, training(1));
    assert_true(workbench_facts(m).arena_bytes >= gradients);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_updates_come_early),
        cmocka_unit_test(test_updates_that_need_all_gradients_come_last),
        cmocka_unit_test(test_other_phases_stay),
        cmocka_unit_test(test_readers_through_views),
        cmocka_unit_test_setup_teardown(test_few_gradients_are_alive_at_once, workbench_set_up,
                                        workbench_tear_down),
    };
    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
