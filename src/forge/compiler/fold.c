/* compiler/fold.c - the pass that computes nodes whose inputs are all constants, with the reference kernels.
 *
 * Note: only nodes with small results are folded, because a program stores all its constants. A large result
 * that is cheap to compute, such as an array of zeros, is computed in each run.
 */
#include "forge/compiler/pass.h"
#include "forge/ir/fields.h"
#include "forge/reference/reference.h"

#define LARGEST_BYTES 4096 /* maximum size of a result that is stored in the program */

static const struct constant_attributes *constant_of(const forge_builder *builder, forge_value value)
{
    const struct node *node = value ? graph_producer(builder->graph, value) : NULL;
    return node && node->op == OP_CONSTANT ? node->attributes : NULL;
}

/* Returns true if the pass must compute the node. A node without inputs, such as iota, is not folded, because
 * a constant would need more memory. */
static bool can_fold(const forge_builder *builder, const struct node *node, const struct value *value,
                     const forge_value *map, const forge_graph *graph)
{
    size_t bytes = forge_dtype_size_bytes(value->dtype, forge_shape_elements(&value->shape));
    if (!node_is_local(node) || node->input_count == 0 || node->output_count != 1 ||
        !reference_of((enum op)node->op) || bytes > LARGEST_BYTES ||
        fields_have_symbols((enum op)node->op, node->attributes))
        return false;
    for (size_t i = 0; i < node->input_count; i++)
        if (!constant_of(builder, map[node_input(graph, node, i)]))
            return false;
    return true;
}

static forge_value fold(forge_builder *builder, const forge_graph *graph, const struct node *node,
                        const struct value *value, const forge_value *map)
{
    struct view inputs[UINT8_MAX];
    forge_tensor result;
    if (forge_tensor_new(value->dtype, &value->shape, &result, NULL) != JOULE_OK)
        return builder_fail(builder, JOULE_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < node->input_count; i++) {
        const struct constant_attributes *constant = constant_of(builder, map[node_input(graph, node, i)]);
        inputs[i] = view_packed(constant->dtype, (void *)constant->bytes, constant->shape);
    }
    struct view output = view_packed(value->dtype, forge_tensor_data(&result), value->shape);
    struct launch launch = {.op = (enum op)node->op,
                            .attributes = node->attributes,
                            .inputs = inputs,
                            .input_count = node->input_count,
                            .outputs = &output,
                            .output_count = 1};
    reference_of(launch.op)(&launch, 0, launch_pieces(&launch));
    builder_set_provenance(builder, graph, node);
    forge_value folded = forge_constant(builder, &result);
    forge_buffer_release(result.buffer);
    return folded;
}

static bool fold_or_copy(forge_builder *builder, const forge_graph *graph, const struct node *node,
                         forge_value *map, void *context)
{
    (void)context;
    const struct value *value = &graph->values[node->output];
    if (!can_fold(builder, node, value, map, graph))
        return builder_copy_node(builder, graph, node, map);
    map[node->output] = fold(builder, graph, node, value, map);
    return map[node->output] != FORGE_NO_VALUE;
}

joule_status pass_fold(const forge_graph *graph, forge_device *device, void *context, forge_graph **out_graph,
                       joule_error *out_error)
{
    (void)device, (void)context;
    return pass_each_node(graph, fold_or_copy, NULL, out_graph, out_error);
}
