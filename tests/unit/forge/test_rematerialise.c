/* Checks that repeated launches keep all results of random problems, and that a forward and a backward pass
 * need as little memory as they should. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "forge/compiler/rematerialise.h"
#include "support/check.h"
#include "support/simulation.h"

enum { MAX_LAUNCHES = 60, MAX_VALUES = 80, MAX_ACCESSES = 300, MAX_EDGES = 400 };

static const struct device_rates rates = {.cores = 2,
                                          .flop_per_s = 20e9,
                                          .l2_bytes = 1 << 18,
                                          .llc_bytes = 4 << 20,
                                          .launch_s = 2e-6,
                                          .static_watts = 10,
                                          .core_watts = 4,
                                          .core_bytes_per_s = {60e9, 30e9, 10e9},
                                          .total_bytes_per_s = {INFINITY, 150e9, 24e9},
                                          .byte_joules = {6e-12, 25e-12, 240e-12}};

struct trial {
    struct schedule_value values[MAX_VALUES];
    struct schedule_access accesses[MAX_ACCESSES];
    struct schedule_launch launches[MAX_LAUNCHES];
    struct schedule_edge edges[MAX_EDGES];
    uint32_t order[MAX_LAUNCHES];
    struct schedule_problem problem;
};

static void begin(struct trial *t)
{
    *t = (struct trial){0};
    t->problem = (struct schedule_problem){.rates = &rates,
                                           .values = t->values,
                                           .accesses = t->accesses,
                                           .launches = t->launches,
                                           .edges = t->edges,
                                           .objective = FORGE_MINIMISE_ENERGY,
                                           .max_seconds = INFINITY,
                                           .max_bytes = INFINITY};
    for (uint32_t i = 0; i < MAX_LAUNCHES; i++)
        t->order[i] = i;
}

static uint32_t add_value(struct trial *t, double bytes, bool is_arena)
{
    t->values[t->problem.value_count] = (struct schedule_value){bytes, is_arena};
    return (uint32_t)t->problem.value_count++;
}

static void add_edge(struct trial *t, uint32_t before, uint32_t after, bool is_overwrite)
{
    assert_true(t->problem.edge_count < MAX_EDGES);
    t->edges[t->problem.edge_count++] = (struct schedule_edge){before, after, is_overwrite};
}

static uint32_t writer_of(const struct trial *t, uint32_t value)
{
    for (uint32_t i = 0; i < t->problem.launch_count; i++) {
        const struct schedule_launch *l = &t->launches[i];
        for (uint32_t k = 0; k < l->write_count; k++)
            if (t->accesses[l->first_access + l->read_count + k].value == value)
                return i;
    }
    return UINT32_MAX;
}

/* Adds a launch that reads and writes these values, and the edges from their writers. */
static uint32_t add_launch(struct trial *t, const uint32_t *values, uint32_t reads, uint32_t writes)
{
    struct schedule_problem *p = &t->problem;
    uint32_t launch = (uint32_t)p->launch_count;
    assert_true(launch < MAX_LAUNCHES && p->access_count + reads + writes <= MAX_ACCESSES);
    t->launches[launch] = (struct schedule_launch){.flop = 1e6,
                                                   .work = {.parts = 8},
                                                   .first_access = (uint32_t)p->access_count,
                                                   .read_count = reads,
                                                   .write_count = writes};
    for (uint32_t k = 0; k < reads + writes; k++) {
        t->accesses[p->access_count++] =
            (struct schedule_access){.value = values[k], .bytes = t->values[values[k]].bytes};
        uint32_t writer = k < reads ? writer_of(t, values[k]) : UINT32_MAX;
        if (writer != UINT32_MAX)
            add_edge(t, writer, launch, false);
    }
    p->launch_count++;
    return launch;
}

/* --- results -------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15U + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdU;
    return x ^ x >> 32;
}

/* Runs the launches on numbers: each result depends on the launch and on all its operands. Writes what each
 * launch read. out_read: [launch_count]. */
static void run(const struct schedule_problem *p, const uint32_t *order, const uint32_t *launch_of,
                uint64_t *out_read)
{
    static uint64_t contents[2 * MAX_VALUES + MAX_ACCESSES];
    for (size_t v = 0; v < p->value_count; v++)
        contents[v] = 1000 + v;
    for (size_t at = 0; at < p->launch_count; at++) {
        uint32_t launch = order[at];
        const struct schedule_launch *l = &p->launches[launch];
        uint64_t read = launch_of ? launch_of[launch] : launch;
        for (uint32_t k = 0; k < l->read_count; k++)
            read = mix(read, contents[p->accesses[l->first_access + k].value]);
        for (uint32_t k = 0; k < l->write_count; k++)
            contents[p->accesses[l->first_access + l->read_count + k].value] = mix(read, k);
        out_read[launch] = read;
    }
}

/* Asserts that all launches read what they read without copies, and that copies read what their originals
 * read. Returns the number of copies. */
static size_t assert_same_results(const struct trial *t, const struct rematerialisation *r)
{
    uint64_t given[MAX_LAUNCHES], read[2 * MAX_LAUNCHES + 1];
    double distances[2 * MAX_ACCESSES];
    assert_true(r->problem.launch_count >= t->problem.launch_count);
    run(&t->problem, t->order, NULL, given);
    run(&r->problem, r->order, r->launch_of, read);
    for (size_t i = 0; i < r->problem.launch_count; i++)
        assert_true(read[i] == given[r->launch_of[i]]);
    assert_near(schedule_trace(&r->problem, r->order, distances, NULL), r->peak_bytes, 0.5);
    return r->problem.launch_count - t->problem.launch_count;
}

/* --- random problems ------------------------------------------------------------------------------------ */

/* Makes a problem whose last launches read values that the first ones wrote, and some of which write a value
 * that lasts, after all earlier readers of its old contents. */
static void make_random(struct trial *t, struct generator *g)
{
    begin(t);
    for (int i = 0; i < 3; i++)
        add_value(t, 1e5, false);
    unsigned count = 10 + simulated_below(g, 40);
    for (unsigned i = 0; i < count; i++) {
        uint32_t values[6], reads = 1 + simulated_below(g, 3), writes = 1 + simulated_below(g, 2);
        size_t known = t->problem.value_count;
        for (uint32_t k = 0; k < reads; k++) {
            size_t from = simulated_below(g, 2) ? known - simulated_below(g, known < 4 ? known : 4) - 1
                                                : simulated_below(g, known);
            values[k] = (uint32_t)from;
        }
        bool is_update = simulated_below(g, 10) == 0 && i > 2;
        for (uint32_t k = 0; k < writes; k++)
            values[reads + k] =
                t->problem.value_count < MAX_VALUES - 1
                    ? add_value(t, 64. * (1 + simulated_below(g, 5000)), simulated_below(g, 12) != 0)
                    : 3;
        if (t->problem.value_count >= MAX_VALUES - 1)
            break;
        if (is_update)
            values[reads] = simulated_below(g, 3); /* one of the lasting values */
        uint32_t launch = add_launch(t, values, reads, writes);
        for (uint32_t before = 0; is_update && before < launch; before++) {
            const struct schedule_launch *l = &t->launches[before];
            for (uint32_t k = 0; k < l->read_count + l->write_count; k++)
                if (t->accesses[l->first_access + k].value == values[reads]) {
                    add_edge(t, before, launch, true);
                    break;
                }
        }
    }
}

static void check_random(uint64_t seed, size_t count)
{
    struct generator g = {seed};
    size_t copies = 0, kept = 0, lower = 0;
    for (size_t i = 0; i < count; i++) {
        static struct trial t;
        double distances[MAX_ACCESSES];
        struct rematerialisation r;
        make_random(&t, &g);
        double peak = schedule_trace(&t.problem, t.order, distances, NULL);
        t.problem.max_bytes = peak * (0.5 + 0.5 * simulated_uniform(&g));
        assert_true(rematerialise(&t.problem, t.order, &r));
        copies += assert_same_results(&t, &r);
        assert_true(r.problem.launch_count == t.problem.launch_count ? r.peak_bytes == peak : true);
        kept += r.peak_bytes <= t.problem.max_bytes;
        lower += r.peak_bytes < peak;
        rematerialisation_free(&r);
    }
    print_message("%zu copies in %zu problems; %zu need less memory, %zu keep the bound\n", copies, count,
                  lower, kept);
    assert_true(copies > count && lower > count / 4);
}

static void test_copies_change_no_results(void **state)
{
    (void)state;
    check_random(5, 400);
}

static void test_copies_of_a_fresh_seed_change_no_results(void **state)
{
    (void)state;
    check_random(simulation_fresh_seed(), simulation_is_full() ? 2000 : 200);
}

/* --- a forward and a backward pass --------------------------------------------------------------------- */

enum { LENGTH = 16, UNIT = 1 << 16 };

/* Makes x1 = f(x0), ..., and then g = h(g, x[i]) for each x[i], as a backward pass does. */
static void make_passes(struct trial *t)
{
    uint32_t x[LENGTH + 1];
    begin(t);
    x[0] = add_value(t, UNIT, false);
    for (int i = 0; i < LENGTH; i++) {
        x[i + 1] = add_value(t, UNIT, true);
        add_launch(t, (uint32_t[]){x[i], x[i + 1]}, 1, 1);
    }
    for (int i = LENGTH, g = (int)x[LENGTH]; i > 0; i--) {
        uint32_t next = add_value(t, UNIT, i > 1);
        add_launch(t, (uint32_t[]){(uint32_t)g, x[i - 1], next}, 2, 1);
        g = (int)next;
    }
}

static void test_a_chain_is_computed_in_pieces(void **state)
{
    struct trial t;
    double distances[MAX_ACCESSES];
    (void)state;
    make_passes(&t);
    double peak = schedule_trace(&t.problem, t.order, distances, NULL);
    assert_near(peak, (LENGTH + 1) * UNIT, 0.5);
    for (int most = LENGTH; most >= 8; most -= 4) {
        struct rematerialisation r;
        t.problem.max_bytes = most * UNIT;
        assert_true(rematerialise(&t.problem, t.order, &r));
        size_t copies = assert_same_results(&t, &r);
        print_message("%d values: %zu copies\n", most, copies);
        assert_true(r.peak_bytes <= t.problem.max_bytes);
        assert_true(copies >= (size_t)(LENGTH + 1 - most) && copies < LENGTH);
        rematerialisation_free(&r);
    }
}

/* Without a bound, or if nothing can be computed again, there are no copies. */
static void test_nothing_is_repeated_without_need(void **state)
{
    struct trial t;
    struct rematerialisation r;
    (void)state;
    make_passes(&t);
    assert_true(rematerialise(&t.problem, t.order, &r));
    assert_int_equal(r.problem.launch_count, t.problem.launch_count);
    rematerialisation_free(&r);
    begin(&t);
    assert_true(rematerialise(&t.problem, t.order, &r));
    assert_int_equal(r.problem.launch_count, 0);
    rematerialisation_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_change_no_results),
        cmocka_unit_test(test_copies_of_a_fresh_seed_change_no_results),
        cmocka_unit_test(test_a_chain_is_computed_in_pieces),
        cmocka_unit_test(test_nothing_is_repeated_without_need),
    };
    return cmocka_run_group_tests_name("rematerialise", tests, NULL, NULL);
}
