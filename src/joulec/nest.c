/* joulec/nest.c - see nest.h.
 *
 * Newcomers: whether a region can be gone through without a block is asked of its ends: it cannot where that block dominates them
 * all. So it is enough to know, for each region, the first and the last of its ends in the tree of dominators.
 */
#include "joulec/nest.h"

#include <string.h>

/* Where rounds of a region end, by places in the tree of dominators. */
struct ends {
    bool has_any;
    uint32_t first, last;
};

struct nest {
    const struct function *function;
    const struct loops *loops;
    struct ends *ends;       /* of each region, by loop + 1 */
    enum trips_last *leaves; /* of each loop: what its exits mean for those inside */
    uint32_t *exit_of;       /* of each block: the last loop, + 1, that was found to lead there */
};

/* --- regions ------------------------------------------------------------------------------------------------ */

static void add_end(const struct nest *nest, int32_t loop, uint32_t block)
{
    struct ends *ends = &nest->ends[loop + 1];
    uint32_t place = nest->loops->flow.tree_first[block];
    if (!ends->has_any || place < ends->first)
        ends->first = place;
    if (!ends->has_any || place > ends->last)
        ends->last = place;
    ends->has_any = true;
}

/* Whether a round of `loop`, or a call where it is -1, can come to its end without `without`. */
static bool ends_without(const struct nest *nest, int32_t loop, uint32_t without)
{
    const struct flow *flow = &nest->loops->flow;
    const struct ends *ends = &nest->ends[loop + 1];
    uint32_t begin = loop < 0 ? 0 : nest->loops->list[loop].header;
    if (!ends->has_any || begin == without)
        return false;
    return !loop_has(nest->loops, loop, without) || ends->first < flow->tree_first[without] ||
           ends->last > flow->tree_last[without];
}

/* Where a round of this loop ends, and by which kind of block. */
static void look_at_loop(const struct nest *nest, int32_t number)
{
    const struct loop *loop = &nest->loops->list[number];
    bool by_header = false, by_latch = false, by_other = false;
    for (uint32_t i = loop->first; i < loop->end; i++) {
        uint32_t block = nest->loops->members[i];
        const struct block *b = &nest->function->blocks[block];
        bool leaves = false, goes_back = false;
        for (size_t e = 0; e < b->edge_count; e++) {
            leaves = leaves || !loop_has(nest->loops, number, b->edges[e].to);
            goes_back = goes_back || b->edges[e].to == loop->header;
        }
        if (leaves || goes_back)
            add_end(nest, number, block);
        by_header = by_header || (leaves && block == loop->header && !goes_back);
        by_latch = by_latch || (leaves && goes_back);
        by_other = by_other || (leaves && !goes_back && block != loop->header);
    }
    bool is_either = by_other || (by_header && by_latch);
    nest->leaves[number] = is_either ? TRIPS_EITHER : by_header ? TRIPS_MISSED : TRIPS_REACHED;
}

static void look_at_regions(const struct nest *nest)
{
    const struct flow *flow = &nest->loops->flow;
    for (size_t i = 0; i < flow->reached; i++) {
        const struct block *b = &nest->function->blocks[flow->order[i]];
        if (b->edge_count == 0 && !b->is_dead_end)
            add_end(nest, -1, flow->order[i]);
    }
    for (size_t i = 0; i < nest->loops->count; i++)
        look_at_loop(nest, (int32_t)i);
}

/* --- guards ------------------------------------------------------------------------------------------------- */

/* Blocks that do no more than lead on. */
static uint32_t skip_forward(const struct nest *nest, uint32_t block)
{
    for (int steps = 0; steps < 4 && nest->function->blocks[block].edge_count == 1; steps++)
        block = nest->function->blocks[block].edges[0].to;
    return block;
}

/* Marks all to which a loop leads when it is left. */
static void mark_exits(const struct nest *nest, int32_t number)
{
    const struct loop *loop = &nest->loops->list[number];
    for (uint32_t i = loop->first; i < loop->end; i++) {
        const struct block *b = &nest->function->blocks[nest->loops->members[i]];
        for (size_t e = 0; e < b->edge_count; e++)
            if (!loop_has(nest->loops, number, b->edges[e].to)) {
                nest->exit_of[b->edges[e].to] = (uint32_t)number + 1;
                nest->exit_of[skip_forward(nest, b->edges[e].to)] = (uint32_t)number + 1;
            }
    }
}

/* A branch that leads to `to`, and past the loop. */
static bool is_guard(const struct nest *nest, uint32_t block, uint32_t to, int32_t loop)
{
    const struct block *b = &nest->function->blocks[block];
    if (nest->loops->flow.rank[block] == FLOW_NONE || b->edge_count != 2 ||
        loop_has(nest->loops, loop, block))
        return false;
    for (int e = 0; e < 2; e++) {
        uint32_t other = b->edges[1 - e].to;
        if (b->edges[e].to == to && (nest->exit_of[other] == (uint32_t)loop + 1 ||
                                     nest->exit_of[skip_forward(nest, other)] == (uint32_t)loop + 1))
            return true;
    }
    return false;
}

/* The first guard among the blocks before `to`, or `than` where that is an earlier one. */
static uint32_t guard_before(const struct nest *nest, uint32_t to, int32_t loop, uint32_t than)
{
    const struct flow *flow = &nest->loops->flow;
    for (uint32_t k = flow->before_begin[to]; k < flow->before_begin[to + 1]; k++) {
        uint32_t block = flow->before[k];
        if (is_guard(nest, block, to, loop) && (than == UINT32_MAX || flow->rank[block] < flow->rank[than]))
            than = block;
    }
    return than;
}

/* The branch that leads to the loop or past it; UINT32_MAX: there is none such. */
static uint32_t guard_of(const struct nest *nest, int32_t loop)
{
    const struct flow *flow = &nest->loops->flow;
    uint32_t header = nest->loops->list[loop].header;
    mark_exits(nest, loop);
    uint32_t guard = guard_before(nest, header, loop, UINT32_MAX);
    for (uint32_t k = flow->before_begin[header]; k < flow->before_begin[header + 1]; k++)
        if (nest->function->blocks[flow->before[k]].edge_count == 1)
            guard = guard_before(nest, flow->before[k], loop, guard);
    return guard;
}

/* --- loops -------------------------------------------------------------------------------------------------- */

static enum trips_entry entry_of(const struct nest *nest, int32_t loop, const struct scev_loop *facts)
{
    int32_t parent = nest->loops->list[loop].parent;
    if (!ends_without(nest, parent, nest->loops->list[loop].header))
        return TRIPS_ALWAYS;
    uint32_t guard = guard_of(nest, loop);
    bool is_constant =
        facts && facts->taken && facts->taken->kind == EXPR_INTEGER; /* its guard would have gone */
    if (guard == UINT32_MAX || is_constant || ends_without(nest, parent, guard))
        return TRIPS_SOMETIMES;
    return TRIPS_GUARDED;
}

joule_status nest_describe(struct arena *arena, const struct function *function, const struct loops *loops,
                           const struct scev_function *facts, struct trips_loop *out)
{
    struct nest nest = {function, loops, .ends = arena_alloc(arena, (loops->count + 1) * sizeof *nest.ends),
                        .leaves = arena_alloc(arena, (loops->count + 1) * sizeof *nest.leaves),
                        .exit_of = arena_alloc(arena, (function->block_count + 1) * sizeof *nest.exit_of)};
    if (!nest.ends || !nest.leaves || !nest.exit_of)
        return JOULE_NO_MEMORY;
    look_at_regions(&nest);
    for (size_t i = 0; i < loops->count; i++) {
        const struct loop *loop = &loops->list[i];
        const struct scev_loop *known =
            facts ? scev_loop_of(facts, function->blocks[loop->header].name) : NULL;
        out[i] = (struct trips_loop){.parent = loop->parent < 0 ? TRIPS_NONE : (uint32_t)loop->parent,
                                     .facts = known,
                                     .entry = entry_of(&nest, (int32_t)i, known),
                                     .last = loop->parent < 0 ? TRIPS_REACHED : nest.leaves[loop->parent]};
    }
    return JOULE_OK;
}

/* The header runs once more than the body where the loop is left from there. */
static bool is_top_tested(const struct function *function, const struct loops *loops, int32_t loop)
{
    uint32_t header = loops->list[loop].header;
    const struct block *b = &function->blocks[header];
    bool leaves = false, goes_back = false;
    for (size_t i = 0; i < b->edge_count; i++) {
        leaves = leaves || !loop_has(loops, loop, b->edges[i].to);
        goes_back = goes_back || b->edges[i].to == header;
    }
    return leaves && !goes_back;
}

/* Of what LLVM made two loops, one in the other, each runs no more often than the one in the source. */
static bool shares_mark(const struct loops *loops, const uint32_t *mark_of, size_t loop)
{
    for (size_t i = 0; i < loops->count; i++)
        if (i != loop && mark_of[i] == mark_of[loop] &&
            (loop_is_within(loops, (int32_t)i, (int32_t)loop) ||
             loop_is_within(loops, (int32_t)loop, (int32_t)i)))
            return true;
    return false;
}

void nest_annotate(const struct function *function, const struct loops *loops, const struct mark *marks,
                   const uint32_t *mark_of, struct trips_loop *out)
{
    for (size_t i = 0; i < loops->count; i++) {
        if (mark_of[i] == MARK_NONE)
            continue;
        const struct mark *mark = &marks[mark_of[i]];
        out[i].has_annotation = true;
        out[i].annotated_low = (double)mark->low;
        out[i].annotated_high = (double)mark->high + is_top_tested(function, loops, (int32_t)i);
        if (shares_mark(loops, mark_of, i))
            out[i].annotated_low = mark->low > 0;
    }
}
