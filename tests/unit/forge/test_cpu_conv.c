/* Checks the CPU's convolutions, for each instruction set, against the reference.
 *
 * Elements are small integers, whose sums are exact, so results must be equal. Sums of random elements depend
 * on the order of addition. So equal sums of random elements show that this order does not depend on the
 * pieces or the number of threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/ir/builder.h"
#include "support/workbench.h"
#include "unit/forge/cpu_kernels.h"
#include "unit/forge/random_conv.h"

static struct view whole_numbers(forge_dtype dtype, forge_shape shape, bool is_turned)
{
    size_t count = forge_shape_elements(&shape);
    size_t bytes = forge_dtype_block_bytes(dtype);
    char *data = malloc(count * bytes); /* exact size, so that sanitizers detect reads beyond the end */
    assert_true(data || count == 0);
    for (size_t i = 0; i < count; i++) {
        double number = (double)pick(-2, 2);
        dtype_row(dtype)->store(data, i, 1, &number);
    }
    struct view view = view_packed(dtype, data, shape);
    int64_t stride = 1;
    for (uint32_t k = 0; is_turned && k < shape.rank; k++) { /* the dimensions are reversed in memory */
        view.strides[k] = stride;
        stride *= shape.dims[k];
    }
    return view;
}

/* Returns the shapes of a convolution and its strides, in static memory. */
static const char *shape_text(const forge_shape *x, const forge_shape *w, const forge_conv_options *options)
{
    static char text[300];
    char shapes[2][100];
    forge_shape_format(x, shapes[0], sizeof shapes[0]);
    forge_shape_format(w, shapes[1], sizeof shapes[1]);
    snprintf(text, sizeof text, "x %s, weight %s, strides %u, %u, %u%s", shapes[0], shapes[1],
             options ? options->stride[0] : 0, options ? options->stride[1] : 0,
             options ? options->stride[2] : 0, options && options->is_transposed ? ", transposed" : "");
    return text;
}

static void check_type(forge_dtype dtype, forge_shape x, forge_shape w, const forge_conv_options *options)
{
    forge_builder *b = forge_builder_new();
    forge_value y = forge_conv(b, forge_input(b, "x", dtype, x), forge_input(b, "w", dtype, w), options);
    if (b->has_failed)
        fail_msg("%s", b->error.message);
    struct view in[] = {whole_numbers(dtype, x, pick(0, 1)), whole_numbers(dtype, w, pick(0, 1))};
    struct view exact = whole_numbers(dtype, forge_value_shape(b, y), false),
                out = whole_numbers(dtype, exact.shape, false);
    const void *attributes = graph_producer(b->graph, y)->attributes;
    struct launch exactly = {OP_CONV, attributes, in, 2, &exact, 1},
                  launch = {OP_CONV, attributes, in, 2, &out, 1};
    size_t count = forge_shape_elements(&out.shape);
    reference_conv(&exactly, 0, launch_pieces(&exactly));
    EACH_ISA (isa) {
        run_kernel(isa, &launch);
        for (size_t i = 0; i < count; i++)
            if (view_number(&out, i) != view_number(&exact, i))
                fail_msg("%s %s, %s, element %zu: %g, not %g", isa_name(isa), forge_dtype_name(dtype),
                         shape_text(&x, &w, options), i, view_number(&out, i), view_number(&exact, i));
    }
    free(in[0].data);
    free(in[1].data);
    free(exact.data);
    free(out.data);
    forge_builder_free(b);
}

static void check(forge_shape x, forge_shape w, const forge_conv_options *options)
{
    check_type(FORGE_F32, x, w, options);
    check_type(FORGE_F64, x, w, options);
    check_type(FORGE_BF16, x, w, options);
    check_type(FORGE_F16, x, w, options);
}

static void check_random(bool is_transposed)
{
    struct conv_case c = random_conv(is_transposed, (struct conv_limits){3, 4, 18, 7, 9});
    check(c.x, c.weight, &c.options);
}

static void test_random_convolutions_equal_the_reference(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++)
        check_random(i & 1);
}

/* The shapes have more rows, columns and depth than one block. Some have more taps than outputs, as in the
 * gradient of a weight. */
static void test_shapes_beyond_a_block_equal_the_reference(void **state)
{
    (void)state;
    forge_conv_options o = {.struct_size = sizeof o, .groups = 1, .stride = {1, 1}, .dilation = {1, 1}};
    check(forge_shape_of(2, 33, 30, 29), forge_shape_of(40, 33, 3, 3), &o);
    check(forge_shape_of(2, 5, 40, 40), forge_shape_of(7, 5, 38, 38), &o);
    o.padding_before[0] = o.padding_after[0] = o.padding_before[1] = o.padding_after[1] = 1;
    check(forge_shape_of(1, 3, 28, 28), forge_shape_of(200, 3, 3, 3), &o);
    o.is_transposed = true;
    check(forge_shape_of(1, 40, 17, 17), forge_shape_of(40, 20, 3, 3), &o);
}

/* Tests transposed convolutions with strides. In some cases, outputs have no tap, the stride and the dilation
 * have a common factor, or some phases have half as many outputs as others and therefore fewer pieces. */
static void test_strides_of_transposed_convolutions_equal_the_reference(void **state)
{
    (void)state;
    forge_conv_options o = {
        .struct_size = sizeof o, .groups = 1, .is_transposed = true, .stride = {2, 3}, .dilation = {1, 1}};
    check(forge_shape_of(2, 20, 30, 29), forge_shape_of(20, 16, 3, 3), &o);
    check(forge_shape_of(2, 9, 16, 16), forge_shape_of(9, 300, 1, 1), &o);
    o.dilation[0] = o.dilation[1] = 2;
    o.output_padding[0] = o.output_padding[1] = 1;
    check(forge_shape_of(2, 70, 16, 16), forge_shape_of(70, 15, 4, 4), &o);
    o = (forge_conv_options){.struct_size = sizeof o, .groups = 1, .is_transposed = true, .stride = {8}};
    check(forge_shape_of(600, 64, 2), forge_shape_of(64, 60, 1), &o);
    check(forge_shape_of(600, 64, 1), forge_shape_of(64, 60, 1), &o);
}

/* --- the order of sums ---------------------------------------------------------------------------------- */

static double largest(const struct view *view)
{
    double max = 0;
    for (size_t i = 0; i < forge_shape_elements(&view->shape); i++)
        max = fmax(max, fabs(view_number(view, i)));
    return max;
}

/* run_kernel checks that pieces in any order and grouping give the same bytes. */
static void check_cut(forge_dtype dtype, const struct conv_case *c)
{
    forge_builder *b = forge_builder_new();
    forge_value y =
        forge_conv(b, forge_input(b, "x", dtype, c->x), forge_input(b, "w", dtype, c->weight), &c->options);
    forge_shape shape = forge_value_shape(b, y);
    struct view in[2], exact, out;
    const forge_shape *shapes[] = {&c->x, &c->weight};
    for (int i = 0; i < 2; i++)
        in[i] = view_packed(dtype, random_floats(dtype, forge_shape_elements(shapes[i])), *shapes[i]);
    exact = view_packed(dtype, random_floats(dtype, forge_shape_elements(&shape)), shape);
    out = view_packed(dtype, random_floats(dtype, forge_shape_elements(&shape)), shape);
    const void *attributes = graph_producer(b->graph, y)->attributes;
    struct launch exactly = {OP_CONV, attributes, in, 2, &exact, 1},
                  launch = {OP_CONV, attributes, in, 2, &out, 1};
    reference_conv(&exactly, 0, launch_pieces(&exactly));
    double terms = (double)forge_shape_elements(&c->weight), eps = dtype == FORGE_F64 ? 0x1p-52 : 0x1p-23;
    double rounding = dtype == FORGE_BF16 ? 0x1p-7 : dtype == FORGE_F16 ? 0x1p-10 : 0;
    double max = 4 * sqrt(terms) * eps * terms * largest(&in[0]) * largest(&in[1]);
    EACH_ISA (isa) {
        run_kernel(isa, &launch);
        for (size_t i = 0; i < forge_shape_elements(&shape); i++)
            assert_true(fabs(view_number(&out, i) - view_number(&exact, i)) <=
                        max + rounding * fabs(view_number(&exact, i)));
    }
    free(in[0].data);
    free(in[1].data);
    free(exact.data);
    free(out.data);
    forge_builder_free(b);
}

static void test_pieces_give_the_same_bits(void **state)
{
    (void)state;
    for (int i = 0; i < 60; i++) {
        struct conv_case c = random_conv(i & 1, (struct conv_limits){3, 12, 40, 9, 12});
        check_cut(FORGE_F32, &c);
        check_cut(FORGE_F64, &c);
        check_cut(i & 2 ? FORGE_BF16 : FORGE_F16, &c);
    }
}

/* Computes a convolution, the square of its result, and the gradients for image and weight. */
static forge_builder *there_and_back(bool is_transposed)
{
    forge_conv_options o = {
        .struct_size = sizeof o, .groups = 2, .stride = {2, 1}, .is_transposed = is_transposed};
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(5, 24, 21, 23)), back[2];
    forge_value w = forge_input(b, "w", FORGE_F32,
                                is_transposed ? forge_shape_of(24, 17, 3, 3) : forge_shape_of(34, 12, 3, 3));
    forge_value y = forge_conv(b, x, w, &o);
    forge_value loss = forge_reduce(b, FORGE_SUM, forge_mul(b, y, y), 15, false);
    forge_gradients(b, loss, (forge_value[]){x, w}, 2, back);
    forge_output(b, "y", y);
    forge_output(b, "of x", back[0]);
    forge_output(b, "of w", back[1]);
    return b;
}

static struct kept run_with(unsigned threads, bool is_transposed, const float *numbers)
{
    static const char *const outputs[] = {"y", "of x", "of w"};
    struct workbench bench = {0};
    struct kept kept = {0};
    assert_int_equal(workbench_begin(&bench, 1, NULL), JOULE_OK);
    assert_int_equal(forge_device_set_threads(bench.device, threads, NULL), JOULE_OK);
    workbench_load(&bench, there_and_back(is_transposed));
    workbench_set(&bench, "x", numbers);
    workbench_set(&bench, "w", numbers);
    workbench_run(&bench);
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        forge_tensor tensor = workbench_output(&bench, outputs[i]);
        workbench_keep(&kept, &tensor);
    }
    workbench_end(&bench);
    return kept;
}

static void test_bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    float *numbers = random_floats(FORGE_F32, 5 * 24 * 21 * 23);
    EACH_ISA (isa) {
        setenv("FORGE_ISA", isa_name(isa), 1);
        for (int is_transposed = 0; is_transposed < 2; is_transposed++) {
            struct kept one = run_with(1, is_transposed, numbers);
            for (unsigned threads = 2; threads <= 5; threads++) {
                struct kept bits = run_with(threads, is_transposed, numbers);
                assert_int_equal(bits.size, one.size);
                assert_memory_equal(bits.bytes, one.bytes, one.size);
                free(bits.bytes);
            }
            free(one.bytes);
        }
    }
    unsetenv("FORGE_ISA");
    free(numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_convolutions_equal_the_reference),
        cmocka_unit_test(test_shapes_beyond_a_block_equal_the_reference),
        cmocka_unit_test(test_strides_of_transposed_convolutions_equal_the_reference),
        cmocka_unit_test(test_pieces_give_the_same_bits),
        cmocka_unit_test(test_bits_do_not_depend_on_threads)};
    return cmocka_run_group_tests_name("cpu_conv", tests, NULL, NULL);
}
