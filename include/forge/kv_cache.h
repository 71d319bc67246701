/* forge/kv_cache.h - the keys and values of the tokens of sequences, in pages of fixed size.
 *
 * A sequence uses no memory beyond its last page, so short sequences leave memory to long ones.
 * Sequences share the pages of equal prefixes (prefix cache). A forked sequence shares the pages of the
 * original.
 *
 * The life of a sequence:
 * - forge_kv_cache_add_sequence finds the longest prefix of its tokens whose keys and values are cached.
 * - forge_kv_cache_extend reserves positions for more tokens.
 * - forge_kv_cache_write stores their keys and values, in each layer.
 * - forge_kv_cache_commit makes the positions final and states their tokens. From then on, other sequences
 *   with the same prefix can use full pages. A position that is not committed is a draft: it can be written
 *   again, or removed with forge_kv_cache_truncate.
 * - forge_kv_cache_remove_sequence ends the sequence. Its full pages stay cached until other sequences need
 *   the memory; pages that were unused for longest are reused first.
 *
 * Threads: only one thread at a time may use a cache and its sequences. */
#ifndef FORGE_KV_CACHE_H
#define FORGE_KV_CACHE_H

#include <forge/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- cache ---------------------------------------------------------------------------------------------- */

typedef struct forge_kv_cache forge_kv_cache;

/* The sizes of a cache. Set the structure to zero, then set struct_size. */
typedef struct forge_kv_cache_options {
    uint32_t struct_size; /* sizeof(forge_kv_cache_options) */
    uint32_t num_layers;  /* 1 to 65536 */
    uint32_t num_heads;   /* heads of keys and values; 1 to 65536 */
    uint32_t head_dim;    /* elements of a head; 1 to 65536; FORGE_Q8_0: a multiple of 32 */
    uint32_t page_size;   /* tokens in a page, 1 to 65536; 0: 16 */
    /* Type of the stored elements: FORGE_F32, FORGE_F16, FORGE_BF16, or FORGE_Q8_0 (8-bit integers with one
     * scale for 32 elements). */
    forge_dtype dtype;
    uint64_t pages;            /* 1 or more; pages * page_size is at most INT32_MAX */
    bool enables_prefix_cache; /* sequences with equal prefixes share pages */
} forge_kv_cache_options;

/* Creates a cache. It reserves address space; the system provides memory when positions are first written.
 * The caller owns the cache (forge_kv_cache_free). JOULE_INVALID: an option is out of range; the message
 * names it. JOULE_UNSUPPORTED: an option is unknown. JOULE_FAILED: the system provides no random numbers,
 * which the prefix cache needs as a key. */
FORGE_API joule_status forge_kv_cache_new(const forge_kv_cache_options *options, forge_kv_cache **out_cache,
                                          joule_error *out_error);
/* Frees a cache and all of its sequences. NULL is allowed. */
FORGE_API void forge_kv_cache_free(forge_kv_cache *cache);
/* Returns the keys (or values, if is_value) of a layer, as a view without a reference: [pages * page_size,
 * num_heads, head_dim]. Page p has the rows p * page_size to (p + 1) * page_size - 1. JOULE_INVALID: no such
 * layer. */
FORGE_API joule_status forge_kv_cache_tensor(const forge_kv_cache *cache, uint32_t layer, bool is_value,
                                             forge_tensor *out_tensor);

/* Properties and statistics of a cache. */
typedef struct forge_kv_cache_facts {
    uint32_t struct_size;     /* sizeof(forge_kv_cache_facts) */
    uint32_t page_size;       /* tokens in a page */
    uint64_t bytes_per_token; /* keys and values of all layers */
    uint64_t pages;
    uint64_t used_pages; /* pages that one or more sequences use */
    /* Pages that no sequence uses, but the prefix cache can find; all other pages are empty. */
    uint64_t cached_pages;
    uint64_t sequences;
    uint64_t query_tokens; /* tokens passed to forge_kv_cache_add_sequence so far; 0 without prefix cache */
    uint64_t hit_tokens;   /* number of query_tokens that were cached */
} forge_kv_cache_facts;
/* Describes a cache. JOULE_INVALID: struct_size too small. */
FORGE_API joule_status forge_kv_cache_query(const forge_kv_cache *cache, forge_kv_cache_facts *out_facts);

/* --- sequences ------------------------------------------------------------------------------------------ */

/* A sequence of a cache. Free it with forge_kv_cache_remove_sequence; forge_kv_cache_free frees all
 * sequences. */
typedef struct forge_kv_sequence forge_kv_sequence;

/* Adds a sequence that will begin with these `count` tokens (0 or more). Its first *out_cached_tokens
 * positions are cached and committed. Their number is a multiple of the page size, and below `count`, so that
 * the model runs for at least one token. The caller extends the sequence by the other tokens. salt: only
 * sequences with equal salts share pages; NULL is equal to "". */
FORGE_API joule_status forge_kv_cache_add_sequence(forge_kv_cache *cache, const int32_t *tokens, size_t count,
                                                   const char *salt, forge_kv_sequence **out_sequence,
                                                   size_t *out_cached_tokens, joule_error *out_error);
/* Removes a sequence and frees it. NULL is allowed. */
FORGE_API void forge_kv_cache_remove_sequence(forge_kv_sequence *sequence);
/* Adds a sequence with the committed positions of another sequence. The sequences share pages. A shared page
 * that is not full is copied when one of the sequences is extended. */
FORGE_API joule_status forge_kv_cache_fork(const forge_kv_sequence *sequence,
                                           forge_kv_sequence **out_sequence, joule_error *out_error);
/* Returns the number of positions. */
FORGE_API size_t forge_kv_cache_length(const forge_kv_sequence *sequence);
/* Returns the number of committed positions. */
FORGE_API size_t forge_kv_cache_committed(const forge_kv_sequence *sequence);

/* Adds `count` positions with undefined keys and values. JOULE_NO_MEMORY: too few pages are free, or out of
 * memory; the sequence and the cache do not change. */
FORGE_API joule_status forge_kv_cache_extend(forge_kv_sequence *sequence, size_t count,
                                             joule_error *out_error);
/* Commits the next `count` positions. tokens: [count]; may be NULL without prefix cache. The keys and values
 * of the positions must have been written in all layers, and must be those that the model computes for these
 * tokens. JOULE_INVALID: the sequence has too few positions. */
FORGE_API joule_status forge_kv_cache_commit(forge_kv_sequence *sequence, const int32_t *tokens, size_t count,
                                             joule_error *out_error);
/* Removes all positions after the first `length` ones, even if they are committed. JOULE_INVALID: the
 * sequence has fewer than `length` positions. */
FORGE_API joule_status forge_kv_cache_truncate(forge_kv_sequence *sequence, size_t length,
                                               joule_error *out_error);

/* Writes `count` positions of a layer from `position` on, rounded to the cache's type. keys and values:
 * [count, num_heads, head_dim]. JOULE_INVALID: no such layer or position, or a position is committed. */
FORGE_API joule_status forge_kv_cache_write(forge_kv_sequence *sequence, uint32_t layer, size_t position,
                                            size_t count, const float *keys, const float *values,
                                            joule_error *out_error);
/* Reads `count` positions of a layer from `position` on. out_keys and out_values: [count, num_heads,
 * head_dim]; either may be NULL. Positions that were never written have undefined values. JOULE_INVALID: no
 * such layer or position. */
FORGE_API joule_status forge_kv_cache_read(const forge_kv_sequence *sequence, uint32_t layer, size_t position,
                                           size_t count, float *out_keys, float *out_values,
                                           joule_error *out_error);

#ifdef __cplusplus
}
#endif
#endif
