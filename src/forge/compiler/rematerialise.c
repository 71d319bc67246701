/* compiler/rematerialise.c - see rematerialise.h.
 *
 * A candidate is a value that is live at the position with the most live bytes, and that is read again after
 * it. The launch that computes the value is repeated before its next reader. An operand of that launch that
 * is no longer in memory then is either kept until then, or computed again too, up to a number of launches.
 *
 * The greedy choice is that of Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016
 * (arXiv:1604.06174), in the form for any graph that compilers use (rematerialisation). */
#include "forge/compiler/rematerialise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits: launches that are repeated together, candidates of a step, the launches above which a step has
 * fewer candidates, and steps of the model in all trials. */
enum { NONE = UINT32_MAX, MAX_TOGETHER = 16, MAX_CANDIDATES = 24, LARGE = 500, FEW_CANDIDATES = 6 };
#define MAX_WORK 200e6

/* Capacities of arrays. */
struct size {
    size_t launches, accesses, values;
};

struct search {
    const struct schedule_problem *given;
    struct rematerialisation *out;
    struct size capacity;
    bool *may_repeat;              /* [given->launch_count] */
    struct schedule_edge *changes; /* those edges whose `after` may overwrite an operand of `before` */
    size_t change_count;
    uint32_t *position;             /* by launch */
    uint32_t *writer;               /* by value: the launch that writes it, or NONE */
    uint32_t *last_read;            /* by value: position of its last reader */
    double *live;                   /* by position */
    double *distances;              /* by access */
    double per_second, per_joule;   /* by which the objective grows with each second and joule of copies */
    double work;                    /* steps of the model so far */
    bool has_failed;                /* out of memory */
    struct rematerialisation trial; /* a second set of arrays */
};

/* --- memory --------------------------------------------------------------------------------------------- */

static bool allocate(struct rematerialisation *r, const struct size *capacity)
{
    r->order = calloc(capacity->launches, sizeof *r->order);
    r->launch_of = calloc(capacity->launches, sizeof *r->launch_of);
    r->launches = calloc(capacity->launches, sizeof *r->launches);
    r->accesses = calloc(capacity->accesses, sizeof *r->accesses);
    r->values = calloc(capacity->values, sizeof *r->values);
    r->access_of = calloc(capacity->values, sizeof *r->access_of);
    return r->order && r->launch_of && r->launches && r->accesses && r->values && r->access_of;
}

void rematerialisation_free(struct rematerialisation *rematerialisation)
{
    free(rematerialisation->order);
    free(rematerialisation->launch_of);
    free(rematerialisation->launches);
    free(rematerialisation->accesses);
    free(rematerialisation->values);
    free(rematerialisation->access_of);
}

/* Copies all parts that are in use. */
static void assign(struct rematerialisation *to, const struct rematerialisation *from)
{
    const struct schedule_problem *p = &from->problem;
    memcpy(to->order, from->order, p->launch_count * sizeof *to->order);
    memcpy(to->launch_of, from->launch_of, p->launch_count * sizeof *to->launch_of);
    memcpy(to->launches, from->launches, p->launch_count * sizeof *to->launches);
    memcpy(to->accesses, from->accesses, p->access_count * sizeof *to->accesses);
    memcpy(to->values, from->values, p->value_count * sizeof *to->values);
    memcpy(to->access_of, from->access_of, p->value_count * sizeof *to->access_of);
    to->peak_bytes = from->peak_bytes;
    to->problem = *p;
    to->problem.launches = to->launches;
    to->problem.accesses = to->accesses;
    to->problem.values = to->values;
}

static void begin(struct search *r, const uint32_t *order)
{
    const struct schedule_problem *given = r->given;
    struct rematerialisation *out = r->out;
    struct rematerialisation view = {.problem = *given,
                                     .order = (uint32_t *)order,
                                     .launch_of = r->position,
                                     .access_of = r->writer,
                                     .launches = (struct schedule_launch *)given->launches,
                                     .accesses = (struct schedule_access *)given->accesses,
                                     .values = (struct schedule_value *)given->values};
    for (uint32_t i = 0; i < given->launch_count; i++)
        r->position[i] = i;
    assign(out, &view);
    out->problem.edges = NULL;
    out->problem.edge_count = 0;
}

/* --- what a launch reads and writes --------------------------------------------------------------------- */

static bool reads(const struct schedule_problem *p, uint32_t launch, uint32_t value)
{
    const struct schedule_launch *l = &p->launches[launch];
    for (uint32_t k = l->first_access; k < l->first_access + l->read_count; k++)
        if (p->accesses[k].value == value)
            return true;
    return false;
}

/* Returns true if the launch writes only values that it may write again elsewhere. */
static bool writes_arena(const struct schedule_problem *p, const struct schedule_launch *l)
{
    for (uint32_t k = l->read_count; k < l->read_count + l->write_count; k++)
        if (!p->values[p->accesses[l->first_access + k].value].is_arena)
            return false;
    return true;
}

/* Finds the launches that cannot run twice: those that write values which last, or that change an operand of
 * earlier launches. */
static void find_changes(struct search *r)
{
    for (size_t i = 0; i < r->given->launch_count; i++)
        r->may_repeat[i] = writes_arena(r->given, &r->given->launches[i]);
    for (size_t i = 0; i < r->given->edge_count; i++) {
        const struct schedule_edge *edge = &r->given->edges[i];
        if (!edge->is_overwrite)
            continue;
        r->changes[r->change_count++] = *edge;
        r->may_repeat[edge->after] = false;
    }
}

/* Returns true if a copy of the launch may run at the position: none of its operands has changed. */
static bool may_run_at(const struct search *r, uint32_t launch, uint32_t at)
{
    uint32_t original = r->out->launch_of[launch];
    for (size_t i = 0; i < r->change_count; i++)
        if (r->changes[i].before == original && r->position[r->changes[i].after] < at)
            return false;
    return r->may_repeat[original];
}

/* Fills the positions of launches and values in the order of `out`. */
static void locate(struct search *r)
{
    const struct schedule_problem *p = &r->out->problem;
    for (uint32_t v = 0; v < p->value_count; v++) {
        r->writer[v] = NONE;
        r->last_read[v] = 0;
    }
    for (uint32_t at = 0; at < p->launch_count; at++) {
        const struct schedule_launch *l = &p->launches[r->out->order[at]];
        r->position[r->out->order[at]] = at;
        for (uint32_t k = 0; k < l->read_count + l->write_count; k++) {
            uint32_t value = p->accesses[l->first_access + k].value;
            if (k < l->read_count)
                r->last_read[value] = at;
            else
                r->writer[value] = r->out->order[at];
        }
    }
}

/* --- a trial -------------------------------------------------------------------------------------------- */

/* Copies of launches that are inserted at one position. */
struct insertion {
    uint32_t at;
    uint32_t max_launches;
    uint32_t launches[MAX_TOGETHER]; /* the launches that are repeated, the last one first */
    uint32_t count;
};

/* Returns true if a value is in memory at the position without being kept for it. */
static bool is_there(const struct search *r, uint32_t value, uint32_t at)
{
    return !r->out->problem.values[value].is_arena || r->writer[value] == NONE || r->last_read[value] >= at;
}

/* Adds the launches that compute operands which are no longer in memory, as far as they may run again. */
static void add_operands(const struct search *r, struct insertion *insertion)
{
    const struct schedule_problem *p = &r->out->problem;
    for (uint32_t i = 0; i < insertion->count; i++) {
        const struct schedule_launch *l = &p->launches[insertion->launches[i]];
        for (uint32_t k = l->first_access; k < l->first_access + l->read_count; k++) {
            uint32_t value = p->accesses[k].value, launch = r->writer[value], known = 0;
            if (is_there(r, value, insertion->at) || !may_run_at(r, launch, insertion->at))
                continue;
            while (known < insertion->count && insertion->launches[known] != launch)
                known++;
            if (known == insertion->count && insertion->count < insertion->max_launches)
                insertion->launches[insertion->count++] = launch;
        }
    }
}

/* Sorts the launches by their positions. */
static void sort(const struct search *r, struct insertion *insertion)
{
    uint32_t *launches = insertion->launches;
    for (uint32_t i = 1; i < insertion->count; i++)
        for (uint32_t k = i; k > 0 && r->position[launches[k]] < r->position[launches[k - 1]]; k--) {
            uint32_t launch = launches[k];
            launches[k] = launches[k - 1];
            launches[k - 1] = launch;
        }
}

/* Lets the launches of `t` from position `from` on read `copy` instead of `value`. */
static void redirect(struct rematerialisation *t, uint32_t from, uint32_t value, uint32_t copy)
{
    for (size_t at = from; at < t->problem.launch_count; at++) {
        const struct schedule_launch *l = &t->launches[t->order[at]];
        for (uint32_t k = l->first_access; k < l->first_access + l->read_count; k++)
            if (t->accesses[k].value == value)
                t->accesses[k].value = copy;
    }
}

/* Adds a copy of the launch at a position, with new values that later launches read. Returns false if there
 * is no room. */
static bool insert(struct rematerialisation *t, const struct size *capacity, uint32_t launch, uint32_t at)
{
    struct schedule_problem *p = &t->problem;
    struct schedule_launch *l = &t->launches[p->launch_count];
    size_t accesses = t->launches[launch].read_count + t->launches[launch].write_count;
    if (p->launch_count == capacity->launches || p->access_count + accesses > capacity->accesses ||
        p->value_count + t->launches[launch].write_count > capacity->values)
        return false;
    *l = t->launches[launch];
    l->first_access = (uint32_t)p->access_count;
    memcpy(&t->accesses[p->access_count], &t->accesses[t->launches[launch].first_access],
           accesses * sizeof *t->accesses);
    memmove(&t->order[at + 1], &t->order[at], (p->launch_count - at) * sizeof *t->order);
    t->order[at] = (uint32_t)p->launch_count;
    t->launch_of[p->launch_count++] = t->launch_of[launch];
    p->access_count += accesses;
    const struct schedule_launch *original = &t->launches[t->launch_of[launch]];
    for (uint32_t k = l->read_count; k < accesses; k++) {
        struct schedule_access *access = &t->accesses[l->first_access + k];
        uint32_t copy = (uint32_t)p->value_count++;
        t->values[copy] = (struct schedule_value){t->values[access->value].bytes, true};
        t->access_of[copy] = original->first_access + k;
        redirect(t, at + 1, access->value, copy);
        access->value = copy;
    }
    return true;
}

/* Returns the bytes above the bound, added up over all positions. */
static double excess_of(struct search *r, struct rematerialisation *t)
{
    const struct schedule_problem *p = &t->problem;
    double sum = 0;
    t->peak_bytes = schedule_trace(p, t->order, r->distances, r->live);
    r->has_failed |= isnan(t->peak_bytes);
    r->work += 16. * (double)(p->launch_count + p->access_count) + (double)p->value_count;
    for (size_t at = 0; at < p->launch_count; at++)
        sum += fmax(0, r->live[at] - r->given->max_bytes);
    return sum;
}

/* Makes the trial, which has the copies of the insertion. Returns false if there is no room. */
static bool make_trial(struct search *r, struct insertion *insertion)
{
    add_operands(r, insertion);
    sort(r, insertion);
    assign(&r->trial, r->out);
    /* the last one first, so that it reads the copies before it */
    for (uint32_t i = insertion->count; i-- > 0;)
        if (!insert(&r->trial, &r->capacity, insertion->launches[i], insertion->at))
            return false;
    return true;
}

/* Returns the cost of a launch on all cores that it can use. */
static struct schedule_cost launch_cost(const struct schedule_problem *p, uint32_t launch,
                                        const double *distances)
{
    return schedule_launch_cost(p, launch, schedule_useful_cores(p->rates, &p->launches[launch]), distances);
}

/* Returns by how much the copies in the trial increase what the objective minimises. */
static double cost_of(const struct search *r, uint32_t count)
{
    const struct schedule_problem *p = &r->trial.problem;
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct schedule_cost cost = launch_cost(p, (uint32_t)p->launch_count - 1 - i, r->distances);
        sum += r->per_second * cost.seconds + r->per_joule * cost.joules;
    }
    return sum;
}

/* Sets the weights. The product of joules and seconds grows by joules * s + seconds * j. */
static void set_weights(struct search *r)
{
    struct schedule_cost sum = {0};
    for (uint32_t i = 0; i < r->given->launch_count; i++) {
        struct schedule_cost cost = launch_cost(r->given, i, r->distances);
        sum.seconds += cost.seconds;
        sum.joules += cost.joules;
    }
    r->per_second = r->given->objective == FORGE_MINIMISE_TIME ? 1 : 0;
    r->per_joule = r->given->objective == FORGE_MINIMISE_ENERGY ? 1 : 0;
    if (r->given->objective == FORGE_MINIMISE_EDP) {
        r->per_second = sum.joules;
        r->per_joule = sum.seconds;
    }
}

/* --- the search ----------------------------------------------------------------------------------------- */

/* Returns the position of the first launch after `at` that reads the value; NONE if there is none. */
static uint32_t next_reader(const struct search *r, uint32_t value, uint32_t at)
{
    const struct schedule_problem *p = &r->out->problem;
    while (++at < p->launch_count)
        if (reads(p, r->out->order[at], value))
            return at;
    return NONE;
}

/* Returns the position with the most live bytes. */
static uint32_t fullest(const struct search *r)
{
    uint32_t best = 0;
    for (uint32_t at = 0; at < r->out->problem.launch_count; at++)
        if (r->live[at] > r->live[best])
            best = at;
    return best;
}

/* Returns true if the value is live at the position, where no launch uses it, and can be computed again. */
static bool is_candidate(const struct search *r, uint32_t value, uint32_t at)
{
    const struct schedule_problem *p = &r->out->problem;
    return p->values[value].is_arena && p->values[value].bytes > 0 && r->writer[value] != NONE &&
           r->position[r->writer[value]] < at && r->last_read[value] > at &&
           !reads(p, r->out->order[at], value) && r->may_repeat[r->out->launch_of[r->writer[value]]];
}

/* Fills the largest candidates at the position. Returns their number. */
static uint32_t find_candidates(const struct search *r, uint32_t at, uint32_t candidates[MAX_CANDIDATES])
{
    const struct schedule_value *values = r->out->problem.values;
    uint32_t count = 0, limit = r->out->problem.launch_count > LARGE ? FEW_CANDIDATES : MAX_CANDIDATES;
    for (uint32_t v = 0; v < r->out->problem.value_count; v++) {
        if (!is_candidate(r, v, at))
            continue;
        uint32_t k = count < limit ? count++ : limit;
        for (; k > 0 && values[candidates[k - 1]].bytes < values[v].bytes; k--)
            if (k < limit)
                candidates[k] = candidates[k - 1];
        if (k < limit)
            candidates[k] = v;
    }
    return count;
}

/* Makes the change that removes most of the excess for its cost. Returns false if no change removes any, or
 * if out of memory. */
static bool improve(struct search *r, double *excess)
{
    uint32_t candidates[MAX_CANDIDATES];
    struct insertion best = {0};
    double best_gain = 0;
    locate(r);
    uint32_t at = fullest(r), count = find_candidates(r, at, candidates);
    for (uint32_t c = 0; c < count; c++)
        for (uint32_t max_launches = 1; max_launches <= MAX_TOGETHER; max_launches *= 2) {
            struct insertion insertion = {.at = next_reader(r, candidates[c], at),
                                          .max_launches = max_launches,
                                          .launches = {r->writer[candidates[c]]},
                                          .count = 1};
            if (!may_run_at(r, insertion.launches[0], insertion.at) || !make_trial(r, &insertion))
                break;
            double left = excess_of(r, &r->trial), gain = (*excess - left) / cost_of(r, insertion.count);
            if (left < *excess && gain > best_gain) {
                best_gain = gain;
                best = insertion;
            }
            if (insertion.count < max_launches)
                break; /* more launches change nothing */
        }
    if (!best.count || !make_trial(r, &best))
        return false;
    assign(r->out, &r->trial);
    *excess = excess_of(r, r->out);
    return !r->has_failed;
}

bool rematerialise(const struct schedule_problem *problem, const uint32_t *order,
                   struct rematerialisation *out)
{
    struct size capacity = {2 * problem->launch_count + 1, 2 * problem->access_count + 1,
                            problem->value_count + problem->access_count + 1};
    struct search r = {.given = problem,
                       .out = out,
                       .capacity = capacity,
                       .may_repeat = calloc(capacity.launches, sizeof *r.may_repeat),
                       .changes = calloc(problem->edge_count + 1, sizeof *r.changes),
                       .position = calloc(capacity.launches, sizeof *r.position),
                       .writer = calloc(capacity.values, sizeof *r.writer),
                       .last_read = calloc(capacity.values, sizeof *r.last_read),
                       .live = calloc(capacity.launches, sizeof *r.live),
                       .distances = calloc(capacity.accesses, sizeof *r.distances)};
    *out = (struct rematerialisation){0};
    bool is_ok = allocate(out, &capacity) && allocate(&r.trial, &capacity) && r.may_repeat && r.changes &&
                 r.position && r.writer && r.last_read && r.live && r.distances;
    if (is_ok) {
        begin(&r, order);
        find_changes(&r);
        double excess = excess_of(&r, out);
        set_weights(&r);
        while (excess > 0 && r.work < MAX_WORK && improve(&r, &excess))
            ;
        is_ok = !r.has_failed;
    }
    rematerialisation_free(&r.trial);
    free(r.may_repeat);
    free(r.changes);
    free(r.position);
    free(r.writer);
    free(r.last_read);
    free(r.live);
    free(r.distances);
    return is_ok;
}
