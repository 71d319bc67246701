/* compiler/recognise.c - the pass that recognises attention that is made of other operations:
 *
 *     softmax(mask(q k^T * scale)) v
 *
 * The scale is a product or a quotient by one number; it and the mask may be missing, and stand in any order.
 * The softmax is the composite, or exp(x - max(x)) / sum of it. q, k and v have three or four dimensions. No
 * value inside may be needed elsewhere. So attention is not recognised in a graph whose gradient was made
 * from these operations: the backward pass reads the weights and the scores. Products and sums whose type of
 * the sums is chosen stay, because the composite has no such choice.
 *
 * Note: the kernel of the composite adds in another order, so the rounding of the result changes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "forge/compiler/causal_mask.h"
#include "forge/compiler/pass.h"
#include "forge/ir/library.h"

struct recognition {
    forge_device *device;
    uint32_t *readers; /* by value: the number of its readers, outputs and slots included */
};

/* An attention, by values of the graph. */
struct match {
    forge_value q, k, v;
    double scale;
    bool is_causal;
    uint32_t scores_scope, softmax_scope, result_scope; /* of the operations that are replaced */
};

static bool is_binary(const struct node *node, forge_binary_kind kind)
{
    return node->op == OP_BINARY && node_kind(node) == (uint32_t)kind;
}

/* --- softmax -------------------------------------------------------------------------------------------- */

/* Returns true if `value` is the reduction of this kind of x over the last dimension, which stays with size 1
 * or is filled by a broadcast, and if no value inside has other readers. */
static bool is_reduction(const forge_graph *graph, const struct recognition *r, forge_value value,
                         forge_reduce_kind kind, forge_value x)
{
    const struct node *node = graph_producer(graph, value);
    const forge_shape *shape = &graph->values[x].shape;
    forge_shape rows = *shape;
    if (rows.rank == 0)
        return false;
    rows.dims[rows.rank - 1] = 1;
    if (node->op == OP_BROADCAST && r->readers[value] == 1 &&
        forge_shape_equal(&graph->values[value].shape, shape))
        node = graph_producer(graph, node_input(graph, node, 0));
    if (!forge_shape_equal(&graph->values[node->output].shape, &rows))
        return false;
    while (node->op == OP_RESHAPE && r->readers[node->output] == 1)
        node = graph_producer(graph, node_input(graph, node, 0));
    const struct reduce_attributes *a = node->attributes;
    return node->op == OP_REDUCE && a->kind == (uint32_t)kind && a->axes == 1u << (rows.rank - 1) &&
           node_input(graph, node, 0) == x && r->readers[node->output] == 1 &&
           node_has_usual_sums(graph, node);
}

/* Returns x if `value` is softmax(x) and no value inside has other readers; otherwise FORGE_NO_VALUE. */
static forge_value softmax_operand(const forge_graph *graph, const struct recognition *r, forge_value value)
{
    const struct node *node = graph_producer(graph, value);
    const struct composite_attributes *a = node->attributes;
    if (node->op == OP_COMPOSITE && strcmp(a->name, "softmax") == 0) {
        forge_value x = node_input(graph, node, 0);
        return r->readers[x] == 1 && composite_has_kernel(graph, node, r->device) ? x : FORGE_NO_VALUE;
    }
    if (!is_binary(node, FORGE_DIV))
        return FORGE_NO_VALUE;
    forge_value e = node_input(graph, node, 0);
    const struct node *exp = graph_producer(graph, e);
    if (r->readers[e] != 2 || exp->op != OP_UNARY || node_kind(exp) != FORGE_EXP ||
        !is_reduction(graph, r, node_input(graph, node, 1), FORGE_SUM, e))
        return FORGE_NO_VALUE;
    const struct node *difference = graph_producer(graph, node_input(graph, exp, 0));
    if (!is_binary(difference, FORGE_SUB) || r->readers[difference->output] != 1)
        return FORGE_NO_VALUE;
    forge_value x = node_input(graph, difference, 0);
    bool is_softmax = is_reduction(graph, r, node_input(graph, difference, 1), FORGE_MAXIMUM, x);
    return is_softmax && r->readers[x] == 2 ? x : FORGE_NO_VALUE;
}

/* --- scores --------------------------------------------------------------------------------------------- */

/* If x is a value times a number, or a masked value, notes this in the match. Returns the value, or
 * FORGE_NO_VALUE. */
static forge_value unwrap(const forge_graph *graph, forge_value x, struct match *m)
{
    const struct node *node = graph_producer(graph, x);
    const forge_shape *shape = &graph->values[x].shape;
    int64_t t = shape->dims[shape->rank - 2], s = shape->dims[shape->rank - 1];
    if (node->op == OP_SELECT && !m->is_causal) {
        m->is_causal = is_causal_choice(graph, node_input(graph, node, 0), t, s) &&
                       constant_number(graph, node_input(graph, node, 2)) == -(double)INFINITY;
        return m->is_causal ? node_input(graph, node, 1) : FORGE_NO_VALUE;
    }
    for (size_t i = 0; i < 2 && node->op == OP_BINARY; i++) {
        forge_value other = node_input(graph, node, 1 - i), value = node_input(graph, node, i);
        double number = constant_number(graph, other);
        if (number > 0 && is_binary(node, FORGE_MUL))
            m->scale *= number;
        else if (number > 0 && i == 0 && is_binary(node, FORGE_DIV))
            m->scale /= number;
        else if (is_binary(node, FORGE_ADD) && !m->is_causal && is_causal_addend(graph, other, t, s))
            m->is_causal = true;
        else
            continue;
        return value;
    }
    return FORGE_NO_VALUE;
}

/* Returns k if `value` is k with its last two dimensions exchanged; otherwise FORGE_NO_VALUE. */
static forge_value turned(const forge_graph *graph, forge_value value)
{
    const struct node *node = graph_producer(graph, value);
    const struct transpose_attributes *a = node->attributes;
    uint32_t rank = graph->values[value].shape.rank;
    if (node->op != OP_TRANSPOSE || rank < 2)
        return FORGE_NO_VALUE;
    for (uint32_t i = 0; i < rank; i++)
        if (a->order[i] != (i + 2 < rank ? i : 2 * rank - 3 - i))
            return FORGE_NO_VALUE;
    return node_input(graph, node, 0);
}

/* Sets q and k from the scores, which are their product. */
static bool match_scores(const forge_graph *graph, forge_value scores, struct match *m)
{
    const struct node *node = graph_producer(graph, scores);
    if (node->op != OP_MATMUL || !node_has_usual_sums(graph, node))
        return false;
    uint32_t flags = ((const struct matmul_attributes *)node->attributes)->flags;
    m->q = node_input(graph, node, 0);
    m->k = node_input(graph, node, 1);
    m->scores_scope = node->scope;
    if (flags == 0)
        m->k = turned(graph, m->k);
    return (flags == 0 || flags == FORGE_TRANSPOSE_B) && m->k != FORGE_NO_VALUE;
}

/* Returns true if the value has the type and the leading dimensions of the result. */
static bool is_beside(const forge_graph *graph, forge_value value, const struct value *result)
{
    const struct value *x = &graph->values[value];
    if (x->dtype != result->dtype || x->shape.rank != result->shape.rank || dim_shape_has_symbols(&x->shape))
        return false;
    for (uint32_t i = 0; i + 2 < x->shape.rank; i++)
        if (x->shape.dims[i] != result->shape.dims[i])
            return false;
    return true;
}

static bool match_attention(const forge_graph *graph, const struct recognition *r, const struct node *node,
                            struct match *m)
{
    const struct value *result = &graph->values[node->output];
    const struct matmul_attributes *a = node->attributes;
    if (node->op != OP_MATMUL || a->flags != 0 || !node_has_usual_sums(graph, node) ||
        result->shape.rank < 3 || result->shape.rank > 4 || forge_shape_elements(&result->shape) == 0)
        return false;
    forge_value weights = node_input(graph, node, 0), x;
    *m = (struct match){.v = node_input(graph, node, 1), .scale = 1, .result_scope = node->scope};
    if (r->readers[weights] != 1 || !is_beside(graph, weights, result) || !is_beside(graph, m->v, result) ||
        !(x = softmax_operand(graph, r, weights)))
        return false;
    m->softmax_scope = graph_producer(graph, weights)->scope;
    for (forge_value next; graph_producer(graph, x)->op != OP_MATMUL; x = next) {
        next = unwrap(graph, x, m);
        if (next == FORGE_NO_VALUE || r->readers[next] != 1 ||
            !forge_shape_equal(&graph->values[next].shape, &graph->values[x].shape))
            return false;
    }
    uint32_t n = (uint32_t)(node - graph->nodes); /* here the composite reads q and k */
    return match_scores(graph, x, m) && is_beside(graph, m->q, result) && is_beside(graph, m->k, result) &&
           forge_shape_elements(&graph->values[m->k].shape) > 0 && pass_may_read(graph, m->q, n) &&
           pass_may_read(graph, m->k, n);
}

/* --- the composite -------------------------------------------------------------------------------------- */

/* The context of attention_body. */
struct body {
    const struct composite_attributes *attributes;
    const char *scopes[3]; /* of the scores, the softmax and the result */
};

/* Builds the library's body, in which each node has the scope of the operation that it replaces. */
static void attention_body(forge_builder *b, const forge_value *in, size_t count, const void *context,
                           forge_value *out)
{
    const struct body *body = context;
    uint32_t scopes[3], part = 0;
    library_attention(b, in, count, body->attributes, out);
    for (int i = 0; i < 3; i++)
        scopes[i] = builder_add_scope(b, body->scopes[i]);
    for (size_t n = 0; builder_is_ok(b) && n < b->graph->node_count; n++) {
        struct node *node = &b->graph->nodes[n];
        node->scope = scopes[part];
        if (node->op == OP_MATMUL || node->op == OP_COMPOSITE)
            part = part < 2 ? part + 1 : part;
    }
}

/* Returns the shape [1, heads, rows, columns] for a shape of three dimensions; one of four stays. */
static forge_shape with_batch(const forge_shape *shape)
{
    return shape->rank == 4 ? *shape : forge_shape_of(1, shape->dims[0], shape->dims[1], shape->dims[2]);
}

/* Returns true if the device has a kernel for the composite. */
static bool has_kernel(const forge_graph *graph, const struct match *m, forge_value result,
                       const struct composite_attributes *attributes, forge_device *device)
{
    static const forge_value ids[] = {0, 1, 2, 3};
    struct value values[] = {graph->values[m->q], graph->values[m->k], graph->values[m->v],
                             graph->values[result]};
    const forge_graph composite = {.values = values, .value_count = 4};
    for (int i = 0; i < 4; i++)
        values[i].shape = with_batch(&values[i].shape);
    return composite_kernel_takes_values(&composite, attributes, ids, 3, ids + 3, 1, device);
}

/* If the node is the last product of an attention made of other operations, returns the result of the
 * composite "attention", which replaces it. Returns FORGE_NO_VALUE if it is not, if a value inside is needed
 * elsewhere, or if the device has no kernel. */
static forge_value add_attention(forge_builder *builder, const forge_graph *graph, const struct node *node,
                                 const forge_value *map, const struct recognition *r)
{
    struct match m;
    forge_value result, in[3];
    if (!match_attention(graph, r, node, &m) || !builder_is_ok(builder))
        return FORGE_NO_VALUE;
    const forge_value from[] = {m.q, m.k, m.v};
    const forge_shape *q = &graph->values[m.q].shape, *k = &graph->values[m.k].shape;
    struct composite_attributes attributes = {
        .name = "attention", .reals = {m.scale}, .numbers = {m.is_causal}};
    if ((m.is_causal && q->dims[q->rank - 2] > k->dims[k->rank - 2]) ||
        !has_kernel(graph, &m, node->output, &attributes, r->device))
        return FORGE_NO_VALUE;
    struct body body = {
        &attributes,
        {graph->scopes[m.scores_scope], graph->scopes[m.softmax_scope], graph->scopes[m.result_scope]}};
    for (int i = 0; i < 3; i++)
        in[i] = forge_reshape(builder, map[from[i]], with_batch(&graph->values[from[i]].shape));
    builder_add_composite(builder, &attributes, in, 3, attention_body, &body, &result, 1);
    return forge_reshape(builder, result, graph->values[node->output].shape);
}

/* --- the pass ------------------------------------------------------------------------------------------- */

/* Sets the number of readers of each value; outputs and slots count as readers. */
static void count_readers(const forge_graph *graph, uint32_t *readers)
{
    for (size_t n = 0; n < graph->node_count; n++)
        for (size_t i = 0; i < graph->nodes[n].input_count; i++)
            readers[node_input(graph, &graph->nodes[n], i)]++;
    for (size_t i = 0; i < graph->output_count; i++)
        readers[graph->outputs[i].value]++;
    for (size_t i = 0; i < graph->slot_count; i++)
        readers[graph->slots[i].write]++;
}

static bool recognise_node(forge_builder *builder, const forge_graph *graph, const struct node *node,
                           forge_value *map, void *context)
{
    builder_set_provenance(builder, graph, node);
    forge_value value =
        node->op == OP_MATMUL ? add_attention(builder, graph, node, map, context) : FORGE_NO_VALUE;
    if (value == FORGE_NO_VALUE)
        return builder_is_ok(builder) && builder_copy_node(builder, graph, node, map);
    map[node->output] = value;
    return builder_is_ok(builder);
}

joule_status pass_recognise(const forge_graph *graph, forge_device *device, void *context,
                            forge_graph **out_graph, joule_error *out_error)
{
    (void)context;
    if (!device) {
        *out_graph = graph_retain(graph);
        return JOULE_OK;
    }
    struct recognition r = {device, calloc(graph->value_count + 1, sizeof *r.readers)};
    if (!r.readers)
        return error_set(out_error, JOULE_NO_MEMORY, "out of memory");
    count_readers(graph, r.readers);
    joule_status status = pass_each_node(graph, recognise_node, &r, out_graph, out_error);
    free(r.readers);
    return status;
}
