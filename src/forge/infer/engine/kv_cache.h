/* infer/engine/kv_cache.h - the structures of a paged cache and of its sequences, for the engine and tests.
 *
 * Invariants:
 * - A sequence has exactly the pages that its positions need, and only hashes of committed tokens.
 * - A position that is not committed is in a page that only its sequence may write: forge_kv_cache_extend
 *   replaces the last page if the page is shared or findable.
 */
#ifndef FORGE_INFER_KV_CACHE_H
#define FORGE_INFER_KV_CACHE_H

#include <forge/kv_cache.h>
#include "forge/infer/engine/page_table.h"

struct forge_kv_cache {
    forge_kv_cache_options options;
    struct page_pool *pool;
    size_t row_elements; /* num_heads * head_dim: keys or values of one position in one layer */
    size_t row_bytes;
    forge_tensor *tensors;        /* [num_layers][2]: keys, values */
    forge_kv_sequence *sequences; /* the first of a list */
    size_t sequence_count;
    uint64_t query_tokens, hit_tokens;
};

struct forge_kv_sequence {
    forge_kv_cache *cache;
    forge_kv_sequence *previous, *next; /* in the list of the cache */
    size_t length, committed;           /* positions */
    struct page_table table;
    int32_t *tokens; /* [committed]; with prefix cache only */
    size_t token_capacity;
};

/* Copies the first `count` positions of a page to another page, in all layers. */
void kv_cache_copy_page(forge_kv_cache *cache, uint32_t from, uint32_t to, size_t count);

#endif
