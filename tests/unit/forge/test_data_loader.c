/* Checks that batches depend only on seed, epoch and number. Each example occurs once per epoch, for any
 * number of workers and after any seek. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/data.h>
#include "support/check.h"

enum { EXAMPLES = 103, WIDTH = 5, BATCH = 10 };

static forge_dataset *dataset; /* two columns: f32 [103, 5] with 10 * i + k at [i, k], and i32 [103] with i at
                                * [i] */
static joule_error error;

static int set_up(void **state)
{
    (void)state;
    forge_tensor columns[2];
    if (forge_tensor_new(FORGE_F32, &forge_shape_of(EXAMPLES, WIDTH), &columns[0], &error) != JOULE_OK ||
        forge_tensor_new(FORGE_I32, &forge_shape_of(EXAMPLES), &columns[1], &error) != JOULE_OK)
        return -1;
    float *values = forge_tensor_data(&columns[0]);
    int32_t *indices = forge_tensor_data(&columns[1]);
    for (int i = 0; i < EXAMPLES; i++) {
        indices[i] = i;
        for (int k = 0; k < WIDTH; k++)
            values[i * WIDTH + k] = (float)(10 * i + k);
    }
    if (forge_dataset_new(columns, 2, &dataset, &error) != JOULE_OK)
        return -1;
    forge_buffer_release(columns[0].buffer); /* the dataset still holds a reference to the buffer */
    forge_buffer_release(columns[1].buffer);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    forge_dataset_free(dataset);
    return 0;
}

static forge_loader_options usual(void)
{
    return (forge_loader_options){.struct_size = sizeof(forge_loader_options),
                                  .batch_size = BATCH,
                                  .seed = 7,
                                  .shuffle = true,
                                  .keep_last = true};
}

static forge_loader *new_loader(const forge_loader_options *options)
{
    forge_loader *loader;
    assert_ok(forge_loader_new(dataset, options, &loader, &error), &error);
    return loader;
}

/* Gets the next batch and checks that its columns agree. Returns its number of examples; `out` gets the
 * examples. */
static size_t take(forge_loader *loader, int32_t out[EXAMPLES], forge_cursor *out_cursor)
{
    forge_tensor columns[2];
    assert_int_equal(forge_loader_next(loader, columns, out_cursor, &error), JOULE_OK);
    size_t count = (size_t)columns[1].shape.dims[0];
    assert_true(count >= 1 && count <= EXAMPLES);
    assert_true(forge_shape_equal(&columns[0].shape, &forge_shape_of((forge_dim)count, WIDTH)));
    assert_true(forge_shape_equal(&columns[1].shape, &forge_shape_of((forge_dim)count)));
    assert_true(forge_tensor_is_packed(&columns[0]) && forge_tensor_is_packed(&columns[1]));
    memcpy(out, forge_tensor_data(&columns[1]), count * sizeof *out);
    const float *values = forge_tensor_data(&columns[0]);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < WIDTH; k++)
            assert_true(values[i * WIDTH + k] == (float)(10 * out[i] + (int32_t)k));
    return count;
}

/* Gets a whole epoch. Returns the number of examples; `out` gets them in the order of the batches. */
static size_t take_epoch(forge_loader *loader, int32_t out[EXAMPLES + BATCH])
{
    size_t count = 0;
    for (uint64_t b = 0; b < forge_loader_batches_per_epoch(loader); b++)
        count += take(loader, out + count, NULL);
    return count;
}

static void expect_each_once(const int32_t *examples, size_t count)
{
    bool seen[EXAMPLES] = {false};
    for (size_t i = 0; i < count; i++) {
        assert_in_range(examples[i], 0, EXAMPLES - 1);
        assert_false(seen[examples[i]]);
        seen[examples[i]] = true;
    }
}

static void test_each_epoch_has_each_example_once(void **state)
{
    (void)state;
    forge_loader_options options = usual();
    for (uint32_t workers = 0; workers <= 3; workers++) {
        options.workers = workers;
        forge_loader *loader = new_loader(&options);
        int32_t before[EXAMPLES + BATCH] = {0}, examples[EXAMPLES + BATCH];
        for (int epoch = 0; epoch < 5; epoch++) {
            assert_int_equal(take_epoch(loader, examples), EXAMPLES);
            expect_each_once(examples, EXAMPLES);
            /* each epoch has a different order */
            assert_memory_not_equal(examples, before, sizeof *examples * EXAMPLES);
            memcpy(before, examples, sizeof before);
        }
        forge_loader_free(loader);
    }
}

static void test_last_batch_is_smaller(void **state)
{
    (void)state;
    int32_t examples[EXAMPLES + BATCH];
    forge_loader_options options = usual();
    forge_loader *loader = new_loader(&options);
    assert_int_equal(forge_loader_batches_per_epoch(loader), 11);
    for (int b = 0; b < 33; b++)
        assert_int_equal(take(loader, examples, NULL), b % 11 == 10 ? 3 : BATCH);
    forge_loader_free(loader);

    options.keep_last = false;
    loader = new_loader(&options);
    assert_int_equal(forge_loader_batches_per_epoch(loader), 10);
    for (int epoch = 0; epoch < 3; epoch++) {
        assert_int_equal(take_epoch(loader, examples), 100);
        expect_each_once(examples, 100);
    }
    forge_loader_free(loader);

    options.batch_size = EXAMPLES; /* the epoch is one full batch */
    loader = new_loader(&options);
    assert_int_equal(take_epoch(loader, examples), EXAMPLES);
    forge_loader_free(loader);

    /* the epoch is one incomplete batch, which allocates memory for EXAMPLES rows only */
    options.batch_size = UINT32_MAX;
    options.keep_last = true;
    options.workers = 1;
    loader = new_loader(&options);
    assert_int_equal(forge_loader_batches_per_epoch(loader), 1);
    assert_int_equal(take(loader, examples, NULL), EXAMPLES);
    forge_loader_free(loader);
}

static void test_without_shuffling_examples_are_in_order(void **state)
{
    (void)state;
    forge_loader_options options = usual();
    options.shuffle = false;
    options.workers = 2;
    forge_loader *loader = new_loader(&options);
    int32_t examples[EXAMPLES + BATCH];
    for (int epoch = 0; epoch < 3; epoch++) {
        take_epoch(loader, examples);
        for (int i = 0; i < EXAMPLES; i++)
            assert_int_equal(examples[i], i);
    }
    forge_loader_free(loader);
}

static void expect_same_batch(forge_loader *a, forge_loader *b)
{
    int32_t left[EXAMPLES], right[EXAMPLES];
    forge_cursor left_cursor, right_cursor;
    size_t count = take(a, left, &left_cursor);
    assert_int_equal(take(b, right, &right_cursor), count);
    assert_memory_equal(left, right, count * sizeof *left);
    assert_memory_equal(&left_cursor, &right_cursor, sizeof left_cursor);
}

static void test_order_does_not_depend_on_workers(void **state)
{
    (void)state;
    static const uint32_t settings[][3] = {/* batch size, workers, prefetch */
                                           {10, 1, 0}, {10, 3, 0}, {10, 3, 1},  {10, 1, 100},
                                           {1, 3, 7},  {40, 3, 9}, {103, 3, 5}, {500, 2, 20}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        forge_loader_options options = usual();
        options.batch_size = settings[i][0];
        forge_loader *alone = new_loader(&options);
        options.workers = settings[i][1];
        options.prefetch = settings[i][2];
        forge_loader *helped = new_loader(&options);
        for (int b = 0; b < 60; b++)
            expect_same_batch(alone, helped);
        forge_loader_free(alone);
        forge_loader_free(helped);
    }
}

static void test_seed_decides_the_order(void **state)
{
    (void)state;
    int32_t examples[3][EXAMPLES + BATCH];
    for (uint64_t i = 0; i < 3; i++) {
        forge_loader_options options = usual();
        options.seed = i == 1 ? UINT64_C(7) << 32 : 7;
        forge_loader *loader = new_loader(&options);
        take_epoch(loader, examples[i]);
        forge_loader_free(loader);
    }
    assert_memory_not_equal(examples[0], examples[1], EXAMPLES * sizeof **examples);
    assert_memory_equal(examples[0], examples[2], EXAMPLES * sizeof **examples);
}

static void test_seek_equals_streaming(void **state)
{
    (void)state;
    for (uint32_t workers = 0; workers <= 3; workers++) {
        forge_loader_options options = usual();
        options.workers = workers;
        options.prefetch = 4;
        forge_loader *sought = new_loader(&options);
        for (uint64_t place = 50; place-- > 0;) { /* seeks backwards, to batches that workers are preparing */
            options.workers = 0;
            forge_loader *streamed = new_loader(&options);
            int32_t skipped[EXAMPLES];
            for (uint64_t b = 0; b < place; b++)
                take(streamed, skipped, NULL);
            forge_cursor cursor = {.epoch = place / 11, .batch = place % 11};
            assert_int_equal(forge_loader_seek(sought, cursor, &error), JOULE_OK);
            for (uint64_t b = 0; b < place % 4; b++)
                expect_same_batch(sought, streamed);
            forge_loader_free(streamed);
        }
        forge_loader_free(sought);
    }
}

/* Seeks while workers still copy long rows for batches that the seek makes unnecessary. */
static void test_seek_during_prefetch_gives_the_right_batch(void **state)
{
    (void)state;
    enum { ROWS = 16, ROW_BYTES = 1 << 17, ROUNDS = 2000 };
    forge_tensor column, batch;
    assert_int_equal(forge_tensor_new(FORGE_U8, &forge_shape_of(ROWS, ROW_BYTES), &column, &error), JOULE_OK);
    for (int i = 0; i < ROWS; i++)
        memset((char *)forge_tensor_data(&column) + (size_t)i * ROW_BYTES, i, ROW_BYTES);
    forge_dataset *wide;
    assert_int_equal(forge_dataset_new(&column, 1, &wide, &error), JOULE_OK);
    forge_buffer_release(column.buffer);
    forge_loader_options options = usual();
    options.batch_size = 1;
    options.shuffle = false;
    options.workers = 3;
    forge_loader *loader;
    assert_int_equal(forge_loader_new(wide, &options, &loader, &error), JOULE_OK);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        forge_cursor cursor = {.epoch = round % 3, .batch = round * 7 % ROWS};
        assert_int_equal(forge_loader_seek(loader, cursor, &error), JOULE_OK);
        for (uint64_t b = 0; b < round % 3; b++) {
            assert_int_equal(forge_loader_next(loader, &batch, NULL, &error), JOULE_OK);
            const uint8_t *row = forge_tensor_data(&batch);
            assert_int_equal(row[0], (cursor.batch + b) % ROWS);
            assert_memory_equal(row, row + 1, ROW_BYTES - 1);
        }
    }
    forge_loader_free(loader);
    forge_dataset_free(wide);
}

static void test_seek_reaches_any_epoch(void **state)
{
    (void)state;
    forge_loader_options options = usual();
    options.workers = 1;
    forge_loader *loader = new_loader(&options);
    static const uint64_t epochs[] = {0, 1, UINT64_C(1) << 32, (UINT64_C(1) << 32) + 1};
    int32_t examples[4][EXAMPLES + BATCH];
    for (size_t i = 0; i < 4; i++) { /* the order depends on the low and the high 32 bits of the epoch */
        forge_cursor cursor = {.epoch = epochs[i]}, first;
        assert_int_equal(forge_loader_seek(loader, cursor, &error), JOULE_OK);
        size_t count = take(loader, examples[i], &first);
        assert_true(first.epoch == epochs[i] && first.batch == 0);
        for (uint64_t b = 1; b < forge_loader_batches_per_epoch(loader); b++)
            count += take(loader, examples[i] + count, NULL);
        expect_each_once(examples[i], count);
        for (size_t j = 0; j < i; j++)
            assert_memory_not_equal(examples[i], examples[j], EXAMPLES * sizeof **examples);
    }
    int32_t batch[EXAMPLES];
    assert_int_equal(forge_loader_seek(loader, (forge_cursor){.batch = 11}, &error), JOULE_INVALID);
    assert_int_equal(forge_loader_seek(loader, (forge_cursor){.epoch = UINT64_MAX}, &error), JOULE_INVALID);
    assert_int_equal(forge_loader_seek(loader, (forge_cursor){.epoch = UINT64_MAX / 11}, &error),
                     JOULE_INVALID);
    forge_cursor next;
    take(loader, batch, &next); /* a refused seek does not move the loader */
    assert_true(next.epoch == epochs[3] + 1 && next.batch == 0);
    forge_loader_free(loader);
}

/* A batch stays unchanged until the next call, even if workers prepare later batches. */
static void test_batch_is_valid_until_the_next_call(void **state)
{
    (void)state;
    forge_loader_options options = usual();
    options.workers = 3;
    options.prefetch = 2;
    forge_loader *loader = new_loader(&options);
    for (int b = 0; b < 200; b++) {
        forge_tensor columns[2];
        assert_int_equal(forge_loader_next(loader, columns, NULL, &error), JOULE_OK);
        size_t size = (size_t)columns[1].shape.dims[0] * sizeof(int32_t);
        int32_t copy[BATCH];
        memcpy(copy, forge_tensor_data(&columns[1]), size);
        for (int attempt = 0; attempt < 50; attempt++)
            assert_memory_equal(copy, forge_tensor_data(&columns[1]), size);
    }
    forge_loader_free(loader);
}

static void test_loader_can_be_freed_in_an_epoch(void **state)
{
    (void)state;
    int32_t examples[EXAMPLES];
    forge_loader_options options = usual();
    for (int round = 0; round < 60; round++) {
        options.workers = (uint32_t)round % 5;
        options.prefetch = (uint32_t)round % 7;
        forge_loader *loader = new_loader(&options);
        for (int b = 0; b < round % 13; b++)
            take(loader, examples, NULL);
        if (round % 2)
            assert_int_equal(forge_loader_seek(loader, (forge_cursor){.epoch = 3}, &error), JOULE_OK);
        forge_loader_free(loader);
    }
    forge_loader_free(NULL);
}

/* Each epoch uses every third example. With shuffling, the first example and the order change with the
 * epoch. */
static void test_stride_takes_every_nth_example(void **state)
{
    (void)state;
    enum { STRIDE = 3, OF_EPOCH = EXAMPLES / STRIDE };
    bool is_offset[STRIDE] = {false};
    int32_t examples[EXAMPLES + BATCH], again[EXAMPLES + BATCH];
    forge_loader_options options = usual();
    options.stride = STRIDE;
    forge_loader *loader = new_loader(&options);
    for (uint64_t epoch = 0; epoch < 12; epoch++) {
        assert_int_equal(take_epoch(loader, examples), OF_EPOCH);
        expect_each_once(examples, OF_EPOCH);
        for (int i = 0; i < OF_EPOCH; i++)
            assert_int_equal(examples[i] % STRIDE, examples[0] % STRIDE);
        is_offset[examples[0] % STRIDE] = true;
        assert_int_equal(forge_loader_seek(loader, (forge_cursor){.epoch = epoch}, &error), JOULE_OK);
        take_epoch(loader, again);
        assert_memory_equal(examples, again, OF_EPOCH * sizeof *examples);
    }
    assert_true(is_offset[0] && is_offset[1] && is_offset[2]);
    forge_loader_free(loader);
    options.shuffle = false;
    loader = new_loader(&options);
    for (int epoch = 0; epoch < 2; epoch++) {
        assert_int_equal(take_epoch(loader, examples), OF_EPOCH + 1); /* examples 0, 3, ... 102 */
        for (int i = 0; i <= OF_EPOCH; i++)
            assert_int_equal(examples[i], STRIDE * i);
    }
    forge_loader_free(loader);
    options.stride = UINT32_MAX; /* the epoch has one example; with shuffling, it may be any */
    options.shuffle = true;
    loader = new_loader(&options);
    int32_t first = -1;
    bool is_another = false;
    for (int epoch = 0; epoch < 9; epoch++) {
        assert_int_equal(take_epoch(loader, examples), 1);
        is_another |= epoch > 0 && examples[0] != first;
        first = examples[0];
    }
    assert_true(is_another);
    forge_loader_free(loader);
}

static void expect_refused(const forge_loader_options *options, joule_status status, const char *part)
{
    forge_loader *loader = NULL;
    assert_int_equal(forge_loader_new(dataset, options, &loader, &error), status);
    assert_null(loader);
    assert_contains(error.message, part);
}

static void test_wrong_options_are_refused(void **state)
{
    (void)state;
    forge_loader_options options = usual();
    options.struct_size = 0;
    expect_refused(&options, JOULE_INVALID, "struct_size");
    options = usual();
    struct {
        forge_loader_options known;
        uint64_t of_later;
    } newer = {usual(), 1};
    newer.known.struct_size = sizeof newer;
    expect_refused(&newer.known, JOULE_UNSUPPORTED, "does not know");
    options.batch_size = 0;
    expect_refused(&options, JOULE_INVALID, "batch_size is 0");
    options.batch_size = EXAMPLES + 1;
    options.keep_last = false;
    expect_refused(&options, JOULE_INVALID, "103 examples do not make one batch of 104");
    options = usual();
    options.workers = 1025;
    expect_refused(&options, JOULE_INVALID, "1025 workers");
    options = usual();
    options.prefetch = UINT32_MAX;
    expect_refused(&options, JOULE_INVALID, "batches ahead");
    expect_refused(NULL, JOULE_INVALID, "forge_loader_options");
}

static void test_wrong_datasets_are_refused(void **state)
{
    (void)state;
    forge_tensor columns[2], first = forge_dataset_column(dataset, 0);
    forge_dataset *made = NULL;
    columns[0] = columns[1] = first;
    columns[1].shape.dims[0]--;
    assert_int_equal(forge_dataset_new(columns, 2, &made, &error), JOULE_INVALID);
    assert_contains(error.message, "column 1 has 102 rows, but column 0 has 103");
    columns[1] = first;
    columns[1].strides[1] = 0;
    assert_int_equal(forge_dataset_new(columns, 2, &made, &error), JOULE_INVALID);
    columns[1] = first;
    columns[1].dtype = FORGE_U4;
    assert_int_equal(forge_dataset_new(columns, 2, &made, &error), JOULE_INVALID);
    columns[1] = first;
    columns[1].shape.dims[1]++; /* the column is now larger than its buffer */
    assert_int_equal(forge_dataset_new(columns, 2, &made, &error), JOULE_INVALID);
    assert_int_equal(forge_dataset_new(columns, 0, &made, &error), JOULE_INVALID);
    assert_int_equal(forge_dataset_new(columns, 9, &made, &error), JOULE_INVALID);
    assert_null(made);

    columns[0] = first;
    columns[0].shape.dims[0] = 0; /* a dataset without examples is valid, but has no batch */
    assert_int_equal(forge_dataset_new(columns, 1, &made, &error), JOULE_OK);
    forge_loader_options options = usual();
    forge_loader *loader;
    assert_int_equal(forge_loader_new(made, &options, &loader, &error), JOULE_INVALID);
    forge_dataset_free(made);
    assert_int_equal(forge_dataset_column(dataset, 2).dtype, FORGE_DTYPE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_epoch_has_each_example_once),
        cmocka_unit_test(test_last_batch_is_smaller),
        cmocka_unit_test(test_without_shuffling_examples_are_in_order),
        cmocka_unit_test(test_order_does_not_depend_on_workers),
        cmocka_unit_test(test_seed_decides_the_order),
        cmocka_unit_test(test_seek_equals_streaming),
        cmocka_unit_test(test_seek_reaches_any_epoch),
        cmocka_unit_test(test_seek_during_prefetch_gives_the_right_batch),
        cmocka_unit_test(test_batch_is_valid_until_the_next_call),
        cmocka_unit_test(test_loader_can_be_freed_in_an_epoch),
        cmocka_unit_test(test_stride_takes_every_nth_example),
        cmocka_unit_test(test_wrong_options_are_refused),
        cmocka_unit_test(test_wrong_datasets_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
