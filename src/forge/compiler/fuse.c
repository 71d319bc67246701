/* compiler/fuse.c - the pass that joins elementwise operations, so that their values stay in the cache.
 *
 * A group of nodes becomes one composite "fused". A node joins the group of its readers if they all belong to
 * one group: then no value of the group but the last is needed outside. Joining never moves more bytes, because
 * the node's result is neither written nor read any more, and its inputs are read once either way.
 * The nodes of a group have one shape, place and phase. A forward value that only the backward pass reads is
 * not moved there, since its inputs, which are often larger, would have to be kept.
 *
 * Note: the nodes of the body keep their scopes, so the joules of the launch can be divided among them.
 */
#include <stdlib.h>
#include "base/error.h"
#include "forge/compiler/pass.h"
#include "forge/ir/fused.h"
#include "forge/ir/library.h"

#define NONE UINT32_MAX

/* A group of nodes. It has the number of its last node. */
struct group {
    forge_value inputs[FUSED_MAX_INPUTS]; /* values from outside that the group reads */
    uint8_t input_count;
    uint8_t node_count;
};

struct fusion {
    const forge_graph *graph;
    forge_device *device;
    struct group *groups; /* by node */
    uint32_t *group_of;   /* by node: the last node of its group; NONE: the node is in no group */
    /* by value: the group that contains all its readers; NONE: there is no reader yet. MANY: there are readers
     * outside of one group */
    uint32_t *readers;
};
#define MANY (UINT32_MAX - 1)

/* --- groups --------------------------------------------------------------------------------------------- */

static bool is_one_value(const struct node *node)
{
    return node->op == OP_UNARY || node->op == OP_BINARY || node->op == OP_SELECT || node->op == OP_CAST;
}

/* Returns true if the device has a kernel for a group of this node alone. */
static bool is_fusible(const struct fusion *f, const struct node *node)
{
    static const uint8_t operands[] = {0, 1, 2};
    struct composite_attributes attributes = {.name = "fused"};
    struct node alone = *node;
    struct fused_step step;
    if (!is_one_value(node) || !fused_step_of(node, operands, &step))
        return false;
    attributes.code[0] = fused_word(&step);
    alone.op = OP_COMPOSITE;
    alone.attributes = &attributes;
    return composite_kernel_takes(f->graph, &alone, f->device);
}

static bool reads(const struct group *group, forge_value value)
{
    for (size_t i = 0; i < group->input_count; i++)
        if (group->inputs[i] == value)
            return true;
    return false;
}

/* Adds the node to the group: the group then reads the node's inputs, but not its value. Returns false, with
 * the group unchanged, if the group would become too large. */
static bool add_node(struct group *group, const forge_graph *graph, const struct node *node)
{
    struct group grown = *group;
    for (size_t i = 0; i < grown.input_count; i++)
        if (grown.inputs[i] == node->output)
            grown.inputs[i] = grown.inputs[--grown.input_count];
    for (size_t i = 0; i < node->input_count; i++) {
        forge_value value = node_input(graph, node, i);
        if (reads(&grown, value))
            continue;
        if (grown.input_count == FUSED_MAX_INPUTS)
            return false;
        grown.inputs[grown.input_count++] = value;
    }
    if (grown.node_count == FUSED_MAX_STEPS)
        return false;
    grown.node_count++;
    *group = grown;
    return true;
}

static bool are_alike(const forge_graph *graph, const struct node *a, const struct node *b)
{
    const struct value *x = &graph->values[a->output], *y = &graph->values[b->output];
    return forge_shape_equal(&x->shape, &y->shape) && x->place == y->place && a->phase == b->phase &&
           a->recompute_region == b->recompute_region;
}

static void note_reader(struct fusion *f, forge_value value, uint32_t group)
{
    uint32_t *readers = &f->readers[value];
    *readers = group != NONE && (*readers == NONE || *readers == group) ? group : MANY;
}

/* Chooses the group of a node whose readers have their groups. */
static void choose_group(struct fusion *f, uint32_t n)
{
    const struct node *node = &f->graph->nodes[n];
    uint32_t group = f->readers[node->output];
    f->group_of[n] = NONE;
    if (!is_fusible(f, node))
        return;
    f->group_of[n] = n;
    if (group < MANY && are_alike(f->graph, node, &f->graph->nodes[group]) &&
        add_node(&f->groups[group], f->graph, node))
        f->group_of[n] = group;
    else
        add_node(&f->groups[n], f->graph, node);
}

static void choose_groups(struct fusion *f)
{
    const forge_graph *graph = f->graph;
    for (size_t i = 0; i < graph->value_count; i++)
        f->readers[i] = NONE;
    for (size_t i = 0; i < graph->output_count; i++)
        f->readers[graph->outputs[i].value] = MANY;
    for (size_t i = 0; i < graph->slot_count; i++)
        f->readers[graph->slots[i].write] = MANY;
    for (uint32_t n = (uint32_t)graph->node_count; n-- > 0;) {
        choose_group(f, n);
        for (size_t i = 0; i < graph->nodes[n].input_count; i++)
            note_reader(f, node_input(graph, &graph->nodes[n], i), f->group_of[n]);
    }
}

/* --- the new graph -------------------------------------------------------------------------------------- */

/* What fused_body needs: the group and its last node. */
struct body {
    const struct fusion *fusion;
    uint32_t last;
};

/* Adds the nodes of a group to a body, each with its own scope. map: by value of the graph. */
static void add_nodes(forge_builder *builder, const struct body *body, forge_value *map)
{
    const forge_graph *graph = body->fusion->graph;
    for (uint32_t n = 0; n <= body->last; n++) {
        if (body->fusion->group_of[n] != body->last)
            continue;
        const struct node *node = &graph->nodes[n];
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
    const forge_graph *graph = body->fusion->graph;
    forge_value *map = calloc(graph->value_count, sizeof *map);
    if (!map) {
        builder_fail(builder, JOULE_NO_MEMORY, "out of memory");
        return;
    }
    for (size_t i = 0; i < count; i++)
        map[body->fusion->groups[body->last].inputs[i]] = inputs[i];
    if (builder_is_ok(builder))
        add_nodes(builder, body, map);
    out_values[0] = map[graph->nodes[body->last].output];
    free(map);
}

/* Returns the operand number of a value of a group. numbers: by node, those of the group's earlier nodes. */
static uint8_t operand_of(const struct fusion *f, uint32_t group, const uint8_t *numbers, forge_value value)
{
    for (uint8_t i = 0; i < f->groups[group].input_count; i++)
        if (f->groups[group].inputs[i] == value)
            return i;
    return numbers[f->graph->values[value].node];
}

/* Writes the code of a group. Returns false if out of memory. */
static bool write_code(const struct fusion *f, uint32_t group, struct composite_attributes *out)
{
    uint8_t *numbers = calloc(group + 1, sizeof *numbers), operands[3] = {0};
    uint32_t count = 0;
    for (uint32_t n = 0; numbers && n <= group; n++) {
        const struct node *node = &f->graph->nodes[n];
        struct fused_step step;
        if (f->group_of[n] != group)
            continue;
        for (size_t i = 0; i < node->input_count; i++)
            operands[i] = operand_of(f, group, numbers, node_input(f->graph, node, i));
        if (fused_step_of(node, operands, &step))
            out->code[count] = fused_word(&step);
        numbers[n] = (uint8_t)(FUSED_MAX_INPUTS + count++);
    }
    free(numbers);
    return numbers != NULL;
}

/* Replaces the last node of a group by the composite. */
static bool add_composite(forge_builder *builder, const struct fusion *f, uint32_t group, forge_value *map)
{
    struct composite_attributes attributes = {.name = "fused"};
    forge_value inputs[FUSED_MAX_INPUTS];
    const struct group *g = &f->groups[group];
    const struct node *last = &f->graph->nodes[group];
    if (!write_code(f, group, &attributes)) {
        builder_fail(builder, JOULE_NO_MEMORY, "out of memory");
        return false;
    }
    for (size_t i = 0; i < g->input_count; i++)
        inputs[i] = map[g->inputs[i]];
    builder_set_provenance(builder, f->graph, last);
    builder_add_composite(builder, &attributes, inputs, g->input_count, fused_body, &(struct body){f, group},
                          &map[last->output], 1);
    return builder_is_ok(builder);
}

static bool fuse_node(forge_builder *builder, const forge_graph *graph, const struct node *node,
                      forge_value *map, void *context)
{
    const struct fusion *f = context;
    uint32_t n = (uint32_t)(node - graph->nodes), group = f->group_of[n];
    if (group == NONE || f->groups[group].node_count == 1)
        return builder_copy_node(builder, graph, node, map);
    return group != n || add_composite(builder, f, group, map);
}

joule_status pass_fuse(const forge_graph *graph, forge_device *device, void *context, forge_graph **out_graph,
                       joule_error *out_error)
{
    (void)context;
    struct fusion f = {.graph = graph,
                       .device = device,
                       .groups = calloc(graph->node_count + 1, sizeof *f.groups),
                       .group_of = calloc(graph->node_count + 1, sizeof *f.group_of),
                       .readers = calloc(graph->value_count + 1, sizeof *f.readers)};
    joule_status status = JOULE_OK;
    if (!device) {
        *out_graph = graph_retain(graph);
    } else if (f.groups && f.group_of && f.readers) {
        choose_groups(&f);
        status = pass_each_node(graph, fuse_node, &f, out_graph, out_error);
    } else {
        status = error_set(out_error, JOULE_NO_MEMORY, "out of memory");
    }
    free(f.groups);
    free(f.group_of);
    free(f.readers);
    return status;
}
