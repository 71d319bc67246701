/* Checks that GGUF files are read: settings with llama.cpp's defaults, all widths of integers, vocabularies,
 * tensors. Damaged files are refused without large allocations. The message names the key or the tensor. */
#include <math.h>
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
#include "support/gguf_builder.h"
#include "support/scratch.h"
#include "support/test_data.h"

static joule_error error;

/* Writes the file, and opens it. */
static struct model_file *open_built(struct gguf_builder *b)
{
    struct model_file *file = NULL;
    assert_true(gguf_finish(b, scratch_path));
    assert_ok(model_file_open(scratch_path, NULL, &file, &error), &error);
    return file;
}

/* Writes the file, and checks that it is refused with this message. */
static void refuse_built(struct gguf_builder *b, joule_status status, const char *part)
{
    struct model_file *file = NULL;
    memset(&error, 0, sizeof error);
    assert_true(gguf_finish(b, scratch_path));
    joule_status result = model_file_open(scratch_path, NULL, &file, &error);
    if (result != status || !strstr(error.message, part))
        fail_msg("status %d, not %d; '%s' is not in '%s'", result, status, part, error.message);
    assert_null(file);
    assert_contains(error.message, scratch_path);
}

static void begin(struct gguf_builder *b, const char *left_out)
{
    gguf_build(b, 3, left_out);
    gguf_add_small_keys(b);
}

/* --- settings ------------------------------------------------------------------------------------------- */

static void test_absent_settings_have_the_defaults_of_llama_cpp(void **state)
{
    (void)state;
    struct gguf_builder b;
    begin(&b, "llama.attention.head_count_kv");
    gguf_add_small_tensors(&b);
    refuse_built(&b, JOULE_INVALID,
                 "tensor 'blk.0.attn_k.weight' has the shape [2,4], but the model's sizes "
                 "require [4,4]");
    begin(&b, NULL);
    gguf_add_small_tensors(&b);
    struct model_file *file = open_built(&b);
    const struct model_config *c = &file->config;
    assert_true(c->layers == 1 && c->width == 4 && c->hidden == 6 && c->heads == 2 && c->kv_heads == 1);
    assert_true(c->head_dim == 2 && c->vocabulary == 3 && c->context == 8 && c->rope_dims == 2);
    assert_true(c->norm_epsilon == (double)1e-6f && c->rope_base == 10000 && c->rope_factor == 1);
    assert_true(c->rope_scaling == ROPE_UNSCALED && c->rope_is_interleaved && !c->rope_divisors);
    assert_int_equal(file->vocabulary.count, 0);
    assert_null(file->name);
    assert_int_equal(file->tensor_count, 11);
    assert_int_equal((uintptr_t)file->tensors[3].data % 32, 0);
    model_file_close(file);
}

static void test_integers_of_all_widths_are_accepted(void **state)
{
    (void)state;
    static const uint32_t types[] = {0, 1, 2, 3, 4, 5, 10, 11};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct gguf_builder b;
        begin(&b, "llama.context_length");
        b.left_out = NULL;
        gguf_add_integer(&b, "llama.context_length", types[i], 100);
        gguf_add_double(&b, "llama.rope.freq_base", 500000);
        gguf_add_small_tensors(&b);
        struct model_file *file = open_built(&b);
        assert_int_equal(file->config.context, 100);
        assert_true(file->config.rope_base == 500000);
        model_file_close(file);
    }
}

/* Begins a small model with the type (NULL: none) and the factor (0: none) of rope.scaling. */
static void begin_scaled(struct gguf_builder *b, const char *type, float factor)
{
    begin(b, NULL);
    if (type)
        gguf_add_text(b, "llama.rope.scaling.type", type);
    if (factor != 0)
        gguf_add_float(b, "llama.rope.scaling.factor", factor);
}

static void test_scaling_of_the_rotary_embedding_is_read(void **state)
{
    (void)state;
    struct gguf_builder b;
    begin_scaled(&b, NULL, 4);
    gguf_add_small_tensors(&b);
    struct model_file *file = open_built(&b);
    assert_true(file->config.rope_scaling == ROPE_LINEAR && file->config.rope_factor == 4);
    model_file_close(file);

    begin_scaled(&b, "none", 4);
    gguf_add_small_tensors(&b);
    file = open_built(&b);
    assert_true(file->config.rope_scaling == ROPE_UNSCALED && file->config.rope_factor == 1);
    model_file_close(file);

    begin_scaled(&b, "yarn", 8);
    gguf_add_integer(&b, "llama.rope.scaling.original_context_length", 4, 5);
    gguf_add_small_tensors(&b);
    file = open_built(&b);
    assert_true(file->config.rope_scaling == ROPE_YARN && file->config.rope_factor == 8);
    assert_true(file->config.rope_original_context == 5 && file->config.rope_beta_fast == 32);
    assert_true(file->config.rope_beta_slow == 1);
    assert_true(fabs(file->config.rope_attention_factor - (1 + 0.1 * log(8))) < 1e-6);
    model_file_close(file);
    begin_scaled(&b, "yarn", 8);
    gguf_add_float(&b, "llama.rope.scaling.attn_factor", 0.5f);
    gguf_add_small_tensors(&b);
    file = open_built(&b);
    assert_true(fabs(file->config.rope_attention_factor - 0.5 * (1 + 0.1 * log(8))) < 1e-6);
    model_file_close(file);
    begin_scaled(&b, "yarn", 8);
    gguf_add_float(&b, "llama.rope.scaling.attn_factor", 0);
    gguf_add_small_tensors(&b);
    refuse_built(&b, JOULE_INVALID, "attention factor of the rotary embedding is 0");

    begin_scaled(&b, "longrope", 8);
    gguf_add_small_tensors(&b);
    refuse_built(&b, JOULE_UNSUPPORTED, "the scaling 'longrope'");
    begin_scaled(&b, "linear", -1);
    gguf_add_small_tensors(&b);
    refuse_built(&b, JOULE_INVALID, "factor of the rotary embedding is -1");
    begin_scaled(&b, "linear", NAN);
    gguf_add_small_tensors(&b);
    refuse_built(&b, JOULE_INVALID, "factor of the rotary embedding is nan");
}

static void test_divisors_of_frequencies_are_read(void **state)
{
    (void)state;
    struct gguf_builder b;
    begin(&b, NULL);
    gguf_add_tensor(&b, "rope_freqs.weight", 0, 1, 0, 4);
    gguf_add_small_tensors(&b);
    refuse_built(&b, JOULE_INVALID, "element 0 of tensor 'rope_freqs.weight' is 0");
    begin(&b, NULL);
    gguf_add_tensor(&b, "rope_freqs.weight", 0, 1, 0, 4);
    gguf_add_small_tensors(&b);
    size_t data = (b.size + 31) / 32 * 32; /* the data begin after the descriptions */
    assert_true(gguf_finish(&b, scratch_path));
    FILE *out = fopen(scratch_path, "r+b");
    assert_int_equal(fseek(out, (long)data, SEEK_SET), 0);
    fwrite(&(float){8}, 4, 1, out);
    assert_int_equal(fclose(out), 0);
    struct model_file *file = NULL;
    assert_ok(model_file_open(scratch_path, NULL, &file, &error), &error);
    assert_true(file->config.rope_divisors && file->config.rope_divisors[0] == 8);
    assert_int_equal(file->config.rope_scaling, ROPE_UNSCALED);
    model_file_close(file);
}

static void test_wrong_settings_are_refused(void **state)
{
    (void)state;
    static const char *const needed[] = {"general.architecture",
                                         "llama.block_count",
                                         "llama.context_length",
                                         "llama.embedding_length",
                                         "llama.feed_forward_length",
                                         "llama.attention.head_count",
                                         "llama.attention.layer_norm_rms_epsilon"};
    struct gguf_builder b;
    char part[100];
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        begin(&b, needed[i]);
        gguf_add_small_tensors(&b);
        snprintf(part, sizeof part, "key '%s' is missing", needed[i]);
        refuse_built(&b, JOULE_INVALID, part);
        begin(&b, needed[i]);
        b.left_out = NULL;
        gguf_add_array(&b, needed[i], 6, 0);
        gguf_add_small_tensors(&b);
        snprintf(part, sizeof part, "key '%s' is not a", needed[i]);
        refuse_built(&b, JOULE_INVALID, part);
    }
}

static void refuse_integer(const char *key, uint32_t type, int64_t value, joule_status status,
                           const char *part)
{
    struct gguf_builder b;
    begin(&b, key);
    b.left_out = NULL;
    gguf_add_integer(&b, key, type, value);
    gguf_add_small_tensors(&b);
    refuse_built(&b, status, part);
}

static void test_impossible_sizes_are_refused(void **state)
{
    (void)state;
    refuse_integer("llama.block_count", 11, -1, JOULE_INVALID, "number of layers is -1");
    refuse_integer("llama.block_count", 10, -1, JOULE_INVALID, "number of layers is 9223372036854775807");
    refuse_integer("llama.block_count", 4, 100000, JOULE_UNSUPPORTED,
                   "the model has 100000 layers; at most 4096");
    refuse_integer("llama.block_count", 4, 2, JOULE_INVALID, "tensor 'blk.1.attn_norm.weight' is missing");
    refuse_integer("llama.attention.head_count", 4, 0, JOULE_INVALID, "number of heads is 0");
    refuse_integer("llama.attention.head_count_kv", 4, 3, JOULE_INVALID, "heads, 2, is not a multiple");
    refuse_integer("llama.attention.key_length", 10, INT64_MAX, JOULE_INVALID, "width of a head");
    refuse_integer("llama.attention.value_length", 4, 7, JOULE_UNSUPPORTED,
                   "keys have 2 elements and values 7");
    refuse_integer("llama.rope.dimension_count", 4, 3, JOULE_INVALID, "rotates 3 elements of heads of 2");
    refuse_integer("llama.expert_count", 4, 8, JOULE_UNSUPPORTED, "8 experts");
    refuse_integer("split.count", 2, 3, JOULE_UNSUPPORTED, "split into 3 files");
    refuse_integer("general.alignment", 4, 0, JOULE_INVALID, "key 'general.alignment' is 0");
    refuse_integer("general.alignment", 4, 12, JOULE_INVALID, "key 'general.alignment' is 12");
    refuse_integer("general.alignment", 4, 64, JOULE_INVALID, "which is not a multiple of 64");
}

static void test_per_layer_arrays_of_equal_sizes_are_accepted(void **state)
{
    (void)state;
    struct gguf_builder b;
    for (uint32_t second = 2; second <= 3; second++) {
        begin(&b, "llama.attention.head_count");
        b.left_out = NULL;
        gguf_add_array(&b, "llama.attention.head_count", 4, 2);
        gguf_add_u32(&b, 2);
        gguf_add_u32(&b, second);
        gguf_add_small_tensors(&b);
        if (second == 2)
            model_file_close(open_built(&b));
        else
            refuse_built(&b, JOULE_UNSUPPORTED, "has different values for different layers");
    }
}

/* --- tensors -------------------------------------------------------------------------------------------- */

static void test_alignment_of_the_file_is_used(void **state)
{
    (void)state;
    struct gguf_builder b;
    begin(&b, NULL);
    b.alignment = 256;
    gguf_add_integer(&b, "general.alignment", 4, 256);
    gguf_add_small_tensors(&b);
    struct model_file *file = open_built(&b);
    for (size_t i = 0; i < file->tensor_count; i++)
        assert_int_equal((uintptr_t)file->tensors[i].data % 256, 0);
    model_file_close(file);
}

static void test_missing_wrong_and_unknown_tensors_are_refused(void **state)
{
    (void)state;
    struct gguf_builder b;
    begin(&b, "blk.0.ffn_up.weight");
    gguf_add_small_tensors(&b);
    refuse_built(&b, JOULE_INVALID, "tensor 'blk.0.ffn_up.weight' is missing, which the architecture llama");
    begin(&b, "token_embd.weight");
    gguf_add_small_tensors(&b);
    refuse_built(&b, JOULE_INVALID, "tensor 'token_embd.weight' is missing");
    begin(&b, NULL);
    refuse_built(&b, JOULE_INVALID, "the file has no tensors, only a vocabulary");
    begin(&b, NULL);
    gguf_add_small_tensors(&b);
    gguf_add_tensor(&b, "blk.0.attn_q.bias", 0, 4, 0, 16);
    refuse_built(&b, JOULE_UNSUPPORTED,
                 "tensor 'blk.0.attn_q.bias' is not supported for the architecture llama");
    begin(&b, NULL);
    gguf_add_small_tensors(&b);
    gguf_add_tensor(&b, "blk.00.attn_q.weight", 0, 4, 4, 64);
    refuse_built(&b, JOULE_INVALID, "a layer has two numbers");
    begin(&b, NULL);
    gguf_add_small_tensors(&b);
    gguf_add_tensor(&b, "blk.0.attn_q.weight", 0, 4, 4, 64);
    refuse_built(&b, JOULE_INVALID, "there are two tensors 'blk.0.attn_q.weight'");
    begin(&b, "blk.0.ffn_down.weight");
    gguf_add_small_tensors(&b);
    b.left_out = NULL;
    gguf_add_tensor(&b, "blk.0.ffn_down.weight", 0, 4, 6, 96);
    refuse_built(&b, JOULE_INVALID,
                 "tensor 'blk.0.ffn_down.weight' has the shape [6,4], but the model's sizes "
                 "require [4,6]");
}

static void refuse_tensor(uint32_t type, uint64_t columns, uint64_t rows, uint64_t size, joule_status status,
                          const char *part)
{
    struct gguf_builder b;
    begin(&b, "output.weight");
    gguf_add_small_tensors(&b);
    b.left_out = NULL;
    gguf_add_tensor(&b, "output.weight", type, columns, rows, size);
    refuse_built(&b, status, part);
}

static void test_unsupported_types_are_named(void **state)
{
    (void)state;
    refuse_tensor(13, 256, 3, 528, JOULE_UNSUPPORTED, "tensor 'output.weight' has the type Q5_K (13)");
    refuse_tensor(5, 4, 3, 48, JOULE_UNSUPPORTED, "tensor 'output.weight' has the type unknown (5)");
    refuse_tensor(41, 4, 3, 48, JOULE_UNSUPPORTED, "has the type unknown (41)");
    refuse_tensor(UINT32_MAX, 4, 3, 48, JOULE_UNSUPPORTED, "has the type unknown (4294967295)");
}

static void test_impossible_tensors_are_refused(void **state)
{
    (void)state;
    refuse_tensor(8, 4, 3, 102, JOULE_INVALID, "has rows of 4 elements; q8_0 has blocks of 32");
    refuse_tensor(12, 32, 3, 144, JOULE_INVALID, "has rows of 32 elements; q4_k has blocks of 256");
    refuse_tensor(0, 0, 3, 0, JOULE_INVALID, "tensor 'output.weight' has a dimension of 0");
    refuse_tensor(0, UINT64_MAX, 3, 0, JOULE_INVALID, "a dimension of 18446744073709551615");
    refuse_tensor(0, INT64_MAX, 3, 0, JOULE_INVALID, "tensor 'output.weight' is larger than the file");
    refuse_tensor(0, INT64_MAX, 0, 0, JOULE_INVALID, "tensor 'output.weight' is larger than the file");
    refuse_tensor(0, 4, 3, 0, JOULE_INVALID, "tensor 'output.weight' has 48 bytes from byte");
    refuse_tensor(0, UINT64_C(1) << 32, UINT64_C(1) << 32, 0, JOULE_INVALID, "is larger than the file");
}

static void test_overlapping_tensors_are_refused(void **state)
{
    (void)state;
    struct gguf_builder b;
    begin(&b, NULL);
    gguf_add_small_tensors(&b);
    b.data_size -= 32;
    gguf_add_tensor(&b, "output.weight", 0, 4, 3, 64);
    refuse_built(&b, JOULE_INVALID, "tensors 'blk.0.ffn_down.weight' and 'output.weight' overlap");
    begin(&b, NULL);
    gguf_add_small_tensors(&b);
    b.data_size += 4;
    gguf_add_tensor(&b, "output.weight", 0, 4, 3, 96);
    refuse_built(&b, JOULE_INVALID, "which is not a multiple of 32");
    begin(&b, NULL);
    gguf_add_small_tensors(&b);
    uint64_t size = b.data_size;
    b.data_size = UINT64_MAX - 31;
    gguf_add_tensor(&b, "output.weight", 0, 4, 3, 64);
    b.data_size = size;
    refuse_built(&b, JOULE_INVALID, "tensor 'output.weight' has 48 bytes from byte 18446744073709551584");
}

static void test_names_of_tensors_are_checked(void **state)
{
    (void)state;
    static const char *const names[] = {"", "a b", "a\n",
                                        "12345678901234567890123456789012345678901234567890123456789012345"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct gguf_builder b;
        begin(&b, NULL);
        gguf_add_tensor(&b, names[i], 0, 4, 3, 48);
        refuse_built(&b, JOULE_INVALID, "the name of a tensor is empty, has more than 64 bytes");
    }
}

/* --- the container -------------------------------------------------------------------------------------- */

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

/* --- vocabularies --------------------------------------------------------------------------------------- */

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
        cmocka_unit_test(test_absent_settings_have_the_defaults_of_llama_cpp),
        cmocka_unit_test(test_integers_of_all_widths_are_accepted),
        cmocka_unit_test(test_scaling_of_the_rotary_embedding_is_read),
        cmocka_unit_test(test_divisors_of_frequencies_are_read),
        cmocka_unit_test(test_wrong_settings_are_refused),
        cmocka_unit_test(test_impossible_sizes_are_refused),
        cmocka_unit_test(test_per_layer_arrays_of_equal_sizes_are_accepted),
        cmocka_unit_test(test_alignment_of_the_file_is_used),
        cmocka_unit_test(test_missing_wrong_and_unknown_tensors_are_refused),
        cmocka_unit_test(test_unsupported_types_are_named),
        cmocka_unit_test(test_impossible_tensors_are_refused),
        cmocka_unit_test(test_overlapping_tensors_are_refused),
        cmocka_unit_test(test_names_of_tensors_are_checked),
        cmocka_unit_test(test_version_2_is_read_and_others_are_refused),
        cmocka_unit_test(test_truncated_files_are_refused),
        cmocka_unit_test(test_counts_larger_than_the_file_are_refused),
        cmocka_unit_test(test_damaged_values_are_refused),
        cmocka_unit_test(test_a_published_vocabulary_is_read),
        cmocka_unit_test(test_an_unsupported_tokenizer_is_named),
        cmocka_unit_test(test_byte_level_vocabularies_have_merges),
        cmocka_unit_test(test_unigram_vocabularies_are_read),
        cmocka_unit_test(test_damaged_vocabularies_are_refused),
        cmocka_unit_test(test_more_tokens_than_embeddings_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
