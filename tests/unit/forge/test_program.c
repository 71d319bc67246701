/* From graph to results: views instead of copies, state and in-place writes, plans, instances. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <math.h>
#include "forge/compiler/plan.h"
#include "forge/ir/program.h"

struct machine {
    forge_device *device;
    forge_states *states;
    forge_program *program;
    forge_instance *instance;
};

static int set_up(void **state)
{
    struct machine *m = calloc(1, sizeof *m);
    *state = m;
    return forge_device_open("cpu", &m->device, NULL) != JOULE_OK ||
           forge_states_new(m->device, 42, &m->states, NULL) != JOULE_OK;
}

static void unload(struct machine *m)
{
    forge_instance_free(m->instance);
    forge_program_free(m->program);
    m->instance = NULL;
    m->program = NULL;
}

static int tear_down(void **state)
{
    struct machine *m = *state;
    unload(m);
    forge_states_free(m->states);
    forge_device_close(m->device);
    free(m);
    return 0;
}

static joule_status try_load(struct machine *m, forge_builder *b, joule_error *error)
{
    forge_graph *graph = NULL;
    unload(m);
    joule_status status = forge_builder_finish(b, &graph, error);
    if (status == JOULE_OK)
        status = forge_compile(graph, m->device, &m->program, error);
    forge_graph_free(graph);
    if (status == JOULE_OK)
        status = forge_instance_new(m->program, m->device, m->states, &m->instance, error);
    return status;
}

static void load(struct machine *m, forge_builder *b)
{
    joule_error error = {0};
    if (try_load(m, b, &error) != JOULE_OK)
        fail_msg("%s", error.message);
}

static void run(struct machine *m)
{
    joule_error error = {0};
    if (forge_instance_run(m->instance, &error) != JOULE_OK)
        fail_msg("%s", error.message);
}

static void set(struct machine *m, const char *name, const float *values)
{
    forge_tensor tensor;
    forge_buffer *buffer;
    for (size_t i = 0; i < m->program->buffers.count; i++) {
        const struct program_buffer *made = &program_buffers(m->program)[i];
        if (made->kind != BUFFER_INPUT || strcmp(program_string(m->program, made->name), name) != 0)
            continue;
        assert_int_equal(forge_buffer_wrap((void *)values, made->size_bytes, NULL, NULL, &buffer, NULL),
                         JOULE_OK);
        assert_int_equal(forge_tensor_view(buffer, 0, FORGE_F32, &made->shape, &tensor, NULL), JOULE_OK);
        assert_int_equal(forge_instance_set(m->instance, name, &tensor, NULL), JOULE_OK);
        forge_buffer_release(buffer);
        return;
    }
    fail_msg("no input %s", name);
}

static void assert_elements(const forge_tensor *tensor, const float *expected, size_t count)
{
    assert_int_equal(forge_tensor_elements(tensor), count);
    for (size_t i = 0; i < count; i++)
        if (((float *)forge_tensor_data(tensor))[i] != expected[i])
            fail_msg("element %zu is %g, not %g", i, (double)((float *)forge_tensor_data(tensor))[i],
                     (double)expected[i]);
}

static void assert_output(struct machine *m, const char *name, const float *expected, size_t count)
{
    forge_tensor tensor;
    assert_int_equal(forge_instance_get(m->instance, name, &tensor, NULL), JOULE_OK);
    assert_elements(&tensor, expected, count);
}

static void assert_state(struct machine *m, const char *name, const float *expected, size_t count)
{
    forge_tensor tensor;
    assert_int_equal(forge_states_find(m->states, name, &tensor), JOULE_OK);
    assert_elements(&tensor, expected, count);
}

static forge_program_facts facts(struct machine *m)
{
    forge_program_facts f = {.struct_size = sizeof f};
    assert_int_equal(forge_program_look(m->program, &f), JOULE_OK);
    return f;
}

/* --- views -------------------------------------------------------------------------------------------------- */

static void test_moves_leave_no_launch(void **state)
{
    struct machine *m = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 3));
    forge_value t = forge_transpose(b, forge_reshape(b, x, forge_shape_of(2, 3, 1)), (uint32_t[]){1, 0, 2});
    forge_output(b, "y", forge_neg(b, forge_broadcast(b, t, forge_shape_of(3, 2, 2))));
    load(m, b);
    assert_int_equal(facts(m).launches, 1);
    set(m, "x", (float[]){1, 2, 3, 4, 5, 6});
    run(m);
    assert_output(m, "y", (float[]){-1, -1, -4, -4, -2, -2, -5, -5, -3, -3, -6, -6}, 12);
}

/* Every second column from the right of the transposed, of which another part is taken. */
static void test_slices_leave_no_launch(void **state)
{
    struct machine *m = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(5, 3));
    forge_value t =
        forge_flip(b, forge_transpose(b, x, (uint32_t[]){1, 0}), 1); /* rows 2 5 8 .. 1 4 7 .. 0 3 6 .. */
    t = forge_slice(b, t, (forge_dim[]){0, 1}, (forge_dim[]){2, 5}, (int64_t[]){1, -2});
    forge_value last = forge_slice_along(b, x, 0, 4, 5), none = forge_slice_along(b, x, 0, 0, 0);
    forge_output(b, "y", forge_neg(b, t));
    forge_output(b, "last", forge_neg(b, forge_reshape(b, last, forge_shape_of(3))));
    forge_output(b, "none", forge_neg(b, forge_flip(b, none, 1)));
    load(m, b);
    assert_int_equal(facts(m).launches, 3);
    set(m, "x", (float[]){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
    run(m);
    assert_output(m, "y", (float[]){-14, -8, -13, -7}, 4);
    assert_output(m, "last", (float[]){-12, -13, -14}, 3);
    assert_output(m, "none", NULL, 0);
}

/* A size may be known where the place is not. */
static void test_places_that_are_symbols(void **state)
{
    struct machine *m = *state;
    for (int is_constant = 0; is_constant < 2; is_constant++) {
        joule_error error = {0};
        forge_builder *b = forge_builder_new();
        forge_dim t = forge_symbol(b, "T", 1, 8, 1);
        forge_value nine = forge_broadcast(b, forge_scalar(b, FORGE_F32, 3), forge_shape_of(9));
        forge_value x = is_constant ? nine : forge_input(b, "x", FORGE_F32, forge_shape_of(9));
        forge_output(b, "y", forge_neg(b, forge_slice_along(b, x, 0, t, forge_dim_add(b, t, 1))));
        assert_int_equal(try_load(m, b, &error), JOULE_INVALID);
        assert_non_null(strstr(error.message, "slice in '' has a size or a place that is a symbol"));
    }
}

/* A reshape of what is not packed moves elements; so does an output that is only a view. */
static void test_moves_that_must_copy(void **state)
{
    struct machine *m = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 3));
    forge_value t = forge_transpose(b, x, (uint32_t[]){1, 0});
    forge_output(b, "t", t);
    forge_output(b, "flat", forge_reshape(b, t, forge_shape_of(6)));
    forge_output(b, "x", x);
    forge_output(b, "again", x);
    forge_output(b, "part", forge_slice_along(b, x, 1, 1, 3));
    forge_output(b, "ends", forge_concat(b, (forge_value[]){t, t}, 2, 1));
    load(m, b);
    set(m, "x", (float[]){1, 2, 3, 4, 5, 6});
    run(m);
    assert_output(m, "t", (float[]){1, 4, 2, 5, 3, 6}, 6);
    assert_output(m, "flat", (float[]){1, 4, 2, 5, 3, 6}, 6);
    assert_output(m, "x", (float[]){1, 2, 3, 4, 5, 6}, 6);
    assert_output(m, "again", (float[]){1, 2, 3, 4, 5, 6}, 6);
    assert_output(m, "part", (float[]){2, 3, 5, 6}, 4);
    assert_output(m, "ends", (float[]){1, 4, 1, 4, 2, 5, 2, 5, 3, 6, 3, 6}, 12);
}

/* Both values of one launch, one of them through a view and one into a slot. */
static void test_a_launch_with_two_results(void **state)
{
    struct machine *m = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 4)), where, unused;
    forge_slot best = forge_state(b, "best", FORGE_F32, forge_shape_of(2, 2), (forge_init){0});
    forge_value two = forge_top_k(b, x, 2, 1, &where);
    forge_write(b, best, two, false);
    forge_output(b, "where", forge_cast(b, FORGE_F32, forge_flip(b, where, 2)));
    forge_output(b, "sorted", forge_neg(b, forge_sort(b, x, 1, false, &unused)));
    load(m, b);
    assert_int_equal(facts(m).launches, 4);
    set(m, "x", (float[]){3, 1, 4, 1, 5, 9, 2, 6});
    run(m);
    assert_state(m, "best", (float[]){4, 3, 9, 6}, 4);
    assert_output(m, "where", (float[]){0, 2, 3, 1}, 4);
    assert_output(m, "sorted", (float[]){-1, -1, -3, -4, -2, -5, -6, -9}, 8);
}

/* Updates for one place come in order, whatever thread puts them there. */
static void test_sums_do_not_depend_on_threads(void **state)
{
    struct machine *m = *state;
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
    load(m, b);
    for (unsigned threads = 1; threads <= 4; threads++) {
        assert_int_equal(forge_device_set_threads(m->device, threads, NULL), JOULE_OK);
        run(m);
        assert_int_equal(forge_instance_get(m->instance, "sums", &sums, NULL), JOULE_OK);
        if (threads == 1)
            memcpy(first, forge_tensor_data(&sums), sizeof first);
        assert_memory_equal(first, forge_tensor_data(&sums), sizeof first);
    }
}

/* --- state -------------------------------------------------------------------------------------------------- */

static void test_a_write_takes_effect_at_the_end(void **state)
{
    struct machine *m = *state;
    forge_builder *b = forge_builder_new();
    forge_slot slot =
        forge_state(b, "n", FORGE_F32, forge_shape_of(2), (forge_init){FORGE_INIT_CONSTANT, 5, 0});
    forge_value old = forge_read(b, slot), next = forge_add(b, old, forge_scalar(b, FORGE_F32, 1));
    forge_write(b, slot, next, false);
    forge_output(b, "old", old);
    forge_output(b, "next", next);
    load(m, b);
    for (int i = 0; i < 3; i++) {
        run(m);
        assert_output(m, "old", (float[]){5 + (float)i, 5 + (float)i}, 2);
        assert_output(m, "next", (float[]){6 + (float)i, 6 + (float)i}, 2);
        assert_state(m, "n", (float[]){6 + (float)i, 6 + (float)i}, 2);
    }
}

/* More elements than are filled at a time, and fewer bytes than elements. */
static void test_slots_of_block_formats_are_filled(void **state)
{
    struct machine *m = *state;
    forge_tensor y;
    forge_builder *b = forge_builder_new();
    forge_slot slot =
        forge_state(b, "blocks", FORGE_Q8_0, forge_shape_of(1024), (forge_init){FORGE_INIT_CONSTANT, 5, 0});
    forge_output(b, "y", forge_cast(b, FORGE_F32, forge_read(b, slot)));
    load(m, b);
    run(m);
    assert_int_equal(forge_instance_get(m->instance, "y", &y, NULL), JOULE_OK);
    for (size_t i = 0; i < 1024; i++)
        assert_true(fabsf(((float *)forge_tensor_data(&y))[i] - 5) < 0.01f);
}

static void test_slots_can_be_exchanged(void **state)
{
    struct machine *m = *state;
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
    load(m, b);
    run(m);
    assert_state(m, "one", (float[]){2, 2}, 2);
    assert_state(m, "two", (float[]){1, 1}, 2);
    assert_state(m, "kept", (float[]){3, 3}, 2);
}

/* The same value for two slots and an output. */
static void test_one_value_goes_to_many_places(void **state)
{
    struct machine *m = *state;
    forge_builder *b = forge_builder_new();
    forge_slot one = forge_state(b, "one", FORGE_F32, forge_shape_of(2), (forge_init){0});
    forge_slot two = forge_state(b, "two", FORGE_F32, forge_shape_of(2), (forge_init){0});
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2)), y = forge_exp(b, forge_sub(b, x, x));
    forge_write(b, one, y, false);
    forge_write(b, two, y, true);
    forge_output(b, "y", y);
    forge_output(b, "z", y);
    load(m, b);
    set(m, "x", (float[]){3, 4});
    run(m);
    assert_state(m, "one", (float[]){1, 1}, 2);
    assert_state(m, "two", (float[]){1, 1}, 2);
    assert_output(m, "y", (float[]){1, 1}, 2);
    assert_output(m, "z", (float[]){1, 1}, 2);
}

/* An update in place plans nothing, however large the slot. */
static void test_in_place_costs_no_memory(void **state)
{
    struct machine *m = *state;
    forge_builder *b = forge_builder_new();
    forge_shape shape = forge_shape_of(1024, 1024);
    forge_slot w = forge_state(b, "w", FORGE_F32, shape, (forge_init){FORGE_INIT_CONSTANT, 4, 0});
    forge_value x = forge_input(b, "x", FORGE_F32, (forge_shape){0});
    forge_value step = forge_mul(b, forge_read(b, w), x); /* reads w, and the subtraction reads it again */
    forge_write(b, w, forge_sub(b, forge_read(b, w), forge_mul(b, forge_neg(b, step), x)), true);
    load(m, b);
    assert_int_equal(facts(m).state_bytes, 4 << 20);
    assert_true(facts(m).arena_bytes <= (4 << 20) + 64);
    set(m, "x", (float[]){2});
    run(m);
    forge_tensor tensor;
    assert_int_equal(forge_states_find(m->states, "w", &tensor), JOULE_OK);
    assert_true(((float *)forge_tensor_data(&tensor))[12345] == 20);
}

/* A slot of 256 MiB: what is planned, moved and counted is a row. Nothing is run, so nothing is allocated. */
static void test_a_row_written_in_place_costs_a_row(void **state)
{
    struct machine *m = *state;
    forge_graph *graph = NULL;
    forge_builder *b = forge_builder_new();
    forge_slot cache = forge_state(b, "cache", FORGE_F32, forge_shape_of(65536, 1024), (forge_init){0});
    forge_value at = forge_cast(b, FORGE_I64, forge_input(b, "at", FORGE_F32, forge_shape_of(1)));
    forge_value row = forge_neg(b, forge_input(b, "row", FORGE_F32, forge_shape_of(1, 1024)));
    forge_write(b, cache, forge_scatter(b, forge_read(b, cache), at, row, 0, FORGE_SCATTER_SET), true);
    assert_int_equal(forge_builder_finish(b, &graph, NULL), JOULE_OK);
    unload(m);
    assert_int_equal(forge_compile(graph, m->device, &m->program, NULL), JOULE_OK);
    forge_graph_free(graph);
    assert_int_equal(facts(m).state_bytes, 256 << 20);
    assert_int_equal(facts(m).arena_bytes, 4096 + 64); /* the row and its number */
    assert_int_equal(facts(m).launches, 3);
    const struct program_launch *last = &program_launches(m->program)[2];
    assert_true(last->op == OP_SCATTER && last->cost.written_bytes == 4096 &&
                last->cost.read_bytes == 4096 + 8);
}

static void test_rows_written_in_place(void **state)
{
    struct machine *m = *state;
    forge_builder *b = forge_builder_new();
    forge_slot cache =
        forge_state(b, "rows", FORGE_F32, forge_shape_of(3, 2), (forge_init){FORGE_INIT_CONSTANT, 1, 0});
    forge_value at = forge_cast(b, FORGE_I32, forge_input(b, "at", FORGE_F32, forge_shape_of(2)));
    forge_value old = forge_read(b, cache), rows = forge_neg(b, forge_gather(b, old, at, 0));
    forge_output(b, "old", forge_slice_along(b, old, 0, 2, 3));
    forge_write(b, cache, forge_scatter(b, old, at, rows, 0, FORGE_SCATTER_ADD), true);
    load(m, b);
    set(m, "at", (float[]){2, 2});
    run(m);
    assert_state(m, "rows", (float[]){1, 1, 1, 1, -1, -1}, 6);
    assert_output(m, "old", (float[]){1, 1}, 2);
    set(m, "at", (float[]){0, -2});
    run(m);
    assert_state(m, "rows", (float[]){0, 0, 0, 0, -1, -1}, 6);
}

/* What an update passes through lies in the slot, too, unless something else needs it or the old value. */
static void test_chains_of_updates_cost_no_memory(void **state)
{
    struct machine *m = *state;
    forge_builder *b = forge_builder_new();
    forge_shape shape = forge_shape_of(256, 256);
    forge_slot v = forge_state(b, "v", FORGE_F32, shape, (forge_init){FORGE_INIT_CONSTANT, 2, 0});
    forge_slot p = forge_state(b, "p", FORGE_F32, shape, (forge_init){FORGE_INIT_CONSTANT, 5, 0});
    forge_value x = forge_input(b, "x", FORGE_F32, (forge_shape){0}), old = forge_read(b, v);
    forge_value first = forge_iota(b, FORGE_I64, forge_shape_of(1), 0),
                row = forge_broadcast(b, x, forge_shape_of(1, 256));
    forge_value one = forge_scatter(b, forge_mul(b, old, x), first, row, 0, FORGE_SCATTER_ADD);
    forge_value two = forge_scatter(b, one, forge_add(b, first, first), row, 0, FORGE_SCATTER_ADD);
    forge_write(b, v, two, true); /* 2 x everywhere, and 2 x more in row 0 */
    forge_value more = forge_sub(b, x, forge_read(b, p));
    forge_write(b, p, forge_mul(b, more, x), true);
    forge_output(b, "more", more);
    load(m, b);
    assert_true(facts(m).arena_bytes < 4096);
    set(m, "x", (float[]){3});
    run(m);
    forge_tensor tensor;
    assert_int_equal(forge_states_find(m->states, "v", &tensor), JOULE_OK);
    assert_true(((float *)forge_tensor_data(&tensor))[255] == 12 &&
                ((float *)forge_tensor_data(&tensor))[256] == 6);
    assert_int_equal(forge_states_find(m->states, "p", &tensor), JOULE_OK);
    assert_true(((float *)forge_tensor_data(&tensor))[999] == -6);
    assert_int_equal(forge_instance_get(m->instance, "more", &tensor, NULL), JOULE_OK);
    assert_true(((float *)forge_tensor_data(&tensor))[999] == -2);
}

/* A part of something larger has no room in the slot; nor has what is made before the old value is read. */
static void test_chains_that_end(void **state)
{
    struct machine *m = *state;
    forge_builder *b = forge_builder_new();
    forge_slot s = forge_state(b, "s", FORGE_F32, forge_shape_of(2), (forge_init){FORGE_INIT_CONSTANT, 1, 0});
    forge_slot u = forge_state(b, "u", FORGE_F32, forge_shape_of(2), (forge_init){FORGE_INIT_CONSTANT, 1, 0});
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2));
    forge_value wide = forge_neg(b, forge_broadcast(b, x, forge_shape_of(1000, 2)));
    forge_value part = forge_reshape(b, forge_slice_along(b, wide, 0, 0, 1), forge_shape_of(2));
    forge_write(b, s, forge_neg(b, part), true);
    forge_value early = forge_mul(b, x, x), late = forge_add(b, early, forge_read(b, u));
    forge_write(b, u, late, true);
    load(m, b);
    assert_true(facts(m).arena_bytes >= 8000);
    set(m, "x", (float[]){1, 2});
    run(m);
    assert_state(m, "s", (float[]){1, 2}, 2);
    assert_state(m, "u", (float[]){2, 5}, 2);
    run(m);
    assert_state(m, "u", (float[]){3, 9}, 2);
}

/* Nor has what is copied into another slot at the end. */
static void test_chains_mind_other_slots(void **state)
{
    struct machine *m = *state;
    forge_builder *b = forge_builder_new();
    forge_slot p =
        forge_state(b, "first", FORGE_F32, forge_shape_of(2), (forge_init){FORGE_INIT_CONSTANT, 1, 0});
    forge_slot k =
        forge_state(b, "second", FORGE_F32, forge_shape_of(2), (forge_init){FORGE_INIT_CONSTANT, 7, 0});
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2)), t = forge_sub(b, forge_read(b, p), x);
    forge_write(b, p, forge_mul(b, t, x), true);
    forge_write(b, k, t, false);
    forge_output(b, "old", forge_neg(b, forge_read(b, k)));
    load(m, b);
    set(m, "x", (float[]){3, 5});
    run(m);
    assert_state(m, "first", (float[]){-6, -20}, 2);
    assert_state(m, "second", (float[]){-2, -4}, 2);
    assert_output(m, "old", (float[]){-7, -7}, 2);
}

/* Updates that are the slot's own old value would change while they are read. */
static void test_in_place_minds_the_updates(void **state)
{
    struct machine *m = *state;
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
            assert_int_equal(try_load(m, b, &error), JOULE_FAILED);
            assert_non_null(strstr(error.message, "slot 'turned' cannot be written in place: scatter"));
            continue;
        }
        load(m, b);
        set(m, "x", (float[]){1, 2, 3});
        run(m);
        assert_output(m, "y", (float[]){-4, -3, -2}, 3);
        assert_state(m, "turned", (float[]){2, 2, 2}, 3);
    }
}

/* A product cannot be computed where its operand lies, and says who is in the way. */
static void test_in_place_that_cannot_be(void **state)
{
    struct machine *m = *state;
    joule_error error = {0};
    forge_builder *b = forge_builder_new();
    forge_slot w = forge_state(b, "w", FORGE_F32, forge_shape_of(3, 3), (forge_init){0});
    forge_scope_push(b, "square");
    forge_write(b, w, forge_matmul(b, forge_read(b, w), forge_read(b, w), 0), true);
    assert_int_equal(try_load(m, b, &error), JOULE_FAILED);
    assert_non_null(strstr(error.message, "slot 'w' cannot be written in place: matmul in 'square'"));
    /* Without that wish it is computed aside and copied. */
    b = forge_builder_new();
    w = forge_state(b, "v", FORGE_F32, forge_shape_of(2, 2), (forge_init){FORGE_INIT_CONSTANT, 1, 0});
    forge_write(b, w, forge_matmul(b, forge_read(b, w), forge_read(b, w), 0), false);
    load(m, b);
    run(m);
    run(m);
    assert_state(m, "v", (float[]){8, 8, 8, 8}, 4);
}

/* Reading the transposed old value while writing the new one over it would be wrong. */
static void test_in_place_minds_other_views(void **state)
{
    struct machine *m = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 2)), y = forge_neg(b, x);
    forge_output(b, "z",
                 forge_exp(b, forge_sub(b, forge_add(b, y, forge_transpose(b, y, (uint32_t[]){1, 0})), x)));
    forge_slot w =
        forge_state(b, "u", FORGE_F32, forge_shape_of(2, 2), (forge_init){FORGE_INIT_CONSTANT, 1, 0});
    forge_value old = forge_read(b, w);
    forge_write(b, w, forge_add(b, forge_add(b, old, x), forge_transpose(b, old, (uint32_t[]){1, 0})), false);
    load(m, b);
    set(m, "x", (float[]){0, 1, -1, 0});
    run(m);
    assert_state(m, "u", (float[]){2, 3, 1, 2}, 4);
    run(m);
    assert_state(m, "u", (float[]){4, 5, 3, 4}, 4);
    forge_tensor z;
    assert_int_equal(forge_instance_get(m->instance, "z", &z, NULL), JOULE_OK);
    float *e = forge_tensor_data(&z);
    assert_true(e[0] == 1 && e[1] < 0.4f && e[2] > 2.7f && e[3] == 1);
}

static void test_programs_share_slots_by_name(void **state)
{
    struct machine *m = *state;
    for (int i = 0; i < 2; i++) {
        forge_builder *b = forge_builder_new();
        forge_slot w =
            forge_state(b, "shared", FORGE_F32, forge_shape_of(1), (forge_init){FORGE_INIT_CONSTANT, 1, 0});
        forge_output(b, "w", forge_mul(b, forge_read(b, w), forge_scalar(b, FORGE_F32, 10)));
        if (i == 0)
            forge_write(b, w, forge_add(b, forge_read(b, w), forge_scalar(b, FORGE_F32, 1)), true);
        load(m, b);
        run(m);
        assert_output(m, "w", (float[]){i ? 20 : 10}, 1);
    }
    assert_int_equal(forge_states_count(m->states), 1);
    joule_error error = {0};
    forge_builder *b = forge_builder_new();
    forge_slot w = forge_state(b, "shared", FORGE_F32, forge_shape_of(2), (forge_init){0});
    forge_output(b, "w", forge_read(b, w));
    assert_int_equal(try_load(m, b, &error), JOULE_INVALID);
    assert_non_null(strstr(error.message, "slot 'shared' is f32[1], and the program wants f32[2]"));
}

/* What a slot begins with depends on the seed and its name, and on nothing else. */
static void test_slots_begin_by_seed_and_name(void **state)
{
    struct machine *m = *state;
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
        load(m, b);
        assert_int_equal(forge_states_find(m->states, "w", &tensor), JOULE_OK);
        float *w_now = forge_tensor_data(&tensor);
        for (int k = 0; k < 64; k++)
            assert_true(w_now[k] >= -2 && w_now[k] < 3);
        if (i == 0)
            memcpy(first, w_now, sizeof first);
        else
            assert_true((memcmp(first, w_now, sizeof first) == 0) == (i == 1));
        unload(m);
    }
}

static void test_bad_arguments_say_what_differs(void **state)
{
    struct machine *m = *state;
    joule_error error = {0};
    forge_tensor tensor;
    forge_device *none;
    forge_builder *b = forge_builder_new();
    forge_output(b, "y", forge_neg(b, forge_input(b, "x", FORGE_F32, forge_shape_of(2))));
    load(m, b);
    forge_shape shape = forge_shape_of(3);
    assert_int_equal(forge_tensor_new(FORGE_F64, &shape, &tensor, NULL), JOULE_OK);
    assert_int_equal(forge_instance_set(m->instance, "x", &tensor, &error), JOULE_INVALID);
    assert_non_null(strstr(error.message, "input 'x' is f32[2], packed, not f64[3]"));
    assert_int_equal(forge_instance_set(m->instance, "z", &tensor, &error), JOULE_ABSENT);
    forge_buffer_release(tensor.buffer);
    assert_int_equal(forge_device_open("abacus", &none, &error), JOULE_ABSENT);
    assert_non_null(strstr(error.message, "there are: cpu"));
    b = forge_builder_new();
    forge_output(b, "y",
                 forge_neg(b, forge_input(b, "x", FORGE_F32, forge_shape_of(forge_symbol(b, "B", 1, 9, 1)))));
    assert_int_equal(try_load(m, b, &error), JOULE_INVALID);
    assert_non_null(strstr(error.message, "symbol"));
}

/* --- plans -------------------------------------------------------------------------------------------------- */

static void test_plans_never_overlap(void **state)
{
    (void)state;
    enum { ITEMS = 120, LAUNCHES = 60 };
    srand(3);
    for (int round = 0; round < 200; round++) {
        struct plan_item items[ITEMS];
        uint64_t size, end = 0;
        for (int i = 0; i < ITEMS; i++) {
            uint32_t first = (uint32_t)rand() % LAUNCHES, length = (uint32_t)rand() % 12;
            items[i] = (struct plan_item){.size_bytes = 64 * (uint64_t)(rand() % 50),
                                          .first = first,
                                          .last = first + length < LAUNCHES ? first + length : LAUNCHES - 1};
        }
        assert_true(plan(items, ITEMS, &size));
        for (int i = 0; i < ITEMS; i++) {
            end = items[i].offset_bytes + items[i].size_bytes > end
                      ? items[i].offset_bytes + items[i].size_bytes
                      : end;
            for (int k = 0; k < i; k++)
                if (items[i].first <= items[k].last && items[k].first <= items[i].last)
                    assert_true(items[i].offset_bytes >= items[k].offset_bytes + items[k].size_bytes ||
                                items[k].offset_bytes >= items[i].offset_bytes + items[i].size_bytes);
        }
        assert_true(end == size && size >= plan_bound(items, ITEMS, LAUNCHES));
    }
}

int main(void)
{
#define on_machine(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        on_machine(test_moves_leave_no_launch),
        on_machine(test_moves_that_must_copy),
        on_machine(test_slices_leave_no_launch),
        on_machine(test_a_write_takes_effect_at_the_end),
        on_machine(test_slots_of_block_formats_are_filled),
        on_machine(test_slots_can_be_exchanged),
        on_machine(test_one_value_goes_to_many_places),
        on_machine(test_in_place_costs_no_memory),
        on_machine(test_in_place_that_cannot_be),
        on_machine(test_chains_of_updates_cost_no_memory),
        on_machine(test_chains_that_end),
        on_machine(test_chains_mind_other_slots),
        on_machine(test_places_that_are_symbols),
        on_machine(test_a_launch_with_two_results),
        on_machine(test_sums_do_not_depend_on_threads),
        on_machine(test_a_row_written_in_place_costs_a_row),
        on_machine(test_rows_written_in_place),
        on_machine(test_in_place_minds_the_updates),
        on_machine(test_in_place_minds_other_views),
        on_machine(test_programs_share_slots_by_name),
        on_machine(test_slots_begin_by_seed_and_name),
        on_machine(test_bad_arguments_say_what_differs),
        cmocka_unit_test(test_plans_never_overlap),
    };
    return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
