/* Checks the engine on a small model with random weights. Tokens do not depend on other requests. Random
 * arrivals, cancellations, also by another thread, and preemptions lose no page and no request. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "forge/infer/engine/engine.h"
#include "support/chance.h"
#include "support/tiny_model.h"

enum { REQUESTS = 1000, MAX_PROMPT = 40, MAX_ANSWER = 24 };

/* An expected answer. It is computed alone, in an engine with a large cache. */
struct expected {
    int32_t prompt[MAX_PROMPT], tokens[MAX_ANSWER];
    size_t prompt_count, token_count;
};

static void make_prompts(struct expected *expected, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct expected *e = &expected[i];
        e->prompt_count = 1 + chance_bits() % MAX_PROMPT;
        e->token_count = 1 + chance_bits() % MAX_ANSWER;
        for (size_t k = 0; k < e->prompt_count; k++)
            e->prompt[k] = (int32_t)(chance_bits() % TINY_VOCABULARY);
        /* Half of the prompts begin with the tokens of an earlier prompt, so that prefixes are reused. */
        if (i && chance_bits() % 2) {
            const struct expected *other = &expected[chance_bits() % i];
            size_t shared = other->prompt_count < e->prompt_count ? other->prompt_count : e->prompt_count;
            memcpy(e->prompt, other->prompt, shared * sizeof *e->prompt);
        }
    }
}

static void compute_alone(struct tiny_model *tiny, struct expected *e)
{
    forge_engine_event event = {.struct_size = sizeof event};
    size_t count = 0;
    tiny_model_add(tiny, e->prompt, e->prompt_count, (uint32_t)e->token_count, 0);
    while (forge_engine_step(tiny->engine, NULL) == JOULE_OK)
        while (forge_engine_next(tiny->engine, &event) == JOULE_OK)
            if (event.token >= 0)
                e->tokens[count++] = event.token;
    assert_int_equal(count, e->token_count);
}

/* The running requests, with their tokens so far; the index is the number of the request. */
struct flight {
    const struct expected *expected[REQUESTS + 1];
    size_t counts[REQUESTS + 1];
    size_t ended, cancelled;
};

static void take_events(struct tiny_model *tiny, struct flight *flight)
{
    forge_engine_event event = {.struct_size = sizeof event};
    while (forge_engine_next(tiny->engine, &event) == JOULE_OK) {
        const struct expected *e = flight->expected[event.request];
        size_t *count = &flight->counts[event.request];
        if (event.end == FORGE_END_NONE) {
            assert_true(*count < e->token_count);
            assert_int_equal(event.token, e->tokens[(*count)++]);
            continue;
        }
        flight->ended++;
        flight->cancelled += event.end == FORGE_END_CANCELLED;
        assert_int_equal(event.answer_tokens, *count);
        if (event.end != FORGE_END_CANCELLED)
            assert_int_equal(*count, e->token_count);
    }
}

/* Cancels a random request in every 100 us, until the test ends. Few of them are active. */
struct canceller {
    forge_engine *engine;
    _Atomic bool has_ended;
};

static void *cancel_requests(void *context)
{
    struct canceller *canceller = context;
    const struct timespec pause = {.tv_nsec = 100 * 1000};
    for (uint64_t random = 1; !canceller->has_ended; nanosleep(&pause, NULL)) {
        random = random * UINT64_C(6364136223846793005) + 1;
        forge_engine_cancel(canceller->engine, 1 + (random >> 33) % REQUESTS);
    }
    return NULL;
}

/* Runs all requests, which arrive in random steps. The cache has room for about three of them, so sequences
 * are preempted often. */
static void run_requests(const struct expected *expected, size_t prompts, forge_speculation speculation,
                         bool has_canceller)
{
    static struct flight flight;
    struct tiny_model tiny;
    struct canceller canceller = {0};
    pthread_t thread;
    const forge_engine_options options = {.struct_size = sizeof options,
                                          .page_size = 4,
                                          .cache_tokens = 200,
                                          .max_length = 80,
                                          .max_batch_size = 8,
                                          .max_batch_tokens = 24,
                                          .speculation = speculation,
                                          .keeps_draft_tokens = true};
    tiny_model_open(&tiny, 7, &options);
    memset(&flight, 0, sizeof flight);
    canceller.engine = tiny.engine;
    if (has_canceller)
        assert_int_equal(pthread_create(&thread, NULL, cancel_requests, &canceller), 0);
    for (size_t added = 0; flight.ended < REQUESTS;) {
        for (uint64_t some = chance_bits() % 4; added < REQUESTS && some > 0; some--) {
            const struct expected *e = &expected[chance_bits() % prompts];
            flight.expected[++added] = e;
            assert_int_equal(tiny_model_add(&tiny, e->prompt, e->prompt_count, (uint32_t)e->token_count, 0),
                             added);
        }
        if (chance_bits() % 8 == 0)
            forge_engine_cancel(tiny.engine, 1 + chance_bits() % added);
        joule_status status = forge_engine_step(tiny.engine, NULL);
        assert_true(status == JOULE_OK || status == JOULE_ABSENT);
        take_events(&tiny, &flight);
    }
    canceller.has_ended = true;
    if (has_canceller)
        assert_int_equal(pthread_join(thread, NULL), 0);
    forge_engine_facts facts = {.struct_size = sizeof facts};
    assert_int_equal(forge_engine_query(tiny.engine, &facts), JOULE_OK);
    assert_int_equal(facts.free_pages, facts.pages);
    assert_int_equal(facts.running + facts.waiting, 0);
    assert_true(facts.preemptions > 0);
    assert_true(facts.prefix_hits > 0);
    assert_true(flight.cancelled > 0);
    assert_true(page_pool_is_consistent(tiny.engine->runner.pool));
    tiny_model_close(&tiny);
}

static void test_random_arrivals_cancellations_and_preemptions_change_no_token(void **state)
{
    (void)state;
    enum { PROMPTS = 50 };
    static struct expected expected[PROMPTS];
    struct tiny_model alone;
    chance_state = CHANCE_SEED;
    make_prompts(expected, PROMPTS);
    tiny_model_open(&alone, 7, NULL);
    for (size_t i = 0; i < PROMPTS; i++)
        compute_alone(&alone, &expected[i]);
    tiny_model_close(&alone);
    run_requests(expected, PROMPTS, FORGE_SPECULATION_NONE, false);
    run_requests(expected, PROMPTS, FORGE_SPECULATION_LOOKUP, false);
    run_requests(expected, PROMPTS, FORGE_SPECULATION_NONE, true);
}

static void test_prompts_of_other_salts_are_not_reused(void **state)
{
    (void)state;
    struct tiny_model tiny;
    int32_t prompt[40] = {0};
    uint64_t id;
    forge_engine_facts facts = {.struct_size = sizeof facts};
    forge_engine_event event = {.struct_size = sizeof event};
    const char *const salts[] = {"a", "a", "b", NULL};
    const uint32_t cached[] = {0, 32, 0, 0};
    tiny_model_open(&tiny, 7, NULL);
    for (size_t i = 0; i < 4; i++) {
        forge_request request = {.struct_size = sizeof request,
                                 .prompt = prompt,
                                 .prompt_count = 40,
                                 .sampling = forge_sampling_default(),
                                 .max_tokens = 1,
                                 .cache_salt = salts[i]};
        assert_int_equal(forge_engine_add(tiny.engine, &request, &id, NULL), JOULE_OK);
        while (forge_engine_step(tiny.engine, NULL) == JOULE_OK)
            while (forge_engine_next(tiny.engine, &event) == JOULE_OK)
                if (event.end != FORGE_END_NONE)
                    assert_int_equal(event.cached_tokens, cached[i]);
    }
    assert_int_equal(forge_engine_query(tiny.engine, &facts), JOULE_OK);
    assert_int_equal(facts.prefix_hits, 32);
    tiny_model_close(&tiny);
}

static void test_requests_that_cannot_fit_are_refused(void **state)
{
    (void)state;
    struct tiny_model tiny;
    const forge_engine_options options = {
        .struct_size = sizeof options, .page_size = 4, .cache_tokens = 40, .max_length = 60};
    int32_t prompt[60] = {0};
    uint64_t id;
    joule_error error = {0};
    tiny_model_open(&tiny, 7, &options);
    forge_request request = {.struct_size = sizeof request,
                             .prompt = prompt,
                             .prompt_count = 37,
                             .sampling = forge_sampling_default()};
    assert_int_equal(forge_engine_add(tiny.engine, &request, &id, &error), JOULE_INVALID);
    request.prompt_count = 60;
    assert_int_equal(forge_engine_add(tiny.engine, &request, &id, &error), JOULE_INVALID);
    request.prompt_count = 0;
    assert_int_equal(forge_engine_add(tiny.engine, &request, &id, &error), JOULE_INVALID);
    request.prompt_count = 3;
    prompt[1] = TINY_VOCABULARY;
    assert_int_equal(forge_engine_add(tiny.engine, &request, &id, &error), JOULE_INVALID);
    assert_non_null(strstr(error.message, "token 1 of the prompt is 64"));
    tiny_model_close(&tiny);
}

static void test_members_and_pointers_that_are_not_valid_are_refused(void **state)
{
    (void)state;
    struct tiny_model tiny;
    forge_engine *engine;
    uint64_t id;
    joule_error error = {0};
    const int32_t prompt[] = {1, 2, 3};
    const forge_energy_source source = {.name = "no functions"};
    const forge_engine_options options[] = {
        {.struct_size = sizeof options[0], .cache_dtype = FORGE_Q4_K}, /* blocks are larger than a head */
        {.struct_size = sizeof options[0], .cache_dtype = (forge_dtype)1000},
        {.struct_size = sizeof options[0], .energy_source = &source},
        {.struct_size = sizeof options[0], .page_size = 1025},
    };
    tiny_model_open(&tiny, 7, NULL);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        assert_int_equal(forge_engine_new(tiny.model, tiny.device, &options[i], &engine, &error),
                         JOULE_INVALID);
    assert_int_equal(forge_engine_new(tiny.model, tiny.device, NULL, NULL, &error), JOULE_INVALID);
    forge_request request = {.struct_size = sizeof request,
                             .prompt = prompt,
                             .prompt_count = 3,
                             .sampling = forge_sampling_default()};
    assert_int_equal(forge_engine_add(tiny.engine, &request, NULL, &error), JOULE_INVALID);
    request.stop_count = 1;
    assert_int_equal(forge_engine_add(tiny.engine, &request, &id, &error), JOULE_INVALID);
    request.stop_tokens = prompt;
    request.stop_count = SIZE_MAX;
    assert_int_equal(forge_engine_add(tiny.engine, &request, &id, &error), JOULE_INVALID);
    assert_int_equal(forge_engine_next(tiny.engine, NULL), JOULE_INVALID);
    assert_int_equal(forge_engine_query(tiny.engine, NULL), JOULE_INVALID);
    assert_int_equal(forge_engine_step(tiny.engine, &error), JOULE_ABSENT);
    tiny_model_close(&tiny);
}

/* The answer must not end before three tokens, but all tokens end it. */
static void test_a_request_that_allows_no_token_ends_alone(void **state)
{
    (void)state;
    struct tiny_model tiny;
    int32_t all[TINY_VOCABULARY];
    const int32_t prompt[] = {1, 2, 3};
    uint64_t id;
    size_t ended = 0;
    forge_engine_event event = {.struct_size = sizeof event};
    tiny_model_open(&tiny, 7, NULL);
    for (int32_t i = 0; i < TINY_VOCABULARY; i++)
        all[i] = i;
    forge_request request = {.struct_size = sizeof request,
                             .prompt = prompt,
                             .prompt_count = 3,
                             .sampling = forge_sampling_default(),
                             .min_tokens = 3,
                             .stop_tokens = all,
                             .stop_count = TINY_VOCABULARY};
    assert_int_equal(forge_engine_add(tiny.engine, &request, &id, NULL), JOULE_OK);
    tiny_model_add(&tiny, prompt, 3, 10, 0);
    while (forge_engine_step(tiny.engine, NULL) == JOULE_OK)
        while (forge_engine_next(tiny.engine, &event) == JOULE_OK)
            if (event.end != FORGE_END_NONE) {
                assert_int_equal(event.end, event.request == id ? FORGE_END_TOKEN : FORGE_END_LENGTH);
                assert_int_equal(event.answer_tokens, event.request == id ? 0 : 10);
                ended++;
            }
    assert_int_equal(ended, 2);
    tiny_model_close(&tiny);
}

static void test_a_request_without_finite_logits_ends_with_a_message(void **state)
{
    (void)state;
    const int32_t prompt[] = {1, 2, 3};
    for (uint64_t seed = TINY_NAN; seed <= TINY_INFINITE; seed++) {
        struct tiny_model tiny;
        forge_engine_event event = {.struct_size = sizeof event};
        tiny_model_open(&tiny, seed, NULL);
        for (int i = 0; i < 2; i++) {
            tiny_model_add(&tiny, prompt, 3, 10, 0);
            assert_int_equal(forge_engine_step(tiny.engine, NULL), JOULE_OK);
            assert_int_equal(forge_engine_next(tiny.engine, &event), JOULE_OK);
            assert_int_equal(event.end, FORGE_END_FAILED);
            assert_non_null(strstr(event.failure, "not finite"));
            assert_int_equal(event.answer_tokens, 0);
            assert_int_equal(forge_engine_next(tiny.engine, &event), JOULE_ABSENT);
            assert_int_equal(forge_engine_step(tiny.engine, NULL), JOULE_ABSENT);
        }
        tiny_model_close(&tiny);
    }
}

/* An answer and its end. */
struct outcome {
    int32_t tokens[MAX_ANSWER];
    size_t count;
    forge_end end;
};

static void add_events(struct tiny_model *tiny, struct outcome *outcomes)
{
    forge_engine_event event = {.struct_size = sizeof event};
    while (forge_engine_next(tiny->engine, &event) == JOULE_OK) {
        struct outcome *outcome = &outcomes[event.request];
        if (event.end == FORGE_END_NONE)
            outcome->tokens[outcome->count++] = event.token;
        else
            outcome->end = event.end;
    }
}

/* The logits after token 0 are NaN. One of four prompts contains this token, and answers may contain it. The
 * pages of requests that fail are used again by the others. */
static void test_a_request_that_fails_changes_no_token_of_others(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    static struct expected prompts[COUNT];
    static struct outcome alone[COUNT + 1], together[COUNT + 1];
    const forge_engine_options options = {.struct_size = sizeof options,
                                          .page_size = 4,
                                          .cache_tokens = 300,
                                          .max_length = 80,
                                          .max_batch_tokens = 64,
                                          .speculation = FORGE_SPECULATION_LOOKUP,
                                          .keeps_draft_tokens = true};
    struct tiny_model tiny;
    size_t ends[FORGE_END_FAILED + 1] = {0};
    chance_state = CHANCE_SEED;
    make_prompts(prompts, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < prompts[i].prompt_count; k++)
            prompts[i].prompt[k] += prompts[i].prompt[k] == 0;
    for (size_t i = 0; i < COUNT; i += 4)
        prompts[i].prompt[chance_bits() % prompts[i].prompt_count] = 0;
    tiny_model_open(&tiny, TINY_NAN_TOKEN, NULL);
    for (size_t i = 0; i < COUNT; i++) {
        tiny_model_add(&tiny, prompts[i].prompt, prompts[i].prompt_count, (uint32_t)prompts[i].token_count,
                       0);
        while (forge_engine_step(tiny.engine, NULL) == JOULE_OK)
            add_events(&tiny, alone);
        ends[alone[i + 1].end]++;
        assert_true(i % 4 > 0 || alone[i + 1].end == FORGE_END_FAILED);
    }
    assert_true(ends[FORGE_END_FAILED] >= COUNT / 4 && ends[FORGE_END_LENGTH] > COUNT / 2);
    tiny_model_close(&tiny);
    tiny_model_open(&tiny, TINY_NAN_TOKEN, &options);
    for (size_t i = 0; i < COUNT; i++)
        tiny_model_add(&tiny, prompts[i].prompt, prompts[i].prompt_count, (uint32_t)prompts[i].token_count,
                       0);
    while (forge_engine_step(tiny.engine, NULL) == JOULE_OK)
        add_events(&tiny, together);
    assert_memory_equal(alone, together, sizeof alone);
    forge_engine_facts facts = {.struct_size = sizeof facts};
    assert_int_equal(forge_engine_query(tiny.engine, &facts), JOULE_OK);
    assert_int_equal(facts.free_pages, facts.pages);
    tiny_model_close(&tiny);
}

/* The caller always leaves five events. */
static void test_events_that_are_left_need_little_memory_and_keep_their_order(void **state)
{
    (void)state;
    struct tiny_model tiny;
    const int32_t prompt[] = {1, 2, 3};
    int32_t all[200], some[200];
    size_t all_count = 0, some_count = 0;
    forge_engine_event event = {.struct_size = sizeof event};
    tiny_model_open(&tiny, 7, NULL);
    tiny_model_add(&tiny, prompt, 3, 200, 0);
    while (forge_engine_step(tiny.engine, NULL) == JOULE_OK)
        while (forge_engine_next(tiny.engine, &event) == JOULE_OK)
            if (event.token >= 0)
                all[all_count++] = event.token;
    tiny_model_add(&tiny, prompt, 3, 200, 0);
    for (size_t step = 0; step < 210; step++) {
        joule_status status = forge_engine_step(tiny.engine, NULL);
        assert_true(status == JOULE_OK || status == JOULE_ABSENT);
        if (step >= 5 && forge_engine_next(tiny.engine, &event) == JOULE_OK && event.token >= 0)
            some[some_count++] = event.token;
    }
    while (forge_engine_next(tiny.engine, &event) == JOULE_OK)
        if (event.token >= 0)
            some[some_count++] = event.token;
    assert_int_equal(event.end, FORGE_END_LENGTH);
    assert_true(tiny.engine->event_capacity < 50);
    assert_int_equal(all_count, 200);
    assert_int_equal(some_count, 200);
    assert_memory_equal(all, some, sizeof all);
    tiny_model_close(&tiny);
}

/* A request that fills the cache by itself ends one page before the end of the cache. If it were longer, it
 * could not be admitted again after a preemption. */
static void test_an_answer_ends_when_the_cache_is_full(void **state)
{
    (void)state;
    struct tiny_model tiny;
    const forge_engine_options options = {.struct_size = sizeof options, .page_size = 4, .cache_tokens = 40};
    const int32_t prompt[] = {1, 2, 3};
    forge_engine_event event = {.struct_size = sizeof event};
    size_t steps = 0;
    tiny_model_open(&tiny, 7, &options);
    tiny_model_add(&tiny, prompt, 3, 0, 0);
    while (forge_engine_step(tiny.engine, NULL) == JOULE_OK && steps++ < 100)
        while (forge_engine_next(tiny.engine, &event) == JOULE_OK)
            continue;
    assert_true(steps < 100);
    assert_int_equal(event.end, FORGE_END_LENGTH);
    assert_int_equal(event.prompt_tokens + event.answer_tokens, 36);
    tiny_model_close(&tiny);
}

/* The request with the last priority was admitted first. If it needs a page, it is preempted itself, and the
 * step computes those that were admitted after it. */
static void test_a_step_always_computes_something_with_priorities(void **state)
{
    (void)state;
    struct tiny_model tiny;
    const forge_engine_options options = {.struct_size = sizeof options,
                                          .page_size = 4,
                                          .cache_tokens = 64,
                                          .max_length = 60,
                                          .is_by_priority = true,
                                          .disables_prefix_cache = true};
    forge_engine_event event = {.struct_size = sizeof event};
    forge_engine_facts facts = {.struct_size = sizeof facts};
    uint64_t id;
    size_t ended = 0;
    tiny_model_open(&tiny, 7, &options);
    for (int32_t i = 0; i < 8; i++) {
        const int32_t prompt[] = {i, i + 1, i + 2, i + 3};
        forge_request request = {.struct_size = sizeof request,
                                 .prompt = prompt,
                                 .prompt_count = 4,
                                 .sampling = forge_sampling_default(),
                                 .max_tokens = 40,
                                 .priority = 8 - i};
        assert_int_equal(forge_engine_add(tiny.engine, &request, &id, NULL), JOULE_OK);
        assert_int_equal(forge_engine_step(tiny.engine, NULL), JOULE_OK);
    }
    while (forge_engine_step(tiny.engine, NULL) == JOULE_OK)
        while (forge_engine_next(tiny.engine, &event) == JOULE_OK)
            ended += event.end == FORGE_END_LENGTH;
    assert_int_equal(ended, 8);
    assert_int_equal(forge_engine_query(tiny.engine, &facts), JOULE_OK);
    assert_int_equal(facts.free_pages, facts.pages);
    assert_true(facts.preemptions > 0);
    tiny_model_close(&tiny);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_arrivals_cancellations_and_preemptions_change_no_token),
        cmocka_unit_test(test_prompts_of_other_salts_are_not_reused),
        cmocka_unit_test(test_requests_that_cannot_fit_are_refused),
        cmocka_unit_test(test_members_and_pointers_that_are_not_valid_are_refused),
        cmocka_unit_test(test_a_request_that_allows_no_token_ends_alone),
        cmocka_unit_test(test_a_request_without_finite_logits_ends_with_a_message),
        cmocka_unit_test(test_a_request_that_fails_changes_no_token_of_others),
        cmocka_unit_test(test_events_that_are_left_need_little_memory_and_keep_their_order),
        cmocka_unit_test(test_an_answer_ends_when_the_cache_is_full),
        cmocka_unit_test(test_a_step_always_computes_something_with_priorities),
    };
    return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
