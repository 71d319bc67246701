/* Checks the paged cache. Random traces with forks, drafts, truncations and removals are compared with plain
 * arrays, in all element types. Other tests check the reuse of prefixes, and pages that must be copied. */
#include "support/chance.h"
#include "unit/forge/kv_trial.h"

/* --- random traces -------------------------------------------------------------------------------------- */

enum { MAX_SEQUENCES = 12, PAGES = 40, OPERATIONS = 10 * 1000, CHECK_PERIOD = 50 };

struct trace {
    forge_kv_cache *cache;
    struct tracked live[MAX_SEQUENCES];
    size_t count;
    uint64_t hits, queries, copies, refusals;
};

static size_t below(size_t count)
{
    return (size_t)(chance_bits() >> 8) % count;
}

/* Fills tokens with zeros and a few ones, so that sequences have prefixes in common. */
static void random_tokens(int32_t *out_tokens, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out_tokens[i] = below(8) == 0;
}

static void remove_one(struct trace *trace, size_t i)
{
    forge_kv_cache_remove_sequence(trace->live[i].sequence);
    trace->live[i] = trace->live[--trace->count];
}

static void add_one(struct trace *trace)
{
    static const char *const salts[] = {"", "a"};
    int32_t tokens[MAX_LENGTH];
    size_t count = below(MAX_LENGTH / 2);
    if (trace->count == MAX_SEQUENCES)
        return;
    random_tokens(tokens, count);
    struct tracked *t = &trace->live[trace->count++];
    size_t cached = begin(trace->cache, t, salts[below(2)], tokens, count);
    trace->queries += count;
    trace->hits += cached;
    if (!extend(t, tokens + cached, count - cached))
        remove_one(trace, trace->count - 1);
    else
        commit(t, below(4) == 0 ? below(count - cached + 1) : count - cached);
}

/* Extends a sequence by drafts, commits some of them, and usually removes the others. */
static void extend_one(struct trace *trace, struct tracked *t)
{
    int32_t tokens[8];
    size_t count = 1 + below(6), pages;
    if (t->length + count > MAX_LENGTH)
        return;
    const uint32_t *table = kv_sequence_pages(t->sequence, &pages);
    uint32_t last = pages > 0 ? table[pages - 1] : NO_PAGE;
    random_tokens(tokens, count);
    if (!extend(t, tokens, count)) {
        trace->refusals++;
        remove_one(trace, below(trace->count));
        return;
    }
    trace->copies += pages > 0 && kv_sequence_pages(t->sequence, &(size_t){0})[pages - 1] != last;
    commit(t, below(t->length - t->committed + 1));
    if (below(4) > 0)
        truncate_to(t, t->committed);
}

static void do_operation(struct trace *trace)
{
    struct tracked *t = trace->count > 0 ? &trace->live[below(trace->count)] : NULL;
    size_t kind = t ? below(16) : 0;
    if (kind < 2)
        add_one(trace);
    else if (kind < 9)
        extend_one(trace, t);
    else if (kind < 11 && trace->count < MAX_SEQUENCES)
        trace->live[trace->count++] = fork_of(t);
    else if (kind < 13)
        truncate_to(t, below(t->length + 1));
    else if (kind < 15)
        remove_one(trace, (size_t)(t - trace->live));
    else if (t->length > t->committed) /* replaces the drafts by others at the same positions */
        write_positions(t, t->committed, t->length - t->committed);
}

/* Checks that each page has one user for each page table that contains it. */
static void check_use(const struct trace *trace)
{
    unsigned users[PAGES] = {0};
    size_t used = 0;
    for (size_t i = 0; i < trace->count; i++) {
        size_t pages;
        const uint32_t *table = kv_sequence_pages(trace->live[i].sequence, &pages);
        assert_int_equal(pages, (trace->live[i].length + PAGE_SIZE - 1) / PAGE_SIZE);
        for (size_t k = 0; k < pages; k++) {
            assert_true(table[k] < PAGES);
            used += users[table[k]]++ == 0;
        }
    }
    for (uint32_t k = 0; k < PAGES; k++)
        assert_int_equal(page_pool_is_shared(trace->cache->pool, k), users[k] > 1);
    assert_int_equal(query(trace->cache).used_pages, used);
    assert_int_equal(query(trace->cache).sequences, trace->count);
    assert_true(page_pool_is_consistent(trace->cache->pool));
}

static void run_trace(forge_dtype dtype)
{
    struct trace trace = {.cache = new_cache(dtype, PAGES)};
    for (int i = 0; i < OPERATIONS; i++) {
        do_operation(&trace);
        if (trace.count > 0)
            check_contents(&trace.live[below(trace.count)]);
        if (i % CHECK_PERIOD != 0)
            continue;
        check_use(&trace);
        for (size_t k = 0; k < trace.count; k++)
            check_contents(&trace.live[k]);
    }
    assert_true(trace.hits > OPERATIONS / 10 && trace.copies > OPERATIONS / 100 && trace.refusals > 10);
    forge_kv_cache_facts facts = query(trace.cache);
    assert_int_equal(facts.hit_tokens, trace.hits);
    assert_int_equal(facts.query_tokens, trace.queries);
    while (trace.count > 0)
        remove_one(&trace, below(trace.count));
    check_use(&trace);
    assert_int_equal(query(trace.cache).used_pages, 0);
    forge_kv_cache_free(trace.cache);
}

static void test_reads_return_what_was_written_in_random_traces(void **state)
{
    (void)state;
    static const forge_dtype dtypes[] = {FORGE_F32, FORGE_F16, FORGE_BF16, FORGE_Q8_0};
    for (size_t i = 0; i < 4; i++)
        run_trace(dtypes[i]);
}

/* --- prefixes ------------------------------------------------------------------------------------------- */

static void test_prefix_is_found_except_for_the_last_token(void **state)
{
    (void)state;
    forge_kv_cache *cache = new_cache(FORGE_F32, 16);
    struct tracked a, b;
    assert_int_equal(begin(cache, &a, "", zeros, 2 * PAGE_SIZE + 1), 0);
    assert_true(extend(&a, zeros, 2 * PAGE_SIZE + 1));
    assert_int_equal(begin(cache, &b, "", zeros, 2 * PAGE_SIZE + 1), 0); /* nothing is committed */
    forge_kv_cache_remove_sequence(b.sequence);
    commit(&a, 2 * PAGE_SIZE + 1);
    static const struct {
        size_t count, cached;
    } cases[] = {{0, 0},
                 {1, 0},
                 {PAGE_SIZE, 0},
                 {PAGE_SIZE + 1, PAGE_SIZE},
                 {2 * PAGE_SIZE, PAGE_SIZE},
                 {2 * PAGE_SIZE + 1, 2 * PAGE_SIZE},
                 {5 * PAGE_SIZE, 2 * PAGE_SIZE}};
    for (int is_removed = 0; is_removed < 2; is_removed++) {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            assert_int_equal(begin(cache, &b, "", zeros, cases[i].count), cases[i].cached);
            check_contents(&b);
            forge_kv_cache_remove_sequence(b.sequence);
        }
        if (!is_removed)
            forge_kv_cache_remove_sequence(a.sequence);
        assert_int_equal(query(cache).used_pages, 0);
        assert_int_equal(query(cache).cached_pages, 2);
    }
    assert_int_equal(begin(cache, &b, "other", zeros, 2 * PAGE_SIZE + 1), 0);
    assert_int_equal(begin(cache, &b, "", (int32_t[]){0, 0, 0, 0, 0, 0, 0, 1, 0}, 9), PAGE_SIZE);
    forge_kv_cache_free(cache); /* frees two sequences, too */
}

static void test_generated_tokens_are_found_by_the_next_turn(void **state)
{
    (void)state;
    forge_kv_cache *cache = new_cache(FORGE_F32, 16);
    struct tracked a, b;
    begin(cache, &a, "", zeros, 3);
    assert_true(extend(&a, zeros, 3));
    commit(&a, 3);
    for (int i = 0; i < 6; i++) {
        assert_true(extend(&a, zeros, 1));
        commit(&a, 1);
    }
    forge_kv_cache_remove_sequence(a.sequence);
    assert_int_equal(begin(cache, &b, "", zeros, 12), 8);
    check_contents(&b);
    forge_kv_cache_free(cache);
}

/* The original has no full page when it is forked. The hashes of the fork's pages must still begin with the
 * salt. */
static void test_pages_of_forks_are_found(void **state)
{
    (void)state;
    forge_kv_cache *cache = new_cache(FORGE_F32, 8);
    struct tracked a, b;
    begin(cache, &a, "tenant", zeros, 2);
    assert_true(extend(&a, zeros, 2));
    commit(&a, 2);
    b = fork_of(&a);
    assert_true(extend(&b, (int32_t[]){1, 1, 1, 1, 1, 1}, 6));
    commit(&b, 6);
    forge_kv_cache_remove_sequence(a.sequence);
    forge_kv_cache_remove_sequence(b.sequence);
    assert_int_equal(begin(cache, &a, "tenant", (int32_t[]){0, 0, 1, 1, 1, 1, 1, 1, 1}, 9), 8);
    check_contents(&a);
    assert_int_equal(begin(cache, &a, "", (int32_t[]){0, 0, 1, 1, 1, 1, 1, 1, 1}, 9), 0);
    forge_kv_cache_free(cache);
}

static void test_prefix_cache_is_optional(void **state)
{
    (void)state;
    forge_kv_cache_options options = options_of(FORGE_F16, 8);
    options.enables_prefix_cache = false;
    forge_kv_cache *cache = NULL;
    assert_ok(forge_kv_cache_new(&options, &cache, &error), &error);
    struct tracked a, b;
    begin(cache, &a, "", zeros, 9);
    assert_true(extend(&a, zeros, 9));
    assert_ok(forge_kv_cache_commit(a.sequence, NULL, 9, &error), &error);
    a.committed = 9;
    b = fork_of(&a);
    assert_true(extend(&b, zeros, 2));
    check_contents(&a);
    check_contents(&b);
    assert_int_equal(begin(cache, &b, "", zeros, 9), 0);
    assert_int_equal(query(cache).query_tokens, 0);
    forge_kv_cache_free(cache);
}

/* --- copies --------------------------------------------------------------------------------------------- */

/* A fork shares the beginning of a page. The original fills and publishes the page, and is removed. The fork
 * must not write to the page, although it is the only user. */
static void test_page_that_was_published_by_another_sequence_is_not_overwritten(void **state)
{
    (void)state;
    forge_kv_cache *cache = new_cache(FORGE_F32, 4);
    struct tracked a, b, c;
    begin(cache, &a, "", zeros, PAGE_SIZE);
    assert_true(extend(&a, zeros, PAGE_SIZE));
    commit(&a, 2);
    b = fork_of(&a);
    commit(&a, 2);
    forge_kv_cache_remove_sequence(a.sequence);
    assert_true(extend(&b, (int32_t[]){1, 1}, 2));
    check_contents(&b);
    assert_int_equal(begin(cache, &c, "", zeros, PAGE_SIZE + 1), PAGE_SIZE);
    check_contents(&c);
    forge_kv_cache_free(cache);
}

static void test_truncated_page_is_rewritten_even_if_no_page_is_free(void **state)
{
    (void)state;
    forge_kv_cache *cache = new_cache(FORGE_F32, 1);
    struct tracked a;
    begin(cache, &a, "", zeros, PAGE_SIZE);
    assert_true(extend(&a, zeros, PAGE_SIZE));
    commit(&a, PAGE_SIZE);
    truncate_to(&a, 1);
    assert_true(extend(&a, (int32_t[]){1, 1, 1}, 3));
    check_contents(&a);
    assert_false(extend(&a, zeros, 1));
    forge_kv_cache_remove_sequence(a.sequence);
    assert_int_equal(begin(cache, &a, "", zeros, PAGE_SIZE + 1), 0); /* the old prefix is forgotten */
    forge_kv_cache_free(cache);
}

static void test_shared_page_is_copied_only_if_it_is_not_full(void **state)
{
    (void)state;
    forge_kv_cache *cache = new_cache(FORGE_F32, 4);
    struct tracked a, b;
    begin(cache, &a, "", zeros, 6);
    assert_true(extend(&a, zeros, 6));
    commit(&a, 6);
    b = fork_of(&a);
    assert_int_equal(query(cache).used_pages, 2);
    assert_true(extend(&b, (int32_t[]){1}, 1));
    assert_int_equal(query(cache).used_pages, 3);
    assert_true(extend(&a, zeros, 2));
    assert_int_equal(query(cache).used_pages, 3);
    check_contents(&a);
    check_contents(&b);
    forge_kv_cache_remove_sequence(b.sequence);
    commit(&a, 2);
    b = fork_of(&a);
    assert_true(extend(&b, zeros, 4)); /* the last page is full, so nothing is copied */
    assert_int_equal(query(cache).used_pages, 3);
    truncate_to(&b, 7);
    truncate_to(&a, 7);
    assert_true(extend(&a, zeros, 1)); /* the last page is shared and not full, so it is copied */
    assert_false(extend(&b, zeros, 6));
    check_contents(&a);
    check_contents(&b);
    forge_kv_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_return_what_was_written_in_random_traces),
        cmocka_unit_test(test_prefix_is_found_except_for_the_last_token),
        cmocka_unit_test(test_generated_tokens_are_found_by_the_next_turn),
        cmocka_unit_test(test_pages_of_forks_are_found),
        cmocka_unit_test(test_prefix_cache_is_optional),
        cmocka_unit_test(test_page_that_was_published_by_another_sequence_is_not_overwritten),
        cmocka_unit_test(test_truncated_page_is_rewritten_even_if_no_page_is_free),
        cmocka_unit_test(test_shared_page_is_copied_only_if_it_is_not_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
