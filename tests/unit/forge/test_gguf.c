/* Checks that damaged GGUF files are refused without large allocations: wrong versions, counts and values,
 * and files that are cut off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>
#include "unit/forge/gguf_trial.h"

static void test_version_2_is_read_and_others_are_refused(void **state)
{
    (void)state;
    struct gguf_builder b;
    gguf_build(&b, 2, NULL);
    gguf_add_small_keys(&b);
    gguf_add_small_tensors(&b);
    model_file_close(open_built(&b));
    gguf_build(&b, 1, NULL);
    refuse_built(&b, JOULE_UNSUPPORTED, "version 1 is not supported");
    gguf_build(&b, 4, NULL);
    refuse_built(&b, JOULE_UNSUPPORTED, "version 4 is not supported");
    gguf_build(&b, 0x03000000, NULL);
    refuse_built(&b, JOULE_UNSUPPORTED, "the big-endian form");
}

/* Every prefix of a file is refused. */
static void test_truncated_files_are_refused(void **state)
{
    (void)state;
    struct gguf_builder b;
    begin(&b, NULL);
    gguf_add_array(&b, "texts", 8, 2);
    gguf_add_string(&b, "ab");
    gguf_add_string(&b, "");
    gguf_add_array(&b, "shorts", 2, 3);
    gguf_add_bytes(&b, NULL, 6);
    gguf_add_small_tensors(&b);
    size_t padded = (b.size + 31) / 32 * 32 + b.data_size;
    struct model_file *file = open_built(&b);
    model_file_close(file);
    for (size_t size = padded - 32; size-- > 4;) { /* the last tensor ends with padding */
        assert_int_equal(truncate(scratch_path, (off_t)size), 0);
        assert_int_equal(model_file_open(scratch_path, NULL, &file, &error), JOULE_INVALID);
    }
}

static void refuse_counts(uint64_t tensors, uint64_t keys, const char *part)
{
    struct gguf_builder b;
    struct model_file *file = NULL;
    begin(&b, NULL);
    assert_true(gguf_finish(&b, scratch_path));
    FILE *out = fopen(scratch_path, "r+b");
    assert_int_equal(fseek(out, 8, SEEK_SET), 0);
    fwrite(&tensors, sizeof tensors, 1, out);
    fwrite(&keys, sizeof keys, 1, out);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(model_file_open(scratch_path, NULL, &file, &error), JOULE_INVALID);
    assert_contains(error.message, part);
}

static void test_counts_larger_than_the_file_are_refused(void **state)
{
    (void)state;
    refuse_counts(0, UINT64_MAX, "byte 16: 18446744073709551615 keys are larger than the file");
    refuse_counts(0, 1000, "byte 16: 1000 keys are larger than the file");
    refuse_counts(0, 9, "the file ends in a key");
    refuse_counts(UINT64_MAX, 8, "byte 8: 18446744073709551615 tensors are larger than the file");
    refuse_counts(5, 8, "byte 8: 5 tensors are larger than the file");
}

static void test_damaged_values_are_refused(void **state)
{
    (void)state;
    static const uint32_t types[] = {0, 4, 8, 10};
    struct gguf_builder b;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        begin(&b, NULL);
        gguf_add_array(&b, "many", types[i], UINT64_MAX);
        refuse_built(&b, JOULE_INVALID,
                     types[i] == 8 ? "array of 18446744073709551615 strings" : "ends in a value");
        begin(&b, NULL);
        gguf_add_array(&b, "many", types[i], (UINT64_C(1) << 61) + 1);
        refuse_built(&b, JOULE_INVALID, types[i] == 8 ? "is larger than the file" : "ends in a value");
    }
    begin(&b, NULL);
    gguf_add_array(&b, "nested", 9, 1);
    refuse_built(&b, JOULE_INVALID, "key 'nested' has the type 9 (an array of arrays)");
    begin(&b, NULL);
    gguf_add_array(&b, "odd", 13, 1);
    refuse_built(&b, JOULE_INVALID, "key 'odd' has the type 13");
    begin(&b, NULL);
    gguf_add_text(&b, "llama.block_count", "1");
    refuse_built(&b, JOULE_INVALID, "key 'llama.block_count' occurs twice");
    begin(&b, NULL);
    gguf_add_text(&b, "a\tb", "1");
    refuse_built(&b, JOULE_INVALID, "a key has control characters");
    begin(&b, "general.architecture");
    b.left_out = NULL;
    gguf_add_text(&b, "general.architecture", "mamba");
    refuse_built(&b, JOULE_UNSUPPORTED, "the architecture 'mamba' is not supported");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_2_is_read_and_others_are_refused),
        cmocka_unit_test(test_truncated_files_are_refused),
        cmocka_unit_test(test_counts_larger_than_the_file_are_refused),
        cmocka_unit_test(test_damaged_values_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
