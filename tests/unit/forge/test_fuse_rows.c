/* Checks the pass that joins elementwise operations with a row operation: a softmax, a normalisation or a
 * reduction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/compiler.h>
#include <forge/nn.h>
#include "forge/compiler/pass.h"
#include "forge/hal/backend.h"
#include "forge/ir/fused.h"
#include "forge/ir/library.h"
#include "forge/ir/program.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/graphs.h"
#include "support/side.h"
#include "support/workbench.h"

enum { ROWS = 3, COUNT = 40 };

static forge_value rows_input(forge_builder *b, const char *name)
{
    return forge_input(b, name, FORGE_F32, forge_shape_of(ROWS, COUNT));
}

/* The price of a byte, in joules; time costs nothing if it is 0. */
static double byte_joules = 1e-9, watts;

static joule_status fake_rates(forge_device *device, struct device_rates *out_rates, joule_error *out_error)
{
    (void)device, (void)out_error;
    *out_rates = (struct device_rates){.cores = 1, .llc_bytes = 1e9, .static_watts = watts};
    for (int level = 0; level < RATE_LEVELS; level++) {
        out_rates->core_bytes_per_s[level] = 1e9;
        out_rates->byte_joules[level] = byte_joules;
    }
    return JOULE_OK;
}

/* Returns the graph after the pass on a device with fake prices, and frees `graph`. */
static forge_graph *fuse(const struct workbench *bench, forge_graph *graph)
{
    const struct device_ops *own = bench->device->ops;
    struct device_ops ops = *own;
    ops.rates = fake_rates;
    bench->device->ops = &ops;
    forge_graph *made = graph_after(graph, pass_fuse, bench->device, NULL);
    bench->device->ops = own;
    return made;
}

/* Returns the number of nodes other than inputs and leaves. */
static size_t work_nodes(const forge_graph *graph)
{
    size_t count = 0;
    for (size_t n = 0; n < graph->node_count; n++)
        count += graph->nodes[n].input_count > 0;
    return count;
}

/* Fails unless the graph of `b` becomes one composite with these steps: 'e' for an elementwise one, 'r' for
 * the row operation. */
static void assert_steps(void **state, forge_builder *b, const char *steps)
{
    forge_graph *made = fuse(*state, graph_of(b));
    const struct node *node = graph_composite(made, "fused_rows");
    struct fused fused;
    assert_non_null(node);
    assert_int_equal(work_nodes(made), 1);
    assert_true(fused_read(node->attributes, node->input_count, &fused));
    assert_int_equal(fused.count, strlen(steps));
    for (uint32_t i = 0; i < fused.count; i++)
        assert_int_equal(fused_is_row((enum op)fused.steps[i].op), steps[i] == 'r');
    assert_int_equal(node->output_count, 1);
    forge_graph_free(made);
}

static void assert_stays(void **state, forge_builder *b)
{
    forge_graph *made = fuse(*state, graph_of(b));
    assert_null(graph_composite(made, "fused_rows"));
    forge_graph_free(made);
}

/* --- rules ---------------------------------------------------------------------------------------------- */

static void test_neighbours_join_a_softmax(void **state)
{
    forge_builder *b = forge_builder_new();
    forge_value x = forge_mul(b, rows_input(b, "x"), forge_scalar(b, FORGE_F32, 0.5));
    x = forge_softmax(b, forge_add(b, x, rows_input(b, "mask")));
    forge_output(b, "y", forge_mul(b, x, rows_input(b, "keep")));
    assert_steps(state, b, "eere");
}

static void test_neighbours_join_a_norm(void **state)
{
    forge_builder *b = forge_builder_new();
    forge_value weight = forge_input(b, "weight", FORGE_F32, forge_shape_of(COUNT));
    struct composite_attributes norm = {.name = "rms_norm", .reals = {1e-5}, .numbers = {1}};
    forge_value x = forge_add(b, rows_input(b, "x"), rows_input(b, "residual"));
    x = library_composite(b, &norm, (forge_value[]){x, weight}, 2);
    forge_output(b, "y", forge_relu(b, x));
    assert_steps(state, b, "ere");
}

static void test_an_operand_joins_a_reduction(void **state)
{
    forge_builder *b = forge_builder_new();
    forge_value difference = forge_sub(b, rows_input(b, "x"), rows_input(b, "y"));
    forge_value square = forge_unary(b, FORGE_SQUARE, difference);
    forge_output(b, "loss", forge_reduce(b, FORGE_MEAN, square, 3, false));
    assert_steps(state, b, "eer");
    b = forge_builder_new();
    square = forge_unary(b, FORGE_SQUARE, rows_input(b, "x"));
    forge_value sum = forge_reduce(b, FORGE_SUM, square, 2, true);
    forge_output(b, "y", forge_unary(b, FORGE_SQRT, sum)); /* small, and not a part of the group */
    forge_graph *made = fuse(*state, graph_of(b));
    assert_int_equal(work_nodes(made), 2);
    assert_int_equal(graph_composite(made, "fused_rows")->input_count, 1);
    forge_graph_free(made);
}

static void test_a_reduction_of_columns_stays(void **state)
{
    forge_builder *b = forge_builder_new();
    forge_output(b, "y", forge_reduce(b, FORGE_SUM, forge_exp(b, rows_input(b, "x")), 1, false));
    assert_stays(state, b);
}

static void test_an_operand_that_is_needed_elsewhere_stays(void **state)
{
    forge_builder *b = forge_builder_new();
    forge_value x = forge_exp(b, rows_input(b, "x"));
    forge_output(b, "e", x);
    forge_output(b, "y", forge_softmax(b, x));
    assert_stays(state, b);
}

/* A value that is read before and after the row operation is computed twice. */
static void test_a_value_on_both_sides_joins(void **state)
{
    forge_builder *b = forge_builder_new();
    forge_value x = forge_exp(b, rows_input(b, "x"));
    forge_output(b, "y", forge_add(b, forge_softmax(b, x), x));
    assert_steps(state, b, "ere");
}

static void test_a_group_has_one_row_operation(void **state)
{
    forge_builder *b = forge_builder_new();
    forge_value x = forge_softmax(b, rows_input(b, "x"));
    forge_output(b, "y", forge_softmax(b, forge_exp(b, x)));
    forge_graph *made = fuse(*state, graph_of(b));
    assert_int_equal(work_nodes(made), 2);
    forge_graph_free(made);
}

/* --- batch norm ----------------------------------------------------------------------------------------- */

static forge_value image_input(forge_builder *b, const char *name)
{
    return forge_input(b, name, FORGE_F32, forge_shape_of(2, 4, 16, 18));
}

/* Returns the names of the work nodes in order, separated by spaces. */
static void names_of(const forge_graph *graph, char *text, size_t size)
{
    text[0] = 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct node *node = &graph->nodes[n];
        const char *name = node->op == OP_COMPOSITE
                               ? ((const struct composite_attributes *)node->attributes)->name
                               : op_name((enum op)node->op);
        if (node->input_count > 0)
            snprintf(text + strlen(text), size - strlen(text), "%s ", name);
    }
}

/* The running statistics read the mean and the variance, so they are computed after the composite. */
static void test_an_activation_joins_the_training_of_a_batch_norm(void **state)
{
    forge_builder *b = forge_builder_new();
    forge_value y = forge_batch_norm(b, "norm", image_input(b, "x"), 0.1, 1e-5, true);
    forge_output(b, "y", forge_relu(b, forge_add(b, y, image_input(b, "residual"))));
    forge_graph *made = fuse(*state, graph_of(b));
    char text[200];
    names_of(made, text, sizeof text);
    assert_string_equal(text, "fused_rows fused fused fused binary ");
    assert_int_equal(graph_composite(made, "fused_rows")->output_count, 3);
    forge_graph_free(made);
}

/* The residual is computed after the updates of the running statistics, so the composite would be too late
 * for them. */
static void test_a_batch_norm_stays_before_the_readers_of_its_statistics(void **state)
{
    forge_builder *b = forge_builder_new();
    forge_value y = forge_batch_norm(b, "norm", image_input(b, "x"), 0.1, 1e-5, true);
    forge_value residual = forge_unary(b, FORGE_SIN, image_input(b, "residual")); /* no kernel for a group */
    forge_output(b, "y", forge_relu(b, forge_add(b, y, residual)));
    forge_graph *made = fuse(*state, graph_of(b));
    assert_null(graph_composite(made, "fused_rows"));
    forge_graph_free(made);
}

static void test_a_reader_of_the_mean_does_not_join(void **state)
{
    forge_builder *b = forge_builder_new();
    struct composite_attributes norm = {.name = "batch_norm_training", .reals = {1e-5}};
    forge_shape channels = forge_shape_of(4);
    forge_value out[3], in[] = {image_input(b, "x"), forge_input(b, "w", FORGE_F32, channels),
                                forge_input(b, "b", FORGE_F32, channels)};
    library_composite_many(b, &norm, in, 3, out);
    forge_value mean = forge_reshape(b, out[1], forge_shape_of(4, 1, 1));
    forge_output(b, "y", forge_add(b, out[0], mean));
    assert_stays(state, b);
}

/* Calls of the steps for each run cost time, and so joules. */
static void test_a_batch_norm_is_joined_only_if_this_saves_joules(void **state)
{
    for (int is_cheap = 0; is_cheap < 2; is_cheap++) {
        forge_builder *b = forge_builder_new();
        forge_value y = forge_batch_norm(b, "norm", image_input(b, "x"), 0.1, 1e-5, true);
        forge_output(b, "y", forge_relu(b, y));
        watts = is_cheap ? 0.001 : 1000;
        forge_graph *made = fuse(*state, graph_of(b));
        watts = 0;
        assert_true(!graph_composite(made, "fused_rows") == !is_cheap);
        forge_graph_free(made);
    }
}

/* --- results -------------------------------------------------------------------------------------------- */

/* Returns `x` after some random elementwise operations. */
static forge_value steps_on(forge_builder *b, forge_value x, const forge_value *others)
{
    static const forge_unary_kind unaries[] = {FORGE_RELU, FORGE_TANH, FORGE_SQUARE, FORGE_NEG};
    for (uint64_t i = chance_bits() % 4; i > 0; i--) {
        forge_value other = others[chance_bits() % 4];
        switch (chance_bits() % 4) {
        case 0:
            x = forge_unary(b, unaries[chance_bits() % 4], x);
            break;
        case 1:
            x = forge_select(b, forge_binary(b, FORGE_GT, x, other), x, other);
            break;
        case 2:
            x = forge_mul(b, x, other);
            break;
        default:
            x = forge_add(b, other, x);
        }
    }
    return x;
}

/* Returns the gradient of x in a random row operation on it. */
static forge_value gradient_of(forge_builder *b, forge_value x, const forge_value *parameters)
{
    static const char *const names[] = {"softmax", "log_softmax", "layer_norm", "rms_norm",
                                        "batch_norm_training"};
    static const size_t counts[] = {1, 1, 3, 2, 3};
    uint64_t kind = chance_bits() % 5;
    struct composite_attributes a = {.reals = {1e-3}};
    const forge_value *own = kind == 4 ? parameters + 2 : parameters;
    forge_value out[3] = {0}, in[] = {x, own[0], own[1]}, gradients[3];
    forge_value g = forge_mul(b, parameters[4], forge_relu(b, parameters[4]));
    strcpy(a.name, names[kind]);
    a.numbers[0] = kind == 2 || kind == 3;
    library_composite_many(b, &a, in, counts[kind], out);
    forge_value loss = forge_reduce(b, FORGE_SUM, forge_mul(b, out[0], g), 7, false);
    forge_gradients(b, loss, in, counts[kind], gradients);
    for (size_t i = 1; i < counts[kind]; i++)
        forge_output(b, i == 1 ? "of_weight" : "of_bias", gradients[i]);
    return gradients[0];
}

/* Returns a random row operation on x, [n, channels, count], and notes its further results as outputs. */
static forge_value row_of(forge_builder *b, forge_value x, const forge_value *parameters)
{
    struct composite_attributes norm = {.name = "layer_norm", .reals = {1e-3}, .numbers = {1}};
    forge_value out[3], in[] = {x, parameters[0], parameters[1]};
    uint64_t kind = chance_bits() % 7;
    if (chance_bits() % 3 == 0)
        return gradient_of(b, x, parameters);
    if (kind == 0)
        return forge_softmax(b, x);
    if (kind == 1)
        return forge_log_softmax(b, x);
    if (kind == 2)
        return library_composite(b, &norm, in, 2 + chance_bits() % 2);
    if (kind == 3) {
        strcpy(norm.name, "rms_norm");
        return library_composite(b, &norm, in, 2);
    }
    if (kind < 6)
        return forge_reduce(b, (forge_reduce_kind)(chance_bits() % 4), x, kind == 4 ? 4 : 6, true);
    memset(norm.name, 0, sizeof norm.name);
    strcpy(norm.name, "batch_norm_training");
    norm.numbers[0] = 0;
    in[1] = parameters[2];
    in[2] = parameters[3];
    library_composite_many(b, &norm, in, 3, out);
    forge_output(b, "mean", out[1]);
    forge_output(b, "variance", out[2]);
    return out[0];
}

static forge_graph *random_rows(uint64_t seed)
{
    chance_seed(seed);
    forge_builder *b = forge_builder_new();
    int64_t n = 1 + (int64_t)(chance_bits() % 3), channels = 1 + (int64_t)(chance_bits() % 5),
            count = 30 + (int64_t)(chance_bits() % (seed % 8 == 0 ? 3000 : 60));
    forge_shape shape = forge_shape_of(n, channels, count), row = forge_shape_of(count),
                channel = forge_shape_of(channels);
    forge_value turned = forge_input(b, "turned", FORGE_F32, forge_shape_of(count, channels, n));
    forge_value others[] = {forge_input(b, "whole", FORGE_F32, shape), forge_input(b, "row", FORGE_F32, row),
                            forge_input(b, "line", FORGE_F32, forge_shape_of(channels, 1)),
                            forge_transpose(b, turned, (uint32_t[]){2, 1, 0})};
    forge_value parameters[] = {
        forge_input(b, "weight", FORGE_F32, row), forge_input(b, "bias", FORGE_F32, row),
        forge_input(b, "scale", FORGE_F32, channel), forge_input(b, "shift", FORGE_F32, channel),
        forge_input(b, "g", FORGE_F32, shape)};
    forge_value x = steps_on(b, forge_input(b, "x", FORGE_F32, shape), others);
    x = steps_on(b, row_of(b, x, parameters), others);
    forge_output(b, "y", chance_bits() % 4 ? x : forge_binary(b, FORGE_LT, x, others[0]));
    return graph_of(b);
}

static void test_results_have_the_same_bits(void **state)
{
    struct workbench *bench = *state;
    size_t fused_rows = 0;
    const struct device_ops *own = bench->device->ops;
    struct device_ops ops = *own;
    ops.rates = fake_rates;
    bench->device->ops = &ops;
    for (uint64_t seed = 0; seed < 400; seed++) {
        forge_graph *graph = random_rows(seed);
        struct side all = side_load(bench->device, graph, NULL);
        struct side less = side_load_without(bench->device, graph, "fuse");
        side_run_both(&all, &less, graph, 1, seed);
        const struct program_launch *launches = program_launches(all.program);
        for (size_t i = 0; i < all.program->launches.count; i++)
            fused_rows += strcmp(program_launch_name(all.program, &launches[i]), "fused_rows") == 0;
        side_unload(&all);
        side_unload(&less);
        forge_graph_free(graph);
    }
    bench->device->ops = own;
    assert_true(fused_rows > 150);
}

/* The kernel of a row operation takes few computed operands: x, weight and bias are more. */
static void test_a_norm_of_three_computed_operands_runs(void **state)
{
    struct workbench *bench = *state;
    forge_builder *b = forge_builder_new();
    struct composite_attributes norm = {.name = "layer_norm", .reals = {1e-5}, .numbers = {1}};
    forge_value in[3];
    for (int i = 0; i < 3; i++) {
        char name[2] = {(char)('x' + i)};
        in[i] = forge_exp(b, forge_input(b, name, FORGE_F32, forge_shape_of(COUNT)));
    }
    forge_output(b, "out", forge_relu(b, library_composite(b, &norm, in, 3)));
    forge_graph *graph = graph_of(b);
    struct side all = side_load(bench->device, graph, NULL);
    struct side less = side_load_without(bench->device, graph, "fuse");
    side_run_both(&all, &less, graph, 1, 0);
    side_unload(&all);
    side_unload(&less);
    forge_graph_free(graph);
}

static void test_joules_are_divided_among_the_scopes(void **state)
{
    struct workbench *bench = *state;
    forge_builder *b = forge_builder_new();
    forge_scope_push(b, "scale");
    forge_value x = forge_mul(b, rows_input(b, "x"), rows_input(b, "s"));
    forge_scope_pop(b);
    forge_scope_push(b, "softmax");
    x = forge_softmax(b, x);
    forge_scope_pop(b);
    forge_output(b, "y", x);
    workbench_load(bench, b);
    assert_int_equal(workbench_launch(bench, "fused_rows")->origin_count, 2);
    double scale = workbench_part(bench, "scale"), softmax = workbench_part(bench, "softmax");
    assert_float_equal(scale + softmax, 1, 1e-12);
    assert_true(scale > 0 && softmax > 2 * scale);
}

static void test_wrong_code_is_refused(void **state)
{
    static const uint32_t codes[][6] = {
        {7, 0, 0},                       /* no operand */
        {7, 1, 1},                       /* axes for a softmax */
        {7 + (5 << 3), 1, 0},            /* no such row operation */
        {7 + (68 << 3), 2, 2},           /* a reduction of two operands */
        {7 + (70 << 3), 1, 2},           /* no such reduction */
        {7, 1 + (1 << 3), 0},            /* an operand too many */
        {7, 1, 0, 7 + (16 << 10), 1, 0}, /* two row operations */
        {7 + (16 << 10), 1, 0},          /* its own value */
    };
    static const uint32_t right[] = {7, 1, 0};
    (void)state;
    struct composite_attributes attributes = {.name = "fused_rows"};
    struct fused fused;
    memcpy(attributes.code, right, sizeof right);
    assert_true(fused_read(&attributes, 1, &fused));
    assert_int_equal(fused_product(&fused), 0);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        memcpy(attributes.code, codes[i], sizeof codes[i]);
        assert_false(fused_read(&attributes, 1, &fused));
    }
}

int main(void)
{
#define with_device(test) cmocka_unit_test_setup_teardown(test, workbench_set_up, workbench_tear_down)
    const struct CMUnitTest tests[] = {
        with_device(test_neighbours_join_a_softmax),
        with_device(test_neighbours_join_a_norm),
        with_device(test_an_operand_joins_a_reduction),
        with_device(test_a_reduction_of_columns_stays),
        with_device(test_an_operand_that_is_needed_elsewhere_stays),
        with_device(test_a_value_on_both_sides_joins),
        with_device(test_a_group_has_one_row_operation),
        with_device(test_an_activation_joins_the_training_of_a_batch_norm),
        with_device(test_a_batch_norm_stays_before_the_readers_of_its_statistics),
        with_device(test_a_reader_of_the_mean_does_not_join),
        with_device(test_a_batch_norm_is_joined_only_if_this_saves_joules),
        with_device(test_results_have_the_same_bits),
        with_device(test_a_norm_of_three_computed_operands_runs),
        with_device(test_joules_are_divided_among_the_scopes),
        cmocka_unit_test(test_wrong_code_is_refused),
    };
    return cmocka_run_group_tests_name("fuse rows", tests, NULL, NULL);
}
