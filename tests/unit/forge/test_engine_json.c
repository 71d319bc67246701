/* Checks that answers satisfy a JSON schema, with and without drafts, on a model with random weights. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/json.h"
#include "grammar_alternatives.h"
#include "support/test_data.h"
#include "support/tiny_model.h"

enum { ANSWERS = 40 };

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"name\":{\"enum\":[\"Lily\",\"Tom\"]},\"age\":{\"type\":"
    "\"integer\"},"
    "\"likes\":{\"type\":\"array\",\"items\":{\"type\":\"boolean\"},\"minItems\":1,\"maxItems\":3}},"
    "\"required\":[\"name\",\"age\",\"likes\"]}";

/* Returns false unless the text is an object with a name, an age and one to three booleans. */
static bool satisfies(char *text, size_t size)
{
    struct arena arena = {0};
    const struct json_value *root = json_parse(&arena, text, size, "answer", NULL);
    const struct json_value *likes = json_member(root, "likes");
    const char *name = json_text_of(json_member(root, "name"));
    size_t count = 0;
    bool is_good = name && (strcmp(name, "Lily") == 0 || strcmp(name, "Tom") == 0) &&
                   json_member(root, "age") && likes && likes->kind == JSON_ARRAY;
    for (const struct json_value *item = is_good ? likes->first : NULL; item; item = item->next, count++)
        is_good = is_good && (item->kind == JSON_TRUE || item->kind == JSON_FALSE);
    is_good = is_good && count >= 1 && count <= 3;
    arena_free(&arena);
    return is_good;
}

static void check_answers(const forge_model *model, forge_device *device, const forge_engine_options *options)
{
    static char texts[ANSWERS + 1][4096];
    static size_t sizes[ANSWERS + 1];
    forge_engine *engine;
    joule_error error = {0};
    uint64_t id;
    size_t whole = 0;
    const forge_tokenizer *tokenizer = forge_model_tokenizer(model);
    int32_t bos = forge_tokenizer_bos(tokenizer);
    forge_engine_event event = {.struct_size = sizeof event};
    memset(sizes, 0, sizeof sizes);
    assert_int_equal(forge_engine_new(model, device, options, &engine, &error), JOULE_OK);
    for (uint64_t seed = 0; seed < ANSWERS; seed++) {
        forge_request request = {.struct_size = sizeof request,
                                 .prompt = &bos,
                                 .prompt_count = 1,
                                 .sampling = forge_sampling_default(),
                                 .max_tokens = 300,
                                 .json_schema = schema};
        request.sampling.seed = seed;
        assert_int_equal(forge_engine_add(engine, &request, &id, &error), JOULE_OK);
    }
    while (forge_engine_step(engine, &error) == JOULE_OK)
        while (forge_engine_next(engine, &event) == JOULE_OK)
            if (event.token >= 0)
                sizes[event.request] += forge_detokenize(tokenizer, &event.token, 1, 0,
                                                         texts[event.request] + sizes[event.request], 64);
            else if (event.end == FORGE_END_TOKEN) {
                whole++;
                assert_true(satisfies(texts[event.request], sizes[event.request]));
            }
    assert_true(whole > ANSWERS / 2); /* nearly all answers end, because integers have a limited length */
    forge_engine_free(engine);
}

/* Checks that an answer is reported as incomplete if no token continues its text: the alternatives of the
 * value "a" need more room than the state of a grammar has. */
static void check_dead_end(const forge_model *model, forge_device *device)
{
    static char alternatives[65536], text[70000];
    forge_engine *engine;
    joule_error error = {0};
    uint64_t id;
    int32_t bos = forge_tokenizer_bos(forge_model_tokenizer(model));
    forge_engine_event event = {.struct_size = sizeof event};
    print_alternatives(alternatives, sizeof alternatives, 40);
    string_print(text, sizeof text, "{\"properties\":{\"a\":%s},\"required\":[\"a\"]}", alternatives);
    forge_request request = {.struct_size = sizeof request,
                             .prompt = &bos,
                             .prompt_count = 1,
                             .sampling = forge_sampling_default(),
                             .max_tokens = 300,
                             .json_schema = text};
    forge_engine_options options = {.struct_size = sizeof options};
    assert_int_equal(forge_engine_new(model, device, &options, &engine, &error), JOULE_OK);
    assert_int_equal(forge_engine_add(engine, &request, &id, &error), JOULE_OK);
    while (event.end == FORGE_END_NONE && forge_engine_step(engine, &error) == JOULE_OK)
        while (event.end == FORGE_END_NONE && forge_engine_next(engine, &event) == JOULE_OK)
            ;
    assert_int_equal(event.end, FORGE_END_LENGTH);
    assert_true(event.answer_tokens < 300);
    forge_engine_free(engine);
}

static void test_answers_satisfy_the_schema(void **state)
{
    (void)state;
    char path[512];
    forge_device *device;
    forge_model *model;
    joule_error error = {0};
    const char *found = test_data("llm/stories260K.bin");
    if (!found)
        skip();
    strncpy(path, found, sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_equal(forge_device_open("cpu", &device, &error), JOULE_OK);
    assert_int_equal(forge_model_open(path, test_data("llm/tok512.bin"), &model, &error), JOULE_OK);
    check_answers(model, device, &(forge_engine_options){.struct_size = sizeof(forge_engine_options)});
    check_answers(model, device,
                  &(forge_engine_options){.struct_size = sizeof(forge_engine_options),
                                          .speculation = FORGE_SPECULATION_LOOKUP,
                                          .keeps_draft_tokens = true});
    check_dead_end(model, device);
    forge_model_free(model);
    forge_device_close(device);
}

static void test_a_schema_without_a_vocabulary_is_refused(void **state)
{
    (void)state;
    struct tiny_model tiny;
    const int32_t prompt[] = {1};
    uint64_t id;
    joule_error error = {0};
    tiny_model_open(&tiny, 7, NULL);
    forge_request request = {.struct_size = sizeof request,
                             .prompt = prompt,
                             .prompt_count = 1,
                             .sampling = forge_sampling_default(),
                             .needs_json_object = true};
    assert_int_equal(forge_engine_add(tiny.engine, &request, &id, &error), JOULE_UNSUPPORTED);
    tiny_model_close(&tiny);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_satisfy_the_schema),
        cmocka_unit_test(test_a_schema_without_a_vocabulary_is_refused),
    };
    return cmocka_run_group_tests_name("engine json", tests, NULL, NULL);
}
