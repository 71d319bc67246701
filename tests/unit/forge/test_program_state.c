/* Checks slots of programs: when writes take effect, which writes are in place, and what prevents a write in
 * place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <forge/nonfinite.h>
#include <math.h>
#include "forge/ir/program.h"
#include "support/check.h"
#include "support/workbench.h"

/* --- slots ---------------------------------------------------------------------------------------------- */

static void test_a_write_takes_effect_at_the_end(void **state)
{
    struct workbench *m = *state;
    forge_builder *b = forge_builder_new();
    forge_slot slot =
        forge_state(b, "n", FORGE_F32, forge_shape_of(2), (forge_init){FORGE_INIT_CONSTANT, 5, 0});
    forge_value old = forge_read(b, slot), next = forge_add(b, old, forge_scalar(b, FORGE_F32, 1));
    forge_write(b, slot, next, false);
    forge_output(b, "old", old);
    forge_output(b, "next", next);
    workbench_load(m, b);
    for (int i = 0; i < 3; i++) {
        workbench_run(m);
        workbench_assert_output(m, "old", (float[]){5 + (float)i, 5 + (float)i}, 2);
        workbench_assert_output(m, "next", (float[]){6 + (float)i, 6 + (float)i}, 2);
        workbench_assert_slot(m, "n", (float[]){6 + (float)i, 6 + (float)i}, 2);
    }
}

/* A run with an input that was never set is refused, and changes no slot. */
static void test_an_input_that_was_never_set_is_refused(void **state)
{
    struct workbench *bench = *state;
    joule_error error = {0};
    forge_nonfinite found = {.struct_size = sizeof found};
    forge_builder *b = forge_builder_new();
    forge_shape shape = forge_shape_of(2);
    forge_slot slot = forge_state(b, "sum", FORGE_F32, shape, (forge_init){0});
    forge_value first = forge_input(b, "first", FORGE_F32, shape),
                second = forge_input(b, "second", FORGE_F32, shape);
    forge_value sum = forge_add(b, forge_read(b, slot), forge_add(b, first, second));
    forge_write(b, slot, sum, true);
    forge_output(b, "y", sum);
    workbench_load(bench, b);
    workbench_set(bench, "first", (float[]){1, 2});
    assert_int_equal(forge_instance_run(bench->instance, &error), JOULE_INVALID);
    assert_contains(error.message, "input 'second' was never set");
    assert_int_equal(forge_instance_run_checked(bench->instance, &found, &error), JOULE_INVALID);
    assert_contains(error.message, "input 'second' was never set");
    workbench_assert_slot(bench, "sum", (float[]){0, 0}, 2); /* the refused run changed no slot */
    assert_int_equal(forge_instance_set_zeros(bench->instance, "third", &error), JOULE_ABSENT);
    assert_int_equal(forge_instance_set_zeros(bench->instance, NULL, &error), JOULE_OK);
    workbench_run(bench);
    /* inputs that were set before keep their values */
    workbench_assert_output(bench, "y", (float[]){1, 2}, 2);
    workbench_set(bench, "second", (float[]){10, 20});
    workbench_run(bench);
    workbench_assert_output(bench, "y", (float[]){12, 24}, 2);
    assert_int_equal(forge_instance_set_zeros(bench->instance, "first", &error), JOULE_OK);
    workbench_run(bench);
    workbench_assert_output(bench, "y", (float[]){22, 44}, 2);
}

/* The slot has more elements than are filled in one step. */
static void test_slots_of_block_formats_are_filled(void **state)
{
    struct workbench *m = *state;
    forge_tensor y;
    forge_builder *b = forge_builder_new();
    forge_slot slot =
        forge_state(b, "blocks", FORGE_Q8_0, forge_shape_of(1024), (forge_init){FORGE_INIT_CONSTANT, 5, 0});
    forge_output(b, "y", forge_cast(b, FORGE_F32, forge_read(b, slot)));
    workbench_load(m, b);
    workbench_run(m);
    y = workbench_output(m, "y");
    for (size_t i = 0; i < 1024; i++)
        assert_true(fabsf(((float *)forge_tensor_data(&y))[i] - 5) < 0.01f);
}

static void test_slots_can_be_exchanged(void **state)
{
    struct workbench *m = *state;
    forge_builder *b = forge_builder_new();
    forge_slot one =
        forge_state(b, "one", FORGE_F32, forge_shape_of(2), (forge_init){FORGE_INIT_CONSTANT, 1, 0});
    forge_slot two =
        forge_state(b, "two", FORGE_F32, forge_shape_of(2), (forge_init){FORGE_INIT_CONSTANT, 2, 0});
    forge_slot kept =
        forge_state(b, "kept", FORGE_F32, forge_shape_of(2), (forge_init){FORGE_INIT_CONSTANT, 3, 0});
    forge_value value_one = forge_read(b, one);
    forge_write(b, one, forge_read(b, two), false);
    forge_write(b, two, value_one, false);
    forge_write(b, kept, forge_read(b, kept), true);
    workbench_load(m, b);
    workbench_run(m);
    workbench_assert_slot(m, "one", (float[]){2, 2}, 2);
    workbench_assert_slot(m, "two", (float[]){1, 1}, 2);
    workbench_assert_slot(m, "kept", (float[]){3, 3}, 2);
}

/* The same value is written to two slots and is an output. */
static void test_one_value_goes_to_many_places(void **state)
{
    struct workbench *m = *state;
    forge_builder *b = forge_builder_new();
    forge_slot one = forge_state(b, "one", FORGE_F32, forge_shape_of(2), (forge_init){0});
    forge_slot two = forge_state(b, "two", FORGE_F32, forge_shape_of(2), (forge_init){0});
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2)), y = forge_exp(b, forge_sub(b, x, x));
    forge_write(b, one, y, false);
    forge_write(b, two, y, true);
    forge_output(b, "y", y);
    forge_output(b, "z", y);
    workbench_load(m, b);
    workbench_set(m, "x", (float[]){3, 4});
    workbench_run(m);
    workbench_assert_slot(m, "one", (float[]){1, 1}, 2);
    workbench_assert_slot(m, "two", (float[]){1, 1}, 2);
    workbench_assert_output(m, "y", (float[]){1, 1}, 2);
    workbench_assert_output(m, "z", (float[]){1, 1}, 2);
}

static void test_programs_share_slots_by_name(void **state)
{
    struct workbench *m = *state;
    for (int i = 0; i < 2; i++) {
        forge_builder *b = forge_builder_new();
        forge_slot w =
            forge_state(b, "shared", FORGE_F32, forge_shape_of(1), (forge_init){FORGE_INIT_CONSTANT, 1, 0});
        forge_output(b, "w", forge_mul(b, forge_read(b, w), forge_scalar(b, FORGE_F32, 10)));
        if (i == 0)
            forge_write(b, w, forge_add(b, forge_read(b, w), forge_scalar(b, FORGE_F32, 1)), true);
        workbench_load(m, b);
        workbench_run(m);
        workbench_assert_output(m, "w", (float[]){i ? 20 : 10}, 1);
    }
    assert_int_equal(forge_states_count(m->states), 1);
    joule_error error = {0};
    forge_builder *b = forge_builder_new();
    forge_slot w = forge_state(b, "shared", FORGE_F32, forge_shape_of(2), (forge_init){0});
    forge_output(b, "w", forge_read(b, w));
    assert_int_equal(workbench_try_load(m, b, &error), JOULE_INVALID);
    assert_contains(error.message, "slot 'shared' is f32[1], but the program needs f32[2]");
}

/* A slot's initial contents depend only on the seed and the slot's name. */
static void test_slots_begin_by_seed_and_name(void **state)
{
    struct workbench *m = *state;
    float first[64];
    forge_tensor tensor;
    for (int i = 0; i < 3; i++) {
        forge_states_free(m->states);
        assert_int_equal(forge_states_new(m->device, i == 2 ? 43 : 42, &m->states, NULL), JOULE_OK);
        forge_builder *b = forge_builder_new();
        if (i == 1)
            forge_output(b, "o",
                         forge_read(b, forge_state(b, "other", FORGE_F32, forge_shape_of(9),
                                                   (forge_init){FORGE_INIT_NORMAL, 0, 1})));
        forge_slot w =
            forge_state(b, "w", FORGE_F32, forge_shape_of(64), (forge_init){FORGE_INIT_UNIFORM, -2, 3});
        forge_output(b, "w", forge_read(b, w));
        workbench_load(m, b);
        tensor = workbench_slot(m, "w");
        float *w_now = forge_tensor_data(&tensor);
        for (int k = 0; k < 64; k++)
            assert_true(w_now[k] >= -2 && w_now[k] < 3);
        if (i == 0)
            memcpy(first, w_now, sizeof first);
        else
            assert_true((memcmp(first, w_now, sizeof first) == 0) == (i == 1));
        workbench_unload(m);
    }
}

/* --- in place ------------------------------------------------------------------------------------------- */

/* An update in place needs no memory, for slots of any size. */
static void test_in_place_costs_no_memory(void **state)
{
    struct workbench *m = *state;
    forge_builder *b = forge_builder_new();
    forge_shape shape = forge_shape_of(1024, 1024);
    forge_slot w = forge_state(b, "w", FORGE_F32, shape, (forge_init){FORGE_INIT_CONSTANT, 4, 0});
    forge_value x = forge_input(b, "x", FORGE_F32, (forge_shape){0});
    /* this product reads w, and the subtraction reads w again */
    forge_value step = forge_mul(b, forge_read(b, w), x);
    forge_write(b, w, forge_sub(b, forge_read(b, w), forge_mul(b, forge_neg(b, step), x)), true);
    workbench_load(m, b);
    assert_int_equal(workbench_facts(m).state_bytes, 4 << 20);
    assert_true(workbench_facts(m).arena_bytes <= (4 << 20) + 64);
    workbench_set(m, "x", (float[]){2});
    workbench_run(m);
    forge_tensor tensor = workbench_slot(m, "w");
    assert_true(((float *)forge_tensor_data(&tensor))[12345] == 20);
}

/* The slot has 256 MiB, but only one row is written. The plan and the stated work contain one row only.
 * Nothing runs, so the slot is not allocated. */
static void test_a_row_written_in_place_costs_a_row(void **state)
{
    struct workbench *m = *state;
    forge_graph *graph = NULL;
    forge_builder *b = forge_builder_new();
    forge_slot cache = forge_state(b, "cache", FORGE_F32, forge_shape_of(65536, 1024), (forge_init){0});
    forge_value at = forge_cast(b, FORGE_I64, forge_input(b, "at", FORGE_F32, forge_shape_of(1)));
    forge_value row = forge_neg(b, forge_input(b, "row", FORGE_F32, forge_shape_of(1, 1024)));
    forge_write(b, cache, forge_scatter(b, forge_read(b, cache), at, row, 0, FORGE_SCATTER_SET), true);
    assert_int_equal(forge_builder_finish(b, &graph, NULL), JOULE_OK);
    workbench_unload(m);
    assert_int_equal(forge_compile(graph, m->device, &m->program, NULL), JOULE_OK);
    forge_graph_free(graph);
    assert_int_equal(workbench_facts(m).state_bytes, 256 << 20);
    assert_int_equal(workbench_facts(m).arena_bytes, 4096 + 64); /* the row and its index */
    assert_int_equal(workbench_facts(m).launches, 3);
    const struct program_launch *last = &program_launches(m->program)[2];
    assert_true(last->op == OP_SCATTER && last->cost.written_bytes == 4096 &&
                last->cost.read_bytes == 4096 + 8);
}

static void test_rows_written_in_place(void **state)
{
    struct workbench *m = *state;
    forge_builder *b = forge_builder_new();
    forge_slot cache =
        forge_state(b, "rows", FORGE_F32, forge_shape_of(3, 2), (forge_init){FORGE_INIT_CONSTANT, 1, 0});
    forge_value at = forge_cast(b, FORGE_I32, forge_input(b, "at", FORGE_F32, forge_shape_of(2)));
    forge_value old = forge_read(b, cache), rows = forge_neg(b, forge_gather(b, old, at, 0));
    forge_output(b, "old", forge_slice_along(b, old, 0, 2, 3));
    forge_write(b, cache, forge_scatter(b, old, at, rows, 0, FORGE_SCATTER_ADD), true);
    workbench_load(m, b);
    workbench_set(m, "at", (float[]){2, 2});
    workbench_run(m);
    workbench_assert_slot(m, "rows", (float[]){1, 1, 1, 1, -1, -1}, 6);
    workbench_assert_output(m, "old", (float[]){1, 1}, 2);
    workbench_set(m, "at", (float[]){0, -2});
    workbench_run(m);
    workbench_assert_slot(m, "rows", (float[]){0, 0, 0, 0, -1, -1}, 6);
}

/* Intermediate results of an update also use the slot's memory. This is possible only if no other node needs
 * these results or the old value. */
static void test_chains_of_updates_cost_no_memory(void **state)
{
    struct workbench *m = *state;
    forge_builder *b = forge_builder_new();
    forge_shape shape = forge_shape_of(256, 256);
    forge_slot v = forge_state(b, "v", FORGE_F32, shape, (forge_init){FORGE_INIT_CONSTANT, 2, 0});
    forge_slot p = forge_state(b, "p", FORGE_F32, shape, (forge_init){FORGE_INIT_CONSTANT, 5, 0});
    forge_value x = forge_input(b, "x", FORGE_F32, (forge_shape){0}), old = forge_read(b, v);
    forge_value first = forge_iota(b, FORGE_I64, forge_shape_of(1), 0),
                row = forge_broadcast(b, x, forge_shape_of(1, 256));
    forge_value one = forge_scatter(b, forge_mul(b, old, x), first, row, 0, FORGE_SCATTER_ADD);
    forge_value two = forge_scatter(b, one, forge_add(b, first, first), row, 0, FORGE_SCATTER_ADD);
    forge_write(b, v, two, true); /* v is now 2 x in all rows, and row 0 has another 2 x */
    forge_value more = forge_sub(b, x, forge_read(b, p));
    forge_write(b, p, forge_mul(b, more, x), true);
    forge_output(b, "more", more);
    workbench_load(m, b);
    assert_true(workbench_facts(m).arena_bytes < 4096);
    workbench_set(m, "x", (float[]){3});
    workbench_run(m);
    forge_tensor tensor = workbench_slot(m, "v");
    assert_true(((float *)forge_tensor_data(&tensor))[255] == 12 &&
                ((float *)forge_tensor_data(&tensor))[256] == 6);
    tensor = workbench_slot(m, "p");
    assert_true(((float *)forge_tensor_data(&tensor))[999] == -6);
    tensor = workbench_output(m, "more");
    assert_true(((float *)forge_tensor_data(&tensor))[999] == -2);
}

/* A value that is a part of a larger value cannot use the slot's memory. Neither can a value that is computed
 * before the slot is read for the last time. */
static void test_chains_that_end(void **state)
{
    struct workbench *m = *state;
    forge_builder *b = forge_builder_new();
    forge_slot s = forge_state(b, "s", FORGE_F32, forge_shape_of(2), (forge_init){FORGE_INIT_CONSTANT, 1, 0});
    forge_slot u = forge_state(b, "u", FORGE_F32, forge_shape_of(2), (forge_init){FORGE_INIT_CONSTANT, 1, 0});
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2));
    forge_value wide = forge_neg(b, forge_broadcast(b, x, forge_shape_of(1000, 2)));
    forge_value part = forge_reshape(b, forge_slice_along(b, wide, 0, 0, 1), forge_shape_of(2));
    forge_write(b, s, forge_neg(b, part), true);
    forge_value early = forge_mul(b, x, x), late = forge_add(b, early, forge_read(b, u));
    forge_write(b, u, late, true);
    workbench_load(m, b);
    assert_true(workbench_facts(m).arena_bytes >= 8000);
    workbench_set(m, "x", (float[]){1, 2});
    workbench_run(m);
    workbench_assert_slot(m, "s", (float[]){1, 2}, 2);
    workbench_assert_slot(m, "u", (float[]){2, 5}, 2);
    workbench_run(m);
    workbench_assert_slot(m, "u", (float[]){3, 9}, 2);
}

/* A value that is copied into another slot at the end cannot use the first slot's memory. */
static void test_chains_mind_other_slots(void **state)
{
    struct workbench *m = *state;
    forge_builder *b = forge_builder_new();
    forge_slot p =
        forge_state(b, "first", FORGE_F32, forge_shape_of(2), (forge_init){FORGE_INIT_CONSTANT, 1, 0});
    forge_slot k =
        forge_state(b, "second", FORGE_F32, forge_shape_of(2), (forge_init){FORGE_INIT_CONSTANT, 7, 0});
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2)), t = forge_sub(b, forge_read(b, p), x);
    forge_write(b, p, forge_mul(b, t, x), true);
    forge_write(b, k, t, false);
    forge_output(b, "old", forge_neg(b, forge_read(b, k)));
    workbench_load(m, b);
    workbench_set(m, "x", (float[]){3, 5});
    workbench_run(m);
    workbench_assert_slot(m, "first", (float[]){-6, -20}, 2);
    workbench_assert_slot(m, "second", (float[]){-2, -4}, 2);
    workbench_assert_output(m, "old", (float[]){-7, -7}, 2);
}

/* A scatter cannot update a slot in place if its updates are the slot's old value, because the updates would
 * change while they are read. */
static void test_in_place_minds_the_updates(void **state)
{
    struct workbench *m = *state;
    joule_error error = {0};
    for (int in_place = 0; in_place < 2; in_place++) {
        forge_builder *b = forge_builder_new();
        forge_slot slot =
            forge_state(b, "turned", FORGE_F32, forge_shape_of(3), (forge_init){FORGE_INIT_CONSTANT, 1, 0});
        forge_value old = forge_read(b, slot), x = forge_input(b, "x", FORGE_F32, forge_shape_of(3));
        forge_value sum = forge_add(b, old, x), count = forge_iota(b, FORGE_I64, forge_shape_of(3), 0);
        forge_output(b, "y",
                     forge_neg(b, forge_scatter(b, sum, forge_flip(b, count, 1), sum, 0, FORGE_SCATTER_SET)));
        forge_write(b, slot, forge_scatter(b, old, forge_flip(b, count, 1), old, 0, FORGE_SCATTER_ADD),
                    in_place);
        if (in_place) {
            assert_int_equal(workbench_try_load(m, b, &error), JOULE_FAILED);
            assert_contains(error.message, "slot 'turned' cannot be written in place: scatter");
            continue;
        }
        workbench_load(m, b);
        workbench_set(m, "x", (float[]){1, 2, 3});
        workbench_run(m);
        workbench_assert_output(m, "y", (float[]){-4, -3, -2}, 3);
        workbench_assert_slot(m, "turned", (float[]){2, 2, 2}, 3);
    }
}

/* A product cannot overwrite its operand. The message states the reason. */
static void test_in_place_that_cannot_be(void **state)
{
    struct workbench *m = *state;
    joule_error error = {0};
    forge_builder *b = forge_builder_new();
    forge_slot w = forge_state(b, "w", FORGE_F32, forge_shape_of(3, 3), (forge_init){0});
    forge_scope_push(b, "square");
    forge_write(b, w, forge_matmul(b, forge_read(b, w), forge_read(b, w), 0), true);
    assert_int_equal(workbench_try_load(m, b, &error), JOULE_FAILED);
    assert_contains(error.message, "slot 'w' cannot be written in place: matmul in 'square'");
    /* Without a request for in place, the result is computed in other memory and copied. */
    b = forge_builder_new();
    w = forge_state(b, "v", FORGE_F32, forge_shape_of(2, 2), (forge_init){FORGE_INIT_CONSTANT, 1, 0});
    forge_write(b, w, forge_matmul(b, forge_read(b, w), forge_read(b, w), 0), false);
    workbench_load(m, b);
    workbench_run(m);
    workbench_run(m);
    workbench_assert_slot(m, "v", (float[]){8, 8, 8, 8}, 4);
}

/* The update reads the old value transposed, so it must not overwrite the old value. */
static void test_in_place_minds_other_views(void **state)
{
    struct workbench *m = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 2)), y = forge_neg(b, x);
    forge_output(b, "z",
                 forge_exp(b, forge_sub(b, forge_add(b, y, forge_transpose(b, y, (uint32_t[]){1, 0})), x)));
    forge_slot w =
        forge_state(b, "u", FORGE_F32, forge_shape_of(2, 2), (forge_init){FORGE_INIT_CONSTANT, 1, 0});
    forge_value old = forge_read(b, w);
    forge_write(b, w, forge_add(b, forge_add(b, old, x), forge_transpose(b, old, (uint32_t[]){1, 0})), false);
    workbench_load(m, b);
    workbench_set(m, "x", (float[]){0, 1, -1, 0});
    workbench_run(m);
    workbench_assert_slot(m, "u", (float[]){2, 3, 1, 2}, 4);
    workbench_run(m);
    workbench_assert_slot(m, "u", (float[]){4, 5, 3, 4}, 4);
    forge_tensor z = workbench_output(m, "z");
    float *e = forge_tensor_data(&z);
    assert_true(e[0] == 1 && e[1] < 0.4f && e[2] > 2.7f && e[3] == 1);
}

int main(void)
{
#define on_workbench(test) cmocka_unit_test_setup_teardown(test, workbench_set_up, workbench_tear_down)
    const struct CMUnitTest tests[] = {
        on_workbench(test_a_write_takes_effect_at_the_end),
        on_workbench(test_an_input_that_was_never_set_is_refused),
        on_workbench(test_slots_of_block_formats_are_filled),
        on_workbench(test_slots_can_be_exchanged),
        on_workbench(test_one_value_goes_to_many_places),
        on_workbench(test_programs_share_slots_by_name),
        on_workbench(test_slots_begin_by_seed_and_name),
        on_workbench(test_in_place_costs_no_memory),
        on_workbench(test_a_row_written_in_place_costs_a_row),
        on_workbench(test_rows_written_in_place),
        on_workbench(test_chains_of_updates_cost_no_memory),
        on_workbench(test_chains_that_end),
        on_workbench(test_chains_mind_other_slots),
        on_workbench(test_in_place_minds_the_updates),
        on_workbench(test_in_place_that_cannot_be),
        on_workbench(test_in_place_minds_other_views),
    };
    return cmocka_run_group_tests_name("program_state", tests, NULL, NULL);
}
