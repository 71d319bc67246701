/* joulec/loops.c - see loops.h. */
#include "joulec/loops.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct search {
    const struct function *function;
    struct loops *out;
    uint32_t *rank;      /* of each block in the order; NONE: not reached */
    uint32_t *dominator; /* the immediate one, of each block */
    size_t count;        /* blocks */
    uint32_t *stack;
    size_t *next; /* edge of each block on the stack */
};

/* Fills the order backwards: a block stands when all that it leads to stand. */
static void put_in_order(struct search *s)
{
    size_t depth = 1, place = s->count;
    bool *is_seen = (bool *)s->dominator; /* not in use yet */
    s->stack[0] = 0;
    is_seen[0] = true;
    while (depth) {
        uint32_t block = s->stack[depth - 1];
        const struct block *b = &s->function->blocks[block];
        if (s->next[block] == b->edge_count) {
            s->out->order[--place] = block;
            depth--;
            continue;
        }
        uint32_t to = b->edges[s->next[block]++].to;
        if (is_seen[to])
            continue;
        is_seen[to] = true;
        s->stack[depth++] = to;
    }
    s->out->reached = s->count - place;
    memmove(s->out->order, s->out->order + place, s->out->reached * sizeof *s->out->order);
    for (uint32_t i = 0; i < s->out->reached; i++)
        s->rank[s->out->order[i]] = i;
}

static uint32_t common(const struct search *s, uint32_t a, uint32_t b)
{
    while (a != b) {
        while (s->rank[a] > s->rank[b])
            a = s->dominator[a];
        while (s->rank[b] > s->rank[a])
            b = s->dominator[b];
    }
    return a;
}

static bool meet(struct search *s, uint32_t from, uint32_t to)
{
    uint32_t now = s->dominator[to];
    uint32_t met = now == NONE ? from : common(s, now, from);
    s->dominator[to] = met;
    return met != now;
}

static void find_dominators(struct search *s)
{
    for (size_t i = 0; i < s->count; i++)
        s->dominator[i] = NONE;
    s->dominator[0] = 0;
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (size_t i = 0; i < s->out->reached; i++) {
            uint32_t from = s->out->order[i];
            const struct block *b = &s->function->blocks[from];
            for (size_t e = 0; e < b->edge_count; e++)
                if (b->edges[e].to != 0)
                    has_changed = meet(s, from, b->edges[e].to) || has_changed;
        }
    }
}

static bool dominates(const struct search *s, uint32_t a, uint32_t b)
{
    while (s->rank[b] > s->rank[a])
        b = s->dominator[b];
    return a == b;
}

/* --- loops -------------------------------------------------------------------------------------------------- */

static int by_rank_of_header(const void *a, const void *b, void *context)
{
    const uint32_t *rank = context;
    uint32_t left = rank[((const struct loop *)a)->header], right = rank[((const struct loop *)b)->header];
    return (left > right) - (left < right);
}

static int32_t find_header(const struct loops *loops, uint32_t header)
{
    for (size_t i = 0; i < loops->count; i++)
        if (loops->list[i].header == header)
            return (int32_t)i;
    return -1;
}

/* Every way back, from a block to one that dominates it. */
static void find_headers(struct search *s)
{
    struct loops *out = s->out;
    for (size_t i = 0; i < out->reached; i++) {
        const struct block *b = &s->function->blocks[out->order[i]];
        for (size_t e = 0; e < b->edge_count; e++) {
            uint32_t to = b->edges[e].to;
            if (s->rank[to] > i)
                continue;
            if (!dominates(s, to, out->order[i]))
                out->is_irregular = true;
            else if (find_header(out, to) < 0)
                out->list[out->count++] = (struct loop){.header = to, .parent = -1};
        }
    }
    qsort_r(out->list, out->count, sizeof *out->list, by_rank_of_header, s->rank);
}

static void take_place(struct loop *loop, const struct source_place *place)
{
    if (!loop->place.file)
        loop->place = *place;
}

/* A block of the loop that is new to it; the depth of the stack then. */
static size_t push(struct search *s, int32_t loop, uint32_t block, size_t depth)
{
    if (s->rank[block] == NONE || s->out->innermost[block] == loop)
        return depth;
    s->out->innermost[block] = loop;
    s->stack[depth] = block;
    return depth + 1;
}

/* All blocks from which a way back to the header goes without passing it. Inner loops come later and so win. */
static void fill(struct search *s, int32_t loop, const uint32_t *before, const uint32_t *before_begin)
{
    struct loops *out = s->out;
    uint32_t header = out->list[loop].header;
    size_t depth = 0;
    out->list[loop].parent = out->innermost[header];
    out->list[loop].depth = out->innermost[header] < 0 ? 1 : out->list[out->innermost[header]].depth + 1;
    out->innermost[header] = loop;
    for (uint32_t k = before_begin[header]; k < before_begin[header + 1]; k++)
        if (s->rank[before[k]] != NONE && dominates(s, header, before[k])) {
            take_place(&out->list[loop], &s->function->blocks[before[k]].loop_place);
            depth = push(s, loop, before[k], depth);
        }
    take_place(&out->list[loop], &s->function->blocks[header].place);
    while (depth) {
        uint32_t block = s->stack[--depth];
        for (uint32_t k = before_begin[block]; k < before_begin[block + 1]; k++)
            depth = push(s, loop, before[k], depth);
    }
}

/* before[before_begin[b] .. before_begin[b + 1]) lead to block b. */
static bool fill_all(struct search *s, struct arena *arena)
{
    const struct function *f = s->function;
    size_t edges = 0;
    for (size_t b = 0; b < s->count; b++)
        edges += f->blocks[b].edge_count;
    uint32_t *begin = arena_alloc(arena, (s->count + 2) * sizeof *begin);
    uint32_t *before = arena_alloc(arena, (edges + 1) * sizeof *before);
    if (!begin || !before)
        return false;
    for (size_t b = 0; b < s->count; b++)
        for (size_t e = 0; e < f->blocks[b].edge_count; e++)
            begin[f->blocks[b].edges[e].to + 2]++;
    for (size_t b = 2; b < s->count + 2; b++)
        begin[b] += begin[b - 1];
    for (uint32_t b = 0; b < s->count; b++)
        for (size_t e = 0; e < f->blocks[b].edge_count; e++)
            before[begin[f->blocks[b].edges[e].to + 1]++] = b;
    for (size_t i = 0; i < s->out->count; i++)
        fill(s, (int32_t)i, before, begin);
    return true;
}

joule_status loops_find(struct arena *arena, const struct function *function, struct loops *out_loops)
{
    size_t count = function->block_count;
    struct search s = {.function = function, .out = out_loops, .count = count};
    *out_loops = (struct loops){.list = arena_alloc(arena, (count + 1) * sizeof *out_loops->list),
                                .innermost = arena_alloc(arena, (count + 1) * sizeof *out_loops->innermost),
                                .order = arena_alloc(arena, (count + 1) * sizeof *out_loops->order)};
    s.rank = arena_alloc(arena, (count + 1) * sizeof *s.rank);
    s.dominator = arena_alloc(arena, (count + 1) * sizeof *s.dominator);
    s.stack = arena_alloc(arena, (count + 1) * sizeof *s.stack);
    s.next = arena_alloc(arena, (count + 1) * sizeof *s.next);
    if (!out_loops->list || !out_loops->innermost || !out_loops->order || !s.rank || !s.dominator ||
        !s.stack || !s.next)
        return JOULE_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        out_loops->innermost[i] = -1;
        s.rank[i] = NONE;
    }
    if (!count)
        return JOULE_OK;
    put_in_order(&s);
    find_dominators(&s);
    find_headers(&s);
    return fill_all(&s, arena) ? JOULE_OK : JOULE_NO_MEMORY;
}

bool loop_is_within(const struct loops *loops, int32_t loop, int32_t outer)
{
    while (loop >= 0 && loop != outer)
        loop = loops->list[loop].parent;
    return loop == outer;
}
