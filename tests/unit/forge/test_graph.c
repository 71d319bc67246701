/* Checks the construction of graphs: shapes and types, messages, common subexpressions, removed nodes,
 * provenance and copies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/compiler/pass.h"
#include "support/check.h"
#include "support/graphs.h"

static void assert_shape(const forge_builder *b, forge_value value, const char *expected)
{
    char text[100];
    forge_shape shape = forge_value_shape(b, value);
    forge_shape_format(&shape, text, sizeof text);
    assert_string_equal(text, expected);
}

static forge_graph *finish(forge_builder *b)
{
    forge_graph *graph = NULL;
    joule_error error = {0};
    if (forge_builder_finish(b, &graph, &error) != JOULE_OK || graph_verify(graph, &error) != JOULE_OK)
        fail_msg("%s", error.message);
    return graph;
}

static void test_shapes_are_inferred(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 3, 4));
    forge_value y = forge_input(b, "y", FORGE_F32, forge_shape_of(5, 1, 1, 4, 6));
    assert_shape(b, forge_matmul(b, x, y, 0), "[5,1,2,3,6]");
    assert_shape(b, forge_matmul(b, x, x, FORGE_TRANSPOSE_B), "[2,3,3]");
    assert_shape(b, forge_matmul(b, x, x, FORGE_TRANSPOSE_A), "[2,4,4]");
    assert_shape(b, forge_add(b, x, forge_scalar(b, FORGE_F32, 1)), "[2,3,4]");
    assert_shape(b, forge_reduce(b, FORGE_SUM, x, 5, false), "[3]");
    assert_shape(b, forge_reduce(b, FORGE_SUM, x, 5, true), "[1,3,1]");
    assert_shape(b, forge_transpose(b, x, (uint32_t[]){2, 0, 1}), "[4,2,3]");
    assert_shape(b, forge_reshape(b, x, forge_shape_of(6, 4)), "[6,4]");
    assert_shape(b, forge_broadcast(b, x, forge_shape_of(7, 2, 3, 4)), "[7,2,3,4]");
    assert_int_equal(forge_value_dtype(b, forge_reduce(b, FORGE_ARGMAX, x, 4, false)), FORGE_I64);
    assert_int_equal(forge_value_dtype(b, forge_binary(b, FORGE_LT, x, x)), FORGE_BOOL);
    assert_int_equal(forge_value_dtype(b, forge_cast(b, FORGE_Q8_0, x)), FORGE_Q8_0);
    forge_output(b, "x", x);
    forge_graph_free(finish(b));
}

static void test_symbols_in_shapes(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_dim batch = forge_symbol(b, "B", 1, 64, 1), time = forge_symbol(b, "T", 1, 128, 1);
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(batch, time, 8));
    forge_value rows = forge_reshape(b, x, forge_shape_of(forge_dim_mul(b, time, batch), 8));
    forge_value back = forge_reshape(b, rows, forge_shape_of(batch, time, 8));
    forge_output(b, "y", forge_log_softmax(b, forge_add(b, back, x)));
    forge_graph *graph = finish(b), *plain = NULL;
    assert_int_equal(pass_expand(graph, NULL, NULL, &plain, NULL), JOULE_OK);
    assert_int_equal(graph_verify(plain, NULL), JOULE_OK);
    forge_graph_free(plain);
    forge_graph_free(graph);
    b = forge_builder_new();
    batch = forge_symbol(b, "B", 1, 64, 1);
    x = forge_input(b, "x", FORGE_F32, forge_shape_of(batch, 8));
    forge_output(b, "y", forge_reshape(b, x, forge_shape_of(8, 8)));
    assert_builder_refused(b, "reshape(f32[B,8]): [8,8] has another number");
}

/* A size of -1 means the remaining size, even if -1 is also the id of a symbol. */
static void test_reshape_finds_the_size_that_is_left(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(4, 6));
    assert_shape(b, forge_reshape(b, x, forge_shape_of(FORGE_REST)), "[24]");
    assert_shape(b, forge_reshape(b, x, forge_shape_of(3, FORGE_REST, 2)), "[3,4,2]");
    assert_int_equal(forge_reshape(b, x, forge_shape_of(-1, 6)), x);
    forge_dim batch = forge_symbol(b, "B", 1, 64, 1), time = forge_symbol(b, "T", 2, 64, 2);
    forge_value y = forge_input(b, "y", FORGE_F32, forge_shape_of(batch, time, 8));
    forge_shape rows = forge_value_shape(b, forge_reshape(b, y, forge_shape_of(-1, 8)));
    assert_int_equal(rows.dims[0], forge_dim_mul(b, batch, time));
    forge_shape flat = forge_value_shape(b, forge_reshape(b, y, forge_shape_of(batch, FORGE_REST)));
    assert_int_equal(flat.dims[1], forge_dim_mul(b, time, 8));
    forge_shape cut = forge_value_shape(b, forge_reshape(b, y, forge_shape_of(batch, 2, FORGE_REST)));
    assert_int_equal(cut.dims[2], forge_dim_mul(b, time, 4));
    assert_int_equal(batch, -1); /* the symbol's id is also -1 */
    assert_shape(b, forge_reshape(b, x, forge_shape_of(-1, 8)), "[3,8]");
    forge_builder_free(b);
    static const forge_dim wrong[][2] = {{-1, 7}, {-1, -1}, {-1, 0}, {-2, 4}, {FORGE_REST, FORGE_REST}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        b = forge_builder_new();
        x = forge_input(b, "x", FORGE_F32, forge_shape_of(4, 8));
        forge_output(b, "y", forge_reshape(b, x, forge_shape_of(wrong[i][0], wrong[i][1])));
        assert_builder_refused(
            b, "reshape(f32[4,8]): the sizes are too large, more than one is to be computed (-1)");
    }
}

static void test_messages_name_operation_and_shapes(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_scope_push(b, "encoder");
    forge_scope_push(b, "fc1");
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 3));
    forge_value bad = forge_matmul(b, x, x, 0);
    assert_int_equal(bad, FORGE_NO_VALUE);
    /* an operand without value gives no value and no second message */
    assert_int_equal(forge_add(b, bad, x), FORGE_NO_VALUE);
    assert_builder_refused(b, "encoder/fc1: matmul(f32[2,3], f32[2,3]): the inner dimensions differ");

    b = forge_builder_new();
    x = forge_input(b, "x", FORGE_F32, forge_shape_of(2));
    forge_add(b, x, forge_input(b, "y", FORGE_F64, forge_shape_of(2)));
    assert_builder_refused(b, "values of one type");
    b = forge_builder_new();
    forge_add(b, forge_input(b, "x", FORGE_F32, forge_shape_of(2)),
              forge_input(b, "y", FORGE_F32, forge_shape_of(3)));
    assert_builder_refused(b, "binary(f32[2], f32[3]): add: the shapes do not broadcast");
    b = forge_builder_new();
    forge_relu(b, forge_input(b, "x", FORGE_Q8_0, forge_shape_of(32)));
    assert_builder_refused(b, "operations do not support q8_0");
    b = forge_builder_new();
    forge_exp(b, forge_input(b, "x", FORGE_I32, forge_shape_of(2)));
    assert_builder_refused(b, "exp does not support i32");
    b = forge_builder_new();
    forge_reduce(b, FORGE_MAXIMUM, forge_input(b, "x", FORGE_F32, forge_shape_of(0)), 1, false);
    assert_builder_refused(b, "maximum needs at least one element");
    b = forge_builder_new();
    forge_input(b, "x", FORGE_F32, forge_shape_of(2));
    forge_input(b, "x", FORGE_F32, forge_shape_of(2));
    assert_builder_refused(b, "input 'x' already exists");
    b = forge_builder_new();
    forge_input(b, "x", FORGE_F32, forge_shape_of(2));
    assert_builder_refused(b, "needs an output");
    b = forge_builder_new();
    forge_input(b, "x", FORGE_F32, (forge_shape){.rank = 9});
    assert_builder_refused(b, "rank 9");
    b = forge_builder_new();
    forge_transpose(b, forge_input(b, "x", FORGE_F32, forge_shape_of(2, 2)), (uint32_t[]){1, 1});
    assert_builder_refused(b, "not a permutation");
}

static void test_equal_nodes_are_one_and_unused_ones_go(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2));
    forge_value one = forge_exp(b, x);
    assert_int_equal(forge_exp(b, x), one);
    assert_int_not_equal(forge_log(b, x), one);
    assert_int_equal(forge_scalar(b, FORGE_F32, 0.5), forge_scalar(b, FORGE_F32, 0.5));
    assert_int_not_equal(forge_scalar(b, FORGE_F32, 0.0), forge_scalar(b, FORGE_F32, -0.0));
    for (int i = 0; i < 1000; i++) /* enough constants to fill the hash table several times */
        assert_int_equal(forge_scalar(b, FORGE_F64, i), forge_scalar(b, FORGE_F64, i));
    forge_output(b, "y", one);
    forge_graph *graph = finish(b);
    assert_int_equal(forge_graph_nodes(graph), 2);
    forge_graph_free(graph);
}

static void test_scope_and_phase_survive_passes(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 3));
    forge_scope_push(b, "head");
    forge_phase_set(b, FORGE_PHASE_OPTIMISER);
    forge_output(b, "y", forge_log_softmax(b, x));
    forge_scope_pop(b);
    forge_graph *graph = finish(b), *plain = NULL;
    assert_int_equal(pass_expand(graph, NULL, NULL, &plain, NULL), JOULE_OK);
    assert_true(plain->node_count > graph->node_count);
    for (size_t n = 0; n < plain->node_count; n++) {
        const struct node *node = &plain->nodes[n];
        assert_true(node->op != OP_COMPOSITE);
        if (node->op == OP_INPUT)
            continue;
        assert_string_equal(plain->scopes[node->scope], "head");
        assert_int_equal(node->phase, FORGE_PHASE_OPTIMISER);
    }
    forge_graph_free(graph);
    forge_graph_free(plain);
}

static void test_constants_are_folded(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 3));
    forge_value ones = forge_broadcast(b, forge_scalar(b, FORGE_F32, 1), forge_shape_of(2, 3));
    forge_value six = forge_reduce(b, FORGE_SUM, ones, 3, false);
    forge_output(b, "y", forge_mul(b, x, forge_sub(b, six, forge_scalar(b, FORGE_F32, 4))));
    forge_output(b, "large", forge_broadcast(b, six, forge_shape_of(1000, 1000)));
    forge_graph *graph = finish(b), *folded = NULL;
    assert_int_equal(pass_fold(graph, NULL, NULL, &folded, NULL), JOULE_OK);
    assert_int_equal(graph_verify(folded, NULL), JOULE_OK);
    const struct node *product = graph_producer(folded, folded->outputs[0].value);
    const struct node *two = graph_producer(folded, node_input(folded, product, 1));
    assert_int_equal(two->op, OP_CONSTANT);
    assert_true(*(const float *)((const struct constant_attributes *)two->attributes)->bytes == 2);
    assert_int_equal(graph_producer(folded, folded->outputs[1].value)->op, OP_BROADCAST);
    assert_int_equal(folded->node_count, 5); /* the nodes are x, 2, the product, 6, and 6 broadcast */
    forge_graph_free(graph);
    forge_graph_free(folded);
}

static void test_slots_are_unique_by_name(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_slot slot = forge_state(b, "w", FORGE_F32, forge_shape_of(2), (forge_init){0});
    assert_int_equal(forge_state(b, "w", FORGE_F32, forge_shape_of(2), (forge_init){0}), slot);
    forge_value w = forge_read(b, slot);
    assert_int_equal(forge_read(b, slot), w);
    forge_write(b, slot, forge_exp(b, w), true);
    forge_write(b, slot, w, false);
    assert_builder_refused(b, "slot 'w' is written twice");
    b = forge_builder_new();
    forge_state(b, "w", FORGE_F32, forge_shape_of(2), (forge_init){0});
    forge_state(b, "w", FORGE_F32, forge_shape_of(3), (forge_init){0});
    assert_builder_refused(b, "another type or shape");
    b = forge_builder_new();
    slot = forge_state(b, "w", FORGE_F32, forge_shape_of(2), (forge_init){0});
    forge_write(b, slot, forge_scalar(b, FORGE_F32, 1), false);
    assert_builder_refused(b, "another type or shape");
}

static void test_verifier_refuses_invalid_graphs(void **state)
{
    (void)state;
    joule_error error;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2));
    forge_output(b, "y", forge_add(b, forge_exp(b, x), x));
    forge_graph *graph = finish(b);
    struct node *last = &graph->nodes[graph->node_count - 1];
    forge_value right = graph->edges[last->first_input];
    graph->edges[last->first_input] = last->output;
    assert_int_equal(graph_verify(graph, &error), JOULE_FAILED);
    assert_contains(error.message, "uses a value of a later node");
    graph->edges[last->first_input] = right;
    graph->values[last->output].shape.dims[0] = 3;
    assert_int_equal(graph_verify(graph, &error), JOULE_FAILED);
    graph->values[last->output].shape.dims[0] = 2;
    assert_int_equal(graph_verify(graph, &error), JOULE_OK);
    graph->outputs[0].value = 99;
    assert_int_equal(graph_verify(graph, &error), JOULE_FAILED);
    forge_graph_free(graph);
}

static void test_a_failed_builder_is_harmless(void **state)
{
    (void)state;
    forge_graph *graph = NULL;
    joule_error error;
    assert_int_equal(forge_relu(NULL, 1), FORGE_NO_VALUE);
    assert_int_equal(forge_value_shape(NULL, 1).rank, 0);
    assert_int_equal(forge_builder_finish(NULL, &graph, &error), JOULE_NO_MEMORY);
    forge_builder_free(NULL);
    forge_builder *b = forge_builder_new();
    forge_builder_fail(b, "first %d", 1);
    forge_builder_fail(b, "second");
    forge_input(b, "x", FORGE_F32, forge_shape_of(2));
    forge_scope_push(b, "s");
    forge_scope_pop(b);
    forge_value y;
    forge_gradients(b, 1, (forge_value[]){1}, 1, &y);
    assert_builder_refused(b, "first 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_are_inferred),
        cmocka_unit_test(test_symbols_in_shapes),
        cmocka_unit_test(test_reshape_finds_the_size_that_is_left),
        cmocka_unit_test(test_messages_name_operation_and_shapes),
        cmocka_unit_test(test_equal_nodes_are_one_and_unused_ones_go),
        cmocka_unit_test(test_scope_and_phase_survive_passes),
        cmocka_unit_test(test_constants_are_folded),
        cmocka_unit_test(test_slots_are_unique_by_name),
        cmocka_unit_test(test_verifier_refuses_invalid_graphs),
        cmocka_unit_test(test_a_failed_builder_is_harmless),
    };
    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
