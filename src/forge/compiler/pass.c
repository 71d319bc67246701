/* compiler/pass.c - see pass.h. */
#include "forge/compiler/pass.h"

#include <stdlib.h>
#include "base/error.h"

static const struct {
    const char *name;
    pass_fn *run;
} passes[] = {
    {"expand", pass_expand},
    {"fold", pass_fold},
};

joule_status pass_each_node(const forge_graph *graph, pass_node_fn *node_fn, forge_graph **out_graph,
                            joule_error *out_error)
{
    forge_builder *builder = builder_new(&graph->dims);
    forge_value *map = calloc(graph->value_count, sizeof *map);
    bool goes_on = builder && map && builder_begin_like(builder, graph, map);
    for (size_t n = 0; goes_on && n < graph->node_count; n++)
        goes_on = node_fn(builder, graph, &graph->nodes[n], map);
    if (goes_on)
        builder_end_like(builder, graph, map);
    else
        builder_refuse(builder, JOULE_NO_MEMORY, "memory is used up");
    free(map);
    return forge_builder_finish(builder, out_graph, out_error);
}

static bool expand_node(forge_builder *builder, const forge_graph *graph, const struct node *node,
                        forge_value *map)
{
    if (node->op != OP_COMPOSITE)
        return builder_copy_node(builder, graph, node, map);
    const forge_graph *body = ((const struct composite_attributes *)node->attributes)->body;
    forge_value inputs[UINT8_MAX], *inner = calloc(body->value_count, sizeof *inner);
    for (size_t i = 0; i < node->input_count; i++)
        inputs[i] = map[node_input(graph, node, i)];
    builder_stand_at(builder, graph, node);
    bool done = inner && builder_inline(builder, body, inputs, inner);
    for (size_t i = 0; done && i < body->output_count; i++)
        map[node->output + i] = inner[body->outputs[i].value];
    free(inner);
    return done;
}

static bool has_composites(const forge_graph *graph)
{
    for (size_t n = 0; n < graph->node_count; n++)
        if (graph->nodes[n].op == OP_COMPOSITE)
            return true;
    return false;
}

joule_status pass_expand(const forge_graph *graph, forge_graph **out_graph, joule_error *out_error)
{
    forge_graph *current = graph_retain(graph);
    joule_status status = JOULE_OK;
    while (status == JOULE_OK && has_composites(current)) {
        forge_graph *next = NULL;
        status = pass_each_node(current, expand_node, &next, out_error);
        forge_graph_free(current);
        current = next;
    }
    *out_graph = current;
    return status;
}

joule_status passes_run(const forge_graph *graph, forge_graph **out_graph, joule_error *out_error)
{
    forge_graph *current = graph_retain(graph);
    joule_status status = JOULE_OK;
    for (size_t i = 0; status == JOULE_OK && i < sizeof passes / sizeof *passes; i++) {
        forge_graph *next = NULL;
        joule_error error = {0};
        status = passes[i].run(current, &next, &error);
        if (status == JOULE_OK)
            status = graph_verify(next, &error);
        if (status != JOULE_OK)
            error_set(out_error, status, "pass %s: %s", passes[i].name, error.message);
        forge_graph_free(current);
        current = next;
    }
    if (status == JOULE_OK)
        *out_graph = current;
    else
        forge_graph_free(current);
    return status;
}
