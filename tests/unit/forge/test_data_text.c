/* Checks text as tokens: sorted characters, bytes, windows over the text, and invalid text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/data.h>
#include <zlib.h>
#include "support/check.h"
#include "support/scratch.h"
#include "support/test_data.h"

static joule_error error;

static void write_file(const void *bytes, size_t size, const char *mode)
{
    gzFile file = gzopen(scratch_path, mode);
    assert_non_null(file);
    assert_int_equal(size ? gzwrite(file, bytes, (unsigned)size) : 0, size);
    assert_int_equal(gzclose(file), Z_OK);
}

static forge_text *read_text(const char *string, forge_text_kind kind)
{
    forge_text *text;
    write_file(string, strlen(string), "wbT");
    assert_ok(forge_text_read(scratch_path, kind, &text, &error), &error);
    return text;
}

/* Expects the tokens of the text to spell the string. */
static void expect_spelt(const forge_text *text, const char *string)
{
    forge_tensor tokens = forge_text_tokens(text);
    size_t at = 0, count = forge_tensor_elements(&tokens);
    for (size_t i = 0; i < count; i++) {
        char bytes[4];
        uint32_t token = tokens.dtype == FORGE_U8 ? ((uint8_t *)forge_tensor_data(&tokens))[i]
                                                  : ((uint16_t *)forge_tensor_data(&tokens))[i];
        size_t length = forge_text_decode(text, token, bytes);
        assert_in_range(length, 1, 4);
        assert_memory_equal(bytes, string + at, length);
        at += length;
    }
    assert_int_equal(at, strlen(string));
}

static void test_characters_are_tokens(void **state)
{
    (void)state;
    /* b, a umlaut, a, a, b, newline, euro sign, an emoji of 4 bytes, a umlaut */
    static const char string[] = "b\xc3\xa4"
                                 "aab\n\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa4";
    static const uint8_t expected[] = {2, 3, 1, 1, 2, 0, 4, 5, 3};
    forge_text *text = read_text(string, FORGE_TEXT_CHARACTERS);
    forge_tensor tokens = forge_text_tokens(text);
    char bytes[4];
    assert_int_equal(forge_text_vocabulary(text), 6);
    assert_int_equal(tokens.dtype, FORGE_U8);
    assert_int_equal(forge_tensor_elements(&tokens), sizeof expected);
    assert_memory_equal(forge_tensor_data(&tokens), expected, sizeof expected);
    expect_spelt(text, string);
    assert_int_equal(forge_text_decode(text, 6, bytes), 0);
    forge_text_free(text);
    forge_text_free(NULL);
}

static void test_many_characters_need_wider_tokens(void **state)
{
    (void)state;
    char string[2 * 400 + 1] = "";
    for (size_t i = 0; i < 400; i++) {
        uint32_t code = 0x80 + (uint32_t)(i * 7 % 400);
        string[2 * i] = (char)(0xc0 | code >> 6);
        string[2 * i + 1] = (char)(0x80 | (code & 0x3f));
    }
    forge_text *text = read_text(string, FORGE_TEXT_CHARACTERS);
    assert_int_equal(forge_text_vocabulary(text), 400);
    assert_int_equal(forge_text_tokens(text).dtype, FORGE_U16);
    expect_spelt(text, string);
    forge_text_free(text);
}

static void test_bytes_are_tokens(void **state)
{
    (void)state;
    forge_text *text;
    uint8_t bytes[1000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 31);
    write_file(bytes, sizeof bytes, "wb");
    assert_int_equal(forge_text_read(scratch_path, FORGE_TEXT_BYTES, &text, &error), JOULE_OK);
    forge_tensor tokens = forge_text_tokens(text);
    assert_int_equal(forge_text_vocabulary(text), 256);
    assert_int_equal(forge_tensor_elements(&tokens), sizeof bytes);
    assert_memory_equal(forge_tensor_data(&tokens), bytes, sizeof bytes);
    forge_text_free(text);
}

/* The text has 100 different bytes: 90 for training, 10 for evaluation. */
static void test_examples_are_windows_of_the_text(void **state)
{
    (void)state;
    enum { CONTEXT = 4 };
    char string[101] = "";
    for (int i = 0; i < 100; i++)
        string[i] = (char)(20 + i);
    forge_text *text = read_text(string, FORGE_TEXT_BYTES);
    forge_dataset *parts[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(forge_dataset_text(text, i == 1, CONTEXT, &parts[i], &error), JOULE_OK);
    forge_text_free(text); /* the datasets still hold the tokens */
    assert_int_equal(forge_dataset_examples(parts[0]), 86);
    assert_int_equal(forge_dataset_examples(parts[1]), 6);
    for (int i = 0; i < 2; i++) {
        forge_loader *loader;
        forge_tensor batch;
        forge_loader_options options = {.struct_size = sizeof options,
                                        .batch_size = i ? 1 : 7,
                                        .seed = 3,
                                        .shuffle = i == 0,
                                        .stride = CONTEXT};
        bool is_seen[120] = {false};
        assert_int_equal(forge_loader_new(parts[i], &options, &loader, &error), JOULE_OK);
        for (uint64_t b = 0; b < forge_loader_batches_per_epoch(loader); b++) {
            assert_int_equal(forge_loader_next(loader, &batch, NULL, &error), JOULE_OK);
            assert_true(forge_tensor_is_packed(&batch) && batch.shape.dims[1] == CONTEXT + 1);
            const uint8_t *rows = forge_tensor_data(&batch);
            for (forge_dim r = 0; r < batch.shape.dims[0]; r++, rows += CONTEXT + 1)
                for (int k = 0; k <= CONTEXT; k++) {
                    assert_int_equal(rows[k], rows[0] + k);
                    assert_in_range(rows[k], i ? 110 : 20, i ? 119 : 109);
                    assert_false(k < CONTEXT && is_seen[rows[k]]);
                    is_seen[rows[k]] |= k < CONTEXT;
                }
        }
        forge_loader_free(loader);
        forge_dataset_free(parts[i]);
    }
}

static void expect_refused(const char *string, size_t size, const char *words)
{
    forge_text *text = NULL;
    write_file(string, size, "wbT");
    assert_int_equal(forge_text_read(scratch_path, FORGE_TEXT_CHARACTERS, &text, &error), JOULE_INVALID);
    assert_null(text);
    assert_contains(error.message, words);
}

static void test_invalid_texts_are_refused(void **state)
{
    (void)state;
    forge_dataset *dataset = NULL;
    forge_text *text = NULL;
    expect_refused("", 0, "is empty");
    expect_refused("ab\xff", 3, "byte 2 is not UTF-8");
    expect_refused("ab\xe2\x82", 4, "byte 2 is not UTF-8");
    text = read_text("0123456789", FORGE_TEXT_CHARACTERS);
    assert_int_equal(forge_dataset_text(text, false, 9, &dataset, &error), JOULE_INVALID);
    assert_contains(error.message, "the 9 tokens for training are fewer than a window of 10");
    assert_int_equal(forge_dataset_text(text, true, 1, &dataset, &error), JOULE_INVALID);
    assert_contains(error.message, "the 1 tokens for validation (a tenth)");
    assert_int_equal(forge_dataset_text(text, false, 0, &dataset, &error), JOULE_INVALID);
    assert_null(dataset);
    forge_text_free(text);
    assert_int_equal(forge_text_read("/nowhere/x", FORGE_TEXT_BYTES, &text, &error), JOULE_ABSENT);
}

static void test_tiny_shakespeare_has_its_vocabulary(void **state)
{
    (void)state;
    const char *path = test_data("ml-data/tinyshakespeare/input.txt");
    if (!path) {
        print_message("tiny-shakespeare is absent\n");
        skip();
    }
    forge_text *text;
    forge_dataset *dataset;
    assert_int_equal(forge_text_read(path, FORGE_TEXT_CHARACTERS, &text, &error), JOULE_OK);
    forge_tensor tokens = forge_text_tokens(text);
    assert_int_equal(forge_text_vocabulary(text), 65);
    assert_int_equal(forge_tensor_elements(&tokens), 1115394);
    assert_int_equal(forge_dataset_text(text, true, 64, &dataset, &error), JOULE_OK);
    assert_int_equal(forge_dataset_examples(dataset), 111539 - 64);
    forge_dataset_free(dataset);
    forge_text_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_characters_are_tokens),
        cmocka_unit_test(test_many_characters_need_wider_tokens),
        cmocka_unit_test(test_bytes_are_tokens),
        cmocka_unit_test(test_examples_are_windows_of_the_text),
        cmocka_unit_test(test_invalid_texts_are_refused),
        cmocka_unit_test(test_tiny_shakespeare_has_its_vocabulary),
    };
    return cmocka_run_group_tests_name("data_text", tests, scratch_set_up, scratch_tear_down);
}
