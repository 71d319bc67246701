/* compiler/place_choice.c - see place_choice.h.
 *
 * The search begins with all parts on one place. An expansion lets any set of parts move to one place at the
 * same time; the best set is a minimum cut (Boykov, Veksler and Zabih, "Fast Approximate Energy Minimization
 * via Graph Cuts", IEEE TPAMI 23, 2001). For two places this finds the best choice, if each value has one
 * reader. A transfer that several readers share has no exact cost in a cut: each reader counts once with the
 * whole cost and once with its part of it. The better result is improved part by part with exact costs. For
 * the product of joules and seconds, which is no sum, sums of both with several weights are minimised. */
#include "forge/compiler/place_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "forge/compiler/min_cut.h"
#include "forge/compiler/schedule.h"

/* Limits: rounds of a search, and steps of moves of single parts. */
enum { MAX_ROUNDS = 20 };
#define MAX_WORK 200e6

struct choice {
    const struct place_problem *problem;
    double per_second, per_joule; /* weights of the sum that is minimised */
    const uint32_t *readers;      /* [value_count]: by which the costs of transfers are divided; NULL: by 1 */
    double largest;               /* more than all finite costs together */
    uint8_t *places, *scratch;
    bool *moves;
};

static double weigh(const struct choice *c, struct place_cost cost)
{
    double sum = c->per_second * cost.seconds + c->per_joule * cost.joules;
    return sum < c->largest ? sum : c->largest;
}

static struct place_cost transfer_cost(const struct place_problem *p, uint32_t from, uint32_t to,
                                       double bytes)
{
    const struct place_cost *start = &p->start[from][to], *per_byte = &p->per_byte[from][to];
    return (struct place_cost){start->seconds + bytes * per_byte->seconds,
                               start->joules + bytes * per_byte->joules};
}

struct place_sum place_sum_of(const struct place_problem *p, const uint8_t *places, uint8_t *scratch)
{
    struct place_sum sum = {0};
    memset(scratch, 0, p->value_count);
    for (size_t i = 0; i < p->part_count; i++) {
        const struct place_cost *cost = &p->costs[i * p->place_count + places[i]];
        sum.cost.seconds += cost->seconds;
        sum.cost.joules += cost->joules;
    }
    for (size_t e = 0; e < p->edge_count; e++) {
        const struct place_edge *edge = &p->edges[e];
        uint8_t from = places[edge->from], to = places[edge->to], bit = (uint8_t)(1u << to);
        struct place_cost cost = transfer_cost(p, from, to, p->bytes[edge->value]);
        if (cost.seconds == 0 || (scratch[edge->value] & bit))
            continue;
        scratch[edge->value] |= bit;
        sum.cost.seconds += cost.seconds;
        sum.cost.joules += cost.joules;
        sum.transfers++;
        sum.transfer_bytes += p->bytes[edge->value];
    }
    return sum;
}

double place_score(const struct place_problem *problem, struct place_cost cost)
{
    return schedule_score(problem->objective,
                          &(struct schedule_cost){.seconds = cost.seconds, .joules = cost.joules});
}

/* Adds the costs of an edge: stay, if both parts stay; and if one of them moves. If both move, it costs
 * nothing. */
static void add_edge(const struct choice *c, struct min_cut *cut, const struct place_edge *edge,
                     uint8_t place)
{
    const struct place_problem *p = c->problem;
    uint8_t from = c->places[edge->from], to = c->places[edge->to];
    double bytes = p->bytes[edge->value], part = c->readers ? 1. / c->readers[edge->value] : 1;
    double stay = part * weigh(c, transfer_cost(p, from, to, bytes));
    double first = part * weigh(c, transfer_cost(p, place, to, bytes));
    double second = part * weigh(c, transfer_cost(p, from, place, bytes));
    if (edge->from == edge->to)
        return;
    min_cut_add(cut, edge->from, 0, first - stay);
    min_cut_add(cut, edge->to, 0, -first);
    min_cut_add_pair(cut, edge->from, edge->to, fmax(0, first + second - stay));
}

/* Moves the best set of parts to one place. Returns false if out of memory. */
static bool expand(struct choice *c, uint8_t place)
{
    const struct place_problem *p = c->problem;
    struct min_cut *cut = min_cut_new(p->part_count, p->edge_count);
    if (!cut)
        return false;
    for (size_t i = 0; i < p->part_count; i++)
        min_cut_add(cut, i, weigh(c, p->costs[i * p->place_count + c->places[i]]),
                    weigh(c, p->costs[i * p->place_count + place]));
    for (size_t e = 0; e < p->edge_count; e++)
        add_edge(c, cut, &p->edges[e], place);
    min_cut_solve(cut, c->moves);
    min_cut_free(cut);
    for (size_t i = 0; i < p->part_count; i++)
        c->places[i] = c->moves[i] ? place : c->places[i];
    return true;
}

/* Sets the weights of joules and seconds. For the product of both, seconds count `ratio` times as much as
 * joules, each in relation to the last choice. */
static void set_weights(struct choice *c, double ratio)
{
    struct place_cost last = place_sum_of(c->problem, c->places, c->scratch).cost;
    bool can_run = isfinite(last.joules);
    c->per_second = c->problem->objective == FORGE_MINIMISE_TIME;
    c->per_joule = c->problem->objective == FORGE_MINIMISE_ENERGY;
    if (c->problem->objective == FORGE_MINIMISE_EDP) {
        c->per_second = can_run && last.seconds > 0 ? ratio / last.seconds : 1;
        c->per_joule = can_run && last.joules > 0 ? 1 / last.joules : 1;
    }
}

/* Sets `largest` to more than any choice costs in which all parts can run. */
static void set_largest(struct choice *c)
{
    const struct place_problem *p = c->problem;
    double sum = 1;
    c->largest = INFINITY;
    for (size_t i = 0; i < p->part_count * p->place_count; i++)
        sum += isfinite(p->costs[i].seconds) ? weigh(c, p->costs[i]) : 0;
    for (size_t e = 0; e < p->edge_count; e++)
        for (uint32_t i = 0; i < p->place_count; i++)
            for (uint32_t k = 0; k < p->place_count; k++)
                sum += weigh(c, transfer_cost(p, i, k, p->bytes[p->edges[e].value]));
    c->largest = sum;
}

/* Keeps `places` in `best` if they are better. */
static bool keep_better(const struct choice *c, uint8_t *best, double *score)
{
    double now = place_score(c->problem, place_sum_of(c->problem, c->places, c->scratch).cost);
    if (!(now < *score * (1 - 1e-12)) && !(isinf(*score) && isfinite(now)))
        return false;
    *score = now;
    memcpy(best, c->places, c->problem->part_count);
    return true;
}

/* Moves single parts as long as this improves the exact costs. */
static void improve(struct choice *c, uint8_t *best, double *score)
{
    const struct place_problem *p = c->problem;
    double work = 0, of_trial = (double)(p->part_count + p->edge_count + p->value_count);
    bool is_better = true;
    memcpy(c->places, best, c->problem->part_count);
    for (int round = 0; is_better && round < MAX_ROUNDS; round++) {
        is_better = false;
        for (size_t i = 0; i < p->part_count; i++)
            for (uint8_t place = 0; place < p->place_count && work < MAX_WORK; place++) {
                if (place == best[i])
                    continue;
                work += of_trial;
                c->places[i] = place;
                is_better |= keep_better(c, best, score);
                c->places[i] = best[i];
            }
    }
}

/* Expands all places in turns until nothing improves. Returns false if out of memory. */
static bool expand_all(struct choice *c, double ratio, uint8_t *best, double *score)
{
    bool is_better = true;
    for (int round = 0; is_better && round < MAX_ROUNDS; round++) {
        is_better = false;
        set_weights(c, ratio);
        set_largest(c);
        for (uint8_t place = 0; place < c->problem->place_count; place++) {
            if (!expand(c, place))
                return false;
            is_better |= keep_better(c, best, score);
        }
    }
    return true;
}

/* Puts all parts on one place, except parts that cannot run there: they begin where they cost least. */
static void put_on(struct choice *c, uint8_t place)
{
    const struct place_problem *p = c->problem;
    for (size_t i = 0; i < p->part_count; i++) {
        const struct place_cost *costs = &p->costs[i * p->place_count];
        c->places[i] = place;
        for (uint8_t k = 0; !isfinite(costs[place].seconds) && k < p->place_count; k++)
            if (costs[k].seconds < costs[c->places[i]].seconds)
                c->places[i] = k;
    }
}

/* Begins with all parts on one place. Returns false if out of memory. */
static bool begin_with(struct choice *c, uint8_t place, const uint32_t *readers, uint8_t *best, double *score)
{
    bool is_ok = true;
    bool is_product = c->problem->objective == FORGE_MINIMISE_EDP;
    for (double ratio = is_product ? 0.25 : 1; is_ok && ratio <= (is_product ? 4 : 1); ratio *= 2)
        for (int is_divided = 0; is_ok && is_divided < 2; is_divided++) {
            c->readers = is_divided ? readers : NULL;
            put_on(c, place);
            keep_better(c, best, score);
            is_ok = expand_all(c, ratio, best, score);
        }
    return is_ok;
}

bool place_choose(const struct place_problem *problem, uint8_t *out_places)
{
    struct choice c = {.problem = problem,
                       .places = calloc(problem->part_count + 1, 1),
                       .scratch = calloc(problem->value_count + 1, 1),
                       .moves = calloc(problem->part_count + 1, sizeof *c.moves)};
    uint32_t *readers = calloc(problem->value_count + 1, sizeof *readers);
    double score = INFINITY;
    bool is_ok = c.places && c.scratch && c.moves && readers;
    for (size_t e = 0; is_ok && e < problem->edge_count; e++)
        readers[problem->edges[e].value]++;
    memset(out_places, 0, problem->part_count);
    for (uint8_t place = 0; is_ok && place < problem->place_count; place++)
        is_ok = begin_with(&c, place, readers, out_places, &score);
    if (is_ok)
        improve(&c, out_places, &score);
    free(c.places);
    free(c.scratch);
    free(c.moves);
    free(readers);
    return is_ok;
}
