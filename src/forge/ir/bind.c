/* ir/bind.c - replaces symbols of a graph by numbers.
 *
 * Note: symbols without a number stay symbols. Composites stay composites, so that a device still finds its
 * kernels for them. Symbols in their bodies are replaced too.
 */
#include <stdlib.h>
#include "base/error.h"
#include "forge/ir/builder.h"

/* Copies `graph` into the builder and finishes the builder. *out_graph is a copy with builder->sizes; the
 * caller frees it. Frees the builder, also after an error. */
static joule_status copy_all(forge_builder *builder, const forge_graph *graph, forge_graph **out_graph,
                             joule_error *error)
{
    forge_value *map = calloc(graph->value_count, sizeof *map);
    bool is_ok = map && builder_begin_copy(builder, graph, map);
    for (size_t n = 0; is_ok && n < graph->node_count; n++)
        is_ok = builder_copy_node(builder, graph, &graph->nodes[n], map);
    if (is_ok)
        builder_end_copy(builder, graph, map);
    else
        builder_fail(builder, JOULE_NO_MEMORY, "out of memory");
    free(map);
    return forge_builder_finish(builder, out_graph, error);
}

/* Note: the graph of the builder gets the dim table of the copy, as builder_adopt_body does for a new
 * body. */
const forge_graph *builder_bind_body(forge_builder *builder, const forge_graph *body)
{
    forge_builder *inside = builder_new(&builder->graph->dims);
    forge_graph *bound = NULL;
    struct dim_table dims = {0};
    joule_error error = {0};
    if (inside)
        inside->sizes = builder->sizes;
    joule_status status = copy_all(inside, body, &bound, &error);
    if (status == JOULE_OK && (!dim_table_copy(&dims, &bound->dims) || !builder_share_body(builder, bound)))
        status = error_set(&error, JOULE_NO_MEMORY, "out of memory");
    if (status == JOULE_OK) {
        dim_table_free(&builder->graph->dims);
        builder->graph->dims = dims;
    } else {
        dim_table_free(&dims);
        builder_fail(builder, status, error.message);
    }
    forge_graph_free(bound); /* the builder's graph has its own reference */
    return status == JOULE_OK ? bound : NULL;
}

joule_status forge_graph_bind(const forge_graph *graph, const forge_size *sizes, size_t count,
                              forge_graph **out_graph, joule_error *out_error)
{
    joule_status status = JOULE_OK;
    for (size_t i = 0; status == JOULE_OK && i < count; i++)
        status = dim_check(&graph->dims, sizes[i].symbol, sizes[i].value, NULL, out_error);
    if (status != JOULE_OK)
        return status;
    forge_builder *builder = builder_new(NULL);
    forge_dim *values = calloc(graph->dims.count + 1, sizeof *values);
    if (builder && values && dim_table_bind(&graph->dims, sizes, count, &builder->graph->dims, values))
        builder->sizes = values;
    else
        builder_fail(builder, JOULE_INVALID, "with these sizes an expression is too large");
    status = copy_all(builder, graph, out_graph, out_error);
    free(values);
    return status;
}
