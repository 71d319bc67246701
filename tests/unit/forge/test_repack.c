/* Checks forge_instance_repack: which slots are copied, and that runs give the same results. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/ir/library.h"
#include "support/workbench.h"

enum { ROWS = 9, DEPTH = 64, COLUMNS = 50, PADDED_COLUMNS = 64 };

static forge_value product(forge_builder *b, forge_value x, forge_value weight, bool is_rounded)
{
    struct composite_attributes attributes = {.name = "linear", .numbers = {is_rounded}};
    return library_composite(b, &attributes, (forge_value[]){x, weight}, 2);
}

/* Loads a program with the outputs y = x a^T, z = x c^T and e, rows of a. Slot a is in q8_0 and is only read.
 * Slot c is in f32, and each run adds 1 to it. */
static void load(struct workbench *bench)
{
    forge_builder *b = forge_builder_new();
    forge_shape shape = forge_shape_of(COLUMNS, DEPTH);
    forge_dim rows = forge_symbol(b, "rows", 1, ROWS, 1);
    forge_slot a = forge_state(b, "a", FORGE_Q8_0, shape, (forge_init){FORGE_INIT_NORMAL, 0, 1});
    forge_slot c = forge_state(b, "c", FORGE_F32, shape, (forge_init){FORGE_INIT_NORMAL, 0, 1});
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(rows, DEPTH));
    forge_value ids = forge_input(b, "ids", FORGE_I32, forge_shape_of(2));
    struct composite_attributes embedding = {.name = "embedding"};
    forge_value read_c = forge_read(b, c);
    forge_output(b, "y", product(b, x, forge_read(b, a), true));
    forge_output(b, "z", product(b, x, read_c, false));
    forge_output(b, "e", library_composite(b, &embedding, (forge_value[]){forge_read(b, a), ids}, 2));
    forge_write(b, c, forge_add(b, read_c, forge_scalar(b, FORGE_F32, 1)), true);
    workbench_load(bench, b);
}

static void set_rows(struct workbench *bench, int64_t rows)
{
    float x[ROWS * DEPTH];
    joule_error error;
    for (size_t i = 0; i < (size_t)rows * DEPTH; i++)
        x[i] = (float)((int)(i * 37 % 101) - 50) / 16;
    assert_int_equal(forge_instance_set_size(bench->instance, "rows", rows, &error), JOULE_OK);
    workbench_set(bench, "x", x);
    workbench_set(bench, "ids", (int32_t[]){COLUMNS - 1, 3});
    workbench_run(bench);
}

static void keep_output(struct workbench *bench, const char *name, struct kept *kept)
{
    forge_tensor output = workbench_output(bench, name);
    workbench_keep(kept, &output);
}

/* Asserts that both contain the same bytes, and frees them. */
static void assert_kept_equal(struct kept a, struct kept b)
{
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.bytes, b.bytes, a.size);
    free(a.bytes);
    free(b.bytes);
}

/* Runs the program with 1, ROWS and 4 rows, and keeps the outputs. */
static struct kept run_all(struct workbench *bench)
{
    struct kept kept = {0};
    const int64_t rows[] = {1, ROWS, 4};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        set_rows(bench, rows[i]);
        keep_output(bench, "y", &kept);
        keep_output(bench, "z", &kept);
        keep_output(bench, "e", &kept);
    }
    return kept;
}

static void test_a_repacked_slot_gives_the_same_outputs(void **state)
{
    struct workbench *bench = *state;
    joule_error error;
    size_t bytes = 1;
    load(bench);
    struct kept before = run_all(bench);
    workbench_tear_down(state);
    workbench_set_up(state);
    bench = *state;
    load(bench);
    assert_int_equal(forge_instance_repack(bench->instance, &bytes, &error), JOULE_OK);
    /* Only slot a is repacked: c is written. Its rows are filled up to whole strips. */
    assert_int_equal(bytes, PADDED_COLUMNS * forge_dtype_size_bytes(FORGE_Q8_0, DEPTH));
    assert_kept_equal(run_all(bench), before);
}

/* The bound launches read the copy, also without new sizes. */
static void test_the_copy_is_read(void **state)
{
    struct workbench *bench = *state;
    joule_error error;
    load(bench);
    set_rows(bench, 2);
    assert_int_equal(forge_instance_repack(bench->instance, NULL, &error), JOULE_OK);
    workbench_run(bench);
    struct kept y = {0}, again = {0};
    forge_tensor slot = workbench_slot(bench, "a");
    keep_output(bench, "y", &y);
    memset(forge_tensor_data(&slot), 0, forge_dtype_size_bytes(FORGE_Q8_0, COLUMNS * DEPTH));
    workbench_run(bench);
    keep_output(bench, "y", &again);
    assert_kept_equal(y, again);
}

static void test_a_second_call_copies_nothing(void **state)
{
    struct workbench *bench = *state;
    joule_error error;
    size_t bytes;
    load(bench);
    assert_int_equal(forge_instance_repack(bench->instance, NULL, &error), JOULE_OK);
    assert_int_equal(forge_instance_repack(bench->instance, &bytes, &error), JOULE_OK);
    assert_int_equal(bytes, 0);
}

static void test_without_memory_the_slots_are_read(void **state)
{
    struct workbench *bench = *state;
    joule_error error;
    size_t bytes = 1;
    load(bench);
    set_rows(bench, 3);
    struct kept before = {0}, after = {0};
    keep_output(bench, "y", &before);
    forge_device_limit_memory(bench->device, 1);
    assert_int_equal(forge_instance_repack(bench->instance, &bytes, &error), JOULE_NO_MEMORY);
    assert_non_null(strstr(error.message, "the repacked slot 'a'"));
    assert_int_equal(bytes, 0);
    workbench_run(bench);
    keep_output(bench, "y", &after);
    assert_kept_equal(after, before);
}

static void test_speeds_of_weights_are_measured(void **state)
{
    struct workbench *bench = *state;
    const forge_dtype types[] = {FORGE_Q8_0, FORGE_BF16};
    joule_error error;
    forge_weight_speed speed = {.struct_size = sizeof speed};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        assert_int_equal(forge_device_measure_weights(bench->device, types[i], &speed, &error), JOULE_OK);
        assert_true(speed.mapped_bytes_per_s > 0 && speed.repacked_bytes_per_s > 0 && speed.flop_per_s > 0);
    }
    assert_int_equal(forge_device_measure_weights(bench->device, FORGE_I32, &speed, &error), JOULE_INVALID);
    speed.struct_size = 8;
    assert_int_equal(forge_device_measure_weights(bench->device, FORGE_Q8_0, &speed, &error), JOULE_INVALID);
    forge_device *estimated;
    assert_int_equal(forge_device_open("estimated", &estimated, &error), JOULE_OK);
    speed.struct_size = sizeof speed;
    assert_int_equal(forge_device_measure_weights(estimated, FORGE_Q8_0, &speed, &error), JOULE_UNSUPPORTED);
    forge_device_close(estimated);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workbench_set_up, workbench_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_repacked_slot_gives_the_same_outputs), TEST(test_the_copy_is_read),
        TEST(test_a_second_call_copies_nothing),           TEST(test_without_memory_the_slots_are_read),
        TEST(test_speeds_of_weights_are_measured),
    };
    return cmocka_run_group_tests_name("repack", tests, NULL, NULL);
}
