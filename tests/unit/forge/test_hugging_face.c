/* Checks that folders of Hugging Face are read with GGUF's names and settings: single and sharded safetensors
 * files, transposed weights of GPT-2, scalings of the rotary embedding. Folders whose files contradict each
 * other are refused. */
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
#include <forge/serialize.h>
#include "forge/infer/model/gguf_write.h"
#include "forge/infer/model/model_file.h"
#include "support/check.h"
#include "support/scratch.h"

enum { MAX_TENSORS = 24, WIDTH = 8, HIDDEN = 6, TOKENS = 3, CONTEXT = 5 };

static joule_error error;
static forge_named_tensor tensors[MAX_TENSORS];
static size_t tensor_count;
static char paths[5][64];
enum { CONFIG, SINGLE, INDEX, FIRST, SECOND };

static int set_up(void **state)
{
    static const char *const names[] = {"config.json", "model.safetensors", "model.safetensors.index.json",
                                        "a.safetensors", "b.safetensors"};
    int result = scratch_set_up(state);
    for (size_t i = 0; i < 5; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%s", scratch_folder, names[i]);
    return result;
}

static void remove_files(void)
{
    for (size_t i = 0; i < 5; i++)
        unlink(paths[i]);
}

static int tear_down(void **state)
{
    remove_files();
    return scratch_tear_down(state);
}

static void clear(void)
{
    for (size_t i = 0; i < tensor_count; i++)
        forge_buffer_release(tensors[i].tensor.buffer);
    tensor_count = 0;
    remove_files();
}

/* Adds a tensor of [rows, columns] whose element i is i. rows 0: a vector of `columns` elements. */
static void add(const char *name, forge_dtype dtype, int64_t rows, int64_t columns)
{
    forge_shape shape = rows ? forge_shape_of(rows, columns) : forge_shape_of(columns);
    forge_named_tensor *named = &tensors[tensor_count++];
    named->name = name;
    assert_int_equal(forge_tensor_new(dtype, &shape, &named->tensor, &error), JOULE_OK);
    for (size_t i = 0; i < forge_shape_elements(&shape); i++)
        forge_convert(FORGE_F64, &(double){(double)i}, dtype,
                      (char *)forge_tensor_data(&named->tensor) + i * forge_dtype_block_bytes(dtype), 1);
}

static void write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

static void write_tensors(const char *path, size_t first, size_t count)
{
    assert_ok(forge_safetensors_write(path, tensors + first, count, NULL, 0, &error), &error);
}

static struct model_file *open_folder(void)
{
    struct model_file *file = NULL;
    assert_ok(model_file_open(scratch_folder, NULL, &file, &error), &error);
    return file;
}

static void refuse_folder(joule_status status, const char *part)
{
    struct model_file *file = NULL;
    memset(&error, 0, sizeof error);
    joule_status result = model_file_open(scratch_folder, NULL, &file, &error);
    if (result != status || !strstr(error.message, part))
        fail_msg("status %d, not %d; '%s' is not in '%s'", result, status, part, error.message);
    assert_null(file);
    assert_contains(error.message, scratch_folder);
}

/* --- rotary architectures ------------------------------------------------------------------------------- */

#define SIZES                                                                                                \
    "\"num_hidden_layers\":1,\"hidden_size\":8,\"intermediate_size\":6,\"num_attention_heads\":2,"           \
    "\"num_key_value_heads\":1,\"vocab_size\":3,\"max_position_embeddings\":5,\"rms_norm_eps\":1e-05,"       \
    "\"hidden_act\":\"silu\""
#define LLAMA(more) "{\"architectures\":[\"LlamaForCausalLM\"]," SIZES more "}"

static void add_rotary(forge_dtype dtype)
{
    add("model.embed_tokens.weight", dtype, TOKENS, WIDTH);
    add("model.layers.0.input_layernorm.weight", dtype, 0, WIDTH);
    add("model.layers.0.self_attn.q_proj.weight", dtype, WIDTH, WIDTH);
    add("model.layers.0.self_attn.k_proj.weight", dtype, 4, WIDTH);
    add("model.layers.0.self_attn.v_proj.weight", dtype, 4, WIDTH);
    add("model.layers.0.self_attn.o_proj.weight", dtype, WIDTH, WIDTH);
    add("model.layers.0.post_attention_layernorm.weight", dtype, 0, WIDTH);
    add("model.layers.0.mlp.gate_proj.weight", dtype, HIDDEN, WIDTH);
    add("model.layers.0.mlp.up_proj.weight", dtype, HIDDEN, WIDTH);
    add("model.layers.0.mlp.down_proj.weight", dtype, WIDTH, HIDDEN);
    add("model.norm.weight", dtype, 0, WIDTH);
}

static void test_a_llama_is_read_with_the_names_of_gguf(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"token_embd.weight", "model.embed_tokens.weight"},
        {"output.weight", "lm_head.weight"},
        {"output_norm.weight", "model.norm.weight"},
        {"blk.0.attn_norm.weight", "model.layers.0.input_layernorm.weight"},
        {"blk.0.attn_q.weight", "model.layers.0.self_attn.q_proj.weight"},
        {"blk.0.attn_output.weight", "model.layers.0.self_attn.o_proj.weight"},
        {"blk.0.ffn_norm.weight", "model.layers.0.post_attention_layernorm.weight"},
        {"blk.0.ffn_gate.weight", "model.layers.0.mlp.gate_proj.weight"},
        {"blk.0.ffn_down.weight", "model.layers.0.mlp.down_proj.weight"},
    };
    add_rotary(FORGE_BF16);
    add("lm_head.weight", FORGE_BF16, TOKENS, WIDTH);
    add("model.layers.0.self_attn.rotary_emb.inv_freq", FORGE_F32, 0, 2);
    write_tensors(paths[SINGLE], 0, tensor_count);
    write_text(paths[CONFIG], LLAMA(",\"head_dim\":null,\"rope_scaling\":null,\"_name_or_path\":\"small\""));
    struct model_file *file = open_folder();
    const struct model_config *c = &file->config;
    assert_int_equal(c->architecture, ARCHITECTURE_LLAMA);
    assert_true(c->layers == 1 && c->width == WIDTH && c->hidden == HIDDEN && c->heads == 2);
    assert_true(c->kv_heads == 1 && c->head_dim == 4 && c->vocabulary == TOKENS && c->context == CONTEXT);
    assert_true(c->norm_epsilon == (double)1e-5f && c->rope_base == 10000 && c->rope_dims == 4);
    assert_true(!c->rope_is_interleaved && c->rope_scaling == ROPE_UNSCALED && c->rope_factor == 1);
    assert_string_equal(file->name, "small");
    assert_int_equal(file->tensor_count, 12);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct model_tensor *tensor = model_file_find(file, names[i][0]);
        assert_non_null(tensor);
        for (size_t k = 0; k < tensor_count; k++)
            if (strcmp(tensors[k].name, names[i][1]) == 0) {
                assert_int_equal(tensor->dtype, FORGE_BF16);
                assert_true(forge_shape_equal(&tensor->shape, &tensors[k].tensor.shape));
                assert_memory_equal(tensor->data, forge_tensor_data(&tensors[k].tensor), tensor->size_bytes);
            }
    }
    assert_ok(gguf_write(file, FORGE_DTYPE_NONE, scratch_path, &error), &error);
    model_file_close(file);
    assert_ok(model_file_open(scratch_path, NULL, &file, &error), &error);
    assert_true(file->config.rope_is_interleaved);
    assert_int_equal(model_file_find(file, "blk.0.attn_norm.weight")->dtype, FORGE_F32);
    assert_int_equal(model_file_find(file, "blk.0.attn_q.weight")->dtype, FORGE_BF16);
    model_file_close(file);
    assert_ok(model_file_open(paths[CONFIG], NULL, &file, &error), &error);
    model_file_close(file);
    unlink(scratch_path);
    clear();
}

/* Inserts a space after the header of the safetensors file, so that all data are at odd addresses. */
static void shift_data(const char *path)
{
    static char bytes[1 << 16];
    uint64_t header = 0;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes - 1, file);
    fclose(file);
    memcpy(&header, bytes, sizeof header);
    memmove(bytes + 8 + header + 1, bytes + 8 + header, size - 8 - header);
    bytes[8 + header] = ' ';
    header++;
    memcpy(bytes, &header, sizeof header);
    file = fopen(path, "wb");
    assert_int_equal(fwrite(bytes, 1, size + 1, file), size + 1);
    assert_int_equal(fclose(file), 0);
}

static void test_unaligned_data_are_copied(void **state)
{
    (void)state;
    add_rotary(FORGE_F32);
    write_tensors(paths[SINGLE], 0, tensor_count);
    shift_data(paths[SINGLE]);
    write_text(paths[CONFIG], LLAMA(",\"tie_word_embeddings\":true"));
    struct model_file *file = open_folder();
    for (size_t i = 0; i < file->tensor_count; i++) {
        const float *data = file->tensors[i].data;
        assert_int_equal((uintptr_t)data % sizeof *data, 0);
        assert_true(data[0] == 0 && data[5] == 5);
    }
    model_file_close(file);
    clear();
}

static void test_qwen_models_have_biases_or_norms_of_heads(void **state)
{
    (void)state;
    add_rotary(FORGE_F16);
    add("model.layers.0.self_attn.q_proj.bias", FORGE_F16, 0, 8);
    add("model.layers.0.self_attn.k_proj.bias", FORGE_F16, 0, 4);
    add("model.layers.0.self_attn.v_proj.bias", FORGE_F16, 0, 4);
    write_tensors(paths[SINGLE], 0, tensor_count);
    write_text(paths[CONFIG],
               "{\"architectures\":[\"Qwen2ForCausalLM\"]," SIZES
               ",\"tie_word_embeddings\":true,\"sliding_window\":2,\"use_sliding_window\":false,"
               "\"rope_theta\":1000000.0}");
    struct model_file *file = open_folder();
    assert_int_equal(file->config.architecture, ARCHITECTURE_QWEN2);
    assert_true(file->config.rope_base == 1000000 && file->config.context == CONTEXT);
    assert_non_null(model_file_find(file, "blk.0.attn_v.bias"));
    assert_null(model_file_find(file, "output.weight"));
    model_file_close(file);
    clear();

    add_rotary(FORGE_F32);
    add("model.layers.0.self_attn.q_norm.weight", FORGE_F32, 0, 4);
    add("model.layers.0.self_attn.k_norm.weight", FORGE_F32, 0, 4);
    add("lm_head.weight", FORGE_F32, TOKENS, WIDTH);
    write_tensors(paths[SINGLE], 0, tensor_count);
    write_text(paths[CONFIG],
               "{\"architectures\":[\"Qwen3ForCausalLM\"]," SIZES
               ",\"head_dim\":4,\"tie_word_embeddings\":true,\"rope_parameters\":{\"rope_theta\":"
               "500000,\"rope_type\":\"default\"}}");
    file = open_folder();
    assert_true(file->config.architecture == ARCHITECTURE_QWEN3 && file->config.rope_base == 500000);
    assert_non_null(model_file_find(file, "blk.0.attn_q_norm.weight"));
    assert_null(model_file_find(file, "output.weight")); /* the output uses the embeddings */
    model_file_close(file);
    clear();
}

static void test_shards_are_joined(void **state)
{
    (void)state;
    add_rotary(FORGE_F32);
    write_tensors(paths[FIRST], 0, 4);
    write_tensors(paths[SECOND], 4, tensor_count - 4);
    write_text(paths[CONFIG], LLAMA(",\"tie_word_embeddings\":true"));
    write_text(paths[INDEX], "{\"weight_map\":{\"x\":\"b.safetensors\",\"y\":\"a.safetensors\",\"z\":"
                             "\"b.safetensors\"}}");
    struct model_file *file = open_folder();
    assert_int_equal(file->tensor_count, 11);
    assert_int_equal(file->map_count, 2);
    model_file_close(file);

    write_text(paths[INDEX], "{\"weight_map\":{\"x\":\"a.safetensors\"}}");
    refuse_folder(JOULE_INVALID, "tensor 'output_norm.weight' is missing");
    write_text(paths[INDEX], "{\"weight_map\":{\"x\":\"../b.safetensors\"}}");
    refuse_folder(JOULE_INVALID, "'../b.safetensors' in weight_map is not the name of a safetensors file");
    write_text(paths[INDEX], "{\"weight_map\":{\"x\":\"c.safetensors\"}}");
    refuse_folder(JOULE_ABSENT, "c.safetensors");
    write_text(paths[INDEX], "{\"weight_map\":{}}");
    refuse_folder(JOULE_INVALID, "weight_map is missing or empty");
    write_text(paths[INDEX], "{\"weight_map\":{\"x\":1}}");
    refuse_folder(JOULE_INVALID, "in weight_map is not the name");
    write_tensors(paths[SECOND], 3, tensor_count - 3);
    write_text(paths[INDEX], "{\"weight_map\":{\"x\":\"b.safetensors\",\"y\":\"a.safetensors\"}}");
    refuse_folder(JOULE_INVALID, "there are two tensors 'blk.0.attn_k.weight'");
    clear();
}

static void test_scaling_of_the_rotary_embedding_is_read(void **state)
{
    (void)state;
    add_rotary(FORGE_F32);
    write_tensors(paths[SINGLE], 0, tensor_count);
    write_text(paths[CONFIG], LLAMA(",\"tie_word_embeddings\":true,\"rope_scaling\":{\"factor\":8.0,"
                                    "\"low_freq_factor\":1.0,\"high_freq_factor\":4.0,"
                                    "\"original_max_position_embeddings\":8192,\"rope_type\":\"llama3\"}"));
    struct model_file *file = open_folder();
    const struct model_config *c = &file->config;
    assert_true(c->rope_scaling == ROPE_LLAMA3 && c->rope_factor == 8 && c->rope_low_factor == 1);
    assert_true(c->rope_high_factor == 4 && c->rope_original_context == 8192 && c->context == CONTEXT);
    model_file_close(file);
    write_text(paths[CONFIG], LLAMA(",\"tie_word_embeddings\":true,\"rope_scaling\":{\"type\":\"linear\","
                                    "\"factor\":2.0}"));
    file = open_folder();
    c = &file->config;
    assert_true(c->rope_scaling == ROPE_LINEAR && c->rope_factor == 2 && c->context == 2 * CONTEXT);
    model_file_close(file);
    write_text(paths[CONFIG], LLAMA(",\"tie_word_embeddings\":true,\"rope_scaling\":{\"type\":\"yarn\","
                                    "\"factor\":4.0,\"original_max_position_embeddings\":100}"));
    file = open_folder();
    c = &file->config;
    assert_true(c->rope_scaling == ROPE_YARN && c->rope_factor == 4 && c->rope_original_context == 100);
    assert_true(c->rope_beta_fast == 32 && c->rope_beta_slow == 1 && c->context == 400);
    model_file_close(file);

    write_text(paths[CONFIG], LLAMA(",\"rope_scaling\":{\"type\":\"dynamic\",\"factor\":2}"));
    refuse_folder(JOULE_UNSUPPORTED, "the scaling 'dynamic'");
    write_text(paths[CONFIG], LLAMA(",\"rope_scaling\":{\"type\":\"linear\"}"));
    refuse_folder(JOULE_INVALID, "'factor' is missing");
    write_text(paths[CONFIG],
               LLAMA(",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,\"attention_factor\":-1}"));
    refuse_folder(JOULE_INVALID, "attention factor of the rotary embedding is -1");
    write_text(paths[CONFIG], LLAMA(",\"partial_rotary_factor\":0.5"));
    refuse_folder(JOULE_UNSUPPORTED, "only a part of each head");
    clear();
}

static void test_the_base_has_the_precedence_of_transformers(void **state)
{
    (void)state;
    static const struct {
        const char *members;
        double base;
    } cases[] = {
        {"", 10000},
        {",\"rope_theta\":5", 5},
        {",\"rope_theta\":5,\"rope_parameters\":{\"rope_type\":\"default\"}", 5},
        {",\"rope_theta\":5,\"rope_parameters\":{\"rope_theta\":6},\"rope_scaling\":null", 6},
        {",\"rope_theta\":5,\"rope_parameters\":{\"rope_theta\":6},\"rope_scaling\":{}", 6},
        {",\"rope_theta\":5,\"rope_parameters\":{\"rope_theta\":6},\"rope_scaling\":{\"type\":\"linear\","
         "\"factor\":2,\"rope_theta\":7}",
         7},
    };
    add_rotary(FORGE_F32);
    write_tensors(paths[SINGLE], 0, tensor_count);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text, LLAMA(",\"tie_word_embeddings\":true%s"), cases[i].members);
        write_text(paths[CONFIG], text);
        struct model_file *file = open_folder();
        assert_true(file->config.rope_base == cases[i].base);
        model_file_close(file);
    }
    clear();
}

static double attention_factor(const char *scaling)
{
    char text[512];
    snprintf(text, sizeof text, LLAMA(",\"tie_word_embeddings\":true,\"rope_scaling\":{%s}"), scaling);
    write_text(paths[CONFIG], text);
    struct model_file *file = open_folder();
    double factor = file->config.rope_attention_factor;
    model_file_close(file);
    return factor;
}

#define YARN "\"type\":\"yarn\",\"factor\":4,\"original_max_position_embeddings\":100"

static void test_the_attention_factor_of_yarn_is_read(void **state)
{
    (void)state;
    double standard = 1 + 0.1 * log(4);
    add_rotary(FORGE_F32);
    write_tensors(paths[SINGLE], 0, tensor_count);
    assert_true(fabs(attention_factor(YARN) - standard) < 1e-6);
    assert_true(attention_factor(YARN ",\"attention_factor\":0.5,\"mscale\":2,\"mscale_all_dim\":1") == 0.5);
    assert_true(fabs(attention_factor(YARN ",\"mscale\":2") - standard) < 1e-6);
    assert_true(fabs(attention_factor(YARN ",\"mscale\":2,\"mscale_all_dim\":1") -
                     (1 + 0.2 * log(4)) / standard) < 1e-6);
    assert_true(attention_factor("\"type\":\"yarn\",\"factor\":1,\"original_max_position_embeddings\":100") ==
                1);
    clear();
}

static void test_a_sliding_window_limits_the_context(void **state)
{
    (void)state;
    add_rotary(FORGE_F32);
    write_tensors(paths[SINGLE], 0, tensor_count);
    write_text(paths[CONFIG], "{\"architectures\":[\"MistralForCausalLM\"]," SIZES
                              ",\"tie_word_embeddings\":true,\"sliding_window\":4}");
    struct model_file *file = open_folder();
    assert_int_equal(file->config.context, 4);
    assert_int_equal(file->config.architecture, ARCHITECTURE_LLAMA);
    model_file_close(file);
    clear();
}

/* --- GPT-2 ---------------------------------------------------------------------------------------------- */

#define GPT2(more)                                                                                           \
    "{\"architectures\":[\"GPT2LMHeadModel\"],\"n_layer\":1,\"n_embd\":8,\"n_head\":2,\"vocab_size\":3,"     \
    "\"n_positions\":5,\"layer_norm_epsilon\":1e-05,\"activation_function\":\"gelu_new\"" more "}"

static void add_gpt2(void)
{
    add("transformer.wte.weight", FORGE_F32, TOKENS, WIDTH);
    add("transformer.wpe.weight", FORGE_F32, CONTEXT, WIDTH);
    add("transformer.ln_f.weight", FORGE_F32, 0, WIDTH);
    add("transformer.ln_f.bias", FORGE_F32, 0, WIDTH);
    add("transformer.h.0.ln_1.weight", FORGE_F32, 0, WIDTH);
    add("transformer.h.0.ln_1.bias", FORGE_F32, 0, WIDTH);
    add("transformer.h.0.attn.c_attn.weight", FORGE_F32, WIDTH, 3 * WIDTH);
    add("transformer.h.0.attn.c_attn.bias", FORGE_F32, 0, 3 * WIDTH);
    add("transformer.h.0.attn.c_proj.weight", FORGE_F16, WIDTH, WIDTH);
    add("transformer.h.0.attn.c_proj.bias", FORGE_F32, 0, WIDTH);
    add("transformer.h.0.attn.bias", FORGE_U8, CONTEXT, CONTEXT);
    add("transformer.h.0.ln_2.weight", FORGE_F32, 0, WIDTH);
    add("transformer.h.0.ln_2.bias", FORGE_F32, 0, WIDTH);
    add("h.0.mlp.c_fc.weight", FORGE_F32, WIDTH, 4 * WIDTH);
    add("h.0.mlp.c_fc.bias", FORGE_F32, 0, 4 * WIDTH);
    add("h.0.mlp.c_proj.weight", FORGE_F32, 4 * WIDTH, WIDTH);
    add("h.0.mlp.c_proj.bias", FORGE_F32, 0, WIDTH);
}

static void test_weights_of_gpt2_are_transposed(void **state)
{
    (void)state;
    add_gpt2();
    write_tensors(paths[SINGLE], 0, tensor_count);
    write_text(paths[CONFIG], GPT2(",\"n_inner\":null"));
    struct model_file *file = open_folder();
    const struct model_config *c = &file->config;
    assert_true(c->architecture == ARCHITECTURE_GPT2 && c->hidden == 32 && c->kv_heads == 2);
    assert_true(c->context == CONTEXT && c->rope_dims == 0 && c->norm_epsilon == (double)1e-5f);
    const struct model_tensor *up = model_file_find(file, "blk.0.ffn_up.weight");
    assert_true(forge_shape_equal(&up->shape, &forge_shape_of(32, 8)));
    for (size_t out = 0; out < 32; out++)
        for (size_t in = 0; in < 8; in++)
            assert_true(((const float *)up->data)[out * 8 + in] == (float)(in * 32 + out));
    const struct model_tensor *half = model_file_find(file, "blk.0.attn_output.weight");
    float back[64];
    assert_int_equal(half->dtype, FORGE_F16);
    assert_int_equal(forge_convert(FORGE_F16, half->data, FORGE_F32, back, 64), JOULE_OK);
    assert_true(back[1] == 8 && back[8] == 1);
    assert_non_null(model_file_find(file, "position_embd.weight"));
    model_file_close(file);
    write_text(paths[CONFIG], GPT2(",\"scale_attn_by_inverse_layer_idx\":true"));
    refuse_folder(JOULE_UNSUPPORTED, "'scale_attn_weights': false");
    clear();
}

/* --- damage --------------------------------------------------------------------------------------------- */

static void refuse_config(const char *text, joule_status status, const char *part)
{
    write_text(paths[CONFIG], text);
    refuse_folder(status, part);
}

static void test_wrong_configurations_are_refused(void **state)
{
    (void)state;
    refuse_folder(JOULE_ABSENT, "config.json: No such file");
    add_rotary(FORGE_F32);
    write_tensors(paths[SINGLE], 0, tensor_count);
    refuse_config("", JOULE_INVALID, "config.json");
    refuse_config("[1", JOULE_INVALID, "config.json");
    refuse_config("[]", JOULE_INVALID, "'architectures' is missing");
    refuse_config("{\"architectures\":[\"GemmaForCausalLM\"]}", JOULE_UNSUPPORTED,
                  "the architecture 'GemmaForCausalLM' is not supported");
    refuse_config("{\"architectures\":[\"LlamaForCausalLM\"]}", JOULE_INVALID,
                  "'num_hidden_layers' is missing");
    refuse_config(LLAMA(",\"head_dim\":-4"), JOULE_INVALID, "'head_dim' is not a whole number below 2^31");
    refuse_config(LLAMA(",\"head_dim\":4294967300"), JOULE_INVALID, "'head_dim' is not a whole number");
    refuse_config(LLAMA(",\"head_dim\":6"), JOULE_INVALID,
                  "tensor 'blk.0.attn_q.weight' has the shape [8,8]");
    refuse_config(LLAMA(",\"rope_theta\":\"x\""), JOULE_INVALID, "'rope_theta' is not a number");
    refuse_config(LLAMA(",\"rope_theta\":0"), JOULE_INVALID, "base of the rotary embedding is 0");
    refuse_config(LLAMA(",\"tie_word_embeddings\":1"), JOULE_INVALID, "'tie_word_embeddings' is neither");
    refuse_config(LLAMA(""), JOULE_INVALID, "tensor 'lm_head.weight' is missing");
    refuse_config("{\"architectures\":[\"LlamaForCausalLM\"],\"hidden_act\":\"gelu\",\"num_hidden_layers\":1,"
                  "\"hidden_size\":8,\"intermediate_size\":6,\"num_attention_heads\":2,\"vocab_size\":3,"
                  "\"max_position_embeddings\":5}",
                  JOULE_UNSUPPORTED, "the activation 'gelu' is not supported");
    clear();
}

static void test_other_tensors_are_refused(void **state)
{
    (void)state;
    add_rotary(FORGE_F32);
    add("model.layers.0.self_attn.o_proj.bias", FORGE_F32, 0, WIDTH);
    write_tensors(paths[SINGLE], 0, tensor_count);
    write_text(paths[CONFIG], LLAMA(",\"tie_word_embeddings\":true"));
    refuse_folder(JOULE_UNSUPPORTED, "tensor 'model.layers.0.self_attn.o_proj.bias' is not supported");
    clear();
    add_rotary(FORGE_F64);
    write_tensors(paths[SINGLE], 0, tensor_count);
    write_text(paths[CONFIG], LLAMA(",\"tie_word_embeddings\":true"));
    refuse_folder(JOULE_UNSUPPORTED, "has the type f64, which is not supported");
    clear();
    write_text(paths[CONFIG], LLAMA(""));
    refuse_folder(JOULE_ABSENT, "model.safetensors");
    clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_llama_is_read_with_the_names_of_gguf),
        cmocka_unit_test(test_unaligned_data_are_copied),
        cmocka_unit_test(test_qwen_models_have_biases_or_norms_of_heads),
        cmocka_unit_test(test_shards_are_joined),
        cmocka_unit_test(test_scaling_of_the_rotary_embedding_is_read),
        cmocka_unit_test(test_the_base_has_the_precedence_of_transformers),
        cmocka_unit_test(test_the_attention_factor_of_yarn_is_read),
        cmocka_unit_test(test_a_sliding_window_limits_the_context),
        cmocka_unit_test(test_weights_of_gpt2_are_transposed),
        cmocka_unit_test(test_wrong_configurations_are_refused),
        cmocka_unit_test(test_other_tensors_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
