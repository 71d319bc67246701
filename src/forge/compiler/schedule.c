/* compiler/schedule.c - searches the order of launches; see schedule.h.
 *
 * The search begins with the given order and with orders of a greedy list scheduler: of the launches that are
 * ready, the next one adds the fewest live bytes, or reads the values that were written last. Small problems
 * also begin with random orders. Each order is improved: a launch moves to another position between those
 * launches that must come before and after it, and the move is kept if the score improves. The best order of
 * a small problem is then improved by random moves. The number of compared orders is limited, so that large
 * programs compile in about a second. If no order keeps the bound of the seconds, the search is repeated,
 * beginning with the order that takes the least time.
 */
#include "forge/compiler/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits of the search: steps of the model in all trials, trials, launches of a problem in which all
 * positions of a launch are tried, launches that are moved together, random orders, and random moves of the
 * simulated annealing. */
enum {
    MAX_WORK = 40000000,
    MAX_TRIALS = 12000,
    SMALL = 40,
    MAX_TOGETHER = 3,
    RANDOM_ORDERS = 30,
    ANNEALED = 3000
};

/* Scores within this relative distance count as equal. */
#define EQUAL 1e-9
/* The given order remains if another order gains less than this part of the score, and less than ten times
 * this part of the live bytes: the model is not exact enough for smaller gains. */
#define WORTH 1e-3
/* With a bound of the seconds, orders within this relative distance of the best score get the final choice of
 * cores, which is slower and better. */
#define NEAR 0.05
/* Temperatures of the simulated annealing, as relative losses. */
#define FIRST_TEMPERATURE 0.1
#define LAST_TEMPERATURE  1e-3

/* A priority of the list scheduler. */
enum priority { PRIORITY_MEMORY, PRIORITY_RECENT, PRIORITY_RANDOM };

struct search {
    const struct schedule_problem *problem;
    const uint32_t *first; /* an order to begin with, or NULL */
    struct cores_scratch *cores_scratch;
    uint32_t *first_before, *before; /* CSR: the launches that must come before launch i */
    uint32_t *first_after, *after;   /* CSR: the launches that must come after launch i */
    uint32_t *first_reader, *reader; /* CSR: the launches that read value i */
    uint32_t *position;              /* [launch_count]: position of each launch in the present order */
    uint32_t *order;                 /* the present order */
    uint32_t *waiting; /* list scheduler: [launch_count], launches that must still come before */
    uint32_t *ready;
    uint32_t *left;    /* list scheduler: [value_count], readers to come */
    uint32_t *written; /* list scheduler: [value_count], position at which the value was used last, + 1 */
    double *distances; /* [access_count] */
    uint16_t *cores;   /* of the last trial */
    struct grade {
        double
            excess; /* by which the bounds are exceeded, as the sum of relative excesses; 0: they are kept */
        double score;
        struct schedule_cost cost;
    } present, best;
    uint64_t state; /* of the random numbers */
    size_t trials, max_trials;
    struct schedule *out;
    bool has_failed; /* out of memory */
};

/* --- grades --------------------------------------------------------------------------------------------- */

static double excess(double value, double bound)
{
    return value > bound ? value / bound - 1 : 0;
}

/* Returns the grade of the present order, and sets s->cores. is_final: as in schedule_choose_cores. */
static struct grade try_order(struct search *s, bool is_final)
{
    struct grade grade = {0};
    const struct schedule_problem *p = s->problem;
    double peak = schedule_trace(p, s->order, s->distances, NULL);
    s->has_failed |= isnan(peak);
    if (s->has_failed)
        return (struct grade){.excess = INFINITY, .score = INFINITY};
    grade.cost = schedule_choose_cores(p, s->distances, s->cores_scratch, is_final, s->cores);
    grade.cost.peak_bytes = peak;
    grade.score = schedule_score(p->objective, &grade.cost);
    grade.excess = excess(grade.cost.seconds, p->max_seconds) + excess(peak, p->max_bytes);
    s->trials++;
    return grade;
}

/* Returns true if a is better than b. Of equal scores, the one with fewer live bytes is better. */
static bool is_better(const struct grade *a, const struct grade *b)
{
    if (fabs(a->excess - b->excess) > EQUAL)
        return a->excess < b->excess;
    if (fabs(a->score - b->score) > EQUAL * fabs(b->score))
        return a->score < b->score;
    return a->cost.peak_bytes < b->cost.peak_bytes * (1 - EQUAL);
}

/* Returns true if the order of `best` is not worth a change of the given order. */
static bool is_good_enough(const struct grade *given, const struct grade *best)
{
    return given->excess <= best->excess + EQUAL && given->score <= best->score * (1 + WORTH) &&
           given->cost.peak_bytes <= best->cost.peak_bytes * (1 + 10 * WORTH);
}

/* Returns true if the grade may become the best one when the numbers of cores are chosen finally. */
static bool is_near_best(const struct search *s, const struct grade *grade)
{
    return grade->excess <= s->best.excess + EQUAL && grade->score <= s->best.score * (1 + NEAR);
}

/* Stores the present order if it is the best one so far. */
static void note_best(struct search *s, const struct grade *grade)
{
    struct grade noted = *grade;
    if (schedule_cores_differ(s->problem) && is_near_best(s, grade))
        noted = try_order(s, true);
    if (s->has_failed || !is_better(&noted, &s->best))
        return;
    s->best = noted;
    memcpy(s->out->order, s->order, s->problem->launch_count * sizeof *s->order);
    memcpy(s->out->cores, s->cores, s->problem->launch_count * sizeof *s->cores);
}

/* --- improvement ---------------------------------------------------------------------------------------- */

/* Reverses the launches at the positions [low, high). */
static void reverse(uint32_t *order, uint32_t low, uint32_t high)
{
    for (; low + 1 < high; low++, high--) {
        uint32_t launch = order[low];
        order[low] = order[high - 1];
        order[high - 1] = launch;
    }
}

/* Exchanges the launches at [low, middle) with those at [middle, high). */
static void rotate(struct search *s, uint32_t low, uint32_t middle, uint32_t high)
{
    reverse(s->order, low, middle);
    reverse(s->order, middle, high);
    reverse(s->order, low, high);
    for (uint32_t i = low; i < high; i++)
        s->position[s->order[i]] = i;
}

/* Moves the `length` launches at position `from` so that they begin at position `to`. */
static void move(struct search *s, uint32_t from, uint32_t length, uint32_t to)
{
    if (from < to)
        rotate(s, from, from + length, to + length);
    else
        rotate(s, to, from, from + length);
}

/* Sets the first and the last position to which the `length` launches at position `from` can move
 * together. */
static void find_range(const struct search *s, uint32_t from, uint32_t length, uint32_t *out_low,
                       uint32_t *out_high)
{
    uint32_t low = 0, high = (uint32_t)s->problem->launch_count;
    for (uint32_t at = from; at < from + length; at++) {
        uint32_t launch = s->order[at];
        for (uint32_t i = s->first_before[launch]; i < s->first_before[launch + 1]; i++) {
            uint32_t end = s->position[s->before[i]] + 1;
            low = end <= from && end > low ? end : low;
        }
        for (uint32_t i = s->first_after[launch]; i < s->first_after[launch + 1]; i++) {
            uint32_t start = s->position[s->after[i]];
            high = start >= from + length && start < high ? start : high;
        }
    }
    *out_low = low;
    *out_high = high - length;
}

/* Moves launches if this improves the grade. Returns true if it does. */
static bool try_move(struct search *s, uint32_t from, uint32_t length, uint32_t to)
{
    if (from == to || s->trials >= s->max_trials || s->has_failed)
        return false;
    move(s, from, length, to);
    struct grade grade = try_order(s, false);
    if (!is_better(&grade, &s->present)) {
        move(s, to, length, from);
        return false;
    }
    s->present = grade;
    note_best(s, &grade);
    return true;
}

/* Tries all positions for the `length` launches at position `from`. */
static bool try_all_moves(struct search *s, uint32_t from, uint32_t length)
{
    uint32_t low, high;
    find_range(s, from, length, &low, &high);
    for (uint32_t to = low; to <= high; to++)
        if (try_move(s, from, length, to))
            return true;
    return false;
}

/* Tries some positions for a launch: the ends of its range, and those directly behind the other readers of
 * its inputs. */
static bool try_few_moves(struct search *s, uint32_t launch)
{
    const struct schedule_launch *l = &s->problem->launches[launch];
    uint32_t low, high, from = s->position[launch];
    find_range(s, from, 1, &low, &high);
    if (low == high)
        return false;
    if (try_move(s, from, 1, low) || try_move(s, from, 1, high))
        return true;
    for (uint32_t k = l->first_access; k < l->first_access + l->read_count; k++) {
        uint32_t value = s->problem->accesses[k].value;
        for (uint32_t r = s->first_reader[value]; r < s->first_reader[value + 1]; r++) {
            uint32_t at = s->position[s->reader[r]], to = at < from ? at + 1 : at;
            if (at != from && to >= low && to <= high && try_move(s, from, 1, to))
                return true;
        }
    }
    return false;
}

/* Tries to move each launch, and in a small problem also neighbours together. */
static bool improve_once(struct search *s)
{
    uint32_t count = (uint32_t)s->problem->launch_count;
    bool improved = false;
    if (count > SMALL) {
        for (uint32_t i = 0; i < count; i++)
            improved |= try_few_moves(s, i);
        return improved;
    }
    for (uint32_t length = 1; length <= MAX_TOGETHER && length < count; length++)
        for (uint32_t from = 0; from + length <= count; from++)
            improved |= try_all_moves(s, from, length);
    return improved;
}

/* Improves the present order until no move helps or the trials are used up. */
static void improve(struct search *s)
{
    s->present = try_order(s, false);
    note_best(s, &s->present);
    while (s->trials < s->max_trials && !s->has_failed && improve_once(s))
        ;
}

/* --- the list scheduler --------------------------------------------------------------------------------- */

/* xorshift64 (Marsaglia, "Xorshift RNGs", 2003). */
static double next_random(struct search *s)
{
    s->state ^= s->state << 13;
    s->state ^= s->state >> 7;
    s->state ^= s->state << 17;
    return (double)(s->state >> 11) * 0x1p-53;
}

/* Returns a number less than `count`. */
static uint32_t random_below(struct search *s, uint32_t count)
{
    return (uint32_t)(next_random(s) * count);
}

/* Returns the bytes by which the live memory grows if the launch runs next. */
static double growth_of(const struct search *s, const struct schedule_launch *l)
{
    double bytes = 0;
    for (uint32_t k = l->first_access; k < l->first_access + l->read_count + l->write_count; k++) {
        uint32_t value = s->problem->accesses[k].value;
        if (!s->problem->values[value].is_arena)
            continue;
        if (k >= l->first_access + l->read_count)
            bytes += s->problem->values[value].bytes;
        else if (s->left[value] == 1)
            bytes -= s->problem->values[value].bytes;
    }
    return bytes;
}

/* Returns the mean position at which the launch's inputs were used, weighted by their bytes. */
static double recency_of(const struct search *s, const struct schedule_launch *l)
{
    double sum = 0, bytes = 1;
    for (uint32_t k = l->first_access; k < l->first_access + l->read_count; k++) {
        const struct schedule_access *access = &s->problem->accesses[k];
        sum += s->written[access->value] * access->bytes;
        bytes += access->bytes;
    }
    return sum / bytes;
}

/* Returns the priority of a ready launch; the least number comes first. */
static double rank_of(struct search *s, enum priority priority, uint32_t launch)
{
    const struct schedule_launch *l = &s->problem->launches[launch];
    if (priority == PRIORITY_MEMORY)
        return growth_of(s, l);
    return priority == PRIORITY_RECENT ? -recency_of(s, l) : next_random(s);
}

static void run_launch(struct search *s, uint32_t launch, uint32_t at, size_t *ready_count)
{
    const struct schedule_launch *l = &s->problem->launches[launch];
    s->order[at] = launch;
    s->position[launch] = at;
    for (uint32_t k = l->first_access; k < l->first_access + l->read_count + l->write_count; k++) {
        uint32_t value = s->problem->accesses[k].value;
        s->written[value] = at + 1;
        if (k < l->first_access + l->read_count && s->left[value])
            s->left[value]--;
    }
    for (uint32_t i = s->first_after[launch]; i < s->first_after[launch + 1]; i++)
        if (--s->waiting[s->after[i]] == 0)
            s->ready[(*ready_count)++] = s->after[i];
}

/* Replaces the present order. */
static void make_list(struct search *s, enum priority priority)
{
    size_t ready_count = 0, count = s->problem->launch_count;
    for (size_t v = 0; v < s->problem->value_count; v++) {
        s->left[v] = s->first_reader[v + 1] - s->first_reader[v];
        s->written[v] = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        s->waiting[i] = s->first_before[i + 1] - s->first_before[i];
        if (!s->waiting[i])
            s->ready[ready_count++] = i;
    }
    for (uint32_t at = 0; at < count && ready_count; at++) {
        size_t best = 0;
        double least = INFINITY;
        for (size_t i = 0; i < ready_count; i++) {
            double rank = rank_of(s, priority, s->ready[i]);
            if (rank < least || (rank == least && s->ready[i] < s->ready[best])) {
                least = rank;
                best = i;
            }
        }
        uint32_t launch = s->ready[best];
        s->ready[best] = s->ready[--ready_count];
        run_launch(s, launch, at, &ready_count);
    }
}

/* --- the search ----------------------------------------------------------------------------------------- */

static uint32_t *make_numbers(struct search *s, size_t count)
{
    uint32_t *numbers = calloc(count + 1, sizeof *numbers);
    s->has_failed |= !numbers;
    return numbers;
}

static void add_up(uint32_t *first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        first[i + 1] += first[i];
}

/* Fills the lists of edges and of readers. */
static void link(struct search *s)
{
    const struct schedule_problem *p = s->problem;
    for (size_t i = 0; i < p->edge_count; i++) {
        s->first_before[p->edges[i].after + 1]++;
        s->first_after[p->edges[i].before + 1]++;
    }
    for (size_t i = 0; i < p->launch_count; i++)
        for (uint32_t k = 0; k < p->launches[i].read_count; k++)
            s->first_reader[p->accesses[p->launches[i].first_access + k].value + 1]++;
    add_up(s->first_before, p->launch_count);
    add_up(s->first_after, p->launch_count);
    add_up(s->first_reader, p->value_count);
    memset(s->waiting, 0, p->launch_count * sizeof *s->waiting);
    for (size_t i = 0; i < p->edge_count; i++) {
        uint32_t before = p->edges[i].before, after = p->edges[i].after;
        s->before[s->first_before[after] + s->waiting[after]++] = before;
    }
    memset(s->waiting, 0, p->launch_count * sizeof *s->waiting);
    for (size_t i = 0; i < p->edge_count; i++) {
        uint32_t before = p->edges[i].before, after = p->edges[i].after;
        s->after[s->first_after[before] + s->waiting[before]++] = after;
    }
    for (uint32_t i = 0; i < p->launch_count; i++)
        for (uint32_t k = 0; k < p->launches[i].read_count; k++) {
            uint32_t value = p->accesses[p->launches[i].first_access + k].value;
            s->reader[s->first_reader[value] + s->left[value]++] = i;
        }
}

static void allocate(struct search *s)
{
    const struct schedule_problem *p = s->problem;
    s->first_before = make_numbers(s, p->launch_count + 1);
    s->first_after = make_numbers(s, p->launch_count + 1);
    s->before = make_numbers(s, p->edge_count);
    s->after = make_numbers(s, p->edge_count);
    s->first_reader = make_numbers(s, p->value_count + 1);
    s->reader = make_numbers(s, p->access_count);
    s->position = make_numbers(s, p->launch_count);
    s->order = make_numbers(s, p->launch_count);
    s->waiting = make_numbers(s, p->launch_count);
    s->ready = make_numbers(s, p->launch_count);
    s->left = make_numbers(s, p->value_count);
    s->written = make_numbers(s, p->value_count);
    s->out->order = make_numbers(s, p->launch_count);
    s->distances = calloc(p->access_count + 1, sizeof *s->distances);
    s->cores = calloc(p->launch_count + 1, sizeof *s->cores);
    s->out->cores = calloc(p->launch_count + 1, sizeof *s->out->cores);
    s->cores_scratch = schedule_cores_new(p);
    s->has_failed |= !s->distances || !s->cores || !s->out->cores || !s->cores_scratch;
}

static void free_search(struct search *s)
{
    uint32_t *const numbers[] = {s->first_before, s->first_after, s->before,   s->after,
                                 s->first_reader, s->reader,      s->position, s->order,
                                 s->waiting,      s->ready,       s->left,     s->written};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        free(numbers[i]);
    free(s->distances);
    free(s->cores);
    schedule_cores_free(s->cores_scratch);
}

/* Sets the costs of the given order, which is the present order, on as many cores as each launch has
 * parts. */
static void note_given(struct search *s)
{
    const struct schedule_problem *p = s->problem;
    struct schedule_cost all = {.peak_bytes = schedule_trace(p, s->order, s->distances, NULL)};
    for (uint32_t i = 0; i < p->launch_count; i++) {
        unsigned cores = schedule_useful_cores(p->rates, &p->launches[i]);
        struct schedule_cost cost = schedule_launch_cost(p, i, cores, s->distances);
        all.seconds += cost.seconds;
        all.joules += cost.joules;
        for (int level = 0; level < RATE_LEVELS; level++)
            all.bytes[level] += cost.bytes[level];
    }
    s->out->before = all;
    s->has_failed |= isnan(all.peak_bytes);
}

/* Makes the best order the present one. */
static void take_best(struct search *s)
{
    memcpy(s->order, s->out->order, s->problem->launch_count * sizeof *s->order);
    for (uint32_t i = 0; i < s->problem->launch_count; i++)
        s->position[s->order[i]] = i;
}

/* Returns the logarithm of the score, to which relative excesses are added. */
static double loss_of(const struct grade *grade)
{
    return log(grade->score) + grade->excess;
}

/* Improves the best order by simulated annealing (Kirkpatrick, Gelatt and Vecchi, Science 220, 1983): moves
 * launches at random, and keeps a move that makes the order worse with a probability that falls with the loss
 * and with time. This finds orders to which no sequence of improvements leads. */
static void anneal(struct search *s)
{
    uint32_t count = (uint32_t)s->problem->launch_count, low, high;
    double temperature = FIRST_TEMPERATURE,
           cooling = pow(LAST_TEMPERATURE / FIRST_TEMPERATURE, 1. / ANNEALED);
    take_best(s);
    s->present = s->best;
    for (int i = 0; i < ANNEALED && s->trials < s->max_trials && !s->has_failed; i++) {
        temperature *= cooling;
        uint32_t from = random_below(s, count);
        find_range(s, from, 1, &low, &high);
        uint32_t to = low + random_below(s, high - low + 1);
        if (to == from)
            continue;
        move(s, from, 1, to);
        struct grade grade = try_order(s, false);
        double loss = loss_of(&grade) - loss_of(&s->present);
        if (loss > 0 && next_random(s) >= exp(-loss / temperature)) {
            move(s, to, 1, from);
            continue;
        }
        s->present = grade;
        note_best(s, &grade);
    }
}

static void search(struct search *s)
{
    const struct schedule_problem *p = s->problem;
    double work = (double)p->launch_count * 16 + (double)p->access_count * 16 + (double)p->value_count;
    double trials = fmin(MAX_TRIALS, fmax(MAX_WORK / work, 60));
    s->max_trials = (size_t)trials;
    s->best = (struct grade){.excess = INFINITY, .score = INFINITY};
    for (uint32_t i = 0; i < p->launch_count; i++)
        s->order[i] = s->position[i] = i;
    note_given(s);
    struct grade given = try_order(s, true);
    s->out->cores_only = given.cost;
    note_best(s, &given);
    for (int i = 0; i < 2 && !s->has_failed;
         i++) { /* both lists count, even if the first uses up all trials */
        make_list(s, i ? PRIORITY_RECENT : PRIORITY_MEMORY);
        struct grade listed = try_order(s, false);
        note_best(s, &listed);
    }
    if (s->first && !s->has_failed) {
        memcpy(s->order, s->first, p->launch_count * sizeof *s->order);
        struct grade first = try_order(s, false);
        note_best(s, &first);
    }
    if (s->has_failed)
        return;
    take_best(s);
    improve(s);
    for (int i = 0; i < RANDOM_ORDERS + 2 && p->launch_count <= SMALL && s->trials < s->max_trials; i++) {
        make_list(s, i == 0 ? PRIORITY_MEMORY : i == 1 ? PRIORITY_RECENT : PRIORITY_RANDOM);
        improve(s);
    }
    if (p->launch_count > 1 && p->launch_count <= SMALL)
        anneal(s);
    memcpy(s->order, s->out->order, p->launch_count * sizeof *s->order);
    struct grade last = try_order(s, true);
    note_best(s, &last);
    if (is_good_enough(&given, &s->best)) {
        for (uint32_t i = 0; i < p->launch_count; i++)
            s->order[i] = i;
        s->best = (struct grade){.excess = INFINITY, .score = INFINITY};
        last = try_order(s, true);
        note_best(s, &last);
    }
    s->out->after = s->best.cost;
    s->out->trials = s->trials;
}

/* first: [launch_count], an order that the search also begins with; NULL: none. */
static bool find(const struct schedule_problem *problem, const uint32_t *first, struct schedule *out)
{
    struct search s = {.problem = problem, .first = first, .out = out, .state = UINT64_C(0x9e3779b97f4a7c15)};
    *out = (struct schedule){0};
    allocate(&s);
    if (!s.has_failed) {
        link(&s);
        search(&s);
    }
    free_search(&s);
    return !s.has_failed;
}

/* Searches again, beginning with the order that takes the least time. */
static bool find_faster(const struct schedule_problem *problem, struct schedule *out)
{
    struct schedule_problem unbounded = *problem;
    struct schedule fastest;
    unbounded.objective = FORGE_MINIMISE_TIME;
    unbounded.max_seconds = INFINITY;
    schedule_free(out);
    *out = (struct schedule){0};
    bool is_found = find(&unbounded, NULL, &fastest) && find(problem, fastest.order, out);
    schedule_free(&fastest);
    return is_found;
}

bool schedule_find(const struct schedule_problem *problem, struct schedule *out)
{
    if (!find(problem, NULL, out))
        return false;
    bool is_late = problem->objective != FORGE_MINIMISE_TIME && out->after.seconds > problem->max_seconds;
    return !is_late || find_faster(problem, out);
}

void schedule_free(struct schedule *schedule)
{
    free(schedule->order);
    free(schedule->cores);
}
