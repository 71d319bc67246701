/* Checks the pool of pages. A long random trace is compared with a simple model, which searches arrays. Other
 * tests check the order of reuse, prefixes that are found until their page is reused, and salts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "forge/infer/engine/page_pool.h"
#include "support/allocations.h"
#include "support/chance.h"
#include "support/check.h"

enum { PAGE_SIZE = 16 };

static const uint8_t key[16] = "0123456789abcde";

static struct page_pool *new_pool(size_t pages)
{
    struct page_pool *pool = NULL;
    joule_error error;
    assert_ok(page_pool_new(pages, PAGE_SIZE, key, &pool, &error), &error);
    return pool;
}

/* Returns the hash of a page whose first token is `first`. */
static struct prefix_hash hash_of(const struct page_pool *pool, const char *salt, int32_t first)
{
    int32_t tokens[PAGE_SIZE];
    for (int i = 0; i < PAGE_SIZE; i++)
        tokens[i] = first + i;
    return page_pool_hash_next(pool, page_pool_hash_start(pool, salt, salt ? strlen(salt) : 0), tokens);
}

static bool is_equal(struct prefix_hash a, struct prefix_hash b)
{
    return a.words[0] == b.words[0] && a.words[1] == b.words[1];
}

/* --- random trace --------------------------------------------------------------------------------------- */

enum { PAGES = 61, PREFIXES = 150, OPERATIONS = 1000 * 1000, CHECK_PERIOD = 1000, MAX_SEQUENCE = 8 };

/* The expected state of a pool. */
struct model {
    struct page_pool *pool;
    struct prefix_hash hashes[PREFIXES];
    unsigned users[PAGES];
    uint64_t freed_at[PAGES]; /* time of the last release */
    int prefix_of[PAGES];     /* -1: none */
    uint64_t now;
};

static size_t free_count(const struct model *m)
{
    size_t count = 0;
    for (int i = 0; i < PAGES; i++)
        count += m->users[i] == 0;
    return count;
}

/* Returns the page of a prefix, or NO_PAGE. */
static uint32_t page_of(const struct model *m, int prefix)
{
    for (uint32_t i = 0; i < PAGES; i++)
        if (m->prefix_of[i] == prefix)
            return i;
    return NO_PAGE;
}

/* Returns a random page, and whether it has users. */
static uint32_t random_page(const struct model *m, bool *out_has_users)
{
    uint32_t page = (uint32_t)(chance_bits() % PAGES);
    *out_has_users = m->users[page] > 0;
    return page;
}

static void take(struct model *m)
{
    uint32_t expected = NO_PAGE;
    for (uint32_t i = 0; i < PAGES; i++)
        if (m->users[i] == 0 && (expected == NO_PAGE || m->freed_at[i] < m->freed_at[expected]))
            expected = i;
    assert_int_equal(page_pool_take(m->pool), expected);
    if (expected == NO_PAGE)
        return;
    m->users[expected] = 1;
    m->prefix_of[expected] = -1;
}

static void model_release(struct model *m, uint32_t page)
{
    if (--m->users[page] == 0)
        m->freed_at[page] = ++m->now;
}

static void release_some(struct model *m)
{
    uint32_t pages[MAX_SEQUENCE];
    size_t count = 0;
    for (int i = 0; i < MAX_SEQUENCE; i++) {
        bool has_users;
        uint32_t page = random_page(m, &has_users);
        bool is_new = has_users;
        for (size_t j = 0; j < count; j++)
            is_new = is_new && pages[j] != page;
        if (is_new)
            pages[count++] = page;
    }
    page_pool_release_all(m->pool, pages, count);
    for (size_t i = count; i-- > 0;)
        model_release(m, pages[i]);
}

static void publish(struct model *m)
{
    bool has_users;
    uint32_t page = random_page(m, &has_users);
    int prefix = (int)(chance_bits() % PREFIXES);
    if (!has_users)
        return;
    page_pool_publish(m->pool, page, m->hashes[prefix]);
    if (page_of(m, prefix) == NO_PAGE)
        m->prefix_of[page] = prefix;
}

static void find(struct model *m)
{
    int prefix = (int)(chance_bits() % PREFIXES);
    uint32_t expected = page_of(m, prefix);
    assert_int_equal(page_pool_find(m->pool, m->hashes[prefix]), expected);
    if (expected != NO_PAGE)
        m->users[expected]++;
}

static void do_operation(struct model *m)
{
    bool has_users;
    uint32_t page = random_page(m, &has_users);
    switch (chance_bits() % 12) {
    case 0:
    case 1:
    case 2:
    case 3:
        take(m);
        break;
    case 4:
        if (has_users) {
            page_pool_retain(m->pool, page);
            m->users[page]++;
        }
        break;
    case 5:
    case 6:
        if (has_users) {
            page_pool_release(m->pool, page);
            model_release(m, page);
        }
        break;
    case 7:
        release_some(m);
        break;
    case 8:
    case 9:
        publish(m);
        break;
    default:
        find(m);
    }
    assert_int_equal(page_pool_free_count(m->pool), free_count(m));
    assert_int_equal(page_pool_is_shared(m->pool, page), m->users[page] > 1);
}

static void test_random_trace_equals_a_model_that_searches_arrays(void **state)
{
    (void)state;
    struct model m = {.pool = new_pool(PAGES)};
    for (int i = 0; i < PREFIXES; i++)
        m.hashes[i] = hash_of(m.pool, NULL, i);
    for (uint64_t i = 0; i < PAGES; i++) {
        m.freed_at[i] = m.now++;
        m.prefix_of[i] = -1;
    }
    unsigned before = allocations;
    for (int i = 0; i < OPERATIONS; i++) {
        do_operation(&m);
        if (i % CHECK_PERIOD == 0)
            assert_true(page_pool_is_consistent(m.pool));
    }
    assert_int_equal(allocations, before);
    size_t cached = 0;
    for (uint32_t i = 0; i < PAGES; i++) {
        for (; m.users[i] > 0; m.users[i]--)
            page_pool_release(m.pool, i);
        cached += m.prefix_of[i] >= 0;
    }
    assert_true(page_pool_is_consistent(m.pool));
    assert_int_equal(page_pool_free_count(m.pool), PAGES);
    assert_int_equal(page_pool_cached_count(m.pool), cached);
    page_pool_free(m.pool);
}

/* --- reuse ---------------------------------------------------------------------------------------------- */

static void test_page_released_first_is_reused_first(void **state)
{
    (void)state;
    struct page_pool *pool = new_pool(5);
    uint32_t pages[5];
    for (uint32_t i = 0; i < 5; i++) {
        pages[i] = page_pool_take(pool);
        assert_int_equal(pages[i], i);
    }
    assert_int_equal(page_pool_take(pool), NO_PAGE);
    page_pool_release(pool, 3);
    page_pool_release_all(pool, pages, 3);
    static const uint32_t expected[] = {3, 2, 1, 0};
    for (int i = 0; i < 4; i++)
        assert_int_equal(page_pool_take(pool), expected[i]);
    assert_int_equal(page_pool_take(pool), NO_PAGE);
    assert_int_equal(page_pool_count(pool), 5);
    assert_int_equal(page_pool_page_size(pool), PAGE_SIZE);
    page_pool_free(pool);
}

static void test_published_pages_are_found_until_reused(void **state)
{
    (void)state;
    struct page_pool *pool = new_pool(3);
    struct prefix_hash a = hash_of(pool, NULL, 1), b = hash_of(pool, NULL, 2);
    uint32_t page = page_pool_take(pool), other = page_pool_take(pool);
    assert_int_equal(page_pool_find(pool, a), NO_PAGE);
    page_pool_publish(pool, page, a);
    page_pool_publish(pool, other, a); /* no effect, because another page has this hash */
    page_pool_publish(pool, other, b);
    assert_int_equal(page_pool_find(pool, a), page);
    assert_true(page_pool_is_shared(pool, page));
    page_pool_release_all(pool, (uint32_t[]){other, page, page}, 3);
    assert_int_equal(page_pool_free_count(pool), 3);
    assert_int_equal(page_pool_cached_count(pool), 2);
    assert_int_equal(page_pool_find(pool, a), page); /* removes the page from the middle of the free list */
    assert_int_equal(page_pool_cached_count(pool), 1);
    assert_int_equal(page_pool_take(pool), 2);
    assert_int_equal(page_pool_find(pool, b), other);
    page_pool_release(pool, other);
    assert_int_equal(page_pool_take(pool), other);
    assert_int_equal(page_pool_find(pool, b), NO_PAGE);
    assert_true(page_pool_is_consistent(pool));
    page_pool_free(pool);
}

static void test_hash_depends_on_salt_key_tokens_and_earlier_pages(void **state)
{
    (void)state;
    struct page_pool *pool = new_pool(1), *second = NULL;
    int32_t tokens[PAGE_SIZE] = {1, 2, 3};
    struct prefix_hash none = page_pool_hash_start(pool, NULL, 0), a = page_pool_hash_start(pool, "a", 1),
                       b = page_pool_hash_start(pool, "b", 1), nul = page_pool_hash_start(pool, "", 1);
    assert_false(is_equal(none, a) || is_equal(a, b) || is_equal(none, nul));
    assert_true(is_equal(none, page_pool_hash_start(pool, "", 0)));
    struct prefix_hash page = page_pool_hash_next(pool, a, tokens);
    assert_true(is_equal(page, page_pool_hash_next(pool, a, tokens)));
    assert_false(is_equal(page, page_pool_hash_next(pool, b, tokens)));
    assert_false(is_equal(page, page_pool_hash_next(pool, page, tokens)));
    tokens[PAGE_SIZE - 1] = 1;
    assert_false(is_equal(page, page_pool_hash_next(pool, a, tokens)));
    const uint8_t other_key[16] = "0123456789abcdf";
    assert_int_equal(page_pool_new(1, PAGE_SIZE, other_key, &second, NULL), JOULE_OK);
    assert_false(is_equal(a, page_pool_hash_start(second, "a", 1)));
    page_pool_free(second);
    page_pool_free(pool);
}

static void test_salts_separate_equal_prefixes(void **state)
{
    (void)state;
    struct page_pool *pool = new_pool(2);
    uint32_t page = page_pool_take(pool);
    page_pool_publish(pool, page, hash_of(pool, "tenant 1", 7));
    assert_int_equal(page_pool_find(pool, hash_of(pool, "tenant 2", 7)), NO_PAGE);
    assert_int_equal(page_pool_find(pool, hash_of(pool, NULL, 7)), NO_PAGE);
    assert_int_equal(page_pool_find(pool, hash_of(pool, "tenant 1", 7)), page);
    page_pool_free(pool);
}

/* --- errors --------------------------------------------------------------------------------------------- */

static void test_invalid_sizes_and_missing_memory_are_reported(void **state)
{
    (void)state;
    struct page_pool *pool = NULL;
    joule_error error = {0};
    assert_int_equal(page_pool_new(0, 16, key, &pool, &error), JOULE_INVALID);
    assert_contains(error.message, "cannot create a pool of 0 pages");
    assert_int_equal(page_pool_new(NO_PAGE, 16, key, &pool, &error), JOULE_INVALID);
    assert_int_equal(page_pool_new(1, 0, key, &pool, &error), JOULE_INVALID);
    assert_contains(error.message, "pages of 0 tokens");
    assert_int_equal(page_pool_new(1, SIZE_MAX / 4 + 1, key, &pool, &error), JOULE_INVALID);
    for (unsigned i = 1; i <= 3; i++) {
        failing_allocation = allocations + i;
        assert_int_equal(page_pool_new(100, 16, key, &pool, &error), JOULE_NO_MEMORY);
        assert_contains(error.message, "out of memory");
    }
    failing_allocation = 0;
    page_pool_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_trace_equals_a_model_that_searches_arrays),
        cmocka_unit_test(test_page_released_first_is_reused_first),
        cmocka_unit_test(test_published_pages_are_found_until_reused),
        cmocka_unit_test(test_hash_depends_on_salt_key_tokens_and_earlier_pages),
        cmocka_unit_test(test_salts_separate_equal_prefixes),
        cmocka_unit_test(test_invalid_sizes_and_missing_memory_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
