/* infer/tokenizer/merge_symbols.c - see merge_symbols.h. */
#include "forge/infer/tokenizer/merge_symbols.h"

#include <stdlib.h>
#include "base/array.h"

bool merger_add(struct merger *merger, uint32_t begin, uint32_t size, int32_t token)
{
    size_t i = merger->count;
    if (!ARRAY_ROOM(merger->symbols, merger->capacity, i))
        return false;
    merger->symbols[i] = (struct symbol){.begin = begin,
                                         .size = size,
                                         .previous = i ? (uint32_t)(i - 1) : SYMBOL_NONE,
                                         .next = SYMBOL_NONE,
                                         .token = token};
    if (i)
        merger->symbols[i - 1].next = (uint32_t)i;
    merger->count++;
    return true;
}

static bool push(struct merger *merger, struct merge_candidate candidate)
{
    if (!ARRAY_ROOM(merger->queue, merger->queue_capacity, merger->queue_count))
        return false;
    struct merge_candidate *queue = merger->queue;
    size_t i = merger->queue_count++;
    for (; i > 0 && candidate.order < queue[(i - 1) / 2].order; i = (i - 1) / 2)
        queue[i] = queue[(i - 1) / 2];
    queue[i] = candidate;
    return true;
}

/* Removes and returns the candidate with the lowest order. The queue must not be empty. */
static struct merge_candidate pop(struct merger *merger)
{
    struct merge_candidate *queue = merger->queue, first = queue[0], last = queue[--merger->queue_count];
    size_t i = 0, count = merger->queue_count;
    for (size_t child = 1; child < count; child = 2 * i + 1) {
        child += child + 1 < count && queue[child + 1].order < queue[child].order;
        if (last.order <= queue[child].order)
            break;
        queue[i] = queue[child];
        i = child;
    }
    queue[i] = last;
    return first;
}

/* If the pair that begins with symbol `left` may be merged, adds it to the queue. */
static bool push_pair(struct merger *merger, uint32_t left, merge_pair_fn *pair, const void *context)
{
    const struct symbol *a = &merger->symbols[left], *b = &merger->symbols[a->next];
    uint32_t priority;
    int32_t token;
    if (!pair(context, a, b, &priority, &token))
        return true;
    return push(merger, (struct merge_candidate){.order = (uint64_t)priority << 32 | left,
                                                 .size = a->size + b->size,
                                                 .token = token});
}

bool merger_run(struct merger *merger, merge_pair_fn *pair, const void *context)
{
    struct symbol *symbols = merger->symbols;
    merger->queue_count = 0;
    for (size_t i = 0; i + 1 < merger->count; i++)
        if (!push_pair(merger, (uint32_t)i, pair, context))
            return false;
    while (merger->queue_count > 0) {
        struct merge_candidate candidate = pop(merger);
        uint32_t left = (uint32_t)candidate.order, right = symbols[left].next;
        if (symbols[left].size == 0 || right == SYMBOL_NONE ||
            symbols[left].size + symbols[right].size != candidate.size)
            continue;
        uint32_t after = symbols[right].next;
        symbols[left].size = candidate.size;
        symbols[left].token = candidate.token;
        symbols[left].next = after;
        symbols[right].size = 0;
        if (after != SYMBOL_NONE) {
            symbols[after].previous = left;
            if (!push_pair(merger, left, pair, context))
                return false;
        }
        if (symbols[left].previous != SYMBOL_NONE &&
            !push_pair(merger, symbols[left].previous, pair, context))
            return false;
    }
    return true;
}

void merger_free(struct merger *merger)
{
    free(merger->symbols);
    free(merger->queue);
    *merger = (struct merger){0};
}
