/* joulec/trips/loop_entry.c - see loop_entry.h.
 *
 * Note: each iteration of a region runs a block if the block dominates all ends of the region. For this test
 * only the first and the last end in the preorder of the dominator tree are needed.
 */
#include "joulec/trips/loop_entry.h"

#include <string.h>
#include "joulec/source/place.h"
#include "joulec/trips/linear.h"
#include "joulec/trips/loop_exits.h"
#include "joulec/trips/value_range.h"

#define MAX_CONDITIONS 4
#define MAX_STEPS      (1 << 24) /* of all walks in a function; guards of the remaining loops are unknown */

/* The first and the last end of a region's iterations, as preorder numbers in the dominator tree. */
struct ends {
    bool has_any;
    uint32_t first, last;
};

struct nest {
    struct arena *arena;
    const struct function *function;
    const struct loops *loops;
    struct ends *ends;               /* of each region, by loop + 1 */
    enum trips_last *last_iteration; /* by loop: whether the last iteration reaches the loops inside */
    const struct scev_function *facts;
    uint32_t *stack;
    uint32_t *mark; /* by block: number of the last walk that visited the block */
    uint32_t walk;  /* number of the current walk */
    uint64_t steps; /* total of all walks */
};

/* --- regions -------------------------------------------------------------------------------------------- */

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

/* Returns true if an iteration of `loop` (-1: a call of the function) can end without running the block
 * `without`. */
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

/* Returns true if the loop has an exit that a returning call can take. */
static bool has_live_exit(const struct nest *nest, int32_t number)
{
    const struct loop *loop = &nest->loops->list[number];
    for (uint32_t i = loop->first; i < loop->end; i++) {
        const struct block *b = &nest->function->blocks[nest->loops->members[i]];
        for (size_t e = 0; e < b->edge_count; e++)
            if (!loop_has(nest->loops, number, b->edges[e].to) &&
                loop_exit_is_live(nest->loops, &b->edges[e]))
                return true;
    }
    return false;
}

/* Finds the ends of the loop's iterations, and whether its exits are in its header, its latch or
 * elsewhere. */
static void find_loop_ends(const struct nest *nest, int32_t number)
{
    const struct loop *loop = &nest->loops->list[number];
    bool by_header = false, by_latch = false, by_other = false, has_live = has_live_exit(nest, number);
    for (uint32_t i = loop->first; i < loop->end; i++) {
        uint32_t block = nest->loops->members[i];
        const struct block *b = &nest->function->blocks[block];
        bool last_iteration = false, goes_back = false;
        for (size_t e = 0; e < b->edge_count; e++) {
            last_iteration = last_iteration || (!loop_has(nest->loops, number, b->edges[e].to) &&
                                                (!has_live || loop_exit_is_live(nest->loops, &b->edges[e])));
            goes_back = goes_back || b->edges[e].to == loop->header;
        }
        if (last_iteration || goes_back)
            add_end(nest, number, block);
        by_header = by_header || (last_iteration && block == loop->header && !goes_back);
        by_latch = by_latch || (last_iteration && goes_back);
        by_other = by_other || (last_iteration && !goes_back && block != loop->header);
    }
    bool is_either = by_other || (by_header && by_latch);
    nest->last_iteration[number] = is_either ? TRIPS_EITHER : by_header ? TRIPS_MISSED : TRIPS_REACHED;
}

static void find_function_ends(const struct nest *nest, bool is_dead_end)
{
    const struct flow *flow = &nest->loops->flow;
    for (size_t i = 0; i < flow->reached; i++) {
        const struct block *b = &nest->function->blocks[flow->order[i]];
        if (b->edge_count == 0 && b->is_dead_end == is_dead_end)
            add_end(nest, -1, flow->order[i]);
    }
}

/* Dead ends count only in a function that never returns. */
static void find_ends(const struct nest *nest)
{
    find_function_ends(nest, false);
    if (!nest->ends[0].has_any)
        find_function_ends(nest, true);
    for (size_t i = 0; i < nest->loops->count; i++)
        find_loop_ends(nest, (int32_t)i);
}

/* --- guards --------------------------------------------------------------------------------------------- */

/* The conditions under which a loop is entered. */
struct guard {
    struct linear taken[MAX_CONDITIONS]; /* the formula of each condition that ends the loop */
    size_t count;
    struct linear_assumptions assumptions;
};

static bool read_guard(const struct scev_loop *facts, struct guard *out)
{
    const struct expr *taken = facts->taken_guarded;
    *out = (struct guard){.count = facts->is_guard_ambiguous ? taken->count : 1};
    bool is_good = taken->kind != EXPR_UNKNOWN && out->count <= MAX_CONDITIONS;
    for (size_t i = 0; i < out->count && is_good; i++)
        is_good = linear_of_sign(facts->is_guard_ambiguous ? taken->operand[i] : taken, &out->taken[i]);
    return is_good && out->count;
}

/* Returns true if an edge is taken only where `goal` >= 0. Adds to *assumptions what must also hold. */
static bool edge_implies(const struct nest *nest, const struct block *block, size_t edge,
                         const struct linear *goal, struct linear_assumptions *assumptions)
{
    const struct condition *condition = &block->condition;
    struct expr left_storage, right_storage;
    bool is_inverse = edge == 1, is_each = condition->is_any == is_inverse || condition->count == 1;
    bool is_conditional = block->edge_count == 2 ? block->edges[0].to != block->edges[1].to : edge == 0;
    if (!is_conditional || !condition->count || (condition->is_part && is_inverse))
        return false;
    for (size_t i = 0; i < condition->count; i++) {
        const struct comparison *c = &condition->list[i];
        bool follows =
            linear_implies(c, is_inverse, operand_formula(nest->facts, &c->left, &left_storage),
                           operand_formula(nest->facts, &c->right, &right_storage), goal, assumptions);
        if (follows == is_each)
            return follows;
    }
    return !is_each;
}

/* Returns true if an edge is taken only where the loop's condition holds (has_passed), or only where the
 * condition does not hold. */
static bool edge_decides(const struct nest *nest, const struct block *block, size_t edge, struct guard *guard,
                         bool has_passed)
{
    for (size_t i = 0; i < guard->count; i++) {
        struct linear goal = {.constant = -1};
        if (has_passed)
            goal = guard->taken[i];
        else if (!linear_add(&goal, &guard->taken[i], -1))
            return false;
        if (edge_implies(nest, block, edge, &goal, &guard->assumptions))
            return true;
    }
    return false;
}

static bool is_dead_end(const struct nest *nest, uint32_t block)
{
    return nest->function->blocks[block].is_dead_end || nest->loops->heat[block] == HEAT_NEVER;
}

/* If has_passed: returns true if an iteration of `region` can reach `header` although the guard's condition
 * does not hold. Otherwise: returns true if an iteration can end without reaching `header` although the
 * condition holds. */
static bool can_bypass_guard(struct nest *nest, int32_t region, uint32_t header, struct guard *guard,
                             bool has_passed)
{
    uint32_t first = region < 0 ? 0 : nest->loops->list[region].header;
    size_t depth = 1;
    nest->walk++;
    nest->stack[0] = first;
    nest->mark[first] = nest->walk;
    while (depth) {
        const struct block *b = &nest->function->blocks[nest->stack[--depth]];
        if (!has_passed && region < 0 && b->edge_count == 0 && !b->is_dead_end)
            return true;
        for (size_t e = 0; e < b->edge_count; e++) {
            uint32_t to = b->edges[e].to;
            bool is_end = region >= 0 && (to == first || !loop_has(nest->loops, region, to));
            bool is_old = !is_end && (nest->mark[to] == nest->walk || (!has_passed && to == header));
            if (is_old || (is_end && (has_passed || is_dead_end(nest, to))) ||
                edge_decides(nest, b, e, guard, has_passed))
                continue;
            if (is_end || to == header || nest->steps++ > MAX_STEPS)
                return true;
            nest->mark[to] = nest->walk;
            nest->stack[depth++] = to;
        }
    }
    return false;
}

/* Follows blocks with a single successor. */
static uint32_t skip_forward(const struct nest *nest, uint32_t block)
{
    for (int steps = 0; steps < 4 && nest->function->blocks[block].edge_count == 1; steps++)
        block = nest->function->blocks[block].edges[0].to;
    return block;
}

/* Returns the last branch before a loop, if one of its edges leads to a block to which the loop exits; else
 * NULL. */
static const struct block *bypass_branch(const struct nest *nest, int32_t loop)
{
    const struct loops *loops = nest->loops;
    uint32_t block = loops->flow.dominator[loops->list[loop].header];
    for (int steps = 0; steps < 4 && nest->function->blocks[block].edge_count == 1; steps++)
        block = loops->flow.dominator[block];
    const struct block *b = &nest->function->blocks[block];
    if (b->edge_count != 2)
        return NULL;
    for (uint32_t i = loops->exit_begin[loop]; i < loops->exit_begin[loop + 1]; i++) {
        const struct loop_exit *exit = &loops->exits[i];
        uint32_t to = skip_forward(nest, nest->function->blocks[exit->block].edges[exit->edge].to);
        if (skip_forward(nest, b->edges[0].to) == to || skip_forward(nest, b->edges[1].to) == to)
            return b;
    }
    return NULL;
}

enum guard_owner { GUARD_OWN, GUARD_OTHER, GUARD_UNKNOWN };

/* Returns whether the branch `bypass` is the loop's first test or an `if` around the loop. The first test has
 * the same place in the source as the loop. If an `if` surrounds branch and loop, the loop is conditional in
 * any case. */
static enum guard_owner guard_owner_of(const struct nest *nest, const struct loop *loop,
                                       const struct block *bypass)
{
    if (ends_without(nest, loop->parent, (uint32_t)(bypass - nest->function->blocks)))
        return GUARD_OTHER;
    if (!loop->has_own_place || !bypass->branch_place.file)
        return GUARD_UNKNOWN;
    return source_place_order(&loop->place, &bypass->branch_place) == 0 ? GUARD_OWN : GUARD_OTHER;
}

/* --- loops ---------------------------------------------------------------------------------------------- */

static const struct linear_side *copy_sides(const struct nest *nest,
                                            const struct linear_assumptions *assumptions)
{
    size_t size = assumptions->side_count * sizeof *assumptions->sides;
    struct linear_side *sides = size ? arena_alloc(nest->arena, size) : NULL;
    return sides ? memcpy(sides, assumptions->sides, size) : NULL;
}

static void describe_entry(struct nest *nest, int32_t loop, struct trips_loop *out)
{
    int32_t parent = nest->loops->list[loop].parent;
    uint32_t header = nest->loops->list[loop].header;
    struct guard guard;
    out->entry = TRIPS_ALWAYS;
    if (!ends_without(nest, parent, header))
        return;
    bool has_formula = out->facts && out->facts->taken->kind != EXPR_UNKNOWN;
    const struct block *bypass = has_formula ? NULL : bypass_branch(nest, loop);
    enum guard_owner owner = bypass ? guard_owner_of(nest, &nest->loops->list[loop], bypass) : GUARD_OTHER;
    out->entry = owner == GUARD_OTHER ? TRIPS_SOMETIMES : TRIPS_GUARDED;
    out->may_be_passed_by = owner == GUARD_UNKNOWN;
    if (!has_formula || !read_guard(out->facts, &guard))
        return;
    bool is_one = guard.count == 1;
    out->is_behind_guard = is_one && !can_bypass_guard(nest, parent, header, &guard, true);
    if ((out->is_behind_guard || !is_one) && !can_bypass_guard(nest, parent, header, &guard, false))
        out->entry = TRIPS_GUARDED;
    out->is_equality_test = guard.assumptions.is_equality_test;
    out->compared_count = guard.assumptions.side_count;
    out->compared = copy_sides(nest, &guard.assumptions);
}

joule_status loop_entry_find(struct arena *arena, const struct function *function, const struct loops *loops,
                             struct scev_function *facts, struct trips_loop *out)
{
    struct nest nest = {arena,
                        function,
                        loops,
                        .ends = arena_alloc(arena, (loops->count + 1) * sizeof *nest.ends),
                        .last_iteration =
                            arena_alloc(arena, (loops->count + 1) * sizeof *nest.last_iteration),
                        .facts = facts,
                        .stack = arena_alloc(arena, (function->block_count + 1) * sizeof *nest.stack),
                        .mark = arena_alloc(arena, (function->block_count + 1) * sizeof *nest.mark)};
    if (!nest.ends || !nest.last_iteration || !nest.stack || !nest.mark)
        return JOULE_NO_MEMORY;
    find_ends(&nest);
    for (size_t i = 0; i < loops->count; i++) {
        const struct loop *loop = &loops->list[i];
        const struct scev_loop *known =
            facts ? scev_loop_of(facts, function->blocks[loop->header].name) : NULL;
        out[i] =
            (struct trips_loop){.parent = loop->parent < 0 ? TRIPS_NONE : (uint32_t)loop->parent,
                                .facts = known,
                                .last = loop->parent < 0 ? TRIPS_REACHED : nest.last_iteration[loop->parent]};
        loop_exits_judge(function, loops, (int32_t)i, facts, &out[i]);
        if (known && !out[i].facts)
            return JOULE_NO_MEMORY;
        describe_entry(&nest, (int32_t)i, &out[i]);
        if (out[i].compared_count && !out[i].compared)
            return JOULE_NO_MEMORY;
    }
    return JOULE_OK;
}

/* Returns true if another loop inside or around `loop` has the same mark, because LLVM has split one loop of
 * the source. Each part runs at most as often as the loop in the source. */
static bool shares_mark(const struct loops *loops, const uint32_t *mark_of, size_t loop)
{
    for (size_t i = 0; i < loops->count; i++)
        if (i != loop && mark_of[i] == mark_of[loop] &&
            (loop_is_within(loops, (int32_t)i, (int32_t)loop) ||
             loop_is_within(loops, (int32_t)loop, (int32_t)i)))
            return true;
    return false;
}

void loop_entry_annotate(const struct function *function, const struct loops *loops, const struct mark *marks,
                         const uint32_t *mark_of, struct trips_loop *out)
{
    for (size_t i = 0; i < loops->count; i++) {
        if (mark_of[i] == MARK_NONE)
            continue;
        const struct mark *mark = &marks[mark_of[i]];
        out[i].has_annotation = true;
        out[i].annotated_low = (double)mark->low;
        out[i].annotated_high = (double)mark->high + loop_is_top_tested(function, loops, (int32_t)i);
        if (shares_mark(loops, mark_of, i))
            out[i].annotated_low = mark->low > 0;
    }
}
