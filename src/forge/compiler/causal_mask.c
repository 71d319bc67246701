/* compiler/causal_mask.c - see causal_mask.h.
 *
 * A comparison of positions compares two functions base + row * i + column * j, where i and j are the indices
 * of the last two dimensions. Their numbers are integers. */
#include "forge/compiler/causal_mask.h"

#include <math.h>
#include "forge/core/dtype.h"

static const struct constant_attributes *constant_of(const forge_graph *graph, forge_value value)
{
    const struct node *node = graph_producer(graph, value);
    return node->op == OP_CONSTANT ? node->attributes : NULL;
}

static double element(const struct constant_attributes *constant, size_t i)
{
    double x = NAN;
    const struct dtype_row *row = dtype_row(constant->dtype);
    if (row->block_elements == 1 && row->load)
        row->load(constant->bytes, i, 1, &x);
    return x;
}

double constant_number(const forge_graph *graph, forge_value value)
{
    const struct node *node = graph_producer(graph, value);
    while (node->op == OP_BROADCAST || node->op == OP_RESHAPE)
        node = graph_producer(graph, node_input(graph, node, 0));
    const struct constant_attributes *constant = constant_of(graph, node->output);
    return constant && forge_shape_elements(&constant->shape) == 1 ? element(constant, 0) : NAN;
}

/* --- positions ------------------------------------------------------------------------------------------ */

/* The function base + row * i + column * j. row is 0 if the value has one row, and column if it has one
 * column: then the value stays the same when it is broadcast. */
struct plane {
    double base, row, column;
};

/* Sets the function to base + step * index, where `axis` is the dimension of the index. Returns false unless
 * it is one of the last two. */
static bool set_axis(struct plane *plane, uint32_t axis, uint32_t rank, double base, double step)
{
    *plane = (struct plane){base, axis + 2 == rank ? step : 0, axis + 1 == rank ? step : 0};
    return axis + 2 >= rank;
}

/* Returns the only dimension whose size is not 1, or the rank if there are none or several. */
static uint32_t long_axis(const forge_shape *shape)
{
    uint32_t axis = shape->rank;
    for (uint32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] != 1) {
            if (axis < shape->rank)
                return shape->rank;
            axis = i;
        }
    return axis;
}

/* Sets the function of a reshape, which moves the only index to another dimension. */
static bool reshape_plane(const forge_shape *from, const forge_shape *to, struct plane *plane)
{
    uint32_t old_axis = long_axis(from), axis = long_axis(to);
    if (old_axis == from->rank || axis == to->rank)
        return plane->row == 0 && plane->column == 0;
    double step = old_axis + 1 == from->rank ? plane->column : plane->row;
    return set_axis(plane, axis, to->rank, plane->base, step);
}

/* Applies a slice to the function. */
static void slice_plane(const struct cut *cut, uint32_t rank, struct plane *plane)
{
    double *steps[] = {&plane->column, &plane->row};
    for (uint32_t k = 0; k < 2 && k < rank; k++) {
        uint32_t axis = rank - 1 - k;
        double first = cut->step[axis] > 0 ? (double)cut->start[axis] : (double)cut->limit[axis] - 1;
        plane->base += *steps[k] * first;
        *steps[k] *= (double)cut->step[axis];
    }
}

static void add_plane(struct plane *plane, const struct plane *other, double factor)
{
    plane->base += factor * other->base;
    plane->row += factor * other->row;
    plane->column += factor * other->column;
}

/* The depth of expressions that are searched; and the largest number in them, so that no sum is rounded or
 * overflows. */
enum { MAX_DEPTH = 12, MAX_POSITION = 1 << 20 };

/* Returns true if the value's type represents all positions. */
static bool is_exact(const forge_graph *graph, forge_value value)
{
    forge_dtype dtype = graph->values[value].dtype;
    return dtype == FORGE_I32 || dtype == FORGE_I64 || dtype == FORGE_F32 || dtype == FORGE_F64;
}

static bool find_plane(const forge_graph *graph, forge_value value, int depth, struct plane *out);

/* Writes the function of a node's result, except that row and column may be any number along one element. */
static bool find_steps(const forge_graph *graph, const struct node *node, int depth, struct plane *out)
{
    forge_value value = node->output;
    const forge_shape *shape = &graph->values[value].shape;
    const struct iota_attributes *iota = node->attributes;
    const struct slice_attributes *slice = node->attributes;
    double number = constant_number(graph, value);
    struct plane other;
    if (!isnan(number)) {
        *out = (struct plane){number, 0, 0};
        return fabs(number) <= MAX_POSITION && floor(number) == number && is_exact(graph, value);
    }
    if (node->op == OP_IOTA)
        return set_axis(out, iota->axis, shape->rank, 0, 1) && is_exact(graph, value) &&
               shape->dims[iota->axis] <= MAX_POSITION;
    if (depth == MAX_DEPTH || node->input_count == 0 ||
        !find_plane(graph, node_input(graph, node, 0), depth + 1, out))
        return false;
    switch (node->op) {
    case OP_CAST:
        return is_exact(graph, value);
    case OP_BROADCAST:
        return true;
    case OP_RESHAPE:
        return reshape_plane(&graph->values[node_input(graph, node, 0)].shape, shape, out);
    case OP_SLICE:
        slice_plane(&slice->cut, shape->rank, out);
        return true;
    case OP_BINARY:
        if ((node_kind(node) != FORGE_ADD && node_kind(node) != FORGE_SUB) ||
            !find_plane(graph, node_input(graph, node, 1), depth + 1, &other))
            return false;
        add_plane(out, &other, node_kind(node) == FORGE_ADD ? 1 : -1);
        return true;
    default:
        return false;
    }
}

/* Writes the function that a value is of its indices. Returns false if it is another one. */
static bool find_plane(const forge_graph *graph, forge_value value, int depth, struct plane *out)
{
    const forge_shape *shape = &graph->values[value].shape;
    if (!find_steps(graph, graph_producer(graph, value), depth, out))
        return false;
    if (shape->rank < 1 || shape->dims[shape->rank - 1] == 1)
        out->column = 0;
    if (shape->rank < 2 || shape->dims[shape->rank - 2] == 1)
        out->row = 0;
    return true;
}

/* Returns true if the comparison is true exactly where i - j + s - t >= 0. */
static bool is_causal_comparison(const forge_graph *graph, const struct node *node, int64_t t, int64_t s)
{
    struct plane a, b;
    if (node->op != OP_BINARY || !find_plane(graph, node_input(graph, node, 0), 0, &a) ||
        !find_plane(graph, node_input(graph, node, 1), 0, &b))
        return false;
    bool is_less = node_kind(node) == FORGE_LT || node_kind(node) == FORGE_LE;
    bool is_strict = node_kind(node) == FORGE_LT || node_kind(node) == FORGE_GT;
    if (!is_less && node_kind(node) != FORGE_GT && node_kind(node) != FORGE_GE)
        return false;
    struct plane difference = is_less ? b : a;
    add_plane(&difference, is_less ? &a : &b, -1);
    return difference.row == (t == 1 ? 0 : 1) && difference.column == (s == 1 ? 0 : -1) &&
           difference.base - (is_strict ? 1 : 0) == (double)(s - t);
}

/* --- masks ---------------------------------------------------------------------------------------------- */

/* Returns true if the value broadcasts to [..., t, s], and has the same elements in all matrices. */
static bool is_matrix(const forge_shape *shape, int64_t t, int64_t s)
{
    return shape->rank >= 2 && shape->dims[shape->rank - 1] == s && shape->dims[shape->rank - 2] == t &&
           forge_shape_elements(shape) == (size_t)t * (size_t)s;
}

/* Returns true if the constant has the element `shown` where j <= i + s - t, and `hidden` elsewhere. */
static bool is_causal_array(const struct constant_attributes *constant, int64_t t, int64_t s, double shown,
                            double hidden)
{
    if (!is_matrix(&constant->shape, t, s))
        return false;
    for (int64_t i = 0; i < t; i++)
        for (int64_t j = 0; j < s; j++)
            if (element(constant, (size_t)(i * s + j)) != (j <= i + s - t ? shown : hidden))
                return false;
    return true;
}

bool is_causal_choice(const forge_graph *graph, forge_value value, int64_t t, int64_t s)
{
    const struct constant_attributes *constant = constant_of(graph, value);
    const forge_shape *shape = &graph->values[value].shape;
    if (constant)
        return is_causal_array(constant, t, s, 1, 0);
    const struct node *node = graph_producer(graph, value);
    while (node->op == OP_BROADCAST)
        node = graph_producer(graph, node_input(graph, node, 0));
    return shape->rank >= 2 && is_causal_comparison(graph, node, t, s);
}

bool is_causal_addend(const forge_graph *graph, forge_value value, int64_t t, int64_t s)
{
    const struct constant_attributes *constant = constant_of(graph, value);
    const struct node *node = graph_producer(graph, value);
    if (constant)
        return is_causal_array(constant, t, s, 0, -(double)INFINITY);
    return node->op == OP_SELECT && is_causal_choice(graph, node_input(graph, node, 0), t, s) &&
           constant_number(graph, node_input(graph, node, 1)) == 0 &&
           constant_number(graph, node_input(graph, node, 2)) == -(double)INFINITY;
}
