/* Checks that a model that is split into several GGUF files is opened through its first file. The message
 * names a missing or wrong part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "forge/infer/model/gguf_write.h"
#include "unit/forge/gguf_trial.h"

enum { U16 = 2, I32 = 5 }; /* types of integers in files */
enum { PARTS = 3, FIRST_END = 2, SECOND_END = 7 };

/* Returns the path of part `number`, from 0 on, in static storage. */
static const char *path_of(int number)
{
    static char path[PARTS][200];
    snprintf(path[number], sizeof path[0], "%s/m-%05d-of-%05d.gguf", scratch_folder, number + 1, PARTS);
    return path[number];
}

/* Begins part `number`, which states that it is part `stated` of `count`. */
static void begin_part(struct gguf_builder *b, int number, int64_t stated, int64_t count)
{
    gguf_build(b, 3, NULL);
    if (number == 0)
        gguf_add_small_keys(b);
    gguf_add_integer(b, "split.no", U16, stated);
    gguf_add_integer(b, "split.count", U16, count);
}

/* Writes a part, whose data begin with the number of the part. */
static void finish_part(struct gguf_builder *b, int number)
{
    float mark = (float)(number + 1);
    size_t data = (b->size + b->alignment - 1) / b->alignment * b->alignment;
    bool has_data = b->data_size > 0;
    assert_true(gguf_finish(b, path_of(number)));
    FILE *out = fopen(path_of(number), "r+b");
    assert_non_null(out);
    if (has_data)
        assert_true(fseek(out, (long)data, SEEK_SET) == 0 && fwrite(&mark, sizeof mark, 1, out) == 1);
    assert_int_equal(fclose(out), 0);
}

static void write_part(int number, size_t first_tensor, size_t end)
{
    struct gguf_builder b;
    begin_part(&b, number, number, PARTS);
    gguf_add_integer(&b, "split.tensors.count", I32, GGUF_SMALL_TENSORS);
    gguf_add_some_tensors(&b, first_tensor, end);
    finish_part(&b, number);
}

/* Writes three parts of the small model. */
static void write_parts(void)
{
    write_part(0, 0, FIRST_END);
    write_part(1, FIRST_END, SECOND_END);
    write_part(2, SECOND_END, GGUF_SMALL_TENSORS);
}

static int remove_parts(void **state)
{
    (void)state;
    for (int i = 0; i < PARTS; i++)
        unlink(path_of(i));
    return 0;
}

static struct model_file *open_parts(void)
{
    struct model_file *file = NULL;
    assert_ok(model_file_open(path_of(0), NULL, &file, &error), &error);
    return file;
}

/* Checks that opening `path` fails. named: the path that the message must name. */
static void refuse(const char *path, joule_status expected, const char *named, const char *part)
{
    struct model_file *file = NULL;
    memset(&error, 0, sizeof error);
    assert_int_equal(model_file_open(path, NULL, &file, &error), expected);
    assert_null(file);
    assert_contains(error.message, named);
    assert_contains(error.message, part);
}

static float first_element(const struct model_file *file, const char *name)
{
    const struct model_tensor *tensor = model_file_find(file, name);
    assert_non_null(tensor);
    return ((const float *)tensor->data)[0];
}

/* --- opening -------------------------------------------------------------------------------------------- */

static void test_first_part_opens_all_parts(void **state)
{
    (void)state;
    write_parts();
    struct model_file *file = open_parts();
    assert_int_equal(file->tensor_count, GGUF_SMALL_TENSORS);
    assert_int_equal(file->config.vocabulary, 3);
    assert_true(first_element(file, "token_embd.weight") == 1);
    assert_true(first_element(file, "blk.0.attn_norm.weight") == 2);
    assert_true(first_element(file, "blk.0.ffn_norm.weight") == 3);
    assert_true(first_element(file, "blk.0.ffn_down.weight") == 0);
    model_file_close(file);
}

/* Tools can write a first part that has only keys. Each part may have its own alignment. */
static void test_first_part_may_have_no_tensors(void **state)
{
    (void)state;
    struct gguf_builder b;
    write_part(0, 0, 0);
    write_part(1, 0, SECOND_END);
    begin_part(&b, 2, 2, PARTS);
    b.alignment = 128;
    gguf_add_integer(&b, "general.alignment", 4, 128);
    gguf_add_some_tensors(&b, SECOND_END, GGUF_SMALL_TENSORS);
    finish_part(&b, 2);
    struct model_file *file = open_parts();
    assert_int_equal(file->tensor_count, GGUF_SMALL_TENSORS);
    assert_true(first_element(file, "token_embd.weight") == 2);
    assert_true(first_element(file, "blk.0.ffn_norm.weight") == 3);
    assert_int_equal((uintptr_t)model_file_find(file, "blk.0.ffn_up.weight")->data % 128, 0);
    model_file_close(file);
}

static void test_parts_are_merged_by_writing_the_model(void **state)
{
    (void)state;
    write_parts();
    struct model_file *file = open_parts(), *merged = NULL;
    assert_ok(gguf_write(file, FORGE_DTYPE_NONE, scratch_path, &error), &error);
    assert_ok(model_file_open(scratch_path, NULL, &merged, &error), &error);
    assert_int_equal(merged->tensor_count, GGUF_SMALL_TENSORS);
    assert_true(first_element(merged, "blk.0.ffn_norm.weight") == 3);
    model_file_close(merged);
    model_file_close(file);
}

static void test_vocabulary_needs_only_the_first_part(void **state)
{
    (void)state;
    struct gguf_builder b;
    begin_part(&b, 0, 0, PARTS);
    gguf_add_text(&b, "tokenizer.ggml.model", "gpt2");
    gguf_add_array(&b, "tokenizer.ggml.tokens", 8, 1);
    gguf_add_string(&b, "a");
    finish_part(&b, 0);
    struct model_file *file = calloc(1, sizeof *file);
    assert_ok(gguf_read_vocabulary(file, path_of(0), &error), &error);
    assert_int_equal(file->vocabulary.count, 1);
    model_file_close(file);
}

static void test_a_model_of_one_part_needs_no_number(void **state)
{
    (void)state;
    for (int64_t count = 0; count <= 1; count++) {
        struct gguf_builder b;
        begin(&b, NULL);
        gguf_add_integer(&b, "split.count", U16, count);
        gguf_add_small_tensors(&b);
        model_file_close(open_built(&b));
    }
}

/* --- refused files -------------------------------------------------------------------------------------- */

static void test_a_missing_part_is_named(void **state)
{
    (void)state;
    write_parts();
    assert_int_equal(unlink(path_of(1)), 0);
    refuse(path_of(0), JOULE_ABSENT, path_of(1), "part 2 of 3");
    assert_contains(error.message, path_of(0));
}

static void test_only_the_first_part_can_be_opened(void **state)
{
    (void)state;
    write_parts();
    refuse(path_of(1), JOULE_INVALID, path_of(1), "the file is part 2 of 3; open the first part");
    assert_contains(error.message, "'-00001-of-00003.gguf'");
}

static void test_the_name_must_state_the_number(void **state)
{
    (void)state;
    write_parts();
    assert_int_equal(rename(path_of(0), scratch_path), 0);
    refuse(scratch_path, JOULE_INVALID, scratch_path, "name does not end with '-00001-of-00003.gguf'");
    assert_int_equal(unlink(scratch_path), 0);
    /* This name is shorter than the end of a name. */
    assert_int_equal(chdir(scratch_folder), 0);
    write_part(0, 0, FIRST_END);
    assert_int_equal(rename(path_of(0), "x"), 0);
    refuse("x", JOULE_INVALID, "x", "name does not end with '-00001-of-00003.gguf'");
    assert_int_equal(unlink("x"), 0);
    assert_int_equal(chdir("/"), 0);
}

static void test_a_part_with_another_number_is_named(void **state)
{
    (void)state;
    struct gguf_builder b;
    write_parts();
    begin_part(&b, 1, 2, PARTS);
    gguf_add_some_tensors(&b, FIRST_END, SECOND_END);
    finish_part(&b, 1);
    refuse(path_of(0), JOULE_INVALID, path_of(1), "key 'split.no' is missing or not 1");
    gguf_build(&b, 3, NULL);
    gguf_add_some_tensors(&b, FIRST_END, SECOND_END);
    finish_part(&b, 1);
    refuse(path_of(0), JOULE_INVALID, path_of(1), "key 'split.no' is missing or not 1");
    begin_part(&b, 1, 1, PARTS + 1);
    finish_part(&b, 1);
    refuse(path_of(0), JOULE_INVALID, path_of(1), "key 'split.count' is 4, but 3 in");
}

/* Writes a first part with these keys, and checks that it is refused. tensors: -1: the key is absent. */
static void refuse_first(uint32_t type, int64_t count, int64_t tensors, const char *part)
{
    struct gguf_builder b;
    begin(&b, NULL);
    gguf_add_integer(&b, "split.no", U16, 0);
    gguf_add_integer(&b, "split.count", type, count);
    if (tensors >= 0)
        gguf_add_integer(&b, "split.tensors.count", I32, tensors);
    gguf_add_some_tensors(&b, 0, FIRST_END);
    finish_part(&b, 0);
    refuse(path_of(0), JOULE_INVALID, path_of(0), part);
}

static void test_wrong_counts_are_refused(void **state)
{
    (void)state;
    write_parts();
    refuse_first(U16, PARTS, 10, "key 'split.tensors.count' is 10, but the 3 parts have 11 tensors");
    refuse_first(U16, PARTS, -1, "key 'split.tensors.count' is missing");
    refuse_first(U16, 4097, 11, "key 'split.count' is 4097; 1 to 4096 files");
    refuse_first(I32, -1, 11, "key 'split.count' is -1");
    refuse_first(10, -1, 11, "key 'split.count' is 9223372036854775807");
    struct gguf_builder b;
    begin(&b, NULL);
    gguf_add_integer(&b, "split.count", U16, PARTS);
    finish_part(&b, 0);
    refuse(path_of(0), JOULE_INVALID, path_of(0), "key 'split.no' is missing");
    begin_part(&b, 0, 0, PARTS);
    b.tensors = UINT64_MAX; /* the sum of both counts is 11 */
    gguf_add_integer(&b, "split.tensors.count", I32, 8);
    b.data_size = 32;
    finish_part(&b, 0);
    refuse(path_of(0), JOULE_INVALID, path_of(0), "18446744073709551615 tensors are larger than the file");
}

static void test_a_tensor_in_two_parts_is_named(void **state)
{
    (void)state;
    write_parts();
    struct gguf_builder b;
    begin_part(&b, 0, 0, PARTS);
    gguf_add_integer(&b, "split.tensors.count", I32, GGUF_SMALL_TENSORS + 1);
    gguf_add_some_tensors(&b, 0, FIRST_END + 1);
    finish_part(&b, 0);
    refuse(path_of(0), JOULE_INVALID, path_of(0), "there are two tensors 'blk.0.attn_norm.weight'");
}

static void test_a_damaged_part_is_named(void **state)
{
    (void)state;
    write_parts();
    struct model_file *file = open_parts();
    off_t size = (off_t)file->maps[1].size - 32; /* the last tensor ends with padding */
    model_file_close(file);
    for (off_t step = 1; size >= 0; size -= step++) {
        assert_int_equal(truncate(path_of(1), size), 0);
        refuse(path_of(0), JOULE_INVALID, path_of(1), "");
    }
    assert_int_equal(unlink(path_of(1)), 0);
    assert_int_equal(mkdir(path_of(1), 0700), 0);
    struct model_file *none = NULL;
    memset(&error, 0, sizeof error);
    assert_int_not_equal(model_file_open(path_of(0), NULL, &none, &error), JOULE_OK);
    assert_contains(error.message, path_of(1));
    assert_int_equal(rmdir(path_of(1)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_first_part_opens_all_parts, remove_parts),
        cmocka_unit_test_teardown(test_first_part_may_have_no_tensors, remove_parts),
        cmocka_unit_test_teardown(test_parts_are_merged_by_writing_the_model, remove_parts),
        cmocka_unit_test_teardown(test_vocabulary_needs_only_the_first_part, remove_parts),
        cmocka_unit_test_teardown(test_a_model_of_one_part_needs_no_number, remove_parts),
        cmocka_unit_test_teardown(test_a_missing_part_is_named, remove_parts),
        cmocka_unit_test_teardown(test_only_the_first_part_can_be_opened, remove_parts),
        cmocka_unit_test_teardown(test_the_name_must_state_the_number, remove_parts),
        cmocka_unit_test_teardown(test_a_part_with_another_number_is_named, remove_parts),
        cmocka_unit_test_teardown(test_wrong_counts_are_refused, remove_parts),
        cmocka_unit_test_teardown(test_a_tensor_in_two_parts_is_named, remove_parts),
        cmocka_unit_test_teardown(test_a_damaged_part_is_named, remove_parts),
    };
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
