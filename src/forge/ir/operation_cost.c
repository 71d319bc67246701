/* ir/operation_cost.c - see operation_cost.h. */
#include "forge/ir/operation_cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "forge/ir/fused.h"

typedef double flop_fn(const struct launch *launch);

static double elements(const struct view *view)
{
    return (double)forge_shape_elements(&view->shape);
}

double cost_view_bytes(const struct view *view)
{
    forge_shape stored = view->shape;
    for (uint32_t i = 0; i < stored.rank; i++)
        if (view->strides[i] == 0 && stored.dims[i] > 1)
            stored.dims[i] = 1;
    return (double)forge_dtype_size_bytes(view->dtype, forge_shape_elements(&stored));
}

/* Defines the cost function of an operation that only moves elements. */
#define NO_FLOP(name)                                                                                        \
    static double cost_##name(const struct launch *launch)                                                   \
    {                                                                                                        \
        (void)launch;                                                                                        \
        return 0;                                                                                            \
    }
NO_FLOP(iota)
NO_FLOP(select)
NO_FLOP(cast)
NO_FLOP(reshape)
NO_FLOP(transfer)
NO_FLOP(stop_gradient)
NO_FLOP(collective)
NO_FLOP(broadcast)
NO_FLOP(transpose)
NO_FLOP(concat)
NO_FLOP(slice)
NO_FLOP(pad)
NO_FLOP(unfold)
NO_FLOP(gather)

static double cost_unary(const struct launch *launch)
{
    return elements(&launch->outputs[0]);
}

static double cost_binary(const struct launch *launch)
{
    return elements(&launch->outputs[0]);
}

static double cost_scatter(const struct launch *launch)
{
    const struct scatter_attributes *a = launch->attributes;
    return a->kind == FORGE_SCATTER_SET ? 0 : elements(&launch->inputs[2]);
}

static double cost_reduce(const struct launch *launch)
{
    return elements(&launch->inputs[0]);
}

static double cost_scan(const struct launch *launch)
{
    return elements(&launch->inputs[0]);
}

/* Counts comparisons: one binary search among the returned elements for each element of x. */
static double cost_sort(const struct launch *launch)
{
    const struct sort_attributes *a = launch->attributes;
    return elements(&launch->inputs[0]) * log2((double)launch->outputs[0].shape.dims[a->axis] + 1);
}

static double cost_matmul(const struct launch *launch)
{
    const struct matmul_attributes *a = launch->attributes;
    const forge_shape *left = &launch->inputs[0].shape;
    forge_dim inner = left->dims[left->rank - (a->flags & FORGE_TRANSPOSE_A ? 2 : 1)];
    return 2 * (double)inner * elements(&launch->outputs[0]);
}

static double cost_conv(const struct launch *launch)
{
    const struct conv_attributes *a = launch->attributes;
    bool is_transposed = a->flags & CONV_TRANSPOSED; /* if true, the kernel is applied to each input element,
                                                      * otherwise to each output element */
    const struct view *weight = &launch->inputs[1];
    const struct view *each = is_transposed ? &launch->inputs[0] : &launch->outputs[0];
    double channels = (double)each->shape.dims[1], n = (double)each->shape.dims[0];
    double positions = channels > 0 && n > 0 ? elements(each) / channels / n : 0;
    return 2 * n * positions * elements(weight);
}

static double product_of_sizes(const struct windows *windows)
{
    double product = 1;
    for (uint32_t k = 0; k < FORGE_MAX_RANK; k++)
        product *= windows->axes >> k & 1 ? windows->size[k] : 1;
    return product;
}

static double cost_window(const struct launch *launch)
{
    const struct window_attributes *a = launch->attributes;
    return product_of_sizes(&a->windows) * elements(&launch->outputs[0]);
}

static double cost_fold(const struct launch *launch)
{
    return elements(&launch->inputs[0]);
}

/* Counts one comparison and one addition for each element of each window. */
static double cost_share(const struct launch *launch)
{
    const struct share_attributes *a = launch->attributes;
    return 2 * product_of_sizes(&a->windows) * elements(&launch->inputs[1]);
}

static double cost_random(const struct launch *launch)
{
    return 40 * elements(&launch->outputs[0]); /* integer operations: ten rounds of Philox compute four
                                                * numbers */
}

static flop_fn *const flop_of[OP_COUNT] = {
#define LEAF(...)
#define WHOLE(...)
#define OP(NAME, name, min_inputs, max_inputs, attributes) [OP_##NAME] = cost_##name,
#include "forge/ir/ops.def"
};

/* Returns the cost with this FLOP count and the bytes of all operands, each counted once. */
static struct program_cost with_bytes(double flop, const struct launch *launch)
{
    struct program_cost cost = {.flop = flop};
    for (size_t i = 0; i < launch->input_count; i++)
        cost.read_bytes += cost_view_bytes(&launch->inputs[i]);
    for (size_t i = 0; i < launch->output_count; i++)
        cost.written_bytes += cost_view_bytes(&launch->outputs[i]);
    return cost;
}

struct program_cost cost_of_launch(const struct launch *launch)
{
    double flop = flop_of[launch->op](launch);
    const struct view *in = launch->inputs, *out = launch->outputs;
    if (launch->op == OP_GATHER) { /* reads only the gathered elements of x */
        double taken = cost_view_bytes(&out[0]), all = cost_view_bytes(&in[0]);
        return (struct program_cost){flop, cost_view_bytes(&in[1]) + (taken < all ? taken : all), taken};
    }
    if (launch->op == OP_SCATTER && in[0].data == out[0].data) { /* in place: touches only the updated
                                                                  * elements of x */
        double updated = cost_view_bytes(&in[2]);
        return (struct program_cost){flop, cost_view_bytes(&in[1]) + updated + (flop > 0 ? updated : 0),
                                     updated};
    }
    return with_bytes(flop, launch);
}

/* --- composites ----------------------------------------------------------------------------------------- */

/* Returns the bytes of `count` rows of x, but at most the bytes of all rows. A row contains the elements with
 * one index along the first dimension. */
static double bytes_of_rows(const struct view *x, double count)
{
    double rows = (double)x->shape.dims[0];
    return rows > 0 ? cost_view_bytes(x) / rows * fmin(count, rows) : 0;
}

/* Returns the maximum number of places of a cache that paged_attention reads: those of the pages in the
 * tables of its sequences. A row has one sequence, so there are at most as many sequences as rows. */
static double reachable_places(const struct launch *launch)
{
    const struct composite_attributes *a = launch->attributes;
    const forge_dim *tables = launch->inputs[3].shape.dims, *sequence = launch->inputs[4].shape.dims;
    return fmin((double)tables[0], (double)sequence[0]) * (double)tables[1] * (double)a->numbers[0];
}

static bool is_composite(const struct launch *launch, const char *name, size_t inputs)
{
    const struct composite_attributes *a = launch->attributes;
    return strcmp(a->name, name) == 0 && launch->input_count == inputs && launch->inputs[0].shape.rank > 0;
}

/* Returns the cost of a composite with this FLOP count, computed by one kernel. Counts the bytes of all
 * operands, but of tables and caches only the rows that the kernel may access. */
static struct program_cost cost_of_operands(double flop, const struct launch *launch)
{
    struct program_cost cost = with_bytes(flop, launch);
    const struct view *in = launch->inputs, *out = launch->outputs;
    if (is_composite(launch, "embedding", 2))
        cost.read_bytes += bytes_of_rows(&in[0], elements(&in[1])) - cost_view_bytes(&in[0]);
    if (is_composite(launch, "cache_write", 3) && in[0].data == out[0].data) {
        cost.read_bytes -= cost_view_bytes(&in[0]);
        cost.written_bytes = bytes_of_rows(&in[0], elements(&in[2]));
    }
    if (is_composite(launch, "paged_attention", 6))
        for (int i = 1; i <= 2; i++)
            cost.read_bytes += bytes_of_rows(&in[i], reachable_places(launch)) - cost_view_bytes(&in[i]);
    return cost;
}

/* --- nodes of graphs ------------------------------------------------------------------------------------ */

/* Writes a packed view of the value to *out_view. Its data pointer identifies the value, and must not be
 * read. Returns false if the value of a symbolic size is missing. */
static bool view_value(const forge_graph *graph, forge_value value, const struct body_costs *cache,
                       struct view *out_view)
{
    const struct value *of = &graph->values[value];
    int64_t stride = 1;
    *out_view = (struct view){.data = &graph->values[value], .dtype = of->dtype, .shape = of->shape};
    for (uint32_t i = 0; i < of->shape.rank; i++)
        if (of->shape.dims[i] < 0 && (uint64_t)-of->shape.dims[i] <= cache->value_count)
            out_view->shape.dims[i] = dim_substitute(of->shape.dims[i], cache->values);
    if (forge_shape_elements(&out_view->shape) == SIZE_MAX)
        return false;
    for (uint32_t i = of->shape.rank; i-- > 0; stride *= out_view->shape.dims[i])
        out_view->strides[i] = stride;
    return true;
}

enum { MAX_OPERANDS = 2 * (UINT8_MAX + 1) };

/* Writes a launch of the node on packed views. views: [MAX_OPERANDS]. Returns false if the value of a
 * symbolic size is missing. */
static bool launch_of_node(const forge_graph *graph, const struct node *node, const struct body_costs *cache,
                           struct view *views, struct launch *out_launch)
{
    size_t count = 0;
    *out_launch = (struct launch){.op = (enum op)node->op,
                                  .attributes = node->attributes,
                                  .inputs = views,
                                  .input_count = node->input_count,
                                  .outputs = views + node->input_count,
                                  .output_count = node->output_count};
    for (size_t i = 0; i < node->input_count; i++)
        if (!view_value(graph, node_input(graph, node, i), cache, &views[count++]))
            return false;
    for (uint32_t i = 0; i < node->output_count; i++)
        if (!view_value(graph, node->output + i, cache, &views[count++]))
            return false;
    return true;
}

/* One entry of the cache struct body_costs. */
struct body_cost {
    const forge_graph *body;
    struct program_cost cost;
};

static const struct program_cost unknown = {NAN, NAN, NAN};

void body_costs_free(struct body_costs *cache)
{
    free(cache->list);
    *cache = (struct body_costs){0};
}

static void add(struct program_cost *sum, struct program_cost cost)
{
    sum->flop += cost.flop;
    sum->read_bytes += cost.read_bytes;
    sum->written_bytes += cost.written_bytes;
}

/* Returns true for composites that exist only because a kernel computes them at once. */
static bool is_fused(const struct node *node)
{
    const struct composite_attributes *a = node->attributes;
    return node->op == OP_COMPOSITE && (fused_is(a) || strcmp(a->name, "reorder") == 0);
}

static struct program_cost cost_of_all(const forge_graph *graph, struct body_costs *cache)
{
    struct program_cost sum = {0};
    for (size_t n = 0; n < graph->node_count; n++)
        if (!node_is_view(&graph->nodes[n]))
            add(&sum,
                (is_fused(&graph->nodes[n]) ? cost_of_kernel : cost_of_node)(graph, &graph->nodes[n], cache));
    return sum;
}

static struct program_cost cost_of_body(const forge_graph *body, struct body_costs *cache)
{
    for (size_t i = 0; i < cache->item_count; i++)
        if (cache->list[i].body == body)
            return cache->list[i].cost;
    struct program_cost cost = cost_of_all(body, cache);
    if (cache->values)
        return cost;
    if (!ARRAY_ROOM(cache->list, cache->item_capacity, cache->item_count))
        return unknown;
    cache->list[cache->item_count++] = (struct body_cost){body, cost};
    return cost;
}

struct program_cost cost_of_node(const forge_graph *graph, const struct node *node, struct body_costs *cache)
{
    struct view views[MAX_OPERANDS];
    struct launch launch;
    if (node->op == OP_COMPOSITE)
        return cost_of_body(((const struct composite_attributes *)node->attributes)->body, cache);
    if (!flop_of[node->op])
        return (struct program_cost){0};
    return launch_of_node(graph, node, cache, views, &launch) ? cost_of_launch(&launch) : unknown;
}

struct program_cost cost_of_kernel(const forge_graph *graph, const struct node *node,
                                   struct body_costs *cache)
{
    struct view views[MAX_OPERANDS];
    struct launch launch;
    struct program_cost cost = cost_of_node(graph, node, cache);
    if (node->op != OP_COMPOSITE)
        return cost;
    bool is_known = launch_of_node(graph, node, cache, views, &launch);
    return is_known ? cost_of_operands(cost.flop, &launch) : (struct program_cost){cost.flop, NAN, NAN};
}

struct program_cost cost_of_graph(const forge_graph *graph)
{
    struct body_costs cache = {0};
    struct program_cost cost = cost_of_all(graph, &cache);
    body_costs_free(&cache);
    return cost;
}

struct program_cost cost_of_composite(const struct launch *launch, const forge_graph *body,
                                      const int64_t *values, size_t value_count)
{
    struct body_costs cache = {.values = values, .value_count = value_count};
    return cost_of_operands(cost_of_all(body, &cache).flop, launch);
}
