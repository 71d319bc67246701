/* Checks the scheduler without a model: hashes of waiting sequences are computed once, and no sequence waits
 * without end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/infer/engine/scheduler.h"
#include "support/chance.h"
#include "support/check.h"

enum { PAGE_SIZE = 4, MAX_LENGTH = 64 };

static joule_error error;

/* A sequence that ends when it has `length` tokens. */
struct item {
    struct sequence sequence; /* must be the first member */
    int32_t tokens[MAX_LENGTH + 1];
    size_t length;
    bool has_ended;
};

struct trial {
    struct page_pool *pool;
    struct scheduler scheduler;
};

static void begin(struct trial *trial, size_t pages, const struct scheduler_options *options)
{
    assert_ok(page_pool_new(pages, PAGE_SIZE, NULL, &trial->pool, &error), &error);
    assert_ok(scheduler_open(&trial->scheduler, options, trial->pool, &error), &error);
}

/* Checks that all pages are free. */
static void end(struct trial *trial)
{
    assert_int_equal(page_pool_free_count(trial->pool), page_pool_count(trial->pool));
    assert_true(page_pool_is_consistent(trial->pool));
    scheduler_close(&trial->scheduler);
    page_pool_free(trial->pool);
}

/* Adds a sequence of `count` equal tokens, which grows to `length` tokens. */
static void add(struct trial *trial, struct item *item, int32_t token, size_t count, size_t length)
{
    struct sequence *s = &item->sequence;
    s->tokens = item->tokens;
    s->token_count = count;
    s->table.pool = trial->pool;
    s->table.shares_prefixes = true;
    s->table.start = page_pool_hash_start(trial->pool, NULL, 0);
    item->length = length;
    for (size_t i = 0; i < count; i++)
        item->tokens[i] = token;
    assert_true(page_table_reserve(&s->table, MAX_LENGTH + MAX_DRAFTS + 1));
    scheduler_add(&trial->scheduler, s);
}

static void remove_item(struct trial *trial, struct item *item)
{
    scheduler_remove(&trial->scheduler, &item->sequence);
    page_table_free(&item->sequence.table);
    item->has_ended = true;
}

/* Plans and completes a step. Appends a token to the sequences that are computed to their end. Returns the
 * number of rows. */
static size_t step(struct trial *trial)
{
    struct scheduler *s = &trial->scheduler;
    if (!scheduler_plan(s))
        return 0;
    scheduler_complete(s);
    for (size_t i = 0; i < s->batch_count; i++) {
        struct item *item = (struct item *)s->batch[i].sequence;
        if (item->sequence.computed < item->sequence.token_count)
            continue;
        if (item->sequence.token_count == item->length)
            remove_item(trial, item);
        else
            item->tokens[item->sequence.token_count++] = 7;
    }
    return s->rows;
}

/* The second sequence waits until the first one ends. Its first token changes while it waits, so only the
 * hashes of the first attempt find its prefix. */
static void test_a_waiting_sequence_is_hashed_once(void **state)
{
    (void)state;
    const struct scheduler_options options = {.max_rows = 64, .max_sequences = 4, .max_length = MAX_LENGTH};
    struct trial trial;
    struct item first = {0}, second = {0};
    begin(&trial, 7, &options);
    add(&trial, &first, 1, 20, 21);
    assert_int_equal(step(&trial), 20);
    add(&trial, &second, 1, 12, 13);
    /* One page is free, and the second sequence needs two that are not cached. */
    assert_int_equal(step(&trial), 1);
    assert_int_equal(trial.scheduler.waiting.count, 1);
    second.tokens[0] = 2;
    assert_int_equal(step(&trial), 4);
    assert_int_equal(second.sequence.found, 8);
    assert_int_equal(step(&trial), 1);
    assert_true(first.has_ended && second.has_ended);
    end(&trial);
}

/* A sequence of the stream runs before all others that are not urgent. A new one arrives as soon as one ends,
 * so three of them always wait. Sequences with other priorities arrive in the first steps, and all sequences
 * preempt each other. The test ends when all sequences of the first FIRST steps have ended. */
static void test_every_sequence_ends_under_an_endless_stream_of_a_higher_priority(void **state)
{
    (void)state;
    enum { STREAM = 6, OTHERS = 40, FIRST = 100, MAX_STEPS = 100 * 1000 };
    const struct scheduler_options options = {
        .max_rows = 16, .max_sequences = 3, .max_length = MAX_LENGTH, .is_by_priority = true};
    static struct item stream[STREAM], others[OTHERS];
    struct trial trial;
    size_t ended = 0, steps = 0, streamed = 0;
    chance_state = CHANCE_SEED;
    begin(&trial, 20, &options);
    memset(others, 0, sizeof others);
    for (size_t i = 0; i < STREAM; i++)
        stream[i].has_ended = true;
    for (; ended < OTHERS && steps < MAX_STEPS; steps++) {
        for (size_t i = 0; i < STREAM; i++)
            if (stream[i].has_ended) {
                stream[i] = (struct item){0};
                add(&trial, &stream[i], 1, 1 + chance_bits() % 40, 60);
                streamed++;
            }
        for (size_t i = steps * OTHERS / FIRST; i < OTHERS && i < (steps + 1) * OTHERS / FIRST; i++) {
            others[i].sequence.priority = i == 0 ? INT32_MAX : 1 + (int32_t)(chance_bits() % 3);
            add(&trial, &others[i], (int32_t)i, 1 + chance_bits() % 50, 60);
        }
        assert_true(step(&trial) > 0);
        ended = 0;
        for (size_t i = 0; i < OTHERS; i++)
            ended += others[i].has_ended;
    }
    assert_int_equal(ended, OTHERS);
    assert_true(streamed > 2 * STREAM);
    assert_true(trial.scheduler.preemptions > 0);
    for (size_t i = 0; i < STREAM; i++)
        remove_item(&trial, &stream[i]);
    end(&trial);
}

/* The sequences end before one of them has waited for MAX_WAIT_STEPS steps. */
static void test_sequences_that_are_not_urgent_run_by_priority(void **state)
{
    (void)state;
    enum { COUNT = 9 };
    const struct scheduler_options options = {
        .max_rows = 16, .max_sequences = 1, .max_length = MAX_LENGTH, .is_by_priority = true};
    struct item items[COUNT] = {0};
    struct trial trial;
    int32_t last = -1;
    begin(&trial, 20, &options);
    for (int32_t i = 0; i < COUNT; i++) {
        items[i].sequence.priority = i * 4 % COUNT;
        add(&trial, &items[i], 1, 3, 8);
    }
    for (size_t ended = 0; ended < COUNT; ended++) {
        struct item *item = (struct item *)trial.scheduler.waiting.first;
        assert_true(item->sequence.priority > last);
        last = item->sequence.priority;
        while (!item->has_ended)
            assert_true(step(&trial) > 0);
    }
    end(&trial);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_waiting_sequence_is_hashed_once),
        cmocka_unit_test(test_every_sequence_ends_under_an_endless_stream_of_a_higher_priority),
        cmocka_unit_test(test_sequences_that_are_not_urgent_run_by_priority),
    };
    return cmocka_run_group_tests_name("scheduler", tests, NULL, NULL);
}
