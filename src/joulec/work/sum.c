/* joulec/work/sum.c - see sum.h.
 *
 * Note: a region is the body of one loop, or of the function; each loop directly inside is one node. Without
 * back edges a region is acyclic, so one pass in topological order covers all paths.
 */
#include "joulec/work/sum.h"

#include <math.h>
#include <string.h>
#include "joulec/module/annotation.h"
#include "joulec/work/levels.h"
#include "joulec/work/sum_region.h"
#include "joulec/work/wide.h"

static const struct amounts nothing = {
    .of = {{.version = COST_VERSION}, {.version = COST_VERSION}, {.version = COST_VERSION}}};

/* Merges a path into those that reach the same node: keeps the cheapest and the most expensive one. */
static void meet(const struct target *target, struct amounts *at, bool *is_reached, const struct amounts *way)
{
    if (!*is_reached)
        *at = *way;
    if (amounts_joules(target, way, BOUND_LOW) < amounts_joules(target, at, BOUND_LOW))
        at->of[BOUND_LOW] = way->of[BOUND_LOW];
    if (amounts_joules(target, way, BOUND_HIGH) > amounts_joules(target, at, BOUND_HIGH))
        at->of[BOUND_HIGH] = way->of[BOUND_HIGH];
    *is_reached = true;
}

/* Numbers of edges that leave a node (a block, or the loop `inner`): forward edges within the region, and
 * back edges. */
struct ways_out {
    size_t on, round;
};

static void add_way(const struct region *r, const struct edge *edge, int32_t loop, struct ways_out *ways)
{
    ways->on += ways_goes_on(&r->ways, edge, loop);
    ways->round += ways_goes_round(&r->ways, edge, loop);
}

static struct ways_out ways_of_block(const struct region *r, uint32_t block, int32_t loop)
{
    const struct block *b = &r->function->blocks[block];
    struct ways_out ways = {0, 0};
    for (size_t i = 0; i < b->edge_count; i++)
        add_way(r, &b->edges[i], loop, &ways);
    return ways;
}

static const struct edge *edge_at(const struct region *r, uint32_t exit)
{
    struct loop_exit at = r->loops->exits[exit];
    return &r->function->blocks[at.block].edges[at.edge];
}

static struct ways_out ways_of_loop(const struct region *r, int32_t inner, int32_t loop)
{
    struct ways_out ways = {0, 0};
    for (uint32_t i = r->loops->exit_begin[inner]; i < r->loops->exit_begin[inner + 1]; i++)
        add_way(r, edge_at(r, i), loop, &ways);
    return ways;
}

/* Propagates to the successors of a block. If all probabilities are 0, the edges are equally likely. */
static void leave_block(struct region *r, uint32_t block, int32_t loop, const struct ways_out *ways)
{
    const struct block *b = &r->function->blocks[block];
    struct leads leads = ways_leads_of(&r->ways, block, loop);
    double each = r->share[block] / (double)(ways->on + ways->round);
    double all = ways_sum(&r->ways, block, loop, &leads);
    r->out->has_ways = r->out->has_ways || ways->on + ways->round > 1;
    for (size_t i = 0; i < b->edge_count; i++) {
        uint32_t to = b->edges[i].to;
        if (!ways_goes_on(&r->ways, &b->edges[i], loop))
            continue;
        meet(r->target, &r->until[to], &r->is_reached[to], &r->until[block]);
        r->share[to] +=
            all > 0 ? r->share[block] * ways_likelihood(&r->ways, b, &b->edges[i], &leads, loop) / all : each;
    }
}

static double sum_of_exits(const struct region *r, int32_t inner, int32_t loop)
{
    double sum = 0;
    for (uint32_t i = r->loops->exit_begin[inner]; i < r->loops->exit_begin[inner + 1]; i++) {
        const struct edge *edge = edge_at(r, i);
        if (ways_goes_on(&r->ways, edge, loop) || ways_goes_round(&r->ways, edge, loop))
            sum += ways_exit_weight(&r->ways, edge, r->times[inner].times[BOUND_EST]);
    }
    return sum;
}

/* Propagates along the exits of an inner loop; together they are taken once per entry. */
static void leave_loop(struct region *r, int32_t inner, uint32_t node, int32_t loop,
                       const struct ways_out *ways)
{
    double sum = sum_of_exits(r, inner, loop), each = 1 / (double)(ways->on + ways->round);
    r->out->has_ways = r->out->has_ways || ways->on + ways->round > 1;
    for (uint32_t i = r->loops->exit_begin[inner]; i < r->loops->exit_begin[inner + 1]; i++) {
        const struct edge *edge = edge_at(r, i);
        if (!ways_goes_on(&r->ways, edge, loop))
            continue;
        double weight = ways_exit_weight(&r->ways, edge, r->times[inner].times[BOUND_EST]);
        meet(r->target, &r->until[edge->to], &r->is_reached[edge->to], &r->until[node]);
        r->share[edge->to] += r->share[node] * (sum > 0 ? weight / sum : each);
    }
}

enum end { END_PROPER, END_DEAD, END_NONE };

/* Returns how a region ends at a node. A call that never returns ends in a dead end, or in a loop without an
 * exit. */
static enum end end_at(const struct region *r, uint32_t node, int32_t inner, int32_t loop,
                       const struct ways_out *ways)
{
    if (loop >= 0)
        return ways->round ? END_PROPER : END_NONE;
    if (ways->on)
        return END_NONE;
    return inner < 0 && !r->function->blocks[node].is_dead_end ? END_PROPER : END_DEAD;
}

static void keep_block(struct region *r, uint32_t block, const struct amounts *own)
{
    struct block_sum *kept = &r->out->blocks[block];
    kept->share = r->share[block];
    for (enum bound b = BOUND_LOW; b < BOUNDS; b++) {
        kept->cycles[b] = own->of[b].amount[COST_CYCLES];
        kept->joules[b] = amounts_joules(r->target, own, b);
    }
}

/* The last iteration of a loop, which may end before the other blocks of the body. */
struct last_round {
    size_t places; /* nodes with exits, except those to dead ends; the first one: */
    uint32_t first;
    bool goes_back;      /* it also has a back edge, so a last iteration that ends there is complete */
    struct amounts sum;  /* on the cheapest and the most expensive path to an exit */
    struct amounts rest; /* estimated work after the first exit in an iteration that continues */
};

/* Returns true if a node has an exit of the loop, except to dead ends. */
static bool leaves(const struct region *r, uint32_t node, int32_t inner, int32_t loop)
{
    uint32_t from = inner < 0 ? 0 : r->loops->list[inner].first,
             to = inner < 0 ? 1 : r->loops->list[inner].end;
    for (uint32_t i = from; i < to; i++) {
        const struct block *b = &r->function->blocks[inner < 0 ? node : r->loops->members[i]];
        for (size_t e = 0; e < b->edge_count; e++)
            if (!loop_has(r->loops, loop, b->edges[e].to) && !heat_is_dead(r->ways.heat[b->edges[e].to]))
                return true;
    }
    return false;
}

/* Nodes come in topological order, so the nodes after the exit follow it. */
static void note_last(const struct region *r, uint32_t node, int32_t inner, int32_t loop,
                      const struct amounts *own, struct last_round *last)
{
    const struct flow *flow = &r->loops->flow;
    const struct block *b = &r->function->blocks[node];
    double share[BOUNDS] = {0, r->share[node], 0};
    if (last->places && flow->tree_first[node] > flow->tree_first[last->first] &&
        flow->tree_last[node] <= flow->tree_last[last->first])
        amounts_add(&last->rest, share, own);
    if (!leaves(r, node, inner, loop))
        return;
    bool has_any = last->places > 0;
    meet(r->target, &last->sum, &has_any, &r->until[node]);
    if (last->places++)
        return;
    last->first = node;
    for (size_t e = 0; e < b->edge_count && inner < 0; e++)
        last->goes_back = last->goes_back || b->edges[e].to == r->loops->list[loop].header;
}

/* Adds all iterations of one entry. If a loop has one exit, its last iteration ends there. If it has several,
 * the last iteration has at least the work before the cheapest one. */
static void add_rounds(const struct amounts *round, const struct last_round *last,
                       const struct loop_times *times, struct amounts *out)
{
    bool is_whole = !last->places || (last->places == 1 && last->goes_back);
    double part[BOUNDS], rounds[BOUNDS], less[BOUNDS] = {0};
    for (enum bound b = BOUND_LOW; b < BOUNDS; b++) {
        bool is_part = !is_whole && (b == BOUND_LOW || (b == BOUND_HIGH && last->places == 1));
        part[b] = is_part ? fmin(times->times[b], 1) : 0;
        rounds[b] = times->times[b] - part[b];
    }
    if (!is_whole && last->places == 1)
        less[BOUND_EST] = -fmin(times->times[BOUND_EST], 1);
    amounts_add(out, rounds, round);
    amounts_add(out, part, &last->sum);
    amounts_add(out, less, &last->rest);
}

/* Sums one iteration of `loop` and describes its last one, or sums one call if it is -1. */
static struct amounts sum_region(struct region *r, int32_t loop, struct last_round *last)
{
    static const double bounds_only[BOUNDS] = {1, 0, 1};
    struct amounts whole = nothing, ends[END_NONE] = {nothing, nothing};
    bool has_end[END_NONE] = {false, false};
    uint32_t first = loop < 0 ? 0 : r->loops->list[loop].header;
    r->is_reached[first] = true;
    r->until[first] = nothing;
    r->share[first] = 1;
    for (uint32_t i = r->loops->node_begin[loop + 1]; i < r->loops->node_begin[loop + 2]; i++) {
        uint32_t block = r->loops->nodes[i];
        if (!r->is_reached[block])
            continue;
        int32_t inner = loop_at_node(r->loops, block, loop);
        struct amounts own = inner < 0 ? region_of_block(r, block) : r->out->loops[inner];
        if (inner >= 0)
            r->out->runs[inner].entries = r->share[block];
        double share[BOUNDS] = {0, r->share[block], 0};
        if (inner < 0)
            keep_block(r, block, &own);
        amounts_add(&whole, share, &own);
        amounts_add(&r->until[block], bounds_only, &own);
        if (loop >= 0)
            note_last(r, block, inner, loop, &own, last);
        struct ways_out ways = inner < 0 ? ways_of_block(r, block, loop) : ways_of_loop(r, inner, loop);
        if (inner < 0)
            leave_block(r, block, loop, &ways);
        else
            leave_loop(r, inner, block, loop, &ways);
        enum end end = end_at(r, block, inner, loop, &ways);
        if (end != END_NONE)
            meet(r->target, &ends[end], &has_end[end], &r->until[block]);
    }
    enum end end = has_end[END_PROPER] ? END_PROPER : END_DEAD;
    whole.of[BOUND_LOW] = ends[end].of[BOUND_LOW];
    whole.of[BOUND_HIGH] = ends[end].of[BOUND_HIGH];
    if (has_end[END_DEAD] && amounts_joules(r->target, &ends[END_DEAD], BOUND_HIGH) >
                                 amounts_joules(r->target, &whole, BOUND_HIGH))
        whole.of[BOUND_HIGH] =
            ends[END_DEAD].of[BOUND_HIGH]; /* a call that ends by longjmp() or exit() counts too */
    return whole;
}

/* Resets the nodes of a region; they belong to no other region. */
static void forget(struct region *r, int32_t loop)
{
    for (uint32_t i = r->loops->node_begin[loop + 1]; i < r->loops->node_begin[loop + 2]; i++) {
        r->is_reached[r->loops->nodes[i]] = false;
        r->share[r->loops->nodes[i]] = 0;
    }
}

/* Converts entries per iteration of the loop around to entries per call. */
static void sum_runs(struct region *r, const struct loop_times *times)
{
    for (size_t i = 0; i < r->loops->count; i++) { /* outer ones first */
        struct loop_runs *runs = &r->out->runs[i];
        int32_t around = r->loops->list[i].parent;
        runs->entries *= around < 0 ? 1 : r->out->runs[around].rounds;
        runs->rounds = runs->entries * times[i].times[BOUND_EST];
    }
}

/* Returns the micro-operations of a loop entry over which its recurrence restarts. Infinite if the loop ends
 * unpredictably or calls functions, because little of the work after it can then be overlapped. */
static double entry_uops(const struct region *r, size_t loop, const struct loop_times *times)
{
    double uops = 0;
    if (!r->function->blocks[r->loops->list[loop].header].begins_anew || region_ends_by_data(r, loop))
        return INFINITY;
    for (uint32_t i = r->loops->node_begin[loop + 1]; i < r->loops->node_begin[loop + 2]; i++) {
        const struct block *block = &r->function->blocks[r->loops->nodes[i]];
        if (block->call_count)
            return INFINITY;
        uops += sum_features(block).amount[COST_UOPS];
    }
    return uops * times->times[BOUND_EST];
}

static struct wide_order order_of(const struct region *r, size_t loop)
{
    struct wide_order order = {.streamed = NAN,
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
    ways_find_heat(&r->ways);
    for (size_t i = r->loops->count; i-- > 0;) { /* inner ones first */
        r->out->loops[i] = nothing;
        if (r->ways.closed && !r->ways.closed->is_reached[r->loops->list[i].header])
            continue;
        r->entry_uops = entry_uops(r, i, &times[i]);
        struct last_round last = {.sum = nothing, .rest = nothing};
        struct amounts round = sum_region(r, (int32_t)i, &last);
        struct wide_order order = order_of(r, i);
        wide_apply(r->target, r->loops, i, &times[i], &order, &round, r->out->loops);
        r->out->loops[i] = region_of_end(r, i, &times[i]);
        add_rounds(&round, &last, &times[i], &r->out->loops[i]);
        forget(r, (int32_t)i);
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
                          const struct sum_ways *ways, struct function_sum *out_sum)
{
    size_t count = function->block_count + 1;
    struct arena own = {0};
    *out_sum = (struct function_sum){.call = nothing,
                                     .blocks = arena_alloc(arena, count * sizeof *out_sum->blocks),
                                     .loops = arena_alloc(arena, (loops->count + 1) * sizeof *out_sum->loops),
                                     .runs = arena_alloc(arena, (loops->count + 1) * sizeof *out_sum->runs)};
    struct region r = {.arena = arena,
                       .function = function,
                       .loops = loops,
                       .memory = memory,
                       .target = target,
                       .callees = callees,
                       .times = times,
                       .ways = {function, loops, ways, arena_alloc(&own, count * sizeof *r.ways.heat)},
                       .out = out_sum,
                       .until = arena_alloc(&own, count * sizeof *r.until),
                       .share = arena_alloc(&own, count * sizeof *r.share),
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
