/* compiler/composite_kernels.c - decides which composites a kernel of the device runs.
 *
 * Note: the name of a composite does not prove what it computes, because callers and texts may give any name
 * to any body. So the body is compared with the body that the library builds for this name.
 */
#include <stdlib.h>
#include "forge/autodiff/gradient.h"
#include "forge/compiler/pass.h"
#include "forge/hal/backend.h"
#include "forge/ir/library.h"

/* The operands of a composite: values of the graph. */
struct operands {
    const forge_value *inputs, *outputs;
    size_t input_count, output_count;
};

/* Sets packed views of the inputs and then of the outputs, without addresses. set_symbols: dim_set_max or
 * dim_set_min, which set the sizes. Returns false if a size is too large, or if out of memory. */
static bool fill_views(const forge_graph *graph, const struct operands *operands,
                       void (*set_symbols)(const struct dim_table *table, int64_t *values),
                       struct view *views)
{
    int64_t *sizes = calloc(graph->dims.count + 1, sizeof *sizes);
    if (sizes)
        set_symbols(&graph->dims, sizes);
    bool are_sizes = sizes && dim_evaluate(&graph->dims, sizes);
    for (size_t i = 0; are_sizes && i < operands->input_count + operands->output_count; i++) {
        size_t output = i - operands->input_count;
        const struct value *value =
            &graph->values[i < operands->input_count ? operands->inputs[i] : operands->outputs[output]];
        views[i] = view_packed(value->dtype, NULL, dim_substitute_shape(&value->shape, sizes));
    }
    free(sizes);
    return are_sizes;
}

static bool has_kernel(const forge_graph *graph, const struct composite_attributes *attributes,
                       const struct operands *operands, forge_device *device,
                       void (*set_symbols)(const struct dim_table *table, int64_t *values))
{
    struct view views[2 * (UINT8_MAX + 1)];
    struct selection selection;
    struct launch launch = {.op = OP_COMPOSITE,
                            .attributes = attributes,
                            .inputs = views,
                            .input_count = operands->input_count,
                            .outputs = views + operands->input_count,
                            .output_count = operands->output_count};
    return fill_views(graph, operands, set_symbols, views) &&
           device->ops->select(device, &launch, &selection) == JOULE_OK;
}

/* Returns the gradient of `own`, a body that the library has built; NULL on failure. Frees `own` in any case.
 * The caller frees the result with forge_graph_free. */
static forge_graph *to_gradient(forge_graph *own, const struct composite_attributes *a,
                                const struct dim_table *dims)
{
    uint32_t wanted = a->wanted;
    forge_graph *gradient = gradient_of_body(own, dims, a->given, &wanted, NULL);
    forge_graph_free(own);
    return gradient;
}

forge_graph *composite_body(const struct composite_attributes *attributes, const struct value *const *inputs,
                            size_t count, const struct dim_table *dims)
{
    forge_graph *own = library_body_with(attributes, inputs, count, dims, composite_body, NULL);
    return own && library_is_gradient(attributes) ? to_gradient(own, attributes, dims) : own;
}

static bool has_library_body(const forge_graph *graph, const struct node *node)
{
    const struct composite_attributes *a = node->attributes;
    const struct value *inputs[UINT8_MAX];
    for (size_t i = 0; i < node->input_count; i++)
        inputs[i] = &graph->values[node_input(graph, node, i)];
    forge_graph *own = composite_body(a, inputs, node->input_count, &graph->dims);
    bool is_valid = own && library_same_body(own, a->body);
    forge_graph_free(own);
    return is_valid;
}

bool composite_kernel_takes_values(const forge_graph *graph, const struct composite_attributes *attributes,
                                   const forge_value *inputs, size_t input_count, const forge_value *outputs,
                                   size_t output_count, forge_device *device)
{
    const struct operands operands = {inputs, outputs, input_count, output_count};
    return has_kernel(graph, attributes, &operands, device, dim_set_max) &&
           has_kernel(graph, attributes, &operands, device, dim_set_min);
}

bool composite_kernel_takes(const forge_graph *graph, const struct node *node, forge_device *device)
{
    forge_value outputs[UINT8_MAX];
    for (size_t k = 0; k < node->output_count; k++)
        outputs[k] = node->output + (forge_value)k;
    return composite_kernel_takes_values(graph, node->attributes, &graph->edges[node->first_input],
                                         node->input_count, outputs, node->output_count, device);
}

/* After compilation, a composite has no implementation other than its kernel, so the kernel must support all
 * sizes. A kernel that supports the largest and the smallest sizes also supports all sizes between them. */
bool composite_has_kernel(const forge_graph *graph, const struct node *node, forge_device *device)
{
    return composite_kernel_takes(graph, node, device) && has_library_body(graph, node);
}
