/* Checks that model files of llama2.c are read with GGUF's names, and that damaged files are refused with a
 * message that names the field. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "forge/infer/model/model_file.h"
#include "support/check.h"
#include "support/scratch.h"
#include "support/stories.h"

static joule_error error;
static char tokenizer_path[64];

static int set_up(void **state)
{
    int result = scratch_set_up(state);
    snprintf(tokenizer_path, sizeof tokenizer_path, "%s/t", scratch_folder);
    return result;
}

static int tear_down(void **state)
{
    unlink(tokenizer_path);
    return scratch_tear_down(state);
}

/* --- the trained model ---------------------------------------------------------------------------------- */

static void test_sizes_of_a_trained_model_are_read(void **state)
{
    (void)state;
    struct model_file *file = stories_open(&error);
    const struct model_config *c = &file->config;
    assert_int_equal(c->architecture, ARCHITECTURE_LLAMA);
    assert_true(c->width == 64 && c->hidden == 172 && c->layers == 5 && c->heads == 8 && c->kv_heads == 4);
    assert_true(c->head_dim == 8 && c->vocabulary == 512 && c->context == 512 && c->rope_dims == 8);
    assert_true(c->rope_is_interleaved && c->rope_base == 10000 && c->norm_epsilon == (double)1e-5f);
    assert_int_equal(file->tensor_count, 5 * 9 + 2);
    assert_null(model_file_find(file, "output.weight"));
    model_file_close(file);
}

/* This test computes the offsets from the format's definition. */
static void test_tensors_of_a_trained_model_are_where_the_format_says(void **state)
{
    (void)state;
    struct model_file *file = stories_open(&error);
    const char *floats = (const char *)file->maps[0].data + 28;
    const struct model_tensor *down = model_file_find(file, "blk.3.ffn_down.weight");
    size_t before_down = 512 * 64 + 5 * (64 + 64 * 64 + 2 * 32 * 64 + 64 * 64 + 64 + 172 * 64);
    assert_non_null(down);
    assert_ptr_equal(down->data, floats + 4 * (before_down + 3 * 64 * 172));
    assert_true(forge_shape_equal(&down->shape, &forge_shape_of(64, 172)) && down->dtype == FORGE_F32);
    assert_int_equal(down->size_bytes, 4 * 64 * 172);
    const struct model_tensor *norm = model_file_find(file, "output_norm.weight");
    assert_ptr_equal(norm->data, floats + 4 * (before_down + 2 * 5 * 172 * 64));
    assert_true(forge_shape_equal(&norm->shape, &forge_shape_of(64)));
    const struct model_tensor *key = model_file_find(file, "blk.0.attn_k.weight");
    assert_true(forge_shape_equal(&key->shape, &forge_shape_of(32, 64)));
    assert_null(model_file_find(file, "blk.5.attn_k.weight"));
    assert_null(model_file_find(file, ""));
    model_file_close(file);
}

static void assert_token(const struct vocabulary *v, size_t id, const char *text, int type)
{
    if (v->tokens[id].size != strlen(text) || memcmp(v->tokens[id].data, text, strlen(text)) != 0)
        fail_msg("token %zu is '%.*s', not '%s'", id, (int)v->tokens[id].size, v->tokens[id].data, text);
    assert_int_equal(v->types[id], type);
}

static void test_tokens_have_marks_for_spaces_and_types(void **state)
{
    (void)state;
    struct model_file *file = stories_open(&error);
    const struct vocabulary *v = &file->vocabulary;
    assert_int_equal(v->kind, VOCABULARY_SPM);
    assert_int_equal(v->count, 512);
    assert_true(v->adds_bos && !v->adds_eos && v->adds_space_prefix && !v->removes_extra_spaces);
    assert_true(v->bos == 1 && v->eos == 2 && v->unknown == 0 && v->eot == -1 && v->padding == -1);
    assert_token(v, 0, "<unk>", TOKEN_UNKNOWN);
    assert_token(v, 1, "<s>", TOKEN_CONTROL);
    assert_token(v, 2, "</s>", TOKEN_CONTROL);
    assert_token(v, 3, "<0x00>", TOKEN_BYTE);
    assert_token(v, 258, "<0xFF>", TOKEN_BYTE);
    /* ids of "Once upon a time": 403 407 261 378 */
    assert_token(v, 403, "\xe2\x96\x81Once", TOKEN_NORMAL);
    assert_token(v, 378, "\xe2\x96\x81time", TOKEN_NORMAL);
    assert_true(v->scores[403] < v->scores[261]);
    model_file_close(file);
}

/* --- small models --------------------------------------------------------------------------------------- */

enum { WIDTH = 4, HIDDEN = 6, LAYERS = 2, HEADS = 2, KEY_HEADS = 1, TOKENS = 5, CONTEXT = 3 };
enum { KEY = WIDTH / HEADS * KEY_HEADS };
enum {
    LAYER_FLOATS = 2 * WIDTH + 2 * WIDTH * WIDTH + 2 * KEY * WIDTH + 3 * HIDDEN * WIDTH,
    MODEL_FLOATS = TOKENS * WIDTH + LAYERS * LAYER_FLOATS + WIDTH + CONTEXT * WIDTH / HEADS
};

/* Writes a model with `floats` floats, of which number i is i. sizes: the header. */
static void write_model(const int32_t sizes[7], size_t floats)
{
    FILE *out = fopen(scratch_path, "wb");
    assert_non_null(out);
    fwrite(sizes, sizeof *sizes, 7, out);
    for (size_t i = 0; i < floats; i++)
        fwrite(&(float){(float)i}, sizeof(float), 1, out);
    assert_int_equal(fclose(out), 0);
}

static void write_tokenizer(size_t count, const char *const *tokens, const float *scores)
{
    FILE *out = fopen(tokenizer_path, "wb");
    assert_non_null(out);
    fwrite(&(int32_t){7}, 4, 1, out);
    for (size_t i = 0; i < count; i++) {
        fwrite(&(float){scores ? scores[i] : -(float)i}, 4, 1, out);
        fwrite(&(int32_t){(int32_t)strlen(tokens[i])}, 4, 1, out);
        fwrite(tokens[i], 1, strlen(tokens[i]), out);
    }
    assert_int_equal(fclose(out), 0);
}

static const int32_t good_sizes[7] = {WIDTH, HIDDEN, LAYERS, HEADS, KEY_HEADS, TOKENS, CONTEXT};
static const char *const good_tokens[] = {"<unk>", "\n<s>\n", "\n</s>\n", " a b ", "<0xAg>"};

static void expect(joule_status status, const char *tokenizer, const char *part)
{
    struct model_file *file = NULL;
    memset(&error, 0, sizeof error);
    assert_int_equal(model_file_open(scratch_path, tokenizer, &file, &error), status);
    assert_null(file);
    assert_contains(error.message, part);
    assert_contains(error.message, tokenizer ? tokenizer : scratch_path);
}

static void test_a_classifier_of_its_own_is_read(void **state)
{
    (void)state;
    int32_t sizes[7];
    struct model_file *file = NULL;
    memcpy(sizes, good_sizes, sizeof sizes);
    sizes[5] = -TOKENS;
    write_model(sizes, MODEL_FLOATS + TOKENS * WIDTH);
    write_tokenizer(TOKENS, good_tokens, NULL);
    assert_ok(model_file_open(scratch_path, tokenizer_path, &file, &error), &error);
    const struct model_tensor *output = model_file_find(file, "output.weight");
    assert_non_null(output);
    assert_true(((const float *)output->data)[0] == MODEL_FLOATS);
    assert_true(file->config.vocabulary == TOKENS);
    assert_token(&file->vocabulary, 3,
                 "\xe2\x96\x81"
                 "a"
                 "\xe2\x96\x81"
                 "b"
                 "\xe2\x96\x81",
                 TOKEN_NORMAL);
    assert_token(&file->vocabulary, 4, "<0xAg>", TOKEN_NORMAL);
    model_file_close(file);
}

static void test_a_model_without_tokenizer_has_no_vocabulary(void **state)
{
    (void)state;
    struct model_file *file = NULL;
    write_model(good_sizes, MODEL_FLOATS);
    assert_ok(model_file_open(scratch_path, NULL, &file, &error), &error);
    assert_int_equal(file->vocabulary.count, 0);
    model_file_close(file);
}

static void test_files_of_another_size_are_refused(void **state)
{
    (void)state;
    write_model(good_sizes, MODEL_FLOATS - 1);
    expect(JOULE_INVALID, NULL, "the file ends in 'freq_cis'");
    write_model(good_sizes, TOKENS * WIDTH + 3);
    expect(JOULE_INVALID, NULL,
           "the file ends in 'attn_norm', which needs 2 x 1 x 4 floats; 12 bytes are left");
    write_model(good_sizes, MODEL_FLOATS + 1);
    expect(JOULE_INVALID, NULL, "the file has 4 bytes after the last weight");
    assert_int_equal(truncate(scratch_path, 27), 0);
    expect(JOULE_INVALID, NULL, "only 27 bytes");
    assert_int_equal(truncate(scratch_path, 0), 0);
    expect(JOULE_INVALID, NULL, "the file is empty");
    unlink(scratch_path);
    expect(JOULE_ABSENT, NULL, "No such file");
}

static void expect_sizes(size_t i, int32_t value, joule_status status, const char *part)
{
    int32_t sizes[7];
    memcpy(sizes, good_sizes, sizeof sizes);
    sizes[i] = value;
    write_model(sizes, MODEL_FLOATS);
    expect(status, NULL, part);
}

static void test_impossible_headers_are_refused(void **state)
{
    (void)state;
    expect_sizes(0, 0, JOULE_INVALID, "dim is 0");
    expect_sizes(0, 5, JOULE_INVALID, "dim, 5, is not a multiple of n_heads, 2");
    expect_sizes(0, 0x616b3432, JOULE_UNSUPPORTED, "version 6 of llama2.c's format");
    expect_sizes(1, -1, JOULE_INVALID, "hidden_dim is -1");
    expect_sizes(2, INT32_MAX, JOULE_INVALID, "n_layers is 2147483647");
    expect_sizes(4, INT32_MAX, JOULE_INVALID, "the file ends in 'attn_k'");
    expect_sizes(5, INT32_MIN, JOULE_INVALID, "the file ends in 'token_embd.weight'");
    expect_sizes(6, INT32_MAX, JOULE_INVALID, "the file ends in 'freq_cis'");
    write_model((int32_t[]){6, 1, 1, 2, 1, 3, 1}, 18 + 6 + 36 + 36 + 18 + 18 + 6 + 18 + 6 + 2);
    expect(JOULE_INVALID, NULL, "the model rotates 3 elements of heads of 3");
    write_model((int32_t[]){4, 1, 1, 2, 4, 3, 1}, 12 + 4 + 16 + 16 + 32 + 32 + 4 + 12 + 4 + 2);
    expect(JOULE_INVALID, NULL, "number of heads, 2, is not a multiple");
}

static void test_damaged_tokenizers_are_refused(void **state)
{
    (void)state;
    write_model(good_sizes, MODEL_FLOATS);
    write_tokenizer(TOKENS, good_tokens, NULL);
    assert_int_equal(truncate(tokenizer_path, 4 + 5 * 8 + 26), 0);
    expect(JOULE_INVALID, tokenizer_path, "the file ends in token 4 of 5");
    write_tokenizer(TOKENS - 1, good_tokens, NULL);
    expect(JOULE_INVALID, tokenizer_path, "the file ends in token 4 of 5");
    write_tokenizer(6, (const char *const[]){"", "", "", "", "", "x"}, NULL);
    expect(JOULE_INVALID, tokenizer_path, "the file has 9 bytes after token 4");
    write_tokenizer(TOKENS, good_tokens, (const float[]){0, 0, 1.0f / 0.0f, 0, 0});
    expect(JOULE_INVALID, tokenizer_path, "the score of token 2 is not finite");
    assert_int_equal(truncate(tokenizer_path, 3), 0);
    expect(JOULE_INVALID, tokenizer_path, "the file has 3 bytes, which cannot contain");
    unlink(tokenizer_path);
    expect(JOULE_ABSENT, tokenizer_path, "No such file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_of_a_trained_model_are_read),
        cmocka_unit_test(test_tensors_of_a_trained_model_are_where_the_format_says),
        cmocka_unit_test(test_tokens_have_marks_for_spaces_and_types),
        cmocka_unit_test(test_a_classifier_of_its_own_is_read),
        cmocka_unit_test(test_a_model_without_tokenizer_has_no_vocabulary),
        cmocka_unit_test(test_files_of_another_size_are_refused),
        cmocka_unit_test(test_impossible_headers_are_refused),
        cmocka_unit_test(test_damaged_tokenizers_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
