/* autodiff/recompute.c - see recompute.h. */
#include "forge/autodiff/recompute.h"

#include <stdlib.h>
#include "base/array.h"

#define OPEN UINT32_MAX

static struct region *open_region(const forge_builder *b)
{
    struct region *last = b->region_count ? &b->regions[b->region_count - 1] : NULL;
    return last && last->end == OPEN ? last : NULL;
}

void forge_recompute_begin(forge_builder *builder)
{
    if (!builder_is_ok(builder))
        return;
    if (open_region(builder))
        forge_builder_fail(builder, "forge_recompute_begin inside another region: regions do not nest");
    else if (!ARRAY_ROOM(builder->regions, builder->region_capacity, builder->region_count))
        builder_fail(builder, JOULE_NO_MEMORY, "out of memory");
    else
        builder->regions[builder->region_count++] =
            (struct region){(uint32_t)builder->graph->node_count, OPEN};
}

void forge_recompute_end(forge_builder *builder)
{
    if (!builder_is_ok(builder))
        return;
    struct region *region = open_region(builder);
    if (region)
        region->end = (uint32_t)builder->graph->node_count;
    else
        forge_builder_fail(builder, "forge_recompute_end without forge_recompute_begin");
}

/* Returns the number of the region that contains the node, counted from 1; 0 if no region contains it. The
 * list of regions is sorted by node. */
static uint32_t region_of(const forge_builder *b, uint32_t node)
{
    size_t low = 0, high = b->region_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (b->regions[middle].end <= node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < b->region_count && b->regions[low].first <= node ? (uint32_t)low + 1 : 0;
}

/* Marks the nodes whose outputs are used outside their region, by other nodes, as outputs of the graph, or by
 * writes to slots. */
static void mark_kept(struct recompute *recompute, const forge_builder *b)
{
    const forge_graph *graph = b->graph;
    for (uint32_t n = 0; n < graph->node_count; n++)
        for (size_t i = 0; i < graph->nodes[n].input_count; i++) {
            forge_value input = node_input(graph, &graph->nodes[n], i);
            if (region_of(b, graph->values[input].node) != region_of(b, n))
                recompute->is_kept[graph->values[input].node] = true;
        }
    for (size_t i = 0; i < graph->output_count; i++)
        recompute->is_kept[graph->values[graph->outputs[i].value].node] = true;
    for (size_t i = 0; i < graph->slot_count; i++)
        if (graph->slots[i].write)
            recompute->is_kept[graph->values[graph->slots[i].write].node] = true;
}

bool recompute_begin(struct recompute *recompute, const forge_builder *b)
{
    *recompute = (struct recompute){.is_kept = calloc(b->graph->node_count + 1, sizeof *recompute->is_kept),
                                    .is_done = calloc(b->region_count + 1, sizeof *recompute->is_done),
                                    .values = calloc(b->graph->value_count, sizeof *recompute->values)};
    if (!recompute->is_kept || !recompute->is_done || !recompute->values)
        return false;
    if (b->region_count)
        mark_kept(recompute, b);
    return true;
}

void recompute_end(struct recompute *recompute)
{
    free(recompute->is_kept);
    free(recompute->is_done);
    free(recompute->values);
}

/* Adds a copy of node n to the builder, unless the outputs of node n are kept. */
static void recompute_node(struct recompute *recompute, forge_builder *b, uint32_t n)
{
    const forge_graph *graph = b->graph;
    struct node node = graph->nodes[n]; /* a copy, because nodes may move while others are added */
    forge_value inputs[UINT8_MAX];
    if (recompute->is_kept[n])
        return;
    for (size_t i = 0; i < node.input_count; i++)
        inputs[i] = recompute_value(recompute, node_input(graph, &node, i));
    b->scope = node.scope;
    b->place = node_place(graph, &node);
    forge_value value =
        builder_emit(b, (enum op)node.op, node.attributes, node.attributes_size, inputs, node.input_count);
    for (uint32_t i = 0; value && i < node.output_count; i++)
        recompute->values[node.output + i] = value + i;
}

uint32_t recompute_enter(struct recompute *recompute, forge_builder *b, uint32_t node)
{
    uint32_t region = region_of(b, node);
    if (!region || recompute->is_done[region])
        return region;
    recompute->is_done[region] = true;
    uint32_t before = b->recompute_region;
    b->recompute_region = region;
    for (uint32_t n = b->regions[region - 1].first; n < b->regions[region - 1].end; n++)
        recompute_node(recompute, b, n);
    b->recompute_region = before;
    return region;
}
