/* Checks the pass that writes operations in forms that the pass `fuse` can join. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/compiler.h>
#include "forge/compiler/pass.h"
#include "forge/ir/library.h"
#include "support/check.h"
#include "support/graphs.h"
#include "support/workbench.h"

static void assert_makes(void **state, const char *before, const char *after)
{
    struct workbench *bench = *state;
    assert_pass_makes(pass_regroup, bench->device, NULL, before, after);
}

/* --- reshapes ------------------------------------------------------------------------------------------- */

static void test_a_reshape_moves_behind_elementwise_operations(void **state)
{
    assert_makes(state,
                 "forge graph 1\n"
                 "%1 = input \"x\" : f32[6,4]\n"
                 "%2 = input \"r\" : f32[2,3,4]\n"
                 "%3 = input \"b\" : f32[4]\n"
                 "%4 = unary.exp(%1) : f32[6,4] @a\n"
                 "%5 = reshape(%4) : f32[2,3,4]\n"
                 "%6 = binary.add(%5, %3) : f32[2,3,4] @b\n"
                 "%7 = binary.mul(%2, %6) : f32[2,3,4] @c\n"
                 "output \"y\" = %7\n",
                 "forge graph 1\n"
                 "%1 = input \"x\" : f32[6,4]\n"
                 "%2 = input \"r\" : f32[2,3,4]\n"
                 "%3 = input \"b\" : f32[4]\n"
                 "%4 = unary.exp(%1) : f32[6,4] @a\n"
                 "%5 = binary.add(%4, %3) : f32[6,4] @b\n"
                 "%6 = reshape(%2) : f32[6,4] @c\n"
                 "%7 = binary.mul(%6, %5) : f32[6,4] @c\n"
                 "%8 = reshape(%7) : f32[2,3,4] @c\n"
                 "output \"y\" = %8\n");
}

static void test_a_reshape_stays_where_a_copy_would_be_needed(void **state)
{
    static const char text[] = "forge graph 1\n"
                               "%1 = input \"x\" : f32[6,4]\n"
                               "%2 = input \"t\" : f32[4,3,2]\n"
                               "%3 = unary.exp(%1) : f32[6,4]\n"
                               "%4 = reshape(%3) : f32[2,3,4]\n"
                               "%5 = transpose(%2) order=[2,1,0] : f32[2,3,4]\n"
                               "%6 = binary.add(%4, %5) : f32[2,3,4]\n"
                               "output \"y\" = %6\n";
    assert_makes(state, text, text);
}

static void test_a_row_of_another_width_keeps_the_reshape(void **state)
{
    static const char text[] = "forge graph 1\n"
                               "%1 = input \"x\" : f32[6,4]\n"
                               "%2 = input \"b\" : f32[8]\n"
                               "%3 = unary.exp(%1) : f32[6,4]\n"
                               "%4 = reshape(%3) : f32[3,8]\n"
                               "%5 = binary.add(%4, %2) : f32[3,8]\n"
                               "output \"y\" = %5\n";
    assert_makes(state, text, text);
}

/* --- batch norms ---------------------------------------------------------------------------------------- */

enum { IMAGES = 2, IN = 3, OUT = 5, PIXELS = 49 };

/* Returns input `i` of the batch norm: weight, bias, mean or variance. */
static float parameter(int i, int channel)
{
    return (float)(i == 3 ? 0.25 + channel : (channel - 2) * (i + 1)) / 4;
}

static float pixel(int at)
{
    return (float)(at % 23 - 11) / 8;
}

static float weight(int out, int in)
{
    return (float)(out * 2 - in) / 4;
}

/* Returns relu(batch norm(conv)) in f64. */
static double expected(int image, int out, int at)
{
    double sum = 0;
    for (int in = 0; in < IN; in++)
        sum += (double)weight(out, in) * pixel((image * IN + in) * PIXELS + at);
    double normed = (sum - parameter(2, out)) / sqrt((double)parameter(3, out) + 1e-5);
    return fmax(normed * parameter(0, out) + parameter(1, out), 0);
}

static void set_inputs(struct workbench *bench)
{
    static const char *const names[] = {"weight", "bias", "mean", "variance"};
    float x[IMAGES * IN * PIXELS], w[OUT * IN], channels[OUT];
    for (int i = 0; i < IMAGES * IN * PIXELS; i++)
        x[i] = pixel(i);
    for (int i = 0; i < OUT * IN; i++)
        w[i] = weight(i / IN, i % IN);
    workbench_set(bench, "x", x);
    workbench_set(bench, "w", w);
    for (int i = 0; i < 4; i++) {
        for (int channel = 0; channel < OUT; channel++)
            channels[channel] = parameter(i, channel);
        workbench_set(bench, names[i], channels);
    }
}

static void test_a_batch_norm_joins_its_convolution(void **state)
{
    struct workbench *bench = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(IMAGES, IN, 7, 7));
    forge_value w = forge_input(b, "w", FORGE_F32, forge_shape_of(OUT, IN, 1, 1));
    forge_value in[5] = {forge_conv(b, x, w, NULL)};
    static const char *const names[] = {"weight", "bias", "mean", "variance"};
    for (int i = 0; i < 4; i++)
        in[1 + i] = forge_input(b, names[i], FORGE_F32, forge_shape_of(OUT));
    const struct composite_attributes norm = {.name = "batch_norm", .reals = {1e-5}};
    forge_output(b, "y", forge_relu(b, library_composite(b, &norm, in, 5)));
    workbench_load(bench, b);
    assert_int_equal(workbench_facts(bench).launches, 3); /* the scale, the shift, and everything else */
    assert_non_null(workbench_launch(bench, "fused_conv"));
    set_inputs(bench);
    workbench_run(bench);
    forge_tensor y = workbench_output(bench, "y");
    const float *found = forge_tensor_data(&y);
    for (int i = 0; i < IMAGES * OUT * PIXELS; i++)
        assert_float_equal(found[i], expected(i / PIXELS / OUT, i / PIXELS % OUT, i % PIXELS), 1e-5);
}

int main(void)
{
#define with_device(test) cmocka_unit_test_setup_teardown(test, workbench_set_up, workbench_tear_down)
    const struct CMUnitTest tests[] = {
        with_device(test_a_reshape_moves_behind_elementwise_operations),
        with_device(test_a_reshape_stays_where_a_copy_would_be_needed),
        with_device(test_a_row_of_another_width_keeps_the_reshape),
        with_device(test_a_batch_norm_joins_its_convolution),
    };
    return cmocka_run_group_tests_name("regroup", tests, NULL, NULL);
}
