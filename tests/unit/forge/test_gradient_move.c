/* Checks gradients of operations that move elements against finite differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "support/derivative.h"

static forge_value square(forge_builder *b, forge_value x)
{
    return forge_unary(b, FORGE_SQUARE, x);
}

static forge_value joined(forge_builder *b, const forge_value *x, int axis)
{
    forge_value parts[] = {x[0], square(b, x[1]), x[0], forge_exp(b, x[2])};
    return square(b, forge_concat(b, parts, 4, (uint32_t)axis));
}

static void test_slopes_of_concat_equal_differences(void **state)
{
    (void)state;
    for (int axis = 0; axis < 2; axis++) {
        forge_shape two = axis ? forge_shape_of(2, 4) : forge_shape_of(4, 3),
                    none = axis ? forge_shape_of(2, 0) : forge_shape_of(0, 3);
        derivative_check(
            &(struct function){"concat", joined, axis, 3, {forge_shape_of(2, 3), two, none}, -1, 1, true});
    }
}

static forge_value many_joined(forge_builder *b, const forge_value *x, int count)
{
    forge_value parts[64];
    for (int i = 0; i < count; i++)
        parts[i] = i % 3 ? square(b, x[i % 3]) : x[0];
    return square(b, forge_concat(b, parts, (size_t)count, 0));
}

static void test_slopes_of_concat_of_many_equal_differences(void **state)
{
    (void)state;
    for (int count = 16; count < 64; count += 17)
        derivative_check(
            &(struct function){"concat of many",
                               many_joined,
                               count,
                               3,
                               {forge_shape_of(2, 2), forge_shape_of(1, 2), forge_shape_of(3, 2)},
                               -1,
                               1,
                               true});
}

static forge_value reshaped(forge_builder *b, const forge_value *x, int kind)
{
    return square(b, forge_matmul(b, forge_reshape(b, x[0], forge_shape_of(-1, kind)),
                                  forge_reshape(b, x[0], forge_shape_of(kind, -1)), 0));
}

static void test_slopes_of_inferred_reshapes_equal_differences(void **state)
{
    (void)state;
    for (int kind = 1; kind < 4; kind++)
        derivative_check(
            &(struct function){"reshape", reshaped, kind, 1, {forge_shape_of(2, 3, 1)}, -1, 1, true});
}

static forge_value sliced(forge_builder *b, const forge_value *x, int kind)
{
    static const int64_t steps[][2] = {{1, 1}, {2, 1}, {-1, 3}, {-2, -3}};
    static const forge_dim start[] = {1, 2}, limit[] = {6, 7};
    return square(b, forge_slice(b, x[0], kind & 4 ? start : NULL, kind & 8 ? limit : NULL, steps[kind & 3]));
}

static void test_slopes_of_slice_equal_differences(void **state)
{
    (void)state;
    for (int kind = 0; kind < 16; kind++)
        derivative_check(&(struct function){"slice", sliced, kind, 1, {forge_shape_of(7, 8)}, -1, 1, true});
}

static forge_value padded(forge_builder *b, const forge_value *x, int value)
{
    return square(b, forge_pad(b, x[0], (int64_t[]){1, 0, 2}, (int64_t[]){0, 3, 1}, value));
}

static void test_slopes_of_pad_equal_differences(void **state)
{
    (void)state;
    for (int value = 0; value < 2; value++)
        derivative_check(&(struct function){"pad", padded, value, 1, {forge_shape_of(2, 1, 3)}, -1, 1, true});
}

/* --- by indices ----------------------------------------------------------------------------------------- */

static forge_value indices_of(forge_builder *b, const int64_t *numbers, forge_shape shape)
{
    forge_tensor tensor;
    assert_int_equal(forge_tensor_new(FORGE_I64, &shape, &tensor, NULL), JOULE_OK);
    memcpy(forge_tensor_data(&tensor), numbers, forge_tensor_elements(&tensor) * sizeof *numbers);
    forge_value value = forge_constant(b, &tensor);
    forge_buffer_release(tensor.buffer);
    return value;
}

static forge_value gathered(forge_builder *b, const forge_value *x, int kind)
{
    /* some rows are taken twice, some are counted from the end */
    static const int64_t rows[] = {2, 0, -1, 2, 1, -3};
    forge_value indices = indices_of(b, rows, kind & 4 ? forge_shape_of(3, 2) : forge_shape_of(2, 3));
    uint32_t axis = kind & 1;
    return square(b, kind & 2 ? forge_gather_along(b, x[0], indices, axis)
                              : forge_gather(b, x[0], indices, axis));
}

static void test_slopes_of_gather_equal_differences(void **state)
{
    (void)state;
    derivative_check(&(struct function){"gather", gathered, 0, 1, {forge_shape_of(3, 4)}, -1, 1, true});
    derivative_check(&(struct function){"gather", gathered, 1, 1, {forge_shape_of(2, 3, 2)}, -1, 1, true});
    derivative_check(&(struct function){"gather along", gathered, 6, 1, {forge_shape_of(3, 2)}, -1, 1, true});
    derivative_check(&(struct function){"gather along", gathered, 3, 1, {forge_shape_of(2, 3)}, -1, 1, true});
}

/* Two updates change the same element, one update is out of range and dropped, and one index is counted from
 * the end. */
static forge_value scattered(forge_builder *b, const forge_value *x, int kind)
{
    static const int64_t places[] = {2, 0, 9, -1, 2, 0, 1, 1};
    forge_scatter_kind scatter_kind = (forge_scatter_kind)(kind & 3);
    forge_value all = indices_of(b, places, forge_shape_of(4, 2)),
                rows = indices_of(b, places, forge_shape_of(2, 3));
    if (kind & 4)
        return square(b, forge_scatter_along(b, x[0], all, x[1], 0, scatter_kind));
    return square(b, forge_scatter(b, x[0], rows, x[1], 1, scatter_kind));
}

static void test_slopes_of_scatter_equal_differences(void **state)
{
    (void)state;
    for (int kind = 0; kind < FORGE_SCATTER_KINDS; kind++) {
        derivative_check(&(struct function){
            "scatter", scattered, kind, 2, {forge_shape_of(2, 3), forge_shape_of(2, 2, 3)}, -1, 1, true});
        derivative_check(&(struct function){"scatter along",
                                            scattered,
                                            kind | 4,
                                            2,
                                            {forge_shape_of(3, 2), forge_shape_of(4, 2)},
                                            -1,
                                            1,
                                            true});
    }
}

/* --- along an axis -------------------------------------------------------------------------------------- */

static forge_value scanned(forge_builder *b, const forge_value *x, int kind)
{
    return square(b, forge_scan(b, (forge_reduce_kind)(kind & 7), x[0], kind >> 3 & 1, (uint32_t)kind >> 4));
}

/* Exclusive extremes contain infinities, which have no slope, so only inclusive ones are tested. */
static void test_slopes_of_scan_equal_differences(void **state)
{
    (void)state;
    static const int kinds[] = {FORGE_SUM, FORGE_PRODUCT, FORGE_MAXIMUM, FORGE_MINIMUM};
    for (int k = 0; k < 4; k++)
        for (int mode = 0; mode < 8; mode++)
            if (k < 2 || !(mode >> 1 & FORGE_SCAN_EXCLUSIVE))
                derivative_check(&(struct function){
                    "scan", scanned, kinds[k] | mode << 3, 1, {forge_shape_of(4, 3)}, -1.5, 1.5, true});
}

/* Returns the finite elements of an exclusive extreme. */
static forge_value later_extremes(forge_builder *b, const forge_value *x, int kind)
{
    bool is_reverse = kind >> 4 & FORGE_SCAN_REVERSE;
    forge_value y = forge_scan(b, (forge_reduce_kind)(kind & 7), x[0], 1, (uint32_t)kind >> 4);
    return square(b, is_reverse ? forge_slice_along(b, y, 1, 0, 4) : forge_slice_along(b, y, 1, 1, 5));
}

static void test_slopes_of_exclusive_extremes_equal_differences(void **state)
{
    (void)state;
    for (int flags = FORGE_SCAN_EXCLUSIVE; flags < 4; flags += FORGE_SCAN_REVERSE)
        for (int is_min = 0; is_min < 2; is_min++)
            derivative_check(&(struct function){"exclusive extreme",
                                                later_extremes,
                                                (is_min ? FORGE_MINIMUM : FORGE_MAXIMUM) | flags << 4,
                                                1,
                                                {forge_shape_of(3, 5)},
                                                -1,
                                                1,
                                                true});
}

/* The lines have zero, one and two elements that are exactly 0 at the tested point. */
static forge_value products_with_zeros(forge_builder *b, const forge_value *x, int flags)
{
    static const double mask[] = {1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 0, 1};
    forge_shape shape = forge_shape_of(3, 4);
    forge_tensor tensor;
    assert_int_equal(forge_tensor_new(FORGE_F64, &shape, &tensor, NULL), JOULE_OK);
    memcpy(forge_tensor_data(&tensor), mask, sizeof mask);
    forge_value kept = forge_constant(b, &tensor);
    forge_buffer_release(tensor.buffer);
    forge_value dropped = forge_sub(b, forge_scalar(b, FORGE_F64, 1), kept);
    return forge_scan(b, FORGE_PRODUCT, forge_sub(b, x[0], forge_mul(b, x[1], dropped)), 1, (uint32_t)flags);
}

static void test_slopes_of_running_products_with_zeros_equal_differences(void **state)
{
    (void)state;
    for (int flags = 0; flags < 4; flags++) {
        struct function f = {"products with zeros",
                             products_with_zeros,
                             flags,
                             2,
                             {forge_shape_of(3, 4), forge_shape_of(3, 4)},
                             0.5,
                             1.5,
                             false};
        struct trial t = {0};
        derivative_begin(&t, &f);
        memcpy(forge_tensor_data(&t.x[1]), forge_tensor_data(&t.x[0]), 12 * sizeof(double));
        derivative_compare(&t, &f, 0, "loss", 'g');
        derivative_end(&t, &f);
    }
}

static forge_value sorted(forge_builder *b, const forge_value *x, int kind)
{
    forge_value indices, y = kind & 4 ? forge_top_k(b, x[0], 2, kind & 1, &indices)
                                      : forge_sort(b, x[0], kind & 1, kind & 2, &indices);
    /* The result also depends on the indices, which have no gradient. */
    return forge_mul(b, square(b, y), forge_cast(b, FORGE_F64, indices));
}

static void test_slopes_of_sort_equal_differences(void **state)
{
    (void)state;
    for (int kind = 0; kind < 8; kind++)
        derivative_check(&(struct function){"sort", sorted, kind, 1, {forge_shape_of(4, 3)}, -1, 1, true});
}

/* Uses three slices of the columns of x[0], [4, 6]. kind 0: the slices contain all columns. kind 1: the first
 * column is in no slice. kind 2: all columns are also used without a slice. kind 3: the slices are used from
 * the last to the first. */
static forge_value side_by_side(forge_builder *b, const forge_value *x, int kind)
{
    static const int64_t cuts[][4] = {{0, 1, 4, 6}, {1, 2, 4, 6}, {0, 2, 4, 6}, {6, 4, 1, 0}};
    forge_value sum = FORGE_NO_VALUE;
    for (int i = 0; i < 3; i++) {
        int64_t from = cuts[kind][i], to = cuts[kind][i + 1];
        forge_value part = forge_slice_along(b, x[0], 1, from < to ? from : to, from < to ? to : from);
        part = forge_reduce(b, FORGE_SUM, forge_unary(b, FORGE_EXP, square(b, part)), 2, false);
        sum = sum ? forge_mul(b, sum, part) : part;
    }
    return kind == 2 ? forge_mul(b, sum, forge_reduce(b, FORGE_SUM, square(b, x[0]), 2, false)) : sum;
}

static size_t times_in(const forge_graph *graph, const char *word)
{
    char *text;
    size_t times = 0;
    assert_int_equal(forge_graph_print(graph, &text, NULL), JOULE_OK);
    for (const char *at = text; (at = strstr(at, word)); at++)
        times++;
    free(text);
    return times;
}

static void test_slices_side_by_side(void **state)
{
    (void)state;
    static const size_t pads[] = {0, 1, 0, 0};
    for (int kind = 0; kind < 4; kind++) {
        derivative_check(
            &(struct function){"slices", side_by_side, kind, 1, {forge_shape_of(4, 6)}, -1, 1, true});
        forge_graph *graph;
        forge_value g;
        forge_builder *b = forge_builder_new();
        forge_value x = forge_input(b, "x", FORGE_F64, forge_shape_of(4, 6));
        forge_gradients(b, forge_reduce(b, FORGE_SUM, side_by_side(b, &x, kind), 1, false), &x, 1, &g);
        forge_output(b, "g", g);
        assert_int_equal(forge_builder_finish(b, &graph, NULL), JOULE_OK);
        assert_int_equal(times_in(graph, " concat("), 1);
        assert_int_equal(times_in(graph, " pad("), pads[kind]);
        forge_graph_free(graph);
    }
}

/* Rows are taken once or twice, before another use of the whole value (kind 0), after it (1), or before and
 * after (2). */
static forge_value taken_beside(forge_builder *b, const forge_value *x, int kind)
{
    static const int64_t rows[][3] = {{1, 3, 1}, {0, 1, 2}};
    forge_shape shape = forge_shape_of(3);
    forge_value y = forge_unary(b, FORGE_EXP, x[0]), sum = forge_reduce(b, FORGE_SUM, y, 3, false);
    for (int i = 0; i < 2; i++) {
        forge_tensor tensor;
        if (kind == 1 - i)
            continue;
        assert_int_equal(forge_tensor_new(FORGE_I64, &shape, &tensor, NULL), JOULE_OK);
        memcpy(forge_tensor_data(&tensor), rows[i], sizeof rows[i]);
        forge_value part = forge_gather(b, i ? x[0] : y, forge_constant(b, &tensor), 0);
        part = forge_reduce(b, FORGE_SUM, forge_unary(b, FORGE_EXP, part), 3, false);
        sum = forge_mul(b, sum, part);
        forge_buffer_release(tensor.buffer);
    }
    return sum;
}

static void test_gradients_of_gathered_rows_are_accumulated(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        derivative_check(
            &(struct function){"rows", taken_beside, kind, 1, {forge_shape_of(4, 2)}, -1, 1, true});
        forge_graph *graph;
        forge_value g;
        forge_builder *b = forge_builder_new();
        forge_value x = forge_input(b, "x", FORGE_F64, forge_shape_of(4, 2));
        forge_gradients(b, taken_beside(b, &x, kind), &x, 1, &g);
        forge_output(b, "g", g);
        assert_int_equal(forge_builder_finish(b, &graph, NULL), JOULE_OK);
        assert_int_equal(times_in(graph, " scatter.add("), kind == 2 ? 2 : 1);
        assert_int_equal(times_in(graph, " binary.add("), 0);
        forge_graph_free(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slopes_of_scan_equal_differences),
        cmocka_unit_test(test_slopes_of_exclusive_extremes_equal_differences),
        cmocka_unit_test(test_slopes_of_running_products_with_zeros_equal_differences),
        cmocka_unit_test(test_slopes_of_sort_equal_differences),
        cmocka_unit_test(test_slopes_of_gather_equal_differences),
        cmocka_unit_test(test_slopes_of_scatter_equal_differences),
        cmocka_unit_test(test_gradients_of_gathered_rows_are_accumulated),
        cmocka_unit_test(test_slopes_of_concat_of_many_equal_differences),
        cmocka_unit_test(test_slopes_of_inferred_reshapes_equal_differences),
        cmocka_unit_test(test_slopes_of_concat_equal_differences),
        cmocka_unit_test(test_slopes_of_slice_equal_differences),
        cmocka_unit_test(test_slices_side_by_side),
        cmocka_unit_test(test_slopes_of_pad_equal_differences),
    };
    return cmocka_run_group_tests_name("gradient_move", tests, NULL, NULL);
}
