/* Checks the shapes of convolutions, windows and random numbers, also with symbols, and the messages for
 * invalid ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "forge/ir/builder.h"
#include "support/check.h"
#include "support/graphs.h"

static forge_value input(forge_builder *b, forge_shape shape)
{
    return forge_input(b, shape.rank > 2 ? "x" : "row", FORGE_F32, shape);
}

static forge_value conv(forge_builder *b, forge_shape x, forge_shape weight, forge_conv_options o)
{
    o.struct_size = sizeof o;
    return forge_conv(b, input(b, x), forge_input(b, "weight", FORGE_F32, weight), &o);
}

static void assert_conv(forge_shape x, forge_shape weight, forge_conv_options o, const char *expected)
{
    forge_builder *b = forge_builder_new();
    assert_value_shape(b, conv(b, x, weight, o), expected);
    forge_builder_free(b);
}

static void assert_message(forge_builder *b, const char *words)
{
    assert_true(b->has_failed);
    assert_contains(b->error.message, words);
    forge_builder_free(b);
}

static void assert_conv_refused(forge_shape x, forge_shape weight, forge_conv_options o, const char *words)
{
    forge_builder *b = forge_builder_new();
    assert_int_equal(conv(b, x, weight, o), FORGE_NO_VALUE);
    assert_message(b, words);
}

static void test_shapes_of_convolutions_are_inferred(void **state)
{
    (void)state;
    forge_shape image = forge_shape_of(5, 3, 32, 28), kernel = forge_shape_of(8, 3, 5, 3);
    assert_conv(image, kernel, (forge_conv_options){0}, "[5,8,28,26]");
    assert_conv(image, kernel, (forge_conv_options){.stride = {2, 3}, .padding_before = {2}}, "[5,8,15,9]");
    assert_conv(image, kernel, (forge_conv_options){.dilation = {2, 4}, .padding_after = {1, 1}},
                "[5,8,25,21]");
    assert_conv(forge_shape_of(0, 4, 9), forge_shape_of(6, 2, 9), (forge_conv_options){.groups = 2},
                "[0,6,1]");
    assert_conv(forge_shape_of(1, 2, 3, 4, 5), forge_shape_of(7, 2, 1, 2, 3), (forge_conv_options){0},
                "[1,7,3,3,3]");
    forge_conv_options up = {.is_transposed = true, .stride = {2, 3}, .output_padding = {1, 2}};
    assert_conv(forge_shape_of(5, 8, 4, 4), forge_shape_of(8, 3, 5, 3), up, "[5,3,12,14]");
    up.groups = 4;
    up.padding_before[0] = up.padding_after[0] = 2;
    assert_conv(forge_shape_of(5, 8, 4, 4), forge_shape_of(8, 3, 5, 3), up, "[5,12,8,14]");
}

static void test_convolutions_accept_symbols(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_dim n = forge_symbol(b, "B", 1, 64, 1), t = forge_symbol(b, "T", 8, 128, 2);
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(n, 3, t));
    forge_value w = forge_input(b, "w", FORGE_F32, forge_shape_of(4, 3, 3));
    forge_conv_options same = {.struct_size = sizeof same, .padding_before = {1}, .padding_after = {1}};
    forge_value y, g[2];
    assert_value_shape(b, forge_conv(b, x, w, &same), "[B,4,T]");
    same.stride[0] = 2;
    assert_value_shape(b, forge_conv(b, x, w, &same), "[B,4,((T+1)/2)]");
    forge_builder_free(b);

    b = forge_builder_new();
    n = forge_symbol(b, "B", 1, 64, 1);
    t = forge_symbol(b, "T", 8, 128, 2);
    x = forge_input(b, "x", FORGE_F32, forge_shape_of(n, 4, forge_dim_add(b, t, 2)));
    w = forge_input(b, "w", FORGE_F32, forge_shape_of(4, 2, 3));
    forge_conv_options o = {.struct_size = sizeof o, .groups = 2};
    y = forge_conv(b, x, w, &o);
    assert_value_shape(b, y, "[B,4,T]");
    o.is_transposed = true;
    o.stride[0] = 2;
    o.padding_before[0] = 1;
    o.output_padding[0] = 1;
    assert_value_shape(b, forge_conv(b, y, w, &o), "[B,4,((T*2)+1)]");
    assert_value_shape(b, forge_max_pool(b, y, 2, 0, 0), "[B,4,(T/2)]");
    forge_value loss = forge_reduce(b, FORGE_SUM, forge_max_pool(b, y, 2, 0, 0), 7, false);
    forge_gradients(b, loss, (forge_value[]){x, w}, 2, g);
    assert_value_shape(b, g[0], "[B,4,(T+2)]");
    assert_value_shape(b, g[1], "[4,2,3]");
    forge_builder_free(b);

    b = forge_builder_new();
    t = forge_symbol(b, "T", 8, 128, 2);
    x = forge_input(b, "x", FORGE_F32, forge_shape_of(1, 3, t));
    forge_conv(b, x, forge_input(b, "w", FORGE_F32, forge_shape_of(4, 3, 3)), NULL);
    assert_message(b, "conv(f32[1,3,T], f32[4,3,3]): the result's size cannot be expressed");
    b = forge_builder_new();
    x = forge_input(b, "x", FORGE_F32, forge_shape_of(1, 3, forge_symbol(b, "T", 2, 128, 1)));
    forge_conv(b, x, forge_input(b, "w", FORGE_F32, forge_shape_of(4, 3, 3)), NULL);
    assert_message(b, "the kernel 3 is larger than the padded input, which can be 2");
}

static void test_invalid_convolutions_are_refused(void **state)
{
    (void)state;
    forge_shape line = forge_shape_of(1, 2, 3);
    assert_conv_refused(line, forge_shape_of(4, 2, 5), (forge_conv_options){0},
                        "conv(f32[1,2,3], f32[4,2,5]): the kernel 5 is larger than the padded input 3");
    assert_conv_refused(line, forge_shape_of(4, 2, 3), (forge_conv_options){.dilation = {2}},
                        "the kernel 3, dilated, is larger than the padded input 3");
    assert_conv_refused(line, forge_shape_of(4, 3, 2), (forge_conv_options){0},
                        "the weight has another number of channels than x");
    assert_conv_refused(line, forge_shape_of(4, 2, 2), (forge_conv_options){.groups = 2},
                        "the weight, times the groups, has another number");
    assert_conv_refused(line, forge_shape_of(3, 1, 2), (forge_conv_options){.groups = 2},
                        "the result's channels are not a multiple of 2 groups");
    assert_conv_refused(line, forge_shape_of(4, 2, 2, 2), (forge_conv_options){0}, "1 to 3 spatial");
    assert_conv_refused(line, forge_shape_of(4, 2, 0), (forge_conv_options){0}, "the kernel is empty");
    assert_conv_refused(line, forge_shape_of(2, 2, 2),
                        (forge_conv_options){.is_transposed = true, .output_padding = {1}},
                        "output padding 1 must be below the stride or the dilation");
    assert_conv_refused(line, forge_shape_of(2, 2, 2),
                        (forge_conv_options){.is_transposed = true, .padding_before = {7}},
                        "the padding removes 3 more elements than there are");
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, line);
    forge_conv(b, x, forge_input(b, "w", FORGE_F64, line), NULL);
    assert_message(b, "the same numeric type");
    b = forge_builder_new();
    forge_conv(b, forge_input(b, "x", FORGE_F32, line), 1, &(forge_conv_options){.struct_size = 4});
    assert_message(b, "conv: set struct_size to sizeof(forge_conv_options)");
}

/* --- windows -------------------------------------------------------------------------------------------- */

static void test_shapes_of_windows_are_inferred(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 3, 9, 8));
    forge_window windows[] = {{.size = 3, .stride = 2, .before = 1, .after = 1}, {.size = 2, .dilation = 3}};
    assert_value_shape(b, forge_max_pool(b, x, 2, 0, 0), "[2,3,4,4]");
    assert_value_shape(b, forge_avg_pool(b, x, 3, 2, 1, false), "[2,3,5,4]");
    assert_value_shape(b, forge_window_reduce(b, FORGE_SUM, x, 12, windows, false), "[2,3,5,3]");
    forge_value parts = forge_unfold(b, x, 12, windows, 0);
    assert_value_shape(b, parts, "[2,3,5,3,3,2]");
    assert_value_shape(b, forge_fold(b, parts, forge_shape_of(2, 3, 9, 8), 12, windows), "[2,3,9,8]");
    forge_value y = forge_window_reduce(b, FORGE_MAXIMUM, x, 12, windows, false);
    assert_value_shape(b, forge_share(b, x, y, y, 12, windows), "[2,3,9,8]");
    forge_builder_free(b);
}

static void refuse_window(forge_reduce_kind kind, uint32_t axes, forge_window window, const char *words)
{
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 3, 4));
    assert_int_equal(forge_window_reduce(b, kind, x, axes, &window, false), FORGE_NO_VALUE);
    assert_message(b, words);
}

static void test_invalid_windows_are_refused(void **state)
{
    (void)state;
    refuse_window(FORGE_SUM, 4, (forge_window){.size = 5},
                  "window(f32[2,3,4]): the window 5 is larger than the padded input 4");
    refuse_window(FORGE_SUM, 8, (forge_window){.size = 2}, "axes 0x8 do not exist in rank 3");
    refuse_window(FORGE_SUM, 0, (forge_window){.size = 2}, "axes 0x0");
    refuse_window(FORGE_SUM, 4, (forge_window){0}, "is 0 along dimension 2");
    refuse_window(FORGE_SUM, 4, (forge_window){.size = 2, .before = 2}, "only padding");
    refuse_window(FORGE_PRODUCT, 4, (forge_window){.size = 2}, "windows cannot compute product");
    forge_builder *b = forge_builder_new();
    forge_max_pool(b, forge_input(b, "x", FORGE_F32, forge_shape_of(2, 3)), 2, 0, 0);
    assert_message(b, "a pool takes [n, channels");
    b = forge_builder_new();
    forge_avg_pool(b, forge_input(b, "x", FORGE_I32, forge_shape_of(2, 3, 4)), 2, 0, 0, false);
    assert_message(b, "mean does not support i32");
    b = forge_builder_new();
    forge_fold(b, forge_input(b, "x", FORGE_F32, forge_shape_of(2, 3, 2)), forge_shape_of(2, 5), 2,
               &(forge_window){.size = 2});
    assert_message(b, "for this result, x must be [2,2,2]");
    b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 4));
    forge_share(b, x, x, x, 2, &(forge_window){.size = 2});
    assert_message(b, "input 1 must have one f32 for each window");
    b = forge_builder_new();
    x = forge_input(b, "x", FORGE_I32, forge_shape_of(2, 4));
    forge_share(b, x, x, x, 2, &(forge_window){.size = 2});
    assert_message(b, "x must be floats");
}

/* --- random numbers ------------------------------------------------------------------------------------- */

static void test_random_numbers_have_the_requested_shape(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_value key = forge_input(b, "key", FORGE_U64, (forge_shape){0});
    forge_value step = forge_input(b, "step", FORGE_U32, (forge_shape){0});
    forge_shape shape = forge_shape_of(forge_symbol(b, "B", 1, 64, 1), 3);
    forge_value bits = forge_random_numbers(b, FORGE_RANDOM_BITS, shape, key, step, 1);
    assert_value_shape(b, bits, "[B,3]");
    assert_int_equal(forge_value_dtype(b, bits), FORGE_U32);
    assert_int_equal(forge_value_dtype(b, forge_random_numbers(b, FORGE_RANDOM_NORMAL, shape, key, step, 1)),
                     FORGE_F32);
    assert_int_not_equal(forge_random_numbers(b, FORGE_RANDOM_BITS, shape, key, step, 2), bits);
    forge_random_numbers(b, FORGE_RANDOM_BITS, shape, step, key, 1);
    assert_message(b, "random(u32[], u64[]): random needs a key, u64[], and a step, u32[]");
    b = forge_builder_new();
    key = forge_input(b, "key", FORGE_U64, (forge_shape){0});
    step = forge_input(b, "step", FORGE_U32, (forge_shape){0});
    forge_random_numbers(b, FORGE_RANDOM_UNIFORM, (forge_shape){.rank = 9}, key, step, 1);
    assert_message(b, "rank 9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_of_convolutions_are_inferred),
        cmocka_unit_test(test_convolutions_accept_symbols),
        cmocka_unit_test(test_invalid_convolutions_are_refused),
        cmocka_unit_test(test_shapes_of_windows_are_inferred),
        cmocka_unit_test(test_invalid_windows_are_refused),
        cmocka_unit_test(test_random_numbers_have_the_requested_shape),
    };
    return cmocka_run_group_tests_name("graph_window", tests, NULL, NULL);
}
