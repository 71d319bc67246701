/* Checks the CPU's window kernels, for each instruction set, against the reference.
 *
 * Elements are small integers, so that sums are exact and many elements are equal. Results must be equal,
 * except after a division. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "forge/ir/builder.h"
#include "unit/forge/cpu_kernels.h"

/* An input shape, and windows of any size along the last two dimensions or one of them. */
struct trial {
    forge_shape shape;
    uint32_t axes;
    forge_window windows[2];
};

static struct trial any_trial(int64_t most_columns)
{
    uint32_t rank = (uint32_t)pick(1, 4), last = rank - 1;
    struct trial t = {.shape = {.rank = rank}, .axes = rank > 1 ? (uint32_t)pick(1, 3) << (last - 1) : 1};
    for (uint32_t k = 0, i = 0; k < rank; k++) {
        t.shape.dims[k] = k + 2 < rank ? pick(1, 3) : 0;
        if (k + 2 < rank)
            continue;
        forge_window w = {
            .size = (uint32_t)pick(1, 4), .stride = (uint32_t)pick(1, 4), .dilation = (uint32_t)pick(1, 3)};
        int64_t span = (w.size - 1) * w.dilation + 1;
        w.before = (uint32_t)pick(0, span - 1);
        w.after = (uint32_t)pick(0, span - 1);
        t.shape.dims[k] = span + pick(0, k == last ? most_columns : 5);
        if (t.axes >> k & 1)
            t.windows[i++] = w;
    }
    return t;
}

/* Returns a packed view of integers. has_specials: some elements are infinite or NaN. */
static struct view packed_numbers(forge_shape shape, bool has_specials)
{
    size_t count = forge_shape_elements(&shape);
    float *data = malloc((count + 1) * sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < count; i++)
        data[i] = (float)pick(-2, 2);
    for (size_t i = 0; has_specials && i < count; i += 13)
        data[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? -INFINITY : INFINITY;
    return view_packed(FORGE_F32, data, shape);
}

/* As packed_numbers, but some views have reversed or repeated dimensions. */
static struct view numbers(forge_shape shape, bool has_specials)
{
    return view_any_way(packed_numbers(shape, has_specials));
}

/* Compares two results, whose magnitude is at most 2 x 16 in this file. */
static bool is_same(double a, double b, bool is_exact)
{
    return a == b || (isnan(a) && isnan(b)) || (!is_exact && fabs(a - b) <= 0x1p-18);
}

/* Returns a packed copy of the view in this type. */
static struct view copy_as(const struct view *view, forge_dtype dtype)
{
    size_t count = forge_shape_elements(&view->shape);
    struct view copy = view_packed(dtype, malloc(count * 4 + 1), view->shape);
    assert_non_null(copy.data);
    for (size_t i = 0; i < count; i++) {
        double number = view_number(view, i);
        dtype_row(dtype)->store(copy.data, i, 1, &number);
    }
    return copy;
}

/* Repeats an f32 launch with inputs and results in bf16 or f16. A result is within half an ulp of the
 * reference's, which is rounded too. Also tries a view whose dimensions are reversed in memory. */
static void check_narrow(const struct launch *wide, forge_dtype dtype)
{
    struct view in[3], turned[3], wanted = copy_as(&wide->outputs[0], dtype), got = copy_as(&wanted, dtype);
    struct launch exactly = *wide, launch;
    exactly.inputs = in;
    exactly.outputs = &wanted;
    for (size_t i = 0; i < wide->input_count; i++)
        in[i] = copy_as(&wide->inputs[i], dtype);
    reference_of(wide->op)(&exactly, 0, launch_pieces(&exactly));
    for (int way = 0; way < 2; way++) {
        launch = exactly;
        launch.outputs = &got;
        launch.inputs = way ? turned : in;
        for (size_t i = 0; i < wide->input_count; i++) {
            turned[i] = in[i];
            turned[i].data = malloc(forge_shape_elements(&in[i].shape) * 2 + 1);
            int64_t stride = 1;
            for (uint32_t k = 0; k < in[i].shape.rank; stride *= in[i].shape.dims[k++])
                turned[i].strides[k] = stride;
            for (size_t at = 0; at < forge_shape_elements(&in[i].shape); at++)
                memcpy((void *)view_address(&turned[i], &in[i].shape, at), (uint16_t *)in[i].data + at, 2);
        }
        EACH_ISA (isa) {
            assert_non_null(kernel_for(isa, &launch));
            run_kernel(isa, &launch);
            for (size_t i = 0; i < forge_shape_elements(&got.shape); i++) {
                double x = view_number(&got, i), exact = view_number(&wanted, i);
                double ulp = fabs(exact) * (dtype == FORGE_BF16 ? 0x1p-7 : 0x1p-10);
                if (!is_same(x, exact, launch.op != OP_SHARE) && !(fabs(x - exact) <= ulp))
                    fail_msg("%s %s %s, element %zu: %g, not %g", isa_name(isa), op_name(launch.op),
                             forge_dtype_name(dtype), i, x, exact);
            }
        }
        for (size_t i = 0; i < wide->input_count; i++)
            free(turned[i].data);
    }
    for (size_t i = 0; i < wide->input_count; i++)
        free(in[i].data);
    free(wanted.data);
    free(got.data);
}

/* Runs the kernel of f32 for the node that computes y. is_narrow: also those of bf16 and f16. is_exact is
 * false for shares, whose sums may be rounded more than once. */
static void check_kernels(forge_builder *b, forge_value y, const struct view *in, size_t count, bool is_exact,
                          bool is_narrow)
{
    if (b->has_failed)
        fail_msg("%s", b->error.message);
    const struct node *node = graph_producer(b->graph, y);
    struct view exact = numbers(forge_value_shape(b, y), false);
    struct view wanted = view_packed(FORGE_F32, exact.data, exact.shape), got = wanted;
    got.data = malloc(view_size_bytes(&wanted) + 1);
    struct launch exactly = {(enum op)node->op, node->attributes, in, count, &wanted, 1}, launch = exactly;
    launch.outputs = &got;
    reference_of(launch.op)(&exactly, 0, launch_pieces(&exactly));
    if (is_narrow) {
        check_narrow(&launch, FORGE_BF16);
        check_narrow(&launch, FORGE_F16);
    }
    EACH_ISA (isa) {
        assert_non_null(kernel_for(isa, &launch));
        run_kernel(isa, &launch);
        for (size_t i = 0; i < forge_shape_elements(&wanted.shape); i++)
            if (!is_same(view_number(&got, i), view_number(&wanted, i), is_exact))
                fail_msg("%s %s, element %zu: %g, not %g", isa_name(isa), op_name(launch.op), i,
                         view_number(&got, i), view_number(&wanted, i));
    }
    free(exact.data);
    free(got.data);
}

static void check(forge_builder *b, forge_value y, const struct view *in, size_t count, bool is_exact)
{
    check_kernels(b, y, in, count, is_exact, true);
}

static void check_f32(forge_builder *b, forge_value y, const struct view *in, size_t count, bool is_exact)
{
    check_kernels(b, y, in, count, is_exact, false);
}

static void check_trial(const struct trial *t, bool has_specials)
{
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, t->shape), y = FORGE_NO_VALUE;
    struct view in[3] = {numbers(t->shape, has_specials)};
    for (int kind = FORGE_SUM; kind <= FORGE_MINIMUM; kind++)
        for (int counts = 0; counts < (kind == FORGE_MEAN ? 2 : 1); counts++) {
            y = forge_window_reduce(b, (forge_reduce_kind)kind, x, t->axes, t->windows, counts);
            check(b, y, in, 1, kind != FORGE_MEAN);
        }
    forge_shape places = forge_value_shape(b, y);
    struct view packed = view_packed(FORGE_F32, malloc(4 * forge_shape_elements(&places) + 4), places);
    const void *attributes = graph_producer(b->graph, y)->attributes;
    run_reference(OP_WINDOW, attributes, in, 1, &packed, 1);
    in[1] = packed;
    in[2] = numbers(places, false);
    forge_value parts = forge_input(b, "parts", FORGE_F32, places);
    check(b, forge_share(b, x, y, parts, t->axes, t->windows), in, 3, false);
    forge_value wide = forge_unfold(b, x, t->axes, t->windows, 0);
    struct view elements = numbers(forge_value_shape(b, wide), false);
    check(b, forge_fold(b, wide, t->shape, t->axes, t->windows), &elements, 1, true);
    free(in[0].data);
    free(in[1].data);
    free(in[2].data);
    free(elements.data);
    forge_builder_free(b);
}

static void test_random_windows_equal_the_reference(void **state)
{
    (void)state;
    for (int i = 0; i < 400; i++) {
        struct trial t = any_trial(i % 4 ? 9 : 70);
        check_trial(&t, i % 3 == 0);
    }
}

/* Pools as in real networks, at all widths up to two vectors plus one element. */
static void test_pools_of_every_width_equal_the_reference(void **state)
{
    (void)state;
    static const forge_window windows[] = {{.size = 2},
                                           {.size = 3, .stride = 2, .before = 1, .after = 1},
                                           {.size = 3, .stride = 1, .before = 1, .after = 1}};
    for (int64_t n = 3; n <= 70; n++)
        for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
            struct trial t = {forge_shape_of(2, 3, 5, n), 12, {windows[i], windows[i]}};
            check_trial(&t, false);
        }
}

/* If all elements of a window are equal, even if all are -infinity, its padding gets no share. */
static void test_equal_elements_at_edges_share_alike(void **state)
{
    (void)state;
    struct trial t = {forge_shape_of(1, 4, 5), 6, {{3, 2, 1, 1, 1}, {3, 2, 1, 1, 1}}};
    float x[20], parts[6] = {4, 6, 4, 4, 6, 4}, found[20];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 20; i++)
            x[i] = round ? -INFINITY : 3;
        forge_builder *b = forge_builder_new();
        forge_value of = forge_input(b, "x", FORGE_F32, t.shape);
        forge_value y = forge_window_reduce(b, FORGE_MAXIMUM, of, t.axes, t.windows, false);
        y = forge_share(b, of, y, y, t.axes, t.windows);
        float maxima[6] = {x[0], x[0], x[0], x[0], x[0], x[0]};
        struct view in[] = {view_packed(FORGE_F32, x, t.shape),
                            view_packed(FORGE_F32, maxima, forge_shape_of(1, 2, 3)),
                            view_packed(FORGE_F32, parts, forge_shape_of(1, 2, 3))};
        struct view out = view_packed(FORGE_F32, found, t.shape);
        EACH_ISA (isa) {
            run_kernel(isa,
                       &(struct launch){OP_SHARE, graph_producer(b->graph, y)->attributes, in, 3, &out, 1});
            assert_true(found[0] == 1 && found[1] == 2 && found[2] == 1 && found[3] == 2 && found[4] == 1);
        }
        forge_builder_free(b);
    }
}

/* Windows along the two dimensions before the last, as in images in other layouts than packed. */
static void test_windows_before_lanes_equal_the_reference(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct trial t = {.shape = forge_shape_of(pick(0, 3), pick(3, 9), pick(3, 9), pick(1, 35)),
                          .axes = 6};
        for (int k = 0; k < 2; k++)
            t.windows[k] = (forge_window){.size = (uint32_t)pick(1, 3),
                                          .stride = (uint32_t)pick(1, 3),
                                          .before = (uint32_t)pick(0, 2),
                                          .after = (uint32_t)pick(0, 2)};
        for (int k = 0; k < 2; k++) {
            t.windows[k].before = t.windows[k].before < t.windows[k].size ? t.windows[k].before : 0;
            t.windows[k].after = t.windows[k].after < t.windows[k].size ? t.windows[k].after : 0;
        }
        struct view x = packed_numbers(t.shape, i % 5 == 0);
        for (int kind = FORGE_SUM; kind <= FORGE_MINIMUM; kind++) {
            forge_builder *b = forge_builder_new();
            forge_value of = forge_input(b, "x", FORGE_F32, t.shape);
            forge_value y = forge_window_reduce(b, (forge_reduce_kind)kind, of, t.axes, t.windows, i % 2);
            check_f32(b, y, &x, 1, kind != FORGE_MEAN);
            forge_builder_free(b);
        }
        free(x.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_windows_equal_the_reference),
                                       cmocka_unit_test(test_pools_of_every_width_equal_the_reference),
                                       cmocka_unit_test(test_equal_elements_at_edges_share_alike),
                                       cmocka_unit_test(test_windows_before_lanes_equal_the_reference)};
    return cmocka_run_group_tests_name("cpu_window", tests, NULL, NULL);
}
