/* Checks how much the element type of the cache of keys and values changes probabilities, on a trained model
 * of 260,000 parameters. The tests are skipped if the model is absent (JOULE_TEST_DATA).
 *
 * Heads of the model have 8 elements, but q8_0 needs blocks of 32. So the model is written as GGUF with 24
 * zeros at the end of each head. The zeros change no probability.
 * Note: only 8 elements of a block of q8_0 are not 0 here. */
#include <forge/engine.h>
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
#include "support/test_data.h"

enum { WIDE_HEAD = 32, TEXTS = 4, LENGTH = 250 };

static joule_error error;
static char stories[512]; /* path of the model; empty: absent */

/* Log-probabilities of the tokens of a text after the first one. */
struct logprobs {
    double items[TEXTS][LENGTH];
    size_t counts[TEXTS];
};

/* --- a model with wider heads --------------------------------------------------------------------------- */

/* Replaces the matrix by a matrix with wider heads, multiplied by `factor`. is_output: heads are columns, not
 * rows. New elements are 0. */
static void widen(struct model_tensor *tensor, const struct model_config *c, bool is_output, float factor)
{
    size_t narrow = (size_t)c->head_dim, rows = (size_t)tensor->shape.dims[0],
           columns = (size_t)tensor->shape.dims[1];
    size_t wide_rows = is_output ? rows : rows / narrow * WIDE_HEAD,
           wide_columns = is_output ? columns / narrow * WIDE_HEAD : columns;
    float *wide = calloc(wide_rows * wide_columns, sizeof *wide);
    assert_non_null(wide);
    for (size_t i = 0; i < rows * columns; i++) {
        size_t row = i / columns, column = i % columns;
        row = is_output ? row : row / narrow * WIDE_HEAD + row % narrow;
        column = is_output ? column / narrow * WIDE_HEAD + column % narrow : column;
        wide[row * wide_columns + column] = factor * ((const float *)tensor->data)[i];
    }
    tensor->data = wide;
    tensor->size_bytes = wide_rows * wide_columns * sizeof *wide;
    tensor->shape = forge_shape_of((int64_t)wide_rows, (int64_t)wide_columns);
}

/* Writes the model with heads of 32 elements instead of 8. This halves the scale of the attention, 1 /
 * sqrt(head_dim), so queries are multiplied by 2. */
static void write_wide_model(void)
{
    struct model_file *file;
    assert_ok(model_file_open(stories, NULL, &file, &error), &error);
    struct model_config *c = &file->config;
    assert_true(c->head_dim == 8 && c->rope_dims == 8 && c->rope_is_interleaved);
    for (size_t i = 0; i < file->tensor_count; i++) {
        struct model_tensor *tensor = &file->tensors[i];
        bool is_query = string_ends(tensor->name, "attn_q.weight"),
             is_output = string_ends(tensor->name, "attn_output.weight");
        if (is_query || is_output || string_ends(tensor->name, "attn_k.weight") ||
            string_ends(tensor->name, "attn_v.weight"))
            widen(tensor, c, is_output, is_query ? 2 : 1);
        else
            continue;
    }
    c->head_dim = WIDE_HEAD;
    assert_ok(gguf_write(file, FORGE_DTYPE_NONE, scratch_path, &error), &error);
    for (size_t i = 0; i < file->tensor_count; i++)
        if (strstr(file->tensors[i].name, ".attn_") && file->tensors[i].shape.rank == 2)
            free((void *)(uintptr_t)file->tensors[i].data);
    model_file_close(file);
}

/* --- runs ----------------------------------------------------------------------------------------------- */

struct session {
    forge_device *device;
    forge_model *model;
    forge_engine *engine;
};

static struct session open_session(const char *path, forge_dtype cache_dtype)
{
    struct session s;
    const forge_engine_options options = {.struct_size = sizeof options, .cache_dtype = cache_dtype};
    assert_ok(forge_device_open("cpu", &s.device, &error), &error);
    assert_ok(forge_model_open(path, NULL, &s.model, &error), &error);
    assert_ok(forge_engine_new(s.model, s.device, &options, &s.engine, &error), &error);
    return s;
}

static void close_session(struct session *s)
{
    forge_engine_free(s->engine);
    forge_model_free(s->model);
    forge_device_close(s->device);
}

static void add(struct session *s, const int32_t *tokens, size_t count, uint32_t max_tokens, uint64_t seed)
{
    uint64_t id;
    forge_request request = {.struct_size = sizeof request,
                             .prompt = tokens,
                             .prompt_count = count,
                             .sampling = forge_sampling_default(),
                             .max_tokens = max_tokens,
                             .reports_prompt = true};
    request.sampling.temperature = 1;
    request.sampling.seed = seed;
    assert_ok(forge_engine_add(s->engine, &request, &id, &error), &error);
}

/* Draws texts from the model, each with a different seed. texts: [TEXTS][LENGTH]. */
static void draw_texts(int32_t texts[TEXTS][LENGTH])
{
    forge_engine_event event = {.struct_size = sizeof event};
    struct session s = open_session(stories, FORGE_F32);
    size_t counts[TEXTS] = {0};
    const int32_t begin = 1;
    for (size_t i = 0; i < TEXTS; i++)
        add(&s, &begin, 1, LENGTH - 1, i + 1);
    while (forge_engine_step(s.engine, &error) == JOULE_OK)
        while (forge_engine_next(s.engine, &event) == JOULE_OK)
            if (event.token >= 0)
                texts[event.request - 1][counts[event.request - 1]++] = event.token;
    for (size_t i = 0; i < TEXTS; i++)
        assert_int_equal(counts[i], LENGTH);
    close_session(&s);
}

static void compute(const char *path, forge_dtype cache_dtype, int32_t texts[TEXTS][LENGTH],
                    struct logprobs *out)
{
    forge_engine_event event = {.struct_size = sizeof event};
    struct session s = open_session(path, cache_dtype);
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < TEXTS; i++)
        add(&s, texts[i], LENGTH, 1, 1);
    while (forge_engine_step(s.engine, &error) == JOULE_OK)
        while (forge_engine_next(s.engine, &event) == JOULE_OK)
            if (event.is_prompt && !isnan(event.logprob))
                out->items[event.request - 1][out->counts[event.request - 1]++] = (double)event.logprob;
    for (size_t i = 0; i < TEXTS; i++)
        assert_int_equal(out->counts[i], LENGTH - 1);
    close_session(&s);
}

/* Returns the mean of the absolute differences. *out_max: the largest. */
static double difference(const struct logprobs *a, const struct logprobs *b, double *out_max)
{
    double sum = 0;
    *out_max = 0;
    for (size_t i = 0; i < TEXTS; i++)
        for (size_t k = 0; k < LENGTH - 1; k++) {
            double apart = fabs(a->items[i][k] - b->items[i][k]);
            sum += apart;
            *out_max = fmax(*out_max, apart);
        }
    return sum / (TEXTS * (LENGTH - 1));
}

static void test_types_of_the_cache_change_probabilities_little(void **state)
{
    (void)state;
    static int32_t texts[TEXTS][LENGTH];
    static struct logprobs exact, other;
    const struct {
        forge_dtype dtype;
        double mean, max;
    } bounds[] = {
        {FORGE_F32, 1e-6, 2e-5}, {FORGE_F16, 0.002, 0.05}, {FORGE_BF16, 0.015, 0.25}, {FORGE_Q8_0, 0.06, 1}};
    if (!stories[0])
        skip();
    draw_texts(texts);
    compute(stories, FORGE_F32, texts, &exact);
    write_wide_model();
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        double max;
        compute(scratch_path, bounds[i].dtype, texts, &other);
        double mean = difference(&other, &exact, &max);
        printf("%s: mean difference %.2e, maximum %.2e\n", forge_dtype_name(bounds[i].dtype), mean, max);
        assert_true(mean <= bounds[i].mean && max <= bounds[i].max);
    }
    unlink(scratch_path);
}

/* Heads of 8 elements do not fill a block of 32. */
static void test_a_cache_in_q8_0_needs_heads_of_whole_blocks(void **state)
{
    (void)state;
    forge_device *device;
    forge_model *model;
    forge_engine *engine;
    const forge_engine_options options = {.struct_size = sizeof options, .cache_dtype = FORGE_Q8_0};
    if (!stories[0])
        skip();
    assert_ok(forge_device_open("cpu", &device, &error), &error);
    assert_ok(forge_model_open(stories, NULL, &model, &error), &error);
    assert_int_equal(forge_engine_new(model, device, &options, &engine, &error), JOULE_INVALID);
    assert_contains(error.message, "q8_0 if heads are a multiple of 32");
    forge_model_free(model);
    forge_device_close(device);
}

static int set_up(void **state)
{
    const char *path = test_data("llm/stories260K.bin");
    snprintf(stories, sizeof stories, "%s", path ? path : "");
    return scratch_set_up(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_of_the_cache_change_probabilities_little),
        cmocka_unit_test(test_a_cache_in_q8_0_needs_heads_of_whole_blocks),
    };
    return cmocka_run_group_tests_name("cache types", tests, set_up, scratch_tear_down);
}
