/* compiler/plan.c - see plan.h. */
#include "forge/compiler/plan.h"

#include <stdlib.h>

static int by_size(const void *left, const void *right)
{
    const struct plan_item *a = *(struct plan_item *const *)left, *b = *(struct plan_item *const *)right;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes < b->size_bytes ? 1 : -1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a < b ? -1 : a > b; /* one order on every machine */
}

static bool meet(const struct plan_item *a, const struct plan_item *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest gap that fits between what is placed and alive at the same time. `placed` is in order of offsets. */
static uint64_t find_gap(struct plan_item *const *placed, size_t count, const struct plan_item *item)
{
    uint64_t end = 0;
    for (size_t i = 0; i < count; i++) {
        if (!meet(placed[i], item))
            continue;
        if (placed[i]->offset_bytes >= end + item->size_bytes)
            break;
        uint64_t after = placed[i]->offset_bytes + placed[i]->size_bytes;
        end = after > end ? after : end;
    }
    return end;
}

static void insert(struct plan_item **placed, size_t count, struct plan_item *item)
{
    for (; count > 0 && placed[count - 1]->offset_bytes > item->offset_bytes; count--)
        placed[count] = placed[count - 1];
    placed[count] = item;
}

bool plan(struct plan_item *items, size_t count, uint64_t *out_size_bytes)
{
    struct plan_item **order = calloc(count + 1, sizeof *order), **placed = calloc(count + 1, sizeof *placed);
    *out_size_bytes = 0;
    for (size_t i = 0; order && placed && i < count; i++)
        order[i] = &items[i];
    if (order && placed)
        qsort(order, count, sizeof *order, by_size);
    for (size_t i = 0; order && placed && i < count; i++) {
        order[i]->offset_bytes = find_gap(placed, i, order[i]);
        insert(placed, i, order[i]);
        uint64_t end = order[i]->offset_bytes + order[i]->size_bytes;
        *out_size_bytes = end > *out_size_bytes ? end : *out_size_bytes;
    }
    bool done = order && placed;
    free(order);
    free(placed);
    return done;
}

uint64_t plan_bound(const struct plan_item *items, size_t count, size_t launches)
{
    uint64_t bound = 0;
    for (size_t launch = 0; launch < launches; launch++) {
        uint64_t alive = 0;
        for (size_t i = 0; i < count; i++)
            alive += items[i].first <= launch && launch <= items[i].last ? items[i].size_bytes : 0;
        bound = alive > bound ? alive : bound;
    }
    return bound;
}
