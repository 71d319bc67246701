/* infer/engine/page_table.c - see page_table.h. */
#include "forge/infer/engine/page_table.h"

#include <stdlib.h>
#include "base/array.h"

size_t page_table_pages(const struct page_pool *pool, size_t positions)
{
    size_t size = page_pool_page_size(pool);
    return positions / size + (positions % size != 0);
}

bool page_table_reserve(struct page_table *t, size_t positions)
{
    size_t pages = page_table_pages(t->pool, positions);
    return array_reserve((void **)&t->pages, &t->page_capacity, pages, sizeof *t->pages) &&
           (!t->shares_prefixes ||
            array_reserve((void **)&t->hashes, &t->hash_capacity, pages, sizeof *t->hashes));
}

void page_table_free(struct page_table *t)
{
    page_table_release(t);
    free(t->pages);
    free(t->hashes);
    *t = (struct page_table){0};
}

/* Returns the hash of the tokens of pages 0 to `page`. */
static struct prefix_hash hash_of(struct page_table *t, const int32_t *tokens, size_t page)
{
    size_t size = page_pool_page_size(t->pool);
    for (; t->hash_count <= page; t->hash_count++) {
        struct prefix_hash before = t->hash_count > 0 ? t->hashes[t->hash_count - 1] : t->start;
        t->hashes[t->hash_count] = page_pool_hash_next(t->pool, before, tokens + t->hash_count * size);
    }
    return t->hashes[page];
}

size_t page_table_find(struct page_table *t, const int32_t *tokens, size_t count)
{
    size_t size = page_pool_page_size(t->pool),
           max_pages = t->shares_prefixes && count > 0 ? (count - 1) / size : 0;
    while (t->page_count < max_pages) {
        uint32_t page = page_pool_find(t->pool, hash_of(t, tokens, t->page_count));
        if (page == NO_PAGE)
            break;
        t->pages[t->page_count++] = page;
    }
    t->published = t->page_count;
    return t->page_count * size;
}

void page_table_share(struct page_table *t, const struct page_table *other, size_t positions)
{
    size_t full = positions / page_pool_page_size(t->pool);
    t->start = other->start;
    for (size_t i = 0; i < page_table_pages(t->pool, positions); i++) {
        t->pages[t->page_count++] = other->pages[i];
        page_pool_retain(t->pool, other->pages[i]);
    }
    for (; t->shares_prefixes && t->hash_count < full; t->hash_count++)
        t->hashes[t->hash_count] = other->hashes[t->hash_count];
    t->published = full;
}

bool page_table_extend(struct page_table *t, size_t positions)
{
    size_t wanted = page_table_pages(t->pool, positions);
    if (wanted > t->page_count && wanted - t->page_count > page_pool_free_count(t->pool))
        return false;
    while (t->page_count < wanted)
        t->pages[t->page_count++] = page_pool_take(t->pool);
    return true;
}

void page_table_publish(struct page_table *t, const int32_t *tokens, size_t count)
{
    size_t full = t->shares_prefixes ? count / page_pool_page_size(t->pool) : 0;
    for (; t->published < full; t->published++)
        page_pool_publish(t->pool, t->pages[t->published], hash_of(t, tokens, t->published));
}

void page_table_truncate(struct page_table *t, size_t positions)
{
    size_t pages = page_table_pages(t->pool, positions), full = positions / page_pool_page_size(t->pool);
    while (t->page_count > pages)
        page_pool_release(t->pool, t->pages[--t->page_count]);
    t->hash_count = t->hash_count < full ? t->hash_count : full;
    t->published = t->published < full ? t->published : full;
}

void page_table_release(struct page_table *t)
{
    page_pool_release_all(t->pool, t->pages, t->page_count);
    t->page_count = t->published = 0;
}
