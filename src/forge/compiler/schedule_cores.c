/* compiler/schedule_cores.c - chooses the number of cores of each launch; see schedule.h.
 *
 * For fixed distances, the launches are independent, and seconds and joules are sums. Without a bound, the
 * least joules and the least seconds are found launch by launch. Otherwise, each launch begins with its least
 * joules, and is made faster in steps. The steps of all launches are taken in the order of their joules per
 * saved second. The sums after each step are the corners of the lower convex hull of all possible sums, and
 * the product of joules and seconds is least at one of these corners. With a bound of the seconds, the best
 * sum may lie between two corners, so exchanges between two launches follow.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "forge/compiler/schedule.h"

/* At most this many numbers of cores are tried for each launch, and exchanges follow for at most so many
 * launches: with more launches, one launch changes the sum by little. */
enum { MAX_CHOICES = 32, MAX_EXCHANGED = 48, MAX_ROUNDS = 40 };
/* All choices are searched for at most this many launches, with at most so many visits. */
enum { MAX_SEARCHED = 16, MAX_VISITS = 200000 };

/* One number of cores for a launch, and its cost. */
struct choice {
    unsigned cores;
    double seconds, joules;
};

/* A step of a launch to a choice that takes less time and more joules. */
struct step {
    uint32_t launch, from, to; /* from, to: choices of the launch */
    double price;              /* joules per saved second */
};

struct cores_scratch {
    unsigned numbers[MAX_CHOICES]; /* numbers of cores that are tried, ascending */
    size_t number_count;
    struct choice *choices; /* [launch_count][number_count]: those that no other beats, slowest first */
    uint32_t *counts;       /* [launch_count]: number of choices */
    uint32_t *chosen;       /* [launch_count]: the choice in use */
    struct step *steps;
};

/* Fills the numbers that are tried: all up to 16, and then numbers that grow by about a fifth. */
static void set_numbers(struct cores_scratch *s, unsigned cores)
{
    for (unsigned c = 1; c < cores && s->number_count < MAX_CHOICES - 1; c += c < 16 ? 1 : c / 5)
        s->numbers[s->number_count++] = c;
    s->numbers[s->number_count++] = cores ? cores : 1;
}

struct cores_scratch *schedule_cores_new(const struct schedule_problem *problem)
{
    struct cores_scratch *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    set_numbers(s, problem->rates->cores);
    size_t count = problem->launch_count + 1;
    s->choices = calloc(count * s->number_count, sizeof *s->choices);
    s->counts = calloc(count, sizeof *s->counts);
    s->chosen = calloc(count, sizeof *s->chosen);
    s->steps = calloc(count * s->number_count, sizeof *s->steps);
    if (s->choices && s->counts && s->chosen && s->steps)
        return s;
    schedule_cores_free(s);
    return NULL;
}

void schedule_cores_free(struct cores_scratch *scratch)
{
    if (!scratch)
        return;
    free(scratch->choices);
    free(scratch->counts);
    free(scratch->chosen);
    free(scratch->steps);
    free(scratch);
}

/* --- the choices of one launch -------------------------------------------------------------------------- */

static struct choice *choices_of(const struct cores_scratch *s, uint32_t launch)
{
    return &s->choices[launch * s->number_count];
}

/* Slowest first; of two equally slow ones, the one with fewer joules first. */
static int by_seconds(const void *left, const void *right)
{
    const struct choice *a = left, *b = right;
    if (a->seconds != b->seconds)
        return a->seconds > b->seconds ? -1 : 1;
    if (a->joules != b->joules)
        return a->joules < b->joules ? -1 : 1;
    return a->cores < b->cores ? -1 : a->cores > b->cores;
}

/* Returns joules per saved second from one choice to a faster one. */
static double price_of(const struct choice *from, const struct choice *to)
{
    return (to->joules - from->joules) / (from->seconds - to->seconds);
}

/* Reduces sorted choices to those that no other one beats in seconds and joules. Returns their number. */
static uint32_t keep_front(struct choice *choices, size_t count)
{
    uint32_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept && !(choices[i].seconds < choices[kept - 1].seconds))
            continue;
        while (kept && choices[i].joules <= choices[kept - 1].joules)
            kept--;
        choices[kept++] = choices[i];
    }
    return kept;
}

static void make_choices(const struct schedule_problem *problem, struct cores_scratch *s, uint32_t launch,
                         const double *distances)
{
    struct choice *choices = choices_of(s, launch);
    size_t count = 0, parts = problem->launches[launch].work.parts;
    for (size_t i = 0; i < s->number_count && (i == 0 || s->numbers[i - 1] < parts); i++) {
        struct schedule_cost cost = schedule_launch_cost(problem, launch, s->numbers[i], distances);
        choices[count++] = (struct choice){s->numbers[i], cost.seconds, cost.joules};
    }
    qsort(choices, count, sizeof *choices, by_seconds);
    s->counts[launch] = keep_front(choices, count);
    s->chosen[launch] = 0;
}

/* --- steps ---------------------------------------------------------------------------------------------- */

static int by_price(const void *left, const void *right)
{
    const struct step *a = left, *b = right;
    if (a->price != b->price)
        return a->price < b->price ? -1 : 1;
    if (a->launch != b->launch)
        return a->launch < b->launch ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

/* Adds the steps of one launch, from corner to corner of the lower convex hull of its choices. Returns the
 * new number of steps. */
static size_t add_steps(struct cores_scratch *s, uint32_t launch, size_t count)
{
    const struct choice *choices = choices_of(s, launch);
    size_t first = count;
    for (uint32_t k = 1; k < s->counts[launch]; k++) {
        struct step step = {launch, k - 1, k, price_of(&choices[k - 1], &choices[k])};
        for (; count > first && s->steps[count - 1].price >= step.price; count--) {
            step.from = s->steps[count - 1].from;
            step.price = price_of(&choices[step.from], &choices[k]);
        }
        s->steps[count++] = step;
    }
    return count;
}

/* Fills all steps, sorted by price, and returns their number. */
static size_t make_steps(struct cores_scratch *s, size_t launch_count)
{
    size_t count = 0;
    for (uint32_t i = 0; i < launch_count; i++)
        count = add_steps(s, i, count);
    qsort(s->steps, count, sizeof *s->steps, by_price);
    return count;
}

static const struct choice *chosen_of(const struct cores_scratch *s, uint32_t launch)
{
    return &choices_of(s, launch)[s->chosen[launch]];
}

static struct schedule_cost sum_of(const struct cores_scratch *s, size_t launch_count)
{
    struct schedule_cost sum = {0};
    for (uint32_t i = 0; i < launch_count; i++) {
        sum.seconds += chosen_of(s, i)->seconds;
        sum.joules += chosen_of(s, i)->joules;
    }
    return sum;
}

static struct schedule_cost changed(struct schedule_cost sum, const struct choice *from,
                                    const struct choice *to)
{
    sum.seconds += to->seconds - from->seconds;
    sum.joules += to->joules - from->joules;
    return sum;
}

/* Takes the steps after which the score is least and the bound is kept. If no steps keep the bound, takes all
 * steps. */
static void take_steps(const struct schedule_problem *problem, struct cores_scratch *s)
{
    size_t count = make_steps(s, problem->launch_count), best = count;
    double best_score = INFINITY;
    struct schedule_cost sum = sum_of(s, problem->launch_count);
    for (size_t i = 0;; i++) {
        double score = schedule_score(problem->objective, &sum);
        if (sum.seconds <= problem->max_seconds && score < best_score) {
            best_score = score;
            best = i;
        }
        if (i == count)
            break;
        const struct choice *choices = choices_of(s, s->steps[i].launch);
        sum = changed(sum, &choices[s->steps[i].from], &choices[s->steps[i].to]);
    }
    for (size_t i = 0; i < best; i++)
        s->chosen[s->steps[i].launch] = s->steps[i].to;
}

/* --- exchanges ------------------------------------------------------------------------------------------ */

/* State of a search through all choices of all launches. */
struct descent {
    const struct schedule_problem *problem;
    struct cores_scratch *scratch;
    struct schedule_cost
        *rest; /* [launch_count + 1]: least seconds and least joules of the launches from i on */
    uint32_t *present, *best; /* [launch_count] */
    double best_score;
    unsigned left; /* visits that are still allowed */
};

/* Tries all choices of the launches from `launch` on that can keep the bound and improve the score. before:
 * sum of the launches before it. */
static void descend(struct descent *d, uint32_t launch, struct schedule_cost before)
{
    struct schedule_cost least = {.seconds = before.seconds + d->rest[launch].seconds,
                                  .joules = before.joules + d->rest[launch].joules};
    double score = schedule_score(d->problem->objective, &least);
    if (least.seconds > d->problem->max_seconds || score >= d->best_score * (1 - 1e-12) || d->left == 0)
        return;
    d->left--;
    if (launch == d->problem->launch_count) {
        d->best_score = score;
        memcpy(d->best, d->present, launch * sizeof *d->best);
        return;
    }
    const struct choice *choices = choices_of(d->scratch, launch);
    for (uint32_t k = 0; k < d->scratch->counts[launch]; k++) {
        d->present[launch] = k;
        descend(d, launch + 1,
                (struct schedule_cost){.seconds = before.seconds + choices[k].seconds,
                                       .joules = before.joules + choices[k].joules});
    }
}

/* Searches all choices of a small problem. */
static void try_all(const struct schedule_problem *problem, struct cores_scratch *s)
{
    struct schedule_cost rest[MAX_SEARCHED + 1] = {0}, sum = sum_of(s, problem->launch_count);
    uint32_t present[MAX_SEARCHED];
    struct descent d = {problem,   s, rest, present, s->chosen, schedule_score(problem->objective, &sum),
                        MAX_VISITS};
    if (sum.seconds > problem->max_seconds)
        return;
    for (uint32_t i = (uint32_t)problem->launch_count; i-- > 0;) {
        const struct choice *choices = choices_of(s, i); /* slowest first, so most joules last */
        rest[i].seconds = rest[i + 1].seconds + choices[s->counts[i] - 1].seconds;
        rest[i].joules = rest[i + 1].joules + choices[0].joules;
    }
    descend(&d, 0, (struct schedule_cost){0});
}

/* Gives launches a and b the choices with the least score that keep the bound. Returns true if this improves
 * the score; *sum is then the new sum. */
static bool exchange(const struct schedule_problem *problem, struct cores_scratch *s, uint32_t a, uint32_t b,
                     struct schedule_cost *sum)
{
    double least = schedule_score(problem->objective, sum) * (1 - 1e-12);
    struct schedule_cost best = *sum;
    uint32_t best_a = s->chosen[a], best_b = s->chosen[b];
    for (uint32_t i = 0; i < s->counts[a]; i++)
        for (uint32_t k = 0; k < s->counts[b]; k++) {
            struct schedule_cost next = changed(*sum, chosen_of(s, a), &choices_of(s, a)[i]);
            if (a != b)
                next = changed(next, chosen_of(s, b), &choices_of(s, b)[k]);
            double score = schedule_score(problem->objective, &next);
            if (next.seconds > problem->max_seconds || score >= least)
                continue;
            least = score;
            best = next;
            best_a = i;
            best_b = a == b ? i : k;
        }
    bool is_better = best_a != s->chosen[a] || best_b != s->chosen[b];
    s->chosen[a] = best_a;
    s->chosen[b] = best_b;
    *sum = best;
    return is_better;
}

static void exchange_all(const struct schedule_problem *problem, struct cores_scratch *s)
{
    struct schedule_cost sum = sum_of(s, problem->launch_count);
    bool is_better = problem->launch_count <= MAX_EXCHANGED && sum.seconds <= problem->max_seconds;
    for (int round = 0; is_better && round < MAX_ROUNDS; round++) {
        is_better = false;
        for (uint32_t a = 0; a < problem->launch_count; a++)
            for (uint32_t b = a; b < problem->launch_count; b++)
                is_better |= exchange(problem, s, a, b, &sum);
    }
}

bool schedule_cores_differ(const struct schedule_problem *problem)
{
    return isfinite(problem->max_seconds) && problem->objective != FORGE_MINIMISE_TIME &&
           problem->launch_count <= MAX_SEARCHED;
}

struct schedule_cost schedule_choose_cores(const struct schedule_problem *problem, const double *distances,
                                           struct cores_scratch *scratch, bool is_final, uint16_t *out_cores)
{
    struct schedule_cost sum = {0};
    bool is_bounded = isfinite(problem->max_seconds);
    for (uint32_t i = 0; i < problem->launch_count; i++) {
        make_choices(problem, scratch, i, distances);
        if (problem->objective == FORGE_MINIMISE_TIME)
            scratch->chosen[i] = scratch->counts[i] - 1;
    }
    if (problem->objective == FORGE_MINIMISE_EDP ||
        (problem->objective == FORGE_MINIMISE_ENERGY && is_bounded))
        take_steps(problem, scratch);
    if (is_bounded && problem->objective != FORGE_MINIMISE_TIME)
        exchange_all(problem, scratch);
    if (is_final && schedule_cores_differ(problem))
        try_all(problem, scratch);
    for (uint32_t i = 0; i < problem->launch_count; i++) {
        unsigned cores = chosen_of(scratch, i)->cores;
        struct schedule_cost cost = schedule_launch_cost(problem, i, cores, distances);
        out_cores[i] = (uint16_t)cores;
        sum.seconds += cost.seconds;
        sum.joules += cost.joules;
        for (int level = 0; level < RATE_LEVELS; level++)
            sum.bytes[level] += cost.bytes[level];
    }
    return sum;
}
