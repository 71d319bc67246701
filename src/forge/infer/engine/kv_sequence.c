/* infer/engine/kv_sequence.c - the sequences of a paged cache: their pages, and the sharing of prefixes; see
 * <forge/kv_cache.h>. */
#include "forge/infer/engine/kv_cache.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/error.h"

/* --- life ----------------------------------------------------------------------------------------------- */

static size_t pages_for(const forge_kv_cache *cache, size_t length)
{
    size_t page_size = cache->options.page_size;
    return length / page_size + (length % page_size != 0);
}

/* Ensures that the arrays have capacity for `length` positions. Returns false if out of memory. */
static bool reserve(forge_kv_sequence *s, size_t length)
{
    size_t pages = pages_for(s->cache, length);
    if (!array_reserve((void **)&s->pages, &s->page_capacity, pages, sizeof *s->pages))
        return false;
    if (!s->cache->options.enables_prefix_cache)
        return true;
    return array_reserve((void **)&s->hashes, &s->hash_capacity, pages, sizeof *s->hashes) &&
           array_reserve((void **)&s->tokens, &s->token_capacity, length, sizeof *s->tokens);
}

static void free_sequence(forge_kv_sequence *s)
{
    free(s->pages);
    free(s->hashes);
    free(s->tokens);
    free(s);
}

/* Returns an empty sequence with capacity for `length` positions, or NULL if out of memory. It is not in the
 * list of the cache yet. */
static forge_kv_sequence *new_sequence(forge_kv_cache *cache, size_t length)
{
    forge_kv_sequence *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->cache = cache;
    if (!reserve(s, length)) {
        free_sequence(s);
        return NULL;
    }
    return s;
}

static void add_to_list(forge_kv_sequence *s)
{
    forge_kv_cache *cache = s->cache;
    s->next = cache->sequences;
    if (s->next)
        s->next->previous = s;
    cache->sequences = s;
    cache->sequence_count++;
}

/* Adds the pages of the longest cached prefix. The last token is never part of it, because the model must run
 * for at least one token. */
static void find_prefix(forge_kv_sequence *s, const int32_t *tokens, size_t count)
{
    struct page_pool *pool = s->cache->pool;
    size_t page_size = s->cache->options.page_size, max_pages = count > 0 ? (count - 1) / page_size : 0;
    struct prefix_hash hash = s->start;
    while (s->page_count < max_pages) {
        hash = page_pool_hash_next(pool, hash, tokens + s->page_count * page_size);
        uint32_t page = page_pool_find(pool, hash);
        if (page == NO_PAGE)
            break;
        s->hashes[s->page_count] = hash;
        s->pages[s->page_count++] = page;
    }
    s->length = s->committed = s->page_count * page_size;
    if (s->length > 0)
        memcpy(s->tokens, tokens, s->length * sizeof *tokens);
}

joule_status forge_kv_cache_add_sequence(forge_kv_cache *cache, const int32_t *tokens, size_t count,
                                         const char *salt, forge_kv_sequence **out_sequence,
                                         size_t *out_cached_tokens, joule_error *out_error)
{
    if (!cache || (!tokens && count > 0) || !out_sequence || !out_cached_tokens)
        return error_set(out_error, JOULE_INVALID, "forge_kv_cache_add_sequence: %s is NULL",
                         !cache               ? "cache"
                         : !out_sequence      ? "out_sequence"
                         : !out_cached_tokens ? "out_cached_tokens"
                                              : "tokens");
    forge_kv_sequence *s = new_sequence(cache, count);
    if (!s)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot add a sequence of %zu tokens: out of memory",
                         count);
    add_to_list(s);
    if (cache->options.enables_prefix_cache) {
        s->start = page_pool_hash_start(cache->pool, salt, salt ? strlen(salt) : 0);
        find_prefix(s, tokens, count);
        cache->query_tokens += count;
        cache->hit_tokens += s->length;
    }
    *out_sequence = s;
    *out_cached_tokens = s->length;
    return JOULE_OK;
}

void forge_kv_cache_remove_sequence(forge_kv_sequence *sequence)
{
    if (!sequence)
        return;
    forge_kv_cache *cache = sequence->cache;
    page_pool_release_all(cache->pool, sequence->pages, sequence->page_count);
    if (sequence->previous)
        sequence->previous->next = sequence->next;
    else
        cache->sequences = sequence->next;
    if (sequence->next)
        sequence->next->previous = sequence->previous;
    cache->sequence_count--;
    free_sequence(sequence);
}

joule_status forge_kv_cache_fork(const forge_kv_sequence *sequence, forge_kv_sequence **out_sequence,
                                 joule_error *out_error)
{
    if (!sequence || !out_sequence)
        return error_set(out_error, JOULE_INVALID, "forge_kv_cache_fork: %s is NULL",
                         sequence ? "out_sequence" : "sequence");
    forge_kv_cache *cache = sequence->cache;
    size_t length = sequence->committed;
    forge_kv_sequence *s = new_sequence(cache, length);
    if (!s)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot fork a sequence of %zu tokens: out of memory",
                         length);
    add_to_list(s);
    s->length = s->committed = length;
    s->page_count = pages_for(cache, length);
    for (size_t i = 0; i < s->page_count; i++) {
        s->pages[i] = sequence->pages[i];
        page_pool_retain(cache->pool, s->pages[i]);
    }
    if (cache->options.enables_prefix_cache && length > 0) {
        s->start = sequence->start;
        memcpy(s->hashes, sequence->hashes, length / cache->options.page_size * sizeof *s->hashes);
        memcpy(s->tokens, sequence->tokens, length * sizeof *s->tokens);
    }
    *out_sequence = s;
    return JOULE_OK;
}

/* --- length --------------------------------------------------------------------------------------------- */

size_t forge_kv_cache_length(const forge_kv_sequence *sequence)
{
    return sequence->length;
}

size_t forge_kv_cache_committed(const forge_kv_sequence *sequence)
{
    return sequence->committed;
}

const uint32_t *kv_sequence_pages(const forge_kv_sequence *sequence, size_t *out_count)
{
    *out_count = sequence->page_count;
    return sequence->pages;
}

/* Replaces the last page by a copy that only this sequence uses. If no other sequence uses the old page, the
 * old page is released first, so that no free page is needed. The pool may then return the same page, which
 * is no longer findable. */
static void replace_last_page(forge_kv_sequence *s)
{
    forge_kv_cache *cache = s->cache;
    uint32_t *last = &s->pages[s->page_count - 1], old = *last;
    bool is_shared = page_pool_is_shared(cache->pool, old);
    if (!is_shared)
        page_pool_release(cache->pool, old);
    *last = page_pool_take(cache->pool);
    if (*last != old)
        kv_cache_copy_page(cache, old, *last, s->length % cache->options.page_size);
    if (is_shared)
        page_pool_release(cache->pool, old);
}

joule_status forge_kv_cache_extend(forge_kv_sequence *sequence, size_t count, joule_error *out_error)
{
    if (!sequence)
        return error_set(out_error, JOULE_INVALID, "forge_kv_cache_extend: sequence is NULL");
    if (count == 0)
        return JOULE_OK;
    forge_kv_cache *cache = sequence->cache;
    size_t all = page_pool_count(cache->pool), free_pages = page_pool_free_count(cache->pool);
    size_t max_length = all * cache->options.page_size;
    if (count > max_length - sequence->length)
        return error_set(out_error, JOULE_NO_MEMORY,
                         "cannot extend a sequence of %zu tokens by %zu: the cache has pages for %zu tokens",
                         sequence->length, count, max_length);
    size_t length = sequence->length + count, needed = pages_for(cache, length) - sequence->page_count;
    bool is_shared = false, must_replace = false;
    if (sequence->length % cache->options.page_size != 0) {
        uint32_t last = sequence->pages[sequence->page_count - 1];
        is_shared = page_pool_is_shared(cache->pool, last);
        must_replace = is_shared || page_pool_is_findable(cache->pool, last);
    }
    if (needed + is_shared > free_pages)
        return error_set(
            out_error, JOULE_NO_MEMORY,
            "cannot extend a sequence of %zu tokens by %zu: %zu pages are needed, and %zu of %zu "
            "are free",
            sequence->length, count, needed + is_shared, free_pages, all);
    if (!reserve(sequence, length))
        return error_set(out_error, JOULE_NO_MEMORY,
                         "cannot extend a sequence of %zu tokens by %zu: out of memory", sequence->length,
                         count);
    if (must_replace)
        replace_last_page(sequence);
    for (size_t i = 0; i < needed; i++)
        sequence->pages[sequence->page_count++] = page_pool_take(cache->pool);
    sequence->length = length;
    return JOULE_OK;
}

/* Publishes the pages that the committed positions fill, from page number `first` on. */
static void publish(forge_kv_sequence *s, size_t first)
{
    struct page_pool *pool = s->cache->pool;
    size_t page_size = s->cache->options.page_size;
    for (size_t i = first; i < s->committed / page_size; i++) {
        struct prefix_hash before = i > 0 ? s->hashes[i - 1] : s->start;
        s->hashes[i] = page_pool_hash_next(pool, before, s->tokens + i * page_size);
        page_pool_publish(pool, s->pages[i], s->hashes[i]);
    }
}

joule_status forge_kv_cache_commit(forge_kv_sequence *sequence, const int32_t *tokens, size_t count,
                                   joule_error *out_error)
{
    if (!sequence)
        return error_set(out_error, JOULE_INVALID, "forge_kv_cache_commit: sequence is NULL");
    if (count > sequence->length - sequence->committed)
        return error_set(out_error, JOULE_INVALID,
                         "cannot commit %zu tokens: the sequence has %zu positions, and %zu are committed",
                         count, sequence->length, sequence->committed);
    bool has_prefix_cache = sequence->cache->options.enables_prefix_cache;
    if (has_prefix_cache && !tokens && count > 0)
        return error_set(out_error, JOULE_INVALID, "forge_kv_cache_commit: tokens is NULL");
    size_t first = sequence->committed / sequence->cache->options.page_size;
    if (has_prefix_cache && count > 0)
        memcpy(sequence->tokens + sequence->committed, tokens, count * sizeof *tokens);
    sequence->committed += count;
    if (has_prefix_cache)
        publish(sequence, first);
    return JOULE_OK;
}

joule_status forge_kv_cache_truncate(forge_kv_sequence *sequence, size_t length, joule_error *out_error)
{
    if (!sequence || length > sequence->length)
        return error_set(out_error, JOULE_INVALID, "cannot truncate a sequence of %zu tokens to %zu",
                         sequence ? sequence->length : 0, length);
    size_t pages = pages_for(sequence->cache, length);
    while (sequence->page_count > pages)
        page_pool_release(sequence->cache->pool, sequence->pages[--sequence->page_count]);
    sequence->length = length;
    if (sequence->committed > length)
        sequence->committed = length;
    return JOULE_OK;
}
