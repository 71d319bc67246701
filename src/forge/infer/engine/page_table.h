/* infer/engine/page_table.h - the pages of the positions of one sequence, and the hashes of its prefixes.
 *
 * The hash of a prefix is computed once, and kept until the table is truncated. So a sequence that lost its
 * pages, or waits for pages, finds cached pages again without hashing.
 *
 * Threads: one thread at a time may use the tables of a pool. */
#ifndef FORGE_INFER_PAGE_TABLE_H
#define FORGE_INFER_PAGE_TABLE_H

#include "forge/infer/engine/page_pool.h"

/* Initialise with zeros, then set `pool` and, if prefixes are shared, `shares_prefixes` and `start`. */
struct page_table {
    struct page_pool *pool;
    bool shares_prefixes; /* full pages are published, and found by their prefix */
    uint32_t *pages;      /* [page_count] */
    size_t page_count, page_capacity;
    size_t published;           /* number of first pages that were published or found */
    struct prefix_hash start;   /* hash of no tokens */
    struct prefix_hash *hashes; /* [hash_count]: item i is the hash of the tokens of pages 0 to i */
    size_t hash_count, hash_capacity;
};

/* Returns the number of pages for this many positions. */
size_t page_table_pages(const struct page_pool *pool, size_t positions);

/* Ensures that the table has memory for `positions` positions. The other functions allocate no memory, and
 * need it for all positions or tokens that are passed to them. Returns false if out of memory. */
bool page_table_reserve(struct page_table *table, size_t positions);
/* Releases all pages and frees the memory. */
void page_table_free(struct page_table *table);

/* Adds the pages of the longest cached prefix of tokens [count] to an empty table. The last token is never
 * part of it, because the model must run for at least one token. Returns the number of tokens of the
 * prefix. */
size_t page_table_find(struct page_table *table, const int32_t *tokens, size_t count);
/* Fills an empty table with the pages and hashes of the first `positions` positions of another table. */
void page_table_share(struct page_table *table, const struct page_table *other, size_t positions);
/* Adds pages until there are enough for `positions` positions. Returns false, and adds none, if too few are
 * free. */
bool page_table_extend(struct page_table *table, size_t positions);
/* Publishes the pages that the first `count` tokens fill. */
void page_table_publish(struct page_table *table, const int32_t *tokens, size_t count);
/* Releases the pages that the first `positions` positions do not need, and forgets the hashes of tokens after
 * these positions. */
void page_table_truncate(struct page_table *table, size_t positions);
/* Releases all pages, and keeps the hashes, because the tokens do not change. */
void page_table_release(struct page_table *table);

#endif
