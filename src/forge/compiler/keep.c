/* compiler/keep.c - which composites stay whole.
 *
 * Owns the question whether a kernel may take a composite's place. Newcomers: its name is not believed. Anybody can build a
 * composite of any name, or write one into a graph's text, so the body that the library would give it is made anew and
 * compared.
 */
#include <stdlib.h>
#include "forge/autodiff/gradient.h"
#include "forge/compiler/pass.h"
#include "forge/hal/device.h"
#include "forge/ir/library.h"

/* At the largest sizes. */
static bool views_of(const forge_graph *graph, const struct node *node, struct view *views,
                     const struct value **inputs)
{
    int64_t *sizes = calloc(graph->dims.count + 1, sizeof *sizes);
    if (sizes)
        dim_take_largest(&graph->dims, sizes);
    bool are_sizes = sizes && dim_fill(&graph->dims, sizes);
    for (size_t i = 0; are_sizes && i < (size_t)node->input_count + node->output_count; i++) {
        bool is_input = i < node->input_count;
        const struct value *value =
            &graph->values[is_input ? node_input(graph, node, i)
                                    : node->output + (forge_value)(i - node->input_count)];
        views[i] = view_packed(value->dtype, NULL, dim_put_shape(&value->shape, sizes));
        if (is_input)
            inputs[i] = value;
    }
    free(sizes);
    return are_sizes;
}

/* The gradient of what the library writes for these attributes, in place of it. */
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
    forge_graph *own = library_body(attributes, inputs, count, dims, NULL);
    return own && library_is_gradient(attributes) ? to_gradient(own, attributes, dims) : own;
}

static bool is_the_librarys(const forge_graph *graph, const struct node *node,
                            const struct value *const *inputs)
{
    const struct composite_attributes *a = node->attributes;
    forge_graph *own = composite_body(a, inputs, node->input_count, &graph->dims);
    bool is_so = own && library_same_body(own, a->body);
    forge_graph_free(own);
    return is_so;
}

bool pass_keeps_composite(const forge_graph *graph, const struct node *node, forge_device *device)
{
    struct view views[2 * (UINT8_MAX + 1)];
    const struct value *inputs[UINT8_MAX];
    struct selection selection;
    if (!views_of(graph, node, views, inputs))
        return false;
    struct launch launch = {.op = OP_COMPOSITE,
                            .attributes = node->attributes,
                            .inputs = views,
                            .input_count = node->input_count,
                            .outputs = views + node->input_count,
                            .output_count = node->output_count};
    return device->ops->select(device, &launch, &selection) == JOULE_OK &&
           is_the_librarys(graph, node, inputs);
}
