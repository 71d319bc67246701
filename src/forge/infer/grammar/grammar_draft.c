/* infer/grammar/grammar_draft.c - builds the automaton of a grammar; see grammar_automaton.h. */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/error.h"
#include "forge/infer/grammar/grammar_automaton.h"

enum { MAX_NODES = 1 << 17, MAX_EDGES = 1 << 20 };

/* --- nodes and edges ------------------------------------------------------------------------------------ */

uint32_t draft_node(struct draft *d)
{
    if (d->status == JOULE_OK && d->node_count == MAX_NODES)
        d->status = JOULE_UNSUPPORTED;
    if (d->status == JOULE_OK && !ARRAY_ROOM(d->nodes, d->node_capacity, d->node_count))
        d->status = JOULE_NO_MEMORY;
    if (d->status != JOULE_OK)
        return 0;
    d->nodes[d->node_count] = (struct draft_node){.first = NO_NODE, .last = NO_NODE};
    return (uint32_t)d->node_count++;
}

static void add_edge(struct draft *d, uint32_t source, enum draft_kind kind, struct grammar_edge edge)
{
    if (d->status == JOULE_OK && d->edge_count == MAX_EDGES)
        d->status = JOULE_UNSUPPORTED;
    if (d->status == JOULE_OK && !ARRAY_ROOM(d->edges, d->edge_capacity, d->edge_count))
        d->status = JOULE_NO_MEMORY;
    if (d->status != JOULE_OK)
        return;
    uint32_t number = (uint32_t)d->edge_count++;
    d->edges[number] = (struct draft_edge){.edge = edge, .kind = kind, .source = source, .next = NO_NODE};
    struct draft_node *node = &d->nodes[source];
    if (node->first == NO_NODE)
        node->first = number;
    else
        d->edges[node->last].next = number;
    node->last = number;
}

void draft_bytes(struct draft *d, uint32_t source, uint8_t low, uint8_t high, uint32_t target)
{
    add_edge(d, source, DRAFT_BYTE,
             (struct grammar_edge){.target = target, .callee = NO_NODE, .low = low, .high = high});
}

void draft_empty(struct draft *d, uint32_t source, uint32_t target)
{
    add_edge(d, source, DRAFT_EMPTY, (struct grammar_edge){.target = target, .callee = NO_NODE});
}

void draft_call(struct draft *d, uint32_t source, uint32_t callee, uint32_t target)
{
    add_edge(d, source, DRAFT_CALL, (struct grammar_edge){.target = target, .callee = callee});
}

void draft_final(struct draft *d, uint32_t node)
{
    if (d->status == JOULE_OK)
        d->nodes[node].is_final = true;
}

uint32_t draft_literal(struct draft *d, uint32_t source, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size && d->status == JOULE_OK; i++) {
        uint8_t byte = (uint8_t)bytes[i];
        uint32_t e = d->nodes[source].first;
        while (e != NO_NODE && !(d->edges[e].kind == DRAFT_BYTE && d->edges[e].edge.low == byte &&
                                 d->edges[e].edge.high == byte))
            e = d->edges[e].next;
        if (e != NO_NODE) {
            source = d->edges[e].edge.target;
            continue;
        }
        uint32_t target = draft_node(d);
        draft_bytes(d, source, byte, byte, target);
        source = target;
    }
    return source;
}

void draft_free(struct draft *d)
{
    free(d->nodes);
    free(d->edges);
    *d = (struct draft){0};
}

/* --- needs ---------------------------------------------------------------------------------------------- */

/* Work memory for computing the `need` of each node: the edges sorted by their targets, and a queue of
 * nodes. */
struct needs {
    const struct draft *draft;
    struct grammar_node *nodes;
    uint32_t *first, *by_target; /* [nodes + 1], [edges] */
    uint32_t *queue;             /* [nodes] */
    size_t queued;
};

/* If the need of a node is not known yet, sets it and queues the node. */
static void set_need(struct needs *n, uint32_t node, unsigned need)
{
    if (n->nodes[node].need != GRAMMAR_NO_NEED)
        return;
    n->nodes[node].need = (uint8_t)need;
    n->queue[n->queued++] = node;
}

static bool can_take(const struct needs *n, const struct draft_edge *edge, unsigned need)
{
    if (n->nodes[edge->edge.target].need > need)
        return false;
    return edge->kind != DRAFT_CALL || n->nodes[edge->edge.callee].need < need;
}

static void sort_by_target(struct needs *n)
{
    const struct draft *d = n->draft;
    for (size_t i = 0; i < d->edge_count; i++)
        n->first[d->edges[i].edge.target + 1]++;
    for (size_t i = 0; i < d->node_count; i++)
        n->first[i + 1] += n->first[i];
    /* n->queue is used as work memory: the number of edges of each target that are already sorted. */
    for (size_t i = d->edge_count; i-- > 0;)
        n->by_target[n->first[d->edges[i].edge.target] + n->queue[d->edges[i].edge.target]++] = (uint32_t)i;
}

/* Finds the needs in ascending order: first the nodes that need no frames, then those that need one frame,
 * and so on. */
static void find_needs(struct needs *n)
{
    const struct draft *d = n->draft;
    for (size_t i = 0; i < d->node_count; i++)
        n->nodes[i].need = GRAMMAR_NO_NEED;
    for (unsigned need = 0; need <= GRAMMAR_MAX_DEPTH; need++) {
        n->queued = 0;
        for (size_t i = 0; need == 0 && i < d->node_count; i++)
            if (d->nodes[i].is_final)
                set_need(n, (uint32_t)i, 0);
        for (size_t i = 0; need > 0 && i < d->edge_count; i++)
            if (d->edges[i].kind == DRAFT_CALL && can_take(n, &d->edges[i], need))
                set_need(n, d->edges[i].source, need);
        if (n->queued == 0)
            return;
        for (size_t i = 0; i < n->queued; i++)
            for (uint32_t k = n->first[n->queue[i]]; k < n->first[n->queue[i] + 1]; k++)
                if (can_take(n, &d->edges[n->by_target[k]], need))
                    set_need(n, d->edges[n->by_target[k]].source, need);
    }
}

static bool compute_needs(const struct draft *d, struct grammar_node *nodes)
{
    struct needs n = {.draft = d, .nodes = nodes};
    n.first = calloc(d->node_count + 1, sizeof *n.first);
    n.queue = calloc(d->node_count, sizeof *n.queue);
    n.by_target = calloc(d->edge_count + 1, sizeof *n.by_target);
    bool is_ok = n.first && n.queue && n.by_target;
    if (is_ok) {
        sort_by_target(&n);
        find_needs(&n);
    }
    free(n.first);
    free(n.queue);
    free(n.by_target);
    return is_ok;
}

/* --- finish --------------------------------------------------------------------------------------------- */

/* Copies the edges, so that those of a node are adjacent and begin with the edges that consume a byte. Omits
 * edges to nodes from which the end cannot be reached. */
static void place_edges(const struct draft *d, struct grammar *g)
{
    uint32_t count = 0;
    for (size_t i = 0; i < d->node_count; i++) {
        g->nodes[i].first_byte = count;
        for (int is_other = 0; is_other < 2; is_other++) {
            if (is_other)
                g->nodes[i].first_other = count;
            for (uint32_t e = d->nodes[i].first; e != NO_NODE; e = d->edges[e].next)
                if ((d->edges[e].kind != DRAFT_BYTE) == is_other &&
                    g->nodes[d->edges[e].edge.target].need != GRAMMAR_NO_NEED)
                    g->edges[count++] = d->edges[e].edge;
        }
    }
    g->nodes[d->node_count].first_byte = count;
}

joule_status draft_finish(struct draft *d, uint32_t start, struct grammar **out_grammar,
                          joule_error *out_error)
{
    struct grammar *g = d->status == JOULE_OK ? calloc(1, sizeof *g) : NULL;
    if (g) {
        g->nodes = calloc(d->node_count + 1, sizeof *g->nodes);
        g->edges = calloc(d->edge_count + 1, sizeof *g->edges);
    }
    if (d->status == JOULE_UNSUPPORTED)
        return error_set(out_error, JOULE_UNSUPPORTED,
                         "cannot compile the JSON schema: it needs more than %d states or %d edges",
                         MAX_NODES, MAX_EDGES);
    if (!g || !g->nodes || !g->edges || !compute_needs(d, g->nodes)) {
        grammar_free(g);
        return error_set(out_error, JOULE_NO_MEMORY, "cannot compile the JSON schema: out of memory");
    }
    for (size_t i = 0; i < d->node_count; i++)
        g->nodes[i].is_final = d->nodes[i].is_final;
    g->start = start;
    g->node_count = (uint32_t)d->node_count;
    place_edges(d, g);
    if (g->nodes[start].need == GRAMMAR_NO_NEED) {
        grammar_free(g);
        return error_set(out_error, JOULE_INVALID,
                         "cannot compile the JSON schema: no value satisfies it with at most %d levels",
                         GRAMMAR_MAX_DEPTH);
    }
    *out_grammar = g;
    return JOULE_OK;
}

void grammar_free(struct grammar *g)
{
    if (!g)
        return;
    free(g->nodes);
    free(g->edges);
    free(g);
}
