/* Checks the power limit with random loads on scripted machines: no second uses more than the limit and one
 * step, and no step alone uses more than a second may use. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "support/chance.h"
#include "support/tiny_model.h"

enum { MAX_EVENTS = 200 * 1000 };

/* The energy at a time. It is linear between two points. */
struct point {
    int64_t time_ns;
    double joules;
};

/* A machine. A step of n rows takes step_ns + n * row_ns, and uses (step_joules + n * row_joules) times a
 * random factor near 1, and the idle power. */
struct machine {
    forge_engine *engine;
    double idle_watts, step_joules, row_joules;
    int64_t step_ns, row_ns;
    unsigned period; /* number of steps between two updates of the meter */
    int64_t now_ns;
    double joules;
    uint64_t steps, rows, shown_steps;
    double shown_joules; /* by the meter */
    struct point *points;
    size_t count;
    double largest_step;       /* J */
    double largest_small_step; /* J; of the steps with one row */
};

static void add_point(struct machine *m)
{
    assert_true(m->count < MAX_EVENTS);
    m->points[m->count++] = (struct point){m->now_ns, m->joules};
}

static void advance(struct machine *m, int64_t time_ns, double joules)
{
    m->now_ns += time_ns;
    m->joules += joules + m->idle_watts * clock_seconds(time_ns);
    add_point(m);
}

/* Adds the step that the engine has computed since the last call. */
static void take_step(struct machine *m)
{
    forge_engine_facts facts = {.struct_size = sizeof facts};
    if (!m->engine)
        return;
    forge_engine_query(m->engine, &facts);
    if (facts.computed_steps == m->steps)
        return;
    assert_int_equal(facts.computed_steps, m->steps + 1);
    uint64_t rows = facts.computed_rows - m->rows;
    double before = m->joules;
    advance(m, m->step_ns + (int64_t)rows * m->row_ns,
            (m->step_joules + (double)rows * m->row_joules) * chance_between(0.95, 1.05));
    double *largest = rows == 1 ? &m->largest_small_step : &m->largest_step;
    *largest = fmax(*largest, m->joules - before);
    m->steps = facts.computed_steps;
    m->rows = facts.computed_rows;
}

static int64_t now_ns(void *context)
{
    struct machine *m = context;
    take_step(m);
    return m->now_ns;
}

static void wait_until(void *context, int64_t until_ns)
{
    struct machine *m = context;
    take_step(m);
    if (until_ns > m->now_ns)
        advance(m, until_ns - m->now_ns, 0);
}

static joule_status read_joules(void *context, joule_quantity *out_joules)
{
    struct machine *m = context;
    take_step(m);
    if (m->steps >= m->shown_steps + m->period || m->period == 1 || m->steps == 0) {
        m->shown_joules = m->joules;
        m->shown_steps = m->steps;
    }
    *out_joules =
        (joule_quantity){m->shown_joules, m->shown_joules, m->shown_joules, JOULE_CLASS_MEASURED, 0};
    return JOULE_OK;
}

/* Returns the energy at a time. *at: index of a point, at first 0; the times of calls must ascend. */
static double joules_at(const struct machine *m, int64_t time_ns, size_t *at)
{
    if (time_ns <= m->points[0].time_ns)
        return m->points[0].joules;
    while (*at + 2 < m->count && m->points[*at + 1].time_ns <= time_ns)
        ++*at;
    const struct point *p = &m->points[*at];
    double part = (double)(time_ns - p[0].time_ns) / (double)(p[1].time_ns - p[0].time_ns);
    return p[0].joules + (part < 1 ? part : 1) * (p[1].joules - p[0].joules);
}

/* Returns the largest energy of any second. A second with the largest energy begins or ends at a point. */
static double largest_second(const struct machine *m)
{
    double largest = 0;
    for (size_t i = 0, before = 0, after = 0; i < m->count; i++) {
        largest = fmax(largest, m->points[i].joules - joules_at(m, m->points[i].time_ns - NS_PER_S, &before));
        largest = fmax(largest, joules_at(m, m->points[i].time_ns + NS_PER_S, &after) - m->points[i].joules);
    }
    return largest;
}

/* Adds 20 requests with prompts of up to 200 tokens in random steps, and computes all steps. */
static void run_load(struct tiny_model *tiny)
{
    enum { REQUESTS = 20, MAX_PROMPT = 200 };
    forge_engine_event event = {.struct_size = sizeof event};
    joule_status status = JOULE_OK;
    for (size_t added = 0, ended = 0; ended < REQUESTS;) {
        while (added < REQUESTS && (status == JOULE_ABSENT || chance_bits() % 4 == 0)) {
            int32_t prompt[MAX_PROMPT];
            for (int i = 0; i < MAX_PROMPT; i++)
                prompt[i] = (int32_t)(chance_bits() % TINY_VOCABULARY);
            tiny_model_add(tiny, prompt, 1 + chance_bits() % MAX_PROMPT, 1 + (uint32_t)(chance_bits() % 50),
                           0);
            added++;
            status = JOULE_OK;
        }
        status = forge_engine_step(tiny->engine, NULL);
        assert_true(status == JOULE_OK || status == JOULE_ABSENT);
        while (forge_engine_next(tiny->engine, &event) == JOULE_OK)
            ended += event.end != FORGE_END_NONE;
    }
}

/* Runs a random load on a machine, which is random except for `period`. Without a limit, it would use more
 * power. */
static void try_machine(unsigned period, struct point *points, forge_speculation speculation)
{
    struct tiny_model tiny;
    double limit = chance_scale(10, 100);
    struct machine m = {.idle_watts = limit * chance_between(0, 0.3),
                        .step_joules = limit * chance_scale(0.01, 0.3),
                        .row_joules = limit * chance_scale(0.001, 0.1),
                        .step_ns = (int64_t)chance_scale(1e6, 1e8),
                        .row_ns = (int64_t)chance_scale(1e4, 1e6),
                        .period = period,
                        .joules = 7,
                        .points = points};
    const forge_energy_source source = {"scripted", read_joules, now_ns, wait_until, &m, m.idle_watts};
    const forge_engine_options options = {.struct_size = sizeof options,
                                          .max_power_watts = limit,
                                          .max_batch_size = 16,
                                          .max_batch_tokens = 256,
                                          .speculation = speculation,
                                          .keeps_draft_tokens = true,
                                          .energy_source = &source};
    add_point(&m);
    tiny_model_open(&tiny, 7, &options);
    m.engine = tiny.engine;
    run_load(&tiny);
    double largest = largest_second(&m), seconds = clock_seconds(m.now_ns);
    assert_true(m.largest_step <= limit);
    assert_true(m.largest_small_step <= limit);
    assert_true(largest <= limit + fmax(m.largest_step, m.largest_small_step));
    double unlimited = m.idle_watts + m.step_joules / clock_seconds(m.step_ns);
    if (period == 1 && unlimited > 2 * limit)
        assert_true(m.joules / seconds > 0.5 * limit); /* the limit is used */
    tiny_model_close(&tiny);
}

static void test_random_loads_keep_the_limit_in_any_second_and_step(void **state)
{
    (void)state;
    struct point *points = calloc(MAX_EVENTS, sizeof *points);
    chance_state = CHANCE_SEED;
    assert_non_null(points);
    for (int i = 0; i < 30; i++)
        try_machine(1, points, i % 4 == 0 ? FORGE_SPECULATION_LOOKUP : FORGE_SPECULATION_NONE);
    free(points);
}

static void test_random_loads_keep_the_limit_if_the_meter_is_slower_than_steps(void **state)
{
    (void)state;
    struct point *points = calloc(MAX_EVENTS, sizeof *points);
    chance_state = CHANCE_SEED;
    assert_non_null(points);
    for (int i = 0; i < 10; i++)
        try_machine(5, points, FORGE_SPECULATION_NONE);
    free(points);
}

/* Without readings, all requests run in large steps. */
static void test_a_limit_has_no_effect_while_the_energy_is_unknown(void **state)
{
    (void)state;
    struct tiny_model tiny;
    struct machine m = {.points = calloc(MAX_EVENTS, sizeof *m.points)};
    const forge_energy_source source = {"none", NULL, now_ns, wait_until, &m, NAN};
    const forge_engine_options options = {
        .struct_size = sizeof options, .max_power_watts = 1, .energy_source = &source};
    forge_engine_facts facts = {.struct_size = sizeof facts};
    assert_non_null(m.points);
    chance_state = CHANCE_SEED;
    tiny_model_open(&tiny, 7, &options);
    run_load(&tiny);
    assert_int_equal(forge_engine_query(tiny.engine, &facts), JOULE_OK);
    assert_true(facts.computed_rows > 3 * facts.computed_steps);
    assert_int_equal(m.now_ns, 0); /* the engine did not wait */
    tiny_model_close(&tiny);
    free(m.points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_loads_keep_the_limit_in_any_second_and_step),
        cmocka_unit_test(test_random_loads_keep_the_limit_if_the_meter_is_slower_than_steps),
        cmocka_unit_test(test_a_limit_has_no_effect_while_the_energy_is_unknown),
    };
    return cmocka_run_group_tests_name("power limit", tests, NULL, NULL);
}
