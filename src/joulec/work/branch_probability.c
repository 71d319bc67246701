/* joulec/work/branch_probability.c - see branch_probability.h. */
#include "joulec/work/branch_probability.h"

#include <math.h>

#define GUARD_PROBABILITY 0.95 /* probability that a loop's guard is passed */
/* Probability that two values are equal (Ball and Larus 1993, Wu and Larus 1994: branch_prediction.c);
 * assumed also for two variables. */
#define EQUAL_PROBABILITY (1.0 / 6)
/* Weight of a cold successor relative to a normal one: the weight of the unlikely value of __builtin_expect
 * (LLVM's LowerExpectIntrinsic). */
#define COLD_WEIGHT (1.0 / 2000)

static bool is_feasible(const struct branch_probabilities *w, const struct edge *edge)
{
    return !w->context || !w->context->is_infeasible[edge->number];
}

bool branch_is_back_edge(const struct branch_probabilities *w, const struct edge *edge, int32_t loop)
{
    return loop >= 0 && edge->to == w->loops->list[loop].header;
}

bool branch_is_forward(const struct branch_probabilities *w, const struct edge *edge, int32_t loop)
{
    return is_feasible(w, edge) && loop_has(w->loops, loop, edge->to) && !branch_is_back_edge(w, edge, loop);
}

/* Returns the inner loop whose header is `block`, or one of the next two blocks if no branch precedes them;
 * -1: none. */
static int32_t loop_after(const struct branch_probabilities *w, uint32_t block, int32_t loop)
{
    for (int steps = 0; steps < 3; steps++) {
        int32_t inner = loop_at_node(w->loops, block, loop);
        if (inner >= 0 || w->function->blocks[block].edge_count != 1)
            return inner;
        block = w->function->blocks[block].edges[0].to;
    }
    return -1;
}

static bool leads_to_loop(const struct branch_probabilities *w, uint32_t block, int32_t loop)
{
    return loop_after(w, block, loop) >= 0;
}

/* Returns true if the edge has the probability of the loop's own branch. LLVM before 17 copies that
 * probability to the guard of a rotated loop, although it does not state how often the loop is entered. */
static bool is_copied_from_loop(const struct branch_probabilities *w, const struct edge *edge, int32_t loop)
{
    int32_t inner = loop_after(w, edge->to, loop);
    if (inner < 0 || isnan(edge->probability))
        return false;
    for (uint32_t i = w->loops->exit_begin[inner]; i < w->loops->exit_begin[inner + 1]; i++) {
        const struct block *b = &w->function->blocks[w->loops->exits[i].block];
        for (size_t e = 0; e < b->edge_count; e++)
            if (b->edges[e].to == w->loops->list[inner].header &&
                fabs(b->edges[e].probability - edge->probability) < 1e-12)
                return true;
    }
    return false;
}

struct loop_successors branch_loop_successors(const struct branch_probabilities *w, uint32_t block,
                                              int32_t loop)
{
    const struct block *b = &w->function->blocks[block];
    struct loop_successors loop_successors = {.has_probabilities = true};
    for (size_t i = 0; i < b->edge_count && b->edge_count > 1 && !loop_successors.has_others; i++) {
        if (!leads_to_loop(w, b->edges[i].to, loop))
            continue;
        loop_successors.has_probabilities =
            loop_successors.has_probabilities && !is_copied_from_loop(w, &b->edges[i], loop);
        loop_successors.has_others = loop_successors.has_first && b->edges[i].to != loop_successors.first;
        loop_successors.first = loop_successors.has_first ? loop_successors.first : b->edges[i].to;
        loop_successors.has_first = true;
    }
    return loop_successors;
}

/* Returns 1 if the edge is taken for equal values, 0 for different ones, -1 if the branch does not test
 * equality. */
static int tests_equality(const struct block *b, const struct edge *edge)
{
    const struct condition *condition = &b->condition;
    if (b->branch_test != BRANCH_TEST_EQUAL || b->edge_count != 2 || condition->count != 1 ||
        condition->is_part)
        return -1;
    enum compare kind = condition->list[0].kind;
    bool is_first = edge == &b->edges[0];
    return kind == COMPARE_EQ ? is_first : kind == COMPARE_NE ? !is_first : -1;
}

/* Returns the assumed probability of an edge. A test for equality is assumed not to be the guard of a
 * loop. */
static double default_probability(const struct branch_probabilities *w, const struct block *b,
                                  const struct edge *edge, const struct loop_successors *loop_successors,
                                  int32_t loop)
{
    bool to_loop = leads_to_loop(w, edge->to, loop);
    bool others =
        loop_successors->has_others || (loop_successors->has_first && loop_successors->first != edge->to);
    int equal = tests_equality(b, edge);
    if (to_loop == others || equal == to_loop)
        return equal < 0 ? 0.5 : equal ? EQUAL_PROBABILITY : 1 - EQUAL_PROBABILITY;
    return to_loop ? GUARD_PROBABILITY : 1 - GUARD_PROBABILITY;
}

/* The probability of a path that ends the program is 0, even with a hint of __builtin_expect. Only a profile
 * changes it. */
double branch_edge_probability(const struct branch_probabilities *w, const struct block *b,
                               const struct edge *edge, const struct loop_successors *loop_successors,
                               int32_t loop)
{
    bool has_probabilities = !isnan(edge->probability) && loop_successors->has_probabilities,
         is_profiled = !isnan(w->function->profiled_calls);
    if (heat_is_dead(w->heat[edge->to]) && !(has_probabilities && is_profiled))
        return 0;
    if (has_probabilities)
        return edge->probability;
    double probability = default_probability(w, b, edge, loop_successors, loop);
    return w->heat[edge->to] == HEAT_COLD ? COLD_WEIGHT * probability : probability;
}

double branch_exit_weight(const struct branch_probabilities *w, const struct edge *edge, double iterations)
{
    if (heat_is_dead(w->heat[edge->to]))
        return 0;
    if (!isnan(edge->probability))
        return fmin(edge->probability * fmax(iterations, 1), 1);
    return w->heat[edge->to] == HEAT_COLD ? COLD_WEIGHT : 1;
}

double branch_probability_sum(const struct branch_probabilities *w, uint32_t block, int32_t loop,
                              const struct loop_successors *loop_successors)
{
    const struct block *b = &w->function->blocks[block];
    double sum = 0;
    for (size_t i = 0; i < b->edge_count; i++)
        if (branch_is_forward(w, &b->edges[i], loop) || branch_is_back_edge(w, &b->edges[i], loop))
            sum += branch_edge_probability(w, b, &b->edges[i], loop_successors, loop);
    return sum;
}

void branch_find_heat(struct branch_probabilities *w)
{
    cold_find(w->function, &w->loops->flow, w->context ? w->context->is_infeasible : NULL, w->heat);
}
