/* compiler/layout.c - the pass that chooses the layout of images between convolutions (ir/layout.h).
 *
 * A cluster is a set of nodes that can compute images in another layout (laid_node.h) and that are connected
 * by images. At the border of a cluster, images are reordered. A convolution needs no reorder of packed
 * images that it reads. For each layout, the seconds that the convolutions of the cluster save are compared
 * with the seconds of its reorders; the cluster gets the best layout, or stays packed if none saves time. */
#include <stdlib.h>
#include "base/error.h"
#include "forge/compiler/laid_node.h"

#define NONE UINT32_MAX

/* The layouts that can be chosen, best first if they save the same time. */
static const enum value_layout candidates[] = {LAYOUT_BLOCKS, LAYOUT_LAST};
enum { CANDIDATES = sizeof candidates / sizeof *candidates };

/* State of the pass. */
struct laying {
    const forge_graph *graph;
    forge_device *device;
    double flop_per_s;               /* of one core */
    struct laid_node *nodes;         /* by node, for the layout that is considered */
    const enum value_layout *wanted; /* the layout of all clusters; NULL: the best */
    uint32_t *cluster;               /* by node: a node of its cluster, or itself; see cluster_of */
    double *gains;            /* by node that represents a cluster: the seconds that the layout saves */
    double *best_gains;       /* by node: the seconds that the chosen layout of its cluster saves */
    uint8_t *layouts;         /* by node: the chosen layout */
    struct laid_node *chosen; /* by node: its description in the chosen layout */
    /* by value: the last node that paid for its reorder; each reorder is counted once for each cluster */
    uint32_t *paid;
    bool *is_kept;     /* by value: it is an output or the new value of a slot, and so must be packed */
    forge_value *laid; /* by value: the value in the layout of its cluster, or FORGE_NO_VALUE */
};

/* --- clusters ------------------------------------------------------------------------------------------- */

static uint32_t cluster_of(struct laying *l, uint32_t node)
{
    while (l->cluster[node] != node)
        node = l->cluster[node] = l->cluster[l->cluster[node]];
    return node;
}

/* Returns true if the node computes images in a layout. */
static bool makes_images(const struct laid_node *laid)
{
    return laid->kind != LAID_NOT && laid->kind != LAID_REDUCE;
}

/* Finds the nodes that can use the layout, and joins neighbours to clusters. */
static void find_clusters(struct laying *l, enum value_layout layout)
{
    const forge_graph *graph = l->graph;
    for (uint32_t n = 0; n < graph->node_count; n++) {
        const struct node *node = &graph->nodes[n];
        laid_node_of(graph, node, layout, l->device, &l->nodes[n]);
        l->cluster[n] = n;
        for (size_t i = 0; l->nodes[n].kind != LAID_NOT && i < l->nodes[n].count; i++) {
            const struct laid_operand *operand = &l->nodes[n].operands[i];
            uint32_t from = graph->values[node_input(graph, node, operand->input)].node;
            if ((operand->role == LAID_X || operand->role == LAID_EACH) && makes_images(&l->nodes[from]))
                l->cluster[cluster_of(l, n)] = cluster_of(l, from);
        }
    }
}

/* --- costs ---------------------------------------------------------------------------------------------- */

/* Returns true if the value is read from a slot that the graph does not write. */
static bool is_frozen(const forge_graph *graph, forge_value value)
{
    const struct node *node = graph_producer(graph, value);
    const struct read_attributes *read = node->attributes;
    return node->op == OP_READ && graph->slots[read->slot].write == FORGE_NO_VALUE;
}

/* Subtracts the seconds of a reorder of the value from the gain of a cluster, once for each cluster in
 * succession. */
static void pay_reorder(struct laying *l, uint32_t cluster, forge_value value)
{
    if (l->paid[value] == cluster)
        return;
    l->paid[value] = cluster;
    l->gains[cluster] -= layout_reorder_seconds(l->graph, value);
}

/* Adds what the node saves, and subtracts the reorders of its operands. */
static void count_node(struct laying *l, uint32_t n, enum value_layout layout)
{
    const forge_graph *graph = l->graph;
    const struct node *node = &graph->nodes[n];
    const struct laid_node *laid = &l->nodes[n];
    uint32_t own = laid->kind == LAID_NOT ? NONE : cluster_of(l, n);
    if (laid->kind == LAID_CONV) {
        forge_value weight = node_input(graph, node, laid->operands[1].input);
        l->gains[own] +=
            layout_gain(graph, node, laid, layout, is_frozen(graph, weight), l->flop_per_s, l->device);
    }
    for (size_t i = 0; own == NONE && i < node->input_count; i++) { /* it reads the cluster's images packed */
        forge_value value = node_input(graph, node, i);
        if (makes_images(&l->nodes[graph->values[value].node]))
            pay_reorder(l, cluster_of(l, graph->values[value].node), value);
    }
    for (size_t i = 0; own != NONE && i < laid->count; i++) { /* the cluster reads packed images */
        forge_value value = node_input(graph, node, laid->operands[i].input);
        if (laid->operands[i].role == LAID_EACH && !makes_images(&l->nodes[graph->values[value].node]))
            pay_reorder(l, own, value);
    }
    if (own != NONE && makes_images(laid) && l->is_kept[node->output])
        pay_reorder(l, own, node->output);
}

static void consider(struct laying *l, enum value_layout layout)
{
    uint32_t count = (uint32_t)l->graph->node_count;
    find_clusters(l, layout);
    for (uint32_t n = 0; n < count; n++)
        l->gains[n] = 0;
    for (size_t v = 0; v < l->graph->value_count; v++)
        l->paid[v] = NONE;
    for (uint32_t n = 0; n < count; n++)
        count_node(l, n, layout);
    for (uint32_t n = 0; n < count; n++) {
        double gain = l->nodes[n].kind == LAID_NOT ? 0 : l->wanted ? 1 : l->gains[cluster_of(l, n)];
        if (gain <= l->best_gains[n])
            continue;
        l->best_gains[n] = gain;
        l->layouts[n] = (uint8_t)layout;
        l->chosen[n] = l->nodes[n];
    }
}

/* --- the new graph -------------------------------------------------------------------------------------- */

static enum value_layout layout_of(const struct laying *l, forge_value value)
{
    uint32_t node = l->graph->values[value].node;
    return makes_images(&l->chosen[node]) ? (enum value_layout)l->layouts[node] : LAYOUT_PACKED;
}

static int64_t channels_of(const struct laying *l, forge_value value)
{
    return l->graph->values[value].shape.dims[1];
}

/* Returns the value in LAYOUT_PACKED, and adds a reorder if there is none yet. */
static forge_value packed(struct laying *l, forge_builder *builder, forge_value *map, forge_value value)
{
    if (map[value] == FORGE_NO_VALUE && builder_is_ok(builder)) {
        uint32_t place = builder->place;
        builder->place = builder->graph->values[l->laid[value]].place; /* a transfer reads another place */
        map[value] =
            laid_reorder(builder, l->laid[value], layout_of(l, value), LAYOUT_PACKED, channels_of(l, value));
        builder->place = place;
    }
    return map[value];
}

/* Returns an operand of a node in the layout `layout`. */
static forge_value operand_in(struct laying *l, forge_builder *builder, forge_value *map, forge_value value,
                              uint8_t role, enum value_layout layout)
{
    bool is_laid = layout_of(l, value) == layout;
    if (role == LAID_X)
        return is_laid ? l->laid[value] : packed(l, builder, map, value);
    if (role != LAID_EACH)
        return packed(l, builder, map, value);
    return is_laid ? l->laid[value]
                   : laid_reorder(builder, packed(l, builder, map, value), LAYOUT_PACKED, layout,
                                  channels_of(l, value));
}

static bool lay_node(forge_builder *builder, const forge_graph *graph, const struct node *node,
                     forge_value *map, void *context)
{
    struct laying *l = context;
    uint32_t n = (uint32_t)(node - graph->nodes);
    const struct laid_node *laid = &l->chosen[n];
    enum value_layout layout = (enum value_layout)l->layouts[n];
    forge_value operands[FUSED_MAX_INPUTS];
    if (node->op == OP_INPUT)
        return builder_copy_node(builder, graph, node, map);
    builder_set_provenance(builder, graph, node);
    if (laid->kind == LAID_NOT) {
        for (size_t i = 0; i < node->input_count; i++)
            packed(l, builder, map, node_input(graph, node, i));
        return builder_is_ok(builder) && builder_copy_node(builder, graph, node, map);
    }
    for (size_t i = 0; i < laid->count; i++)
        operands[i] = operand_in(l, builder, map, node_input(graph, node, laid->operands[i].input),
                                 laid->operands[i].role, layout);
    if (!builder_is_ok(builder))
        return false;
    forge_value value = laid_node_emit(builder, graph, node, laid, operands, layout);
    *(makes_images(laid) ? &l->laid[node->output] : &map[node->output]) = value;
    if (makes_images(laid) && l->is_kept[node->output])
        packed(l, builder, map, node->output);
    return builder_is_ok(builder);
}

/* --- the pass ------------------------------------------------------------------------------------------- */

static bool allocate(struct laying *l, struct arena *arena)
{
    size_t nodes = l->graph->node_count + 1, values = l->graph->value_count + 1;
    l->nodes = arena_alloc(arena, nodes * sizeof *l->nodes);
    l->cluster = arena_alloc(arena, nodes * sizeof *l->cluster);
    l->gains = arena_alloc(arena, nodes * sizeof *l->gains);
    l->best_gains = arena_alloc(arena, nodes * sizeof *l->best_gains);
    l->layouts = arena_alloc(arena, nodes);
    l->chosen = arena_alloc(arena, nodes * sizeof *l->chosen);
    l->paid = arena_alloc(arena, values * sizeof *l->paid);
    l->is_kept = arena_alloc(arena, values * sizeof *l->is_kept);
    l->laid = arena_alloc(arena, values * sizeof *l->laid);
    return l->nodes && l->cluster && l->gains && l->best_gains && l->layouts && l->chosen && l->paid &&
           l->is_kept && l->laid;
}

static void choose(struct laying *l)
{
    const forge_graph *graph = l->graph;
    for (size_t n = 0; n < graph->node_count; n++) {
        l->best_gains[n] = 0;
        l->layouts[n] = LAYOUT_PACKED;
        l->chosen[n] = (struct laid_node){.kind = LAID_NOT};
    }
    for (size_t v = 0; v < graph->value_count; v++) {
        l->is_kept[v] = false;
        l->laid[v] = FORGE_NO_VALUE;
    }
    for (size_t i = 0; i < graph->output_count; i++)
        l->is_kept[graph->outputs[i].value] = true;
    for (size_t i = 0; i < graph->slot_count; i++)
        l->is_kept[graph->slots[i].write] = true;
    for (size_t i = 0; i < CANDIDATES; i++)
        if (!l->wanted || *l->wanted == candidates[i])
            consider(l, candidates[i]);
}

/* wanted: the layout of all clusters; NULL: the best. */
static joule_status lay(const forge_graph *graph, forge_device *device, const enum value_layout *wanted,
                        forge_graph **out_graph, joule_error *out_error)
{
    struct laying l = {.graph = graph, .device = device, .wanted = wanted};
    struct arena arena = {0};
    joule_status status = JOULE_OK;
    if (!device) {
        *out_graph = graph_retain(graph);
        return JOULE_OK;
    }
    l.flop_per_s = layout_flop_per_s(device);
    if (allocate(&l, &arena)) {
        choose(&l);
        status = pass_each_node(graph, lay_node, &l, out_graph, out_error);
    } else {
        status = error_set(out_error, JOULE_NO_MEMORY, "out of memory");
    }
    arena_free(&arena);
    return status;
}

joule_status pass_layout(const forge_graph *graph, forge_device *device, void *context,
                         forge_graph **out_graph, joule_error *out_error)
{
    (void)context;
    return lay(graph, device, NULL, out_graph, out_error);
}

joule_status pass_given_layout(const forge_graph *graph, forge_device *device, void *context,
                               forge_graph **out_graph, joule_error *out_error)
{
    return lay(graph, device, context, out_graph, out_error);
}
