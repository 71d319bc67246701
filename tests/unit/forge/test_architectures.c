/* Checks the probabilities of small models of all architectures against those that the package transformers
 * computes. Each model is read from a folder of Hugging Face, and from a GGUF file that is written from the
 * folder.
 *
 * The expected numbers are in architectures_expected.h; make_architectures.py writes it. The models have no
 * tokenizer. */
#include <forge/engine.h>
#include <forge/serialize.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/string.h"
#include "forge/infer/model/gguf_write.h"
#include "support/check.h"
#include "support/scratch.h"

enum { PROMPT = 50, ANSWER = 20, MAX_TENSORS = 40 };

/* A model with the expected probabilities of all tokens but the first. */
struct expected {
    const char *name;
    const char *config; /* config.json */
    struct {
        const char *name;
        int64_t dims[2];
    } tensors[MAX_TENSORS];
    int32_t answer[ANSWER];
    double logprobs[PROMPT + ANSWER - 1]; /* of prompt[1], prompt[2], ..., then of the answer */
};

#include "unit/forge/architectures_expected.h" /* prompt, expected */

static joule_error error;
static char config_path[80], tensors_path[80], gguf_path[80];

/* --- models --------------------------------------------------------------------------------------------- */

static bool ends_with_any(const char *name, const char *const *suffixes)
{
    for (; *suffixes; suffixes++)
        if (string_ends(name, *suffixes))
            return true;
    return false;
}

/* Fills a tensor with the numbers that make_architectures.py computes from its name. */
static void fill(const char *name, bool is_vector, float *out, size_t count)
{
    static const char *const norms[] = {"norm.weight", "ln_1.weight", "ln_2.weight", "ln_f.weight", NULL};
    static const char *const tables[] = {"embed_tokens.weight", "lm_head.weight", "wte.weight", "wpe.weight",
                                         NULL};
    bool is_norm = ends_with_any(name, norms), is_table = is_vector || ends_with_any(name, tables);
    uint64_t state = UINT64_C(0xcbf29ce484222325);
    for (const char *byte = name; *byte; byte++)
        state = (state ^ (unsigned char)*byte) * UINT64_C(0x100000001b3);
    for (size_t i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        float x = (float)(state >> 40) / (1 << 23) - 1;
        out[i] = is_norm ? 1 + 0.25f * x : is_table ? 0.5f * x : 0.25f * x;
    }
}

static void write_config(const char *text)
{
    FILE *out = fopen(config_path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

static void write_folder(const struct expected *e)
{
    forge_named_tensor tensors[MAX_TENSORS];
    size_t count = 0;
    for (; count < MAX_TENSORS && e->tensors[count].name; count++) {
        const int64_t *dims = e->tensors[count].dims;
        forge_shape shape = dims[1] ? forge_shape_of(dims[0], dims[1]) : forge_shape_of(dims[0]);
        tensors[count].name = e->tensors[count].name;
        assert_ok(forge_tensor_new(FORGE_F32, &shape, &tensors[count].tensor, &error), &error);
        fill(e->tensors[count].name, !dims[1], forge_tensor_data(&tensors[count].tensor),
             forge_shape_elements(&shape));
    }
    assert_ok(forge_safetensors_write(tensors_path, tensors, count, NULL, 0, &error), &error);
    for (size_t i = 0; i < count; i++)
        forge_buffer_release(tensors[i].tensor.buffer);
    write_config(e->config);
}

static int set_up(void **state)
{
    int result = scratch_set_up(state);
    snprintf(config_path, sizeof config_path, "%s/config.json", scratch_folder);
    snprintf(tensors_path, sizeof tensors_path, "%s/model.safetensors", scratch_folder);
    snprintf(gguf_path, sizeof gguf_path, "%s/model.gguf", scratch_folder);
    return result;
}

static int tear_down(void **state)
{
    unlink(config_path);
    unlink(tensors_path);
    unlink(gguf_path);
    return scratch_tear_down(state);
}

/* --- runs ----------------------------------------------------------------------------------------------- */

/* The tokens and log-probabilities that an engine reports after the first token of a prompt. */
struct run {
    int32_t tokens[PROMPT + ANSWER];
    double logprobs[PROMPT + ANSWER];
    size_t count;
};

static void add_request(forge_engine *engine)
{
    uint64_t id;
    forge_request request = {.struct_size = sizeof request,
                             .prompt = prompt,
                             .prompt_count = PROMPT,
                             .sampling = forge_sampling_default(),
                             .max_tokens = ANSWER,
                             .reports_logprobs = true,
                             .reports_prompt = true};
    request.sampling.temperature = 0;
    assert_ok(forge_engine_add(engine, &request, &id, &error), &error);
}

static void run_engine(forge_engine *engine, struct run *out)
{
    joule_status status;
    forge_engine_event event = {.struct_size = sizeof event};
    out->count = 0;
    while ((status = forge_engine_step(engine, &error)) == JOULE_OK)
        while (forge_engine_next(engine, &event) == JOULE_OK)
            if (event.token >= 0 && !isnan(event.logprob)) {
                assert_true(out->count < PROMPT + ANSWER);
                out->tokens[out->count] = event.token;
                out->logprobs[out->count++] = (double)event.logprob;
            }
    if (status != JOULE_ABSENT)
        fail_msg("%s", error.message);
}

/* Opens the model, and computes the probabilities of the prompt and an answer. */
static void run_model(const char *path, const struct expected *e, struct run *out)
{
    forge_model *model;
    forge_device *device;
    forge_engine *engine;
    const forge_engine_options options = {.struct_size = sizeof options,
                                          .cache_dtype = FORGE_F32,
                                          .max_batch_tokens = 24, /* the prompt needs several steps */
                                          .page_size = 8};
    if (forge_model_open(path, NULL, &model, &error) != JOULE_OK)
        fail_msg("%s: %s", e->name, error.message);
    assert_null(forge_model_tokenizer(model));
    assert_ok(forge_device_open("cpu", &device, &error), &error);
    assert_ok(forge_engine_new(model, device, &options, &engine, &error), &error);
    add_request(engine);
    run_engine(engine, out);
    forge_engine_free(engine);
    forge_device_close(device);
    forge_model_free(model);
}

static void compare(const struct expected *e, const char *format, const struct run *run)
{
    assert_int_equal(run->count, PROMPT + ANSWER - 1);
    for (size_t i = 0; i < run->count; i++) {
        int32_t token = i + 1 < PROMPT ? prompt[i + 1] : e->answer[i + 1 - PROMPT];
        if (run->tokens[i] != token || !(fabs(run->logprobs[i] - e->logprobs[i]) <= 1e-4))
            fail_msg("%s, %s, token %zu: %d with %.6f, not %d with %.6f", e->name, format, i + 1,
                     run->tokens[i], run->logprobs[i], token, e->logprobs[i]);
    }
}

static double largest_difference(const struct expected *e, const struct run *run)
{
    double most = 0;
    for (size_t i = 0; i < run->count; i++)
        most = fmax(most, fabs(run->logprobs[i] - e->logprobs[i]));
    return most;
}

static void test_probabilities_equal_those_of_transformers(void **state)
{
    (void)state;
    struct run run;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        write_folder(&expected[i]);
        run_model(scratch_folder, &expected[i], &run);
        compare(&expected[i], "safetensors", &run);
        printf("%s: largest difference %.1e\n", expected[i].name, largest_difference(&expected[i], &run));
    }
}

/* Writes the folder's model as GGUF. Returns JOULE_UNSUPPORTED if GGUF cannot express it. */
static joule_status convert(const struct expected *e)
{
    struct model_file *file;
    if (model_file_open(scratch_folder, NULL, &file, &error) != JOULE_OK)
        fail_msg("%s: %s", e->name, error.message);
    joule_status status = gguf_write(file, FORGE_DTYPE_NONE, gguf_path, &error);
    model_file_close(file);
    return status;
}

static void test_probabilities_from_gguf_equal_those_of_transformers(void **state)
{
    (void)state;
    struct run run;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct expected *e = &expected[i];
        write_folder(e);
        joule_status status = convert(e);
        if (strstr(e->name, "not_truncated")) {
            assert_int_equal(status, JOULE_UNSUPPORTED);
            continue;
        }
        assert_ok(status, &error);
        run_model(gguf_path, e, &run);
        compare(e, "GGUF", &run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probabilities_equal_those_of_transformers),
        cmocka_unit_test(test_probabilities_from_gguf_equal_those_of_transformers),
    };
    return cmocka_run_group_tests_name("architectures", tests, set_up, tear_down);
}
