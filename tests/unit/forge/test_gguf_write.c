/* Checks that a model that is written as a GGUF file is read as the same model, also with quantised weights.
 * Models of other formats get the rows and divisors that GGUF requires. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "forge/infer/model/gguf_write.h"
#include "support/check.h"
#include "support/scratch.h"
#include "support/stories.h"
#include "support/vocabularies.h"

static joule_error error;

static struct model_file *open_written(void)
{
    struct model_file *file = NULL;
    assert_ok(model_file_open(scratch_path, NULL, &file, &error), &error);
    return file;
}

static struct model_file *write_and_open(const struct model_file *file, forge_dtype weights)
{
    assert_ok(gguf_write(file, weights, scratch_path, &error), &error);
    return open_written();
}

static void assert_same_config(const struct model_config *a, const struct model_config *b)
{
    assert_true(a->architecture == b->architecture && a->layers == b->layers && a->width == b->width);
    assert_true(a->hidden == b->hidden && a->heads == b->heads && a->kv_heads == b->kv_heads);
    assert_true(a->head_dim == b->head_dim && a->vocabulary == b->vocabulary && a->context == b->context);
    assert_true(a->norm_epsilon == b->norm_epsilon && a->rope_base == b->rope_base);
    assert_true(a->rope_dims == b->rope_dims && a->rope_is_interleaved == b->rope_is_interleaved);
    assert_true(a->rope_scaling == b->rope_scaling && a->rope_factor == b->rope_factor);
    assert_true(a->rope_original_context == b->rope_original_context);
    assert_true(a->rope_beta_fast == b->rope_beta_fast && a->rope_beta_slow == b->rope_beta_slow);
    assert_true(a->rope_low_factor == b->rope_low_factor && a->rope_high_factor == b->rope_high_factor);
    assert_true(fabs(a->rope_attention_factor - b->rope_attention_factor) < 1e-6);
    assert_true((a->rope_divisors == NULL) == (b->rope_divisors == NULL));
}

static bool is_same(struct bytes a, struct bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static void assert_same_text(const char *a, const char *b)
{
    assert_true((a == NULL) == (b == NULL));
    if (a)
        assert_string_equal(a, b);
}

static void assert_same_vocabulary(const struct vocabulary *a, const struct vocabulary *b)
{
    assert_true(a->kind == b->kind && a->count == b->count && a->merge_count == b->merge_count);
    assert_true((a->scores == NULL) == (b->scores == NULL));
    for (size_t i = 0; i < a->count; i++) {
        assert_true(is_same(a->tokens[i], b->tokens[i]) && a->types[i] == b->types[i]);
        assert_true(!a->scores || a->scores[i] == b->scores[i]);
    }
    for (size_t i = 0; i < a->merge_count; i++)
        assert_true(is_same(a->merges[i], b->merges[i]));
    assert_same_text(a->pre, b->pre);
    assert_same_text(a->chat_template, b->chat_template);
    assert_true(a->bos == b->bos && a->eos == b->eos && a->eot == b->eot);
    assert_true(a->unknown == b->unknown && a->padding == b->padding);
    assert_true(a->adds_bos == b->adds_bos && a->adds_eos == b->adds_eos);
    assert_true(a->adds_space_prefix == b->adds_space_prefix && a->ignores_merges == b->ignores_merges);
    assert_true(a->removes_extra_spaces == b->removes_extra_spaces && is_same(a->charsmap, b->charsmap));
}

/* --- the trained model ---------------------------------------------------------------------------------- */

static void test_a_trained_model_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct model_file *file = stories_open(&error);
    file->name = "stories";
    struct model_file *copy = write_and_open(file, FORGE_F32);
    assert_same_config(&file->config, &copy->config);
    assert_same_vocabulary(&file->vocabulary, &copy->vocabulary);
    assert_string_equal(copy->name, "stories");
    assert_int_equal(file->tensor_count, copy->tensor_count);
    for (size_t i = 0; i < file->tensor_count; i++) {
        const struct model_tensor *a = &file->tensors[i], *b = model_file_find(copy, a->name);
        assert_non_null(b);
        assert_true(a->dtype == b->dtype && forge_shape_equal(&a->shape, &b->shape));
        assert_int_equal(a->size_bytes, b->size_bytes);
        assert_memory_equal(a->data, b->data, a->size_bytes);
    }
    model_file_close(copy);
    model_file_close(file);
}

/* Rows of ffn_down have 172 elements, which is not a multiple of a block, so they are not converted to block
 * formats. */
static void test_weights_are_quantised_and_norms_are_not(void **state)
{
    (void)state;
    static const forge_dtype types[] = {FORGE_Q8_0, FORGE_Q4_0, FORGE_F16, FORGE_BF16};
    struct model_file *file = stories_open(&error);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        struct model_file *copy = write_and_open(file, types[t]);
        assert_same_config(&file->config, &copy->config);
        for (size_t i = 0; i < file->tensor_count; i++) {
            const struct model_tensor *a = &file->tensors[i], *b = model_file_find(copy, a->name);
            bool is_changed = a->shape.rank == 2 && (t >= 2 || a->shape.dims[1] % 32 == 0);
            assert_int_equal(b->dtype, is_changed ? types[t] : FORGE_F32);
            size_t count = forge_shape_elements(&a->shape);
            void *expected = malloc(b->size_bytes);
            assert_int_equal(forge_convert(FORGE_F32, a->data, b->dtype, expected, count), JOULE_OK);
            assert_memory_equal(expected, b->data, b->size_bytes);
            free(expected);
        }
        model_file_close(copy);
    }
    model_file_close(file);
}

static void test_a_quantised_file_is_copied_without_loss(void **state)
{
    (void)state;
    struct model_file *file = stories_open(&error), *first = write_and_open(file, FORGE_Q4_0);
    struct model_file *second = write_and_open(first, FORGE_DTYPE_NONE);
    for (size_t i = 0; i < first->tensor_count; i++)
        assert_memory_equal(first->tensors[i].data, second->tensors[i].data, first->tensors[i].size_bytes);
    model_file_close(second);
    model_file_close(first);
    model_file_close(file);
}

/* --- small models --------------------------------------------------------------------------------------- */

enum { MAX_TENSORS = 24 };

/* A model in memory. Element i of a tensor is i. */
struct small {
    struct model_file file;
    struct model_tensor tensors[MAX_TENSORS];
    char names[MAX_TENSORS][40];
};

static void add_tensor(struct small *s, const char *name, int64_t rows, int64_t columns)
{
    struct model_tensor *tensor = &s->tensors[s->file.tensor_count];
    size_t count = (size_t)(rows ? rows * columns : columns);
    float *data = malloc(count * sizeof *data);
    for (size_t i = 0; i < count; i++)
        data[i] = (float)i;
    snprintf(s->names[s->file.tensor_count], sizeof s->names[0], "%s", name);
    *tensor = (struct model_tensor){s->names[s->file.tensor_count++], FORGE_F32,
                                    rows ? forge_shape_of(rows, columns) : forge_shape_of(columns), data,
                                    count * sizeof *data};
}

static void add_layer_tensor(struct small *s, const char *name, int64_t rows, int64_t columns)
{
    char full[40];
    snprintf(full, sizeof full, "blk.0.%s", name);
    add_tensor(s, full, rows, columns);
}

/* Begins a model of width 8 with 2 heads of 4 elements, 1 head of keys, hidden width 6, 3 tokens and context
 * 5. */
static void begin_small(struct small *s, enum architecture architecture)
{
    memset(s, 0, sizeof *s);
    s->file.tensors = s->tensors;
    s->file.config = (struct model_config){.architecture = architecture,
                                           .layers = 1,
                                           .width = 8,
                                           .hidden = 6,
                                           .heads = 2,
                                           .kv_heads = architecture == ARCHITECTURE_GPT2 ? 2 : 1,
                                           .head_dim = 4,
                                           .vocabulary = 3,
                                           .context = 5,
                                           .norm_epsilon = 0x1p-17,
                                           .rope_base = 10000,
                                           .rope_dims = architecture == ARCHITECTURE_GPT2 ? 0 : 4,
                                           .rope_factor = 1};
    add_tensor(s, "token_embd.weight", 3, 8);
    add_tensor(s, "output_norm.weight", 0, 8);
    add_layer_tensor(s, "attn_norm.weight", 0, 8);
    add_layer_tensor(s, "attn_output.weight", 8, 8);
    add_layer_tensor(s, "ffn_norm.weight", 0, 8);
    add_layer_tensor(s, "ffn_up.weight", 6, 8);
    add_layer_tensor(s, "ffn_down.weight", 8, 6);
    if (architecture == ARCHITECTURE_GPT2)
        return;
    add_layer_tensor(s, "ffn_gate.weight", 6, 8);
    add_layer_tensor(s, "attn_q.weight", 8, 8);
    add_layer_tensor(s, "attn_k.weight", 4, 8);
    add_layer_tensor(s, "attn_v.weight", 4, 8);
}

static void end_small(struct small *s)
{
    for (size_t i = 0; i < s->file.tensor_count; i++)
        free((void *)(uintptr_t)s->tensors[i].data);
}

static void test_all_architectures_are_read_as_they_were_written(void **state)
{
    (void)state;
    for (int architecture = 0; architecture < ARCHITECTURES; architecture++) {
        struct small s;
        begin_small(&s, (enum architecture)architecture);
        s.file.config.rope_is_interleaved = architecture == ARCHITECTURE_LLAMA;
        if (architecture == ARCHITECTURE_QWEN2) {
            add_layer_tensor(&s, "attn_q.bias", 0, 8);
            add_layer_tensor(&s, "attn_k.bias", 0, 4);
            add_layer_tensor(&s, "attn_v.bias", 0, 4);
            s.file.config.rope_scaling = ROPE_LINEAR;
            s.file.config.rope_factor = 2.5;
        } else if (architecture == ARCHITECTURE_QWEN3) {
            add_layer_tensor(&s, "attn_q_norm.weight", 0, 4);
            add_layer_tensor(&s, "attn_k_norm.weight", 0, 4);
            s.file.config.rope_scaling = ROPE_YARN;
            s.file.config.rope_factor = 4;
            s.file.config.rope_original_context = 3;
            s.file.config.rope_beta_fast = 30;
            s.file.config.rope_beta_slow = 2;
            s.file.config.rope_attention_factor = 0.75;
        } else if (architecture == ARCHITECTURE_GPT2) {
            add_tensor(&s, "position_embd.weight", 5, 8);
            add_tensor(&s, "output_norm.bias", 0, 8);
            add_layer_tensor(&s, "attn_norm.bias", 0, 8);
            add_layer_tensor(&s, "attn_qkv.weight", 24, 8);
            add_layer_tensor(&s, "attn_qkv.bias", 0, 24);
            add_layer_tensor(&s, "attn_output.bias", 0, 8);
            add_layer_tensor(&s, "ffn_norm.bias", 0, 8);
            add_layer_tensor(&s, "ffn_up.bias", 0, 6);
            add_layer_tensor(&s, "ffn_down.bias", 0, 8);
        }
        struct model_file *copy = write_and_open(&s.file, FORGE_DTYPE_NONE);
        assert_same_config(&s.file.config, &copy->config);
        assert_int_equal(copy->vocabulary.count, 0);
        for (size_t i = 0; i < s.file.tensor_count; i++)
            assert_memory_equal(s.tensors[i].data, model_file_find(copy, s.tensors[i].name)->data,
                                s.tensors[i].size_bytes);
        model_file_close(copy);
        end_small(&s);
    }
}

/* The rows of a head change their order: 0 1 2 3 becomes 0 2 1 3. */
static void test_rows_of_halves_become_pairs(void **state)
{
    (void)state;
    static const int order[] = {0, 2, 1, 3, 4, 6, 5, 7};
    struct small s;
    begin_small(&s, ARCHITECTURE_LLAMA);
    struct model_file *copy = write_and_open(&s.file, FORGE_DTYPE_NONE);
    assert_true(copy->config.rope_is_interleaved);
    const float *query = model_file_find(copy, "blk.0.attn_q.weight")->data;
    const float *key = model_file_find(copy, "blk.0.attn_k.weight")->data;
    const float *value = model_file_find(copy, "blk.0.attn_v.weight")->data;
    for (int row = 0; row < 8; row++)
        for (int i = 0; i < 8; i++) {
            assert_true(query[8 * row + i] == (float)(8 * order[row] + i));
            assert_true(row >= 4 || key[8 * row + i] == (float)(8 * order[row] + i));
            assert_true(row >= 4 || value[8 * row + i] == (float)(8 * row + i));
        }
    model_file_close(copy);
    s.file.config.rope_dims = 2;
    assert_int_equal(gguf_write(&s.file, FORGE_F32, scratch_path, &error), JOULE_UNSUPPORTED);
    assert_contains(error.message, "only a part of each head");
    end_small(&s);
}

/* The expected numbers are those of Llama 3.1: heads of 128, base 500000, factor 8, range 1 to 4, 8192
 * tokens. Frequencies that make more than 4 turns in 8192 tokens are unchanged. Frequencies that make less
 * than 1 turn are divided by 8. */
static void test_scaling_of_llama3_becomes_divisors(void **state)
{
    (void)state;
    struct small s;
    begin_small(&s, ARCHITECTURE_LLAMA);
    s.file.config.rope_is_interleaved = true;
    s.file.config.rope_scaling = ROPE_LLAMA3;
    s.file.config.rope_base = 500000;
    s.file.config.rope_factor = 8;
    s.file.config.rope_low_factor = 1;
    s.file.config.rope_high_factor = 4;
    s.file.config.rope_original_context = 8192;
    struct model_file *copy = write_and_open(&s.file, FORGE_DTYPE_NONE);
    assert_true(copy->config.rope_scaling == ROPE_UNSCALED && copy->config.rope_divisors);
    assert_true(copy->config.rope_divisors[0] == 1); /* 1304 turns, more than 4 */
    /* The second frequency is 1 / sqrt(500000) radians per token, which makes 1.844 turns. */
    double turns = 8192 / (2 * M_PI * sqrt(500000)), smooth = (turns - 1) / 3;
    assert_true(turns > 1 && turns < 4);
    assert_near(copy->config.rope_divisors[1], 1 / ((1 - smooth) / 8 + smooth), 1e-6);
    model_file_close(copy);
    s.file.config.rope_original_context = 4096; /* the second frequency makes 0.92 turns */
    copy = write_and_open(&s.file, FORGE_DTYPE_NONE);
    assert_true(copy->config.rope_divisors[1] == 8);
    model_file_close(copy);
    end_small(&s);
}

/* Gives the model a vocabulary in which every member differs from the default. */
static void test_vocabularies_are_read_as_they_were_written(void **state)
{
    (void)state;
    struct small s;
    struct bytes tokens[] = {{"a\0b", 3}, {"", 0}, {"c", 1}}, merges[] = {{"a b", 3}};
    float scores[] = {-1, 0.5f, 3};
    uint8_t types[] = {TOKEN_USER_DEFINED, TOKEN_UNUSED, TOKEN_CONTROL};
    begin_small(&s, ARCHITECTURE_LLAMA);
    s.file.config.rope_is_interleaved = true;
    s.file.vocabulary = (struct vocabulary){.kind = VOCABULARY_UNIGRAM,
                                            .count = 3,
                                            .tokens = tokens,
                                            .scores = scores,
                                            .types = types,
                                            .bos = 2,
                                            .eos = -1,
                                            .eot = 1,
                                            .unknown = -1,
                                            .padding = -1,
                                            .adds_bos = true,
                                            .removes_extra_spaces = true,
                                            .charsmap = {"\1\0\2", 3},
                                            .chat_template = "{{ x }}"};
    struct model_file *copy = write_and_open(&s.file, FORGE_DTYPE_NONE);
    assert_same_vocabulary(&s.file.vocabulary, &copy->vocabulary);
    model_file_close(copy);
    s.file.vocabulary = (struct vocabulary){.kind = VOCABULARY_BPE,
                                            .count = 3,
                                            .tokens = tokens,
                                            .types = types,
                                            .merges = merges,
                                            .merge_count = 1,
                                            .pre = "llama-bpe",
                                            .bos = -1,
                                            .eos = 2,
                                            .eot = -1,
                                            .unknown = 0,
                                            .padding = 1,
                                            .adds_eos = true,
                                            .adds_space_prefix = true,
                                            .ignores_merges = true};
    copy = write_and_open(&s.file, FORGE_DTYPE_NONE);
    assert_same_vocabulary(&s.file.vocabulary, &copy->vocabulary);
    model_file_close(copy);
    end_small(&s);
}

static void test_files_that_cannot_be_written_leave_the_old_one(void **state)
{
    (void)state;
    struct small s;
    struct stat before, after;
    begin_small(&s, ARCHITECTURE_LLAMA);
    assert_ok(gguf_write(&s.file, FORGE_F32, scratch_path, &error), &error);
    assert_int_equal(stat(scratch_path, &before), 0);
    assert_int_equal(gguf_write(&s.file, FORGE_U4, scratch_path, &error), JOULE_UNSUPPORTED);
    assert_contains(error.message, "GGUF does not have the type u4");
    s.tensors[3].dtype = FORGE_F64;
    assert_int_equal(gguf_write(&s.file, FORGE_DTYPE_NONE, scratch_path, &error), JOULE_UNSUPPORTED);
    assert_contains(error.message, "tensor 'blk.0.attn_output.weight' would have the type f64");
    s.tensors[3].dtype = FORGE_F32;
    assert_int_equal(gguf_write(&s.file, FORGE_F32, "/nowhere/x", &error), JOULE_FAILED);
    assert_contains(error.message, "/nowhere/x");
    assert_int_equal(gguf_write(&s.file, FORGE_F32, scratch_folder, &error), JOULE_FAILED);
    assert_int_equal(stat(scratch_path, &after), 0);
    assert_true(before.st_ino == after.st_ino && before.st_size == after.st_size);
    assert_int_equal(access(scratch_partial, F_OK), -1);
    end_small(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_trained_model_is_read_as_it_was_written),
        cmocka_unit_test(test_weights_are_quantised_and_norms_are_not),
        cmocka_unit_test(test_a_quantised_file_is_copied_without_loss),
        cmocka_unit_test(test_all_architectures_are_read_as_they_were_written),
        cmocka_unit_test(test_rows_of_halves_become_pairs),
        cmocka_unit_test(test_scaling_of_llama3_becomes_divisors),
        cmocka_unit_test(test_vocabularies_are_read_as_they_were_written),
        cmocka_unit_test(test_files_that_cannot_be_written_leave_the_old_one),
    };
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
