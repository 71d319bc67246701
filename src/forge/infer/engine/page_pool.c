/* infer/engine/page_pool.c - see page_pool.h.
 *
 * All memory is allocated when the pool is created. Free pages form a doubly linked list; the page that was
 * released first is its head. Findable pages are in a hash table whose chains link the pages themselves.
 */
#include "forge/infer/engine/page_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "base/error.h"
#include "base/siphash.h"

enum { KEY_SIZE = 16 };

/* The first word of a hashed message. It differs for salts and for pages, so that their hashes differ,
 * too. */
enum { MESSAGE_SALT = 1, MESSAGE_PAGE = 2 };

struct page {
    uint32_t users;
    uint32_t previous, next; /* neighbours in the list of free pages, if users is 0; NO_PAGE: none */
    uint32_t chain;          /* next page in the chain of the hash table, if is_findable */
    bool is_findable;
    struct prefix_hash hash; /* if is_findable */
};

struct page_pool {
    size_t page_count, page_size;
    size_t free_count;
    size_t cached_count;  /* free pages that are findable */
    uint32_t first, last; /* ends of the list of free pages; NO_PAGE: none */
    uint64_t chain_mask;  /* number of chains - 1; the number is a power of two */
    uint32_t *chains;     /* [chain_mask + 1]: the first page of each chain, or NO_PAGE */
    struct page *pages;   /* [page_count] */
    uint8_t key[KEY_SIZE];
};

/* --- list of free pages --------------------------------------------------------------------------------- */

/* Appends a page without users to the list of free pages. */
static void add_free(struct page_pool *pool, uint32_t page)
{
    pool->pages[page].previous = pool->last;
    pool->pages[page].next = NO_PAGE;
    if (pool->last == NO_PAGE)
        pool->first = page;
    else
        pool->pages[pool->last].next = page;
    pool->last = page;
    pool->free_count++;
    pool->cached_count += pool->pages[page].is_findable;
}

static void remove_free(struct page_pool *pool, uint32_t page)
{
    const struct page *p = &pool->pages[page];
    if (p->previous == NO_PAGE)
        pool->first = p->next;
    else
        pool->pages[p->previous].next = p->next;
    if (p->next == NO_PAGE)
        pool->last = p->previous;
    else
        pool->pages[p->next].previous = p->previous;
    pool->free_count--;
    pool->cached_count -= p->is_findable;
}

/* --- table of hashes ------------------------------------------------------------------------------------ */

static bool is_same(struct prefix_hash a, struct prefix_hash b)
{
    return a.words[0] == b.words[0] && a.words[1] == b.words[1];
}

/* Returns the head of the chain to which a hash belongs. */
static uint32_t *chain_of(const struct page_pool *pool, struct prefix_hash hash)
{
    return &pool->chains[hash.words[0] & pool->chain_mask];
}

/* Returns the page with this hash, or NO_PAGE. */
static uint32_t find_page(const struct page_pool *pool, struct prefix_hash hash)
{
    uint32_t page = *chain_of(pool, hash);
    while (page != NO_PAGE && !is_same(pool->pages[page].hash, hash))
        page = pool->pages[page].chain;
    return page;
}

/* Removes a findable page from the table. */
static void remove_from_table(struct page_pool *pool, uint32_t page)
{
    uint32_t *link = chain_of(pool, pool->pages[page].hash);
    while (*link != page)
        link = &pool->pages[*link].chain;
    *link = pool->pages[page].chain;
    pool->pages[page].is_findable = false;
}

/* --- pool ----------------------------------------------------------------------------------------------- */

/* Fills an empty pool. Returns false if out of memory. */
static bool make_pages(struct page_pool *pool)
{
    size_t chain_count = 1;
    while (chain_count < pool->page_count)
        chain_count *= 2;
    pool->chain_mask = chain_count - 1;
    pool->chains = calloc(chain_count, sizeof *pool->chains);
    pool->pages = calloc(pool->page_count, sizeof *pool->pages);
    if (!pool->chains || !pool->pages)
        return false;
    for (size_t i = 0; i < chain_count; i++)
        pool->chains[i] = NO_PAGE;
    for (size_t i = 0; i < pool->page_count; i++)
        add_free(pool, (uint32_t)i);
    return true;
}

joule_status page_pool_new(size_t pages, size_t page_size, const uint8_t *key, struct page_pool **out_pool,
                           joule_error *out_error)
{
    if (pages == 0 || pages >= NO_PAGE)
        return error_set(out_error, JOULE_INVALID,
                         "cannot create a pool of %zu pages: the number must be from 1 to %u", pages,
                         NO_PAGE - 1);
    if (page_size == 0 || page_size > SIZE_MAX / sizeof(int32_t))
        return error_set(out_error, JOULE_INVALID,
                         "cannot create a pool with pages of %zu tokens: the number must be from 1 to %zu",
                         page_size, SIZE_MAX / sizeof(int32_t));
    uint8_t random[KEY_SIZE];
    if (!key && getentropy(random, sizeof random) != 0)
        return error_set(out_error, JOULE_FAILED, "cannot create a pool of pages: no random numbers: %s",
                         strerror(errno));
    struct page_pool *pool = calloc(1, sizeof *pool);
    if (pool) {
        *pool = (struct page_pool){
            .page_count = pages, .page_size = page_size, .first = NO_PAGE, .last = NO_PAGE};
        memcpy(pool->key, key ? key : random, KEY_SIZE);
    }
    if (!pool || !make_pages(pool)) {
        page_pool_free(pool);
        return error_set(out_error, JOULE_NO_MEMORY, "cannot create a pool of %zu pages: out of memory",
                         pages);
    }
    *out_pool = pool;
    return JOULE_OK;
}

void page_pool_free(struct page_pool *pool)
{
    if (!pool)
        return;
    free(pool->chains);
    free(pool->pages);
    free(pool);
}

size_t page_pool_free_count(const struct page_pool *pool)
{
    return pool->free_count;
}

size_t page_pool_cached_count(const struct page_pool *pool)
{
    return pool->cached_count;
}

size_t page_pool_count(const struct page_pool *pool)
{
    return pool->page_count;
}

size_t page_pool_page_size(const struct page_pool *pool)
{
    return pool->page_size;
}

/* --- users ---------------------------------------------------------------------------------------------- */

uint32_t page_pool_take(struct page_pool *pool)
{
    uint32_t page = pool->first;
    if (page == NO_PAGE)
        return NO_PAGE;
    remove_free(pool, page);
    if (pool->pages[page].is_findable)
        remove_from_table(pool, page);
    pool->pages[page].users = 1;
    return page;
}

void page_pool_retain(struct page_pool *pool, uint32_t page)
{
    if (pool->pages[page].users == 0)
        remove_free(pool, page);
    pool->pages[page].users++;
}

void page_pool_release(struct page_pool *pool, uint32_t page)
{
    if (--pool->pages[page].users == 0)
        add_free(pool, page);
}

void page_pool_release_all(struct page_pool *pool, const uint32_t *pages, size_t count)
{
    while (count-- > 0)
        page_pool_release(pool, pages[count]);
}

bool page_pool_is_shared(const struct page_pool *pool, uint32_t page)
{
    return pool->pages[page].users > 1;
}

/* --- prefixes ------------------------------------------------------------------------------------------- */

/* Returns the hash of a message: its kind, the hash of the prefix before it, and its bytes. */
static struct prefix_hash hash_message(const struct page_pool *pool, uint64_t kind, struct prefix_hash before,
                                       const void *bytes, size_t size)
{
    struct siphash state;
    struct prefix_hash hash;
    siphash_begin(&state, pool->key);
    siphash_add(&state, &kind, sizeof kind);
    siphash_add(&state, before.words, sizeof before.words);
    siphash_add(&state, bytes, size);
    siphash_end(&state, hash.words);
    return hash;
}

struct prefix_hash page_pool_hash_start(const struct page_pool *pool, const void *salt, size_t salt_size)
{
    return hash_message(pool, MESSAGE_SALT, (struct prefix_hash){{0}}, salt, salt_size);
}

struct prefix_hash page_pool_hash_next(const struct page_pool *pool, struct prefix_hash before,
                                       const int32_t *tokens)
{
    return hash_message(pool, MESSAGE_PAGE, before, tokens, pool->page_size * sizeof *tokens);
}

void page_pool_publish(struct page_pool *pool, uint32_t page, struct prefix_hash hash)
{
    struct page *p = &pool->pages[page];
    if (find_page(pool, hash) != NO_PAGE)
        return;
    pool->cached_count += p->users == 0 && !p->is_findable;
    if (p->is_findable)
        remove_from_table(pool, page);
    uint32_t *link = chain_of(pool, hash);
    p->hash = hash;
    p->chain = *link;
    p->is_findable = true;
    *link = page;
}

bool page_pool_is_findable(const struct page_pool *pool, uint32_t page)
{
    return pool->pages[page].is_findable;
}

uint32_t page_pool_find(struct page_pool *pool, struct prefix_hash hash)
{
    uint32_t page = find_page(pool, hash);
    if (page != NO_PAGE)
        page_pool_retain(pool, page);
    return page;
}

/* --- invariants ----------------------------------------------------------------------------------------- */

/* Returns true if the list of free pages contains exactly the pages without users. */
static bool is_list_consistent(const struct page_pool *pool)
{
    size_t count = 0, users = 0, cached = 0;
    uint32_t previous = NO_PAGE;
    for (uint32_t page = pool->first; page != NO_PAGE; page = pool->pages[page].next) {
        if (page >= pool->page_count || count == pool->free_count)
            return false;
        const struct page *p = &pool->pages[page];
        if (p->users != 0 || p->previous != previous)
            return false;
        previous = page;
        count++;
        cached += p->is_findable;
    }
    for (size_t i = 0; i < pool->page_count; i++)
        users += pool->pages[i].users != 0;
    return previous == pool->last && count == pool->free_count && count + users == pool->page_count &&
           cached == pool->cached_count;
}

/* Returns true if the table contains exactly the findable pages, and no hash twice. */
static bool is_table_consistent(const struct page_pool *pool)
{
    size_t linked = 0, findable = 0;
    for (size_t i = 0; i <= pool->chain_mask; i++)
        for (uint32_t page = pool->chains[i]; page != NO_PAGE; page = pool->pages[page].chain) {
            if (page >= pool->page_count || linked == pool->page_count)
                return false;
            const struct page *p = &pool->pages[page];
            if (!p->is_findable || (p->hash.words[0] & pool->chain_mask) != i)
                return false;
            linked++;
        }
    for (size_t i = 0; i < pool->page_count; i++) {
        const struct page *p = &pool->pages[i];
        if (p->is_findable && find_page(pool, p->hash) != i)
            return false;
        findable += p->is_findable;
    }
    return linked == findable;
}

bool page_pool_is_consistent(const struct page_pool *pool)
{
    return is_list_consistent(pool) && is_table_consistent(pool);
}
