/* support/graphs.c - see graphs.h. */
#include "support/graphs.h"

forge_graph *graph_parsed(const char *text)
{
    forge_graph *graph = NULL;
    joule_error error = {0};
    assert_ok(forge_graph_parse(text, strlen(text), &graph, &error), &error);
    return graph;
}

char *graph_printed(const forge_graph *graph)
{
    char *text = NULL;
    joule_error error = {0};
    assert_ok(forge_graph_print(graph, &text, &error), &error);
    return text;
}

forge_graph *graph_after(forge_graph *graph, forge_pass_fn pass, forge_device *device, void *context)
{
    forge_graph *made = NULL;
    joule_error error = {0};
    assert_ok(pass(graph, device, context, &made, &error), &error);
    assert_ok(graph_verify(made, &error), &error);
    forge_graph_free(graph);
    return made;
}

char *text_after(forge_graph *graph, forge_pass_fn pass, forge_device *device, void *context)
{
    forge_graph *made = graph_after(graph, pass, device, context);
    char *text = graph_printed(made);
    forge_graph_free(made);
    return text;
}

void assert_pass_makes(forge_pass_fn pass, forge_device *device, void *context, const char *before,
                       const char *after)
{
    char *text = text_after(graph_parsed(before), pass, device, context);
    assert_string_equal(text, after);
    free(text);
}

static bool is_composite(const struct node *node, const char *name)
{
    const struct composite_attributes *attributes = node->attributes;
    return node->op == OP_COMPOSITE && strcmp(attributes->name, name) == 0;
}

const struct node *graph_composite(const forge_graph *graph, const char *name)
{
    for (size_t n = 0; n < graph->node_count; n++)
        if (is_composite(&graph->nodes[n], name))
            return &graph->nodes[n];
    return NULL;
}

size_t graph_composites(const forge_graph *graph, const char *name)
{
    size_t count = 0;
    for (size_t n = 0; n < graph->node_count; n++)
        count += is_composite(&graph->nodes[n], name);
    return count;
}
