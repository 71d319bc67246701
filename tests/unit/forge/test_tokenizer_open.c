/* Checks that the format of a tokenizer file is recognised, with files from other programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "support/scratch.h"
#include "support/tokenizer_trial.h"

static forge_tokenizer *open_data(const char *relative)
{
    forge_tokenizer *tokenizer = NULL;
    const char *path = test_data(relative);
    if (!path)
        skip();
    if (forge_tokenizer_open(path, &tokenizer, &error) != JOULE_OK)
        fail_msg("%s", error.message);
    return tokenizer;
}

static void test_gguf_gives_the_tokens_of_llama_cpp(void **state)
{
    (void)state;
    forge_tokenizer *tokenizer = open_data("tokenizers/ggml-vocab/ggml-vocab-phi-3.gguf");
    assert_int_equal(forge_tokenizer_count(tokenizer), 32064);
    check_vectors(tokenizer, "ggml-vocab-phi-3.gguf");
    check_round_trips(tokenizer);
    assert_int_equal(forge_token_find(tokenizer, "<|end|>"), 32007);
    assert_true(forge_token_is_end(tokenizer, 32007) && forge_token_is_end(tokenizer, 32000));
    EXPECT(tokenizer, "<|end|>", FORGE_TOKENIZE_READ_CONTROL, 32007);
    forge_tokenizer_free(tokenizer);
}

static void test_tokenizer_of_llama2c_is_opened(void **state)
{
    (void)state;
    forge_tokenizer *tokenizer = open_data("llm/tok512.bin");
    assert_int_equal(forge_tokenizer_count(tokenizer), 512);
    EXPECT(tokenizer, "Once upon a time", FORGE_TOKENIZE_ADD_ENDS, 1, 403, 407, 261, 378);
    EXPECT(tokenizer, "<s>", FORGE_TOKENIZE_READ_CONTROL, 1);
    check_round_trips(tokenizer);
    forge_tokenizer_free(tokenizer);
}

static void test_model_of_sentencepiece_is_opened(void **state)
{
    (void)state;
    forge_tokenizer *tokenizer = open_data("tokenizers/sentencepiece/test_model.model");
    EXPECT(tokenizer, "Hello world", 0, 151, 88, 21, 887);
    forge_tokenizer_free(tokenizer);
}

static void test_other_files_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        joule_status status;
    } files[] = {{"", 0, JOULE_INVALID},         {"GGUF", 4, JOULE_INVALID},
                 {"{", 1, JOULE_INVALID},        {"\n\3\n\2a", 5, JOULE_INVALID},
                 {"\7\0\0\0", 4, JOULE_INVALID}, {"hello, world", 12, JOULE_INVALID}};
    forge_tokenizer *tokenizer = NULL;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        FILE *file = fopen(scratch_path, "wb");
        assert_non_null(file);
        fwrite(files[i].bytes, 1, files[i].size, file);
        fclose(file);
        memset(&error, 0, sizeof error);
        assert_int_equal(forge_tokenizer_open(scratch_path, &tokenizer, &error), files[i].status);
        assert_contains(error.message, scratch_path);
    }
    assert_int_equal(forge_tokenizer_open(scratch_partial, &tokenizer, &error), JOULE_ABSENT);
    assert_int_equal(forge_tokenizer_open(NULL, &tokenizer, &error), JOULE_INVALID);
    assert_int_equal(forge_tokenizer_open(scratch_path, NULL, &error), JOULE_INVALID);
    assert_null(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gguf_gives_the_tokens_of_llama_cpp),
        cmocka_unit_test(test_tokenizer_of_llama2c_is_opened),
        cmocka_unit_test(test_model_of_sentencepiece_is_opened),
        cmocka_unit_test(test_other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
