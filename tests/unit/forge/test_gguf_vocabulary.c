/* Checks that vocabularies are read from GGUF files, and that damaged vocabularies are refused. The message
 * names the key or the token. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "unit/forge/gguf_trial.h"
#include "support/test_data.h"

static struct model_file *open_vocabulary(const char *path, joule_status expected)
{
    struct model_file *file = calloc(1, sizeof *file);
    memset(&error, 0, sizeof error);
    joule_status status = gguf_read_vocabulary(file, path, &error);
    if (status != expected)
        fail_msg("status %d: %s", status, error.message);
    return file;
}

static void test_a_published_vocabulary_is_read(void **state)
{
    (void)state;
    const char *path = test_data("tokenizers/ggml-vocab/ggml-vocab-phi-3.gguf");
    if (!path)
        skip();
    struct model_file *file = open_vocabulary(path, JOULE_OK);
    const struct vocabulary *v = &file->vocabulary;
    assert_int_equal(v->kind, VOCABULARY_SPM);
    assert_int_equal(v->count, 32064);
    assert_true(v->tokens[263].size == 4 && memcmp(v->tokens[263].data,
                                                   "\xe2\x96\x81"
                                                   "a",
                                                   4) == 0);
    assert_true(v->types[0] == TOKEN_CONTROL && v->types[2] == TOKEN_USER_DEFINED &&
                v->types[261] == TOKEN_NORMAL);
    assert_int_equal(v->types[3], TOKEN_BYTE);
    assert_true(v->scores != NULL && v->bos == 1 && v->eos == 32000 && v->unknown == 0);
    assert_true(v->tokens[32007].size == 7 && memcmp(v->tokens[32007].data, "<|end|>", 7) == 0);
    assert_int_equal(v->eot, 32007);
    assert_true(v->adds_bos && v->chat_template && strstr(v->chat_template, "<|assistant|>"));
    model_file_close(file);
    assert_int_equal(model_file_open(path, NULL, &file, &error), JOULE_UNSUPPORTED);
    assert_contains(error.message, "the architecture 'phi3' is not supported");
}

static void test_an_unsupported_tokenizer_is_named(void **state)
{
    (void)state;
    const char *path = test_data("tokenizers/ggml-vocab/ggml-vocab-bert-bge.gguf");
    if (!path)
        skip();
    model_file_close(open_vocabulary(path, JOULE_UNSUPPORTED));
    assert_contains(error.message, "the tokenizer 'bert' is not supported");
}

static void add_texts(struct gguf_builder *b, const char *key, size_t count, const char *const *texts)
{
    gguf_add_array(b, key, 8, count);
    for (size_t i = 0; i < count; i++)
        gguf_add_string(b, texts[i]);
}

static void begin_tokens(struct gguf_builder *b, const char *model, const char *pre)
{
    gguf_build(b, 3, NULL);
    gguf_add_text(b, "tokenizer.ggml.model", model);
    if (pre)
        gguf_add_text(b, "tokenizer.ggml.pre", pre);
    add_texts(b, "tokenizer.ggml.tokens", 3, (const char *const[]){"a", "b", "<|im_end|>"});
}

static struct model_file *read_built(struct gguf_builder *b, joule_status expected)
{
    assert_true(gguf_finish(b, scratch_path));
    return open_vocabulary(scratch_path, expected);
}

static void test_byte_level_vocabularies_have_merges(void **state)
{
    (void)state;
    struct gguf_builder b;
    begin_tokens(&b, "gpt2", "llama-bpe");
    add_texts(&b, "tokenizer.ggml.merges", 2, (const char *const[]){"a b", "b a"});
    gguf_add_array(&b, "tokenizer.ggml.token_type", 5, 3);
    gguf_add_bytes(&b, (const int32_t[]){1, 0, 3}, 12);
    struct model_file *file = read_built(&b, JOULE_OK);
    const struct vocabulary *v = &file->vocabulary;
    assert_true(v->kind == VOCABULARY_BPE && v->count == 3 && !v->scores && v->merge_count == 2);
    assert_true(v->merges[1].size == 3 && memcmp(v->merges[1].data, "b a", 3) == 0);
    assert_true(v->types[0] == TOKEN_NORMAL && v->types[1] == TOKEN_NORMAL && v->types[2] == TOKEN_CONTROL);
    assert_string_equal(v->pre, "llama-bpe");
    assert_true(v->adds_bos && v->ignores_merges && !v->adds_eos && !v->adds_space_prefix);
    assert_true(v->bos == -1 && v->eos == -1 && v->unknown == -1 && v->padding == -1 && v->eot == 2);
    model_file_close(file);

    begin_tokens(&b, "gpt2", "gpt-2");
    gguf_add_integer(&b, "tokenizer.ggml.bos_token_id", 10, 1);
    gguf_add_integer(&b, "tokenizer.ggml.padding_token_id", 4, UINT32_MAX);
    gguf_add_integer(&b, "tokenizer.ggml.add_bos_token", 7, 1);
    file = read_built(&b, JOULE_OK);
    v = &file->vocabulary;
    assert_true(v->adds_bos && !v->ignores_merges && v->bos == 1 && v->padding == -1 && v->merge_count == 0);
    model_file_close(file);
}

static void test_unigram_vocabularies_are_read(void **state)
{
    (void)state;
    struct gguf_builder b;
    begin_tokens(&b, "t5", NULL);
    gguf_add_array(&b, "tokenizer.ggml.scores", 6, 3);
    gguf_add_bytes(&b, (const float[]){-1, -2.5f, 0}, 12);
    gguf_add_array(&b, "tokenizer.ggml.precompiled_charsmap", 0, 5);
    gguf_add_bytes(&b, "\1\2\3\4\5", 5);
    gguf_add_integer(&b, "tokenizer.ggml.remove_extra_whitespaces", 7, 1);
    struct model_file *file = read_built(&b, JOULE_OK);
    const struct vocabulary *v = &file->vocabulary;
    assert_true(v->kind == VOCABULARY_UNIGRAM && v->scores[1] == -2.5f && v->adds_eos && !v->adds_bos);
    assert_true(v->eos == 1 && v->unknown == 2 && v->padding == 0 && v->bos == -1);
    assert_true(v->charsmap.size == 5 && memcmp(v->charsmap.data, "\1\2\3\4\5", 5) == 0);
    assert_true(v->removes_extra_spaces && !v->pre && !v->chat_template);
    model_file_close(file);
}

static void refuse_vocabulary(struct gguf_builder *b, joule_status status, const char *part)
{
    model_file_close(read_built(b, status));
    assert_contains(error.message, part);
}

static void test_damaged_vocabularies_are_refused(void **state)
{
    (void)state;
    struct gguf_builder b;
    begin(&b, NULL);
    refuse_vocabulary(&b, JOULE_INVALID, "the file has no vocabulary");
    gguf_build(&b, 3, NULL);
    gguf_add_text(&b, "tokenizer.ggml.model", "gpt2");
    refuse_vocabulary(&b, JOULE_INVALID, "key 'tokenizer.ggml.tokens' is missing");
    begin_tokens(&b, "llama", NULL);
    refuse_vocabulary(&b, JOULE_INVALID, "key 'tokenizer.ggml.scores' is missing");
    begin_tokens(&b, "llama", NULL);
    gguf_add_array(&b, "tokenizer.ggml.scores", 6, 2);
    gguf_add_bytes(&b, NULL, 8);
    refuse_vocabulary(&b, JOULE_INVALID, "key 'tokenizer.ggml.scores' has 2 items for 3 tokens");
    begin_tokens(&b, "llama", NULL);
    gguf_add_array(&b, "tokenizer.ggml.scores", 6, 3);
    gguf_add_bytes(&b, (const float[]){0, NAN, 0}, 12);
    refuse_vocabulary(&b, JOULE_INVALID, "the score of token 1 is not finite");
    begin_tokens(&b, "gpt2", NULL);
    gguf_add_array(&b, "tokenizer.ggml.token_type", 5, 3);
    gguf_add_bytes(&b, (const int32_t[]){1, 2, 7}, 12);
    refuse_vocabulary(&b, JOULE_INVALID, "token 2 has the type 7");
    begin_tokens(&b, "gpt2", NULL);
    gguf_add_array(&b, "tokenizer.ggml.token_type", 8, 0);
    refuse_vocabulary(&b, JOULE_INVALID,
                      "key 'tokenizer.ggml.token_type' is not an array of the expected type");
    begin_tokens(&b, "gpt2", NULL);
    gguf_add_integer(&b, "tokenizer.ggml.eos_token_id", 4, 3);
    refuse_vocabulary(&b, JOULE_INVALID, "key 'tokenizer.ggml.eos_token_id' is 3, but there are 3 tokens");
    begin_tokens(&b, "rwkv", NULL);
    refuse_vocabulary(&b, JOULE_UNSUPPORTED, "the tokenizer 'rwkv' is not supported");
}

static void test_more_tokens_than_embeddings_are_refused(void **state)
{
    (void)state;
    struct gguf_builder b;
    begin(&b, NULL);
    gguf_add_text(&b, "tokenizer.ggml.model", "gpt2");
    add_texts(&b, "tokenizer.ggml.tokens", 4, (const char *const[]){"a", "b", "c", "d"});
    gguf_add_small_tensors(&b);
    refuse_built(&b, JOULE_INVALID, "the vocabulary has 4 tokens, but the model has embeddings for 3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_published_vocabulary_is_read),
        cmocka_unit_test(test_an_unsupported_tokenizer_is_named),
        cmocka_unit_test(test_byte_level_vocabularies_have_merges),
        cmocka_unit_test(test_unigram_vocabularies_are_read),
        cmocka_unit_test(test_damaged_vocabularies_are_refused),
        cmocka_unit_test(test_more_tokens_than_embeddings_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
