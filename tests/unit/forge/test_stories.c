/* Checks the engine on a trained model of 260,000 parameters: its tokens, texts and probabilities must equal
 * those that llama2.c computes. The data is skipped if it is absent (JOULE_TEST_DATA). */
#include <forge/engine.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "support/test_data.h"

struct story {
    forge_device *device;
    forge_model *model;
};

/* Copies the path of a data file. Returns false if the file is absent. */
static bool copy_path(const char *name, char out[512])
{
    const char *path = test_data(name);
    snprintf(out, 512, "%s", path ? path : "");
    return path != NULL;
}

static int set_up(void **state)
{
    static struct story story;
    char model[512];
    joule_error error = {0};
    story = (struct story){0};
    if (!copy_path("llm/stories260K.bin", model))
        return 0;
    const char *vocabulary = test_data("llm/tok512.bin");
    if (forge_device_open("cpu", &story.device, &error) != JOULE_OK ||
        forge_model_open(model, vocabulary, &story.model, &error) != JOULE_OK)
        fail_msg("%s", error.message);
    *state = &story;
    return 0;
}

static int tear_down(void **state)
{
    struct story *story = *state;
    if (story) {
        forge_model_free(story->model);
        forge_device_close(story->device);
    }
    return 0;
}

static struct story *story_or_skip(void **state)
{
    if (!*state)
        skip();
    return *state;
}

static forge_engine *open_engine(const struct story *story, const forge_engine_options *options)
{
    forge_engine *engine;
    joule_error error = {0};
    if (forge_engine_new(story->model, story->device, options, &engine, &error) != JOULE_OK)
        fail_msg("%s", error.message);
    return engine;
}

static forge_request greedy(const int32_t *prompt, size_t count, uint32_t max_tokens)
{
    forge_request request = {.struct_size = sizeof request,
                             .prompt = prompt,
                             .prompt_count = count,
                             .sampling = forge_sampling_default(),
                             .max_tokens = max_tokens};
    request.sampling.temperature = 0;
    return request;
}

static uint64_t add(forge_engine *engine, const forge_request *request)
{
    uint64_t id;
    joule_error error = {0};
    if (forge_engine_add(engine, request, &id, &error) != JOULE_OK)
        fail_msg("%s", error.message);
    return id;
}

/* The tokens of the requests 1 to 63. */
struct answers {
    int32_t tokens[64][512];
    size_t counts[64];
    double prompt_logprob[64];
};

static void run(forge_engine *engine, struct answers *out)
{
    joule_status status;
    joule_error error = {0};
    forge_engine_event event = {.struct_size = sizeof event};
    memset(out, 0, sizeof *out);
    while ((status = forge_engine_step(engine, &error)) == JOULE_OK)
        while (forge_engine_next(engine, &event) == JOULE_OK) {
            assert_true(event.request < 64);
            if (event.is_prompt && !isnan(event.logprob))
                out->prompt_logprob[event.request] += (double)event.logprob;
            else if (!event.is_prompt && event.token >= 0)
                out->tokens[event.request][out->counts[event.request]++] = event.token;
        }
    if (status != JOULE_ABSENT)
        fail_msg("%s", error.message);
}

/* A line of reference_runs.txt: a prompt's tokens, the next 32 tokens, and the prompt's negative
 * log-likelihood in nats. */
struct reference {
    int32_t prompt[64], greedy[64];
    size_t prompt_count, greedy_count;
    double nll;
};

static size_t read_numbers(const char *text, int32_t *out)
{
    size_t count = 0;
    for (char *end; count < 64; text = end, count++) {
        out[count] = (int32_t)strtol(text, &end, 10);
        if (end == text)
            break;
    }
    return count;
}

static size_t read_references(struct reference out[8])
{
    char path[512], line[1024], *at;
    size_t count = 0;
    assert_true(copy_path("llm/reference_runs.txt", path));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) && count < 8)
        if ((at = strstr(line, " tokens ")) && strncmp(line, "prompt ", 7) == 0)
            out[count].prompt_count = read_numbers(at + 8, out[count].prompt);
        else if (strncmp(line, " greedy ", 8) == 0)
            out[count].greedy_count = read_numbers(line + 8, out[count].greedy);
        else if (strncmp(line, " prompt_nll_sum ", 16) == 0)
            out[count++].nll = strtod(line + 16, NULL);
    fclose(file);
    assert_true(count > 0);
    return count;
}

static void assert_reference(const struct answers *answers, uint64_t id, const struct reference *reference)
{
    assert_int_equal(answers->counts[id], reference->greedy_count);
    assert_memory_equal(answers->tokens[id], reference->greedy, reference->greedy_count * sizeof(int32_t));
    assert_true(fabs(-answers->prompt_logprob[id] - reference->nll) < 1e-4 * (1 + reference->nll));
}

static void test_tokens_and_probabilities_equal_those_of_llama2c(void **state)
{
    struct story *story = story_or_skip(state);
    static struct answers answers;
    struct reference references[8] = {0};
    size_t count = read_references(references);
    forge_engine *engine = open_engine(story, NULL);
    for (size_t i = 0; i < count; i++) {
        forge_request request = greedy(references[i].prompt, references[i].prompt_count, 32);
        request.reports_prompt = true;
        assert_int_equal(add(engine, &request), i + 1);
    }
    run(engine, &answers);
    for (size_t i = 0; i < count; i++)
        assert_reference(&answers, i + 1, &references[i]);
    forge_engine_free(engine);
}

/* A cache of few pages makes the engine preempt requests, and small steps divide prompts. The tokens must not
 * change. */
static void test_tokens_do_not_depend_on_other_requests_chunks_or_preemption(void **state)
{
    struct story *story = story_or_skip(state);
    static struct answers answers;
    struct reference references[8] = {0};
    size_t count = read_references(references);
    const forge_engine_options options[] = {
        {.struct_size = sizeof options[0], .max_batch_tokens = 5, .max_batch_size = 5, .page_size = 4},
        {.struct_size = sizeof options[0], .page_size = 4, .cache_tokens = 80, .max_length = 64},
        {.struct_size = sizeof options[0], .page_size = 1, .chunk_tokens = 3, .disables_prefix_cache = true},
    };
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
        forge_engine *engine = open_engine(story, &options[o]);
        for (size_t i = 0; i < 4 * count; i++) {
            const struct reference *r = &references[i % count];
            forge_request request = greedy(r->prompt, r->prompt_count, 32);
            add(engine, &request);
        }
        run(engine, &answers);
        for (size_t i = 0; i < 4 * count; i++) {
            assert_int_equal(answers.counts[i + 1], 32);
            assert_memory_equal(answers.tokens[i + 1], references[i % count].greedy, 32 * sizeof(int32_t));
        }
        forge_engine_facts facts = {.struct_size = sizeof facts};
        assert_int_equal(forge_engine_query(engine, &facts), JOULE_OK);
        assert_int_equal(facts.free_pages, facts.pages);
        if (options[o].cache_tokens)
            assert_true(facts.preemptions > 0);
        forge_engine_free(engine);
    }
}

static void test_the_greedy_text_equals_the_published_story(void **state)
{
    struct story *story = story_or_skip(state);
    static struct answers answers;
    char path[512], expected[1024], text[4096];
    const forge_tokenizer *tokenizer = forge_model_tokenizer(story->model);
    int32_t bos = forge_tokenizer_bos(tokenizer);
    forge_engine *engine = open_engine(story, NULL);
    forge_request request = greedy(&bos, 1, 200);
    assert_true(copy_path("llm/expected_greedy_200.txt", path));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t size = fread(expected, 1, sizeof expected, file);
    fclose(file);
    add(engine, &request);
    run(engine, &answers);
    size_t made = forge_detokenize(tokenizer, answers.tokens[1], answers.counts[1], 0, text, sizeof text);
    assert_true(made >= size - 1);
    /* llama2.c prints a newline after the text. */
    while (size && (expected[size - 1] == '\n'))
        size--;
    assert_memory_equal(text, expected, size);
    forge_engine_free(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tokens_and_probabilities_equal_those_of_llama2c, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_tokens_do_not_depend_on_other_requests_chunks_or_preemption,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_greedy_text_equals_the_published_story, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("stories", tests, NULL, NULL);
}
