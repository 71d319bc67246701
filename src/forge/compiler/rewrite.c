/* compiler/rewrite.c - creates a new graph node by node: for the library's passes, and as forge_graph_rewrite
 * for passes of callers.
 *
 * Note: an error of a caller's function is an error of the builder, which forge_builder_finish returns.
 */
#include <stdlib.h>
#include "base/abi.h"
#include "forge/compiler/pass.h"
#include "forge/ir/fields.h"

joule_status pass_each_node(const forge_graph *graph, pass_node_fn *node_fn, void *context,
                            forge_graph **out_graph, joule_error *out_error)
{
    forge_builder *builder = builder_new(&graph->dims);
    forge_value *map = calloc(graph->value_count, sizeof *map);
    bool is_ok = builder && map && builder_begin_copy(builder, graph, map);
    for (size_t n = 0; is_ok && n < graph->node_count; n++)
        is_ok = node_fn(builder, graph, &graph->nodes[n], map, context);
    if (is_ok)
        builder_end_copy(builder, graph, map);
    else
        builder_fail(builder, JOULE_NO_MEMORY, "out of memory");
    free(map);
    return forge_builder_finish(builder, out_graph, out_error);
}

/* --- for callers ---------------------------------------------------------------------------------------- */

static forge_node facts_of(const forge_graph *graph, const struct node *node)
{
    return (forge_node){.struct_size = sizeof(forge_node),
                        .phase = (forge_phase)node->phase,
                        .op = op_name((enum op)node->op),
                        .kind = fields_kind((enum op)node->op, node->attributes),
                        .scope = graph->scopes[node->scope],
                        .input_count = node->input_count,
                        .value_count = node->output_count};
}

joule_status forge_value_query(const forge_builder *builder, forge_value value, forge_node *out_node,
                               forge_value *out_inputs)
{
    if (!builder_is_ok(builder) || value == FORGE_NO_VALUE || value >= builder->graph->value_count ||
        !abi_has_room(out_node, SIZE_UP_TO(forge_node, value_count)))
        return JOULE_INVALID;
    const struct node *node = graph_producer(builder->graph, value);
    forge_node facts = facts_of(builder->graph, node);
    abi_write(out_node, &facts, sizeof facts);
    for (size_t i = 0; out_inputs && i < node->input_count; i++)
        out_inputs[i] = node_input(builder->graph, node, i);
    return JOULE_OK;
}

/* The context of rewrite_node: a caller's function with its context. */
struct rewriting {
    forge_rewrite_fn rewrite;
    void *context;
};

static bool is_like(const forge_builder *builder, forge_value value, const struct value *old)
{
    forge_shape shape = forge_value_shape(builder, value);
    return forge_value_dtype(builder, value) == old->dtype && forge_shape_equal(&shape, &old->shape);
}

static bool rewrite_node(forge_builder *builder, const forge_graph *graph, const struct node *node,
                         forge_value *map, void *context)
{
    const struct rewriting *r = context;
    forge_value inputs[UINT8_MAX];
    if (node->op == OP_INPUT || node->output_count != 1)
        return builder_copy_node(builder, graph, node, map);
    for (size_t i = 0; i < node->input_count; i++)
        inputs[i] = map[node_input(graph, node, i)];
    forge_node facts = facts_of(graph, node);
    builder_set_provenance(builder, graph, node);
    forge_value value = r->rewrite(builder, &facts, inputs, r->context);
    if (value == FORGE_NO_VALUE)
        return builder_is_ok(builder) && builder_copy_node(builder, graph, node, map);
    if (!is_like(builder, value, &graph->values[node->output]))
        forge_builder_fail(builder, "the replacement of %s has another type or shape", facts.op);
    map[node->output] = value;
    return builder_is_ok(builder);
}

joule_status forge_graph_rewrite(const forge_graph *graph, forge_rewrite_fn rewrite, void *context,
                                 forge_graph **out_graph, joule_error *out_error)
{
    struct rewriting rewriting = {rewrite, context};
    return pass_each_node(graph, rewrite_node, &rewriting, out_graph, out_error);
}
