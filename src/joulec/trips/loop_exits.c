/* joulec/trips/loop_exits.c - see loop_exits.h. */
#include "joulec/trips/loop_exits.h"

#include <math.h>
#include <string.h>

#define MAX_EXITS 16
#define RARE      0.01 /* maximum probability at which hints at exits from inner loops are used */
/* Probability that __builtin_expect gives to the unexpected value (LLVM's LowerExpectIntrinsic). The hint
 * means "hardly ever"; it is no estimate of a number of iterations. */
#define HARDLY_EVER (1.0 / 2001)
#define MAX_HINTS   8

enum exit_kind {
    EXIT_NONE,   /* the edge stays in the loop */
    EXIT_NEVER,  /* no call that returns takes the exit */
    EXIT_EARLY,  /* dead, cold, or unlikely by a hint */
    EXIT_REGULAR /* the exit that the loop is written for */
};

struct exits {
    const struct function *function;
    const struct loops *loops;
    int32_t loop;
    double probability;    /* probability of an early exit in one iteration */
    bool has_other_bounds; /* LLVM's bound over all exits may come from an exit that is not regular */
    size_t count[EXIT_REGULAR + 1];
};

/* Returns true if the probability comes from __builtin_expect: from one hint, or from several hints that LLVM
 * combined into one branch. */
static bool is_hardly_ever(double probability)
{
    double none = 1;
    for (int hints = 1; hints <= MAX_HINTS; hints++) {
        none *= 1 - HARDLY_EVER;
        if (fabs(1 - none - probability) < 2e-7)
            return true;
    }
    return false;
}

/* Returns the probability, from hints, that a block leaves the loop. NaN: there is no hint, the function has
 * a profile, or the block is in an inner loop and the exit is not rare. */
static double hinted_probability(const struct exits *x, uint32_t block)
{
    const struct block *b = &x->function->blocks[block];
    double sum = 0;
    for (size_t e = 0; e < b->edge_count; e++)
        if (!loop_has(x->loops, x->loop, b->edges[e].to))
            sum += b->edges[e].probability;
    bool is_of_iteration = x->loops->innermost[block] == x->loop || sum <= RARE;
    if (is_hardly_ever(sum))
        sum = 0;
    return is_of_iteration && isnan(x->function->profiled_calls) ? sum : NAN;
}

static enum exit_kind kind_of_edge(const struct exits *x, const struct edge *edge, bool is_counted)
{
    enum heat heat = x->loops->heat[edge->to];
    if (loop_has(x->loops, x->loop, edge->to))
        return EXIT_NONE;
    if (heat == HEAT_NEVER)
        return EXIT_NEVER;
    return heat == HEAT_DEAD || (heat == HEAT_COLD && !is_counted) ? EXIT_EARLY : EXIT_REGULAR;
}

/* is_counted: scalar evolution knows the iteration in which the block leaves the loop, so hints are
 * ignored. */
static enum exit_kind kind_of_block(const struct exits *x, uint32_t block, bool is_counted)
{
    const struct block *b = &x->function->blocks[block];
    enum exit_kind kind = EXIT_NONE;
    for (size_t e = 0; e < b->edge_count; e++) {
        enum exit_kind one = kind_of_edge(x, &b->edges[e], is_counted);
        kind = one > kind ? one : kind;
    }
    bool is_hinted = kind == EXIT_REGULAR && !is_counted && !isnan(hinted_probability(x, block));
    return is_hinted ? EXIT_EARLY : kind;
}

/* Returns the index of a block in LLVM's list of exits; exit_count: none. */
static size_t exit_of(const struct scev_loop *facts, const char *block)
{
    size_t i = 0;
    while (i < facts->exit_count && strcmp(facts->exits[i].block, block) != 0)
        i++;
    return i;
}

/* Counts the loop's exits by kind. Sets is_left_out of each exit in `facts` that does not determine the
 * loop's count. */
static void judge_blocks(struct exits *x, const struct scev_loop *facts, bool is_left_out[MAX_EXITS])
{
    const struct loop *loop = &x->loops->list[x->loop];
    bool is_only = facts && !facts->exit_count && facts->taken->kind != EXPR_UNKNOWN;
    for (uint32_t i = loop->first; i < loop->end; i++) {
        uint32_t block = x->loops->members[i];
        if (!loop_is_left_from(x->loops, x->loop, &x->function->blocks[block]))
            continue;
        size_t at = facts ? exit_of(facts, x->function->blocks[block].name) : 0;
        bool is_listed = facts && at < facts->exit_count && at < MAX_EXITS;
        bool is_counted = is_only || (is_listed && facts->exits[at].taken->kind != EXPR_UNKNOWN);
        enum exit_kind kind = kind_of_block(x, block, is_counted);
        double hinted = kind == EXIT_EARLY ? hinted_probability(x, block) : NAN;
        x->count[kind]++;
        x->probability += isnan(hinted) ? 0 : hinted;
        bool is_regular = kind == EXIT_NONE || kind == EXIT_REGULAR;
        x->has_other_bounds =
            x->has_other_bounds || (!is_regular && (is_counted || !x->function->blocks[block].is_by_data));
        if (is_listed)
            is_left_out[at] = kind == EXIT_NEVER || kind == EXIT_EARLY;
    }
}

void loop_exits_judge(const struct function *function, const struct loops *loops, int32_t loop,
                      struct scev_function *facts, struct trips_loop *out)
{
    struct exits x = {.function = function, .loops = loops, .loop = loop};
    bool is_left_out[MAX_EXITS] = {false}, leaves_any_out = false;
    judge_blocks(&x, out->facts, is_left_out);
    out->may_leave_early = x.count[EXIT_EARLY];
    out->early_probability = fmin(x.probability, 1);
    out->has_dead_exits = x.has_other_bounds && x.count[EXIT_REGULAR];
    for (size_t i = 0; out->facts && i < out->facts->exit_count && i < MAX_EXITS; i++)
        leaves_any_out = leaves_any_out || is_left_out[i];
    if (!leaves_any_out || !x.count[EXIT_REGULAR] || out->facts->exit_count > MAX_EXITS)
        return;
    struct scev_loop *live = arena_alloc(&facts->pool.arena, sizeof *live);
    if (live)
        *live = scev_loop_without(&facts->pool, out->facts, is_left_out);
    out->facts = live;
}
