/* Checks passes: their order and reports, passes that callers add, and errors in these passes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/compiler.h>
#include "forge/ir/graph.h"
#include "support/check.h"
#include "support/graphs.h"
#include "support/workbench.h"

static joule_error error;

static forge_graph *small_graph(void)
{
    return graph_parsed("forge graph 1\n"
                        "slot \"w\" : f32[4] = constant(2) parameter\n"
                        "%1 = input \"x\" : f32[4]\n"
                        "%2 = read \"w\" : f32[4]\n"
                        "%3 = unary.log(%1) : f32[4] @a/b backward\n"
                        "%4 = unary.exp(%3) : f32[4] @a/b backward\n"
                        "%5 = binary.mul(%4, %2) : f32[4] @c\n"
                        "output \"y\" = %5\n"
                        "write \"w\" = %5 in_place\n");
}

/* --- order ---------------------------------------------------------------------------------------------- */

static joule_status pass_on(const forge_graph *graph, forge_device *device, void *context,
                            forge_graph **out_graph, joule_error *out_error)
{
    (void)device, (void)context, (void)out_error;
    *out_graph = graph_retain(graph);
    return JOULE_OK;
}

static void note_name(const forge_pass_facts *facts, const forge_graph *graph, void *context)
{
    assert_int_equal(facts->nodes_after, forge_graph_nodes(graph));
    assert_true(facts->seconds >= 0);
    strcat(strcat(context, facts->name), " ");
}

static void test_added_passes_run_at_their_position(void **state)
{
    (void)state;
    const forge_pass passes[] = {
        {"one", "expand", pass_on, NULL}, {"two", "expand", pass_on, NULL}, {"first", NULL, pass_on, NULL},
        {"three", "one", pass_on, NULL},  {"second", NULL, pass_on, NULL},  {"last", "fold", pass_on, NULL},
    };
    char names[200] = "";
    forge_compile_options options = {.struct_size = sizeof options,
                                     .pass_count = 6,
                                     .passes = passes,
                                     .notify = note_name,
                                     .notify_context = names};
    forge_graph *graph = small_graph(), *made = NULL;
    assert_int_equal(forge_passes_run(graph, NULL, &options, &made, &error), JOULE_OK);
    assert_string_equal(names,
                        "first second expand one two three transfer recognise precision fold last regroup "
                        "fuse layout order ");
    forge_graph_free(made);
    names[0] = '\0';
    options.stop_after = "two";
    assert_int_equal(forge_passes_run(graph, NULL, &options, &made, &error), JOULE_OK);
    assert_string_equal(names, "first second expand one two ");
    forge_graph_free(made);
    forge_graph_free(graph);
    assert_string_equal(forge_pass_name_at(0), "expand");
    assert_string_equal(forge_pass_name_at(1), "transfer");
    assert_string_equal(forge_pass_name_at(2), "recognise");
    assert_string_equal(forge_pass_name_at(3), "precision");
    assert_string_equal(forge_pass_name_at(4), "fold");
    assert_string_equal(forge_pass_name_at(5), "regroup");
    assert_string_equal(forge_pass_name_at(6), "fuse");
    assert_string_equal(forge_pass_name_at(7), "layout");
    assert_string_equal(forge_pass_name_at(8), "order");
    assert_null(forge_pass_name_at(9));
}

static void test_passes_can_be_skipped(void **state)
{
    (void)state;
    char names[200] = "";
    forge_compile_options options = {
        .struct_size = sizeof options, .notify = note_name, .notify_context = names, .skip = "fuse,expand"};
    forge_graph *graph = small_graph(), *made = NULL;
    assert_int_equal(forge_passes_run(graph, NULL, &options, &made, &error), JOULE_OK);
    assert_string_equal(names, "transfer recognise precision fold regroup layout order ");
    forge_graph_free(made);
    options.skip = "fold,melt";
    assert_int_equal(forge_passes_run(graph, NULL, &options, &made, &error), JOULE_INVALID);
    assert_contains(error.message, "cannot skip 'melt'");
    forge_graph_free(graph);
}

static void assert_refused(const forge_compile_options *options, joule_status status, const char *message)
{
    forge_graph *graph = small_graph(), *made = NULL;
    assert_int_equal(forge_passes_run(graph, NULL, options, &made, &error), status);
    assert_contains(error.message, message);
    assert_null(made);
    forge_graph_free(graph);
}

static void assert_pass_refused(const char *name, const char *after, forge_pass_fn run, const char *message)
{
    const forge_pass passes[] = {{"there", NULL, pass_on, NULL}, {name, after, run, NULL}};
    assert_refused(
        &(forge_compile_options){.struct_size = sizeof(forge_compile_options), 2, passes, NULL, NULL, NULL},
        JOULE_INVALID, message);
}

static void test_impossible_orders_are_refused(void **state)
{
    struct workbench *m = *state;
    assert_pass_refused("fold", NULL, pass_on, "two passes have the name 'fold'");
    assert_pass_refused("there", "fold", pass_on, "two passes have the name 'there'");
    assert_pass_refused("new", "old", pass_on, "pass new cannot run after 'old': unknown pass");
    assert_pass_refused("new", NULL, NULL, "a pass needs a name and a function");
    assert_pass_refused(NULL, NULL, pass_on, "a pass needs a name and a function");
    assert_refused(
        &(forge_compile_options){.struct_size = sizeof(forge_compile_options), .stop_after = "melt"},
        JOULE_INVALID, "cannot stop after 'melt': unknown pass");
    assert_refused(&(forge_compile_options){.struct_size = 4}, JOULE_INVALID, "struct_size");
    forge_graph *graph = small_graph();
    forge_compile_options early = {.struct_size = sizeof early, .stop_after = "expand"};
    assert_int_equal(forge_compile_with(graph, m->device, &early, &m->program, &error), JOULE_INVALID);
    assert_contains(error.message, "stop_after is set");
    forge_graph_free(graph);
}

static void test_many_passes_run(void **state)
{
    (void)state;
    forge_pass passes[80];
    char names[80][8];
    for (int i = 0; i < 80; i++) {
        names[i][0] = 'p', names[i][1] = (char)('0' + i / 10), names[i][2] = (char)('0' + i % 10);
        names[i][3] = '\0';
        passes[i] = (forge_pass){names[i], NULL, pass_on, NULL};
    }
    forge_compile_options options = {.struct_size = sizeof options, .pass_count = 62, .passes = passes};
    forge_graph *graph = small_graph(), *made = NULL;
    assert_int_equal(forge_passes_run(graph, NULL, &options, &made, &error), JOULE_OK);
    forge_graph_free(made);
    options.pass_count = 63;
    assert_int_equal(forge_passes_run(graph, NULL, &options, &made, &error), JOULE_INVALID);
    forge_graph_free(graph);
}

/* --- reports ------------------------------------------------------------------------------------------- */

static void note_facts(const forge_pass_facts *facts, const forge_graph *graph, void *context)
{
    (void)graph;
    forge_pass_facts *list = context;
    list[strcmp(facts->name, "expand") == 0 ? 0 : strcmp(facts->name, "fold") == 0 ? 1 : 2] = *facts;
}

static void run_with_facts(forge_graph *graph, forge_pass_facts *facts)
{
    forge_graph *made = NULL;
    forge_compile_options options = {
        .struct_size = sizeof options, .notify = note_facts, .notify_context = facts};
    assert_int_equal(forge_passes_run(graph, NULL, &options, &made, &error), JOULE_OK);
    forge_graph_free(made);
    forge_graph_free(graph);
}

static forge_value twice(forge_builder *b, const forge_value *inputs, size_t count, const void *context)
{
    (void)count, (void)context;
    return forge_add(b, inputs[0], inputs[0]);
}

static void test_work_is_counted(void **state)
{
    (void)state;
    forge_pass_facts facts[3];
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(8, 16)),
                w = forge_input(b, "w", FORGE_F32, forge_shape_of(16, 4));
    forge_value five = forge_add(b, forge_scalar(b, FORGE_F32, 2), forge_scalar(b, FORGE_F32, 3));
    forge_value y = forge_matmul(b, x, w, 0);
    y = forge_composite(b, "twice", &y, 1, twice, NULL);
    y = forge_reshape(b, forge_mul(b, y, five), forge_shape_of(32));
    forge_output(b, "y", y);
    run_with_facts(graph_of(b), facts);
    double flop = 2 * 8 * 16 * 4 + 32 + 32, bytes = 4 * (8 * 16 + 16 * 4 + 32) + 4 * 96 + 4 * 65;
    assert_int_equal(facts[0].nodes_before, 9);
    assert_int_equal(facts[0].nodes_after, 9); /* the composite is replaced by one node, x + x */
    assert_int_equal(facts[1].nodes_after, 7);
    assert_true(facts[0].flop_before == flop + 1 && facts[0].flop_after == flop + 1);
    assert_true(facts[1].flop_before == flop + 1 && facts[1].flop_after == flop);
    /* a composite counts as one kernel, which reads its input once; x + x reads it twice */
    assert_true(facts[0].bytes_before == bytes + 12 - 4 * 32 && facts[1].bytes_after == bytes);
    double joules = 3.4e-12 * flop + 240e-12 * bytes;
    joule_quantity after = facts[1].joules_after;
    assert_true(fabs(after.value - joules) < 1e-9 * joules && after.cls == JOULE_CLASS_MODELLED);
    assert_true(after.low > joules / 4 && after.low < joules / 3 && after.high > 3 * joules);
    assert_true(facts[1].joules_before.value > after.value);
}

static void test_work_with_symbols_is_unknown(void **state)
{
    (void)state;
    forge_pass_facts facts[3];
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(forge_symbol(b, "B", 1, 9, 1), 3));
    forge_output(b, "y", forge_relu(b, x));
    run_with_facts(graph_of(b), facts);
    assert_true(isnan(facts[0].flop_before) && isnan(facts[1].bytes_after));
    assert_true(isnan(facts[1].joules_after.value) && facts[1].joules_after.cls == JOULE_CLASS_NONE);
    assert_int_equal(facts[1].nodes_after, 2);
}

/* --- rewriting ------------------------------------------------------------------------------------------ */

/* This rule replaces exp(log(x)) by x. */
static forge_value simplify(forge_builder *b, const forge_node *node, const forge_value *inputs,
                            void *context)
{
    forge_node inner = {.struct_size = sizeof inner};
    forge_value of_inner[16];
    ++*(int *)context;
    if (strcmp(node->op, "unary") != 0 || strcmp(node->kind, "exp") != 0)
        return FORGE_NO_VALUE;
    assert_int_equal(forge_value_query(b, inputs[0], &inner, of_inner), JOULE_OK);
    if (strcmp(inner.kind, "log") != 0)
        return FORGE_NO_VALUE;
    assert_string_equal(inner.op, "unary");
    assert_string_equal(inner.scope, "a/b");
    assert_true(inner.phase == FORGE_PHASE_BACKWARD && node->phase == FORGE_PHASE_BACKWARD);
    assert_true(inner.input_count == 1 && inner.value_count == 1);
    return of_inner[0];
}

static joule_status simplify_all(const forge_graph *graph, forge_device *device, void *context,
                                 forge_graph **out_graph, joule_error *out_error)
{
    assert_non_null(device);
    return forge_graph_rewrite(graph, simplify, context, out_graph, out_error);
}

static void test_callers_may_add_a_pass(void **state)
{
    struct workbench *m = *state;
    int asked = 0;
    const forge_pass pass = {"simplify", "expand", simplify_all, &asked};
    forge_compile_options options = {.struct_size = sizeof options, .pass_count = 1, .passes = &pass};
    forge_graph *graph = small_graph();
    assert_int_equal(forge_compile_with(graph, m->device, &options, &m->program, &error), JOULE_OK);
    forge_graph_free(graph);
    assert_int_equal(asked, 4); /* the rule is called for all nodes but the input */
    /* the launches are the product, and a copy because the product is also a slot's value */
    assert_int_equal(workbench_facts(m).launches, 2);
    assert_int_equal(forge_instance_new(m->program, m->device, m->states, &m->instance, &error), JOULE_OK);
    workbench_set(m, "x", (float[]){1, -2, 3, 0});
    workbench_run(m); /* with the logarithms, a negative number would give NaN */
    workbench_assert_output(m, "y", (float[]){2, -4, 6, 0}, 4);
    workbench_assert_slot(m, "w", (float[]){2, -4, 6, 0}, 4);
}

static forge_value turn(forge_builder *b, const forge_node *node, const forge_value *inputs, void *context)
{
    (void)context;
    return strcmp(node->kind, "mul") == 0 ? forge_sub(b, inputs[0], inputs[1]) : FORGE_NO_VALUE;
}

static void test_rewritten_nodes_keep_their_scope(void **state)
{
    (void)state;
    forge_graph *graph = small_graph(), *made = NULL;
    assert_int_equal(forge_graph_rewrite(graph, turn, NULL, &made, &error), JOULE_OK);
    char *text = graph_printed(made);
    assert_contains(text, "%5 = binary.sub(%4, %2) : f32[4] @c\n");
    assert_contains(text, "parameter");
    assert_contains(text, "in_place");
    free(text);
    forge_graph_free(made);
    forge_graph_free(graph);
}

/* --- mistakes ------------------------------------------------------------------------------------------- */

static forge_value reshape_all(forge_builder *b, const forge_node *node, const forge_value *inputs,
                               void *context)
{
    (void)context;
    return node->input_count ? forge_reshape(b, inputs[0], forge_shape_of(2, 2)) : FORGE_NO_VALUE;
}

static forge_value add_apples_and_pears(forge_builder *b, const forge_node *node, const forge_value *inputs,
                                        void *context)
{
    (void)context;
    return node->input_count ? forge_add(b, inputs[0], forge_scalar(b, FORGE_F64, 1)) : FORGE_NO_VALUE;
}

static joule_status rewrite_wrongly(const forge_graph *graph, forge_device *device, void *context,
                                    forge_graph **out_graph, joule_error *out_error)
{
    (void)device;
    return forge_graph_rewrite(graph, *(forge_rewrite_fn *)context, NULL, out_graph, out_error);
}

static joule_status replace(const forge_graph *graph, forge_device *device, void *context,
                            forge_graph **out_graph, joule_error *out_error)
{
    (void)graph, (void)device, (void)out_error;
    *out_graph = context ? graph_parsed(context) : NULL;
    return JOULE_OK;
}

/* Simulates a faulty pass of the library, whose graph violates an invariant. */
static joule_status break_graph(const forge_graph *graph, forge_device *device, void *context,
                                forge_graph **out_graph, joule_error *out_error)
{
    (void)graph;
    joule_status status = replace(graph, device, context, out_graph, out_error);
    (*out_graph)->values[(*out_graph)->nodes[1].output].dtype = FORGE_F64;
    return status;
}

static void assert_wrong(forge_pass_fn run, const void *context, joule_status status, const char *message)
{
    const forge_pass pass = {"mistake", NULL, run, (void *)context};
    assert_refused(
        &(forge_compile_options){.struct_size = sizeof(forge_compile_options), 1, &pass, NULL, NULL, NULL},
        status, message);
}

static void test_failing_pass_is_named(void **state)
{
    (void)state;
    forge_rewrite_fn wrong[] = {reshape_all, add_apples_and_pears};
    assert_wrong(rewrite_wrongly, &wrong[0], JOULE_INVALID,
                 "pass mistake: a/b: the replacement of unary has another type or shape");
    assert_wrong(rewrite_wrongly, &wrong[1], JOULE_INVALID, "pass mistake: a/b: binary(f32[4], f64[])");
    assert_wrong(replace, NULL, JOULE_FAILED, "pass mistake: the pass returned no graph");
#define SLOT "slot \"w\" : f32[4] = constant(2) parameter\n"
    assert_wrong(replace, "forge graph 1\n%1 = input \"x\" : f32[5]\noutput \"y\" = %1\n", JOULE_FAILED,
                 "the pass changed the graph's inputs");
    assert_wrong(replace, "forge graph 1\n%1 = input \"x\" : f32[4]\noutput \"z\" = %1\n", JOULE_FAILED,
                 "the pass changed the graph's outputs");
    assert_wrong(replace, "forge graph 1\n" SLOT "%1 = input \"x\" : f32[4]\noutput \"y\" = %1\n",
                 JOULE_FAILED, "the pass changed the graph's slots");
    assert_wrong(replace,
                 "forge graph 1\n" SLOT "%1 = input \"x\" : f32[4]\noutput \"y\" = %1\nwrite \"w\" = %1\n",
                 JOULE_FAILED, "the pass changed the graph's slots");
    assert_wrong(break_graph,
                 "forge graph 1\n" SLOT "%1 = input \"x\" : f32[4]\n%2 = unary.exp(%1) : f32[4] @d\n"
                 "output \"y\" = %1\nwrite \"w\" = %2 in_place\n",
                 JOULE_FAILED,
                 "pass mistake: node 1 (unary in 'd'): its output differs from the result of its operation");
}

int main(void)
{
#define on_workbench(test) cmocka_unit_test_setup_teardown(test, workbench_set_up, workbench_tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_added_passes_run_at_their_position),
        cmocka_unit_test(test_passes_can_be_skipped),
        on_workbench(test_impossible_orders_are_refused),
        cmocka_unit_test(test_many_passes_run),
        cmocka_unit_test(test_work_is_counted),
        cmocka_unit_test(test_work_with_symbols_is_unknown),
        on_workbench(test_callers_may_add_a_pass),
        cmocka_unit_test(test_rewritten_nodes_keep_their_scope),
        cmocka_unit_test(test_failing_pass_is_named),
    };
    return cmocka_run_group_tests_name("pass", tests, NULL, NULL);
}
