/* autodiff/backward.c - the walk back through a graph.
 *
 * Owns forge_gradients: which nodes matter, the sums of what flows into each value, and composites, whose bodies are
 * written out and walked in turn. Newcomers: the builder grows during the walk; everything taken from its arrays is copied.
 */
#include <stdlib.h>
#include <string.h>
#include "forge/autodiff/gradient.h"
#include "forge/autodiff/recompute.h"

static void (*const rules[OP_COUNT])(struct gradient *) = {
#define LEAF(...)
#define WHOLE(...)
#define OP(NAME, name, least, most, attributes) [OP_##NAME] = gradient_##name,
#include "forge/ir/ops.def"
};

/* A walk over nodes in the order in which they were computed. */
struct walk {
    forge_builder *b;
    uint32_t *nodes;
    size_t node_count;
    size_t value_count;          /* values that were there when the walk began; later ones take no part */
    bool *is_wanted;             /* for each value: the gradient of something wanted flows through it */
    forge_value *sums;           /* for each value: its gradient so far */
    struct recompute *recompute; /* NULL: a body's nodes were written out for the way back */
};

static void walk_free(struct walk *walk)
{
    free(walk->nodes);
    free(walk->is_wanted);
    free(walk->sums);
}

/* Of at most `most_nodes`, which are to be listed. */
static bool walk_begin(struct walk *walk, forge_builder *b, size_t most_nodes)
{
    *walk = (struct walk){.b = b};
    walk->value_count = b->graph->value_count;
    walk->nodes = calloc(most_nodes + 1, sizeof *walk->nodes);
    walk->is_wanted = calloc(walk->value_count, sizeof *walk->is_wanted);
    walk->sums = calloc(walk->value_count, sizeof *walk->sums);
    if (walk->nodes && walk->is_wanted && walk->sums)
        return true;
    walk_free(walk);
    builder_refuse(b, JOULE_NO_MEMORY, "memory is used up");
    return false;
}

/* Spreads the wish from inputs to outputs. */
static void spread(struct walk *walk)
{
    const forge_graph *graph = walk->b->graph;
    for (size_t n = 0; n < walk->node_count; n++) {
        const struct node *node = &graph->nodes[walk->nodes[n]];
        bool is_wanted = false;
        for (size_t i = 0; i < node->input_count; i++)
            is_wanted |= walk->is_wanted[node_input(graph, node, i)];
        for (size_t i = 0; is_wanted && i < node->output_count; i++)
            walk->is_wanted[node->output + i] |= forge_dtype_is_float(graph->values[node->output + i].dtype);
    }
}

static void add_sum(struct walk *walk, forge_value value, forge_value gradient)
{
    if (!gradient || !walk->is_wanted[value])
        return;
    forge_value *sum = &walk->sums[value];
    *sum = *sum ? forge_add(walk->b, *sum, gradient) : gradient;
}

static void go_back(struct walk *walk);

/* The values of a body's nodes after they were written out, as part of the node, or, where that is computed again, of the
 * way back; NULL when that failed. The caller frees it. */
static forge_value *write_out(const struct gradient *r, const forge_graph *body)
{
    forge_value *map = calloc(body->value_count, sizeof *map);
    forge_phase phase =
        forge_phase_set(r->b, r->b->again ? FORGE_PHASE_BACKWARD : (forge_phase)r->node.phase);
    bool done = map && builder_inline(r->b, body, r->inputs, map);
    forge_phase_set(r->b, phase);
    if (done)
        return map;
    builder_refuse(r->b, JOULE_NO_MEMORY, "memory is used up");
    free(map);
    return NULL;
}

/* Lists the nodes that a body has become, each once. One that makes an input of the body belongs to the outer walk,
 * which goes through it: here that value is an end. */
static bool list_body(struct walk *inner, const struct gradient *r, const forge_graph *body,
                      const forge_value *map)
{
    const forge_graph *graph = r->b->graph;
    bool *is_listed = calloc(graph->node_count, sizeof *is_listed);
    if (!is_listed)
        return false;
    for (size_t i = 0; i < r->node.input_count; i++)
        is_listed[graph->values[r->inputs[i]].node] = true;
    for (size_t n = 0; n < body->node_count; n++) {
        uint32_t node = graph->values[map[body->nodes[n].output]].node;
        if (!is_listed[node])
            inner->nodes[inner->node_count++] = node;
        is_listed[node] = true;
    }
    free(is_listed);
    return true;
}

static void through_body(struct gradient *r, const struct walk *outer, const forge_graph *body,
                         const forge_value *map)
{
    struct walk inner;
    if (!walk_begin(&inner, r->b, body->node_count))
        return;
    for (size_t i = 0; i < r->node.input_count; i++)
        inner.is_wanted[r->inputs[i]] |= outer->is_wanted[node_input(r->b->graph, &r->node, i)];
    if (list_body(&inner, r, body, map)) {
        spread(&inner);
        for (size_t i = 0; i < body->output_count; i++)
            add_sum(&inner, map[body->outputs[i].value], outer->sums[r->node.output + i]);
        go_back(&inner);
        for (size_t i = 0; i < r->node.input_count; i++) {
            r->sums[i] = inner.sums[r->inputs[i]];
            inner.sums[r->inputs[i]] = FORGE_NO_VALUE; /* one value that is two inputs flows back once */
        }
    }
    walk_free(&inner);
}

static void through_composite(struct gradient *r, const struct walk *outer)
{
    const struct composite_attributes *a = r->node.attributes;
    forge_value *map = write_out(r, a->body);
    if (map)
        through_body(r, outer, a->body, map);
    free(map);
}

/* Whether something flows into one of the node's outputs. */
static bool is_reached(const struct walk *walk, const struct node *node)
{
    for (size_t i = 0; i < node->output_count; i++)
        if (walk->sums[node->output + i])
            return true;
    return false;
}

/* Adds what flows from a node into its inputs. */
static void go_through(struct walk *walk, uint32_t n)
{
    forge_builder *b = walk->b;
    struct gradient r = {.b = b, .node = b->graph->nodes[n]};
    forge_value inputs[UINT8_MAX];
    r.g = walk->sums[r.node.output];
    r.y = walk->recompute ? recompute_value(walk->recompute, r.node.output) : r.node.output;
    for (size_t i = 0; i < r.node.input_count; i++) {
        inputs[i] = node_input(b->graph, &r.node, i);
        r.inputs[i] = walk->recompute ? recompute_value(walk->recompute, inputs[i]) : inputs[i];
    }
    b->scope = r.node.scope;
    if (r.node.op == OP_COMPOSITE)
        through_composite(&r, walk);
    else if (r.g && rules[r.node.op])
        rules[r.node.op](&r);
    for (size_t i = 0; i < r.node.input_count; i++)
        add_sum(walk, inputs[i], r.sums[i]);
}

/* From the last node to the first. */
static void go_back(struct walk *walk)
{
    forge_builder *b = walk->b;
    uint32_t again = b->again;
    for (size_t i = walk->node_count; i-- > 0 && builder_goes_on(b);) {
        uint32_t n = walk->nodes[i];
        if (!is_reached(walk, &b->graph->nodes[n]))
            continue;
        if (walk->recompute)
            b->again = recompute_enter(walk->recompute, b, n);
        go_through(walk, n);
    }
    b->again = again;
}

static bool check(forge_builder *b, forge_value loss, const forge_value *wrt, size_t count)
{
    if (!builder_goes_on(b))
        return false;
    forge_shape shape = forge_value_shape(b, loss);
    if (!forge_dtype_is_float(forge_value_dtype(b, loss)) || forge_shape_elements(&shape) != 1)
        forge_builder_fail(b, "gradients: the loss has to be one float, not %s of rank %u",
                           forge_dtype_name(forge_value_dtype(b, loss)), shape.rank);
    for (size_t i = 0; i < count; i++)
        if (!forge_dtype_is_float(forge_value_dtype(b, wrt[i])))
            forge_builder_fail(b, "gradients: value %zu is no float", i);
    if (b->region_count && b->regions[b->region_count - 1].end == UINT32_MAX)
        forge_builder_fail(b, "gradients: what is to be recomputed has not ended (forge_recompute_end)");
    return builder_goes_on(b);
}

/* What a wanted value got; zeros where the loss does not depend on it. */
static forge_value gradient_of(const struct walk *walk, forge_value value)
{
    forge_builder *b = walk->b;
    forge_shape shape = forge_value_shape(b, value);
    return walk->sums[value] ? walk->sums[value]
                             : forge_broadcast(b, forge_scalar(b, forge_value_dtype(b, value), 0), shape);
}

void forge_gradients(forge_builder *builder, forge_value loss, const forge_value *wrt, size_t count,
                     forge_value *out_gradients)
{
    struct walk walk;
    memset(out_gradients, 0, count * sizeof *out_gradients);
    if (!check(builder, loss, wrt, count) || !walk_begin(&walk, builder, builder->graph->node_count))
        return;
    struct recompute recompute;
    walk.recompute = &recompute;
    if (!recompute_begin(&recompute, builder))
        builder_refuse(builder, JOULE_NO_MEMORY, "memory is used up");
    uint32_t scope = builder->scope;
    forge_phase phase = forge_phase_set(builder, FORGE_PHASE_BACKWARD);
    for (size_t n = 0; n < builder->graph->node_count; n++)
        walk.nodes[walk.node_count++] = (uint32_t)n;
    for (size_t i = 0; i < count; i++)
        walk.is_wanted[wrt[i]] = true;
    spread(&walk);
    forge_value one = forge_scalar(builder, forge_value_dtype(builder, loss), 1);
    add_sum(&walk, loss, forge_broadcast(builder, one, forge_value_shape(builder, loss)));
    go_back(&walk);
    builder->scope = scope;
    for (size_t i = 0; i < count; i++)
        out_gradients[i] = gradient_of(&walk, wrt[i]);
    forge_phase_set(builder, phase);
    recompute_end(&recompute);
    walk_free(&walk);
}
