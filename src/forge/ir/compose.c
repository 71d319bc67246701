/* ir/compose.c - composites: making them, and writing them out.
 *
 * Owns the node that stands for a small graph, and the composites that come with the library. Newcomers: a body is built
 * with a copy of the outer symbols and hands its own back, so that a size means the same inside and outside.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "forge/ir/build.h"
#include "forge/ir/infer.h"

#define MAX_INPUTS 16

/* A builder whose inputs are like the given values. */
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

/* The outer graph owns the body and knows its symbols from now on. */
static bool adopt(forge_graph *graph, forge_graph *body)
{
    struct dim_table dims;
    if (!ARRAY_ROOM(graph->bodies, graph->body_capacity, graph->body_count) ||
        !dim_table_copy(&dims, &body->dims))
        return false;
    dim_table_free(&graph->dims);
    graph->dims = dims;
    graph->bodies[graph->body_count++] = body;
    return true;
}

/* The body's graph; NULL, and the builder has failed. */
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
    if (forge_builder_finish(inside, &graph, &error) != JOULE_OK) {
        forge_builder_fail(builder, "in composite '%s': %s", name, error.message);
        return NULL;
    }
    if (!adopt(builder->graph, graph)) {
        forge_graph_free(graph);
        builder_refuse(builder, JOULE_NO_MEMORY, "memory is used up");
        return NULL;
    }
    return graph;
}

void forge_composite_many(forge_builder *builder, const char *name, const forge_value *inputs, size_t count,
                          forge_bodies_fn body, const void *context, forge_value *out_values,
                          size_t value_count)
{
    struct composite_attributes attributes = {0};
    memset(out_values, 0, value_count * sizeof *out_values);
    if (!builder_goes_on(builder))
        return;
    if (count > MAX_INPUTS || value_count > OP_MAX_OUTPUTS ||
        !string_copy(attributes.name, sizeof attributes.name, name)) {
        forge_builder_fail(builder,
                           "composite '%s': more than %d inputs or %d values, or a name above %zu bytes",
                           name, MAX_INPUTS, OP_MAX_OUTPUTS, sizeof attributes.name - 1);
        return;
    }
    attributes.body = make_body(builder, name, inputs, count, body, context, value_count);
    forge_value first = builder_emit(builder, OP_COMPOSITE, &attributes, sizeof attributes, inputs, count);
    for (size_t i = 0; first && i < value_count; i++)
        out_values[i] = first + (forge_value)i;
}

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

/* --- the library's own -------------------------------------------------------------------------------------- */

static forge_value log_softmax_body(forge_builder *b, const forge_value *inputs, size_t count,
                                    const void *context)
{
    (void)count, (void)context;
    uint32_t last = 1u << (forge_value_shape(b, inputs[0]).rank - 1);
    forge_value shifted = forge_sub(b, inputs[0], forge_reduce(b, FORGE_MAXIMUM, inputs[0], last, true));
    return forge_sub(b, shifted, forge_log(b, forge_reduce(b, FORGE_SUM, forge_exp(b, shifted), last, true)));
}

forge_value forge_log_softmax(forge_builder *builder, forge_value x)
{
    if (builder_goes_on(builder) && x && forge_value_shape(builder, x).rank == 0)
        forge_builder_fail(builder, "log_softmax needs a dimension");
    return forge_composite(builder, "log_softmax", &x, 1, log_softmax_body, NULL);
}

static forge_value cross_entropy_body(forge_builder *b, const forge_value *inputs, size_t count,
                                      const void *context)
{
    (void)count, (void)context;
    forge_value rows = forge_log_softmax(b, inputs[0]);
    forge_shape shape = forge_value_shape(b, rows);
    forge_dtype dtype = forge_value_dtype(b, rows), label_dtype = forge_value_dtype(b, inputs[1]);
    forge_value label = forge_reshape(b, inputs[1], forge_shape_of(shape.dims[0], 1));
    forge_value is_label = forge_binary(b, FORGE_EQ, forge_iota(b, label_dtype, shape, 1), label);
    forge_value chosen = forge_select(b, is_label, rows, forge_scalar(b, dtype, 0));
    forge_value of_row = forge_reduce(b, FORGE_SUM, chosen, 2, false);
    return forge_neg(b, forge_reduce(b, FORGE_MEAN, of_row, 1, false));
}

forge_value forge_cross_entropy(forge_builder *builder, forge_value logits, forge_value labels)
{
    forge_shape rows = forge_value_shape(builder, logits), row = forge_value_shape(builder, labels);
    if (builder_goes_on(builder) && (rows.rank != 2 || row.rank != 1 || rows.dims[0] != row.dims[0] ||
                                     !forge_dtype_is_integer(forge_value_dtype(builder, labels))))
        forge_builder_fail(builder, "cross_entropy takes logits [n, classes] and integer labels [n]");
    forge_value inputs[] = {logits, labels};
    return forge_composite(builder, "cross_entropy", inputs, 2, cross_entropy_body, NULL);
}
