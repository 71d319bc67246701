/* joulec/work/sum.c - see sum.h.
 *
 * Note: a region (loops.h) without its back edges is acyclic, so one pass over its nodes in topological order
 * covers all paths.
 */
#include "joulec/work/sum.h"

#include <math.h>
#include <string.h>
#include "joulec/module/annotation.h"
#include "joulec/work/built_loop.h"
#include "joulec/work/cache_levels.h"
#include "joulec/work/sum_region.h"

static const struct amounts nothing = {
    .of = {{.version = COST_VERSION}, {.version = COST_VERSION}, {.version = COST_VERSION}}};

/* Merges a path into *at, the cheapest and the most expensive path to the same node. */
static void merge_path(const struct target *target, struct amounts *at, bool *is_reached,
                       const struct amounts *path)
{
    if (!*is_reached)
        *at = *path;
    if (amounts_joules(target, path, BOUND_LOW) < amounts_joules(target, at, BOUND_LOW))
        at->of[BOUND_LOW] = path->of[BOUND_LOW];
    if (amounts_joules(target, path, BOUND_HIGH) > amounts_joules(target, at, BOUND_HIGH))
        at->of[BOUND_HIGH] = path->of[BOUND_HIGH];
    *is_reached = true;
}

/* Numbers of edges that leave a node (a block, or the loop `inner`): forward edges within the region, and
 * back edges. */
struct successor_counts {
    size_t forward, back;
};

static void count_edge(const struct region *r, const struct edge *edge, int32_t loop,
                       struct successor_counts *successors)
{
    successors->forward += branch_is_forward(&r->branches, edge, loop);
    successors->back += branch_is_back_edge(&r->branches, edge, loop);
}

static struct successor_counts successors_of_block(const struct region *r, uint32_t block, int32_t loop)
{
    const struct block *b = &r->function->blocks[block];
    struct successor_counts successors = {0, 0};
    for (size_t i = 0; i < b->edge_count; i++)
        count_edge(r, &b->edges[i], loop, &successors);
    return successors;
}

static const struct edge *edge_at(const struct region *r, uint32_t exit)
{
    struct loop_exit at = r->loops->exits[exit];
    return &r->function->blocks[at.block].edges[at.edge];
}

static struct successor_counts successors_of_loop(const struct region *r, int32_t inner, int32_t loop)
{
    struct successor_counts successors = {0, 0};
    for (uint32_t i = r->loops->exit_begin[inner]; i < r->loops->exit_begin[inner + 1]; i++)
        count_edge(r, edge_at(r, i), loop, &successors);
    return successors;
}

/* Propagates paths and frequency of a block to its successors. If all probabilities are 0, the edges are
 * equally likely. */
static void propagate_block(struct region *r, uint32_t block, int32_t loop,
                            const struct successor_counts *successors)
{
    const struct block *b = &r->function->blocks[block];
    struct loop_successors loop_successors = branch_loop_successors(&r->branches, block, loop);
    double each = r->frequency[block] / (double)(successors->forward + successors->back);
    double all = branch_probability_sum(&r->branches, block, loop, &loop_successors);
    r->out->is_variable = r->out->is_variable || successors->forward + successors->back > 1;
    for (size_t i = 0; i < b->edge_count; i++) {
        uint32_t to = b->edges[i].to;
        if (!branch_is_forward(&r->branches, &b->edges[i], loop))
            continue;
        merge_path(r->target, &r->path_to[to], &r->is_reached[to], &r->path_to[block]);
        r->frequency[to] +=
            all > 0 ? r->frequency[block] *
                          branch_edge_probability(&r->branches, b, &b->edges[i], &loop_successors, loop) / all
                    : each;
    }
}

static double sum_of_exits(const struct region *r, int32_t inner, int32_t loop)
{
    double sum = 0;
    for (uint32_t i = r->loops->exit_begin[inner]; i < r->loops->exit_begin[inner + 1]; i++) {
        const struct edge *edge = edge_at(r, i);
        if (branch_is_forward(&r->branches, edge, loop) || branch_is_back_edge(&r->branches, edge, loop))
            sum += branch_exit_weight(&r->branches, edge, r->times[inner].times[BOUND_EST]);
    }
    return sum;
}

/* Propagates paths and frequency of an inner loop to the successors of its exits. Each entry takes one
 * exit. */
static void propagate_exits(struct region *r, int32_t inner, uint32_t node, int32_t loop,
                            const struct successor_counts *successors)
{
    double sum = sum_of_exits(r, inner, loop), each = 1 / (double)(successors->forward + successors->back);
    r->out->is_variable = r->out->is_variable || successors->forward + successors->back > 1;
    for (uint32_t i = r->loops->exit_begin[inner]; i < r->loops->exit_begin[inner + 1]; i++) {
        const struct edge *edge = edge_at(r, i);
        if (!branch_is_forward(&r->branches, edge, loop))
            continue;
        double weight = branch_exit_weight(&r->branches, edge, r->times[inner].times[BOUND_EST]);
        merge_path(r->target, &r->path_to[edge->to], &r->is_reached[edge->to], &r->path_to[node]);
        r->frequency[edge->to] += r->frequency[node] * (sum > 0 ? weight / sum : each);
    }
}

enum end { END_PROPER, END_DEAD, END_NONE };

/* Returns whether and how a region ends at a node. END_DEAD: the function does not return, because the node
 * ends the program or is a loop without an exit. */
static enum end end_at(const struct region *r, uint32_t node, int32_t inner, int32_t loop,
                       const struct successor_counts *successors)
{
    if (loop >= 0)
        return successors->back ? END_PROPER : END_NONE;
    if (successors->forward)
        return END_NONE;
    return inner < 0 && !r->function->blocks[node].is_dead_end ? END_PROPER : END_DEAD;
}

static void store_block(struct region *r, uint32_t block, const struct amounts *own)
{
    struct block_sum *kept = &r->out->blocks[block];
    kept->frequency = r->frequency[block];
    for (enum bound b = BOUND_LOW; b < BOUNDS; b++) {
        kept->cycles[b] = own->of[b].amount[COST_CYCLES];
        kept->joules[b] = amounts_joules(r->target, own, b);
    }
}

/* The last iteration of a loop, which may end before all blocks of the body have run. */
struct last_iteration {
    size_t exits;        /* number of nodes with exits, except exits to dead ends */
    uint32_t first;      /* the first of these nodes */
    bool goes_back;      /* `first` also has a back edge, so a last iteration that ends there is complete */
    struct amounts sum;  /* work up to an exit, on the cheapest and the most expensive path */
    struct amounts rest; /* estimated work after `first` in an iteration that does not end there */
};

/* Returns true if a node has an exit of the loop, except to dead ends. */
static bool has_exit(const struct region *r, uint32_t node, int32_t inner, int32_t loop)
{
    uint32_t from = inner < 0 ? 0 : r->loops->list[inner].first,
             to = inner < 0 ? 1 : r->loops->list[inner].end;
    for (uint32_t i = from; i < to; i++) {
        const struct block *b = &r->function->blocks[inner < 0 ? node : r->loops->members[i]];
        for (size_t e = 0; e < b->edge_count; e++)
            if (!loop_has(r->loops, loop, b->edges[e].to) && !heat_is_dead(r->branches.heat[b->edges[e].to]))
                return true;
    }
    return false;
}

/* Adds a node to the description of the last iteration. Nodes must be added in topological order. */
static void add_to_last(const struct region *r, uint32_t node, int32_t inner, int32_t loop,
                        const struct amounts *own, struct last_iteration *last)
{
    const struct flow *flow = &r->loops->flow;
    const struct block *b = &r->function->blocks[node];
    double frequency[BOUNDS] = {0, r->frequency[node], 0};
    if (last->exits && flow->tree_first[node] > flow->tree_first[last->first] &&
        flow->tree_last[node] <= flow->tree_last[last->first])
        amounts_add(&last->rest, frequency, own);
    if (!has_exit(r, node, inner, loop))
        return;
    bool has_any = last->exits > 0;
    merge_path(r->target, &last->sum, &has_any, &r->path_to[node]);
    if (last->exits++)
        return;
    last->first = node;
    for (size_t e = 0; e < b->edge_count && inner < 0; e++)
        last->goes_back = last->goes_back || b->edges[e].to == r->loops->list[loop].header;
}

/* Adds the work of all iterations of one entry. If a loop has one exit, its last iteration ends there. If it
 * has several exits, the last iteration has at least the work before the cheapest exit. */
static void add_iterations(const struct amounts *iteration, const struct last_iteration *last,
                           const struct loop_times *times, struct amounts *out)
{
    bool is_whole = !last->exits || (last->exits == 1 && last->goes_back);
    double part[BOUNDS], iterations[BOUNDS], less[BOUNDS] = {0};
    for (enum bound b = BOUND_LOW; b < BOUNDS; b++) {
        bool is_part = !is_whole && (b == BOUND_LOW || (b == BOUND_HIGH && last->exits == 1));
        part[b] = is_part ? fmin(times->times[b], 1) : 0;
        iterations[b] = times->times[b] - part[b];
    }
    if (!is_whole && last->exits == 1)
        less[BOUND_EST] = -fmin(times->times[BOUND_EST], 1);
    amounts_add(out, iterations, iteration);
    amounts_add(out, part, &last->sum);
    amounts_add(out, less, &last->rest);
}

/* Returns the work of one iteration of `loop`, and fills *last. loop -1: returns the work of one call of the
 * function; `last` is not used. */
static struct amounts sum_region(struct region *r, int32_t loop, struct last_iteration *last)
{
    static const double bounds_only[BOUNDS] = {1, 0, 1};
    struct amounts whole = nothing, ends[END_NONE] = {nothing, nothing};
    bool has_end[END_NONE] = {false, false};
    uint32_t first = loop < 0 ? 0 : r->loops->list[loop].header;
    r->is_reached[first] = true;
    r->path_to[first] = nothing;
    r->frequency[first] = 1;
    for (uint32_t i = r->loops->node_begin[loop + 1]; i < r->loops->node_begin[loop + 2]; i++) {
        uint32_t block = r->loops->nodes[i];
        if (!r->is_reached[block])
            continue;
        int32_t inner = loop_at_node(r->loops, block, loop);
        struct amounts own = inner < 0 ? region_of_block(r, block) : r->out->loops[inner];
        if (inner >= 0)
            r->out->runs[inner].entries = r->frequency[block];
        double frequency[BOUNDS] = {0, r->frequency[block], 0};
        if (inner < 0)
            store_block(r, block, &own);
        amounts_add(&whole, frequency, &own);
        amounts_add(&r->path_to[block], bounds_only, &own);
        if (loop >= 0)
            add_to_last(r, block, inner, loop, &own, last);
        struct successor_counts successors =
            inner < 0 ? successors_of_block(r, block, loop) : successors_of_loop(r, inner, loop);
        if (inner < 0)
            propagate_block(r, block, loop, &successors);
        else
            propagate_exits(r, inner, block, loop, &successors);
        enum end end = end_at(r, block, inner, loop, &successors);
        if (end != END_NONE)
            merge_path(r->target, &ends[end], &has_end[end], &r->path_to[block]);
    }
    enum end end = has_end[END_PROPER] ? END_PROPER : END_DEAD;
    whole.of[BOUND_LOW] = ends[end].of[BOUND_LOW];
    whole.of[BOUND_HIGH] = ends[end].of[BOUND_HIGH];
    if (has_end[END_DEAD] && amounts_joules(r->target, &ends[END_DEAD], BOUND_HIGH) >
                                 amounts_joules(r->target, &whole, BOUND_HIGH))
        whole.of[BOUND_HIGH] =
            ends[END_DEAD].of[BOUND_HIGH]; /* the longest path may end by longjmp() or exit() */
    return whole;
}

/* Resets is_reached and frequency of the nodes of a region. */
static void reset_region(struct region *r, int32_t loop)
{
    for (uint32_t i = r->loops->node_begin[loop + 1]; i < r->loops->node_begin[loop + 2]; i++) {
        r->is_reached[r->loops->nodes[i]] = false;
        r->frequency[r->loops->nodes[i]] = 0;
    }
}

/* Converts entries per iteration of the loop around to entries per call, and computes iterations per call. */
static void sum_runs(struct region *r, const struct loop_times *times)
{
    for (size_t i = 0; i < r->loops->count; i++) { /* outer ones first */
        struct loop_runs *runs = &r->out->runs[i];
        int32_t around = r->loops->list[i].parent;
        runs->entries *= around < 0 ? 1 : r->out->runs[around].iterations;
        runs->iterations = runs->entries * times[i].times[BOUND_EST];
    }
}

/* Returns the micro-operations of a loop per entry, after which its recurrence restarts. Returns INFINITY if
 * the recurrence depends on the previous entry. Also returns INFINITY if the loop ends unpredictably or calls
 * functions, because then little of its work overlaps with the work after it. */
static double entry_uops(const struct region *r, size_t loop, const struct loop_times *times)
{
    double uops = 0;
    if (!r->function->blocks[r->loops->list[loop].header].is_entry_independent ||
        region_ends_by_data(r, loop))
        return INFINITY;
    for (uint32_t i = r->loops->node_begin[loop + 1]; i < r->loops->node_begin[loop + 2]; i++) {
        const struct block *block = &r->function->blocks[r->loops->nodes[i]];
        if (block->call_count)
            return INFINITY;
        uops += sum_features(block).amount[COST_UOPS];
    }
    return uops * times->times[BOUND_EST];
}

static struct built_loop_order order_of(const struct region *r, size_t loop)
{
    struct built_loop_order order = {.streamed = NAN,
                                     .entry_uops = r->entry_uops,
                                     .overlaps = r->loops->list[loop].overlap != OVERLAP_NONE};
    const struct block_memory *memory = r->memory ? &r->memory[r->loops->list[loop].header] : NULL;
    if (memory) {
        order.streamed = memory->streamed;
        memcpy(order.wait_cycles, memory->wait_cycles, sizeof order.wait_cycles);
    }
    return order;
}

static void sum_regions(struct region *r, const struct loop_times *times)
{
    branch_find_heat(&r->branches);
    for (size_t i = r->loops->count; i-- > 0;) { /* inner ones first */
        r->out->loops[i] = nothing;
        if (r->branches.context && !r->branches.context->is_reachable[r->loops->list[i].header])
            continue;
        r->entry_uops = entry_uops(r, i, &times[i]);
        struct last_iteration last = {.sum = nothing, .rest = nothing};
        struct amounts iteration = sum_region(r, (int32_t)i, &last);
        struct built_loop_order order = order_of(r, i);
        built_loop_apply(r->target, r->loops, i, &times[i], &order, &iteration, r->out->loops);
        r->out->loops[i] = region_of_end(r, i, &times[i]);
        add_iterations(&iteration, &last, &times[i], &r->out->loops[i]);
        reset_region(r, (int32_t)i);
    }
    r->entry_uops = INFINITY;
    r->out->call = sum_region(r, -1, NULL);
    sum_runs(r, times);
    if (r->loops->is_irregular)
        region_add_missing(r, DOUBT_SHAPE, NULL, r->function->place);
    if (r->loops->is_too_deep)
        region_add_missing(r, DOUBT_DEPTH, NULL, r->function->place);
}

joule_status sum_function(struct arena *arena, const struct function *function, const struct loops *loops,
                          const struct loop_times *times, const struct block_memory *memory,
                          const struct target *target, const struct function_sum *const *callees,
                          const struct sum_context *context, struct function_sum *out_sum)
{
    size_t count = function->block_count + 1;
    struct arena own = {0};
    *out_sum = (struct function_sum){.call = nothing,
                                     .blocks = arena_alloc(arena, count * sizeof *out_sum->blocks),
                                     .loops = arena_alloc(arena, (loops->count + 1) * sizeof *out_sum->loops),
                                     .runs = arena_alloc(arena, (loops->count + 1) * sizeof *out_sum->runs)};
    struct region r = {
        .arena = arena,
        .function = function,
        .loops = loops,
        .memory = memory,
        .target = target,
        .callees = callees,
        .times = times,
        .branches = {function, loops, context, arena_alloc(&own, count * sizeof *r.branches.heat)},
        .out = out_sum,
        .path_to = arena_alloc(&own, count * sizeof *r.path_to),
        .frequency = arena_alloc(&own, count * sizeof *r.frequency),
        .is_reached = arena_alloc(&own, count * sizeof *r.is_reached)};
    r.is_out_of_memory = !out_sum->blocks || !out_sum->loops || !out_sum->runs || own.is_out_of_memory;
    if (!r.is_out_of_memory)
        sum_regions(&r, times);
    arena_free(&own);
    if (annotation_of(function, ANNOTATION_GPU_KERNEL)) {
        out_sum->call = nothing;
        region_add_missing(&r, DOUBT_DEVICE, function->name, function->place);
    }
    return r.is_out_of_memory ? JOULE_NO_MEMORY : JOULE_OK;
}
