/* Checks the pass that joins elementwise operations: the graph before and after each rule, the division of
 * the joules among scopes, and programs from files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/compiler.h>
#include "forge/compiler/pass.h"
#include "forge/ir/fused.h"
#include "forge/ir/program.h"
#include "support/check.h"
#include "support/graphs.h"
#include "support/workbench.h"

static joule_error error;

/* Fails unless the pass makes `after` from `before`. */
static void assert_fuses(void **state, const char *before, const char *after)
{
    struct workbench *bench = *state;
    assert_pass_makes(pass_fuse, bench->device, NULL, before, after);
}

static void assert_unchanged(void **state, const char *text)
{
    assert_fuses(state, text, text);
}

/* --- rules ---------------------------------------------------------------------------------------------- */

static void test_a_chain_becomes_one_node(void **state)
{
    assert_fuses(state,
                 "forge graph 1\n"
                 "%1 = input \"x\" : f32[2,3]\n"
                 "%2 = input \"bias\" : f32[3]\n"
                 "%3 = binary.add(%1, %2) : f32[2,3] @fc\n"
                 "%4 = unary.relu(%3) : f32[2,3] @act\n"
                 "output \"y\" = %4\n",
                 "forge graph 1\n"
                 "body $0 {\n"
                 "  %1 = input \"0\" : f32[2,3]\n"
                 "  %2 = input \"1\" : f32[3]\n"
                 "  %3 = binary.add(%1, %2) : f32[2,3] @fc\n"
                 "  %4 = unary.relu(%3) : f32[2,3] @act\n"
                 "  output \"0\" = %4\n"
                 "}\n"
                 "%1 = input \"x\" : f32[2,3]\n"
                 "%2 = input \"bias\" : f32[3]\n"
                 "%3 = composite.fused(%1, %2) code=[131074,16529] body=$0 : f32[2,3] @act\n"
                 "output \"y\" = %3\n");
}

static void test_a_value_with_two_readers_in_a_group_is_computed_once(void **state)
{
    assert_fuses(state,
                 "forge graph 1\n"
                 "%1 = input \"x\" : f32[8]\n"
                 "%2 = unary.exp(%1) : f32[8]\n"
                 "%3 = binary.gt(%2, %1) : bool[8]\n"
                 "%4 = select(%3, %2, %1) : f32[8]\n"
                 "output \"y\" = %4\n",
                 "forge graph 1\n"
                 "body $0 {\n"
                 "  %1 = input \"0\" : f32[8]\n"
                 "  %2 = unary.exp(%1) : f32[8]\n"
                 "  %3 = binary.gt(%2, %1) : bool[8]\n"
                 "  %4 = select(%3, %2, %1) : f32[8]\n"
                 "  output \"0\" = %4\n"
                 "}\n"
                 "%1 = input \"x\" : f32[8]\n"
                 "%2 = composite.fused(%1) code=[57,16506,2114563] body=$0 : f32[8]\n"
                 "output \"y\" = %2\n");
}

static void test_a_value_that_is_needed_outside_stays(void **state)
{
    assert_unchanged(state, "forge graph 1\n"
                            "%1 = input \"x\" : f32[8]\n"
                            "%2 = unary.exp(%1) : f32[8]\n"
                            "%3 = unary.neg(%2) : f32[8]\n"
                            "output \"y\" = %3\n"
                            "output \"z\" = %2\n");
    assert_unchanged(state, "forge graph 1\n"
                            "slot \"w\" : f32[8] = constant(0)\n"
                            "%1 = input \"x\" : f32[8]\n"
                            "%2 = unary.exp(%1) : f32[8]\n"
                            "%3 = unary.neg(%2) : f32[8]\n"
                            "output \"y\" = %3\n"
                            "write \"w\" = %2\n");
}

static void test_a_forward_value_does_not_move_to_the_backward_pass(void **state)
{
    assert_unchanged(state, "forge graph 1\n"
                            "%1 = input \"x\" : f32[8]\n"
                            "%2 = unary.exp(%1) : f32[8]\n"
                            "%3 = unary.neg(%2) : f32[8] backward\n"
                            "output \"y\" = %3\n");
}

static void test_smaller_values_are_inputs(void **state)
{
    assert_unchanged(state, "forge graph 1\n"
                            "%1 = input \"x\" : f32[2,8]\n"
                            "%2 = input \"b\" : f32[8]\n"
                            "%3 = unary.exp(%2) : f32[8]\n"
                            "%4 = binary.mul(%1, %3) : f32[2,8]\n"
                            "output \"y\" = %4\n");
}

static void test_operations_without_kernels_stay(void **state)
{
    assert_unchanged(state, "forge graph 1\n"
                            "%1 = input \"x\" : f32[8]\n"
                            "%2 = unary.sin(%1) : f32[8]\n"
                            "%3 = unary.cos(%2) : f32[8]\n"
                            "output \"y\" = %3\n");
}

/* A chain of `count` additions, each of another input if `has_inputs`. */
static forge_graph *chain(size_t count, bool has_inputs)
{
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(4));
    for (size_t i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%zu", i);
        x = has_inputs ? forge_add(b, x, forge_input(b, name, FORGE_F32, forge_shape_of(4)))
                       : forge_unary(b, i % 2 ? FORGE_NEG : FORGE_SQUARE, x);
    }
    forge_output(b, "y", x);
    return graph_of(b);
}

static size_t nodes_after(const struct workbench *bench, forge_graph *graph)
{
    forge_graph *made = graph_after(graph, pass_fuse, bench->device, NULL);
    size_t count = 0;
    for (size_t n = 0; n < made->node_count; n++)
        count += made->nodes[n].op != OP_INPUT;
    forge_graph_free(made);
    return count;
}

static void test_large_groups_are_divided(void **state)
{
    assert_int_equal(nodes_after(*state, chain(FUSED_MAX_STEPS, false)), 1);
    assert_int_equal(nodes_after(*state, chain(FUSED_MAX_STEPS + 2, false)), 2);
    assert_int_equal(nodes_after(*state, chain(FUSED_MAX_INPUTS - 1, true)), 1);
    assert_int_equal(nodes_after(*state, chain(FUSED_MAX_INPUTS + 1, true)), 2);
}

/* --- products ------------------------------------------------------------------------------------------- */

static void test_a_matmul_is_the_first_step(void **state)
{
    assert_fuses(state,
                 "forge graph 1\n"
                 "%1 = input \"x\" : f32[2,4]\n"
                 "%2 = input \"w\" : f32[3,4]\n"
                 "%3 = input \"r\" : f32[2,3]\n"
                 "%4 = unary.exp(%3) : f32[2,3] @r\n"
                 "%5 = matmul(%1, %2) transpose_b : f32[2,3] @fc\n"
                 "%6 = binary.add(%4, %5) : f32[2,3] @sum\n"
                 "output \"y\" = %6\n",
                 "forge graph 1\n"
                 "body $0 {\n"
                 "  %1 = input \"0\" : f32[3,4]\n"
                 "  %2 = input \"1\" : f32[2,4]\n"
                 "  %3 = input \"2\" : f32[2,3]\n"
                 "  %4 = matmul(%2, %1) transpose_b : f32[2,3] @fc\n"
                 "  %5 = unary.exp(%3) : f32[2,3] @r\n"
                 "  %6 = binary.add(%5, %4) : f32[2,3] @sum\n"
                 "  output \"0\" = %6\n"
                 "}\n"
                 "%1 = input \"x\" : f32[2,4]\n"
                 "%2 = input \"w\" : f32[3,4]\n"
                 "%3 = input \"r\" : f32[2,3]\n"
                 "%4 = composite.fused_matmul(%2, %1, %3) code=[1045,2105,2114562] body=$0 : f32[2,3] @fc\n"
                 "output \"y\" = %4\n");
}

static void test_a_group_has_one_product(void **state)
{
    struct workbench *bench = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(8, 8));
    forge_value y = forge_input(b, "y", FORGE_F32, forge_shape_of(8, 8));
    forge_output(b, "z", forge_relu(b, forge_add(b, forge_matmul(b, x, y, 0), forge_matmul(b, y, x, 0))));
    workbench_load(bench, b);
    assert_int_equal(workbench_facts(bench).launches, 2);
    assert_non_null(workbench_launch(bench, "matmul"));
    assert_int_equal(workbench_launch(bench, "fused_matmul")->input_count, 3);
}

static void test_the_input_of_a_product_is_computed_first(void **state)
{
    assert_unchanged(state, "forge graph 1\n"
                            "%1 = input \"x\" : f32[8,8]\n"
                            "%2 = unary.exp(%1) : f32[8,8]\n"
                            "%3 = matmul(%2, %2) : f32[8,8]\n"
                            "output \"y\" = %3\n");
}

static void test_a_comparison_does_not_join_a_product(void **state)
{
    assert_unchanged(state, "forge graph 1\n"
                            "%1 = input \"x\" : f32[8,8]\n"
                            "%2 = matmul(%1, %1) : f32[8,8]\n"
                            "%3 = binary.gt(%2, %1) : bool[8,8]\n"
                            "output \"y\" = %3\n");
}

static void test_a_product_is_added_to_a_slot_in_place(void **state)
{
    struct workbench *bench = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(8, 8));
    forge_slot sum = forge_state(b, "sum", FORGE_F32, forge_shape_of(8, 8), (forge_init){0});
    forge_write(b, sum, forge_add(b, forge_read(b, sum), forge_matmul(b, x, x, 0)), true);
    workbench_load(bench, b);
    assert_int_equal(workbench_facts(bench).launches, 2);
}

static void test_a_slot_is_read_before_its_new_value_exists(void **state)
{
    assert_unchanged(state, "forge graph 1\n"
                            "slot \"w\" : f32[8] = constant(0)\n"
                            "%1 = input \"x\" : f32[8]\n"
                            "%2 = read \"w\" : f32[8]\n"
                            "%3 = binary.add(%1, %2) : f32[8]\n"
                            "%4 = unary.exp(%1) : f32[8]\n"
                            "%5 = unary.neg(%3) : f32[8]\n"
                            "output \"y\" = %5\n"
                            "write \"w\" = %4 in_place\n");
    assert_unchanged(state, "forge graph 1\n" /* also through a view */
                            "slot \"w\" : f32[8] = constant(0)\n"
                            "%1 = input \"x\" : f32[8]\n"
                            "%2 = read \"w\" : f32[8]\n"
                            "%3 = stop_gradient(%2) : f32[8]\n"
                            "%4 = binary.add(%1, %3) : f32[8]\n"
                            "%5 = unary.exp(%1) : f32[8]\n"
                            "%6 = unary.neg(%4) : f32[8]\n"
                            "output \"y\" = %6\n"
                            "write \"w\" = %5 in_place\n");
}

/* A transposed convolution with a stride is several products. */
static void test_a_transposed_conv_joins_if_it_has_no_stride(void **state)
{
    struct workbench *bench = *state;
    for (uint32_t stride = 1; stride <= 2; stride++) {
        forge_builder *b = forge_builder_new();
        forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(1, 4, 9, 9)),
                    w = forge_input(b, "w", FORGE_F32, forge_shape_of(4, 4, 3, 3));
        forge_conv_options options = {
            .struct_size = sizeof options, .is_transposed = true, .stride = {stride, stride}};
        forge_output(b, "y", forge_relu(b, forge_conv(b, x, w, &options)));
        workbench_load(bench, b);
        assert_int_equal(workbench_facts(bench).launches, stride);
    }
}

/* --- results -------------------------------------------------------------------------------------------- */

/* More elements than a tile, and inputs that are broadcast, transposed and reversed. */
static void test_views_of_inputs_are_read(void **state)
{
    enum { ROWS = 70, COLUMNS = 33 };
    struct workbench *bench = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(COLUMNS, ROWS)),
                row = forge_input(b, "row", FORGE_F32, forge_shape_of(COLUMNS));
    forge_value turned = forge_transpose(b, x, (uint32_t[]){1, 0});
    forge_value sum = forge_add(b, forge_unary(b, FORGE_SQUARE, turned), row);
    forge_output(b, "y", forge_mul(b, sum, turned));
    workbench_load(bench, b);
    assert_int_equal(workbench_facts(bench).launches, 1);
    float values[ROWS * COLUMNS], rows[COLUMNS], expected[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = (float)(i % 101) / 8;
    for (int i = 0; i < COLUMNS; i++)
        rows[i] = (float)i;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) {
            float v = values[c * ROWS + r], square = v * v;
            expected[r * COLUMNS + c] = (square + rows[c]) * v;
        }
    workbench_set(bench, "x", values);
    workbench_set(bench, "row", rows);
    workbench_run(bench);
    workbench_assert_output(bench, "y", expected, ROWS * COLUMNS);
}

static void test_joules_are_divided_among_the_scopes(void **state)
{
    struct workbench *bench = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(64));
    forge_scope_push(b, "block");
    forge_scope_push(b, "norm");
    x = forge_exp(b, forge_neg(b, x));
    forge_scope_pop(b);
    forge_scope_push(b, "act");
    x = forge_relu(b, x);
    forge_scope_pop(b);
    forge_scope_pop(b);
    forge_output(b, "y", forge_unary(b, FORGE_SQUARE, x));
    workbench_load(bench, b);
    const struct program_launch *launch = workbench_launch(bench, "fused");
    assert_int_equal(launch->origin_count, 3);
    assert_float_equal(workbench_part(bench, "block/norm"), 0.5, 1e-12);
    assert_float_equal(workbench_part(bench, "block/act"), 0.25, 1e-12);
    assert_float_equal(workbench_part(bench, "block"), 0.75, 1e-12);
    assert_float_equal(workbench_part(bench, "bl"), 0, 1e-12);
    assert_float_equal(workbench_part(bench, ""), 1, 1e-12);
    char *text = NULL;
    assert_ok(forge_program_print(bench->program, &text, &error), &error);
    assert_contains(text, "(block/norm 50 %, block/act 25 %, 25 %)");
    free(text);
}

static void test_wrong_code_is_refused(void **state)
{
    static const char *const codes[] = {"[]",        /* no step */
                                        "[17,0,17]", /* a gap */
                                        "[7]",       /* no such operation */
                                        "[1017]",    /* no such kind */
                                        "[1041]",    /* operand 1 of 1 input */
                                        "[16401]",   /* a step that comes later */
                                        "[131089]"}; /* a second operand of a unary operation */
    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        struct composite_attributes attributes = {.name = "fused"};
        struct fused fused;
        const char *at = codes[i] + 1;
        for (size_t k = 0; *at && *at != ']'; k++) {
            char *end;
            attributes.code[k] = (uint32_t)strtoul(at, &end, 10);
            at = *end == ',' ? end + 1 : end;
        }
        assert_false(fused_read(&attributes, 1, &fused));
    }
}

int main(void)
{
#define with_device(test) cmocka_unit_test_setup_teardown(test, workbench_set_up, workbench_tear_down)
    const struct CMUnitTest tests[] = {
        with_device(test_a_chain_becomes_one_node),
        with_device(test_a_value_with_two_readers_in_a_group_is_computed_once),
        with_device(test_a_value_that_is_needed_outside_stays),
        with_device(test_a_forward_value_does_not_move_to_the_backward_pass),
        with_device(test_smaller_values_are_inputs),
        with_device(test_operations_without_kernels_stay),
        with_device(test_large_groups_are_divided),
        with_device(test_a_matmul_is_the_first_step),
        with_device(test_a_group_has_one_product),
        with_device(test_the_input_of_a_product_is_computed_first),
        with_device(test_a_comparison_does_not_join_a_product),
        with_device(test_a_product_is_added_to_a_slot_in_place),
        with_device(test_a_slot_is_read_before_its_new_value_exists),
        with_device(test_a_transposed_conv_joins_if_it_has_no_stride),
        with_device(test_views_of_inputs_are_read),
        with_device(test_joules_are_divided_among_the_scopes),
        cmocka_unit_test(test_wrong_code_is_refused),
    };
    return cmocka_run_group_tests_name("fuse", tests, NULL, NULL);
}
