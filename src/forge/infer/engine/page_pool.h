/* infer/engine/page_pool.h - the pages of the cache of keys and values: counts their users, finds pages of
 * equal prefixes, and chooses pages to reuse.
 *
 * A page contains the keys and values of page_size tokens of a sequence, in all layers. The pool stores only
 * page numbers; the elements are in tensors of the cache (infer/engine/kv_cache.h). A user of a page is a
 * sequence whose page table contains the page. A full page whose prefix was published stays findable after
 * its last user released it, until the page is needed. The page that was released first is reused first.
 *
 * Threads: one thread at a time. */
#ifndef FORGE_INFER_PAGE_POOL_H
#define FORGE_INFER_PAGE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <joule/base.h>

#define NO_PAGE UINT32_MAX

struct page_pool;

/* A keyed hash of 128 bits of a prefix of whole pages. */
struct prefix_hash {
    uint64_t words[2];
};

/* Creates a pool of `pages` free pages of page_size tokens. key: 16 random bytes, so that users cannot
 * construct collisions; NULL: the system supplies them. The caller owns the pool (page_pool_free).
 * JOULE_INVALID: a number is 0 or too large. JOULE_FAILED: the system supplies no random bytes.
 * Note: all other functions allocate no memory. All but page_pool_hash_next, page_pool_release_all and
 * page_pool_is_consistent take constant time. */
joule_status page_pool_new(size_t pages, size_t page_size, const uint8_t *key, struct page_pool **out_pool,
                           joule_error *out_error);
void page_pool_free(struct page_pool *pool);

/* Returns the number of pages without a user. Findable pages count as free. */
size_t page_pool_free_count(const struct page_pool *pool);
/* Returns the number of findable pages without a user. */
size_t page_pool_cached_count(const struct page_pool *pool);
/* Return the number of all pages, and the number of tokens of a page. */
size_t page_pool_count(const struct page_pool *pool);
size_t page_pool_page_size(const struct page_pool *pool);

/* Returns a page with one user, or NO_PAGE if all pages have users. If the page was findable, page_pool_find
 * no longer finds it. */
uint32_t page_pool_take(struct page_pool *pool);
/* Adds a user. The page must have a user or be findable. */
void page_pool_retain(struct page_pool *pool, uint32_t page);
/* Removes a user; the page must have one. A page without users is free. It is reused after all pages that
 * became free before it. */
void page_pool_release(struct page_pool *pool, uint32_t page);
/* Removes a user from each of `count` pages of a sequence, the last page first, so that the beginning of the
 * prefix stays findable for longest. */
void page_pool_release_all(struct page_pool *pool, const uint32_t *pages, size_t count);
/* Returns true if the page has more than one user; it must be copied before it is written. */
bool page_pool_is_shared(const struct page_pool *pool, uint32_t page);

/* Returns the hash of an empty prefix with a salt (NULL and 0 bytes: no salt). Prefixes with different salts
 * are never shared. */
struct prefix_hash page_pool_hash_start(const struct page_pool *pool, const void *salt, size_t salt_size);
/* Returns the hash of a prefix that is extended by one page of tokens: [page_size]. */
struct prefix_hash page_pool_hash_next(const struct page_pool *pool, struct prefix_hash before,
                                       const int32_t *tokens);
/* Makes a full page with users findable by the hash of its prefix. If another page has this hash, nothing
 * changes. The contents of a findable page must not change until the page is taken again. */
void page_pool_publish(struct page_pool *pool, uint32_t page, struct prefix_hash hash);
/* Returns true if page_pool_find can return the page: it was published since it was last taken, and no other
 * page had its hash. */
bool page_pool_is_findable(const struct page_pool *pool, uint32_t page);
/* Adds a user to the page with this hash, and returns the page. Returns NO_PAGE if no page has this hash. */
uint32_t page_pool_find(struct page_pool *pool, struct prefix_hash hash);

/* Checks all invariants: counts, lists and hashes agree. For tests; takes O(pages). */
bool page_pool_is_consistent(const struct page_pool *pool);

#endif
