/* Checks the energy of requests with a scripted meter and clock: all joules are accounted for, budgets end
 * answers, and the power limit holds over any second. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/infer/engine/batch_policy.h"
#include "forge/infer/engine/power_limit.h"
#include "forge/infer/engine/request_energy.h"
#include "forge/ir/operation_cost.h"
#include "support/chance.h"
#include "support/tiny_model.h"

#define NS_PER_S     INT64_C(1000000000)
#define IDLE_WATTS   5.0
#define STEP_JOULES  2.0
#define TOKEN_JOULES 0.5
#define STEP_NS      INT64_C(50000000)

/* A machine that uses IDLE_WATTS, plus STEP_JOULES for each step and TOKEN_JOULES for each token. */
struct machine {
    forge_engine *engine;
    int64_t waited_ns;
    int64_t times_ns[20000]; /* times of the readings, to check the power */
    double joules[20000];
    size_t count;
    uint64_t period; /* steps between two updates of the meter */
    double held;     /* the value that the meter shows until its next update */
    uint64_t held_steps;
};

static forge_engine_facts facts_of(const struct machine *m)
{
    forge_engine_facts facts = {.struct_size = sizeof facts};
    if (m->engine)
        forge_engine_query(m->engine, &facts);
    return facts;
}

static int64_t now_ns(void *context)
{
    const struct machine *m = context;
    return m->waited_ns + (int64_t)facts_of(m).computed_steps * STEP_NS;
}

static void wait_until(void *context, int64_t until_ns)
{
    struct machine *m = context;
    int64_t now = now_ns(m);
    m->waited_ns += until_ns > now ? until_ns - now : 0;
}

static double joules_now(const struct machine *m)
{
    forge_engine_facts facts = facts_of(m);
    return 100 + IDLE_WATTS * (double)now_ns((void *)(uintptr_t)m) * 1e-9 +
           STEP_JOULES * (double)facts.computed_steps + TOKEN_JOULES * (double)facts.computed_rows;
}

static joule_status read_machine(void *context, joule_quantity *out_joules)
{
    struct machine *m = context;
    uint64_t steps = facts_of(m).computed_steps;
    double joules = joules_now(m);
    if (m->count == 0 || steps >= m->held_steps + m->period || m->period <= 1) {
        m->held = joules;
        m->held_steps = steps;
    }
    if (m->count < 20000) {
        m->times_ns[m->count] = now_ns(m);
        m->joules[m->count++] = joules;
    }
    *out_joules = (joule_quantity){m->held, 0.9 * m->held, 1.1 * m->held, JOULE_CLASS_MEASURED, 0};
    return JOULE_OK;
}

static void open_machine(struct tiny_model *tiny, struct machine *m, forge_engine_options *options)
{
    const forge_energy_source source = {"scripted", read_machine, now_ns, wait_until, m, IDLE_WATTS};
    uint64_t period = m->period;
    memset(m, 0, sizeof *m);
    m->period = period;
    options->struct_size = sizeof *options;
    options->energy_source = &source;
    tiny_model_open(tiny, 7, options);
    m->engine = tiny->engine;
}

/* Runs until all requests have ended. Returns the sum of their joules. */
static double run(struct tiny_model *tiny, forge_engine_event ends[64])
{
    forge_engine_event event = {.struct_size = sizeof event};
    double sum = 0;
    while (forge_engine_step(tiny->engine, NULL) == JOULE_OK)
        while (forge_engine_next(tiny->engine, &event) == JOULE_OK)
            if (event.end != FORGE_END_NONE) {
                assert_true(isfinite(event.joules.value) && event.joules.value > 0);
                assert_true(fabs(event.prefill_joules.value + event.decode_joules.value -
                                 event.joules.value) < 1e-9 * event.joules.value);
                assert_true(event.joules.low <= event.joules.value &&
                            event.joules.value <= event.joules.high);
                sum += event.joules.value;
                ends[event.request] = event;
            }
    return sum;
}

static void assert_conserved(const struct machine *m, double sum)
{
    forge_engine_facts facts = facts_of(m);
    double all = facts.request_joules.value + facts.idle_joules.value + facts.unattributed_joules.value;
    assert_true(fabs(all - facts.meter_joules.value) <= 1e-9 * facts.meter_joules.value);
    assert_true(fabs(sum - facts.request_joules.value) <= 1e-9 * facts.meter_joules.value);
    assert_true(fabs(m->held - 100 - facts.meter_joules.value) <= 1e-9 * m->held);
}

/* The meter updates in every step, or in every seventh step. */
static void test_requests_idle_and_unattributed_add_up_to_the_meter(void **state)
{
    (void)state;
    const int32_t prompt[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    chance_state = CHANCE_SEED;
    for (uint64_t period = 1; period <= 7; period += 6) {
        struct machine m = {.period = period};
        struct tiny_model tiny;
        forge_engine_event ends[64];
        double sum = 0;
        open_machine(&tiny, &m, &(forge_engine_options){.max_batch_size = 3, .max_batch_tokens = 8});
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 9; i++)
                tiny_model_add(&tiny, prompt, 1 + chance_bits() % 10, 1 + (uint32_t)(chance_bits() % 20), 0);
            sum += run(&tiny, ends);
            m.waited_ns += NS_PER_S * 3; /* nothing runs for 3 s */
        }
        tiny_model_add(&tiny, prompt, 1, 1, 0);
        sum += run(&tiny, ends);
        assert_conserved(&m, sum);
        if (period == 1)
            assert_true(fabs(facts_of(&m).idle_joules.value - 9 * IDLE_WATTS) < 1e-6);
        tiny_model_close(&tiny);
    }
}

/* Two equal requests that run together cost the same. A request that runs alone costs more than each of
 * them. */
static void test_equal_requests_cost_the_same_and_a_batch_costs_less_per_token(void **state)
{
    (void)state;
    const int32_t prompt[] = {1, 2, 3};
    struct machine m = {.period = 1};
    struct tiny_model tiny;
    forge_engine_event ends[64];
    open_machine(&tiny, &m, &(forge_engine_options){.disables_prefix_cache = true});
    tiny_model_add(&tiny, prompt, 3, 20, 0);
    tiny_model_add(&tiny, prompt, 3, 20, 0);
    run(&tiny, ends);
    assert_true(fabs(ends[1].joules.value - ends[2].joules.value) < 1e-9 * ends[1].joules.value);
    tiny_model_add(&tiny, prompt, 3, 20, 0);
    run(&tiny, ends);
    assert_true(ends[3].joules.value > 1.5 * ends[1].joules.value);
    tiny_model_close(&tiny);
}

/* A meter without error that shows `joules`. */
static joule_status read_exact(void *context, joule_quantity *out_joules)
{
    double joules = *(const double *)context;
    *out_joules = (joule_quantity){joules, joules, joules, JOULE_CLASS_MEASURED, 0};
    return JOULE_OK;
}

static int64_t no_time(void *context)
{
    (void)context;
    return 0;
}

enum { SHARERS = 6 };

/* Runs 100 steps, in which each request has random costs of a kind that differs between requests. A part of
 * the cost really uses factors[part] times the joules that the cost model expects. The meter is read after
 * every `period` steps. Adds the true joules of each request to out_true. */
static void run_shared_steps(struct request_energy *energy, double *meter, const double factors[COST_PARTS],
                             unsigned period, struct spending spendings[SHARERS], double out_true[SHARERS])
{
    for (unsigned step = 1; step <= 100; step++) {
        for (int i = 0; i < SHARERS; i++) {
            struct row_cost cost;
            for (int part = 0; part < COST_PARTS; part++) {
                cost.joules[part] = chance_scale(0.1, 1) * (part == i % COST_PARTS ? 3 : 1);
                out_true[i] += factors[part] * cost.joules[part];
                *meter += factors[part] * cost.joules[part];
            }
            request_energy_add(energy, &spendings[i], PHASE_DECODE, &cost, true);
        }
        if (step % period > 0)
            continue;
        double per_weight = request_energy_read(energy);
        for (int i = 0; i < SHARERS; i++)
            request_energy_take(energy, &spendings[i], per_weight);
    }
}

/* The interval is a 90 % interval: the errors of the cost model have the standard deviation that it states.
 * The last joules are expected if 100 is not a multiple of the period. */
static void test_intervals_contain_the_error_of_the_division(void **state)
{
    (void)state;
    enum { TRIALS = 400 };
    chance_state = CHANCE_SEED;
    for (unsigned period = 1; period <= 7; period += 3) {
        double inside = 0, width = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            double meter = 1, factors[COST_PARTS], joules[SHARERS] = {0}, sum = 0;
            const forge_energy_source source = {"exact", read_exact, no_time, NULL, &meter, NAN};
            struct spending spendings[SHARERS] = {0};
            struct request_energy energy;
            for (int part = 0; part < COST_PARTS; part++)
                factors[part] = exp(COST_JOULES_LOG_SD * chance_normal());
            request_energy_open(&energy, &source, NULL, NULL);
            run_shared_steps(&energy, &meter, factors, period, spendings, joules);
            for (int i = 0; i < SHARERS; i++) {
                joule_quantity q = request_energy_spent(&energy, &spendings[i], SPENDING_PHASES);
                assert_true(q.low <= q.value && q.value <= q.high);
                assert_int_equal(q.cls, JOULE_CLASS_MODELLED);
                inside += (double)(q.low <= joules[i] && joules[i] <= q.high) / (SHARERS * TRIALS);
                width += log(q.high / q.low) / (SHARERS * TRIALS);
                sum += q.value;
            }
            assert_true(period > 1 || fabs(sum - (meter - 1)) < 1e-9 * meter);
        }
        assert_true(inside > 0.85 && inside < 0.97);
        assert_true(width < log(4));
    }
}

static void test_a_request_that_runs_alone_has_the_interval_of_the_meter(void **state)
{
    (void)state;
    const int32_t prompt[] = {1, 2, 3};
    struct machine m = {.period = 1};
    struct tiny_model tiny;
    forge_engine_event ends[64];
    open_machine(&tiny, &m, &(forge_engine_options){.max_batch_size = 1});
    tiny_model_add(&tiny, prompt, 3, 20, 0);
    tiny_model_add(&tiny, prompt, 3, 20, 0);
    run(&tiny, ends);
    for (int i = 1; i <= 2; i++) {
        const joule_quantity *q = &ends[i].joules;
        assert_int_equal(q->cls, JOULE_CLASS_DERIVED);
        assert_true(fabs(q->low / q->value - 0.9) < 1e-9 && fabs(q->high / q->value - 1.1) < 1e-9);
    }
    tiny_model_close(&tiny);
}

/* Requests are cancelled while they run and while they wait. */
static void test_cancelled_requests_keep_the_joules_that_they_used(void **state)
{
    (void)state;
    const int32_t prompt[] = {1, 2, 3};
    for (uint64_t period = 1; period <= 7; period += 6) {
        struct machine m = {.period = period};
        struct tiny_model tiny;
        forge_engine_event event = {.struct_size = sizeof event};
        double sum = 0;
        open_machine(&tiny, &m, &(forge_engine_options){.max_batch_size = 2});
        for (int i = 0; i < 6; i++)
            tiny_model_add(&tiny, prompt, 3, 20, 0);
        for (int step = 0; forge_engine_step(tiny.engine, NULL) == JOULE_OK; step++) {
            if (step == 9) {
                forge_engine_cancel(tiny.engine, 1); /* runs */
                forge_engine_cancel(tiny.engine, 5); /* waits */
                forge_engine_cancel(tiny.engine, 5);
                forge_engine_cancel(tiny.engine, 99);
            }
            while (forge_engine_next(tiny.engine, &event) == JOULE_OK) {
                bool is_cancelled = event.request == 1 || event.request == 5;
                if (event.end == FORGE_END_NONE)
                    continue;
                assert_int_equal(event.end, is_cancelled ? FORGE_END_CANCELLED : FORGE_END_LENGTH);
                assert_true(event.request == 5 ? event.joules.value == 0 : event.joules.value > 0);
                sum += event.joules.value;
            }
        }
        assert_conserved(&m, sum);
        tiny_model_close(&tiny);
    }
}

static void test_no_request_exceeds_its_budget_by_more_than_a_step(void **state)
{
    (void)state;
    const int32_t prompt[] = {1, 2, 3, 4};
    struct machine m = {.period = 1};
    struct tiny_model tiny;
    forge_engine_event ends[64];
    open_machine(&tiny, &m, &(forge_engine_options){.max_batch_size = 4});
    for (int i = 0; i < 12; i++)
        tiny_model_add(&tiny, prompt, 4, 60, 8 + 3 * i);
    double sum = run(&tiny, ends);
    for (uint64_t id = 1; id <= 12; id++) {
        assert_true(ends[id].budget_joules == 8 + 3 * (double)(id - 1));
        assert_true(ends[id].joules.value <= ends[id].budget_joules + STEP_JOULES + 4 * TOKEN_JOULES + 0.25);
        if (ends[id].end == FORGE_END_ENERGY)
            assert_true(ends[id].joules.value >
                        ends[id].budget_joules - STEP_JOULES - 4 * TOKEN_JOULES - 0.25);
    }
    assert_int_equal(ends[1].end, FORGE_END_ENERGY);
    assert_true(facts_of(&m).energy_limited > 0);
    assert_conserved(&m, sum);
    /* The cost of a prompt is known now, so a smaller budget is refused. */
    uint64_t id;
    joule_error error = {0};
    forge_request request = {.struct_size = sizeof request,
                             .prompt = prompt,
                             .prompt_count = 4,
                             .sampling = forge_sampling_default(),
                             .max_joules = 0.01};
    assert_int_equal(forge_engine_add(tiny.engine, &request, &id, &error), JOULE_INVALID);
    assert_non_null(strstr(error.message, "max_joules"));
    tiny_model_close(&tiny);
}

/* Returns the largest energy of any second from second `first` on while 12 requests run with a limit. */
static double largest_second(uint64_t period, double max_watts, int first)
{
    const int32_t prompt[] = {1, 2, 3, 4, 5, 6};
    static struct machine m;
    struct tiny_model tiny;
    forge_engine_event ends[64];
    double largest = 0;
    m.period = period;
    open_machine(&tiny, &m, &(forge_engine_options){.max_power_watts = max_watts, .max_batch_size = 4});
    for (int i = 0; i < 12; i++)
        tiny_model_add(&tiny, prompt, 6, 30, 0);
    run(&tiny, ends);
    for (size_t end = 0, begin = 0; end < m.count; end++) {
        while (m.times_ns[end] - m.times_ns[begin] > NS_PER_S)
            begin++;
        if (m.times_ns[begin] >= first * NS_PER_S)
            largest = fmax(largest, m.joules[end] - m.joules[begin]);
    }
    assert_true(m.count < 20000);
    tiny_model_close(&tiny);
    return largest;
}

/* Without a limit, the machine would use at least about 5 + 2.5 / 0.05 = 55 W. */
static void test_the_power_limit_holds_over_any_second_to_one_step(void **state)
{
    (void)state;
    enum { LIMIT = 30 };
    double largest = largest_second(1, LIMIT, 0);
    assert_true(largest > 0.6 * LIMIT);
    assert_true(largest <= LIMIT + STEP_JOULES + 24 * TOKEN_JOULES + IDLE_WATTS * 0.05);
}

/* The steps since the last reading count with their expected joules, which are known after the first one. */
static void test_the_power_limit_holds_if_the_meter_is_slower_than_the_steps(void **state)
{
    (void)state;
    enum { LIMIT = 30 };
    double largest = largest_second(15, LIMIT, 3);
    /* Much is left unused, because the joules of 15 steps are only expected until the meter has a reading. */
    assert_true(largest > LIMIT / 3);
    assert_true(largest <= LIMIT + STEP_JOULES + 24 * TOKEN_JOULES + IDLE_WATTS * 0.05);
}

/* A machine that uses 100 W, with readings every 1 to 40 ms. */
static void test_the_power_limit_sees_the_whole_last_second(void **state)
{
    (void)state;
    struct power_limit limit;
    for (int period_ms = 1; period_ms <= 40; period_ms++) {
        int64_t step_ns = period_ms * INT64_C(1000000);
        power_limit_open(&limit, 80, NAN);
        for (int64_t time_ns = 0; time_ns <= 3 * NS_PER_S; time_ns += step_ns)
            power_limit_add(&limit, time_ns, 100e-9 * (double)time_ns);
        assert_true(fabs(power_limit_watts(&limit) - 100) < 1e-6);
        int64_t wait_ns = power_limit_wait_ns(&limit, 0);
        assert_true(wait_ns >= NS_PER_S / 5 - 1000 && wait_ns <= NS_PER_S / 5 + NS_PER_S / 100);
    }
    power_limit_open(&limit, 80, NAN);
    power_limit_add(&limit, 7, 1);
    power_limit_add(&limit, 7, 2);
    assert_true(isnan(power_limit_watts(&limit)));
}

/* --- batch sizes ---------------------------------------------------------------------------------------- */

/* Returns the mean number of rows per step. 64 requests wait, and a step of n rows uses cost(n) joules. */
static double mean_batch(double (*cost)(double rows), forge_objective objective)
{
    struct batch_policy policy = {.objective = objective};
    struct step_times times = {0};
    double rows = 0;
    enum { STEPS = 400 };
    for (int step = 0; step < STEPS; step++) {
        size_t size = batch_policy_sequences(&policy, &times, 64);
        batch_policy_add_step(&policy, size, size);
        batch_policy_add_joules(&policy, cost((double)size));
        rows += step >= STEPS / 2 ? (double)size : 0;
    }
    return rows / (STEPS / 2);
}

static double linear_cost(double rows)
{
    return STEP_JOULES + TOKEN_JOULES * rows;
}

static double steep_cost(double rows)
{
    return 2 + 0.1 * rows * rows; /* 2 / rows + 0.1 rows is smallest at sqrt(2 / 0.1) = 4.5 rows */
}

static void test_the_objective_energy_finds_the_cheapest_batch_size(void **state)
{
    (void)state;
    assert_true(mean_batch(linear_cost, FORGE_OBJECTIVE_ENERGY) == 64);
    assert_true(mean_batch(steep_cost, FORGE_OBJECTIVE_ENERGY) == 4);
    assert_true(mean_batch(steep_cost, FORGE_OBJECTIVE_THROUGHPUT) == 64);
}

static void test_the_objective_latency_limits_steps_to_twice_the_time_of_one_row(void **state)
{
    (void)state;
    struct batch_policy policy = {.objective = FORGE_OBJECTIVE_LATENCY};
    struct step_times times = {0};
    assert_int_equal(batch_policy_sequences(&policy, &times, 64), 64);
    for (int i = 0; i < 100; i++)
        step_times_add(&times, 1 + i % 8, 0.009 + 0.001 * (1 + i % 8));
    /* A step of n rows takes 9 + n ms, and 9 + 11 = 2 (9 + 1). */
    assert_int_equal(batch_policy_sequences(&policy, &times, 64), 11);
    assert_int_equal(batch_policy_rows(&policy, &times, 512), 16);
}

/* Tests the engine instead of its policy: with the objective energy, a batch contains several requests. */
static void test_an_engine_with_the_objective_energy_ends_all_requests_in_large_batches(void **state)
{
    (void)state;
    const int32_t prompt[] = {1, 2, 3};
    struct machine m = {.period = 1};
    struct tiny_model tiny;
    forge_engine_event ends[64];
    open_machine(&tiny, &m,
                 &(forge_engine_options){.objective = FORGE_OBJECTIVE_ENERGY, .max_batch_size = 16});
    for (int i = 0; i < 40; i++)
        tiny_model_add(&tiny, prompt, 3, 20, 0);
    double sum = run(&tiny, ends);
    forge_engine_facts facts = facts_of(&m);
    assert_true((double)facts.computed_rows / (double)facts.computed_steps > 4);
    assert_conserved(&m, sum);
    tiny_model_close(&tiny);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_idle_and_unattributed_add_up_to_the_meter),
        cmocka_unit_test(test_equal_requests_cost_the_same_and_a_batch_costs_less_per_token),
        cmocka_unit_test(test_intervals_contain_the_error_of_the_division),
        cmocka_unit_test(test_a_request_that_runs_alone_has_the_interval_of_the_meter),
        cmocka_unit_test(test_cancelled_requests_keep_the_joules_that_they_used),
        cmocka_unit_test(test_no_request_exceeds_its_budget_by_more_than_a_step),
        cmocka_unit_test(test_the_power_limit_holds_over_any_second_to_one_step),
        cmocka_unit_test(test_the_power_limit_holds_if_the_meter_is_slower_than_the_steps),
        cmocka_unit_test(test_the_power_limit_sees_the_whole_last_second),
        cmocka_unit_test(test_the_objective_energy_finds_the_cheapest_batch_size),
        cmocka_unit_test(test_the_objective_latency_limits_steps_to_twice_the_time_of_one_row),
        cmocka_unit_test(test_an_engine_with_the_objective_energy_ends_all_requests_in_large_batches),
    };
    return cmocka_run_group_tests_name("energy of requests", tests, NULL, NULL);
}
