/* compiler/fuse_groups.c - chooses the groups of nodes that the pass `fuse` joins.
 *
 * A node joins the group of its readers if they all belong to one group: then no value of the group but the
 * last is needed outside. Joining never moves more bytes, because the node's result is neither written nor
 * read any more, and its inputs are read once either way; but a node joins a row operation only if this saves
 * joules (fuse_cost.c). A group contains at most one product or row
 * operation. Nodes before a product do not join it, because it reads its operands several times. Nodes before
 * a row operation do, but nodes after a reduction do not, because its result is small. The nodes of a group
 * have one shape, place and phase; the operand of a reduction may have another shape than its result. A
 * forward value that only the backward pass reads is not moved there, since its inputs, which are often
 * larger, would have to be kept.
 *
 * Note: a row operation may have further results, which other nodes read. So its group is computed before
 * these nodes, as soon as all values that it reads are there. */
#include "forge/compiler/fuse.h"
#include "forge/compiler/pass.h"
#include "forge/ir/library.h"

/* Returns true if the device has a kernel for a group of this node alone. */
static bool is_fusible(const struct fusion *f, const struct node *node)
{
    static const uint8_t operands[] = {0, 1, 2, 3, 4};
    struct composite_attributes attributes = {0};
    struct node alone = *node;
    struct fused fused = {0};
    if (!fused_words((enum op)node->op) || !node_has_usual_sums(f->graph, node) ||
        !fused_add(&fused, node, operands) || !fused_write(&fused, &attributes))
        return false;
    alone.op = OP_COMPOSITE;
    alone.attributes = &attributes;
    return composite_kernel_takes(f->graph, &alone, f->device) &&
           (node->op != OP_COMPOSITE || composite_has_kernel(f->graph, node, f->device));
}

static bool reads(const struct group *group, forge_value value)
{
    for (size_t i = 0; i < group->input_count; i++)
        if (group->inputs[i] == value)
            return true;
    return false;
}

/* Adds the node to the group: the group then reads the node's inputs, but not its value. Returns false, with
 * the group unchanged, if the group would become too large. In a device, the value of a product is one more
 * input of the steps after it. */
static bool add_node(struct group *group, const forge_graph *graph, const struct node *node)
{
    struct group grown = *group;
    grown.word_count += fused_words((enum op)node->op);
    grown.first = (uint32_t)(node - graph->nodes); /* nodes are added from the last to the first */
    if (node_is_product(node) || fuse_is_row(node))
        grown.product = (uint32_t)(node - graph->nodes);
    for (size_t i = 0; i < grown.input_count; i++)
        if (grown.inputs[i] == node->output)
            grown.inputs[i] = grown.inputs[--grown.input_count];
    for (size_t i = 0; i < node->input_count; i++) {
        forge_value value = node_input(graph, node, i);
        if (reads(&grown, value))
            continue;
        if (grown.input_count + (grown.product != FUSE_NONE) >= FUSED_MAX_INPUTS)
            return false;
        grown.inputs[grown.input_count++] = value;
    }
    if (grown.word_count > FUSED_MAX_STEPS)
        return false;
    grown.node_count++;
    *group = grown;
    return true;
}

/* --- joining -------------------------------------------------------------------------------------------- */

/* Returns the value whose shape the group's elementwise operations have. */
static forge_value model_of(const forge_graph *graph, const struct group *group, uint32_t last)
{
    const struct node *product = group->product == FUSE_NONE ? NULL : &graph->nodes[group->product];
    return product && fuse_is_row(product) ? node_input(graph, product, 0) : graph->nodes[last].output;
}

static bool are_alike(const struct fusion *f, const struct node *node, uint32_t group)
{
    const forge_graph *graph = f->graph;
    const struct node *last = &graph->nodes[group];
    const struct value *x = &graph->values[node->output],
                       *model = &graph->values[model_of(graph, &f->groups[group], group)];
    return forge_shape_equal(&x->shape, &model->shape) && x->place == model->place &&
           node->phase == last->phase && node->recompute_region == last->recompute_region;
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

bool pass_may_read(const forge_graph *graph, forge_value value, uint32_t n)
{
    const struct slot *slot = slot_of(graph, value);
    return !slot || !slot->write || graph->values[slot->write].node >= n;
}

/* Returns true if the node may run where the last node of the group is. */
static bool may_wait(const struct fusion *f, const struct node *node, uint32_t group)
{
    for (size_t i = 0; i < node->input_count; i++)
        if (!pass_may_read(f->graph, node_input(f->graph, node, i), group))
            return false;
    return true;
}

/* Returns the first node after which the group can be computed, if `product` is its row operation. Nodes
 * without inputs can be computed at any time. Further results of other row operations may come later than
 * their node, but not later than their readers. */
static uint32_t earliest(const struct fusion *f, uint32_t group, const struct node *product)
{
    const forge_graph *graph = f->graph;
    uint32_t at = (uint32_t)(product - graph->nodes);
    for (size_t i = 0; i < f->groups[group].input_count; i++) {
        forge_value value = f->groups[group].inputs[i];
        const struct node *producer = graph_producer(graph, value);
        if (value != producer->output)
            return group;
        if (value != product->output && producer->input_count > 0 && graph->values[value].node > at)
            at = graph->values[value].node;
    }
    return at;
}

/* Returns true if a row operation can join the group of its readers. *out_at: the node after which the group
 * is computed. */
static bool can_join_rows(const struct fusion *f, const struct node *node, uint32_t group, uint32_t *out_at)
{
    const struct composite_attributes *a = node->attributes;
    *out_at = group;
    if (node->op == OP_REDUCE || f->groups[group].product != FUSE_NONE)
        return false;
    if (library_is_gradient(a) && !(a->wanted & 1)) /* the first output is no array of rows */
        return false;
    if (fuse_saved_joules(f, node, node->output, false) < 0)
        return false;
    if (node->output_count == 1)
        return true;
    *out_at = earliest(f, group, node);
    for (uint32_t k = 1; k < node->output_count; k++)
        if (f->first_reader[node->output + k] <= *out_at || reads(&f->groups[group], node->output + k))
            return false;
    return !is_written(f, group);
}

/* Returns true if a node saves joules when it joins a group before its row operation. A product computes the
 * nodes after it once, which is better than several times. */
static bool pays_before(const struct fusion *f, const struct node *node, uint32_t group)
{
    uint32_t product = f->groups[group].product;
    if (product == FUSE_NONE || (uint32_t)(node - f->graph->nodes) > product)
        return true;
    const struct node *row = &f->graph->nodes[product];
    for (size_t i = 0; i < node->input_count && fuse_reads(row) > 1; i++)
        if (node_is_product(graph_producer(f->graph, node_input(f->graph, node, i))))
            return false;
    return fuse_saved_joules(f, row, node->output, true) >= 0;
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
    bool has_room =
        f->groups[group].product == FUSE_NONE &&
        can_change_type(f->graph->values[node->output].dtype, f->graph->values[last->output].dtype);
    return are_alike(f, node, group) && may_wait(f, node, group) && pays_before(f, node, group) &&
           (!node_is_product(node) || (has_room && !is_written(f, group)));
}

/* Chooses the group of a node whose readers have their groups. */
static void choose_group(struct fusion *f, uint32_t n)
{
    const struct node *node = &f->graph->nodes[n];
    uint32_t group = f->readers[node->output], at = group;
    f->group_of[n] = FUSE_NONE;
    if (!is_fusible(f, node))
        return;
    if (group < FUSE_MANY && can_join(f, node, group) &&
        (!fuse_is_row(node) || can_join_rows(f, node, group, &at)) &&
        add_node(&f->groups[group], f->graph, node)) {
        f->group_of[n] = group;
        f->groups[group].at = fuse_is_row(node) ? at : f->groups[group].at;
    } else if (!node_is_product(node)) {
        f->group_of[n] = n;
        f->groups[n].product = FUSE_NONE;
        f->groups[n].at = n;
        add_node(&f->groups[n], f->graph, node);
    }
}

/* --- readers -------------------------------------------------------------------------------------------- */

/* Returns the group of which the operand of a node can be a part; FUSE_NONE if there is none. Products read
 * all elements of their inputs several times, and row operations those of their parameters. */
static uint32_t reader_of(const struct fusion *f, uint32_t n, size_t operand)
{
    const forge_graph *graph = f->graph;
    const struct node *node = &graph->nodes[n];
    if (node_is_product(node))
        return FUSE_NONE;
    if (!fuse_is_row(node))
        return f->group_of[n];
    const struct value *x = &graph->values[node_input(graph, node, 0)],
                       *value = &graph->values[node_input(graph, node, operand)];
    return forge_shape_equal(&x->shape, &value->shape) ? f->group_of[n] : FUSE_NONE;
}

static void note_readers(struct fusion *f, uint32_t n)
{
    const struct node *node = &f->graph->nodes[n];
    for (size_t i = 0; i < node->input_count; i++) {
        forge_value value = node_input(f->graph, node, i);
        uint32_t group = reader_of(f, n, i), *readers = &f->readers[value];
        bool is_one = group != FUSE_NONE && (*readers == FUSE_NONE || *readers == group);
        *readers = is_one ? group : FUSE_MANY;
        f->first_reader[value] = n;
    }
}

static void begin_readers(struct fusion *f)
{
    const forge_graph *graph = f->graph;
    for (size_t i = 0; i < graph->value_count; i++) {
        f->readers[i] = FUSE_NONE;
        f->first_reader[i] = UINT32_MAX;
    }
    for (size_t i = 0; i < graph->output_count; i++)
        f->readers[graph->outputs[i].value] = FUSE_MANY;
    for (size_t i = 0; i < graph->slot_count; i++)
        f->readers[graph->slots[i].write] = FUSE_MANY;
}

void fuse_choose_groups(struct fusion *f)
{
    begin_readers(f);
    for (uint32_t n = (uint32_t)f->graph->node_count; n-- > 0;) {
        f->groups_at[n] = FUSE_NONE;
        choose_group(f, n);
        note_readers(f, n);
    }
    for (uint32_t n = (uint32_t)f->graph->node_count; n-- > 0;)
        if (f->group_of[n] == n) {
            uint32_t *groups_at = &f->groups_at[f->groups[n].at];
            f->groups[n].next_at = *groups_at;
            *groups_at = n;
        }
}
