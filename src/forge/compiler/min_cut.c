/* compiler/min_cut.c - see min_cut.h.
 *
 * Vertices 0 to count - 1 are the numbers; a number is 1 if its vertex is on the side of the sink. */
#include "forge/compiler/min_cut.h"

#include <math.h>
#include <stdlib.h>

enum { NONE = UINT32_MAX };

/* An edge, and in the next entry the edge back. */
struct edge {
    uint32_t to, next; /* next: the next edge of the same vertex, or NONE */
    double room;       /* capacity that no flow uses yet */
};

struct min_cut {
    size_t count; /* vertices, with source and sink */
    size_t edge_count;
    struct edge *edges;
    uint32_t *first;    /* [count]: first edge of each vertex, or NONE */
    uint32_t *next;     /* [count]: first edge that the present search has not used up */
    uint32_t *level;    /* [count]: distance from the source in edges with room, or NONE */
    uint32_t *waiting;  /* [count]: vertices in the order in which they were found */
    uint32_t *path;     /* [count]: edges from the source to the present vertex */
    double *zero, *one; /* [count]: costs of numbers */
    double smallest;    /* room below this counts as none */
};

struct min_cut *min_cut_new(size_t count, size_t max_pairs)
{
    struct min_cut *cut = calloc(1, sizeof *cut);
    if (!cut)
        return NULL;
    cut->count = count + 2;
    cut->edges = calloc(2 * (max_pairs + count) + 1, sizeof *cut->edges);
    cut->first = calloc(cut->count, sizeof *cut->first);
    cut->next = calloc(cut->count, sizeof *cut->next);
    cut->level = calloc(cut->count, sizeof *cut->level);
    cut->waiting = calloc(cut->count, sizeof *cut->waiting);
    cut->path = calloc(cut->count, sizeof *cut->path);
    cut->zero = calloc(cut->count, sizeof *cut->zero);
    cut->one = calloc(cut->count, sizeof *cut->one);
    for (size_t i = 0; cut->first && i < cut->count; i++)
        cut->first[i] = NONE;
    if (cut->edges && cut->first && cut->next && cut->level && cut->waiting && cut->path && cut->zero &&
        cut->one)
        return cut;
    min_cut_free(cut);
    return NULL;
}

void min_cut_free(struct min_cut *cut)
{
    if (!cut)
        return;
    free(cut->edges);
    free(cut->first);
    free(cut->next);
    free(cut->level);
    free(cut->waiting);
    free(cut->path);
    free(cut->zero);
    free(cut->one);
    free(cut);
}

static void add_edge(struct min_cut *cut, uint32_t from, uint32_t to, double capacity)
{
    struct edge *edge = &cut->edges[cut->edge_count];
    edge[0] = (struct edge){to, cut->first[from], capacity};
    edge[1] = (struct edge){from, cut->first[to], 0};
    cut->first[from] = (uint32_t)cut->edge_count;
    cut->first[to] = (uint32_t)cut->edge_count + 1;
    cut->edge_count += 2;
}

void min_cut_add(struct min_cut *cut, size_t i, double zero, double one)
{
    cut->zero[i] += zero;
    cut->one[i] += one;
}

void min_cut_add_pair(struct min_cut *cut, size_t i, size_t k, double cost)
{
    add_edge(cut, (uint32_t)i, (uint32_t)k, cost);
}

/* Sets the levels. Returns true if the sink can be reached. */
static bool find_levels(struct min_cut *cut, uint32_t source, uint32_t sink)
{
    size_t found = 1;
    for (size_t i = 0; i < cut->count; i++)
        cut->level[i] = NONE;
    cut->level[source] = 0;
    cut->waiting[0] = source;
    for (size_t at = 0; at < found; at++) {
        uint32_t vertex = cut->waiting[at];
        for (uint32_t e = cut->first[vertex]; e != NONE; e = cut->edges[e].next) {
            const struct edge *edge = &cut->edges[e];
            if (edge->room <= cut->smallest || cut->level[edge->to] != NONE)
                continue;
            cut->level[edge->to] = cut->level[vertex] + 1;
            cut->waiting[found++] = edge->to;
        }
    }
    return cut->level[sink] != NONE;
}

/* Sends flow along the path of `length` edges, the least room of its edges. Returns the length of the path up
 * to the first edge that then has no room. */
static size_t send_flow(struct min_cut *cut, size_t length)
{
    double room = INFINITY;
    size_t full = 0;
    for (size_t i = 0; i < length; i++)
        room = fmin(room, cut->edges[cut->path[i]].room);
    for (size_t i = length; i-- > 0;) {
        cut->edges[cut->path[i]].room -= room;
        cut->edges[cut->path[i] ^ 1].room += room;
        if (cut->edges[cut->path[i]].room <= cut->smallest)
            full = i;
    }
    return full;
}

/* Fills all shortest paths with flow. */
static void fill_paths(struct min_cut *cut, uint32_t source, uint32_t sink)
{
    size_t length = 0;
    for (size_t i = 0; i < cut->count; i++)
        cut->next[i] = cut->first[i];
    for (uint32_t at = source;;) {
        if (at == sink) {
            length = send_flow(cut, length);
            at = length ? cut->edges[cut->path[length - 1]].to : source;
        }
        uint32_t e = cut->next[at];
        while (e != NONE &&
               (cut->edges[e].room <= cut->smallest || cut->level[cut->edges[e].to] != cut->level[at] + 1))
            e = cut->edges[e].next;
        cut->next[at] = e;
        if (e != NONE) {
            cut->path[length++] = e;
            at = cut->edges[e].to;
        } else if (length == 0) {
            return;
        } else { /* a dead end */
            cut->level[at] = NONE;
            at = cut->edges[cut->path[--length] ^ 1].to;
        }
    }
}

void min_cut_solve(struct min_cut *cut, bool *out_numbers)
{
    uint32_t source = (uint32_t)cut->count - 2, sink = source + 1;
    double largest = 0;
    for (uint32_t i = 0; i < source; i++) {
        double difference = cut->one[i] - cut->zero[i];
        largest = fmax(largest, fabs(difference));
        if (difference >= 0)
            add_edge(cut, source, i, difference);
        else
            add_edge(cut, i, sink, -difference);
    }
    cut->smallest = largest * 1e-14;
    while (find_levels(cut, source, sink))
        fill_paths(cut, source, sink);
    /* the vertices from which the sink can be reached are 1; all others are 0 */
    size_t found = 1;
    for (uint32_t i = 0; i < source; i++)
        out_numbers[i] = false;
    cut->waiting[0] = sink;
    for (size_t at = 0; at < found; at++)
        for (uint32_t e = cut->first[cut->waiting[at]]; e != NONE; e = cut->edges[e].next) {
            uint32_t from = cut->edges[e].to;
            if (from >= source || out_numbers[from] || cut->edges[e ^ 1].room <= cut->smallest)
                continue;
            out_numbers[from] = true;
            cut->waiting[found++] = from;
        }
}
