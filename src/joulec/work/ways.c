/* joulec/work/branch_probability.c - see branch_probability.h. */
#include "joulec/work/ways.h"

#include <math.h>

#define GUARDED 0.95 /* probability that a loop's guard is passed */
/* Probability that two values are equal (Ball and Larus 1993, Wu and Larus 1994: branch_prediction.c);
 * assumed also for two variables. */
#define EQUAL (1.0 / 6)
/* Weight of a cold successor relative to a normal one: the weight of the unlikely value of __builtin_expect
 * (LLVM's LowerExpectIntrinsic). */
#define COLD (1.0 / 2000)

bool ways_is_open(const struct ways *w, const struct edge *edge)
{
    return !w->closed || !w->closed->is_closed[edge->number];
}

bool ways_goes_round(const struct ways *w, const struct edge *edge, int32_t loop)
{
    return loop >= 0 && edge->to == w->loops->list[loop].header;
}

bool ways_goes_on(const struct ways *w, const struct edge *edge, int32_t loop)
{
    return ways_is_open(w, edge) && loop_has(w->loops, loop, edge->to) && !ways_goes_round(w, edge, loop);
}

/* Returns the inner loop that begins at the block or at one of its next single successors; -1: none. */
static int32_t loop_behind(const struct ways *w, uint32_t block, int32_t loop)
{
    for (int steps = 0; steps < 3; steps++) {
        int32_t inner = loop_at_node(w->loops, block, loop);
        if (inner >= 0 || w->function->blocks[block].edge_count != 1)
            return inner;
        block = w->function->blocks[block].edges[0].to;
    }
    return -1;
}

static bool leads_to_loop(const struct ways *w, uint32_t block, int32_t loop)
{
    return loop_behind(w, block, loop) >= 0;
}

/* Returns true if the probability is that of the loop's own branch. LLVM before 17 copies it to the guard of
 * a rotated loop, where it does not state how often the loop is entered. */
static bool is_of_loop(const struct ways *w, const struct edge *edge, int32_t loop)
{
    int32_t inner = loop_behind(w, edge->to, loop);
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

struct leads ways_leads_of(const struct ways *w, uint32_t block, int32_t loop)
{
    const struct block *b = &w->function->blocks[block];
    struct leads leads = {.is_told = true};
    for (size_t i = 0; i < b->edge_count && b->edge_count > 1 && !leads.has_others; i++) {
        if (!leads_to_loop(w, b->edges[i].to, loop))
            continue;
        leads.is_told = leads.is_told && !is_of_loop(w, &b->edges[i], loop);
        leads.has_others = leads.has_first && b->edges[i].to != leads.first;
        leads.first = leads.has_first ? leads.first : b->edges[i].to;
        leads.has_first = true;
    }
    return leads;
}

/* Returns 1 if the edge is taken for equal values, 0 for different ones, -1 if the branch does not test
 * equality. */
static int asks_equal(const struct block *b, const struct edge *edge)
{
    const struct condition *condition = &b->condition;
    if (b->question != QUESTION_EQUAL || b->edge_count != 2 || condition->count != 1 || condition->is_part)
        return -1;
    enum compare kind = condition->list[0].kind;
    bool is_first = edge == &b->edges[0];
    return kind == COMPARE_EQUAL ? is_first : kind == COMPARE_NOT_EQUAL ? !is_first : -1;
}

/* A test for equality is assumed not to be the guard of a loop. */
static double likelihood_by_question(const struct ways *w, const struct block *b, const struct edge *edge,
                                     const struct leads *leads, int32_t loop)
{
    bool to_loop = leads_to_loop(w, edge->to, loop);
    bool others = leads->has_others || (leads->has_first && leads->first != edge->to);
    int equal = asks_equal(b, edge);
    if (to_loop == others || equal == to_loop)
        return equal < 0 ? 0.5 : equal ? EQUAL : 1 - EQUAL;
    return to_loop ? GUARDED : 1 - GUARDED;
}

/* A hint does not make a path likely that ends the program. A profile in which it was taken does. */
double ways_likelihood(const struct ways *w, const struct block *b, const struct edge *edge,
                       const struct leads *leads, int32_t loop)
{
    bool is_told = !isnan(edge->probability) && leads->is_told, is_seen = !isnan(w->function->profiled_calls);
    if (heat_is_dead(w->heat[edge->to]) && !(is_told && is_seen))
        return 0;
    if (is_told)
        return edge->probability;
    double likelihood = likelihood_by_question(w, b, edge, leads, loop);
    return w->heat[edge->to] == HEAT_COLD ? COLD * likelihood : likelihood;
}

double ways_exit_weight(const struct ways *w, const struct edge *edge, double rounds)
{
    if (heat_is_dead(w->heat[edge->to]))
        return 0;
    if (!isnan(edge->probability))
        return fmin(edge->probability * fmax(rounds, 1), 1);
    return w->heat[edge->to] == HEAT_COLD ? COLD : 1;
}

double ways_sum(const struct ways *w, uint32_t block, int32_t loop, const struct leads *leads)
{
    const struct block *b = &w->function->blocks[block];
    double sum = 0;
    for (size_t i = 0; i < b->edge_count; i++)
        if (ways_goes_on(w, &b->edges[i], loop) || ways_goes_round(w, &b->edges[i], loop))
            sum += ways_likelihood(w, b, &b->edges[i], leads, loop);
    return sum;
}

void ways_find_heat(struct ways *w)
{
    cold_find(w->function, &w->loops->flow, w->closed ? w->closed->is_closed : NULL, w->heat);
}
