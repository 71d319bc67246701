/* Checks the search for a schedule against all orders and all numbers of cores of small random problems, and
 * the model (reuse distances, live bytes, seconds, joules) against figures computed by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/compiler/schedule.h"
#include "support/check.h"
#include "support/simulation.h"

enum { MAX_LAUNCHES = 10, MAX_VALUES = 24, MAX_ACCESSES = 64, MAX_EDGES = 200, CORES = 6 };

/* --- random problems ------------------------------------------------------------------------------------ */

struct trial {
    struct device_rates rates;
    struct schedule_value values[MAX_VALUES];
    struct schedule_access accesses[MAX_ACCESSES];
    struct schedule_launch launches[MAX_LAUNCHES];
    struct schedule_edge edges[MAX_EDGES];
    unsigned before[MAX_LAUNCHES]; /* bit i: launch i must come before */
    struct schedule_problem problem;
};

/* L2 of 256 KiB per core and an LLC of 4 MiB; memory is saturated by two of six cores. */
static const struct device_rates usual = {.cores = CORES,
                                          .flop_per_s = 20e9,
                                          .l2_bytes = 1 << 18,
                                          .llc_bytes = 4 << 20,
                                          .launch_s = 2e-6,
                                          .static_watts = 10,
                                          .core_watts = 4,
                                          .flop_joules = 3e-12,
                                          .core_bytes_per_s = {60e9, 30e9, 10e9},
                                          .total_bytes_per_s = {INFINITY, 150e9, 24e9},
                                          .byte_joules = {6e-12, 25e-12, 240e-12}};

static void add_edge(struct trial *t, unsigned before, unsigned after)
{
    if (t->before[after] >> before & 1)
        return;
    t->before[after] |= 1u << before;
    t->edges[t->problem.edge_count++] = (struct schedule_edge){before, after};
}

/* Returns the number of orders that satisfy the edges. */
static double count_orders(const struct trial *t)
{
    static double ways[1 << MAX_LAUNCHES];
    unsigned count = (unsigned)t->problem.launch_count;
    ways[0] = 1;
    for (unsigned set = 1; set < 1u << count; set++) {
        ways[set] = 0;
        for (unsigned i = 0; i < count; i++)
            if (set >> i & 1 && (t->before[i] & ~(set & ~(1u << i))) == 0)
                ways[set] += ways[set & ~(1u << i)];
    }
    return ways[(1u << count) - 1];
}

/* Adds a launch that reads up to three values and writes one. */
static void add_launch(struct trial *t, struct generator *g, unsigned i, unsigned inputs)
{
    struct schedule_problem *p = &t->problem;
    unsigned reads = 1 + simulated_below(g, 3), known = inputs + i;
    struct schedule_launch *l = &t->launches[i];
    double moved = 0;
    *l = (struct schedule_launch){.first_access = (uint32_t)p->access_count,
                                  .work = {.parts = 1 + simulated_below(g, 12)}};
    for (unsigned k = 0; k < reads; k++) {
        unsigned value = simulated_below(g, known);
        struct schedule_access *access = &t->accesses[p->access_count++];
        *access = (struct schedule_access){.value = value, .bytes = t->values[value].bytes};
        moved += access->bytes;
        l->read_count++;
        if (value >= inputs)
            add_edge(t, value - inputs, i);
    }
    struct schedule_value *out = &t->values[known];
    const struct schedule_access *first = &t->accesses[l->first_access];
    bool is_alike = simulated_below(g, 2) != 0; /* element-wise: may work in place */
    *out = (struct schedule_value){is_alike ? first->bytes
                                            : floor(exp(simulated_between(g, log(2e3), log(6e6)))),
                                   simulated_below(g, 8) != 0};
    t->accesses[p->access_count++] = (struct schedule_access){known, is_alike ? 1 : 0, out->bytes};
    l->write_count = 1;
    l->flop = (moved + out->bytes) * exp(simulated_between(g, log(0.05), log(40)));
    if (simulated_below(g, 6) == 0)
        l->work.plain_s = simulated_between(g, 0, 5e-4);
}

static void make_trial(struct trial *t, struct generator *g, double max_orders)
{
    *t = (struct trial){.rates = usual};
    unsigned inputs = 2 + simulated_below(g, 3), count = 4 + simulated_below(g, MAX_LAUNCHES - 3);
    t->rates.static_watts = exp(simulated_between(g, log(0.5), log(100)));
    t->rates.core_watts = exp(simulated_between(g, log(0.5), log(30)));
    t->problem = (struct schedule_problem){.rates = &t->rates,
                                           .values = t->values,
                                           .accesses = t->accesses,
                                           .launches = t->launches,
                                           .edges = t->edges,
                                           .max_seconds = INFINITY,
                                           .max_bytes = INFINITY};
    for (unsigned i = 0; i < inputs; i++)
        t->values[i] = (struct schedule_value){floor(exp(simulated_between(g, log(2e3), log(6e6)))), false};
    for (unsigned i = 0; i < count; i++) {
        t->problem.launch_count = i + 1;
        add_launch(t, g, i, inputs);
    }
    t->problem.value_count = inputs + count;
    while (count_orders(t) > max_orders) {
        unsigned after = 1 + simulated_below(g, count - 1);
        add_edge(t, simulated_below(g, after), after);
    }
}

/* --- all schedules -------------------------------------------------------------------------------------- */

/* A pair of sums that no other pair beats in both. */
struct pair {
    double seconds, joules;
};
enum { MAX_PAIRS = 200000 };

struct exhaustive {
    const struct schedule_problem *problem;
    uint32_t order[MAX_LAUNCHES];
    double distances[MAX_ACCESSES];
    double best;       /* least score that keeps the bounds; INFINITY: none */
    double least_peak; /* least number of live bytes of all orders */
    double orders;
    struct pair *pairs, *next;
};

static int by_seconds(const void *left, const void *right)
{
    const struct pair *a = left, *b = right;
    if (a->seconds != b->seconds)
        return a->seconds < b->seconds ? -1 : 1;
    return a->joules < b->joules ? -1 : a->joules > b->joules;
}

static size_t keep_front(struct pair *pairs, size_t count)
{
    size_t kept = 0;
    qsort(pairs, count, sizeof *pairs, by_seconds);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || pairs[i].joules < pairs[kept - 1].joules)
            pairs[kept++] = pairs[i];
    return kept;
}

/* Finds all sums of seconds and joules of the present order that no others beat in both. */
static size_t all_sums(struct exhaustive *e)
{
    size_t count = 1;
    e->pairs[0] = (struct pair){0, 0};
    for (uint32_t i = 0; i < e->problem->launch_count; i++) {
        size_t added = 0;
        for (unsigned cores = 1; cores <= CORES; cores++) {
            struct schedule_cost cost = schedule_launch_cost(e->problem, i, cores, e->distances);
            for (size_t k = 0; k < count && added < MAX_PAIRS; k++)
                e->next[added++] =
                    (struct pair){e->pairs[k].seconds + cost.seconds, e->pairs[k].joules + cost.joules};
        }
        assert_true(added < MAX_PAIRS);
        count = keep_front(e->next, added);
        memcpy(e->pairs, e->next, count * sizeof *e->pairs);
    }
    return count;
}

/* Returns the least joules or seconds of the present order, launch by launch. */
static double least_sum(struct exhaustive *e)
{
    double sum = 0;
    for (uint32_t i = 0; i < e->problem->launch_count; i++) {
        double least = INFINITY;
        for (unsigned cores = 1; cores <= CORES; cores++) {
            struct schedule_cost cost = schedule_launch_cost(e->problem, i, cores, e->distances);
            least = fmin(least, schedule_score(e->problem->objective, &cost));
        }
        sum += least;
    }
    return sum;
}

static void judge(struct exhaustive *e)
{
    const struct schedule_problem *p = e->problem;
    double peak = schedule_trace(p, e->order, e->distances, NULL);
    e->orders++;
    e->least_peak = fmin(e->least_peak, peak);
    if (peak > p->max_bytes)
        return;
    if (p->objective != FORGE_MINIMISE_EDP && isinf(p->max_seconds)) {
        e->best = fmin(e->best, least_sum(e));
        return;
    }
    size_t count = all_sums(e);
    for (size_t i = 0; i < count; i++) {
        struct schedule_cost sum = {.seconds = e->pairs[i].seconds, .joules = e->pairs[i].joules};
        if (sum.seconds <= p->max_seconds)
            e->best = fmin(e->best, schedule_score(p->objective, &sum));
    }
}

static void visit_orders(struct exhaustive *e, const struct trial *t, unsigned done, unsigned at)
{
    if (at == e->problem->launch_count) {
        judge(e);
        return;
    }
    for (unsigned i = 0; i < e->problem->launch_count; i++)
        if (!(done >> i & 1) && (t->before[i] & ~done) == 0) {
            e->order[at] = i;
            visit_orders(e, t, done | 1u << i, at + 1);
        }
}

static struct exhaustive try_all(const struct trial *t)
{
    struct exhaustive e = {.problem = &t->problem, .best = INFINITY, .least_peak = INFINITY};
    e.pairs = calloc(MAX_PAIRS, sizeof *e.pairs);
    e.next = calloc(MAX_PAIRS, sizeof *e.next);
    assert_true(e.pairs && e.next);
    visit_orders(&e, t, 0, 0);
    free(e.pairs);
    free(e.next);
    return e;
}

/* --- comparison ----------------------------------------------------------------------------------------- */

/* Asserts that the schedule keeps the edges and has the costs that it states. */
static void assert_is_valid(const struct trial *t, const struct schedule *s)
{
    unsigned done = 0;
    double distances[MAX_ACCESSES];
    struct schedule_cost sum = {.peak_bytes = schedule_trace(&t->problem, s->order, distances, NULL)};
    for (unsigned at = 0; at < t->problem.launch_count; at++) {
        uint32_t i = s->order[at];
        assert_true(i < t->problem.launch_count && !(done >> i & 1) && (t->before[i] & ~done) == 0);
        assert_true(s->cores[i] >= 1 && s->cores[i] <= CORES);
        done |= 1u << i;
        struct schedule_cost cost = schedule_launch_cost(&t->problem, i, s->cores[i], distances);
        sum.seconds += cost.seconds;
        sum.joules += cost.joules;
    }
    assert_near(s->after.seconds, sum.seconds, 1e-9 * sum.seconds);
    assert_near(s->after.joules, sum.joules, 1e-9 * sum.joules);
    assert_near(s->after.peak_bytes, sum.peak_bytes, 0.5);
}

/* Results of a group of trials. */
struct tally {
    size_t exact;       /* schedules that equal the best one */
    double worst;       /* largest score, relative to the best one */
    double orders;      /* number of orders of all problems */
    double order_gains; /* number of problems where the order alone gains 1 % or more */
};

static void compare(const struct trial *t, struct tally *tally)
{
    struct schedule schedule;
    struct exhaustive all = try_all(t);
    assert_true(schedule_find(&t->problem, &schedule));
    assert_is_valid(t, &schedule);
    assert_true(schedule.after.peak_bytes <= t->problem.max_bytes);
    assert_true(schedule.after.seconds <= t->problem.max_seconds);
    double score = schedule_score(t->problem.objective, &schedule.after);
    assert_true(score >= all.best * (1 - 1e-9));
    tally->worst = fmax(tally->worst, score / all.best);
    tally->exact += score <= all.best * (1 + 1e-9);
    tally->orders += all.orders;
    tally->order_gains += score < 0.99 * schedule_score(t->problem.objective, &schedule.cores_only);
    schedule_free(&schedule);
}

/* Bounds the seconds to a random number between the least possible and those of the least joules. */
static void bound_seconds(struct trial *t, struct generator *g)
{
    struct schedule fast, slow;
    t->problem.objective = FORGE_MINIMISE_TIME;
    assert_true(schedule_find(&t->problem, &fast));
    t->problem.objective = FORGE_MINIMISE_ENERGY;
    assert_true(schedule_find(&t->problem, &slow));
    t->problem.max_seconds = fast.after.seconds * (1 + 1e-9) +
                             simulated_between(g, 0, 1) * (slow.after.seconds - fast.after.seconds);
    schedule_free(&fast);
    schedule_free(&slow);
}

/* Bounds the bytes to a random number between the least possible and those of the best schedule. */
static void bound_bytes(struct trial *t, struct generator *g)
{
    struct schedule free_schedule;
    double least = try_all(t).least_peak;
    assert_true(schedule_find(&t->problem, &free_schedule));
    double most = fmax(free_schedule.after.peak_bytes, least);
    t->problem.max_bytes = least + floor(simulated_between(g, 0, 1) * (most - least));
    schedule_free(&free_schedule);
}

enum bounds { UNBOUNDED, BOUND_SECONDS, BOUND_BYTES, BOUND_BOTH };

static void compare_many(uint64_t seed, size_t count, const char *what, forge_minimise objective,
                         enum bounds bounds)
{
    struct generator g = {seed};
    struct tally tally = {0};

    for (size_t i = 0; i < count; i++) {
        struct trial t;
        bool is_simple = objective != FORGE_MINIMISE_EDP && bounds != BOUND_SECONDS && bounds != BOUND_BOTH;
        make_trial(&t, &g, is_simple ? 2000 : 60);
        t.problem.objective = objective;
        if (bounds == BOUND_BYTES || bounds == BOUND_BOTH)
            bound_bytes(&t, &g);
        if (bounds == BOUND_SECONDS || bounds == BOUND_BOTH)
            bound_seconds(&t, &g);
        compare(&t, &tally);
    }
    print_message(
        "%s: %zu of %zu schedules are the best one; the worst costs %.3f %% more; %.0f orders; the order "
        "alone gains 1 %% or more in %.0f\n",
        what, tally.exact, count, 100 * (tally.worst - 1), tally.orders, tally.order_gains);
    assert_true(tally.worst <= 1.02);
}

static void compare_all_kinds(uint64_t seed, size_t count)
{
    compare_many(seed, count, "energy", FORGE_MINIMISE_ENERGY, UNBOUNDED);
    compare_many(seed + 1, count, "time", FORGE_MINIMISE_TIME, UNBOUNDED);
    compare_many(seed + 2, count, "edp", FORGE_MINIMISE_EDP, UNBOUNDED);
    compare_many(seed + 3, count, "energy, bounded time", FORGE_MINIMISE_ENERGY, BOUND_SECONDS);
    compare_many(seed + 4, count, "energy, bounded memory", FORGE_MINIMISE_ENERGY, BOUND_BYTES);
    compare_many(seed + 5, count, "time, bounded memory", FORGE_MINIMISE_TIME, BOUND_BYTES);
    compare_many(seed + 6, count, "energy, both bounds", FORGE_MINIMISE_ENERGY, BOUND_BOTH);
}

static void test_schedules_are_within_2_percent_of_the_best(void **state)
{
    (void)state;
    compare_all_kinds(23, 200);
}

static void test_schedules_of_a_fresh_seed(void **state)
{
    (void)state;
    compare_all_kinds(simulation_fresh_seed(), simulation_is_full() ? 200 : 40);
}

/* --- the model ------------------------------------------------------------------------------------------ */

enum { KIB = 1024, X = 0, A = 1, B = 2, C = 3, OUT = 4 };

/* Fills a problem of four launches on a machine with 256 KiB of L2 per core and 4 MiB of LLC:
 *     a = f(x), b = f(a), c = f(b), out = f(c, a)
 * All values have `kib` KiB; a, b and c are in the arena, and each launch may work in place on its first
 * input. */
static void make_chain(struct trial *t, double kib)
{
    static const struct schedule_launch launches[] = {{.first_access = 0, .read_count = 1, .write_count = 1},
                                                      {.first_access = 2, .read_count = 1, .write_count = 1},
                                                      {.first_access = 4, .read_count = 1, .write_count = 1},
                                                      {.first_access = 6, .read_count = 2, .write_count = 1}};
    static const uint32_t values[] = {X, A, A, B, B, C, C, A, OUT};
    *t = (struct trial){.rates = usual};
    for (int i = 0; i <= OUT; i++)
        t->values[i] = (struct schedule_value){kib * KIB, i == A || i == B || i == C};
    for (size_t i = 0; i < 9; i++)
        t->accesses[i] = (struct schedule_access){values[i], i % 2 || i == 8, kib * KIB};
    t->accesses[7].over = 0;
    memcpy(t->launches, launches, sizeof launches);
    for (int i = 0; i < 4; i++)
        t->launches[i].work.parts = 840;
    t->problem = (struct schedule_problem){.rates = &t->rates,
                                           .values = t->values,
                                           .accesses = t->accesses,
                                           .launches = t->launches,
                                           .edges = t->edges,
                                           .value_count = 5,
                                           .access_count = 9,
                                           .launch_count = 4,
                                           .objective = FORGE_MINIMISE_ENERGY,
                                           .max_seconds = INFINITY,
                                           .max_bytes = INFINITY};
    for (unsigned i = 1; i < 4; i++)
        add_edge(t, i - 1, i);
}

static const uint32_t in_order[] = {0, 1, 2, 3};

/* b and c can be stored in the memory of a and b only if no later launch reads those: a is read again, so
 * two values are live at once. */
static void test_reuse_distances_and_live_bytes(void **state)
{
    (void)state;
    struct trial t;
    double d[9], unit = 100 * KIB;
    make_chain(&t, 100);
    assert_near(schedule_trace(&t.problem, in_order, d, NULL), 2 * unit, 0.5);
    assert_near(d[0], 2 * unit, 0.5); /* x: since the previous run, only out; a, b and c are no more */
    assert_near(d[2], unit, 0.5);     /* a: read at once */
    assert_near(d[1], unit, 0.5);     /* a counts at the level of its next reader */
    assert_near(d[4], unit, 0.5);
    assert_near(d[6], unit, 0.5);
    assert_near(d[7], 2 * unit, 0.5); /* a again, after c, in whose memory b was */
    assert_true(isinf(d[8]));         /* out: no reader */
    make_chain(&t, 3000);
    schedule_trace(&t.problem, in_order, d, NULL);
    assert_near(d[2], 3000 * KIB, 0.5);
    assert_true(isinf(d[0]) && isinf(d[7]));
}

/* Figures by hand: 100 KiB from L2 and 100 KiB from memory, on 1, 3 and 6 cores. */
static void test_the_cost_of_a_launch(void **state)
{
    (void)state;
    struct trial t;
    double d[9];
    make_chain(&t, 100);
    schedule_trace(&t.problem, in_order, d, NULL);
    d[0] = INFINITY;
    for (unsigned cores = 1; cores <= 6; cores++) {
        struct schedule_cost cost = schedule_launch_cost(&t.problem, 0, cores, d);
        double bytes = 100 * KIB, memory_rate = cores == 1 ? 10e9 : cores == 2 ? 20e9 : 24e9;
        double seconds = bytes / (cores * 60e9) + bytes / memory_rate + 2e-6;
        assert_near(cost.seconds, seconds, 1e-9 * seconds);
        assert_near(cost.bytes[RATE_L2], bytes, 0.5);
        assert_near(cost.bytes[RATE_MEMORY], bytes, 0.5);
        double joules = (10 + 4 * cores) * seconds + bytes * (6e-12 + 240e-12);
        assert_near(cost.joules, joules, 1e-9 * joules);
    }
    t.launches[0].flop = 1e9; /* 50 ms on one core */
    t.launches[0].work.parts = 4;
    assert_near(schedule_launch_cost(&t.problem, 0, 3, d).seconds, 0.025 + 2e-6, 1e-9); /* two rounds */
    assert_near(schedule_launch_cost(&t.problem, 0, 4, d).seconds, 0.0125 + 2e-6, 1e-9);
    t.launches[0].work.plain_s = 0.2; /* a reference kernel */
    assert_near(schedule_launch_cost(&t.problem, 0, 2, d).seconds, 0.1 + 2e-6, 1e-9);
}

/* Two pairs of launches, of which each pair shares a large value: the launches of a pair belong together. */
static void test_readers_of_a_value_come_together(void **state)
{
    (void)state;
    struct trial t = {.rates = usual};
    struct schedule s;
    for (int i = 0; i < 2; i++)
        t.values[i] = (struct schedule_value){3 << 20, false};
    for (uint32_t i = 0; i < 4; i++) {
        t.values[2 + i] = (struct schedule_value){64 * KIB, false};
        t.accesses[2 * i] = (struct schedule_access){i % 2, 0, 3 << 20};
        t.accesses[2 * i + 1] = (struct schedule_access){2 + i, 0, 64 * KIB};
        t.launches[i] = (struct schedule_launch){
            .work = {.parts = 840}, .first_access = 2 * i, .read_count = 1, .write_count = 1};
    }
    t.problem = (struct schedule_problem){.rates = &t.rates,
                                          .values = t.values,
                                          .accesses = t.accesses,
                                          .launches = t.launches,
                                          .value_count = 6,
                                          .access_count = 8,
                                          .launch_count = 4,
                                          .objective = FORGE_MINIMISE_TIME,
                                          .max_seconds = INFINITY,
                                          .max_bytes = INFINITY};
    assert_true(schedule_find(&t.problem, &s));
    assert_int_equal(s.order[0] % 2, s.order[1] % 2);
    assert_int_equal(s.order[2] % 2, s.order[3] % 2);
    assert_true(s.after.bytes[RATE_MEMORY] < s.before.bytes[RATE_MEMORY] * 0.6);
    assert_true(s.after.seconds < s.before.seconds);
    schedule_free(&s);
}

static void test_a_program_without_launches(void **state)
{
    (void)state;
    struct schedule s;
    struct schedule_problem none = {
        .rates = &usual, .objective = FORGE_MINIMISE_EDP, .max_seconds = INFINITY, .max_bytes = INFINITY};
    assert_true(schedule_find(&none, &s));
    assert_true(s.after.seconds == 0 && s.after.joules == 0);
    schedule_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reuse_distances_and_live_bytes),
        cmocka_unit_test(test_the_cost_of_a_launch),
        cmocka_unit_test(test_readers_of_a_value_come_together),
        cmocka_unit_test(test_a_program_without_launches),
        cmocka_unit_test(test_schedules_are_within_2_percent_of_the_best),
        cmocka_unit_test(test_schedules_of_a_fresh_seed),
    };
    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
