/* tests/support/tiny_model.c - see tiny_model.h. The model is a file of llama2.c in a temporary folder. */
#include "support/tiny_model.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { DIM = 32, HIDDEN = 64, LAYERS = 2, HEADS = 4, KV_HEADS = 2 };

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 11;
}

static void write_floats(FILE *file, uint64_t *state, size_t count, float scale, float mean)
{
    for (size_t i = 0; i < count; i++) {
        float x = mean + scale * ((float)(next_random(state) >> 29) / (float)(1 << 23) - 1);
        assert_int_equal(fwrite(&x, sizeof x, 1, file), 1);
    }
}

static void write_model(FILE *file, uint64_t seed)
{
    /* A negative vocabulary means that the logits have weights of their own. */
    int32_t vocabulary = seed == TINY_NAN_TOKEN ? -TINY_VOCABULARY : TINY_VOCABULARY;
    const int32_t header[] = {DIM, HIDDEN, LAYERS, HEADS, KV_HEADS, vocabulary, TINY_CONTEXT};
    size_t kv = DIM / HEADS * KV_HEADS;
    float last_norm = seed == TINY_NAN ? NAN : seed == TINY_INFINITE ? FLT_MAX : 1;
    size_t nan_rows = seed == TINY_NAN_TOKEN;
    assert_int_equal(fwrite(header, sizeof header, 1, file), 1);
    write_floats(file, &seed, nan_rows * DIM, NAN, 0);
    write_floats(file, &seed, (TINY_VOCABULARY - nan_rows) * DIM, 1, 0);
    write_floats(file, &seed, LAYERS * DIM, 0.1f, 1);
    write_floats(file, &seed, LAYERS * DIM * (DIM + kv + kv + DIM), 0.5f, 0);
    write_floats(file, &seed, LAYERS * DIM, 0.1f, 1);
    write_floats(file, &seed, LAYERS * DIM * HIDDEN * 3, 0.3f, 0);
    write_floats(file, &seed, DIM, 0.1f, last_norm);
    write_floats(file, &seed, TINY_CONTEXT * DIM / HEADS, 0, 0);
    write_floats(file, &seed, vocabulary < 0 ? TINY_VOCABULARY * DIM : 0, 1, 0);
}

void tiny_model_open(struct tiny_model *tiny, uint64_t seed, const forge_engine_options *options)
{
    char path[] = "/tmp/tiny_model_XXXXXX";
    joule_error error = {0};
    *tiny = (struct tiny_model){0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "wb");
    assert_non_null(file);
    write_model(file, seed);
    assert_int_equal(fclose(file), 0);
    joule_status status = forge_device_open("cpu", &tiny->device, &error);
    if (status == JOULE_OK)
        status = forge_model_open(path, NULL, &tiny->model, &error);
    unlink(path);
    if (status == JOULE_OK)
        status = forge_engine_new(tiny->model, tiny->device, options, &tiny->engine, &error);
    if (status != JOULE_OK)
        fail_msg("%s", error.message);
}

void tiny_model_close(struct tiny_model *tiny)
{
    forge_engine_free(tiny->engine);
    forge_model_free(tiny->model);
    forge_device_close(tiny->device);
}

uint64_t tiny_model_add(struct tiny_model *tiny, const int32_t *prompt, size_t count, uint32_t max_tokens,
                        double max_joules)
{
    uint64_t id;
    joule_error error = {0};
    forge_request request = {.struct_size = sizeof request,
                             .prompt = prompt,
                             .prompt_count = count,
                             .sampling = forge_sampling_default(),
                             .max_tokens = max_tokens,
                             .max_joules = max_joules};
    request.sampling.temperature = 0;
    if (forge_engine_add(tiny->engine, &request, &id, &error) != JOULE_OK)
        fail_msg("%s", error.message);
    return id;
}
