/* tests/unit/forge/kv_trial.h - sequences of a paged cache beside plain arrays of what they must contain.
 *
 * The key and value of a position are integers that follow from salt and tokens up to the position. So a read
 * shows whether a page belongs to the prefix of its sequence. All element types represent them exactly. */
#ifndef KV_TRIAL_H
#define KV_TRIAL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/hash.h"
#include "forge/infer/engine/kv_cache.h"
#include "support/check.h"

enum { LAYERS = 2, HEADS = 2, HEAD_DIM = 32, ROW = HEADS * HEAD_DIM, PAGE_SIZE = 4, MAX_LENGTH = 64 };

static joule_error error;

static const int32_t zeros[MAX_LENGTH];

static inline forge_kv_cache_options options_of(forge_dtype dtype, uint64_t pages)
{
    return (forge_kv_cache_options){.struct_size = sizeof(forge_kv_cache_options),
                                    .num_layers = LAYERS,
                                    .num_heads = HEADS,
                                    .head_dim = HEAD_DIM,
                                    .page_size = PAGE_SIZE,
                                    .dtype = dtype,
                                    .pages = pages,
                                    .enables_prefix_cache = true};
}

static inline forge_kv_cache *new_cache(forge_dtype dtype, uint64_t pages)
{
    forge_kv_cache_options options = options_of(dtype, pages);
    forge_kv_cache *cache = NULL;
    assert_ok(forge_kv_cache_new(&options, &cache, &error), &error);
    return cache;
}

static inline forge_kv_cache_facts query(const forge_kv_cache *cache)
{
    forge_kv_cache_facts facts = {.struct_size = sizeof facts};
    assert_int_equal(forge_kv_cache_query(cache, &facts), JOULE_OK);
    return facts;
}

/* --- a sequence and its model --------------------------------------------------------------------------- */

/* A sequence, and what it must contain. */
struct tracked {
    forge_kv_sequence *sequence;
    const char *salt;
    int32_t tokens[MAX_LENGTH];
    size_t length, committed;
};

/* Computes the expected key or value of a position: [ROW]. */
static inline void expect_row(const struct tracked *t, uint32_t layer, bool is_value, size_t position,
                              float *out_row)
{
    uint64_t hash = hash_bytes(HASH_START, t->salt, strlen(t->salt) + 1);
    hash = hash_bytes(hash, t->tokens, (position + 1) * sizeof *t->tokens);
    hash = hash_bytes(hash, &(uint64_t){2 * layer + is_value}, sizeof(uint64_t));
    for (int i = 0; i < ROW; i++) {
        hash = hash_bytes(hash, "", 1);
        out_row[i] = i % HEAD_DIM == 0 ? 127 : (float)((int)(hash >> 32 & 0xff) % 255 - 127); /* scale 1 */
    }
}

/* Returns the page table of a sequence. It is valid until the sequence changes. */
static inline const uint32_t *kv_sequence_pages(const forge_kv_sequence *sequence, size_t *out_count)
{
    *out_count = sequence->table.page_count;
    return sequence->table.pages;
}

static inline void write_positions(const struct tracked *t, size_t first, size_t count)
{
    static float keys[MAX_LENGTH * ROW], values[MAX_LENGTH * ROW];
    for (uint32_t layer = 0; layer < LAYERS; layer++) {
        for (size_t i = 0; i < count; i++) {
            expect_row(t, layer, false, first + i, keys + i * ROW);
            expect_row(t, layer, true, first + i, values + i * ROW);
        }
        assert_ok(forge_kv_cache_write(t->sequence, layer, first, count, keys, values, &error), &error);
    }
}

static inline void check_contents(const struct tracked *t)
{
    static float keys[MAX_LENGTH * ROW], values[MAX_LENGTH * ROW], row[ROW];
    assert_int_equal(forge_kv_cache_length(t->sequence), t->length);
    assert_int_equal(forge_kv_cache_committed(t->sequence), t->committed);
    for (uint32_t layer = 0; layer < LAYERS; layer++) {
        assert_ok(forge_kv_cache_read(t->sequence, layer, 0, t->length, keys, values, &error), &error);
        for (size_t i = 0; i < t->length; i++) {
            expect_row(t, layer, false, i, row);
            assert_memory_equal(keys + i * ROW, row, sizeof row);
            expect_row(t, layer, true, i, row);
            assert_memory_equal(values + i * ROW, row, sizeof row);
        }
    }
}

/* Adds a sequence with the tokens; returns the number of cached tokens. */
static inline size_t begin(forge_kv_cache *cache, struct tracked *out_t, const char *salt,
                           const int32_t *tokens, size_t count)
{
    size_t cached = SIZE_MAX;
    *out_t = (struct tracked){.salt = salt};
    assert_ok(forge_kv_cache_add_sequence(cache, tokens, count, salt[0] ? salt : NULL, &out_t->sequence,
                                          &cached, &error),
              &error);
    assert_true(cached % PAGE_SIZE == 0 && (cached == 0 || cached < count));
    if (cached > 0)
        memcpy(out_t->tokens, tokens, cached * sizeof *tokens);
    out_t->length = out_t->committed = cached;
    return cached;
}

/* Extends a sequence by tokens and writes them. Returns false, and checks that nothing changed, if pages are
 * missing. */
static inline bool extend(struct tracked *t, const int32_t *tokens, size_t count)
{
    size_t pages, pages_after;
    forge_kv_cache_facts before = query(t->sequence->cache), after;
    const uint32_t *table = kv_sequence_pages(t->sequence, &pages);
    uint32_t last = pages > 0 ? table[pages - 1] : NO_PAGE;
    joule_status status = forge_kv_cache_extend(t->sequence, count, &error);
    if (status != JOULE_OK) {
        assert_int_equal(status, JOULE_NO_MEMORY);
        assert_contains(error.message, "pages");
        after = query(t->sequence->cache);
        assert_memory_equal(&after, &before, sizeof after);
        table = kv_sequence_pages(t->sequence, &pages_after);
        assert_int_equal(pages_after, pages);
        assert_true(pages == 0 || table[pages - 1] == last);
        return false;
    }
    memcpy(t->tokens + t->length, tokens, count * sizeof *tokens);
    t->length += count;
    write_positions(t, t->length - count, count);
    return true;
}

static inline void commit(struct tracked *t, size_t count)
{
    assert_ok(forge_kv_cache_commit(t->sequence, t->tokens + t->committed, count, &error), &error);
    t->committed += count;
}

static inline void truncate_to(struct tracked *t, size_t length)
{
    assert_ok(forge_kv_cache_truncate(t->sequence, length, &error), &error);
    t->length = length;
    t->committed = t->committed < length ? t->committed : length;
}

static inline struct tracked fork_of(const struct tracked *t)
{
    struct tracked child = *t;
    assert_ok(forge_kv_cache_fork(t->sequence, &child.sequence, &error), &error);
    child.length = t->committed;
    return child;
}

#endif
