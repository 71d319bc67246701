/* autodiff/backward.c - forge_gradients: the backward pass over a graph, also over bodies of composites.
 *
 * Note: the builder's arrays may move when nodes are added. So the backward pass copies nodes, and keeps no
 * pointers into the arrays.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "forge/autodiff/gradient.h"
#include "forge/autodiff/recompute.h"
#include "forge/ir/library.h"

static void (*const rules[OP_COUNT])(struct gradient *) = {
#define LEAF(...)
#define WHOLE(...)
#define OP(NAME, name, min_inputs, max_inputs, attributes) [OP_##NAME] = gradient_##name,
#include "forge/ir/ops.def"
};

/* A backward pass over nodes, which are listed in the order of the forward pass. */
struct walk {
    forge_builder *b;
    uint32_t *nodes;
    size_t node_count;
    size_t value_count;          /* number of values when the pass began; the pass does not visit values that
                                  * it adds itself */
    bool *is_wanted;             /* one for each value: true if its gradient is requested, or if it depends on
                                  * such a value */
    forge_value *sums;           /* one for each value: its gradient so far, or FORGE_NO_VALUE */
    struct recompute *recompute; /* NULL in a body, where nothing is recomputed */
};

static void walk_free(struct walk *walk)
{
    free(walk->nodes);
    free(walk->is_wanted);
    free(walk->sums);
}

/* Allocates a walk over at most `max_nodes` nodes. The caller fills in the list of nodes, and frees the walk
 * with walk_free. Returns false if the builder has failed. */
static bool walk_begin(struct walk *walk, forge_builder *b, size_t max_nodes)
{
    *walk = (struct walk){.b = b};
    walk->value_count = b->graph->value_count;
    walk->nodes = calloc(max_nodes + 1, sizeof *walk->nodes);
    walk->is_wanted = calloc(walk->value_count, sizeof *walk->is_wanted);
    walk->sums = calloc(walk->value_count, sizeof *walk->sums);
    if (walk->nodes && walk->is_wanted && walk->sums)
        return true;
    walk_free(walk);
    builder_fail(b, JOULE_NO_MEMORY, "out of memory");
    return false;
}

/* Marks as wanted all float values that depend on a wanted value. */
static void mark_dependents(struct walk *walk)
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

/* Adds `gradient` to the gradient of `value`. Does nothing if `value` is not wanted, or `gradient` is
 * FORGE_NO_VALUE. */
static void add_sum(struct walk *walk, forge_value value, forge_value gradient)
{
    if (!gradient || !walk->is_wanted[value])
        return;
    forge_value *sum = &walk->sums[value];
    walk->b->place = walk->b->graph->values[value].place;
    *sum = *sum ? gradient_sum(walk->b, *sum, gradient) : gradient;
}

/* Returns true if a gradient has reached one of the node's outputs. */
static bool is_reached(const struct walk *walk, const struct node *node)
{
    for (size_t i = 0; i < node->output_count; i++)
        if (walk->sums[node->output + i])
            return true;
    return false;
}

/* --- composites ----------------------------------------------------------------------------------------- */

static void walk_back(struct walk *walk);

/* Adds inputs with the types and shapes of the body's inputs, then one input for each output whose bit is set
 * in `given`. out: gets the values of all these inputs. */
static void make_inputs(forge_builder *b, const forge_graph *body, uint32_t given, forge_value *out)
{
    size_t count = 0;
    for (size_t i = 0; i < body->input_count + body->output_count; i++) {
        bool is_own = i < body->input_count;
        size_t k = is_own ? i : i - body->input_count;
        const struct value *like = &body->values[(is_own ? body->inputs : body->outputs)[k].value];
        char name[24];
        if (!is_own && !(given >> k & 1))
            continue;
        snprintf(name, sizeof name, "%zu", count);
        out[count++] = forge_input(b, name, like->dtype, like->shape);
    }
}

/* For each input that has a gradient, adds an output for this gradient. Returns a mask: bit i is set if input
 * i has a gradient. */
static uint32_t output_gradients(struct walk *walk, const forge_value *inputs, size_t count)
{
    uint32_t reached = 0;
    for (size_t i = 0; i < count; i++) {
        char name[24];
        if (!walk->sums[inputs[i]])
            continue;
        snprintf(name, sizeof name, "%zu", i);
        forge_output(walk->b, name, walk->sums[inputs[i]]);
        reached |= 1u << i;
    }
    return reached;
}

/* Builds the graph that gradient_of_body returns. map: [body->value_count], scratch memory. Returns the mask
 * of inputs in `wanted` that have a gradient; 0 after an error. */
static uint32_t walk_body(forge_builder *b, const forge_graph *body, uint32_t wanted, uint32_t given,
                          forge_value *map)
{
    forge_value inputs[2 * UINT8_MAX] = {FORGE_NO_VALUE};
    struct walk walk;
    make_inputs(b, body, given, inputs);
    if (!builder_inline(b, body, inputs, map) || !walk_begin(&walk, b, b->graph->node_count))
        return 0;
    for (size_t n = 0; n < b->graph->node_count; n++)
        walk.nodes[walk.node_count++] = (uint32_t)n;
    for (size_t i = 0; i < body->input_count; i++)
        walk.is_wanted[inputs[i]] = wanted >> i & 1;
    mark_dependents(&walk);
    const forge_value *gradient = inputs + body->input_count;
    for (size_t k = 0; k < body->output_count; k++)
        if (given >> k & 1)
            add_sum(&walk, map[body->outputs[k].value], *gradient++);
    walk_back(&walk);
    uint32_t reached = output_gradients(&walk, inputs, body->input_count);
    walk_free(&walk);
    return reached;
}

forge_graph *gradient_of_body(const forge_graph *body, const struct dim_table *dims, uint32_t given,
                              uint32_t *wanted, joule_error *out_error)
{
    forge_builder *b = builder_new(dims);
    forge_value *map = calloc(body->value_count, sizeof *map);
    forge_graph *graph = NULL;
    if (b && map)
        *wanted = walk_body(b, body, *wanted, given, map);
    else
        builder_fail(b, JOULE_NO_MEMORY, "out of memory");
    free(map);
    if (builder_is_ok(b) && *wanted == 0)
        forge_builder_free(b);
    else if (forge_builder_finish(b, &graph, out_error) != JOULE_OK)
        *wanted = 0;
    return graph;
}

/* Adds one composite node for the gradient of a composite; `body` is the gradient's body. If the gradient has
 * too many inputs or outputs for one node, adds the nodes of `body` instead. The builder's graph owns
 * `body`. */
static void emit_gradient(struct gradient *r, forge_graph *body, const forge_value *inputs,
                          const struct composite_attributes *attributes)
{
    uint32_t wanted = attributes->wanted;
    forge_value *map = calloc(body->value_count, sizeof *map), node = FORGE_NO_VALUE;
    bool is_node = body->input_count <= 16 && body->output_count <= OP_MAX_OUTPUTS;
    if (!builder_adopt_body(r->b, body) || !map)
        builder_fail(r->b, JOULE_NO_MEMORY, "out of memory");
    else if (is_node)
        node = builder_emit(r->b, OP_COMPOSITE, attributes, sizeof *attributes, inputs, body->input_count);
    else
        builder_inline(r->b, body, inputs, map);
    for (size_t i = 0, k = 0; map && builder_is_ok(r->b) && i < r->node.input_count; i++) {
        if (!(wanted >> i & 1))
            continue;
        r->sums[i] = is_node ? node + (forge_value)k : map[body->outputs[k].value];
        k++;
    }
    free(map);
}

/* Adds the gradient of a composite node as one composite node, because a device may have a kernel for the
 * gradient. */
static void visit_composite(struct gradient *r, const struct walk *outer)
{
    const struct composite_attributes *own = r->node.attributes;
    struct composite_attributes attributes = *own;
    forge_value inputs[2 * UINT8_MAX];
    size_t count = r->node.input_count;
    joule_error error = {0};
    library_name_gradient(own->name, attributes.name);
    attributes.given = attributes.wanted = 0;
    memcpy(inputs, r->inputs, sizeof r->inputs);
    for (uint32_t i = 0; i < r->node.input_count; i++)
        attributes.wanted |= (uint32_t)outer->is_wanted[node_input(r->b->graph, &r->node, i)] << i;
    for (uint32_t k = 0; k < r->node.output_count; k++)
        if (outer->sums[r->node.output + k]) {
            attributes.given |= 1u << k;
            inputs[count++] = outer->sums[r->node.output + k];
        }
    forge_graph *body =
        gradient_of_body(own->body, &r->b->graph->dims, attributes.given, &attributes.wanted, &error);
    attributes.body = body;
    if (body)
        emit_gradient(r, body, inputs, &attributes);
    else if (error.status != JOULE_OK)
        builder_fail(r->b, error.status, error.message);
}

/* --- the backward pass ---------------------------------------------------------------------------------- */

/* Adds the gradients that node n passes to its inputs. */
static void visit_node(struct walk *walk, uint32_t n)
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
    b->place = node_place(b->graph, &r.node);
    if (r.node.op == OP_COMPOSITE)
        visit_composite(&r, walk);
    else if (r.g && rules[r.node.op])
        rules[r.node.op](&r);
    for (size_t i = 0; i < r.node.input_count; i++)
        add_sum(walk, inputs[i], r.sums[i]);
}

/* Visits the nodes from the last to the first. */
static void walk_back(struct walk *walk)
{
    forge_builder *b = walk->b;
    uint32_t region = b->recompute_region;
    for (size_t i = walk->node_count; i-- > 0 && builder_is_ok(b);) {
        uint32_t n = walk->nodes[i];
        if (!is_reached(walk, &b->graph->nodes[n]))
            continue;
        if (walk->recompute)
            b->recompute_region = recompute_enter(walk->recompute, b, n);
        visit_node(walk, n);
    }
    b->recompute_region = region;
}

static bool check(forge_builder *b, forge_value loss, const forge_value *wrt, size_t count)
{
    if (!builder_is_ok(b))
        return false;
    forge_shape shape = forge_value_shape(b, loss);
    if (!forge_dtype_is_float(forge_value_dtype(b, loss)) || forge_shape_elements(&shape) != 1)
        forge_builder_fail(b, "gradients: the loss must be one float, not %s of rank %u",
                           forge_dtype_name(forge_value_dtype(b, loss)), shape.rank);
    for (size_t i = 0; i < count; i++)
        if (!forge_dtype_is_float(forge_value_dtype(b, wrt[i])))
            forge_builder_fail(b, "gradients: value %zu is not a float", i);
    if (b->region_count && b->regions[b->region_count - 1].end == UINT32_MAX)
        forge_builder_fail(b, "gradients: a region of forge_recompute_begin has no forge_recompute_end");
    return builder_is_ok(b);
}

/* Returns the gradient of a requested value, on the same place (device) as the value. Returns zeros if the
 * loss does not depend on the value. */
static forge_value gradient_of(const struct walk *walk, forge_value value)
{
    forge_builder *b = walk->b;
    forge_shape shape = forge_value_shape(b, value);
    b->place = b->graph->values[value].place;
    return walk->sums[value] ? forge_transfer(b, walk->sums[value], forge_value_place(b, value))
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
        builder_fail(builder, JOULE_NO_MEMORY, "out of memory");
    uint32_t scope = builder->scope, place = builder->place;
    forge_phase phase = forge_phase_set(builder, FORGE_PHASE_BACKWARD);
    for (size_t n = 0; n < builder->graph->node_count; n++)
        walk.nodes[walk.node_count++] = (uint32_t)n;
    for (size_t i = 0; i < count; i++)
        walk.is_wanted[wrt[i]] = true;
    mark_dependents(&walk);
    builder->place = builder->graph->values[loss].place;
    forge_value one = forge_scalar(builder, forge_value_dtype(builder, loss), 1);
    add_sum(&walk, loss, forge_broadcast(builder, one, forge_value_shape(builder, loss)));
    walk_back(&walk);
    builder->scope = scope;
    for (size_t i = 0; i < count; i++)
        out_gradients[i] = gradient_of(&walk, wrt[i]);
    builder->place = place;
    forge_phase_set(builder, phase);
    recompute_end(&recompute);
    walk_free(&walk);
}
