/* compiler/fuse.c - the pass that joins elementwise operations with each other, with the product before them,
 * and with the row operation before or after them, so that the values between them stay in the cache.
 *
 * fuse_groups.c chooses the groups. This file writes the graph in which each group is one composite.
 *
 * Note: the nodes of the body keep their scopes, so the joules of the launch can be divided among them. */
#include "forge/compiler/fuse.h"

#include <stdlib.h>
#include "base/error.h"
#include "forge/compiler/pass.h"
#include "forge/hal/backend.h"
#include "forge/ir/infer.h"

/* Returns the number of outputs of a group's composite. */
static uint32_t output_count(const struct fusion *f, const struct group *group)
{
    return group->product == FUSE_NONE ? 1 : f->graph->nodes[group->product].output_count;
}

/* The arguments of fused_body: a group, given by its last node. */
struct body {
    const struct fusion *fusion;
    uint32_t last;
};

/* Returns true if node n is the k-th part of the group: 0: its product, which is the first step; 1: all other
 * nodes. */
static bool is_part(const struct fusion *f, uint32_t group, uint32_t n, int k)
{
    return f->group_of[n] == group && (k == 0) == node_is_product(&f->graph->nodes[n]);
}

/* Adds the nodes of a group to a body, each with its own scope. map: by value of the graph. */
static void add_nodes(forge_builder *builder, const struct body *body, forge_value *map)
{
    const forge_graph *graph = body->fusion->graph;
    for (int part = 0; part < 2; part++)
        for (uint32_t n = body->fusion->groups[body->last].first; n <= body->last; n++) {
            const struct node *node = &graph->nodes[n];
            if (!is_part(body->fusion, body->last, n, part))
                continue;
            builder->phase = (forge_phase)node->phase;
            builder->scope = builder_add_scope(builder, graph->scopes[node->scope]);
            if (!builder_copy_values(builder, graph, node, map))
                return;
        }
}

/* Adds the body of a group's composite; a forge_bodies_fn. */
static void fused_body(forge_builder *builder, const forge_value *inputs, size_t count, const void *context,
                       forge_value *out_values)
{
    const struct body *body = context;
    const struct fusion *f = body->fusion;
    const struct group *group = &f->groups[body->last];
    forge_value *map = f->body_values;
    for (size_t i = 0; i < count; i++)
        map[group->inputs[i]] = inputs[i];
    if (builder_is_ok(builder))
        add_nodes(builder, body, map);
    out_values[0] = map[f->graph->nodes[body->last].output];
    for (uint32_t k = 1; k < output_count(f, group); k++)
        out_values[k] = map[f->graph->nodes[group->product].output + k];
}

/* Returns the operand number of a value of a group whose earlier steps have their numbers. */
static uint8_t operand_of(const struct fusion *f, uint32_t group, forge_value value)
{
    for (uint8_t i = 0; i < f->groups[group].input_count; i++)
        if (f->groups[group].inputs[i] == value)
            return i;
    return f->numbers[f->graph->values[value].node];
}

/* Adds the step of a node of the group. */
static bool add_step(const struct fusion *f, uint32_t group, uint32_t n, struct fused *fused)
{
    const struct node *node = &f->graph->nodes[n];
    uint8_t operands[FUSED_MAX_OPERANDS] = {0};
    for (size_t i = 0; i < node->input_count; i++)
        operands[i] = operand_of(f, group, node_input(f->graph, node, i));
    f->numbers[n] = (uint8_t)(FUSED_MAX_INPUTS + fused->count);
    return fused_add(fused, node, operands);
}

/* Writes the code of a group. Returns false if it is too long. */
static bool write_code(const struct fusion *f, uint32_t group, struct composite_attributes *out)
{
    struct fused fused = {0};
    bool is_ok = true;
    for (int part = 0; part < 2; part++)
        for (uint32_t n = f->groups[group].first; is_ok && n <= group; n++)
            if (is_part(f, group, n, part))
                is_ok = add_step(f, group, n, &fused);
    return is_ok && fused_write(&fused, out);
}

/* Returns true if the device has a kernel for the composite of a group. The nodes have kernels, but a kernel
 * may limit what is joined. */
static bool has_kernel(const struct fusion *f, uint32_t group, const struct composite_attributes *attributes)
{
    const struct group *g = &f->groups[group];
    forge_value outputs[OP_MAX_OUTPUTS] = {f->graph->nodes[group].output};
    for (uint32_t k = 1; k < output_count(f, g); k++)
        outputs[k] = f->graph->nodes[g->product].output + k;
    return composite_kernel_takes_values(f->graph, attributes, g->inputs, g->input_count, outputs,
                                         output_count(f, g), f->device);
}

/* Copies the nodes of a group one by one. */
static bool copy_nodes(forge_builder *builder, const struct fusion *f, uint32_t group, forge_value *map)
{
    for (uint32_t n = f->groups[group].first; n <= group; n++)
        if (f->group_of[n] == group && !builder_copy_node(builder, f->graph, &f->graph->nodes[n], map))
            return false;
    return true;
}

/* Adds the composite of a group, or its nodes if that has no kernel. The composite gets the scope of the
 * product or row operation, because that is most of the work, or else of the last node. */
static bool add_composite(forge_builder *builder, const struct fusion *f, uint32_t group, forge_value *map)
{
    struct composite_attributes attributes = {0};
    forge_value inputs[FUSED_MAX_INPUTS], outputs[OP_MAX_OUTPUTS];
    const struct group *g = &f->groups[group];
    const struct node *last = &f->graph->nodes[group];
    if (!write_code(f, group, &attributes)) {
        builder_fail(builder, JOULE_FAILED, "the code of a group is too long");
        return false;
    }
    for (size_t i = 0; i < g->input_count; i++) {
        const struct node *producer = graph_producer(f->graph, g->inputs[i]);
        if (producer->input_count == 0) /* it may come later; the builder merges equal nodes */
            builder_copy_node(builder, f->graph, producer, map);
        inputs[i] = map[g->inputs[i]];
    }
    if (!has_kernel(f, group, &attributes))
        return copy_nodes(builder, f, group, map);
    const struct node *product = g->product == FUSE_NONE ? last : &f->graph->nodes[g->product];
    builder_set_provenance(builder, f->graph, product);
    builder_add_composite(builder, &attributes, inputs, g->input_count, fused_body, &(struct body){f, group},
                          outputs, output_count(f, g));
    map[last->output] = outputs[0];
    for (uint32_t k = 1; k < output_count(f, g); k++)
        map[product->output + k] = outputs[k];
    return builder_is_ok(builder);
}

static bool is_joined(const struct fusion *f, uint32_t group)
{
    return group != FUSE_NONE && f->groups[group].node_count > 1;
}

static bool fuse_node(forge_builder *builder, const forge_graph *graph, const struct node *node,
                      forge_value *map, void *context)
{
    const struct fusion *f = context;
    uint32_t n = (uint32_t)(node - graph->nodes);
    bool is_ok = is_joined(f, f->group_of[n]) || builder_copy_node(builder, graph, node, map);
    for (uint32_t group = f->groups_at[n]; is_ok && group != FUSE_NONE; group = f->groups[group].next_at)
        is_ok = !is_joined(f, group) || add_composite(builder, f, group, map);
    return is_ok;
}

joule_status pass_fuse(const forge_graph *graph, forge_device *device, void *context, forge_graph **out_graph,
                       joule_error *out_error)
{
    (void)context;
    struct fusion f = {.graph = graph,
                       .device = device,
                       .groups = calloc(graph->node_count + 1, sizeof *f.groups),
                       .group_of = calloc(graph->node_count + 1, sizeof *f.group_of),
                       .groups_at = calloc(graph->node_count + 1, sizeof *f.groups_at),
                       .readers = calloc(graph->value_count + 1, sizeof *f.readers),
                       .first_reader = calloc(graph->value_count + 1, sizeof *f.first_reader),
                       .body_values = calloc(graph->value_count + 1, sizeof *f.body_values),
                       .numbers = calloc(graph->node_count + 1, sizeof *f.numbers)};
    joule_status status = JOULE_OK;
    if (!device) {
        *out_graph = graph_retain(graph);
    } else if (f.groups && f.group_of && f.groups_at && f.readers && f.first_reader && f.body_values &&
               f.numbers) {
        status = device->ops->rates(device, &f.rates, out_error);
        if (status == JOULE_OK) {
            fuse_choose_groups(&f);
            status = pass_each_node(graph, fuse_node, &f, out_graph, out_error);
        }
    } else {
        status = error_set(out_error, JOULE_NO_MEMORY, "out of memory");
    }
    free(f.groups);
    free(f.group_of);
    free(f.groups_at);
    free(f.readers);
    free(f.first_reader);
    free(f.body_values);
    free(f.numbers);
    return status;
}
