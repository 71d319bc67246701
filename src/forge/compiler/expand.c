/* compiler/expand.c - the pass that replaces composites by their bodies.
 *
 * Note: bodies may contain composites too, so the replacement is repeated until there is no composite to
 * replace.
 */
#include <stdlib.h>
#include "forge/compiler/pass.h"

static bool needs_expansion(const forge_graph *graph, const struct node *node, forge_device *device)
{
    return node->op == OP_COMPOSITE && !(device && composite_has_kernel(graph, node, device));
}

static bool expand_node(forge_builder *builder, const forge_graph *graph, const struct node *node,
                        forge_value *map, void *context)
{
    if (!needs_expansion(graph, node, context))
        return builder_copy_node(builder, graph, node, map);
    const forge_graph *body = ((const struct composite_attributes *)node->attributes)->body;
    forge_value inputs[UINT8_MAX], *inner = calloc(body->value_count, sizeof *inner);
    for (size_t i = 0; i < node->input_count; i++)
        inputs[i] = map[node_input(graph, node, i)];
    builder_set_provenance(builder, graph, node);
    bool done = inner && builder_inline(builder, body, inputs, inner);
    for (size_t i = 0; done && i < body->output_count; i++)
        map[node->output + i] = inner[body->outputs[i].value];
    free(inner);
    return done;
}

static bool has_work(const forge_graph *graph, forge_device *device)
{
    for (size_t n = 0; n < graph->node_count; n++)
        if (needs_expansion(graph, &graph->nodes[n], device))
            return true;
    return false;
}

joule_status pass_expand(const forge_graph *graph, forge_device *device, void *context,
                         forge_graph **out_graph, joule_error *out_error)
{
    (void)context;
    forge_graph *current = graph_retain(graph);
    joule_status status = JOULE_OK;
    while (status == JOULE_OK && has_work(current, device)) {
        forge_graph *next = NULL;
        status = pass_each_node(current, expand_node, device, &next, out_error);
        forge_graph_free(current);
        current = next;
    }
    *out_graph = current;
    return status;
}
