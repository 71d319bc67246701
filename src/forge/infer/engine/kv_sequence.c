/* infer/engine/kv_sequence.c - the sequences of a paged cache: their pages, and the sharing of prefixes; see
 * <forge/kv_cache.h>. */
#include "forge/infer/engine/kv_cache.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/error.h"

/* --- life ----------------------------------------------------------------------------------------------- */

/* Ensures that the arrays have capacity for `length` positions. Returns false if out of memory. */
static bool reserve(forge_kv_sequence *s, size_t length)
{
    return page_table_reserve(&s->table, length) &&
           (!s->table.shares_prefixes ||
            array_reserve((void **)&s->tokens, &s->token_capacity, length, sizeof *s->tokens));
}

static void free_sequence(forge_kv_sequence *s)
{
    page_table_free(&s->table);
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
    s->table.pool = cache->pool;
    s->table.shares_prefixes = cache->options.enables_prefix_cache;
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
        s->table.start = page_pool_hash_start(cache->pool, salt, salt ? strlen(salt) : 0);
        s->length = s->committed = page_table_find(&s->table, tokens, count);
        page_table_truncate(&s->table, s->length); /* the caller may commit other tokens after the prefix */
        if (tokens && s->length > 0)
            memcpy(s->tokens, tokens, s->length * sizeof *tokens);
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
    page_table_share(&s->table, &sequence->table, length);
    if (s->table.shares_prefixes && length > 0)
        memcpy(s->tokens, sequence->tokens, length * sizeof *s->tokens);
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

/* Replaces the last page by a copy that only this sequence uses. If no other sequence uses the old page, the
 * old page is released first, so that no free page is needed. The pool may then return the same page, which
 * is no longer findable. */
static void replace_last_page(forge_kv_sequence *s)
{
    forge_kv_cache *cache = s->cache;
    uint32_t *last = &s->table.pages[s->table.page_count - 1], old = *last;
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
    struct page_table *table = &sequence->table;
    size_t length = sequence->length + count,
           needed = page_table_pages(cache->pool, length) - table->page_count;
    bool is_shared = false, must_replace = false;
    if (sequence->length % cache->options.page_size != 0) {
        uint32_t last = table->pages[table->page_count - 1];
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
    page_table_extend(table, length);
    sequence->length = length;
    return JOULE_OK;
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
    bool has_prefix_cache = sequence->table.shares_prefixes;
    if (has_prefix_cache && !tokens && count > 0)
        return error_set(out_error, JOULE_INVALID, "forge_kv_cache_commit: tokens is NULL");
    if (has_prefix_cache && count > 0)
        memcpy(sequence->tokens + sequence->committed, tokens, count * sizeof *tokens);
    sequence->committed += count;
    page_table_publish(&sequence->table, sequence->tokens, sequence->committed);
    return JOULE_OK;
}

joule_status forge_kv_cache_truncate(forge_kv_sequence *sequence, size_t length, joule_error *out_error)
{
    if (!sequence || length > sequence->length)
        return error_set(out_error, JOULE_INVALID, "cannot truncate a sequence of %zu tokens to %zu",
                         sequence ? sequence->length : 0, length);
    page_table_truncate(&sequence->table, length);
    sequence->length = length;
    if (sequence->committed > length)
        sequence->committed = length;
    return JOULE_OK;
}
