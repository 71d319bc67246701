/* Checks first and second derivatives of convolutions and of every kind of window against finite
 * differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "support/derivative.h"

/* --- convolutions --------------------------------------------------------------------------------------- */

static const struct conv_case {
    const char *name;
    forge_shape x, weight;
    forge_conv_options options;
} conv_cases[] = {
    {"plain", {3, 0, {2, 2, 5}}, {3, 0, {3, 2, 3}}, {0}},
    {"padded on one side",
     {3, 0, {1, 2, 4}},
     {3, 0, {2, 2, 3}},
     {.padding_before = {2}, .padding_after = {1}}},
    {"stride that leaves some over", {3, 0, {2, 1, 6}}, {3, 0, {2, 1, 2}}, {.stride = {3}}},
    {"dilated in groups",
     {3, 0, {2, 4, 6}},
     {3, 0, {6, 2, 2}},
     {.groups = 2, .dilation = {3}, .stride = {2}, .padding_after = {2}}},
    {"two dimensions",
     {4, 0, {2, 2, 4, 3}},
     {4, 0, {2, 2, 3, 2}},
     {.stride = {2, 1}, .padding_before = {1, 1}, .padding_after = {1, 0}}},
    {"one channel each", {4, 0, {2, 3, 3, 3}}, {4, 0, {3, 1, 2, 2}}, {.groups = 3, .padding_before = {1, 1}}},
    {"three dimensions",
     {5, 0, {1, 2, 3, 2, 3}},
     {5, 0, {2, 1, 2, 2, 2}},
     {.groups = 2, .stride = {1, 1, 2}, .padding_after = {0, 1, 0}}},
    {"more padding than kernel", {3, 0, {1, 1, 2}}, {3, 0, {1, 1, 2}}, {.padding_before = {3}}},
    {"transposed",
     {4, 0, {2, 3, 2, 3}},
     {4, 0, {3, 2, 3, 2}},
     {.is_transposed = true, .stride = {2, 3}, .padding_before = {1, 0}, .output_padding = {1, 2}}},
    {"transposed in groups",
     {3, 0, {2, 4, 3}},
     {3, 0, {4, 3, 3}},
     {.is_transposed = true, .groups = 2, .stride = {2}, .dilation = {2}, .padding_after = {3}}},
};
enum { CONV_CASES = sizeof conv_cases / sizeof *conv_cases };

static forge_value conv(forge_builder *b, const forge_value *x, int kind)
{
    forge_conv_options options = conv_cases[kind].options;
    options.struct_size = sizeof options;
    return forge_conv(b, x[0], x[1], &options);
}

static void test_slopes_of_convolutions_equal_differences(void **state)
{
    (void)state;
    for (int i = 0; i < CONV_CASES; i++) {
        const struct conv_case *c = &conv_cases[i];
        derivative_check(&(struct function){c->name, conv, i, 2, {c->x, c->weight}, -1, 1, true});
    }
}

/* The result is of third order in x, because x is the image and both weights. */
static forge_value conv_of_itself(forge_builder *b, const forge_value *x, int kind)
{
    (void)kind;
    forge_conv_options options = {.struct_size = sizeof options, .padding_before = {1}, .padding_after = {1}};
    return forge_tanh(b, forge_conv(b, forge_conv(b, x[0], x[0], &options), x[0], NULL));
}

static void test_slopes_of_a_value_convolved_with_itself_equal_differences(void **state)
{
    (void)state;
    derivative_check(
        &(struct function){"conv of itself", conv_of_itself, 0, 1, {forge_shape_of(2, 2, 3)}, -1, 1, true});
}

/* --- windows -------------------------------------------------------------------------------------------- */

static const struct window_case {
    const char *name;
    forge_shape x;
    uint32_t axes;
    forge_window windows[3];
} window_cases[] = {
    {"pool", {4, 0, {1, 2, 4, 4}}, 12, {{.size = 2}, {.size = 2}}},
    {"overlapping",
     {4, 0, {1, 1, 5, 4}},
     12,
     {{.size = 3, .stride = 1, .before = 1, .after = 1}, {.size = 2, .stride = 1}}},
    {"dilated, with holes",
     {3, 0, {2, 7, 2}},
     2,
     {{.size = 2, .stride = 4, .dilation = 2, .before = 1, .after = 0}}},
    {"first and last dimension",
     {3, 0, {4, 2, 5}},
     5,
     {{.size = 3, .stride = 2, .after = 1}, {.size = 2, .stride = 1, .dilation = 3}}},
    {"three dimensions",
     {3, 0, {3, 3, 3}},
     7,
     {{.size = 2, .stride = 1}, {.size = 3}, {.size = 1, .stride = 2}}},
};
enum { WINDOW_CASES = sizeof window_cases / sizeof *window_cases };

/* kind: a number that encodes the reduction, whether padding is counted, and the case */
static forge_value window(forge_builder *b, const forge_value *x, int kind)
{
    const struct window_case *c = &window_cases[kind >> 4];
    return forge_window_reduce(b, (forge_reduce_kind)(kind & 7), x[0], c->axes, c->windows, kind & 8);
}

static void test_slopes_of_windows_equal_differences(void **state)
{
    (void)state;
    for (int i = 0; i < WINDOW_CASES; i++)
        for (int kind = FORGE_SUM; kind <= FORGE_MINIMUM; kind++)
            for (int counts = 0; counts < (kind == FORGE_MEAN ? 2 : 1); counts++) {
                const struct window_case *c = &window_cases[i];
                derivative_check(&(struct function){
                    c->name, window, kind | counts << 3 | i << 4, 1, {c->x}, -1, 1, kind <= FORGE_MEAN});
            }
}

/* The square has a second derivative other than 0, which depends on the gradient's shares. */
static forge_value square_of_window(forge_builder *b, const forge_value *x, int kind)
{
    forge_value y = window(b, x, kind);
    return forge_mul(b, y, y);
}

static void test_second_derivatives_of_extremes(void **state)
{
    (void)state;
    for (int i = 0; i < WINDOW_CASES; i++)
        for (int kind = FORGE_MAXIMUM; kind <= FORGE_MINIMUM; kind++)
            derivative_check(&(struct function){
                window_cases[i].name, square_of_window, kind | i << 4, 1, {window_cases[i].x}, -1, 1, true});
}

static forge_value there_and_back(forge_builder *b, const forge_value *x, int kind)
{
    const struct window_case *c = &window_cases[kind];
    forge_value parts = forge_unfold(b, x[0], c->axes, c->windows, 0.5);
    return forge_fold(b, forge_mul(b, parts, parts), c->x, c->axes, c->windows);
}

static void test_slopes_of_unfold_and_fold_equal_differences(void **state)
{
    (void)state;
    for (int i = 0; i < WINDOW_CASES; i++)
        derivative_check(
            &(struct function){window_cases[i].name, there_and_back, i, 1, {window_cases[i].x}, -1, 1, true});
}

/* --- ties ----------------------------------------------------------------------------------------------- */

static forge_value ties(forge_builder *b, const forge_value *x, int kind)
{
    static const forge_window window = {.size = 3, .stride = 3, .before = 1, .after = 1};
    return forge_window_reduce(b, (forge_reduce_kind)kind, x[0], 1, &window, false);
}

/* The windows are [0 0 | 0 0 -1 | 5 5]. Padding at both ends is not a zero that could be the maximum. */
static void test_equals_share_and_padding_does_not(void **state)
{
    (void)state;
    static const double values[2][7] = {{0, 0, 0, 0, -1, 5, 5}, {0, 0, 0, 0, 1, -5, -5}};
    for (int i = 0; i < 2; i++) {
        struct function f = {"ties", ties, FORGE_MAXIMUM + i, 1, {forge_shape_of(7)}, 1, 1, false};
        struct trial t = {0};
        forge_tensor g;
        derivative_begin(&t, &f);
        memcpy(forge_tensor_data(&t.x[0]), values[i], sizeof values[i]);
        derivative_run(&t, &f);
        assert_int_equal(forge_instance_get(t.instance, "g0", &g, NULL), JOULE_OK);
        const double *of = forge_tensor_data(&g);
        assert_true(of[0] != 0 && of[0] == of[1]);
        assert_true(of[2] != 0 && of[2] == of[3] && of[4] == 0);
        assert_true(of[5] != 0 && of[5] == of[6]);
        derivative_end(&t, &f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slopes_of_convolutions_equal_differences),
        cmocka_unit_test(test_slopes_of_a_value_convolved_with_itself_equal_differences),
        cmocka_unit_test(test_slopes_of_windows_equal_differences),
        cmocka_unit_test(test_second_derivatives_of_extremes),
        cmocka_unit_test(test_slopes_of_unfold_and_fold_equal_differences),
        cmocka_unit_test(test_equals_share_and_padding_does_not),
    };
    return cmocka_run_group_tests_name("gradient_window", tests, NULL, NULL);
}
