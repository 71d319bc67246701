/* Checks programs from graph to results: views instead of copies, launches with several results, and refused
 * inputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "support/check.h"
#include "support/workbench.h"

static void test_moves_leave_no_launch(void **state)
{
    struct workbench *m = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 3));
    forge_value t = forge_transpose(b, forge_reshape(b, x, forge_shape_of(2, 3, 1)), (uint32_t[]){1, 0, 2});
    forge_output(b, "y", forge_neg(b, forge_broadcast(b, t, forge_shape_of(3, 2, 2))));
    workbench_load(m, b);
    assert_int_equal(workbench_facts(m).launches, 1);
    workbench_set(m, "x", (float[]){1, 2, 3, 4, 5, 6});
    workbench_run(m);
    workbench_assert_output(m, "y", (float[]){-1, -1, -4, -4, -2, -2, -5, -5, -3, -3, -6, -6}, 12);
}

/* The output is a part of every second column of the transposed matrix, in reverse order. */
static void test_slices_leave_no_launch(void **state)
{
    struct workbench *m = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(5, 3));
    /* the rows of t are 2 5 8 .., 1 4 7 .. and 0 3 6 .. */
    forge_value t = forge_flip(b, forge_transpose(b, x, (uint32_t[]){1, 0}), 1);
    t = forge_slice(b, t, (forge_dim[]){0, 1}, (forge_dim[]){2, 5}, (int64_t[]){1, -2});
    forge_value last = forge_slice_along(b, x, 0, 4, 5), none = forge_slice_along(b, x, 0, 0, 0);
    forge_output(b, "y", forge_neg(b, t));
    forge_output(b, "last", forge_neg(b, forge_reshape(b, last, forge_shape_of(3))));
    forge_output(b, "none", forge_neg(b, forge_flip(b, none, 1)));
    workbench_load(m, b);
    assert_int_equal(workbench_facts(m).launches, 3);
    workbench_set(m, "x", (float[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
    workbench_run(m);
    workbench_assert_output(m, "y", (float[]){-14, -8, -13, -7}, 4);
    workbench_assert_output(m, "last", (float[]){-12, -13, -14}, 3);
    workbench_assert_output(m, "none", NULL, 0);
}

/* A slice's size may be known although its offset is a symbol. */
static void test_places_that_are_symbols(void **state)
{
    struct workbench *m = *state;
    for (int is_constant = 0; is_constant < 2; is_constant++) {
        forge_builder *b = forge_builder_new();
        forge_dim t = forge_symbol(b, "T", 1, 8, 1);
        forge_value nine = forge_broadcast(b, forge_scalar(b, FORGE_F32, 3), forge_shape_of(9));
        forge_value x = is_constant ? nine : forge_input(b, "x", FORGE_F32, forge_shape_of(9));
        forge_value last = forge_flip(b, forge_slice_along(b, x, 0, 0, t), 1);
        forge_output(b, "y", forge_neg(b, forge_slice_along(b, x, 0, t, forge_dim_add(b, t, 1))));
        forge_output(b, "z", forge_slice_along(b, last, 0, 0, 1));
        workbench_load(m, b);
        if (!is_constant)
            workbench_set(m, "x", (float[]){0, 1, 2, 3, 4, 5, 6, 7, 8});
        for (int at = 8; at > 0; at -= 3) {
            assert_int_equal(forge_instance_set_size(m->instance, "T", at, NULL), JOULE_OK);
            workbench_run(m);
            workbench_assert_output(m, "y", (float[]){is_constant ? -3 : -(float)at}, 1);
            workbench_assert_output(m, "z", (float[]){is_constant ? 3 : (float)at - 1}, 1);
        }
    }
}

/* A reshape of a value that is not packed must copy. An output that is a view must be copied, too. */
static void test_moves_that_must_copy(void **state)
{
    struct workbench *m = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 3));
    forge_value t = forge_transpose(b, x, (uint32_t[]){1, 0});
    forge_output(b, "t", t);
    forge_output(b, "flat", forge_reshape(b, t, forge_shape_of(6)));
    forge_output(b, "x", x);
    forge_output(b, "again", x);
    forge_output(b, "part", forge_slice_along(b, x, 1, 1, 3));
    forge_output(b, "ends", forge_concat(b, (forge_value[]){t, t}, 2, 1));
    workbench_load(m, b);
    workbench_set(m, "x", (float[]){1, 2, 3, 4, 5, 6});
    workbench_run(m);
    workbench_assert_output(m, "t", (float[]){1, 4, 2, 5, 3, 6}, 6);
    workbench_assert_output(m, "flat", (float[]){1, 4, 2, 5, 3, 6}, 6);
    workbench_assert_output(m, "x", (float[]){1, 2, 3, 4, 5, 6}, 6);
    workbench_assert_output(m, "again", (float[]){1, 2, 3, 4, 5, 6}, 6);
    workbench_assert_output(m, "part", (float[]){2, 3, 5, 6}, 4);
    workbench_assert_output(m, "ends", (float[]){1, 4, 1, 4, 2, 5, 2, 5, 3, 6, 3, 6}, 12);
}

/* Both results of one launch are used, one through a view and one by a slot. */
static void test_a_launch_with_two_results(void **state)
{
    struct workbench *m = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 4)), indices, unused;
    forge_slot best = forge_state(b, "best", FORGE_F32, forge_shape_of(2, 2), (forge_init){0});
    forge_value two = forge_top_k(b, x, 2, 1, &indices);
    forge_write(b, best, two, false);
    forge_output(b, "where", forge_cast(b, FORGE_F32, forge_flip(b, indices, 2)));
    forge_output(b, "sorted", forge_neg(b, forge_sort(b, x, 1, false, &unused)));
    workbench_load(m, b);
    assert_int_equal(workbench_facts(m).launches, 4);
    workbench_set(m, "x", (float[]){3, 1, 4, 1, 5, 9, 2, 6});
    workbench_run(m);
    workbench_assert_slot(m, "best", (float[]){4, 3, 9, 6}, 4);
    workbench_assert_output(m, "where", (float[]){0, 2, 3, 1}, 4);
    workbench_assert_output(m, "sorted", (float[]){-1, -1, -3, -4, -2, -5, -6, -9}, 8);
}

/* Updates of one element are added in the same order with any number of threads. */
static void test_sums_do_not_depend_on_threads(void **state)
{
    struct workbench *m = *state;
    enum { UPDATES = 3000, WIDTH = 40, PLACES = 7 };
    static float first[PLACES * WIDTH];
    forge_builder *b = forge_builder_new();
    forge_value x = forge_iota(b, FORGE_F32, forge_shape_of(UPDATES, WIDTH), 0);
    forge_value at = forge_cast(b, FORGE_I32, forge_iota(b, FORGE_F32, forge_shape_of(UPDATES), 0));
    forge_tensor seven, sums;
    forge_shape none = {0};
    assert_int_equal(forge_tensor_new(FORGE_I32, &none, &seven, NULL), JOULE_OK);
    *(int32_t *)forge_tensor_data(&seven) = PLACES;
    forge_value zero = forge_broadcast(b, forge_scalar(b, FORGE_F32, 0), forge_shape_of(PLACES, WIDTH));
    at = forge_binary(b, FORGE_MOD, at, forge_constant(b, &seven));
    forge_buffer_release(seven.buffer);
    forge_output(b, "sums", forge_scatter(b, zero, at, forge_unary(b, FORGE_SIN, x), 0, FORGE_SCATTER_ADD));
    workbench_load(m, b);
    for (unsigned threads = 1; threads <= 4; threads++) {
        assert_int_equal(forge_device_set_threads(m->device, threads, NULL), JOULE_OK);
        workbench_run(m);
        sums = workbench_output(m, "sums");
        if (threads == 1)
            memcpy(first, forge_tensor_data(&sums), sizeof first);
        assert_memory_equal(first, forge_tensor_data(&sums), sizeof first);
    }
}

static void test_wrong_arguments_are_refused_with_the_difference(void **state)
{
    struct workbench *m = *state;
    joule_error error = {0};
    forge_tensor tensor;
    forge_device *none;
    forge_builder *b = forge_builder_new();
    forge_output(b, "y", forge_neg(b, forge_input(b, "x", FORGE_F32, forge_shape_of(2))));
    workbench_load(m, b);
    forge_shape shape = forge_shape_of(3);
    assert_int_equal(forge_tensor_new(FORGE_F64, &shape, &tensor, NULL), JOULE_OK);
    assert_int_equal(forge_instance_set(m->instance, "x", &tensor, &error), JOULE_INVALID);
    assert_contains(error.message, "input 'x' must be f32[2], packed, not f64[3]");
    assert_int_equal(forge_instance_set(m->instance, "z", &tensor, &error), JOULE_ABSENT);
    forge_buffer_release(tensor.buffer);
    assert_int_equal(forge_device_open("abacus", &none, &error), JOULE_ABSENT);
    assert_contains(error.message, "known devices: cpu");
}

int main(void)
{
#define on_workbench(test) cmocka_unit_test_setup_teardown(test, workbench_set_up, workbench_tear_down)
    const struct CMUnitTest tests[] = {
        on_workbench(test_moves_leave_no_launch),
        on_workbench(test_slices_leave_no_launch),
        on_workbench(test_places_that_are_symbols),
        on_workbench(test_moves_that_must_copy),
        on_workbench(test_a_launch_with_two_results),
        on_workbench(test_sums_do_not_depend_on_threads),
        on_workbench(test_wrong_arguments_are_refused_with_the_difference),
    };
    return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
