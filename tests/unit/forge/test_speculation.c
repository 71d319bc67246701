/* Checks speculative decoding: greedy answers have the same tokens with and without drafts, and the number of
 * drafts follows from their acceptance. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/infer/engine/engine.h"
#include "support/chance.h"
#include "support/tiny_model.h"

enum { REQUESTS = 60, ANSWER = 200 };

/* The answers of the requests 1 to REQUESTS. */
struct answers {
    int32_t tokens[REQUESTS + 1][ANSWER];
    size_t counts[REQUESTS + 1];
};

static void run(struct tiny_model *tiny, struct answers *out)
{
    forge_engine_event event = {.struct_size = sizeof event};
    memset(out, 0, sizeof *out);
    chance_state = CHANCE_SEED;
    for (int i = 0; i < REQUESTS; i++) {
        int32_t prompt[40];
        uint64_t id;
        forge_request request = {.struct_size = sizeof request,
                                 .prompt = prompt,
                                 .prompt_count = 1 + chance_bits() % 40,
                                 .sampling = forge_sampling_default(),
                                 .max_tokens = ANSWER};
        for (int k = 0; k < 40; k++)
            prompt[k] = (int32_t)(chance_bits() % TINY_VOCABULARY);
        request.sampling.temperature = 0;
        request.sampling.repetition_penalty = i % 3 == 0 ? 1.3 : 1;
        assert_int_equal(forge_engine_add(tiny->engine, &request, &id, NULL), JOULE_OK);
    }
    while (forge_engine_step(tiny->engine, NULL) == JOULE_OK)
        while (forge_engine_next(tiny->engine, &event) == JOULE_OK)
            if (event.token >= 0)
                out->tokens[event.request][out->counts[event.request]++] = event.token;
}

static forge_engine_facts facts_of(const struct tiny_model *tiny)
{
    forge_engine_facts facts = {.struct_size = sizeof facts};
    assert_int_equal(forge_engine_query(tiny->engine, &facts), JOULE_OK);
    assert_int_equal(facts.free_pages, facts.pages);
    return facts;
}

static void assert_same(const struct answers *a, const struct answers *b)
{
    for (int i = 1; i <= REQUESTS; i++) {
        assert_int_equal(a->counts[i], ANSWER);
        assert_memory_equal(a->tokens[i], b->tokens[i], sizeof a->tokens[i]);
    }
}

/* The expected answers are computed without other requests in a step. */
static void test_greedy_tokens_are_the_same_with_drafts_other_requests_chunks_and_preemptions(void **state)
{
    (void)state;
    static struct answers plain, drafted;
    struct tiny_model tiny, equal, other;
    const forge_engine_options alone = {.struct_size = sizeof alone, .max_batch_size = 1};
    tiny_model_open(&tiny, 7, &alone);
    run(&tiny, &plain);
    tiny_model_close(&tiny);
    tiny_model_open(&equal, 7, NULL);
    tiny_model_open(&other, 8, NULL);
    const forge_engine_options options[] = {
        {.struct_size = sizeof options[0],
         .keeps_draft_tokens = true,
         .speculation = FORGE_SPECULATION_LOOKUP,
         .draft_tokens = 8},
        {.struct_size = sizeof options[0],
         .keeps_draft_tokens = true,
         .speculation = FORGE_SPECULATION_MODEL,
         .draft_model = equal.model},
        {.struct_size = sizeof options[0],
         .keeps_draft_tokens = true,
         .speculation = FORGE_SPECULATION_MODEL,
         .draft_model = other.model},
        /* few pages and rows, so that sequences are preempted */
        {.struct_size = sizeof options[0],
         .keeps_draft_tokens = true,
         .speculation = FORGE_SPECULATION_MODEL,
         .draft_model = equal.model,
         .page_size = 4,
         .cache_tokens = 400,
         .max_batch_size = 9,
         .max_batch_tokens = 20},
        {.struct_size = sizeof options[0],
         .keeps_draft_tokens = true,
         .speculation = FORGE_SPECULATION_LOOKUP,
         .page_size = 1,
         .cache_tokens = 500,
         .chunk_tokens = 3,
         .max_batch_size = 12},
        {.struct_size = sizeof options[0],
         .page_size = 5,
         .cache_tokens = 500,
         .chunk_tokens = 7,
         .max_batch_size = 5,
         .max_batch_tokens = 11},
    };
    enum { PREEMPTING = 3 }; /* index of the first options with few pages */
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        tiny_model_open(&tiny, 7, &options[i]);
        run(&tiny, &drafted);
        assert_same(&plain, &drafted);
        forge_engine_facts facts = facts_of(&tiny);
        assert_int_equal(facts.draft_tokens > 0, options[i].speculation != FORGE_SPECULATION_NONE);
        assert_true(i < PREEMPTING || facts.preemptions > 0);
        /* Also with penalties, which a third of the requests have and which apply to drafts. */
        if (options[i].speculation == FORGE_SPECULATION_MODEL && options[i].draft_model == equal.model)
            assert_int_equal(facts.accepted_tokens, facts.draft_tokens);
        tiny_model_close(&tiny);
    }
    tiny_model_close(&equal);
    tiny_model_close(&other);
}

/* Counts the third tokens of 8,000 answers to one prompt, at temperature 1. The first token comes from the
 * step of the prompt. So the third token may be a draft, a token after an accepted draft, or a token after a
 * rejected draft. */
static void count_third_tokens(struct tiny_model *tiny, double counts[TINY_VOCABULARY])
{
    enum { ANSWERS = 8000 };
    static unsigned made[ANSWERS + 1];
    const int32_t prompt[] = {1, 2, 3, 1, 2};
    forge_engine_event event = {.struct_size = sizeof event};
    memset(made, 0, sizeof made);
    for (uint64_t seed = 0; seed < ANSWERS; seed++) {
        uint64_t id;
        forge_request request = {.struct_size = sizeof request,
                                 .prompt = prompt,
                                 .prompt_count = 5,
                                 .sampling = forge_sampling_default(),
                                 .max_tokens = 5};
        request.sampling.seed = seed;
        assert_int_equal(forge_engine_add(tiny->engine, &request, &id, NULL), JOULE_OK);
    }
    while (forge_engine_step(tiny->engine, NULL) == JOULE_OK)
        while (forge_engine_next(tiny->engine, &event) == JOULE_OK)
            if (event.token >= 0 && ++made[event.request] == 3)
                counts[event.token] += 1. / ANSWERS;
}

/* Two samples of 8,000 tokens from one distribution over at most 64 tokens differ by less than about 0.06 in
 * total variation: sqrt(64 / (pi 8000)) = 0.05. */
static void test_frequencies_of_tokens_are_the_same_with_drafts(void **state)
{
    (void)state;
    struct tiny_model tiny, other;
    double plain[TINY_VOCABULARY] = {0}, wrong[TINY_VOCABULARY] = {0}, distance = 0, far = 0;
    tiny_model_open(&tiny, 7, NULL);
    count_third_tokens(&tiny, plain);
    tiny_model_close(&tiny);
    tiny_model_open(&other, 8, NULL);
    count_third_tokens(&other, wrong);
    for (int kind = FORGE_SPECULATION_LOOKUP; kind <= FORGE_SPECULATION_MODEL; kind++) {
        double drafted[TINY_VOCABULARY] = {0};
        const forge_engine_options options = {.struct_size = sizeof options,
                                              .keeps_draft_tokens = true,
                                              .speculation = (forge_speculation)kind,
                                              .draft_model = other.model};
        tiny_model_open(&tiny, 7, &options);
        count_third_tokens(&tiny, drafted);
        distance = far = 0;
        for (int i = 0; i < TINY_VOCABULARY; i++) {
            distance += fabs(plain[i] - drafted[i]) / 2;
            far += fabs(plain[i] - wrong[i]) / 2;
        }
        assert_true(distance < 0.07);
        assert_true(far > 0.2); /* the test would detect the frequencies of the draft model */
        assert_true(facts_of(&tiny).draft_tokens > 100);
        tiny_model_close(&tiny);
    }
    tiny_model_close(&other);
}

/* Checks that running requests use all pages that are not free, in the caches of both models. */
static void assert_pages(const forge_engine *e)
{
    enum { PAGES = 10 };
    const struct page_pool *pool = e->runner.pool, *draft_pool = e->speculation.draft.pool;
    bool is_used[PAGES] = {0};
    size_t used = 0, drafts = 0;
    for (const struct answer *answer = e->answers; answer; answer = answer->next) {
        const struct page_table *table = &answer->sequence.table;
        assert_true(answer->sequence.state == SEQUENCE_RUNNING ||
                    table->page_count + answer->drafts.table.page_count == 0);
        for (size_t i = 0; i < table->page_count; i++) {
            used += !is_used[table->pages[i]];
            is_used[table->pages[i]] = true;
        }
        drafts += answer->drafts.table.page_count;
    }
    assert_int_equal(page_pool_count(pool), PAGES);
    assert_int_equal(page_pool_free_count(pool), PAGES - used);
    assert_true(page_pool_is_consistent(pool));
    if (!draft_pool)
        return;
    assert_int_equal(page_pool_free_count(draft_pool), page_pool_count(draft_pool) - drafts);
    assert_true(page_pool_is_consistent(draft_pool));
}

/* Runs eight greedy requests, each of which runs before those that came earlier. Checks the pages after each
 * step. */
static void run_by_priority(struct tiny_model *tiny, struct answers *out)
{
    forge_engine_event event = {.struct_size = sizeof event};
    memset(out, 0, sizeof *out);
    for (int32_t i = 0, steps = 0; i < 8 || forge_engine_step(tiny->engine, NULL) == JOULE_OK; steps++) {
        const int32_t prompt[] = {i, i + 1, i + 2, i + 3};
        uint64_t id;
        forge_request request = {.struct_size = sizeof request,
                                 .prompt = prompt,
                                 .prompt_count = 4,
                                 .sampling = forge_sampling_default(),
                                 .max_tokens = 27,
                                 .priority = -i};
        request.sampling.temperature = 0;
        if (i < 8 && steps % 4 == 0) {
            assert_int_equal(forge_engine_add(tiny->engine, &request, &id, NULL), JOULE_OK);
            i++;
        }
        if (i < 8)
            assert_int_equal(forge_engine_step(tiny->engine, NULL), JOULE_OK);
        assert_pages(tiny->engine);
        while (forge_engine_next(tiny->engine, &event) == JOULE_OK)
            if (event.token >= 0)
                out->tokens[event.request][out->counts[event.request]++] = event.token;
    }
    for (int i = 1; i <= 8; i++)
        assert_int_equal(out->counts[i], 27);
}

static void test_preempted_requests_have_no_pages_in_either_cache(void **state)
{
    (void)state;
    static struct answers plain, drafted;
    struct tiny_model tiny, equal;
    forge_engine_options options = {.struct_size = sizeof options,
                                    .page_size = 4,
                                    .cache_tokens = 40,
                                    .max_length = 32,
                                    .max_batch_size = 2,
                                    .is_by_priority = true};
    tiny_model_open(&tiny, 7, &options);
    run_by_priority(&tiny, &plain);
    tiny_model_close(&tiny);
    tiny_model_open(&equal, 7, NULL);
    options.speculation = FORGE_SPECULATION_MODEL;
    options.draft_model = equal.model;
    options.keeps_draft_tokens = true;
    options.draft_tokens = 2;
    tiny_model_open(&tiny, 7, &options);
    run_by_priority(&tiny, &drafted);
    assert_memory_equal(&plain, &drafted, sizeof plain);
    assert_true(facts_of(&tiny).accepted_tokens > 0 && facts_of(&tiny).preemptions > 0);
    tiny_model_close(&tiny);
    tiny_model_close(&equal);
}

static void test_a_draft_model_without_finite_logits_proposes_nothing(void **state)
{
    (void)state;
    static struct answers plain, drafted;
    struct tiny_model tiny, nan, seven;
    const forge_engine_options options = {.struct_size = sizeof options,
                                          .page_size = 48, /* does not divide the context */
                                          .speculation = FORGE_SPECULATION_MODEL};
    forge_engine_options with_nan = options, with_seven = options;
    tiny_model_open(&tiny, 7, NULL);
    run(&tiny, &plain);
    tiny_model_close(&tiny);
    tiny_model_open(&nan, TINY_NAN, NULL);
    tiny_model_open(&seven, 7, NULL);
    with_nan.draft_model = nan.model;
    with_seven.draft_model = seven.model;
    tiny_model_open(&tiny, 7, &with_nan);
    run(&tiny, &drafted);
    assert_same(&plain, &drafted);
    assert_int_equal(facts_of(&tiny).draft_tokens, 0);
    tiny_model_close(&tiny);
    tiny_model_open(&tiny, 7, &with_seven);
    run(&tiny, &drafted);
    assert_same(&plain, &drafted);
    tiny_model_close(&tiny);
    tiny_model_close(&nan);
    tiny_model_close(&seven);
}

static void test_lookups_of_any_length_end(void **state)
{
    (void)state;
    static struct answers plain, drafted;
    struct tiny_model tiny;
    const forge_engine_options options = {.struct_size = sizeof options,
                                          .speculation = FORGE_SPECULATION_LOOKUP,
                                          .keeps_draft_tokens = true,
                                          .min_match = 1,
                                          .max_match = UINT32_MAX};
    tiny_model_open(&tiny, 7, NULL);
    run(&tiny, &plain);
    tiny_model_close(&tiny);
    tiny_model_open(&tiny, 7, &options);
    run(&tiny, &drafted);
    assert_same(&plain, &drafted);
    tiny_model_close(&tiny);
}

/* There are as many rows as requests, so nothing is left for drafts. */
static void test_drafts_take_no_rows_from_other_running_requests(void **state)
{
    (void)state;
    struct tiny_model tiny, equal;
    const int32_t prompt[] = {1};
    size_t counts[9] = {0};
    forge_engine_event event = {.struct_size = sizeof event};
    forge_engine_options options = {.struct_size = sizeof options,
                                    .max_batch_size = 8,
                                    .max_batch_tokens = 8,
                                    .speculation = FORGE_SPECULATION_MODEL,
                                    .keeps_draft_tokens = true};
    tiny_model_open(&equal, 7, NULL);
    options.draft_model = equal.model;
    tiny_model_open(&tiny, 7, &options);
    for (int i = 0; i < 8; i++)
        tiny_model_add(&tiny, prompt, 1, 20, 0);
    for (int step = 1; step <= 20; step++) {
        assert_int_equal(forge_engine_step(tiny.engine, NULL), JOULE_OK);
        while (forge_engine_next(tiny.engine, &event) == JOULE_OK)
            counts[event.request] += event.token >= 0;
        for (int i = 1; i <= 8; i++)
            assert_int_equal(counts[i], step);
    }
    tiny_model_close(&tiny);
    tiny_model_close(&equal);
}

static void test_the_fit_of_step_times_finds_the_line(void **state)
{
    (void)state;
    struct step_times times = {0};
    assert_true(isnan(step_times_expect(&times, 1)));
    step_times_add(&times, 4, 0.014);
    assert_true(isnan(step_times_expect(&times, 1)));
    for (int i = 0; i < 50; i++)
        step_times_add(&times, 1 + i % 5, 0.010 + 0.001 * (1 + i % 5));
    assert_true(fabs(step_times_expect(&times, 8) - 0.018) < 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greedy_tokens_are_the_same_with_drafts_other_requests_chunks_and_preemptions),
        cmocka_unit_test(test_frequencies_of_tokens_are_the_same_with_drafts),
        cmocka_unit_test(test_preempted_requests_have_no_pages_in_either_cache),
        cmocka_unit_test(test_a_draft_model_without_finite_logits_proposes_nothing),
        cmocka_unit_test(test_lookups_of_any_length_end),
        cmocka_unit_test(test_drafts_take_no_rows_from_other_running_requests),
        cmocka_unit_test(test_the_fit_of_step_times_finds_the_line),
    };
    return cmocka_run_group_tests_name("speculation", tests, NULL, NULL);
}
