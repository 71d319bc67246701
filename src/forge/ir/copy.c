/* ir/copy.c - copies the interface and the nodes of a graph into a builder, for passes.
 *
 * Note: slots and inputs keep their numbers, so that attributes with these numbers stay valid.
 */
#include <string.h>
#include "base/array.h"
#include "forge/ir/builder.h"
#include "forge/ir/fields.h"

static forge_shape substituted_shape(const forge_builder *builder, const forge_shape *shape)
{
    return builder->sizes ? dim_substitute_shape(shape, builder->sizes) : *shape;
}

bool builder_begin_copy(forge_builder *builder, const forge_graph *graph, forge_value *map)
{
    memset(map, 0, graph->value_count * sizeof *map);
    if (!builder_is_ok(builder))
        return false;
    uint32_t place = builder->place;
    builder->graph->is_placed = graph->is_placed;
    for (size_t i = 0; i < graph->input_count; i++) {
        const struct value *value = &graph->values[graph->inputs[i].value];
        builder->place = builder_add_place(builder, graph->places[value->place]);
        map[graph->inputs[i].value] = forge_input(builder, graph->inputs[i].name, value->dtype,
                                                  substituted_shape(builder, &value->shape));
    }
    builder->place = place;
    for (size_t i = 0; i < graph->slot_count; i++) {
        const struct slot *slot = &graph->slots[i];
        forge_state(builder, slot->name, slot->dtype, substituted_shape(builder, &slot->shape), slot->init);
        if (builder_is_ok(builder) && slot->is_parameter)
            builder_mark_parameter(builder, (forge_slot)i);
    }
    return builder_is_ok(builder);
}

bool builder_share_body(forge_builder *builder, const forge_graph *body)
{
    forge_graph *graph = builder->graph;
    if (index_find(&builder->body_index, graph, (struct index_key){&body, sizeof body}) != INDEX_NONE)
        return true;
    if (!ARRAY_ROOM(graph->bodies, graph->body_capacity, graph->body_count))
        return false;
    graph->bodies[graph->body_count++] = graph_retain(body);
    return index_add(&builder->body_index, graph, (uint32_t)graph->body_count - 1);
}

/* Returns the node's attributes with sizes replaced by builder->sizes, or NULL if the builder has failed. The
 * result belongs to the node or to the builder's graph. */
static const void *substituted_attributes(forge_builder *builder, const struct node *node)
{
    if (!builder->sizes ||
        (node->op != OP_COMPOSITE && !fields_have_symbols((enum op)node->op, node->attributes)))
        return node->attributes;
    void *attributes = arena_alloc(&builder->graph->arena, node->attributes_size);
    if (!attributes) {
        builder_fail(builder, JOULE_NO_MEMORY, "out of memory");
        return NULL;
    }
    memcpy(attributes, node->attributes, node->attributes_size);
    if (node->op == OP_COMPOSITE) {
        struct composite_attributes *composite = attributes;
        composite->body = builder_bind_body(builder, composite->body);
    } else {
        fields_substitute((enum op)node->op, attributes, builder->sizes);
    }
    return builder_is_ok(builder) ? attributes : NULL;
}

bool builder_copy_node(forge_builder *builder, const forge_graph *graph, const struct node *node,
                       forge_value *map)
{
    builder_set_provenance(builder, graph, node);
    return builder_copy_values(builder, graph, node, map);
}

bool builder_copy_values(forge_builder *builder, const forge_graph *graph, const struct node *node,
                         forge_value *map)
{
    forge_value inputs[UINT8_MAX], value;
    uint32_t region = builder->recompute_region;
    if (node->op == OP_INPUT)
        return true; /* builder_begin_copy has already added this node */
    for (size_t i = 0; i < node->input_count; i++)
        inputs[i] = map[node_input(graph, node, i)];
    const void *attributes = substituted_attributes(builder, node);
    if (!attributes)
        return false;
    if (node->op == OP_COMPOSITE &&
        !builder_share_body(builder, ((const struct composite_attributes *)attributes)->body)) {
        builder_fail(builder, JOULE_NO_MEMORY, "out of memory");
        return false;
    }
    builder->recompute_region = region ? region : node->recompute_region;
    if (node->op == OP_READ)
        value = forge_read(builder, ((const struct read_attributes *)node->attributes)->slot);
    else
        value = builder_emit(builder, (enum op)node->op, attributes, node->attributes_size, inputs,
                             node->input_count);
    builder->recompute_region = region;
    for (size_t i = 0; value && i < node->output_count; i++)
        map[node->output + i] = value + (forge_value)i;
    return value != FORGE_NO_VALUE;
}

void builder_set_provenance(forge_builder *builder, const forge_graph *graph, const struct node *node)
{
    if (!builder_is_ok(builder))
        return;
    builder->phase = (forge_phase)node->phase;
    builder->recompute_region = node->recompute_region;
    builder->scope = builder_add_scope(builder, graph->scopes[node->scope]);
    builder->place = builder_add_place(builder, graph->places[node_place(graph, node)]);
}

void builder_end_copy(forge_builder *builder, const forge_graph *graph, const forge_value *map)
{
    for (size_t i = 0; i < graph->output_count; i++)
        forge_output(builder, graph->outputs[i].name, map[graph->outputs[i].value]);
    for (size_t i = 0; i < graph->slot_count; i++)
        if (graph->slots[i].write)
            forge_write(builder, (forge_slot)i, map[graph->slots[i].write], graph->slots[i].in_place);
}
