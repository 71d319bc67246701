/* Checks that reading and writing files of models and tokenizers reports JOULE_NO_MEMORY for each allocation
 * that fails, and frees all memory. */
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
#include <forge/tokenizer.h>
#include "forge/infer/model/gguf_write.h"
#include "support/allocations.h"
#include "support/check.h"
#include "support/gguf_builder.h"
#include "support/scratch.h"
#include "support/test_data.h"

static joule_error error;
static const char *model_path, *tokenizer_path; /* arguments of `work` */
static struct model_file *source;

static joule_status open_model(void)
{
    struct model_file *file = NULL;
    joule_status status = model_file_open(model_path, tokenizer_path, &file, &error);
    assert_true((status == JOULE_OK) == (file != NULL));
    model_file_close(file);
    return status;
}

static joule_status write_model(void)
{
    return gguf_write(source, FORGE_Q8_0, scratch_path, &error);
}

static void fail_each_allocation(joule_status (*work)(void))
{
    allocations = failing_allocation = 0;
    assert_ok(work(), &error);
    unsigned count = allocations;
    assert_true(count > 2);
    for (unsigned number = 1; number <= count; number++) {
        memset(&error, 0, sizeof error);
        allocations = 0;
        failing_allocation = number;
        joule_status status = work();
        failing_allocation = 0;
        if (status != JOULE_NO_MEMORY)
            fail_msg("allocation %u of %u: status %d: %s", number, count, status, error.message);
        assert_contains(error.message, "out of memory");
    }
}

static void test_gguf_files_survive_each_failing_allocation(void **state)
{
    (void)state;
    struct gguf_builder b;
    gguf_build(&b, 3, NULL);
    gguf_add_small_keys(&b);
    gguf_add_text(&b, "general.name", "small");
    gguf_add_text(&b, "tokenizer.ggml.model", "gpt2");
    gguf_add_text(&b, "tokenizer.chat_template", "{{ x }}");
    gguf_add_array(&b, "tokenizer.ggml.tokens", 8, 1);
    gguf_add_string(&b, "a");
    gguf_add_array(&b, "tokenizer.ggml.merges", 8, 20000); /* more than a block of the arena */
    for (size_t i = 0; i < 20000; i++)
        gguf_add_string(&b, "a b");
    gguf_add_small_tensors(&b);
    assert_true(gguf_finish(&b, scratch_path));
    model_path = scratch_path;
    tokenizer_path = NULL;
    fail_each_allocation(open_model);
}

static void test_split_files_survive_each_failing_allocation(void **state)
{
    (void)state;
    char paths[2][100];
    for (int i = 0; i < 2; i++) {
        struct gguf_builder b;
        snprintf(paths[i], sizeof paths[i], "%s/m-%05d-of-00002.gguf", scratch_folder, i + 1);
        gguf_build(&b, 3, NULL);
        if (i == 0)
            gguf_add_small_keys(&b);
        gguf_add_integer(&b, "split.no", 2, i);
        gguf_add_integer(&b, "split.count", 2, 2);
        gguf_add_integer(&b, "split.tensors.count", 5, GGUF_SMALL_TENSORS);
        gguf_add_array(&b, "padding", 8, 20000); /* a part of this size needs a block of the arena */
        gguf_add_bytes(&b, NULL, 20000 * 8);
        for (int k = 0; k < 2000; k++) {
            char key[20];
            snprintf(key, sizeof key, "key.%d", k);
            gguf_add_integer(&b, key, 4, k);
        }
        gguf_add_some_tensors(&b, i ? 4 : 0, i ? GGUF_SMALL_TENSORS : 4);
        assert_true(gguf_finish(&b, paths[i]));
    }
    model_path = paths[0];
    tokenizer_path = NULL;
    fail_each_allocation(open_model);
    for (int i = 0; i < 2; i++)
        assert_int_equal(unlink(paths[i]), 0);
}

/* Opens the tokenizer, and converts a text with added tokens. */
static joule_status use_tokenizer(void)
{
    static const char text[] = "a <n> <l>b";
    forge_tokenizer *tokenizer = NULL;
    size_t count;
    joule_status status = forge_tokenizer_open(scratch_path, &tokenizer, &error);
    if (status == JOULE_OK)
        status = forge_tokenize(tokenizer, text, strlen(text), FORGE_TOKENIZE_READ_CONTROL, NULL, 0, &count,
                                &error);
    forge_tokenizer_free(tokenizer);
    return status;
}

static void test_tokenizers_with_added_tokens_survive_each_failing_allocation(void **state)
{
    (void)state;
    FILE *out = fopen(scratch_path, "w");
    assert_non_null(out);
    fputs("{\"added_tokens\":[{\"id\":4,\"content\":\"<n>\",\"normalized\":true,\"special\":true},"
          "{\"id\":5,\"content\":\"<l>\",\"lstrip\":true,\"special\":false}],"
          "\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xe2\x96\x81\"},"
          "\"model\":{\"type\":\"BPE\",\"byte_fallback\":true,\"unk_token\":\"<unk>\",\"vocab\":{\"<unk>\":0,"
          "\"\xe2\x96\x81\":1,\"a\":2,\"b\":3,\"ab\":6},\"merges\":[\"a b\"]}}",
          out);
    assert_int_equal(fclose(out), 0);
    fail_each_allocation(use_tokenizer);
}

static void test_llama2c_files_survive_each_failing_allocation(void **state)
{
    (void)state;
    const char *found = test_data("llm/stories260K.bin");
    char *path = found ? strdup(found) : NULL;
    if (!path)
        skip();
    model_path = path;
    tokenizer_path = test_data("llm/tok512.bin");
    fail_each_allocation(open_model);
    assert_ok(model_file_open(model_path, tokenizer_path, &source, &error), &error);
    fail_each_allocation(write_model);
    model_file_close(source);
    free(path);
}

/* Writes a GPT-2, because all of its weights are copied to memory. */
static void write_folder(const char *config, const char *weights)
{
    static const struct {
        const char *name;
        int64_t rows, columns;
    } all[] = {{"wte.weight", 3, 8},
               {"wpe.weight", 5, 8},
               {"ln_f.weight", 0, 8},
               {"ln_f.bias", 0, 8},
               {"h.0.ln_1.weight", 0, 8},
               {"h.0.ln_1.bias", 0, 8},
               {"h.0.attn.c_attn.weight", 8, 24},
               {"h.0.attn.c_attn.bias", 0, 24},
               {"h.0.attn.c_proj.weight", 8, 8},
               {"h.0.attn.c_proj.bias", 0, 8},
               {"h.0.ln_2.weight", 0, 8},
               {"h.0.ln_2.bias", 0, 8},
               {"h.0.mlp.c_fc.weight", 8, 32},
               {"h.0.mlp.c_fc.bias", 0, 32},
               {"h.0.mlp.c_proj.weight", 32, 8},
               {"h.0.mlp.c_proj.bias", 0, 8}};
    enum { COUNT = sizeof all / sizeof *all };
    forge_named_tensor tensors[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        forge_shape shape =
            all[i].rows ? forge_shape_of(all[i].rows, all[i].columns) : forge_shape_of(all[i].columns);
        tensors[i].name = all[i].name;
        assert_ok(forge_tensor_new(FORGE_F32, &shape, &tensors[i].tensor, &error), &error);
    }
    assert_ok(forge_safetensors_write(weights, tensors, COUNT, NULL, 0, &error), &error);
    for (size_t i = 0; i < COUNT; i++)
        forge_buffer_release(tensors[i].tensor.buffer);
    FILE *out = fopen(config, "w");
    assert_non_null(out);
    fputs("{\"architectures\":[\"GPT2LMHeadModel\"],\"n_layer\":1,\"n_embd\":8,\"n_head\":2,\"vocab_size\":3,"
          "\"n_positions\":5}",
          out);
    assert_int_equal(fclose(out), 0);
}

static void test_folders_survive_each_failing_allocation(void **state)
{
    (void)state;
    char config[64], weights[64], index[64];
    snprintf(config, sizeof config, "%s/config.json", scratch_folder);
    snprintf(weights, sizeof weights, "%s/model.safetensors", scratch_folder);
    snprintf(index, sizeof index, "%s/model.safetensors.index.json", scratch_folder);
    write_folder(config, weights);
    model_path = config;
    tokenizer_path = NULL;
    fail_each_allocation(open_model);
    FILE *out = fopen(index, "w");
    fputs("{\"weight_map\":{\"x\":\"model.safetensors\"}}", out);
    assert_int_equal(fclose(out), 0);
    model_path = scratch_folder;
    fail_each_allocation(open_model);
    unlink(config);
    unlink(weights);
    unlink(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gguf_files_survive_each_failing_allocation),
        cmocka_unit_test(test_split_files_survive_each_failing_allocation),
        cmocka_unit_test(test_tokenizers_with_added_tokens_survive_each_failing_allocation),
        cmocka_unit_test(test_llama2c_files_survive_each_failing_allocation),
        cmocka_unit_test(test_folders_survive_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
