/* Checks the pass that chooses the layout of images: the graph before and after it, the borders of clusters,
 * and random networks of convolutions with packed images and with each other layout. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/nn.h>
#include "forge/compiler/pass.h"
#include "forge/ir/layout.h"
#include "forge/ir/program.h"
#include "support/check.h"
#include "support/graphs.h"
#include "support/side.h"
#include "support/views.h"
#include "support/workbench.h"

static joule_error error;

/* Returns the part of a graph's text after the bodies. */
static const char *after_bodies(const char *text)
{
    const char *at = text;
    for (const char *end; (end = strstr(at, "\n}\n"));)
        at = end + 3;
    return at;
}

/* Fails unless the pass makes `after` from `before`, apart from bodies, and the text of the new graph is read
 * again as the same graph. layout: NULL: the pass chooses. */
static void assert_lays(void **state, enum value_layout *layout, const char *before, const char *after)
{
    const struct workbench *bench = *state;
    char *text =
        text_after(graph_parsed(before), layout ? pass_given_layout : pass_layout, bench->device, layout);
    assert_string_equal(after_bodies(text), after);
    forge_graph *again = graph_parsed(text);
    char *second = graph_printed(again);
    assert_string_equal(second, text);
    free(text);
    free(second);
    forge_graph_free(again);
}

/* All passes of a compilation, without options, choose layouts. */
static void test_compilations_choose_layouts(void **state)
{
    const struct workbench *bench = *state;
    forge_graph *graph =
        graph_parsed("forge graph 1\n"
                     "slot \"v\" : f32[64,64,3,3] = constant(0)\n"
                     "%1 = input \"x\" : f32[4,64,56,56]\n"
                     "%2 = read \"v\" : f32[64,64,3,3]\n"
                     "%3 = conv(%1, %2) groups=1 stride=[1,1] dilation=[1,1] : f32[4,64,54,54]\n"
                     "%4 = conv(%3, %2) groups=1 stride=[1,1] dilation=[1,1] : f32[4,64,52,52]\n"
                     "%5 = reduce.mean(%4) axes=[2,3] : f32[4,64]\n"
                     "output \"y\" = %5\n");
    forge_graph *made = NULL;
    assert_ok(forge_passes_run(graph, bench->device, NULL, &made, &error), &error);
    assert_non_null(graph_composite(made, "layout_conv"));
    forge_graph_free(made);
    forge_graph_free(graph);
}

static void assert_unchanged(void **state, const char *text)
{
    assert_lays(state, NULL, text, text);
}

/* --- rules ---------------------------------------------------------------------------------------------- */

#define CONV " groups=1 stride=[1,1] dilation=[1,1]"

static void test_only_the_last_images_are_reordered(void **state)
{
    enum value_layout blocks = LAYOUT_BLOCKS;
    assert_lays(state, &blocks,
                "forge graph 1\n"
                "slot \"v\" : f32[16,16,1,1] = constant(0)\n"
                "slot \"w\" : f32[16,3,3,3] = constant(0)\n"
                "%1 = input \"x\" : f32[2,3,8,8]\n"
                "%2 = read \"w\" : f32[16,3,3,3]\n"
                "%3 = read \"v\" : f32[16,16,1,1]\n"
                "%4 = conv(%1, %2)" CONV " : f32[2,16,6,6] @first\n"
                "%5 = conv(%4, %3)" CONV " : f32[2,16,6,6] @second\n"
                "output \"y\" = %5\n",
                "slot \"v\" : f32[16,16,1,1] = constant(0)\n"
                "slot \"w\" : f32[16,3,3,3] = constant(0)\n"
                "%1 = input \"x\" : f32[2,3,8,8]\n"
                "%2 = read \"w\" : f32[16,3,3,3]\n"
                "%3 = read \"v\" : f32[16,16,1,1]\n"
                "%4 = composite.layout_conv(%1, %2) numbers=[0,2] code=[131078,1,1,1,0,1,1] body=$0 : "
                "f32[2,1,6,6,16] as blocks @first\n"
                "%5 = composite.layout_conv(%4, %3) numbers=[2,2] code=[131078,1,1,1,0,1,1] body=$1 : "
                "f32[2,1,6,6,16] as blocks @second\n"
                "%6 = composite.reorder(%5) numbers=[2,0,16] body=$2 : f32[2,16,6,6] @second\n"
                "output \"y\" = %6\n");
}

static void test_a_reduction_needs_no_reorder(void **state)
{
    enum value_layout last = LAYOUT_LAST;
    assert_lays(state, &last,
                "forge graph 1\n"
                "%1 = input \"x\" : f32[2,3,8,8]\n"
                "%2 = input \"w\" : f32[16,3,3,3]\n"
                "%3 = input \"z\" : f32[2,16,6,6]\n"
                "%4 = conv(%1, %2)" CONV " : f32[2,16,6,6]\n"
                "%5 = binary.add(%4, %3) : f32[2,16,6,6]\n"
                "%6 = window.maximum(%5) axes=[2,3] size=[0,0,2,2] stride=[0,0,2,2] dilation=[0,0,1,1] : "
                "f32[2,16,3,3]\n"
                "%7 = reduce.mean(%6) axes=[2,3] : f32[2,16]\n"
                "output \"y\" = %7\n",
                "%1 = input \"x\" : f32[2,3,8,8]\n"
                "%2 = input \"w\" : f32[16,3,3,3]\n"
                "%3 = input \"z\" : f32[2,16,6,6]\n"
                "%4 = composite.layout_conv(%1, %2) numbers=[0,1] code=[131078,1,1,1,0,1,1] body=$0 : "
                "f32[2,6,6,16] as last\n"
                "%5 = composite.reorder(%3) numbers=[0,1,16] body=$1 : f32[2,6,6,16] as last\n"
                "%6 = binary.add(%4, %5) : f32[2,6,6,16] as last\n"
                "%7 = window.maximum(%6) axes=[1,2] size=[0,2,2,0] stride=[0,2,2,0] dilation=[0,1,1,0] : "
                "f32[2,3,3,16] as last\n"
                "%8 = reduce.mean(%7) axes=[1,2] : f32[2,16]\n"
                "output \"y\" = %8\n");
}

static void test_images_with_two_kinds_of_readers_are_reordered_once(void **state)
{
    enum value_layout blocks = LAYOUT_BLOCKS;
    assert_lays(state, &blocks,
                "forge graph 1\n"
                "%1 = input \"x\" : f32[2,16,8,8]\n"
                "%2 = input \"w\" : f32[17,16,1,1]\n"
                "%3 = conv(%1, %2)" CONV " : f32[2,17,8,8]\n"
                "%4 = unary.relu(%3) : f32[2,17,8,8]\n"
                "%5 = reduce.sum(%3) axes=[1] : f32[2,8,8]\n"
                "%6 = reduce.sum(%3) axes=[2] : f32[2,17,8]\n"
                "output \"a\" = %3\n"
                "output \"b\" = %4\n"
                "output \"c\" = %5\n"
                "output \"d\" = %6\n",
                "%1 = input \"x\" : f32[2,16,8,8]\n"
                "%2 = input \"w\" : f32[17,16,1,1]\n"
                "%3 = composite.layout_conv(%1, %2) numbers=[0,2] code=[131078,1,1,1,0,1,1] body=$0 : "
                "f32[2,2,8,8,16] as blocks\n"
                "%4 = composite.reorder(%3) numbers=[2,0,17] body=$1 : f32[2,17,8,8]\n"
                "%5 = unary.relu(%3) : f32[2,2,8,8,16] as blocks\n"
                "%6 = composite.reorder(%5) numbers=[2,0,17] body=$2 : f32[2,17,8,8]\n"
                "%7 = reduce.sum(%4) axes=[1] : f32[2,8,8]\n"
                "%8 = reduce.sum(%4) axes=[2] : f32[2,17,8]\n"
                "output \"a\" = %4\n"
                "output \"b\" = %6\n"
                "output \"c\" = %7\n"
                "output \"d\" = %8\n");
}

static void test_images_are_reordered_before_a_transfer(void **state)
{
    enum value_layout blocks = LAYOUT_BLOCKS;
    assert_lays(state, &blocks,
                "forge graph 1\n"
                "%1 = input \"x\" : f32[2,16,8,8] on a\n"
                "%2 = input \"w\" : f32[17,16,1,1] on a\n"
                "%3 = conv(%1, %2)" CONV " : f32[2,17,8,8] on a\n"
                "%4 = transfer(%3) : f32[2,17,8,8] on b\n"
                "output \"y\" = %4\n",
                "%1 = input \"x\" : f32[2,16,8,8] on a\n"
                "%2 = input \"w\" : f32[17,16,1,1] on a\n"
                "%3 = composite.layout_conv(%1, %2) numbers=[0,2] code=[131078,1,1,1,0,1,1] body=$0 : "
                "f32[2,2,8,8,16] as blocks on a\n"
                "%4 = composite.reorder(%3) numbers=[2,0,17] body=$1 : f32[2,17,8,8] on a\n"
                "%5 = transfer(%4) : f32[2,17,8,8] on b\n"
                "output \"y\" = %5\n");
}

static void test_small_convolutions_stay_packed(void **state)
{
    assert_unchanged(state, "forge graph 1\n"
                            "%1 = input \"x\" : f32[1,4,8,8]\n"
                            "%2 = input \"w\" : f32[4,4,1,1]\n"
                            "%3 = conv(%1, %2)" CONV " : f32[1,4,8,8]\n"
                            "output \"y\" = %3\n");
}

static void test_large_convolutions_use_blocks(void **state)
{
    assert_lays(state, NULL,
                "forge graph 1\n"
                "symbol B : 1..8\n"
                "slot \"v\" : f32[64,64,3,3] = constant(0)\n"
                "slot \"w\" : f32[64,3,3,3] = constant(0)\n"
                "%1 = input \"x\" : f32[B,3,56,56]\n"
                "%2 = read \"w\" : f32[64,3,3,3]\n"
                "%3 = read \"v\" : f32[64,64,3,3]\n"
                "%4 = conv(%1, %2)" CONV " : f32[B,64,54,54]\n"
                "%5 = conv(%4, %3)" CONV " : f32[B,64,52,52]\n"
                "%6 = reduce.mean(%5) axes=[2,3] : f32[B,64]\n"
                "output \"y\" = %6\n",
                "slot \"v\" : f32[64,64,3,3] = constant(0)\n"
                "slot \"w\" : f32[64,3,3,3] = constant(0)\n"
                "%1 = input \"x\" : f32[B,3,56,56]\n"
                "%2 = read \"w\" : f32[64,3,3,3]\n"
                "%3 = read \"v\" : f32[64,64,3,3]\n"
                "%4 = composite.layout_conv(%1, %2) numbers=[0,2] code=[131078,1,1,1,0,1,1] body=$0 : "
                "f32[B,4,54,54,16] as blocks\n"
                "%5 = composite.layout_conv(%4, %3) numbers=[2,2] code=[131078,1,1,1,0,1,1] body=$1 : "
                "f32[B,4,52,52,16] as blocks\n"
                "%6 = reduce.mean(%5) axes=[2,3] : f32[B,4,16]\n"
                "%7 = reshape(%6) : f32[B,64]\n"
                "output \"y\" = %7\n");
}

/* --- checks --------------------------------------------------------------------------------------------- */

static void assert_refused(const char *text, const char *words)
{
    forge_graph *graph = NULL;
    assert_int_equal(forge_graph_parse(text, strlen(text), &graph, &error), JOULE_INVALID);
    assert_contains(error.message, words);
}

#define TO_BLOCKS                                                                                            \
    "forge graph 1\n"                                                                                        \
    "body $0 {\n"                                                                                            \
    "  %1 = input \"0\" : f32[2,16,3,3]\n"                                                                   \
    "  %2 = reshape(%1) : f32[2,1,16,3,3]\n"                                                                 \
    "  %3 = transpose(%2) order=[0,1,3,4,2] : f32[2,1,3,3,16]\n"                                             \
    "  output \"0\" = %3\n"                                                                                  \
    "}\n"                                                                                                    \
    "%1 = input \"x\" : f32[2,16,3,3]\n"                                                                     \
    "%2 = input \"y\" : f32[2,1,3,3,16]\n"                                                                   \
    "%3 = composite.reorder(%1) numbers=[0,2,16] body=$0 : f32[2,1,3,3,16] as blocks\n"

static void test_operations_without_layouts_are_refused(void **state)
{
    (void)state;
    assert_refused(TO_BLOCKS "%4 = concat(%3, %3) axis=0 : f32[4,1,3,3,16]\n",
                   "it does not support the layout blocks");
    assert_refused(
        TO_BLOCKS "%4 = composite.reorder(%3) numbers=[1,2,16] body=$0 : f32[2,1,3,3,16] as blocks\n", "");
    assert_refused(TO_BLOCKS "%4 = unary.relu(%3) : f32[2,1,3,3,16]\n", "as blocks, the result of unary");
    assert_refused(TO_BLOCKS "%4 = unary.relu(%3) : f32[2,1,3,3,16] as bricks\n", "a layout");
}

static void test_outputs_are_packed(void **state)
{
    (void)state;
    forge_graph *graph = graph_parsed(TO_BLOCKS "output \"z\" = %3\n");
    assert_int_equal(graph_verify(graph, &error), JOULE_FAILED);
    assert_contains(error.message, "output 'z' is in the layout blocks");
    forge_graph_free(graph);
}

/* --- random networks ------------------------------------------------------------------------------------ */

/* A network under construction. */
struct net {
    forge_builder *b;
    forge_value values[16]; /* images, from the first to the last */
    size_t count;
    unsigned names;
};

static forge_value parameter(struct net *net, forge_shape shape, double deviation)
{
    char name[16];
    snprintf(name, sizeof name, "p%u", net->names++);
    return forge_parameter(net->b, name, FORGE_F32, shape, (forge_init){FORGE_INIT_NORMAL, 0, deviation});
}

static forge_value add_conv(struct net *net, forge_value x)
{
    static const int64_t channels[] = {3, 8, 16, 17, 32, 48};
    forge_shape shape = forge_value_shape(net->b, x);
    int64_t out = channels[pick(0, 5)], rows = pick(1, 3), columns = pick(1, 3);
    uint32_t groups = out % 16 == 0 && shape.dims[1] % 32 == 0 && pick(0, 1) ? 2 : 1;
    forge_conv_options o = {.struct_size = sizeof o, .groups = groups};
    for (int k = 0; k < 2; k++) {
        o.stride[k] = (uint32_t)pick(1, 2);
        o.dilation[k] = (uint32_t)pick(1, 2);
        o.padding_before[k] = o.padding_after[k] = (uint32_t)pick(k ? columns : rows, 4);
    }
    int64_t in = shape.dims[1] / groups;
    double depth = (double)(in * rows * columns);
    return forge_conv(net->b, x, parameter(net, forge_shape_of(out, in, rows, columns), 1 / sqrt(depth)), &o);
}

/* Adds a number for each channel, or multiplies by it. */
static forge_value add_channels(struct net *net, forge_value x)
{
    forge_shape shape = forge_value_shape(net->b, x);
    forge_shape vector =
        pick(0, 1) ? forge_shape_of(shape.dims[1], 1, 1) : forge_shape_of(1, shape.dims[1], 1, 1);
    forge_value y = parameter(net, vector, 1);
    return pick(0, 1) ? forge_add(net->b, y, x) : forge_mul(net->b, x, y);
}

static forge_value add_pool(struct net *net, forge_value x)
{
    const forge_window window = {.size = 3, .stride = 2, .before = 1, .after = 1},
                       windows[] = {window, window};
    return forge_window_reduce(net->b, pick(0, 1) ? FORGE_MAXIMUM : FORGE_MEAN, x, 12, windows, pick(0, 1));
}

/* Adds earlier images of the same shape if there are any. */
static forge_value add_residual(struct net *net, forge_value x)
{
    forge_shape shape = forge_value_shape(net->b, x);
    for (size_t i = 0; i < net->count; i++) {
        forge_shape other = forge_value_shape(net->b, net->values[i]);
        if (forge_shape_equal(&shape, &other) && net->values[i] != x)
            return forge_add(net->b, x, net->values[i]);
    }
    return x;
}

static forge_value add_any(struct net *net, forge_value x)
{
    switch (pick(0, 6)) {
    case 0:
        return add_channels(net, x);
    case 1:
        return forge_relu(net->b, x);
    case 2:
        return forge_unary(net->b, FORGE_SIGMOID, x);
    case 3:
        return add_pool(net, x);
    case 4:
        return add_residual(net, x);
    default:
        return add_conv(net, x);
    }
}

/* Returns a network of up to 12 operations on images. Some images are outputs, and some are reduced to one
 * number for each channel. */
static forge_graph *random_net(void)
{
    static const int64_t channels[] = {1, 3, 16, 17, 32};
    struct net net = {.b = forge_builder_new()};
    forge_value x = forge_input(net.b, "x", FORGE_F32,
                                forge_shape_of(pick(1, 3), channels[pick(0, 4)], pick(4, 12), pick(4, 12)));
    for (net.values[net.count++] = x; net.count < 12;) {
        x = add_any(&net, pick(0, 4) ? x : net.values[pick(0, (int64_t)net.count - 1)]);
        net.values[net.count++] = x;
        char name[16];
        snprintf(name, sizeof name, "y%zu", net.count);
        if (pick(0, 5) == 0)
            forge_output(net.b, name, pick(0, 1) ? x : forge_reduce(net.b, FORGE_MEAN, x, 12, pick(0, 1)));
    }
    forge_output(net.b, "last", forge_reduce(net.b, FORGE_MEAN, x, 12, false));
    return graph_of(net.b);
}

static struct side load_with(forge_device *device, const forge_graph *graph, enum value_layout *layout)
{
    const forge_pass pass = {.name = "force", .after = "fuse", .run = pass_given_layout, .context = layout};
    const forge_compile_options options = {
        .struct_size = sizeof options, .skip = "layout", .passes = &pass, .pass_count = layout ? 1 : 0};
    return side_load(device, graph, &options);
}

/* Compares all outputs. The order of the sums of a convolution differs, so a result may differ by the
 * rounding of its terms: here by `bound` of the largest element, or of `least` if that is larger. */
static void compare_nearly(const struct side *a, const struct side *b, const forge_graph *graph,
                           const char *what, float least, float bound)
{
    for (size_t i = 0; i < graph->output_count; i++) {
        forge_tensor x, y;
        float most = least;
        assert_int_equal(forge_instance_get(a->instance, graph->outputs[i].name, &x, NULL), JOULE_OK);
        assert_int_equal(forge_instance_get(b->instance, graph->outputs[i].name, &y, NULL), JOULE_OK);
        const float *of_x = forge_tensor_data(&x), *of_y = forge_tensor_data(&y);
        for (size_t k = 0; k < forge_tensor_elements(&x); k++)
            most = fmaxf(most, fabsf(of_x[k]));
        for (size_t k = 0; k < forge_tensor_elements(&x); k++)
            if (!(fabsf(of_x[k] - of_y[k]) <= most * bound))
                fail_msg("%s: element %zu of '%s' is %g, not %g, and the largest is %g", what, k,
                         graph->outputs[i].name, (double)of_y[k], (double)of_x[k], (double)most);
    }
}

static void test_random_networks_compute_the_same(void **state)
{
    const struct workbench *bench = *state;
    size_t convs = 0;
    for (int seed = 0; seed < 60; seed++) {
        forge_graph *graph = random_net();
        char what[20];
        snprintf(what, sizeof what, "network %d", seed);
        struct side packed = load_with(bench->device, graph, NULL);
        side_run(&packed, graph, 0);
        for (enum value_layout layout = LAYOUT_LAST; layout < LAYOUT_COUNT; layout++) {
            struct side laid = load_with(bench->device, graph, &layout);
            for (int is_repacked = 0; is_repacked < 2; is_repacked++) {
                side_run(&laid, graph, 0);
                compare_nearly(&packed, &laid, graph, what, 1, 0x1p-17F);
                assert_ok(forge_instance_repack(laid.instance, NULL, &error), &error);
            }
            side_unload(&laid);
        }
        forge_graph *made = NULL;
        assert_ok(pass_given_layout(graph, bench->device, &(enum value_layout){LAYOUT_BLOCKS}, &made, &error),
                  &error);
        convs += graph_composites(made, "layout_conv");
        forge_graph_free(made);
        side_unload(&packed);
        forge_graph_free(graph);
    }
    assert_true(convs > 60); /* the networks are not all left packed */
}

/* --- a real network ------------------------------------------------------------------------------------- */

static size_t count_launches(const forge_program *program, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < program->launches.count; i++)
        count += strcmp(program_launch_name(program, &program_launches(program)[i]), name) == 0;
    return count;
}

static void test_resnet18_computes_the_same(void **state)
{
    const struct workbench *bench = *state;
    forge_builder *b = forge_builder_new();
    forge_resnet_options options = {.struct_size = sizeof options, .depth = 18, .classes = 10};
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 3, 64, 64));
    forge_output(b, "y", forge_resnet(b, NULL, x, &options));
    forge_graph *graph = graph_of(b);
    struct side packed = side_load_without(bench->device, graph, "layout"),
                laid = side_load(bench->device, graph, NULL);
    assert_int_equal(count_launches(packed.program, "layout_conv"), 0);
    assert_true(count_launches(laid.program, "layout_conv") > 0);
    side_run(&packed, graph, 0);
    side_run(&laid, graph, 0);
    compare_nearly(&packed, &laid, graph, "ResNet-18", 0, 0x1p-15F);
    side_unload(&packed);
    side_unload(&laid);
    forge_graph_free(graph);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workbench_set_up, workbench_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_compilations_choose_layouts),
        TEST(test_only_the_last_images_are_reordered),
        TEST(test_a_reduction_needs_no_reorder),
        TEST(test_images_with_two_kinds_of_readers_are_reordered_once),
        TEST(test_images_are_reordered_before_a_transfer),
        TEST(test_small_convolutions_stay_packed),
        TEST(test_large_convolutions_use_blocks),
        TEST(test_operations_without_layouts_are_refused),
        TEST(test_outputs_are_packed),
        TEST(test_random_networks_compute_the_same),
        TEST(test_resnet18_computes_the_same),
    };
    return cmocka_run_group_tests_name("layout", tests, NULL, NULL);
}
