/* compiler/order.c - the pass that moves updates of parameters to the earliest position.
 *
 * Launches run in the order of nodes. In a builder's graph all updates are at the end, so that all gradients
 * are in memory at the same time. This pass moves each update to the first position after its gradient and
 * after all nodes that read the old values. The order of the nodes of other phases does not change.
 *
 * Note: an update may overwrite a slot that is not one of its inputs, so edges alone do not determine a valid
 * order. All readers of a slot must come before the writer of the slot.
 */
#include <stdlib.h>
#include "forge/compiler/pass.h"

enum { NONE = UINT32_MAX };

/* A node that reads a slot, directly or through views. */
struct reader {
    uint32_t node, next;
};

/* State of the pass: the readers and the writer of each slot, and the position of each update. */
struct ordering {
    const forge_graph *graph;
    uint32_t *slot_of;      /* one for each value: the slot of which the value is a view, or NONE */
    uint32_t *first_reader; /* first reader of each slot */
    struct reader *readers; /* at most one for each edge of the graph */
    uint32_t reader_count;
    uint32_t *first_written, *next_written; /* the slots that each node writes, as linked lists */
    /* for an update: the last node of another phase that must come before the update, or NONE */
    uint32_t *earliest;
    uint32_t *after; /* for an update: the node of another phase directly after which the update is placed */
};

static bool is_update(const struct ordering *o, size_t n)
{
    return o->graph->nodes[n].phase == FORGE_PHASE_OPTIMISER;
}

/* --- readers and writers of slots ----------------------------------------------------------------------- */

static void note_reads(struct ordering *o, uint32_t n)
{
    const struct node *node = &o->graph->nodes[n];
    for (size_t i = 0; i < node->output_count; i++)
        o->slot_of[node->output + i] = NONE;
    if (node->op == OP_READ)
        o->slot_of[node->output] = ((const struct read_attributes *)node->attributes)->slot;
    if (node_is_view(node))
        o->slot_of[node->output] = o->slot_of[node_input(o->graph, node, 0)];
    for (size_t i = 0; i < node->input_count; i++) {
        uint32_t slot = o->slot_of[node_input(o->graph, node, i)];
        if (slot == NONE)
            continue;
        o->readers[o->reader_count] = (struct reader){n, o->first_reader[slot]};
        o->first_reader[slot] = o->reader_count++;
    }
}

static void note_accesses(struct ordering *o)
{
    const forge_graph *graph = o->graph;
    for (uint32_t n = 0; n < graph->node_count; n++)
        o->first_written[n] = NONE;
    for (uint32_t s = 0; s < graph->slot_count; s++) {
        o->first_reader[s] = NONE;
        if (graph->slots[s].write == FORGE_NO_VALUE)
            continue;
        uint32_t n = graph->values[graph->slots[s].write].node;
        o->next_written[s] = o->first_written[n];
        o->first_written[n] = s;
    }
    for (uint32_t n = 0; n < graph->node_count; n++)
        note_reads(o, n);
}

/* --- positions ------------------------------------------------------------------------------------------ */

/* Called for node n and each node `predecessor` that must come before node n. */
typedef void predecessor_fn(struct ordering *o, uint32_t n, uint32_t predecessor);

/* Calls fn for every node that must come before node n. */
static void visit_predecessors(struct ordering *o, uint32_t n, predecessor_fn *fn)
{
    const struct node *node = &o->graph->nodes[n];
    for (size_t i = 0; i < node->input_count; i++)
        fn(o, n, o->graph->values[node_input(o->graph, node, i)].node);
    for (uint32_t s = o->first_written[n]; s != NONE; s = o->next_written[s])
        for (uint32_t r = o->first_reader[s]; r != NONE; r = o->readers[r].next)
            if (o->readers[r].node < n)
                fn(o, n, o->readers[r].node);
}

static void require_after(struct ordering *o, uint32_t n, uint32_t predecessor)
{
    uint32_t at = is_update(o, predecessor) ? o->earliest[predecessor] : predecessor;
    if (at != NONE && (o->earliest[n] == NONE || o->earliest[n] < at))
        o->earliest[n] = at;
}

static void require_before(struct ordering *o, uint32_t n, uint32_t predecessor)
{
    uint32_t at = is_update(o, n) ? o->after[n] : n - 1;
    if (is_update(o, predecessor) && o->after[predecessor] > at)
        o->after[predecessor] = at;
}

/* Places each update that writes a slot as early as possible. Other updates are placed as late as the nodes
 * that depend on them allow. */
static void choose_positions(struct ordering *o)
{
    uint32_t count = (uint32_t)o->graph->node_count;
    for (uint32_t n = 0; n < count; n++) {
        o->earliest[n] = NONE;
        if (is_update(o, n))
            visit_predecessors(o, n, require_after);
        o->after[n] = n;
    }
    for (uint32_t n = count; n-- > 0;) {
        if (is_update(o, n) && o->first_written[n] != NONE && o->earliest[n] != NONE &&
            o->after[n] > o->earliest[n])
            o->after[n] = o->earliest[n];
        visit_predecessors(o, n, require_before);
    }
}

/* --- the graph ------------------------------------------------------------------------------------------ */

/* A node, and the position at which it is placed. */
struct rank {
    uint32_t after, node;
    bool is_update;
};

static int by_rank(const void *left, const void *right)
{
    const struct rank *a = left, *b = right;
    if (a->after != b->after)
        return a->after < b->after ? -1 : 1;
    if (a->is_update != b->is_update)
        return a->is_update ? 1 : -1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static bool copy_in_order(forge_builder *b, const struct ordering *o, struct rank *ranks, forge_value *map)
{
    size_t count = o->graph->node_count;
    for (uint32_t n = 0; n < count; n++)
        ranks[n] = (struct rank){o->after[n], n, is_update(o, n)};
    qsort(ranks, count, sizeof *ranks, by_rank);
    bool is_ok = builder_begin_copy(b, o->graph, map);
    for (size_t i = 0; is_ok && i < count; i++)
        is_ok = builder_copy_node(b, o->graph, &o->graph->nodes[ranks[i].node], map);
    if (is_ok)
        builder_end_copy(b, o->graph, map);
    return is_ok;
}

joule_status pass_order(const forge_graph *graph, forge_device *device, void *context,
                        forge_graph **out_graph, joule_error *out_error)
{
    (void)device, (void)context;
    struct arena arena = {0};
    size_t nodes = graph->node_count + 1, slots = graph->slot_count + 1;
    struct ordering o = {.graph = graph,
                         .slot_of = arena_alloc(&arena, graph->value_count * sizeof(uint32_t)),
                         .first_reader = arena_alloc(&arena, slots * sizeof(uint32_t)),
                         .readers = arena_alloc(&arena, (graph->edge_count + 1) * sizeof(struct reader)),
                         .first_written = arena_alloc(&arena, nodes * sizeof(uint32_t)),
                         .next_written = arena_alloc(&arena, slots * sizeof(uint32_t)),
                         .earliest = arena_alloc(&arena, nodes * sizeof(uint32_t)),
                         .after = arena_alloc(&arena, nodes * sizeof(uint32_t))};
    struct rank *ranks = arena_alloc(&arena, nodes * sizeof *ranks);
    forge_value *map = arena_alloc(&arena, graph->value_count * sizeof *map);
    forge_builder *builder = builder_new(&graph->dims);
    bool has_memory = o.slot_of && o.first_reader && o.readers && o.first_written && o.next_written &&
                      o.earliest && o.after && ranks && map && builder;
    if (has_memory) {
        note_accesses(&o);
        choose_positions(&o);
    }
    if (!has_memory || !copy_in_order(builder, &o, ranks, map))
        builder_fail(builder, JOULE_NO_MEMORY, "out of memory");
    arena_free(&arena);
    return forge_builder_finish(builder, out_graph, out_error);
}
