/* joulec/module/flow.c - see flow.h.
 *
 * Note: a block has three numbers here. The first is its index in the function. The second is its preorder
 * number in a depth-first search ("met"), which is used for dominators. The third is its rank in reverse
 * postorder, which all other code uses.
 */
#include "joulec/module/flow.h"

#include <string.h>

/* State of the depth-first search and of the dominator computation. */
struct walk {
    const struct function *function;
    struct flow *out;
    size_t count;    /* blocks reached by the search */
    uint32_t *met;   /* preorder number of each block; FLOW_NONE: not reached */
    uint32_t *block; /* block of each preorder number: the inverse of `met` */
    /* The following arrays are indexed by preorder number. */
    uint32_t *parent;    /* parent in the depth-first tree */
    uint32_t *semi;      /* semidominator */
    uint32_t *dominator; /* immediate dominator */
    /* A forest of the processed vertices. ancestor[v]: parent of v. best[v]: the vertex with the minimal
     * semidominator on the path from v to the root of its tree. */
    uint32_t *ancestor, *best;
    uint32_t *bucket, *next; /* lists of vertices by semidominator */
    uint32_t *stack;
    size_t *edge; /* index of the next edge to visit, for each block */
};

/* Searches the blocks depth-first. Fills `order` from its end: a block is added when all its successors have
 * been visited. */
static void find_order(struct walk *w, size_t blocks)
{
    size_t depth = 1, place = blocks;
    w->stack[0] = 0;
    w->met[0] = 0;
    w->block[w->count++] = 0;
    while (depth) {
        uint32_t block = w->stack[depth - 1];
        const struct block *b = &w->function->blocks[block];
        if (w->edge[block] == b->edge_count) {
            w->out->order[--place] = block;
            depth--;
            continue;
        }
        uint32_t to = b->edges[w->edge[block]++].to;
        if (w->met[to] != FLOW_NONE)
            continue;
        w->parent[w->count] = w->met[block];
        w->met[to] = (uint32_t)w->count;
        w->block[w->count++] = to;
        w->stack[depth++] = to;
    }
    w->out->reached = w->count;
    memmove(w->out->order, w->out->order + place, w->count * sizeof *w->out->order);
    for (uint32_t i = 0; i < w->count; i++)
        w->out->rank[w->out->order[i]] = i;
}

static void find_predecessors(struct flow *flow, const struct function *f)
{
    uint32_t *begin = flow->predecessor_begin;
    for (size_t b = 0; b < f->block_count; b++)
        for (size_t e = 0; e < f->blocks[b].edge_count; e++)
            begin[f->blocks[b].edges[e].to + 2]++;
    for (size_t b = 2; b < f->block_count + 2; b++)
        begin[b] += begin[b - 1];
    for (uint32_t b = 0; b < f->block_count; b++)
        for (size_t e = 0; e < f->blocks[b].edge_count; e++)
            flow->predecessors[begin[f->blocks[b].edges[e].to + 1]++] = b;
}

/* --- dominators, by preorder number --------------------------------------------------------------------- */

/* Returns the vertex with the minimal semidominator on the path from v to the root of its tree, without the
 * root. Compresses the path. The paper calls this function EVAL. */
static uint32_t find_min_semi(struct walk *w, uint32_t v)
{
    size_t depth = 0;
    if (w->ancestor[v] == FLOW_NONE)
        return v;
    for (uint32_t at = v; w->ancestor[w->ancestor[at]] != FLOW_NONE; at = w->ancestor[at])
        w->stack[depth++] = at;
    while (depth) {
        uint32_t at = w->stack[--depth], above = w->ancestor[at];
        if (w->semi[w->best[above]] < w->semi[w->best[at]])
            w->best[at] = w->best[above];
        w->ancestor[at] = w->ancestor[above];
    }
    return w->best[v];
}

static void find_semi(struct walk *w, uint32_t v)
{
    const struct flow *flow = w->out;
    uint32_t block = w->block[v];
    for (uint32_t k = flow->predecessor_begin[block]; k < flow->predecessor_begin[block + 1]; k++) {
        uint32_t from = w->met[flow->predecessors[k]];
        uint32_t semi = from == FLOW_NONE ? FLOW_NONE : w->semi[find_min_semi(w, from)];
        if (semi < w->semi[v])
            w->semi[v] = semi;
    }
    w->next[v] = w->bucket[w->semi[v]];
    w->bucket[w->semi[v]] = v;
}

static void find_dominators(struct walk *w)
{
    for (uint32_t v = 0; v < w->count; v++) {
        w->semi[v] = w->best[v] = v;
        w->ancestor[v] = w->bucket[v] = FLOW_NONE;
    }
    for (uint32_t v = (uint32_t)w->count - 1; v > 0; v--) {
        uint32_t parent = w->parent[v];
        find_semi(w, v);
        w->ancestor[v] = parent;
        for (uint32_t u = w->bucket[parent]; u != FLOW_NONE; u = w->next[u]) {
            uint32_t by = find_min_semi(w, u);
            w->dominator[u] = w->semi[by] < w->semi[u] ? by : parent;
        }
        w->bucket[parent] = FLOW_NONE;
    }
    for (uint32_t v = 1; v < w->count; v++)
        if (w->dominator[v] != w->semi[v])
            w->dominator[v] = w->dominator[w->dominator[v]];
}

/* Numbers the dominator tree in preorder. No recursion is needed, because a dominator has a smaller preorder
 * number than the vertices that it dominates. */
static void number_tree(struct walk *w)
{
    uint32_t *size = w->best, *place = w->semi; /* reused arrays: their contents are no longer needed */
    const uint32_t *block = w->block;
    for (uint32_t v = 0; v < w->count; v++)
        size[v] = 1;
    for (uint32_t v = (uint32_t)w->count - 1; v > 0; v--)
        size[w->dominator[v]] += size[v];
    place[0] = 0;
    for (uint32_t v = 0; v < w->count; v++) {
        if (v > 0) {
            place[v] = place[w->dominator[v]];
            place[w->dominator[v]] += size[v];
        }
        w->out->dominator[block[v]] = block[v ? w->dominator[v] : 0];
        w->out->tree_first[block[v]] = place[v];
        w->out->tree_last[block[v]] = place[v] + size[v] - 1;
        place[v]++;
    }
}

/* --- whole computation ---------------------------------------------------------------------------------- */

static bool alloc_flow(struct arena *arena, const struct function *f, struct flow *out)
{
    size_t size = (f->block_count + 2) * sizeof(uint32_t), edges = 0;
    for (size_t b = 0; b < f->block_count; b++)
        edges += f->blocks[b].edge_count;
    *out = (struct flow){.order = arena_alloc(arena, size),
                         .rank = arena_alloc(arena, size),
                         .predecessors = arena_alloc(arena, (edges + 1) * sizeof(uint32_t)),
                         .predecessor_begin = arena_alloc(arena, size),
                         .tree_first = arena_alloc(arena, size),
                         .tree_last = arena_alloc(arena, size),
                         .dominator = arena_alloc(arena, size)};
    return out->order && out->rank && out->predecessors && out->predecessor_begin && out->tree_first &&
           out->tree_last && out->dominator;
}

/* Allocates the temporary arrays. Returns false if out of memory. */
static bool alloc_walk(struct arena *arena, size_t blocks, struct walk *w)
{
    uint32_t **lists[] = {&w->met,      &w->block, &w->parent, &w->semi, &w->dominator,
                          &w->ancestor, &w->best,  &w->bucket, &w->next, &w->stack};
    bool is_good = true;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        *lists[i] = arena_alloc(arena, (blocks + 1) * sizeof(uint32_t));
        is_good = is_good && *lists[i];
    }
    w->edge = arena_alloc(arena, (blocks + 1) * sizeof *w->edge);
    return is_good && w->edge;
}

joule_status flow_find(struct arena *arena, const struct function *function, struct flow *out_flow)
{
    size_t blocks = function->block_count;
    struct arena scratch = {0};
    struct walk w = {.function = function, .out = out_flow};
    bool is_good = alloc_flow(arena, function, out_flow) && alloc_walk(&scratch, blocks, &w);
    if (is_good && blocks) {
        memset(w.met, 0xff, blocks * sizeof *w.met);
        memset(out_flow->rank, 0xff, blocks * sizeof *out_flow->rank);
        find_order(&w, blocks);
        find_predecessors(out_flow, function);
        find_dominators(&w);
        number_tree(&w);
    }
    arena_free(&scratch);
    return is_good ? JOULE_OK : JOULE_NO_MEMORY;
}
