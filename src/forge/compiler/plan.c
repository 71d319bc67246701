/* compiler/plan.c - see plan.h.
 *
 * Items are placed one after another. Each item gets the lowest offset at which it fits between the placed
 * items that are live at the same time. Placed items are sorted by offset, and stored in blocks. Each block
 * stores bounds of the lifetimes of its items, and its largest gap.
 *
 * Note: blocks only save comparisons, and do not change the result. In most networks, an item is live for a
 * short time only or during the whole run. Then most blocks can be skipped without a comparison of single
 * items.
 */
#include "forge/compiler/plan.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"

enum { BLOCK = 256 }; /* maximum number of items of a block */

/* An item that already has an offset. */
struct placed {
    uint64_t offset, end; /* in bytes */
    uint32_t first, last; /* numbers of the first and the last launch */
};

struct block {
    struct placed items[BLOCK];
    size_t count;
    uint32_t min_first, max_first, min_last, max_last; /* bounds over all items */
    uint64_t end;                                      /* highest end of an item */
    /* largest gap in bytes between an item and the highest end of all items before it in the block */
    uint64_t gap;
    bool has_gap; /* true if there is a gap, even of 0 bytes */
};

/* State of the planner. */
struct planning {
    struct block **blocks; /* sorted by offset; no block is empty */
    size_t block_count, block_capacity;
    uint64_t comparisons;
};

/* --- blocks --------------------------------------------------------------------------------------------- */

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Computes all members of a block from its items. Must be called after each change of the items. */
static void summarise(struct block *block)
{
    const struct placed *item = block->items;
    block->min_first = block->max_first = item->first;
    block->min_last = block->max_last = item->last;
    block->end = item->end;
    block->gap = 0;
    block->has_gap = false;
    for (size_t i = 1; i < block->count; i++) {
        item = &block->items[i];
        if (item->offset >= block->end) {
            uint64_t gap = item->offset - block->end;
            block->gap = gap > block->gap ? gap : block->gap;
            block->has_gap = true;
        }
        block->end = item->end > block->end ? item->end : block->end;
        block->min_first = min_u32(block->min_first, item->first);
        block->max_first = max_u32(block->max_first, item->first);
        block->min_last = min_u32(block->min_last, item->last);
        block->max_last = max_u32(block->max_last, item->last);
    }
}

/* Moves the second half of a block into a new block. Returns false if out of memory. */
static bool split(struct planning *p, size_t b)
{
    if (!ARRAY_ROOM(p->blocks, p->block_capacity, p->block_count))
        return false;
    struct block *low = p->blocks[b], *high = malloc(sizeof *high);
    if (!high)
        return false;
    low->count = BLOCK / 2;
    high->count = BLOCK - BLOCK / 2;
    memcpy(high->items, low->items + low->count, high->count * sizeof *high->items);
    summarise(low);
    summarise(high);
    memmove(p->blocks + b + 2, p->blocks + b + 1, (p->block_count - b - 1) * sizeof(struct block *));
    p->blocks[b + 1] = high;
    p->block_count++;
    return true;
}

/* Returns the index of the last block that begins at `offset` or below; 0 if there is no such block. */
static size_t block_for(const struct planning *p, uint64_t offset)
{
    size_t low = 0, high = p->block_count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (p->blocks[middle]->items[0].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Inserts a placed item after all items with the same offset. Returns false if out of memory. */
static bool insert(struct planning *p, const struct placed *item)
{
    size_t b = block_for(p, item->offset);
    if (p->blocks[b]->count == BLOCK) {
        if (!split(p, b))
            return false;
        b += p->blocks[b + 1]->items[0].offset <= item->offset;
    }
    struct block *block = p->blocks[b];
    size_t at = block->count++;
    for (; at > 0 && block->items[at - 1].offset > item->offset; at--)
        block->items[at] = block->items[at - 1];
    block->items[at] = *item;
    summarise(block);
    return true;
}

/* --- gaps ----------------------------------------------------------------------------------------------- */

/* Returns true if the block does not affect the offset of `item`, because none of its items is live at the
 * same time, or all of them end at or below `end`. end: lowest possible offset of `item` so far. */
static bool can_skip(const struct block *block, const struct plan_item *item, uint64_t end)
{
    return block->min_first > item->last || block->max_last < item->first || block->end <= end;
}

/* Returns true if `item` must be above the whole block. This holds if all items of the block are live at the
 * same time as `item`, and no gap in the block or just below it is large enough. */
static bool is_blocking(const struct block *block, const struct plan_item *item, uint64_t end)
{
    return block->max_first <= item->last && block->min_last >= item->first &&
           !(block->has_gap && block->gap >= item->size_bytes) &&
           block->items[0].offset < end + item->size_bytes;
}

/* Visits the items of the block that are live at the same time as `item`, in order of offsets. Returns true
 * as soon as `item` fits between *end and the next visited item. Otherwise raises *end to the end of that
 * item, and continues. Returns false after the last item. */
static bool fits_in(struct planning *p, const struct block *block, const struct plan_item *item,
                    uint64_t *end)
{
    p->comparisons += block->count;
    for (size_t i = 0; i < block->count; i++) {
        const struct placed *placed = &block->items[i];
        if (placed->first > item->last || item->first > placed->last)
            continue;
        if (placed->offset >= *end + item->size_bytes)
            return true;
        *end = placed->end > *end ? placed->end : *end;
    }
    return false;
}

/* Returns the lowest offset at which `item` overlaps no placed item that is live at the same time. */
static uint64_t find_gap(struct planning *p, const struct plan_item *item)
{
    uint64_t end = 0;
    for (size_t b = 0; b < p->block_count; b++) {
        const struct block *block = p->blocks[b];
        p->comparisons++;
        if (can_skip(block, item, end))
            continue;
        if (is_blocking(block, item, end))
            end = block->end > end ? block->end : end;
        else if (fits_in(p, block, item, &end))
            break;
    }
    return end;
}

/* --- all ------------------------------------------------------------------------------------------------ */

static int by_size(const void *left, const void *right)
{
    const struct plan_item *a = *(struct plan_item *const *)left, *b = *(struct plan_item *const *)right;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes < b->size_bytes ? 1 : -1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    /* items with equal sizes are ordered by index, so that the plan does not depend on the machine's qsort */
    return a < b ? -1 : a > b;
}

static bool place(struct planning *p, struct plan_item *item)
{
    item->offset_bytes = find_gap(p, item);
    struct placed placed = {item->offset_bytes, item->offset_bytes + item->size_bytes, item->first,
                            item->last};
    if (p->block_count)
        return insert(p, &placed);
    if (!ARRAY_ROOM(p->blocks, p->block_capacity, p->block_count) ||
        !(*p->blocks = malloc(sizeof **p->blocks)))
        return false;
    p->blocks[p->block_count++]->count = 1;
    p->blocks[0]->items[0] = placed;
    summarise(p->blocks[0]);
    return true;
}

static bool place_all(struct plan_item *items, size_t count, struct plan_result *result)
{
    struct planning p = {0};
    struct plan_item **order = calloc(count + 1, sizeof *order);
    bool done = order != NULL;
    for (size_t i = 0; done && i < count; i++)
        order[i] = &items[i];
    if (done)
        qsort(order, count, sizeof *order, by_size);
    for (size_t i = 0; done && i < count; i++) {
        done = place(&p, order[i]);
        uint64_t end = order[i]->offset_bytes + order[i]->size_bytes;
        result->size_bytes = end > result->size_bytes ? end : result->size_bytes;
    }
    result->comparisons = p.comparisons;
    for (size_t b = 0; b < p.block_count; b++)
        free(p.blocks[b]);
    free(p.blocks);
    free(order);
    return done;
}

/* Computes the largest sum of live bytes at one launch. The sum changes at the first launch of an item, and
 * after its last launch. */
static bool bound(const struct plan_item *items, size_t count, size_t launches, struct plan_result *result)
{
    /* Numbers are unsigned, so a decrease is a large number that wraps when it is added. */
    uint64_t *change = calloc(launches + 2, sizeof *change), alive = 0;
    for (size_t i = 0; change && i < count; i++) {
        change[items[i].first] += items[i].size_bytes;
        change[items[i].last + 1] -= items[i].size_bytes;
    }
    for (size_t launch = 0; change && launch < launches; launch++) {
        alive += change[launch];
        result->bound_bytes = alive > result->bound_bytes ? alive : result->bound_bytes;
    }
    free(change);
    return change != NULL;
}

bool plan(struct plan_item *items, size_t count, size_t launches, struct plan_result *out_result)
{
    *out_result = (struct plan_result){0};
    return bound(items, count, launches, out_result) && place_all(items, count, out_result);
}
