/* compiler/fuse.c - the pass that joins elementwise operations with each other and with the product before
 * them, so that the values between them stay in the cache.
 *
 * A group of nodes becomes one composite (ir/fused.h). A node joins the group of its readers if they all
 * belong to one group: then no value of the group but the last is needed outside. Joining never moves more
 * bytes, because the node's result is neither written nor read any more, and its inputs are read once either
 * way. A group contains at most one matmul or convolution, as its first node. The nodes of a group have one
 * shape, place and phase. A forward value that only the backward pass reads is not moved there, since its
 * inputs, which are often larger, would have to be kept.
 *
 * Note: the nodes of the body keep their scopes, so the joules of the launch can be divided among them. */
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
    uint8_t word_count; /* of its code */
    uint32_t first;     /* its first node; all its nodes are from here to the last */
    uint32_t product;   /* the node of its product; NONE: it has none */
};

struct fusion {
    const forge_graph *graph;
    forge_device *device;
    struct group *groups; /* by node */
    uint32_t *group_of;   /* by node: the last node of its group; NONE: the node is in no group */
    /* by value: the group that contains all its readers; NONE: there is no reader yet. MANY: there are
     * readers outside of one group */
    uint32_t *readers;
    forge_value *body_values; /* scratch, by value: its copy in the body that is built */
    uint8_t *numbers;         /* scratch, by node: the operand number of its value */
};
#define MANY (UINT32_MAX - 1)

/* --- groups --------------------------------------------------------------------------------------------- */

/* Returns true if the node accumulates in the type that the composite's body implies. */
static bool has_usual_sums(const struct fusion *f, const struct node *node)
{
    const struct matmul_attributes *matmul = node->attributes;
    const struct conv_attributes *conv = node->attributes;
    forge_dtype accumulate = node->op == OP_MATMUL ? matmul->accumulate : conv->accumulate;
    return !node_is_product(node) || accumulate == builder_accumulator(f->graph->values[node->output].dtype);
}

/* Returns true if the device has a kernel for a group of this node alone. */
static bool is_fusible(const struct fusion *f, const struct node *node)
{
    static const uint8_t operands[] = {0, 1, 2};
    struct composite_attributes attributes = {0};
    struct node alone = *node;
    struct fused fused = {0};
    if (!fused_words((enum op)node->op) || !has_usual_sums(f, node) || !fused_add(&fused, node, operands) ||
        !fused_write(&fused, &attributes))
        return false;
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
    grown.word_count += fused_words((enum op)node->op);
    grown.first = (uint32_t)(node - graph->nodes); /* nodes are added from the last to the first */
    if (node_is_product(node))
        grown.product = (uint32_t)(node - graph->nodes);
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
    if (grown.word_count > FUSED_MAX_STEPS)
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

/* Returns true if the group's value is the new value of a slot. */
static bool is_written(const struct fusion *f, uint32_t group)
{
    for (size_t i = 0; i < f->graph->slot_count; i++)
        if (f->graph->slots[i].write == f->graph->nodes[group].output)
            return true;
    return false;
}

/* Returns the slot that a value is read from, possibly through views; NULL if there is none. */
static const struct slot *slot_of(const forge_graph *graph, forge_value value)
{
    const struct node *node = graph_producer(graph, value);
    while (node_is_view(node))
        node = graph_producer(graph, node_input(graph, node, 0));
    const struct read_attributes *read = node->attributes;
    return node->op == OP_READ ? &graph->slots[read->slot] : NULL;
}

/* Returns true if the node may run where the last node of the group is: it reads no slot whose new value
 * exists before that, because the new value may replace the old one in memory. */
static bool may_wait(const struct fusion *f, const struct node *node, uint32_t group)
{
    for (size_t i = 0; i < node->input_count; i++) {
        const struct slot *slot = slot_of(f->graph, node_input(f->graph, node, i));
        if (slot && slot->write && f->graph->values[slot->write].node < group)
            return false;
    }
    return true;
}

/* Returns true if a product of one type can be followed by a result of another: it is computed in the memory
 * of the result, but sums of narrow products are f32 in scratch memory. */
static bool can_change_type(forge_dtype product, forge_dtype result)
{
    bool is_narrow = product == FORGE_BF16 || product == FORGE_F16;
    return product == result ||
           (is_narrow && (result == FORGE_F32 || result == FORGE_BF16 || result == FORGE_F16));
}

/* Returns true if the node can join the group. A product is computed in the memory of the result. So that
 * must not be the new value of a slot, whose old value the group may still read. */
static bool can_join(const struct fusion *f, const struct node *node, uint32_t group)
{
    const struct node *last = &f->graph->nodes[group];
    bool has_room = f->groups[group].product == NONE && can_change_type(f->graph->values[node->output].dtype,
                                                                        f->graph->values[last->output].dtype);
    return are_alike(f->graph, node, last) && may_wait(f, node, group) &&
           (!node_is_product(node) || (has_room && !is_written(f, group)));
}

/* Chooses the group of a node whose readers have their groups. */
static void choose_group(struct fusion *f, uint32_t n)
{
    const struct node *node = &f->graph->nodes[n];
    uint32_t group = f->readers[node->output];
    f->group_of[n] = NONE;
    if (!is_fusible(f, node))
        return;
    if (group < MANY && can_join(f, node, group) && add_node(&f->groups[group], f->graph, node)) {
        f->group_of[n] = group;
    } else if (!node_is_product(node)) {
        f->group_of[n] = n;
        f->groups[n].product = NONE;
        add_node(&f->groups[n], f->graph, node);
    }
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
        /* A product reads all elements of its inputs, so they cannot be computed on the way. */
        uint32_t reader = node_is_product(&graph->nodes[n]) ? NONE : f->group_of[n];
        for (size_t i = 0; i < graph->nodes[n].input_count; i++)
            note_reader(f, node_input(graph, &graph->nodes[n], i), reader);
    }
}

/* --- the new graph -------------------------------------------------------------------------------------- */

/* The arguments of fused_body: a group, given by its last node. */
struct body {
    const struct fusion *fusion;
    uint32_t last;
};

/* Adds the nodes of a group to a body, each with its own scope. map: by value of the graph. */
static void add_nodes(forge_builder *builder, const struct body *body, forge_value *map)
{
    const forge_graph *graph = body->fusion->graph;
    for (int products = 1; products >= 0; products--)
        for (uint32_t n = body->fusion->groups[body->last].first; n <= body->last; n++) {
            const struct node *node = &graph->nodes[n];
            if (body->fusion->group_of[n] != body->last || node_is_product(node) != products)
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
    forge_value *map = body->fusion->body_values;
    for (size_t i = 0; i < count; i++)
        map[body->fusion->groups[body->last].inputs[i]] = inputs[i];
    if (builder_is_ok(builder))
        add_nodes(builder, body, map);
    out_values[0] = map[body->fusion->graph->nodes[body->last].output];
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
    uint8_t operands[3] = {0};
    for (size_t i = 0; i < node->input_count; i++)
        operands[i] = operand_of(f, group, node_input(f->graph, node, i));
    f->numbers[n] = (uint8_t)(FUSED_MAX_INPUTS + fused->count);
    return fused_add(fused, node, operands);
}

/* Writes the code of a group, whose product is the first step. Returns false if it is too long. */
static bool write_code(const struct fusion *f, uint32_t group, struct composite_attributes *out)
{
    struct fused fused = {0};
    bool is_ok = true;
    for (int products = 1; products >= 0; products--)
        for (uint32_t n = f->groups[group].first; is_ok && n <= group; n++)
            if (f->group_of[n] == group && node_is_product(&f->graph->nodes[n]) == products)
                is_ok = add_step(f, group, n, &fused);
    return is_ok && fused_write(&fused, out);
}

/* Replaces the last node of a group by the composite, which gets the scope of the product, because that is
 * most of the work, or else of the last node. */
static bool add_composite(forge_builder *builder, const struct fusion *f, uint32_t group, forge_value *map)
{
    struct composite_attributes attributes = {0};
    forge_value inputs[FUSED_MAX_INPUTS];
    const struct group *g = &f->groups[group];
    const struct node *last = &f->graph->nodes[group];
    if (!write_code(f, group, &attributes)) {
        builder_fail(builder, JOULE_FAILED, "the code of a group is too long");
        return false;
    }
    for (size_t i = 0; i < g->input_count; i++)
        inputs[i] = map[g->inputs[i]];
    builder_set_provenance(builder, f->graph, g->product == NONE ? last : &f->graph->nodes[g->product]);
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
                       .readers = calloc(graph->value_count + 1, sizeof *f.readers),
                       .body_values = calloc(graph->value_count + 1, sizeof *f.body_values),
                       .numbers = calloc(graph->node_count + 1, sizeof *f.numbers)};
    joule_status status = JOULE_OK;
    if (!device) {
        *out_graph = graph_retain(graph);
    } else if (f.groups && f.group_of && f.readers && f.body_values && f.numbers) {
        choose_groups(&f);
        status = pass_each_node(graph, fuse_node, &f, out_graph, out_error);
    } else {
        status = error_set(out_error, JOULE_NO_MEMORY, "out of memory");
    }
    free(f.groups);
    free(f.group_of);
    free(f.readers);
    free(f.body_values);
    free(f.numbers);
    return status;
}
