/* compiler/regroup.c - the pass that writes operations in forms that the pass `fuse` can join.
 *
 * - A batch norm with given statistics becomes a product and a sum with one number for each channel. The
 *   numbers are computed from the parameters in each run; they are small. Of images in bf16 or f16, the
 *   product and the sum are computed in f32, as the batch norm does.
 * - A reshape moves behind an elementwise operation: neg(reshape(x)) becomes reshape(neg(x)). So an
 *   elementwise operation has the shape of the operation before it, and the reshape needs no launch. */
#include <string.h>
#include "forge/compiler/pass.h"

static const struct node *producer(const forge_builder *builder, forge_value value)
{
    return graph_producer(builder->graph, value);
}

/* --- batch norms ---------------------------------------------------------------------------------------- */

enum { X, WEIGHT, BIAS, MEAN, VARIANCE, BATCH_NORM_INPUTS };

static bool is_batch_norm(const forge_graph *graph, const struct node *node)
{
    const struct composite_attributes *a = node->attributes;
    if (node->op != OP_COMPOSITE || strcmp(a->name, "batch_norm") != 0)
        return false;
    forge_dtype dtype = graph->values[node_input(graph, node, X)].dtype;
    for (size_t i = WEIGHT; i < BATCH_NORM_INPUTS; i++)
        if (graph->values[node_input(graph, node, i)].dtype != builder_accumulator(dtype))
            return false;
    return !dim_shape_has_symbols(&graph->values[node->output].shape);
}

/* Returns a vector of the channels, [channels], in a shape that broadcasts to images of rank `rank`. */
static forge_value for_images(forge_builder *b, forge_value channels, uint32_t rank)
{
    forge_shape shape = {.rank = rank - 1, .dims = {forge_value_shape(b, channels).dims[0]}};
    for (uint32_t i = 1; i < shape.rank; i++)
        shape.dims[i] = 1;
    return forge_reshape(b, channels, shape);
}

/* Returns x * scale + shift, where scale = weight / sqrt(variance + epsilon) and shift = bias - mean * scale.
 * in: [BATCH_NORM_INPUTS]. */
static forge_value scale_and_shift(forge_builder *b, const forge_value *in, double epsilon)
{
    forge_value small = forge_scalar(b, forge_value_dtype(b, in[VARIANCE]), epsilon);
    forge_value root = forge_unary(b, FORGE_SQRT, forge_add(b, in[VARIANCE], small));
    forge_value scale = forge_div(b, in[WEIGHT], root);
    forge_value shift = forge_sub(b, in[BIAS], forge_mul(b, in[MEAN], scale));
    uint32_t rank = forge_value_shape(b, in[X]).rank;
    forge_value wide = forge_cast(b, forge_value_dtype(b, scale), in[X]);
    forge_value scaled = forge_mul(b, wide, for_images(b, scale, rank));
    return forge_cast(b, forge_value_dtype(b, in[X]), forge_add(b, scaled, for_images(b, shift, rank)));
}

/* --- reshapes ------------------------------------------------------------------------------------------- */

static bool is_joinable(const struct node *node)
{
    return node_is_elementwise(node) || node_is_product(node);
}

static bool has_shape(const forge_builder *b, forge_value value, const forge_shape *shape)
{
    return forge_shape_equal(&b->graph->values[value].shape, shape);
}

/* Returns the value that a reshape reads, if `fuse` can join its producer; otherwise FORGE_NO_VALUE. */
static forge_value reshaped(const forge_builder *b, forge_value value)
{
    const struct node *node = producer(b, value);
    if (node->op != OP_RESHAPE)
        return FORGE_NO_VALUE;
    forge_value source = node_input(b->graph, node, 0);
    return is_joinable(producer(b, source)) ? source : FORGE_NO_VALUE;
}

/* Returns true if a value smaller than the result broadcasts in the same way to `shape`: it is one number, or
 * a row of the last dimension, which is the same in both shapes. */
static bool broadcasts_alike(const forge_shape *small, const forge_shape *result, const forge_shape *shape)
{
    forge_dim last_of_result = result->rank ? result->dims[result->rank - 1] : 1,
              last_of_shape = shape->rank ? shape->dims[shape->rank - 1] : 1;
    size_t elements = forge_shape_elements(small);
    bool is_row = small->rank > 0 && elements == (size_t)small->dims[small->rank - 1];
    return small->rank <= shape->rank && (elements == 1 || (is_row && last_of_result == last_of_shape));
}

/* Returns an operand of an elementwise operation for a result of `shape` instead of `result`, which has
 * equally many elements; FORGE_NO_VALUE if this may need a copy. */
static forge_value operand_for(forge_builder *b, forge_value operand, const forge_shape *result,
                               const forge_shape *shape)
{
    const struct node *node = producer(b, operand);
    forge_value source = node->op == OP_RESHAPE ? node_input(b->graph, node, 0) : FORGE_NO_VALUE;
    if (source && has_shape(b, source, shape))
        return source;
    if (!has_shape(b, operand, result))
        return broadcasts_alike(&b->graph->values[operand].shape, result, shape) ? operand : FORGE_NO_VALUE;
    bool may_have_gaps = node_is_view(node) && node->op != OP_RESHAPE;
    return may_have_gaps ? FORGE_NO_VALUE : forge_reshape(b, operand, *shape);
}

/* Returns the number of the operand whose reshape can move, or node->input_count. */
static size_t find_reshape(const forge_builder *b, const struct node *node, const forge_value *inputs,
                           const forge_shape *result)
{
    size_t i = 0;
    while (i < node->input_count && !(has_shape(b, inputs[i], result) && reshaped(b, inputs[i])))
        i++;
    return i;
}

/* Returns the result of an elementwise node as a reshape of a node of another shape, or FORGE_NO_VALUE.
 * inputs: those of the node, in the builder. */
static forge_value move_reshape(forge_builder *b, const forge_graph *graph, const struct node *node,
                                const forge_value *inputs)
{
    const struct value *value = &graph->values[node->output];
    forge_value moved[3];
    size_t at = find_reshape(b, node, inputs, &value->shape);
    if (at == node->input_count || dim_shape_has_symbols(&value->shape))
        return FORGE_NO_VALUE;
    forge_shape shape = b->graph->values[reshaped(b, inputs[at])].shape;
    for (size_t i = 0; i < node->input_count; i++) {
        moved[i] = operand_for(b, inputs[i], &value->shape, &shape);
        if (moved[i] == FORGE_NO_VALUE)
            return FORGE_NO_VALUE;
    }
    forge_value result =
        builder_emit(b, (enum op)node->op, node->attributes, node->attributes_size, moved, node->input_count);
    return forge_reshape(b, result, value->shape);
}

/* --- the pass ------------------------------------------------------------------------------------------- */

static bool regroup_node(forge_builder *builder, const forge_graph *graph, const struct node *node,
                         forge_value *map, void *context)
{
    (void)context;
    forge_value inputs[UINT8_MAX], value = FORGE_NO_VALUE;
    for (size_t i = 0; i < node->input_count; i++)
        inputs[i] = map[node_input(graph, node, i)];
    builder_set_provenance(builder, graph, node);
    if (is_batch_norm(graph, node))
        value = scale_and_shift(builder, inputs,
                                ((const struct composite_attributes *)node->attributes)->reals[0]);
    else if (node_is_elementwise(node))
        value = move_reshape(builder, graph, node, inputs);
    if (value == FORGE_NO_VALUE)
        return builder_is_ok(builder) && builder_copy_node(builder, graph, node, map);
    map[node->output] = value;
    return builder_is_ok(builder);
}

joule_status pass_regroup(const forge_graph *graph, forge_device *device, void *context,
                          forge_graph **out_graph, joule_error *out_error)
{
    (void)context;
    if (!device) {
        *out_graph = graph_retain(graph);
        return JOULE_OK;
    }
    return pass_each_node(graph, regroup_node, NULL, out_graph, out_error);
}
