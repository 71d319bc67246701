/* Checks places of nodes: merging of places, text form, locations of slots and values, and transfers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/nn.h>
#include <forge/optim.h>
#include <forge/program.h>
#include "forge/compiler/pass.h"
#include "support/check.h"
#include "support/graphs.h"
#include "support/random_graph.h"

static joule_error error;

static void assert_refused(forge_builder *b, const char *message)
{
    forge_graph *graph = NULL;
    assert_int_equal(forge_builder_finish(b, &graph, &error), JOULE_INVALID);
    assert_string_equal(error.message, message);
}

static forge_graph *transferred(const forge_graph *graph)
{
    forge_graph *made = NULL;
    if (pass_transfer(graph, NULL, NULL, &made, &error) != JOULE_OK || graph_verify(made, &error) != JOULE_OK)
        fail_msg("%s", error.message);
    assert_true(made->is_placed);
    return made;
}

static size_t count_of(const forge_graph *graph, enum op op)
{
    size_t count = 0;
    for (size_t n = 0; n < graph->node_count; n++)
        count += graph->nodes[n].op == op;
    return count;
}

static const char *place_of(const forge_graph *graph, forge_value value)
{
    return graph->places[graph->values[value].place];
}

/* --- nodes ---------------------------------------------------------------------------------------------- */

static void node_runs_on_the_place_of_the_builder(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2));
    assert_null(forge_place_set(b, "a"));
    forge_value on_a = forge_exp(b, x);
    assert_string_equal(forge_place_set(b, "b"), "a");
    forge_value on_b = forge_exp(b, x);
    assert_string_equal(forge_place_set(b, "a"), "b");
    assert_true(on_a != on_b);
    assert_int_equal(forge_exp(b, x), on_a);
    assert_string_equal(forge_place_set(b, NULL), "a");
    assert_null(forge_value_place(b, x));
    assert_string_equal(forge_value_place(b, on_b), "b");
    assert_int_equal(forge_transfer(b, on_b, "b"), on_b);
    assert_string_equal(forge_value_place(b, forge_transfer(b, on_b, "a")), "a");
    assert_null(forge_place_set(b, NULL));
    forge_builder_free(b);
}

static void names_of_places_are_short(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_place_set(b, "");
    assert_refused(b, "'' cannot be the name of a place: it must have 1 to 31 bytes");
    b = forge_builder_new();
    forge_place_set(b, "1234567890123456789012345678901");
    forge_place_set(b, "12345678901234567890123456789012");
    assert_refused(
        b, "'12345678901234567890123456789012' cannot be the name of a place: it must have 1 to 31 bytes");
}

static void a_slot_lives_on_one_place(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_slot w = forge_state(b, "w", FORGE_F32, forge_shape_of(2), (forge_init){0});
    forge_place_set(b, "a");
    forge_value read = forge_read(b, w);
    forge_place_set(b, "b");
    assert_int_equal(forge_read(b, w), read);
    forge_value next = forge_neg(b, read);
    assert_string_equal(forge_value_place(b, next), "b");
    forge_write(b, w, next, false);
    assert_refused(
        b, "slot 'w' is stored on 'a' and cannot take a value from 'b': transfer it first (forge_transfer)");
    b = forge_builder_new();
    w = forge_state(b, "w", FORGE_F32, forge_shape_of(2), (forge_init){0});
    forge_write(b, w, input_on(b, "x", "a"), false);
    assert_string_equal(forge_value_place(b, forge_read(b, w)), "a");
    forge_graph_free(graph_of(b));
}

static forge_value elsewhere(forge_builder *b, const forge_value *inputs, size_t count, const void *context)
{
    (void)count, (void)context;
    forge_place_set(b, "a");
    return forge_exp(b, inputs[0]);
}

static void a_body_has_no_places(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2));
    forge_output(b, "y", forge_composite(b, "mine", &x, 1, elsewhere, NULL));
    assert_refused(
        b,
        "composite(f32[2]): mine: the body must not name places, because it runs on the composite's place");
}

/* --- text ----------------------------------------------------------------------------------------------- */

static const char text[] = "forge graph 1\n"
                           "slot \"w\" : f32[2] = constant(0)\n"
                           "%1 = input \"x\" : f32[2] on gpu0\n"
                           "%2 = read \"w\" : f32[2] on \"a place\"\n"
                           "%3 = binary.add(%1, %2) : f32[2] on gpu0 @fc1 backward\n"
                           "%4 = transfer(%3) : f32[2] on \"a place\"\n"
                           "%5 = unary.neg(%4) : f32[2]\n"
                           "output \"y\" = %5\n"
                           "write \"w\" = %4\n";

static void written_places_read_back(void **state)
{
    (void)state;
    forge_graph *graph = NULL;
    char *printed = NULL;
    if (forge_graph_parse(text, strlen(text), &graph, &error) != JOULE_OK ||
        graph_verify(graph, &error) != JOULE_OK)
        fail_msg("%s", error.message);
    assert_string_equal(place_of(graph, 3), "gpu0");
    assert_string_equal(place_of(graph, 4), "a place");
    assert_null(place_of(graph, 5));
    assert_int_equal(forge_graph_print(graph, &printed, NULL), JOULE_OK);
    assert_string_equal(printed, text);
    free(printed);
    forge_graph_free(graph);
}

static void assert_no_text(const char *bad, const char *message)
{
    forge_graph *graph = NULL;
    assert_int_equal(forge_graph_parse(bad, strlen(bad), &graph, &error), JOULE_INVALID);
    assert_string_equal(error.message, message);
}

static void invalid_places_in_text_are_refused(void **state)
{
    (void)state;
    assert_no_text("forge graph 1\nslot \"w\" : f32[2] = constant(0)\n%1 = read \"w\" : f32[2] on a\n"
                   "%2 = read \"w\" : f32[2] on b\n",
                   "line 4, column 1: expected the place of the slot's earlier read");
    assert_no_text("forge graph 1\n%1 = input \"x\" : f32[2] on \"\"\n",
                   "line 2, column 28: '' cannot be the name of a place: it must have 1 to 31 bytes");
}

/* --- transfers ------------------------------------------------------------------------------------------ */

static void operands_are_transferred_once(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_value x = input_on(b, "x", "a"), y = input_on(b, "y", "b"), two = forge_scalar(b, FORGE_F32, 2);
    forge_place_set(b, "b");
    forge_value sum = forge_mul(b, forge_add(b, x, y), two);
    forge_output(b, "again", forge_sub(b, x, sum));
    forge_place_set(b, "a");
    forge_output(b, "back", forge_exp(b, forge_transfer(b, forge_transfer(b, x, "b"), "a")));
    forge_place_set(b, "b");
    forge_output(b, "there", forge_exp(b, forge_transfer(b, x, "b")));
    forge_graph *graph = graph_of(b), *placed = transferred(graph);
    assert_int_equal(count_of(graph, OP_TRANSFER), 2);
    /* one transfer to b for all three uses, and one back */
    assert_int_equal(count_of(placed, OP_TRANSFER), 2);
    assert_int_equal(count_of(placed, OP_CONSTANT), 1);
    /* the constant is computed on b instead of transferred */
    for (forge_value v = 1; v < placed->value_count; v++)
        if (graph_producer(placed, v)->op == OP_CONSTANT)
            assert_string_equal(place_of(placed, v), "b");
    forge_graph *again = transferred(placed);
    assert_int_equal(again->node_count, placed->node_count);
    forge_graph_free(again);
    forge_graph_free(placed);
    forge_graph_free(graph);
}

static void value_transferred_back_needs_no_transfer(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_value moved = forge_transfer(b, input_on(b, "x", "a"), "b");
    forge_place_set(b, "a");
    forge_output(b, "y", forge_exp(b, moved));
    forge_graph *graph = graph_of(b), *placed = transferred(graph);
    assert_int_equal(count_of(placed, OP_TRANSFER), 0);
    forge_graph_free(placed);
    forge_graph_free(graph);
}

/* This pass runs after the transfers were added, and removes them. Its graph must be refused. */
static joule_status forgetful(const forge_graph *graph, forge_device *device, void *context,
                              forge_graph **out_graph, joule_error *out_error)
{
    (void)device, (void)context;
    forge_builder *b = builder_new(&graph->dims);
    forge_value *map = calloc(graph->value_count, sizeof *map);
    assert_true(b && map && builder_begin_copy(b, graph, map));
    forge_place_set(b, "b");
    forge_output(b, "y", forge_add(b, map[graph->inputs[0].value], map[graph->inputs[1].value]));
    free(map);
    return forge_builder_finish(b, out_graph, out_error);
}

static void once_placed_nothing_may_be_missing(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_value x = input_on(b, "x", "a"), y = input_on(b, "y", "b");
    forge_place_set(b, "b");
    forge_output(b, "y", forge_add(b, x, y));
    forge_graph *graph = graph_of(b), *made = NULL;
    forge_pass pass = {"mine", "transfer", forgetful, NULL};
    forge_compile_options options = {.struct_size = sizeof options, .pass_count = 1, .passes = &pass};
    assert_int_equal(forge_passes_run(graph, NULL, &options, &made, &error), JOULE_INVALID);
    assert_string_equal(error.message,
                        "pass mine: binary(f32[2], f32[2]): the operation runs on 'b', but operand 0 "
                        "is stored on 'a': a transfer is missing");
    forge_graph *placed = transferred(graph);
    /* the verifier also detects transfers on a wrong place */
    for (forge_value v = 1; v < placed->value_count; v++)
        placed->values[v].place = graph_producer(placed, v)->op == OP_TRANSFER ? 0 : placed->values[v].place;
    assert_int_equal(graph_verify(placed, &error), JOULE_FAILED);
    assert_contains(error.message,
                    "the operation runs on 'b', but operand 0 is stored on the program's own place");
    forge_graph_free(placed);
    forge_graph_free(graph);
}

/* --- gradients and updates ------------------------------------------------------------------------------ */

static void gradients_are_transferred_back(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_value x = input_on(b, "x", "a"), gradient;
    forge_place_set(b, "b");
    forge_value hidden = forge_tanh(b, forge_transfer(b, x, "b"));
    forge_place_set(b, "c");
    forge_value loss = forge_reduce(b, FORGE_SUM, hidden, 1, false);
    forge_place_set(b, NULL);
    forge_gradients(b, loss, &x, 1, &gradient);
    assert_null(forge_place_set(b, NULL));
    assert_string_equal(forge_value_place(b, gradient), "a");
    forge_output(b, "dx", gradient);
    forge_graph *graph = graph_of(b);
    const struct node *last = graph_producer(graph, graph->outputs[0].value);
    assert_int_equal(last->op, OP_TRANSFER); /* the gradient of tanh, computed on b, is transferred */
    assert_string_equal(place_of(graph, node_input(graph, last, 0)), "b");
    for (size_t n = 0; n < graph->node_count; n++)
        if (graph->nodes[n].op == OP_BROADCAST)
            assert_string_equal(place_of(graph, graph->nodes[n].output), "c");
    forge_graph_free(transferred(graph));
    forge_graph_free(graph);
}

/* Returns the training of two layers on two places. The loss is on the program's own place. */
static forge_graph *training(const char *first, const char *second)
{
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(4, 3));
    forge_init init = {FORGE_INIT_NORMAL, 0, 0.5};
    const char *places[] = {first, second};
    for (int i = 0; i < 2; i++) {
        forge_place_set(b, places[i]);
        forge_value w = forge_parameter(b, i ? "w1" : "w0", FORGE_F32, forge_shape_of(3, 3), init);
        x = forge_tanh(b, forge_matmul(b, x, w, 0));
    }
    forge_place_set(b, NULL);
    forge_value loss = forge_reduce(b, FORGE_MEAN, forge_unary(b, FORGE_SQUARE, x), 3, false);
    forge_adamw_options adamw = {
        .struct_size = sizeof adamw, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .max_norm = 1};
    forge_output(b, "norm", forge_adamw(b, loss, forge_scalar(b, FORGE_F32, 0.01), &adamw));
    forge_output(b, "loss", loss);
    return graph_of(b);
}

static void an_update_runs_where_its_slot_lives(void **state)
{
    (void)state;
    forge_graph *graph = training("a", "b"), *placed = transferred(graph);
    size_t found = 0;
    for (size_t i = 0; i < placed->slot_count; i++) {
        const struct slot *slot = &placed->slots[i];
        const char *place = placed->places[slot_place(placed, slot)];
        if (slot->name[0] != 'w')
            continue;
        assert_string_equal(place, slot->name[1] == '0' ? "a" : "b");
        assert_string_equal(place_of(placed, slot->write), place);
        found++;
    }
    assert_int_equal(found, 6); /* parameters and both moments of each */
    forge_graph_free(placed);
    forge_graph_free(graph);
}

/* --- one device for all --------------------------------------------------------------------------------- */

static void run_steps(const forge_graph *graph, float *out_loss)
{
    forge_device *device = NULL;
    forge_program *program = NULL;
    forge_states *states = NULL;
    forge_instance *instance = NULL;
    forge_tensor x, loss;
    if (forge_device_open("cpu", &device, &error) || forge_compile(graph, device, &program, &error) ||
        forge_states_new(device, 3, &states, &error) ||
        forge_instance_new(program, device, states, &instance, &error))
        fail_msg("%s", error.message);
    assert_int_equal(forge_tensor_new(FORGE_F32, &(forge_shape){.rank = 2, .dims = {4, 3}}, &x, NULL),
                     JOULE_OK);
    for (int i = 0; i < 12; i++)
        ((float *)forge_tensor_data(&x))[i] = (float)i / 8 - 0.5f;
    assert_int_equal(forge_instance_set(instance, "x", &x, NULL), JOULE_OK);
    for (int step = 0; step < 3; step++) {
        assert_int_equal(forge_instance_run(instance, NULL), JOULE_OK);
        assert_int_equal(forge_instance_get(instance, "loss", &loss, NULL), JOULE_OK);
        out_loss[step] = *(float *)forge_tensor_data(&loss);
    }
    forge_launch_facts facts = {.struct_size = sizeof facts};
    for (size_t i = 0; forge_instance_launch(instance, i, &facts) == JOULE_OK; i++)
        assert_string_not_equal(facts.op, "transfer");
    forge_buffer_release(x.buffer);
    forge_instance_free(instance);
    forge_states_free(states);
    forge_program_free(program);
    forge_device_close(device);
}

static void on_one_device_nothing_is_transferred(void **state)
{
    (void)state;
    float plain[3], placed[3];
    forge_graph *graph = training(NULL, NULL), *with_places = training("a", "b");
    run_steps(graph, plain);
    run_steps(with_places, placed);
    assert_memory_equal(plain, placed, sizeof plain);
    assert_true(plain[2] < plain[0]);
    forge_graph_free(with_places);
    forge_graph_free(graph);
}

static void random_graphs_have_transfers_where_needed(void **state)
{
    (void)state;
    size_t transfers = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        forge_graph *made = NULL, *graph = random_graph(seed, 60, RANDOM_GRAPH_PLACES | (seed % 4));
        if (forge_passes_run(graph, NULL, NULL, &made, &error) != JOULE_OK)
            fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
        assert_true(made->is_placed);
        transfers += count_of(made, OP_TRANSFER);
        forge_graph_free(made);
        forge_graph_free(graph);
    }
    assert_true(transfers > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_runs_on_the_place_of_the_builder),
        cmocka_unit_test(names_of_places_are_short),
        cmocka_unit_test(a_slot_lives_on_one_place),
        cmocka_unit_test(a_body_has_no_places),
        cmocka_unit_test(written_places_read_back),
        cmocka_unit_test(invalid_places_in_text_are_refused),
        cmocka_unit_test(operands_are_transferred_once),
        cmocka_unit_test(value_transferred_back_needs_no_transfer),
        cmocka_unit_test(once_placed_nothing_may_be_missing),
        cmocka_unit_test(gradients_are_transferred_back),
        cmocka_unit_test(an_update_runs_where_its_slot_lives),
        cmocka_unit_test(on_one_device_nothing_is_transferred),
        cmocka_unit_test(random_graphs_have_transfers_where_needed),
    };
    return cmocka_run_group_tests_name("places", tests, NULL, NULL);
}
