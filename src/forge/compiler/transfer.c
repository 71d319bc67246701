/* compiler/transfer.c - the pass that adds transfers, so that each operand is on the place of its node.
 *
 * Note: constants are not transferred but copied to each place. If a value was transferred from place P and
 * is now needed on P, the original value on P is used. Every other value is transferred at most once to each
 * place, because the builder merges equal nodes.
 */
#include "forge/compiler/pass.h"

/* Returns `value` on the builder's place, as a copy of a constant, the operand of a transfer, or a new
 * transfer. */
static forge_value move_to_place(forge_builder *builder, forge_value value)
{
    const forge_graph *graph = builder->graph;
    const struct node *node = graph_producer(graph, value);
    if (node->op == OP_CONSTANT)
        return builder_emit(builder, OP_CONSTANT, node->attributes, node->attributes_size, NULL, 0);
    if (node->op == OP_TRANSFER && graph->values[node_input(graph, node, 0)].place == builder->place)
        return node_input(graph, node, 0);
    return forge_transfer(builder, value, graph->places[builder->place]);
}

static bool move_operands(forge_builder *builder, const forge_graph *graph, const struct node *node,
                          forge_value *map, void *context)
{
    (void)context;
    forge_value old[UINT8_MAX];
    builder->graph->is_placed = true;
    builder_set_provenance(builder, graph, node);
    for (size_t i = 0; i < node->input_count; i++)
        old[i] = map[node_input(graph, node, i)];
    for (size_t i = 0; builder_is_ok(builder) && node->op != OP_TRANSFER && i < node->input_count; i++)
        if (builder->graph->values[old[i]].place != builder->place)
            map[node_input(graph, node, i)] = move_to_place(builder, old[i]);
    bool is_ok = builder_copy_node(builder, graph, node, map);
    for (size_t i = 0; i < node->input_count; i++)
        map[node_input(graph, node, i)] = old[i];
    return is_ok;
}

joule_status pass_transfer(const forge_graph *graph, forge_device *device, void *context,
                           forge_graph **out_graph, joule_error *out_error)
{
    (void)device, (void)context;
    return pass_each_node(graph, move_operands, NULL, out_graph, out_error);
}
