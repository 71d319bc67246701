/* ir/verify.c - checks the invariants of a graph.
 *
 * Note: the verifier applies the inference rules (infer.h) again. So a wrong shape is found right after the
 * pass that caused it.
 */
#include <string.h>
#include "base/error.h"
#include "forge/ir/builder.h"
#include "forge/ir/fields.h"
#include "forge/ir/infer.h"
#include "forge/ir/layout.h"

static joule_status fail_node(joule_error *error, const forge_graph *graph, size_t n, const char *what)
{
    const struct node *node = &graph->nodes[n];
    return error_set(error, JOULE_FAILED, "node %zu (%s in '%s'): %s", n, op_name((enum op)node->op),
                     node->scope < graph->scope_count ? graph->scopes[node->scope] : "?", what);
}

static joule_status verify_node(const forge_graph *graph, size_t n, joule_error *error)
{
    const struct node *node = &graph->nodes[n];
    struct inference inference = {
        .graph = (forge_graph *)graph, .op = (enum op)node->op, .attributes = node->attributes};
    if (node->op >= OP_COUNT || !op_takes_inputs((enum op)node->op, node->input_count))
        return fail_node(error, graph, n, "its inputs do not match its operation");
    if (node->scope >= graph->scope_count || node->phase > FORGE_PHASE_DATA)
        return fail_node(error, graph, n, "it has no valid scope or phase");
    if ((size_t)node->first_input + node->input_count > graph->edge_count ||
        (size_t)node->output + node->output_count > graph->value_count)
        return fail_node(error, graph, n, "its edges or values lie outside the graph");
    for (size_t i = 0; i < node->input_count; i++) {
        forge_value input = node_input(graph, node, i);
        if (input == FORGE_NO_VALUE || input >= node->output)
            return fail_node(error, graph, n, "it uses a value of a later node");
        inference.inputs[inference.input_count++] = &graph->values[input];
    }
    inference.place = node_place(graph, node);
    if (inference.place >= graph->place_count)
        return fail_node(error, graph, n, "it has no valid place");
    const char *wrong = fields_check(inference.op, node->attributes, node->attributes_size, &graph->dims);
    if (wrong)
        return fail_node(error, graph, n, wrong);
    if (!infer(&inference))
        return fail_node(error, graph, n, inference.message);
    if (inference.output_count != node->output_count)
        return fail_node(error, graph, n, "it has another number of outputs than its operation");
    for (size_t i = 0; i < node->output_count; i++) {
        const struct value *value = &graph->values[node->output + i], *inferred = &inference.outputs[i];
        if (value->node != n || value->dtype != inferred->dtype || value->place != inferred->place ||
            value->layout != inferred->layout || !forge_shape_equal(&value->shape, &inferred->shape))
            return fail_node(error, graph, n, "its output differs from the result of its operation");
    }
    return JOULE_OK;
}

static bool is_value(const forge_graph *graph, forge_value value)
{
    return value != FORGE_NO_VALUE && value < graph->value_count;
}

static joule_status verify_ports(const forge_graph *graph, joule_error *error)
{
    for (size_t i = 0; i < graph->input_count; i++)
        if (!is_value(graph, graph->inputs[i].value) ||
            graph_producer(graph, graph->inputs[i].value)->op != OP_INPUT)
            return error_set(error, JOULE_FAILED, "input '%s' has no input node", graph->inputs[i].name);
    for (size_t i = 0; i < graph->output_count; i++)
        if (!is_value(graph, graph->outputs[i].value))
            return error_set(error, JOULE_FAILED, "output '%s' has no value", graph->outputs[i].name);
    for (size_t i = 0; i < graph->output_count; i++)
        if (graph->values[graph->outputs[i].value].layout != LAYOUT_PACKED)
            return error_set(error, JOULE_FAILED, "output '%s' is in the layout %s", graph->outputs[i].name,
                             layout_name((enum value_layout)graph->values[graph->outputs[i].value].layout));
    for (size_t i = 0; i < graph->slot_count; i++) {
        const struct slot *slot = &graph->slots[i];
        if (!slot->write)
            continue;
        if (is_value(graph, slot->write) && graph->values[slot->write].layout != LAYOUT_PACKED)
            return error_set(error, JOULE_FAILED, "slot '%s' is written in the layout %s", slot->name,
                             layout_name((enum value_layout)graph->values[slot->write].layout));
        if (!is_value(graph, slot->write) || graph->values[slot->write].dtype != slot->dtype ||
            !forge_shape_equal(&graph->values[slot->write].shape, &slot->shape))
            return error_set(error, JOULE_FAILED, "slot '%s' is written with another type or shape",
                             slot->name);
        if (slot->read && graph->values[slot->write].place != slot_place(graph, slot))
            return error_set(error, JOULE_FAILED, "slot '%s' is on two places", slot->name);
    }
    return JOULE_OK;
}

joule_status graph_verify(const forge_graph *graph, joule_error *out_error)
{
    for (size_t n = 0; n < graph->node_count; n++) {
        joule_status status = verify_node(graph, n, out_error);
        if (status != JOULE_OK)
            return status;
    }
    return verify_ports(graph, out_error);
}
