/* ir/compose.c - adds composite nodes to graphs, and replaces composite nodes by their bodies.
 *
 * Note: a body is built with a copy of the outer graph's dim table, and the outer graph takes over the
 * entries that the body adds. So a forge_dim stands for the same size in both graphs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/string.h"
#include "forge/ir/builder.h"
#include "forge/ir/infer.h"

#define MAX_INPUTS 16

/* Returns a builder whose inputs have the types and shapes of the given values, or NULL if out of memory.
 * inner: [count], gets these inputs. Free with forge_builder_free. */
static forge_builder *begin_body(forge_builder *outer, const forge_value *inputs, size_t count,
                                 forge_value *inner)
{
    forge_builder *body = builder_new(&outer->graph->dims);
    for (size_t i = 0; body && i < count; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        inner[i] =
            forge_input(body, name, forge_value_dtype(outer, inputs[i]), forge_value_shape(outer, inputs[i]));
    }
    return body;
}

bool builder_adopt_body(forge_builder *builder, forge_graph *body)
{
    forge_graph *graph = builder->graph;
    struct dim_table dims;
    if (!ARRAY_ROOM(graph->bodies, graph->body_capacity, graph->body_count) ||
        !dim_table_copy(&dims, &body->dims)) {
        forge_graph_free(body);
        builder_fail(builder, JOULE_NO_MEMORY, "out of memory");
        return false;
    }
    dim_table_free(&graph->dims);
    graph->dims = dims;
    graph->bodies[graph->body_count++] = body;
    if (!index_add(&builder->body_index, graph, (uint32_t)graph->body_count - 1))
        builder_fail(builder, JOULE_NO_MEMORY, "out of memory");
    return !builder->has_failed;
}

/* Builds a body of `count` inputs and value_count outputs. Returns the body, which the builder's graph owns,
 * or NULL if the builder has failed. */
static forge_graph *make_body(forge_builder *builder, const char *name, const forge_value *inputs,
                              size_t count, forge_bodies_fn body, const void *context, size_t value_count)
{
    forge_value inner[MAX_INPUTS], values[OP_MAX_OUTPUTS] = {0};
    forge_graph *graph = NULL;
    joule_error error;
    forge_builder *inside = begin_body(builder, inputs, count, inner);
    body(inside, inner, count, context, values);
    for (size_t i = 0; i < value_count; i++)
        forge_output(inside, (char[]){(char)('0' + i), 0}, values[i]);
    joule_status status = forge_builder_finish(inside, &graph, &error);
    if (status != JOULE_OK) {
        char message[400];
        string_print(message, sizeof message, "in composite '%s': %s", name, error.message);
        builder_fail(builder, status == JOULE_NO_MEMORY ? status : JOULE_INVALID, message);
        return NULL;
    }
    return builder_adopt_body(builder, graph) ? graph : NULL;
}

void builder_add_composite(forge_builder *builder, const struct composite_attributes *attributes,
                           const forge_value *inputs, size_t count, forge_bodies_fn body, const void *context,
                           forge_value *out_values, size_t value_count)
{
    struct composite_attributes own = *attributes;
    memset(out_values, 0, value_count * sizeof *out_values);
    if (!builder_is_ok(builder))
        return;
    if (count > MAX_INPUTS || value_count > OP_MAX_OUTPUTS) {
        forge_builder_fail(builder, "composite '%s': more than %d inputs or %d outputs", own.name, MAX_INPUTS,
                           OP_MAX_OUTPUTS);
        return;
    }
    own.body = make_body(builder, own.name, inputs, count, body, context, value_count);
    forge_value first = builder_emit(builder, OP_COMPOSITE, &own, sizeof own, inputs, count);
    for (size_t i = 0; first && i < value_count; i++)
        out_values[i] = first + (forge_value)i;
}

void forge_composite_many(forge_builder *builder, const char *name, const forge_value *inputs, size_t count,
                          forge_bodies_fn body, const void *context, forge_value *out_values,
                          size_t value_count)
{
    struct composite_attributes attributes = {0};
    if (builder_is_ok(builder) && !string_copy(attributes.name, sizeof attributes.name, name))
        forge_builder_fail(builder, "composite '%s': the name is longer than %zu bytes", name,
                           sizeof attributes.name - 1);
    builder_add_composite(builder, &attributes, inputs, count, body, context, out_values, value_count);
}

/* Context of single_body: a body function that returns one value. */
struct single {
    forge_body_fn body;
    const void *context;
};

static void single_body(forge_builder *builder, const forge_value *inputs, size_t count, const void *context,
                        forge_value *out_values)
{
    const struct single *single = context;
    *out_values = single->body(builder, inputs, count, single->context);
}

forge_value forge_composite(forge_builder *builder, const char *name, const forge_value *inputs, size_t count,
                            forge_body_fn body, const void *context)
{
    forge_value value;
    forge_composite_many(builder, name, inputs, count, single_body, &(struct single){body, context}, &value,
                         1);
    return value;
}

bool builder_inline(forge_builder *builder, const forge_graph *body, const forge_value *inputs,
                    forge_value *map)
{
    for (size_t i = 0; i < body->input_count; i++)
        map[body->inputs[i].value] = inputs[i];
    for (size_t n = 0; n < body->node_count; n++)
        if (!builder_copy_values(builder, body, &body->nodes[n], map))
            return false;
    return true;
}
