/* compiler/regroup_attention.c - recognises attention that is made of other operations:
 *
 *     softmax(mask(q k^T * scale)) v
 *
 * The scale is a product or a quotient by one number; it and the mask may be missing, and stand in any order.
 * The softmax is the composite, or exp(x - max(x)) / sum of it. q, k and v have three or four dimensions. No
 * value inside may be needed elsewhere. So attention is not recognised in a graph whose gradient was made
 * from these operations: the backward pass reads the weights and the scores.
 *
 * Note: the kernel of the composite adds in another order, so the rounding of the result changes. */
#include <math.h>
#include <string.h>
#include "forge/compiler/causal_mask.h"
#include "forge/compiler/regroup.h"
#include "forge/ir/library.h"

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

/* Returns the operand of a reduction of this kind over the last dimension, whose result `value` is used in
 * `readers` places; FORGE_NO_VALUE if the value is something else. */
static forge_value reduced(const forge_graph *graph, const struct regrouping *r, forge_value value,
                           forge_reduce_kind kind)
{
    const struct node *node = graph_producer(graph, value);
    forge_shape shape = graph->values[value].shape;
    while ((node->op == OP_RESHAPE || node->op == OP_BROADCAST) && r->readers[node->output] == 1)
        node = graph_producer(graph, node_input(graph, node, 0));
    const struct reduce_attributes *a = node->attributes;
    if (node->op != OP_REDUCE || a->kind != (uint32_t)kind || r->readers[node->output] != 1)
        return FORGE_NO_VALUE;
    forge_value x = node_input(graph, node, 0);
    forge_shape rows = graph->values[x].shape;
    if (rows.rank == 0 || a->axes != 1u << (rows.rank - 1))
        return FORGE_NO_VALUE;
    rows.dims[rows.rank - 1] = 1;
    bool is_wide = forge_shape_equal(&shape, &graph->values[x].shape);
    return is_wide || forge_shape_equal(&shape, &rows) ? x : FORGE_NO_VALUE;
}

/* Returns x if `value` is softmax(x) and no value inside has other readers; otherwise FORGE_NO_VALUE. */
static forge_value softmax_operand(const forge_graph *graph, const struct regrouping *r, forge_value value)
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
        reduced(graph, r, node_input(graph, node, 1), FORGE_SUM) != e)
        return FORGE_NO_VALUE;
    const struct node *difference = graph_producer(graph, node_input(graph, exp, 0));
    if (!is_binary(difference, FORGE_SUB) || r->readers[difference->output] != 1)
        return FORGE_NO_VALUE;
    forge_value x = node_input(graph, difference, 0);
    bool is_softmax = reduced(graph, r, node_input(graph, difference, 1), FORGE_MAXIMUM) == x;
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
    if (node->op != OP_MATMUL)
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

static bool match_attention(const forge_graph *graph, const struct regrouping *r, const struct node *node,
                            struct match *m)
{
    const struct value *result = &graph->values[node->output];
    const struct matmul_attributes *a = node->attributes;
    if (node->op != OP_MATMUL || a->flags != 0 || result->shape.rank < 3 || result->shape.rank > 4 ||
        forge_shape_elements(&result->shape) == 0)
        return false;
    forge_value weights = node_input(graph, node, 0), x;
    *m = (struct match){.v = node_input(graph, node, 1), .scale = 1, .result_scope = node->scope};
    if (r->readers[weights] != 1 || !is_beside(graph, weights, result) || !is_beside(graph, m->v, result) ||
        !(x = softmax_operand(graph, r, weights)))
        return false;
    m->softmax_scope = graph_producer(graph, weights)->scope;
    for (forge_value next; graph_producer(graph, x)->op != OP_MATMUL; x = next) {
        next = unwrap(graph, x, m);
        if (next == FORGE_NO_VALUE || !is_beside(graph, next, result) || r->readers[next] != 1)
            return false;
    }
    return match_scores(graph, x, m) && is_beside(graph, m->q, result) && is_beside(graph, m->k, result);
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

/* Returns a value with the shape [1, heads, rows, columns] if it has three dimensions, and the value itself
 * if it has four. */
static forge_value with_batch(forge_builder *b, forge_value value)
{
    forge_shape shape = forge_value_shape(b, value);
    return shape.rank == 4
               ? value
               : forge_reshape(b, value, forge_shape_of(1, shape.dims[0], shape.dims[1], shape.dims[2]));
}

forge_value regroup_attention(forge_builder *builder, const forge_graph *graph, const struct node *node,
                              const forge_value *map, const struct regrouping *r)
{
    struct match m;
    forge_value result;
    if (!match_attention(graph, r, node, &m) || !builder_is_ok(builder))
        return FORGE_NO_VALUE;
    const forge_shape *q = &graph->values[m.q].shape, *k = &graph->values[m.k].shape;
    if (m.is_causal && q->dims[q->rank - 2] > k->dims[k->rank - 2])
        return FORGE_NO_VALUE;
    struct composite_attributes attributes = {
        .name = "attention", .reals = {m.scale}, .numbers = {m.is_causal}};
    struct body body = {
        &attributes,
        {graph->scopes[m.scores_scope], graph->scopes[m.softmax_scope], graph->scopes[m.result_scope]}};
    forge_value in[] = {with_batch(builder, map[m.q]), with_batch(builder, map[m.k]),
                        with_batch(builder, map[m.v])};
    builder_add_composite(builder, &attributes, in, 3, attention_body, &body, &result, 1);
    if (!builder_is_ok(builder) ||
        !composite_has_kernel(builder->graph, graph_producer(builder->graph, result), r->device))
        return FORGE_NO_VALUE; /* the node is dead, and the builder removes it */
    return forge_reshape(builder, result, graph->values[node->output].shape);
}
