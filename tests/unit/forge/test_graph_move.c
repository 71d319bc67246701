/* Checks operations that move elements: shapes, sizes that are expressions, and refused arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/ir/builder.h"
#include "support/check.h"
#include "support/graphs.h"

static forge_value input(forge_builder *b, const char *name, forge_shape shape)
{
    return forge_input(b, name, FORGE_F32, shape);
}

static void assert_right(forge_builder *b, forge_value value)
{
    forge_graph *graph = NULL;
    joule_error error = {0};
    forge_output(b, "y", value);
    if (forge_builder_finish(b, &graph, &error) != JOULE_OK || graph_verify(graph, &error) != JOULE_OK)
        fail_msg("%s", error.message);
    forge_graph_free(graph);
}

static void test_shapes_of_slices_and_concat_are_inferred(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_value x = input(b, "x", forge_shape_of(2, 7, 3)), y = input(b, "y", forge_shape_of(2, 4, 3));
    assert_value_shape(b, forge_concat(b, (forge_value[]){x, y, x}, 3, 1), "[2,18,3]");
    assert_int_equal(forge_concat(b, &x, 1, 1), x);
    assert_value_shape(
        b, forge_slice(b, x, (forge_dim[]){0, 1, 0}, (forge_dim[]){1, 6, 3}, (int64_t[]){1, 2, -2}),
        "[1,3,2]");
    assert_value_shape(b, forge_slice(b, x, NULL, NULL, (int64_t[]){1, -3, 1}), "[2,3,3]");
    assert_value_shape(b, forge_slice_along(b, x, 1, 3, 3), "[2,0,3]");
    assert_value_shape(b, forge_flip(b, x, 6), "[2,7,3]");
    assert_value_shape(b, forge_pad(b, x, (int64_t[]){0, 1, 2}, (int64_t[]){3, 0, 5}, -1), "[5,8,10]");
    assert_int_equal(forge_slice(b, x, NULL, NULL, NULL), x);
    assert_int_equal(forge_flip(b, x, 0), x);
    assert_int_equal(forge_pad(b, x, (int64_t[]){0, 0, 0}, (int64_t[]){0, 0, 0}, 1), x);
    assert_right(b, forge_concat(b, (forge_value[]){x, y}, 2, 1));
}

static void test_concat_joins_any_number(void **state)
{
    (void)state;
    for (size_t count = 15; count < 600; count = count * 3 + 2) {
        forge_builder *b = forge_builder_new();
        forge_value parts[600];
        for (size_t i = 0; i < count; i++) {
            char name[16];
            snprintf(name, sizeof name, "x%zu", i);
            parts[i] = input(b, name, forge_shape_of(2, 1 + i % 2));
        }
        forge_value all = forge_concat(b, parts, count, 1);
        assert_int_equal(forge_value_shape(b, all).dims[1], count + count / 2);
        assert_right(b, all);
    }
}

static void test_slices_may_have_symbolic_sizes(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_dim time = forge_symbol(b, "T", 4, 64, 1), more = forge_dim_add(b, time, 1);
    forge_value x = input(b, "x", forge_shape_of(2, more));
    forge_value rows = forge_slice_along(b, x, 1, 0, time), next = forge_slice_along(b, x, 1, 1, more);
    assert_value_shape(b, rows, "[2,T]");
    assert_value_shape(b, forge_add(b, rows, next), "[2,T]"); /* adds each row to the next one */
    assert_value_shape(b, forge_flip(b, x, 2), "[2,(T+1)]");
    assert_value_shape(b, forge_slice(b, x, NULL, NULL, (int64_t[]){1, 2}), "[2,((T+2)/2)]");
    assert_value_shape(b, forge_slice_along(b, x, 1, 0, 4), "[2,4]");
    forge_value both = forge_concat(b, (forge_value[]){x, rows, x}, 3, 1);
    assert_value_shape(b, both, "[2,((T*3)+2)]");
    forge_dim twice = forge_dim_add(b, more, time);
    assert_value_shape(b, forge_slice_along(b, both, 1, more, twice), "[2,T]");
    assert_value_shape(b, forge_pad(b, rows, (int64_t[]){0, 3}, (int64_t[]){0, 1}, 0), "[2,(T+4)]");
    assert_right(b, both);
}

static void test_invalid_slices_are_refused(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_slice_along(b, input(b, "x", forge_shape_of(2, 7)), 1, 3, 8);
    assert_builder_refused(b, "slice(f32[2,7]): dimension 1, 3 to 8 by 1 of 7: the limit may be above");
    b = forge_builder_new();
    forge_slice_along(b, input(b, "x", forge_shape_of(7)), 0, 3, 2);
    assert_builder_refused(b, "3 to 2 by 1 of 7: the start may be after");
    b = forge_builder_new();
    forge_slice_along(b, input(b, "x", forge_shape_of(7)), 0, -2, 7);
    assert_builder_refused(b, "? to 7 by 1 of 7: a negative size is a symbol's id");
    b = forge_builder_new();
    forge_slice(b, input(b, "x", forge_shape_of(7)), NULL, NULL, (int64_t[]){0});
    assert_builder_refused(b, "invalid step");
    b = forge_builder_new();
    forge_slice(b, input(b, "x", forge_shape_of(7)), NULL, NULL, (int64_t[]){INT64_MIN});
    assert_builder_refused(b, "invalid step");
    b = forge_builder_new();
    forge_slice_along(b, input(b, "x", forge_shape_of(forge_symbol(b, "T", 2, 9, 1))), 0, 0, 3);
    assert_builder_refused(b, "0 to 3 by 1 of T: the limit may be above");
    b = forge_builder_new();
    forge_flip(b, input(b, "x", forge_shape_of(7)), 2);
    assert_builder_refused(b, "flip: axes 0x2 do not exist in rank 1");
    b = forge_builder_new();
    forge_pad(b, input(b, "x", forge_shape_of(7)), (int64_t[]){-1}, (int64_t[]){0}, 0);
    assert_builder_refused(b, "padding cannot be negative");
    b = forge_builder_new();
    forge_value x = input(b, "x", forge_shape_of(2, 3)), y = input(b, "y", forge_shape_of(3, 3));
    forge_concat(b, (forge_value[]){x, y}, 2, 1);
    assert_builder_refused(b, "concat(f32[2,3], f32[3,3]): sizes may differ only along axis 1");
    b = forge_builder_new();
    x = input(b, "x", forge_shape_of(2));
    forge_concat(b, (forge_value[]){x, forge_cast(b, FORGE_F64, x)}, 2, 0);
    assert_builder_refused(b, "must have one type");
    b = forge_builder_new();
    forge_concat(b, NULL, 0, 0);
    assert_builder_refused(b, "concat does not take 0 inputs");
}

/* --- by indices ----------------------------------------------------------------------------------------- */

static forge_value integers(forge_builder *b, const char *name, forge_shape shape)
{
    return forge_input(b, name, FORGE_I32, shape);
}

static void test_shapes_of_gather_and_scatter_are_inferred(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_dim batch = forge_symbol(b, "B", 1, 64, 1), time = forge_symbol(b, "T", 1, 64, 1);
    forge_value table = input(b, "table", forge_shape_of(1000, 16));
    forge_value tokens = integers(b, "tokens", forge_shape_of(batch, time));
    forge_value found = forge_gather(b, table, tokens, 0);
    assert_value_shape(b, found, "[B,T,16]");
    assert_value_shape(b, forge_gather(b, table, integers(b, "one", (forge_shape){0}), 1), "[1000]");
    assert_value_shape(b, forge_gather(b, found, tokens, 2), "[B,T,B,T]");
    forge_value places = integers(b, "places", forge_shape_of(batch, time, 3));
    assert_value_shape(b, forge_gather_along(b, found, places, 2), "[B,T,3]");
    forge_value back = forge_scatter(b, table, tokens, found, 0, FORGE_SCATTER_ADD);
    assert_value_shape(b, back, "[1000,16]");
    forge_value three = input(b, "three", forge_shape_of(batch, time, 3));
    assert_value_shape(b, forge_scatter_along(b, found, places, three, 2, FORGE_SCATTER_MAX), "[B,T,16]");
    assert_right(b, back);
}

static void test_invalid_indices_are_refused(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_value x = input(b, "x", forge_shape_of(4, 3));
    forge_gather(b, x, x, 0);
    assert_builder_refused(b, "gather(f32[4,3], f32[4,3]): the indices must be integers, not f32");
    b = forge_builder_new();
    forge_gather(b, input(b, "x", forge_shape_of(4, 3)), integers(b, "i", forge_shape_of(2)), 2);
    assert_builder_refused(b, "axis 2 does not exist");
    b = forge_builder_new();
    forge_gather_along(b, input(b, "x", forge_shape_of(4, 3)), integers(b, "i", forge_shape_of(2, 2)), 0);
    assert_builder_refused(b, "the indices may differ from x only along axis 0");
    b = forge_builder_new();
    forge_gather_along(b, input(b, "x", forge_shape_of(4, 3)), integers(b, "i", forge_shape_of(4)), 0);
    assert_builder_refused(b, "the indices may differ from x only along axis 0");
    b = forge_builder_new();
    forge_gather(b, input(b, "x", forge_shape_of(1, 1, 1, 1, 1, 1)),
                 integers(b, "i", forge_shape_of(1, 1, 1, 1)), 0);
    assert_builder_refused(b, "the result's rank 9");
    b = forge_builder_new();
    x = input(b, "x", forge_shape_of(4, 3));
    forge_scatter(b, x, integers(b, "i", forge_shape_of(2)), x, 0, FORGE_SCATTER_SET);
    assert_builder_refused(b,
                           "the updates must be [2,3], the shape that a gather with these indices returns");
    b = forge_builder_new();
    x = forge_input(b, "x", FORGE_BOOL, forge_shape_of(4));
    forge_scatter(b, x, integers(b, "i", forge_shape_of(4)), x, 0, FORGE_SCATTER_ADD);
    assert_builder_refused(b, "cannot add bool into bool");
}

/* --- along an axis -------------------------------------------------------------------------------------- */

static void test_shapes_of_scans_and_sorts_are_inferred(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_dim time = forge_symbol(b, "T", 4, 64, 1);
    forge_value x = input(b, "x", forge_shape_of(2, time)), indices, first;
    assert_value_shape(b, forge_scan(b, FORGE_SUM, x, 1, FORGE_SCAN_REVERSE), "[2,T]");
    forge_value y = forge_sort(b, x, 1, false, &indices);
    assert_value_shape(b, y, "[2,T]");
    assert_value_shape(b, indices, "[2,T]");
    assert_int_equal(forge_value_dtype(b, indices), FORGE_I64);
    assert_int_equal(forge_sort(b, x, 1, false, NULL), y);
    assert_value_shape(b, forge_top_k(b, x, 4, 1, &first), "[2,4]");
    assert_value_shape(b, first, "[2,4]");
    assert_value_shape(b, forge_top_k(b, x, forge_dim_div(b, time, 2), 1, NULL), "[2,(T/2)]");
    assert_right(b, indices); /* the indices are an output, although the sorted values are not used */
    b = forge_builder_new();
    forge_top_k(b, input(b, "x", forge_shape_of(forge_symbol(b, "T", 4, 64, 1))), 5, 0, &indices);
    assert_int_equal(indices, FORGE_NO_VALUE);
    assert_builder_refused(b, "sort(f32[T]): there may be fewer than 5 elements along axis 0");
    b = forge_builder_new();
    forge_sort(b, input(b, "x", forge_shape_of(3)), 1, false, NULL);
    assert_builder_refused(b, "axis 1 does not exist");
    b = forge_builder_new();
    forge_scan(b, FORGE_MEAN, input(b, "x", forge_shape_of(3)), 0, 0);
    assert_builder_refused(b, "a scan cannot compute mean");
    b = forge_builder_new();
    forge_scan(b, FORGE_SUM, input(b, "x", forge_shape_of(3)), 0, 4);
    assert_builder_refused(b, "unknown flags 0x4");
    b = forge_builder_new();
    forge_scan(b, FORGE_SUM, forge_input(b, "x", FORGE_BOOL, forge_shape_of(3)), 0, 0);
    assert_builder_refused(b, "sum does not support bool");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_of_scans_and_sorts_are_inferred),
        cmocka_unit_test(test_shapes_of_gather_and_scatter_are_inferred),
        cmocka_unit_test(test_invalid_indices_are_refused),
        cmocka_unit_test(test_shapes_of_slices_and_concat_are_inferred),
        cmocka_unit_test(test_concat_joins_any_number),
        cmocka_unit_test(test_slices_may_have_symbolic_sizes),
        cmocka_unit_test(test_invalid_slices_are_refused),
    };
    return cmocka_run_group_tests_name("graph_move", tests, NULL, NULL);
}
