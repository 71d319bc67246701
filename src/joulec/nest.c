/* joulec/nest.c - see nest.h. */
#include "joulec/nest.h"

#include <string.h>

struct nest {
    const struct function *function;
    const struct loops *loops;
    uint32_t *stack;
    uint32_t *mark; /* of each block: the last walk that came by */
    uint32_t walk;
};

static bool is_in(const struct nest *nest, uint32_t block, int32_t loop)
{
    return loop_is_within(nest->loops, nest->loops->innermost[block], loop);
}

/* Where the region of a loop, or of the function, begins. */
static uint32_t first_of(const struct nest *nest, int32_t loop)
{
    return loop < 0 ? 0 : nest->loops->list[loop].header;
}

static bool is_end_of_region(const struct nest *nest, uint32_t block, int32_t loop)
{
    const struct block *b = &nest->function->blocks[block];
    if (loop < 0)
        return b->edge_count == 0 && !b->is_dead_end;
    for (size_t i = 0; i < b->edge_count; i++)
        if (b->edges[i].to == nest->loops->list[loop].header || !is_in(nest, b->edges[i].to, loop))
            return true;
    return false;
}

/* Whether a round of `loop` can come to its end without `without`. */
static bool ends_without(struct nest *nest, int32_t loop, uint32_t without)
{
    uint32_t first = first_of(nest, loop);
    size_t depth = 0;
    nest->walk++;
    if (first != without)
        nest->stack[depth++] = first;
    nest->mark[first] = nest->walk;
    while (depth) {
        uint32_t block = nest->stack[--depth];
        const struct block *b = &nest->function->blocks[block];
        if (is_end_of_region(nest, block, loop))
            return true;
        for (size_t i = 0; i < b->edge_count; i++) {
            uint32_t to = b->edges[i].to;
            if (to == without || nest->mark[to] == nest->walk || !is_in(nest, to, loop))
                continue;
            nest->mark[to] = nest->walk;
            nest->stack[depth++] = to;
        }
    }
    return false;
}

/* Blocks that do no more than lead on. */
static uint32_t skip_forward(const struct nest *nest, uint32_t block)
{
    for (int steps = 0; steps < 4 && nest->function->blocks[block].edge_count == 1; steps++)
        block = nest->function->blocks[block].edges[0].to;
    return block;
}

static bool is_exit_of(const struct nest *nest, uint32_t target, int32_t loop)
{
    for (size_t i = 0; i < nest->loops->reached; i++) {
        uint32_t block = nest->loops->order[i];
        const struct block *b = &nest->function->blocks[block];
        for (size_t e = 0; is_in(nest, block, loop) && e < b->edge_count; e++)
            if (!is_in(nest, b->edges[e].to, loop) &&
                (b->edges[e].to == target ||
                 skip_forward(nest, b->edges[e].to) == skip_forward(nest, target)))
                return true;
    }
    return false;
}

/* The branch that leads to the loop or past it; UINT32_MAX: there is none such. */
static uint32_t guard_of(const struct nest *nest, int32_t loop)
{
    uint32_t header = nest->loops->list[loop].header;
    for (size_t i = 0; i < nest->loops->reached; i++) {
        uint32_t block = nest->loops->order[i];
        const struct block *b = &nest->function->blocks[block];
        if (b->edge_count != 2 || is_in(nest, block, loop))
            continue;
        for (int e = 0; e < 2; e++) {
            uint32_t to = b->edges[e].to, other = b->edges[1 - e].to;
            bool leads = to == header || (nest->function->blocks[to].edge_count == 1 &&
                                          nest->function->blocks[to].edges[0].to == header);
            if (leads && is_exit_of(nest, other, loop))
                return block;
        }
    }
    return UINT32_MAX;
}

static enum trips_entry entry_of(struct nest *nest, int32_t loop, const struct scev_loop *facts)
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

static enum trips_last last_of(struct nest *nest, int32_t loop)
{
    int32_t parent = nest->loops->list[loop].parent;
    if (parent < 0)
        return TRIPS_REACHED;
    uint32_t header = nest->loops->list[parent].header;
    bool by_header = false, by_latch = false, by_other = false;
    for (size_t i = 0; i < nest->loops->reached; i++) {
        uint32_t block = nest->loops->order[i];
        const struct block *b = &nest->function->blocks[block];
        bool leaves = false, goes_back = false;
        if (!is_in(nest, block, parent))
            continue;
        for (size_t e = 0; e < b->edge_count; e++) {
            leaves = leaves || !is_in(nest, b->edges[e].to, parent);
            goes_back = goes_back || b->edges[e].to == header;
        }
        by_header = by_header || (leaves && block == header && !goes_back);
        by_latch = by_latch || (leaves && goes_back);
        by_other = by_other || (leaves && !goes_back && block != header);
    }
    if (by_other || (by_header && by_latch))
        return TRIPS_EITHER;
    return by_header ? TRIPS_MISSED : TRIPS_REACHED;
}

joule_status nest_describe(struct arena *arena, const struct function *function, const struct loops *loops,
                           const struct scev_function *facts, struct trips_loop *out)
{
    struct nest nest = {function, loops,
                        .stack = arena_alloc(arena, (function->block_count + 1) * sizeof *nest.stack),
                        .mark = arena_alloc(arena, (function->block_count + 1) * sizeof *nest.mark)};
    if (!nest.stack || !nest.mark)
        return JOULE_NO_MEMORY;
    for (size_t i = 0; i < loops->count; i++) {
        const struct loop *loop = &loops->list[i];
        const struct scev_loop *known =
            facts ? scev_loop_of(facts, function->blocks[loop->header].name) : NULL;
        out[i] = (struct trips_loop){.parent = loop->parent < 0 ? TRIPS_NONE : (uint32_t)loop->parent,
                                     .facts = known,
                                     .entry = entry_of(&nest, (int32_t)i, known),
                                     .last = last_of(&nest, (int32_t)i)};
    }
    return JOULE_OK;
}
