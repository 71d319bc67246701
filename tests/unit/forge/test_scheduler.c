/* Checks the scheduler without a model: hashes of waiting sequences are computed once. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_waiting_sequence_is_hashed_once),
    };
    return cmocka_run_group_tests_name("scheduler", tests, NULL, NULL);
}
