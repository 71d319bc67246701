/* Checks collective operations: results, text form, gradients, and groups of one process and of several
 * processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/program.h>
#include "forge/compiler/pass.h"
#include "support/check.h"

static joule_error error;
static const forge_group four = {"data", 4}, one = {"data", 1};

static forge_graph *finish(forge_builder *b)
{
    forge_graph *graph = NULL;
    if (forge_builder_finish(b, &graph, &error) != JOULE_OK || graph_verify(graph, &error) != JOULE_OK)
        fail_msg("%s", error.message);
    return graph;
}

static forge_value input(forge_builder *b)
{
    return forge_input(b, "x", FORGE_F32, forge_shape_of(8, 3));
}

static void assert_gives(forge_collective_kind kind, uint32_t axis_or_root, forge_shape wanted)
{
    forge_builder *b = forge_builder_new();
    forge_value y = forge_collective(b, kind, &four, input(b), axis_or_root);
    forge_shape shape = forge_value_shape(b, y);
    assert_true(forge_shape_equal(&shape, &wanted));
    forge_output(b, "y", y);
    forge_graph_free(finish(b));
}

static void shapes_of_collectives_are_inferred(void **state)
{
    (void)state;
    assert_gives(FORGE_ALL_REDUCE, 0, forge_shape_of(8, 3));
    assert_gives(FORGE_ALL_GATHER, 1, forge_shape_of(8, 12));
    assert_gives(FORGE_REDUCE_SCATTER, 0, forge_shape_of(2, 3));
    assert_gives(FORGE_SEND_ALL, 3, forge_shape_of(8, 3));
    assert_gives(FORGE_REDUCE_TO, 2, forge_shape_of(8, 3));
    forge_builder *b = forge_builder_new();
    forge_dim batch = forge_dim_mul(b, forge_symbol(b, "B", 1, 64, 1), 4);
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(batch));
    forge_value part = forge_collective(b, FORGE_REDUCE_SCATTER, &four, x, 0);
    forge_shape whole = forge_value_shape(b, forge_collective(b, FORGE_ALL_GATHER, &four, part, 0));
    assert_int_equal(whole.dims[0], batch);
    forge_builder_free(b);
}

static void assert_refused(forge_collective_kind kind, const forge_group *group, uint32_t axis_or_root,
                           const char *message)
{
    forge_builder *b = forge_builder_new();
    forge_graph *graph = NULL;
    forge_output(b, "y", forge_collective(b, kind, group, input(b), axis_or_root));
    assert_int_equal(forge_builder_finish(b, &graph, &error), JOULE_INVALID);
    assert_string_equal(error.message, message);
}

static void wrong_collectives_are_refused(void **state)
{
    (void)state;
    assert_refused(FORGE_REDUCE_SCATTER, &four, 1,
                   "collective(f32[8,3]): reduce_scatter: axis 1 cannot be divided into 4 equal parts");
    assert_refused(FORGE_ALL_GATHER, &four, 2, "collective(f32[8,3]): all_gather: axis 2 does not exist");
    assert_refused(FORGE_SEND_ALL, &four, 4,
                   "collective(f32[8,3]): send_all: invalid group 'data' of 4 processes with root 4");
    assert_refused(FORGE_ALL_REDUCE, &(forge_group){"data", 0}, 0,
                   "collective(f32[8,3]): all_reduce: invalid group 'data' of 0 processes with root 0");
    assert_refused(FORGE_ALL_REDUCE, &(forge_group){"", 2}, 0,
                   "collective(f32[8,3]): all_reduce: invalid group '' of 2 processes with root 0");
    assert_refused(FORGE_ALL_REDUCE, &(forge_group){"12345678901234567890123456789012", 2}, 0,
                   "the name of a group may have at most 31 bytes");
    assert_refused(FORGE_COLLECTIVE_KINDS, &four, 0, "collective(f32[8,3]): unknown kind 5");
}

static void written_collectives_read_back(void **state)
{
    (void)state;
    static const char text[] = "forge graph 1\n"
                               "%1 = input \"x\" : f32[8,3]\n"
                               "%2 = collective.all_reduce.data(%1) size=4 : f32[8,3]\n"
                               "%3 = collective.all_gather.data(%2) size=4 axis=1 : f32[8,12]\n"
                               "%4 = collective.reduce_scatter.\"a group\"(%3) size=2 : f32[4,12] on gpu0\n"
                               "%5 = collective.send_all.data(%4) size=4 root=3 : f32[4,12]\n"
                               "%6 = collective.reduce_to.data(%5) size=1 : f32[4,12]\n"
                               "output \"y\" = %6\n";
    forge_graph *graph = NULL;
    char *printed = NULL;
    assert_ok(forge_graph_parse(text, strlen(text), &graph, &error), &error);
    assert_int_equal(forge_graph_print(graph, &printed, NULL), JOULE_OK);
    assert_string_equal(printed, text);
    free(printed);
    forge_graph_free(graph);
}

/* --- gradients ------------------------------------------------------------------------------------------ */

/* The gradient of a collective is another collective, applied to the incoming gradient. */
static void assert_goes_back(forge_collective_kind kind, forge_collective_kind back, uint32_t axis,
                             uint32_t root)
{
    forge_builder *b = forge_builder_new();
    forge_value x = input(b), gradient;
    forge_value y = forge_collective(b, kind, &four, x, axis + root);
    forge_value loss = forge_reduce(b, FORGE_SUM, forge_tanh(b, y), 3, false);
    forge_gradients(b, loss, &x, 1, &gradient);
    forge_shape shape = forge_value_shape(b, gradient);
    assert_true(forge_shape_equal(&shape, &(forge_shape){.rank = 2, .dims = {8, 3}}));
    forge_output(b, "dx", gradient);
    forge_graph *graph = finish(b);
    const struct node *node = graph_producer(graph, graph->outputs[0].value);
    const struct collective_attributes *a = node->attributes;
    assert_int_equal(node->op, OP_COLLECTIVE);
    assert_int_equal(node->phase, FORGE_PHASE_BACKWARD);
    assert_int_equal(a->kind, back);
    assert_int_equal(a->axis, axis);
    assert_int_equal(a->root, root);
    assert_int_equal(a->size, 4);
    assert_string_equal(a->group, "data");
    assert_int_not_equal(graph_producer(graph, node_input(graph, node, 0))->op, OP_COLLECTIVE);
    forge_graph_free(graph);
}

static void gradient_of_a_collective_is_a_collective(void **state)
{
    (void)state;
    assert_goes_back(FORGE_ALL_REDUCE, FORGE_ALL_REDUCE, 0, 0);
    assert_goes_back(FORGE_ALL_GATHER, FORGE_REDUCE_SCATTER, 1, 0);
    assert_goes_back(FORGE_REDUCE_SCATTER, FORGE_ALL_GATHER, 0, 0);
    assert_goes_back(FORGE_SEND_ALL, FORGE_REDUCE_TO, 0, 2);
    assert_goes_back(FORGE_REDUCE_TO, FORGE_SEND_ALL, 0, 2);
}

/* --- programs ------------------------------------------------------------------------------------------- */

static forge_program *compile(const forge_group *group, forge_value (*of)(forge_builder *),
                              forge_device *device, joule_status wanted)
{
    forge_builder *b = forge_builder_new();
    forge_program *program = NULL;
    forge_value x = of(b);
    for (unsigned kind = 0; kind < FORGE_COLLECTIVE_KINDS; kind++)
        x = forge_collective(b, (forge_collective_kind)kind, group, x, 0);
    forge_output(b, "y", forge_neg(b, x));
    forge_graph *graph = finish(b);
    assert_int_equal(forge_compile(graph, device, &program, &error), wanted);
    forge_graph_free(graph);
    return program;
}

static forge_value eight(forge_builder *b)
{
    return forge_broadcast(b, forge_scalar(b, FORGE_F32, 0.5), forge_shape_of(8));
}

static void a_group_of_one_costs_nothing(void **state)
{
    (void)state;
    forge_device *device = NULL;
    assert_int_equal(forge_device_open("cpu", &device, &error), JOULE_OK);
    forge_program *program = compile(&one, input, device, JOULE_OK);
    forge_program_facts facts = {.struct_size = sizeof facts};
    assert_int_equal(forge_program_query(program, &facts), JOULE_OK);
    assert_int_equal(facts.launches, 1); /* the collective is removed; only neg is launched, on x */
    forge_program_free(program);
    forge_device_close(device);
}

/* Groups of more than one process are refused, even if the operand is a constant. */
static void larger_groups_wait_for_a_transport(void **state)
{
    (void)state;
    static const char message[] = "all_reduce over 'data', a group of 4: communication between processes "
                                  "is not supported; only groups of one can be compiled";
    forge_device *device = NULL;
    assert_int_equal(forge_device_open("cpu", &device, &error), JOULE_OK);
    assert_null(compile(&four, input, device, JOULE_UNSUPPORTED));
    assert_string_equal(error.message, message);
    assert_null(compile(&four, eight, device, JOULE_UNSUPPORTED));
    assert_string_equal(error.message, message);
    forge_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_of_collectives_are_inferred),
        cmocka_unit_test(wrong_collectives_are_refused),
        cmocka_unit_test(written_collectives_read_back),
        cmocka_unit_test(gradient_of_a_collective_is_a_collective),
        cmocka_unit_test(a_group_of_one_costs_nothing),
        cmocka_unit_test(larger_groups_wait_for_a_transport),
    };
    return cmocka_run_group_tests_name("collective", tests, NULL, NULL);
}
