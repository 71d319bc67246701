/* autodiff/gradient_rules_move.c - the derivatives of operations that move elements; see gradient.h. */
#include "forge/autodiff/gradient.h"

/* The loss is the sum of the losses of all processes. So the gradient of a collective operation is another
 * collective operation. */
void gradient_collective(struct gradient *r)
{
    static const forge_collective_kind back[] = {[FORGE_ALL_REDUCE] = FORGE_ALL_REDUCE,
                                                 [FORGE_ALL_GATHER] = FORGE_REDUCE_SCATTER,
                                                 [FORGE_REDUCE_SCATTER] = FORGE_ALL_GATHER,
                                                 [FORGE_SEND_ALL] = FORGE_REDUCE_TO,
                                                 [FORGE_REDUCE_TO] = FORGE_SEND_ALL};
    struct collective_attributes a = *(const struct collective_attributes *)r->node.attributes;
    a.kind = back[a.kind];
    gradient_add(r, 0, builder_emit(r->b, OP_COLLECTIVE, &a, sizeof a, &r->g, 1));
}

void gradient_transpose(struct gradient *r)
{
    const struct transpose_attributes *a = r->node.attributes;
    uint32_t inverse[FORGE_MAX_RANK] = {0};
    for (uint32_t i = 0; i < forge_value_shape(r->b, r->g).rank; i++)
        inverse[a->order[i]] = i;
    gradient_add(r, 0, forge_transpose(r->b, r->g, inverse));
}

void gradient_concat(struct gradient *r)
{
    const struct axis_attributes *a = r->node.attributes;
    forge_dim start = 0;
    for (size_t i = 0; i < r->node.input_count; i++) {
        forge_dim end = forge_dim_add(r->b, start, forge_value_shape(r->b, r->inputs[i]).dims[a->axis]);
        gradient_add(r, i, forge_slice_along(r->b, r->g, a->axis, start, end));
        start = end;
    }
}

/* Returns the attributes of the pad that computes `value`, if the pad adds only zeros and leaves no gaps
 * between elements. Returns NULL otherwise. */
static const struct pad_attributes *zeros_around(const forge_builder *b, forge_value value)
{
    const struct node *node = graph_producer(b->graph, value);
    const struct pad_attributes *a = node->op == OP_PAD ? node->attributes : NULL;
    for (uint32_t k = 0; a && k < a->shape.rank; k++)
        a = a->cut.step[k] == 1 ? a : NULL;
    return a && a->value == 0 ? a : NULL;
}

/* Returns the axis along which the part `high` begins where the part `low` ends, if the parts are equal along
 * all other axes. Returns the rank otherwise. */
static uint32_t adjacent_axis(const struct pad_attributes *low, const struct pad_attributes *high)
{
    uint32_t rank = low->shape.rank, axis = rank;
    for (uint32_t k = 0; k < rank; k++) {
        bool is_same = low->cut.start[k] == high->cut.start[k] && low->cut.limit[k] == high->cut.limit[k];
        if (!is_same && (axis != rank || low->cut.limit[k] != high->cut.start[k]))
            return rank;
        axis = is_same ? axis : k;
    }
    return axis;
}

/* Writes the parts of a value along the axis: the inputs of a concat, or the value itself. Returns the number
 * of parts. */
static size_t parts_of(const forge_builder *b, forge_value value, uint32_t axis, forge_value *out)
{
    const struct node *node = graph_producer(b->graph, value);
    const struct axis_attributes *a = node->attributes;
    bool is_joined = node->op == OP_CONCAT && a->axis == axis;
    *out = value;
    for (size_t i = 0; is_joined && i < node->input_count; i++)
        out[i] = node_input(b->graph, node, i);
    return is_joined ? node->input_count : 1;
}

/* Returns the sum of two zero-padded values as a concatenation of their parts. Pads the concatenation with
 * zeros if it is smaller than the result. Returns FORGE_NO_VALUE if the parts are not adjacent. */
static forge_value join_pads(forge_builder *b, forge_value low, forge_value high)
{
    const struct pad_attributes *a = zeros_around(b, low), *c = zeros_around(b, high);
    uint32_t axis = a && c && forge_shape_equal(&a->shape, &c->shape) ? adjacent_axis(a, c) : 0;
    if (!a || !c || !forge_shape_equal(&a->shape, &c->shape) || axis == a->shape.rank)
        return FORGE_NO_VALUE;
    forge_value parts[2 * 16], *next = parts;
    struct pad_attributes joined = *a;
    joined.cut.limit[axis] = c->cut.limit[axis];
    next += parts_of(b, node_input(b->graph, graph_producer(b->graph, low), 0), axis, next);
    next += parts_of(b, node_input(b->graph, graph_producer(b->graph, high), 0), axis, next);
    if (next - parts > 16)
        return FORGE_NO_VALUE;
    forge_value value = forge_concat(b, parts, (size_t)(next - parts), axis);
    bool is_all = true;
    for (uint32_t k = 0; k < joined.shape.rank; k++)
        is_all &= joined.cut.start[k] == 0 && joined.cut.limit[k] == joined.shape.dims[k];
    return is_all ? value : builder_emit(b, OP_PAD, &joined, sizeof joined, &value, 1);
}

/* Like join_pads, for operands in either order. */
static forge_value join_either(forge_builder *b, forge_value one, forge_value other)
{
    forge_value joined = builder_is_ok(b) ? join_pads(b, one, other) : FORGE_NO_VALUE;
    return joined || !builder_is_ok(b) ? joined : join_pads(b, other, one);
}

/* Returns the node of `value` if it is a scatter that adds its updates to zeros; NULL otherwise. */
static const struct node *sums_of_updates(const forge_builder *b, forge_value value)
{
    const struct node *node = graph_producer(b->graph, value);
    const struct scatter_attributes *a = node->attributes;
    if (node->op != OP_SCATTER || a->kind != FORGE_SCATTER_ADD)
        return NULL;
    const struct node *x = graph_producer(b->graph, node_input(b->graph, node, 0));
    const struct node *zero =
        x->op == OP_BROADCAST ? graph_producer(b->graph, node_input(b->graph, x, 0)) : NULL;
    const struct constant_attributes *constant = zero && zero->op == OP_CONSTANT ? zero->attributes : NULL;
    unsigned char ones = 0;
    for (uint32_t i = 0; constant && i < constant->size_bytes; i++)
        ones |= constant->bytes[i];
    return constant && !ones ? node : NULL;
}

/* Returns to + updates if `updates` is a scatter onto zeros, by scattering its updates onto `to`. Otherwise
 * returns FORGE_NO_VALUE. */
static forge_value add_updates(forge_builder *b, forge_value to, forge_value updates)
{
    const struct node *node = sums_of_updates(b, updates);
    if (!node)
        return FORGE_NO_VALUE;
    const struct scatter_attributes a = *(const struct scatter_attributes *)node->attributes;
    return builder_emit(b, OP_SCATTER, &a, sizeof a,
                        (forge_value[]){to, node_input(b->graph, node, 1), node_input(b->graph, node, 2)}, 3);
}

forge_value gradient_sum(forge_builder *b, forge_value sum, forge_value more)
{
    forge_value joined = join_either(b, sum, more);
    if (!joined && builder_is_ok(b))
        joined = add_updates(b, sum, more);
    if (!joined && builder_is_ok(b))
        joined = add_updates(b, more, sum);
    if (joined || !builder_is_ok(b))
        return joined;
    const struct node *node =
        graph_producer(b->graph, sum); /* if `sum` is itself a sum, its right operand may be adjacent to
                                        * `more` */
    if (node->op == OP_BINARY && node_kind(node) == FORGE_ADD) {
        forge_value left = node_input(b->graph, node, 0), right = node_input(b->graph, node, 1);
        joined = join_either(b, right, more);
        if (joined)
            return forge_add(b, left, joined);
    }
    return forge_add(b, sum, more);
}

void gradient_slice(struct gradient *r)
{
    const struct slice_attributes *a = r->node.attributes;
    struct pad_attributes back = {a->cut, 0, forge_value_shape(r->b, r->inputs[0])};
    gradient_add(r, 0, builder_emit(r->b, OP_PAD, &back, sizeof back, &r->g, 1));
}

void gradient_pad(struct gradient *r)
{
    const struct pad_attributes *a = r->node.attributes;
    struct slice_attributes back = {a->cut};
    gradient_add(r, 0, builder_emit(r->b, OP_SLICE, &back, sizeof back, &r->g, 1));
}

/* --- by indices ----------------------------------------------------------------------------------------- */

static forge_value zeros_like(forge_builder *b, forge_dtype dtype, forge_value x)
{
    return forge_broadcast(b, forge_scalar(b, dtype, 0), forge_value_shape(b, x));
}

void gradient_gather(struct gradient *r)
{
    const struct gather_attributes *a = r->node.attributes;
    forge_value zeros = zeros_like(r->b, forge_value_dtype(r->b, r->g), r->inputs[0]);
    struct scatter_attributes back = {FORGE_SCATTER_ADD, a->axis, a->is_along};
    gradient_add(
        r, 0,
        builder_emit(r->b, OP_SCATTER, &back, sizeof back, (forge_value[]){zeros, r->inputs[1], r->g}, 3));
}

/* Returns a scatter of `updates` onto x with the indices of the node. */
static forge_value scattered(struct gradient *r, forge_scatter_kind kind, forge_value x, forge_value updates)
{
    struct scatter_attributes a = *(const struct scatter_attributes *)r->node.attributes;
    a.kind = kind;
    return builder_emit(r->b, OP_SCATTER, &a, sizeof a, (forge_value[]){x, r->inputs[1], updates}, 3);
}

/* Returns, for each update of the node, the element of x at the update's index; 0 if the index is outside
 * x. */
static forge_value gathered(struct gradient *r, forge_value x)
{
    const struct scatter_attributes *a = r->node.attributes;
    struct gather_attributes gather = {a->axis, a->is_along, true};
    return builder_emit(r->b, OP_GATHER, &gather, sizeof gather, (forge_value[]){x, r->inputs[1]}, 2);
}

/* Returns a bool for each update: true if its index is inside x and no later update overwrites it. To find
 * this, numbers the updates from 1, scatters the numbers, gathers them again and compares. */
static forge_value is_kept(struct gradient *r)
{
    forge_builder *b = r->b;
    forge_shape shape = forge_value_shape(b, r->inputs[2]), flat = {.rank = 1, .dims = {1}};
    for (uint32_t i = 0; i < shape.rank; i++)
        flat.dims[0] = forge_dim_mul(b, flat.dims[0], shape.dims[i]);
    forge_value counted = forge_add(b, forge_iota(b, FORGE_I64, flat, 0), forge_scalar(b, FORGE_I64, 1));
    forge_value numbers = forge_reshape(b, counted, shape);
    forge_value kept = scattered(r, FORGE_SCATTER_SET, zeros_like(b, FORGE_I64, r->inputs[0]), numbers);
    return forge_binary(b, FORGE_EQ, gathered(r, kept), numbers);
}

static void gradient_of_set(struct gradient *r)
{
    forge_value zero = forge_scalar(r->b, forge_value_dtype(r->b, r->g), 0);
    forge_value zeros = forge_broadcast(r->b, zero, forge_value_shape(r->b, r->inputs[2]));
    gradient_add(r, 0, scattered(r, FORGE_SCATTER_SET, r->g, zeros));
    gradient_add(r, 2, forge_select(r->b, is_kept(r), gathered(r, r->g), zeros));
}

/* Adds the gradients of a scatter of maxima or minima. A result is the maximum or minimum of one element of x
 * and of some updates. The result's gradient is divided equally among the element and the updates that are
 * equal to the result. */
static void gradient_of_best(struct gradient *r)
{
    forge_builder *b = r->b;
    forge_dtype dtype = forge_value_dtype(b, r->g);
    forge_value x_wins = forge_cast(b, dtype, forge_binary(b, FORGE_EQ, r->inputs[0], r->y));
    forge_value wins = forge_cast(b, dtype, forge_binary(b, FORGE_EQ, r->inputs[2], gathered(r, r->y)));
    forge_value share = forge_div(b, r->g, scattered(r, FORGE_SCATTER_ADD, x_wins, wins));
    gradient_add(r, 0, forge_mul(b, x_wins, share));
    gradient_add(r, 2, forge_mul(b, wins, gathered(r, share)));
}

void gradient_scatter(struct gradient *r)
{
    switch (((const struct scatter_attributes *)r->node.attributes)->kind) {
    case FORGE_SCATTER_SET:
        gradient_of_set(r);
        break;
    case FORGE_SCATTER_ADD:
        gradient_add(r, 0, r->g);
        gradient_add(r, 2, gathered(r, r->g));
        break;
    default:
        gradient_of_best(r);
        break;
    }
}
