/* Checks that the settings of a model are read from GGUF files, with llama.cpp's defaults and all widths of
 * integers. The message of a wrong setting names its key. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "unit/forge/gguf_trial.h"

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
    };
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
