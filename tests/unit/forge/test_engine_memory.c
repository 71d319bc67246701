/* Checks that an engine survives each failing allocation: creation and requests report JOULE_NO_MEMORY, and
 * free all memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "support/allocations.h"
#include "support/tiny_model.h"

static forge_engine_options options_with(const forge_model *draft_model)
{
    return (forge_engine_options){.struct_size = sizeof(forge_engine_options),
                                  .page_size = 4,
                                  .cache_tokens = 64,
                                  .max_batch_tokens = 16,
                                  .speculation = FORGE_SPECULATION_MODEL,
                                  .draft_model = draft_model,
                                  .keeps_draft_tokens = true};
}

/* Adds two requests, one with penalties, and runs them. Frees the engine. Returns the first status that is
 * not JOULE_OK, or JOULE_ABSENT. */
static joule_status run_requests(forge_engine *engine)
{
    const int32_t prompt[] = {1, 2, 3, 4, 5};
    joule_status status = JOULE_OK;
    forge_engine_event event = {.struct_size = sizeof event};
    for (int i = 0; status == JOULE_OK && i < 2; i++) {
        uint64_t id;
        const forge_logit_bias bias = {.token = 3, .bias = 1};
        forge_request request = {.struct_size = sizeof request,
                                 .prompt = prompt,
                                 .prompt_count = 5,
                                 .sampling = forge_sampling_default(),
                                 .stop_tokens = prompt,
                                 .stop_count = 1,
                                 .max_tokens = 40};
        request.sampling.repetition_penalty = i ? 1.2 : 1;
        request.sampling.biases = &bias;
        request.sampling.bias_count = (uint32_t)i;
        status = forge_engine_add(engine, &request, &id, NULL);
    }
    while (status == JOULE_OK) {
        status = forge_engine_step(engine, NULL);
        while (forge_engine_next(engine, &event) == JOULE_OK)
            continue;
    }
    forge_engine_free(engine);
    return status;
}

/* Only some of the many allocations of the compiler fail. */
static void test_an_engine_that_cannot_be_created_frees_its_memory(void **state)
{
    (void)state;
    struct tiny_model tiny;
    forge_engine *engine;
    joule_error error = {0};
    tiny_model_open(&tiny, 7, NULL);
    const forge_engine_options options = options_with(tiny.model);
    allocations = 0;
    assert_int_equal(forge_engine_new(tiny.model, tiny.device, &options, &engine, &error), JOULE_OK);
    unsigned count = allocations, failed = 0;
    forge_engine_free(engine);
    for (unsigned number = 1; number <= count; number += 1 + number / 16) {
        allocations = 0;
        failing_allocation = number;
        joule_status status = forge_engine_new(tiny.model, tiny.device, &options, &engine, &error);
        failing_allocation = 0;
        assert_true(status == JOULE_OK || status == JOULE_NO_MEMORY); /* a meter is not necessary */
        failed += status == JOULE_NO_MEMORY;
        if (status == JOULE_OK)
            forge_engine_free(engine);
    }
    assert_true(failed > 20);
    tiny_model_close(&tiny);
}

static void test_requests_survive_each_failing_allocation(void **state)
{
    (void)state;
    struct tiny_model tiny;
    unsigned count = 1, failed = 0;
    tiny_model_open(&tiny, 7, NULL);
    const forge_engine_options options = options_with(tiny.model);
    for (unsigned number = 0; number <= count; number++) { /* 0: none fails */
        forge_engine *engine;
        assert_int_equal(forge_engine_new(tiny.model, tiny.device, &options, &engine, NULL), JOULE_OK);
        allocations = 0;
        failing_allocation = number;
        joule_status status = run_requests(engine);
        failing_allocation = 0;
        count = number ? count : allocations;
        assert_true(status == JOULE_ABSENT || (number && status == JOULE_NO_MEMORY));
        failed += status == JOULE_NO_MEMORY;
    }
    assert_true(failed > 10);
    tiny_model_close(&tiny);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_engine_that_cannot_be_created_frees_its_memory),
        cmocka_unit_test(test_requests_survive_each_failing_allocation),
    };
    return cmocka_run_group_tests_name("memory of an engine", tests, NULL, NULL);
}
