/* Checks the attribution of a meter's joules to operations. The machine is simulated in virtual time, so its
 * true joules are known.
 *
 * The machine repeats a step of about a second: 24 operations of 8 classes. Each class has its own watts
 * above idle power, operations differ slightly from their class, and idle power drifts. The initial cost
 * model is wrong by about 30 % for each class. A meter with noise ticks every 10 ms or every 1 s. Run with
 * the argument "report" to print the results. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/runtime/attribution.h"

enum { CLASSES = 8, OPERATIONS = 24, GROUPS = OPERATIONS + 1, BETWEEN = OPERATIONS, STEPS = 200 };

#define KIND_LOG_SD 0.3
#define OWN_LOG_SD  0.05
#define IDLE_WATTS  30.0

/* --- chance --------------------------------------------------------------------------------------------- */

/* Returns a random number from 0 to 1 (SplitMix64), the same sequence on every machine. */
static double uniform(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(uniform(state)));
    return radius * cos(6.283185307179586 * uniform(state));
}

/* --- the machine ---------------------------------------------------------------------------------------- */

struct machine {
    uint64_t chance;
    double watts[GROUPS];     /* power of the machine while the group runs, without drift */
    double typical_s[GROUPS]; /* typical seconds of one launch */
    double drift_watts;       /* amplitude of the drift; 0: no drift */
    double now_s;
    double joules[GROUPS], seconds[GROUPS];           /* true values of each group */
    double window_joules, window_s, active_s[GROUPS]; /* values since the last tick */
};

struct meter {
    double period_s, noise; /* noise: standard deviation of a window's joules, relative to the joules */
    /* true: errors are those of a counter, so an error at a tick increases one window and decreases the next
     * one */
    bool errs_at_ticks;
    double claim;      /* standard deviation that the meter states, relative to the true one */
    double seen;       /* joules that the meter has reported */
    double last_error; /* error of the last tick, in J */
};

static double drift_integral(const struct machine *m, double t)
{
    /* The drift is a warm-up with a time constant of 30 s, and an oscillation with a period of about two
     * minutes. */
    return m->drift_watts * (t + 30 * exp(-t / 30) - 10 * cos(t / 20));
}

static void machine_make(struct machine *m, uint64_t seed, struct attribution_group *prior)
{
    double class_watts[CLASSES], model[CLASSES];
    *m = (struct machine){.chance = seed, .drift_watts = 4};
    for (int c = 0; c < CLASSES; c++) {
        class_watts[c] = IDLE_WATTS + 10 * pow(15, uniform(&m->chance));
        model[c] = class_watts[c] * exp(KIND_LOG_SD * normal(&m->chance));
    }
    for (int i = 0; i < OPERATIONS; i++) {
        int c = i % CLASSES;
        m->watts[i] = class_watts[c] * exp(OWN_LOG_SD * normal(&m->chance));
        m->typical_s[i] = 4e-3 * pow(30, uniform(&m->chance));
        prior[i] = (struct attribution_group){model[c], (uint32_t)c, KIND_LOG_SD, OWN_LOG_SD};
    }
    m->watts[BETWEEN] = IDLE_WATTS + 5;
    m->typical_s[BETWEEN] = 16e-3;
    prior[BETWEEN] = (struct attribution_group){m->watts[BETWEEN] * exp(KIND_LOG_SD * normal(&m->chance)),
                                                CLASSES, KIND_LOG_SD, OWN_LOG_SD};
}

static double error_of(struct machine *m, struct meter *meter, double sd)
{
    if (!meter->errs_at_ticks)
        return sd * normal(&m->chance);
    double before = meter->last_error;
    meter->last_error = sd * sqrt(0.5) * normal(&m->chance);
    return meter->last_error - before;
}

static void tick(struct machine *m, struct meter *meter, struct attribution *a)
{
    double sd = meter->noise * m->window_joules;
    struct attribution_window window = {.seconds = m->window_s, .variance = pow(meter->claim * sd, 2)};
    window.joules = m->window_joules + error_of(m, meter, sd);
    meter->seen += window.joules;
    attribution_add_window(a, &window, m->active_s);
    m->window_joules = m->window_s = 0;
    memset(m->active_s, 0, sizeof m->active_s);
}

/* Lets a group run for `seconds`, and performs all ticks of the meter during this time. */
static void launch(struct machine *m, struct meter *meter, struct attribution *a, int group, double seconds)
{
    while (seconds > 0) {
        double left_s = meter->period_s - m->window_s, s = fmin(seconds, left_s);
        double joules = m->watts[group] * s + drift_integral(m, m->now_s + s) - drift_integral(m, m->now_s);
        m->now_s += s;
        m->window_s += s;
        m->window_joules += joules;
        m->active_s[group] += s;
        m->joules[group] += joules;
        m->seconds[group] += s;
        seconds -= s;
        if (s == left_s)
            tick(m, meter, a);
    }
}

static void run_steps(struct machine *m, struct meter *meter, struct attribution *a, int steps)
{
    for (int step = 0; step < steps; step++)
        for (int i = 0; i < GROUPS; i++)
            launch(m, meter, a, i, m->typical_s[i] * exp(0.02 * normal(&m->chance)));
    if (m->window_s > 0) /* the window since the last tick */
        tick(m, meter, a);
}

/* --- verdicts ------------------------------------------------------------------------------------------- */

struct verdict {
    /* operations: number of operations with at least 1 % of the energy. covered: number of these whose true
     * energy is in the 90 % interval. */
    int operations, covered;
    double worst, worst_by_time, squares, squares_by_time;
};

static struct attribution_answer *solve(const struct attribution *a, const struct attribution_group *prior)
{
    struct attribution_answer *answer = NULL;
    struct attribution_meter meter = {JOULE_CLASS_MEASURED, 0};
    assert_int_equal(attribution_solve(a, prior, &meter, &answer), JOULE_OK);
    return answer;
}

static joule_quantity quantity(const struct attribution_answer *answer, size_t group, size_t count)
{
    double part[GROUPS] = {0};
    assert_true(count <= GROUPS && group < count);
    part[group] = 1;
    return attribution_sum(answer, part);
}

static void assert_adds_up(const struct attribution_answer *answer, size_t count, double joules)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += attribution_joules(answer, i);
    assert_true(fabs(sum - joules) <= 1e-9 * joules);
}

static void judge(const struct machine *m, const struct attribution_answer *answer, struct verdict *v)
{
    double joules = 0, seconds = 0;
    for (int i = 0; i < GROUPS; i++) {
        joules += m->joules[i];
        seconds += m->seconds[i];
    }
    for (int i = 0; i < GROUPS; i++) {
        if (m->joules[i] < 0.01 * joules)
            continue;
        joule_quantity q = quantity(answer, (size_t)i, GROUPS);
        double error = q.value / m->joules[i] - 1;
        double by_time = joules * m->seconds[i] / seconds / m->joules[i] - 1;
        v->operations++;
        v->covered += q.low <= m->joules[i] && m->joules[i] <= q.high;
        v->worst = fmax(v->worst, fabs(error));
        v->worst_by_time = fmax(v->worst_by_time, fabs(by_time));
        v->squares += error * error;
        v->squares_by_time += by_time * by_time;
    }
}

struct trial {
    struct meter meter;
    int seeds;
    double drift_watts;
    double speed; /* speed of the machine: a step takes about 1 / speed seconds */
};

static struct verdict simulate(struct trial t)
{
    struct verdict v = {0};
    for (int seed = 1; seed <= t.seeds; seed++) {
        struct attribution_group prior[GROUPS];
        struct machine m;
        struct meter meter = t.meter;
        machine_make(&m, (uint64_t)seed, prior);
        m.drift_watts = t.drift_watts;
        for (int i = 0; i < GROUPS; i++)
            m.typical_s[i] /= t.speed;
        struct attribution *a = attribution_new(GROUPS);
        assert_non_null(a);
        run_steps(&m, &meter, a, STEPS);
        struct attribution_answer *answer = solve(a, prior);
        assert_adds_up(answer, GROUPS, meter.seen);
        judge(&m, answer, &v);
        attribution_answer_free(answer);
        attribution_free(a);
    }
    return v;
}

static double covered(const struct verdict *v)
{
    return (double)v->covered / v->operations;
}

static double rms(double squares, const struct verdict *v)
{
    return sqrt(squares / v->operations);
}

/* Both trials have the same sensor, which they read every 10 ms and every 1 s. The noise is white, so the
 * relative error over 1 s is a tenth of the error over 10 ms. */
static const struct trial fast = {{.period_s = 0.01, .noise = 0.01, .claim = 1}, 12, 4, 1},
                          slow = {{.period_s = 1, .noise = 0.001, .claim = 1}, 60, 4, 1};

static void assert_recovers(const struct verdict *v, double within)
{
    assert_true(v->operations > 200);
    assert_true(v->worst <= within);
    assert_true(covered(v) >= 0.85 && covered(v) <= 0.95);
    assert_true(v->worst_by_time >= 3 * v->worst);
    assert_true(rms(v->squares_by_time, v) >= 3 * rms(v->squares, v));
}

static void test_a_meter_of_10_ms(void **state)
{
    (void)state;
    struct verdict v = simulate(fast);
    assert_recovers(&v, 0.1);
}

static void test_a_meter_of_1_s(void **state)
{
    (void)state;
    struct verdict v = simulate(slow);
    assert_recovers(&v, 0.2);
}

/* A wrong statement of the meter about its noise has only a small effect. */
static void test_a_meter_that_is_wrong_about_itself(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct trial t = slow;
        t.seeds = 30;
        t.meter.claim = i ? 5 : 0.2;
        struct verdict v = simulate(t);
        assert_true(v.worst <= 0.25 && covered(&v) >= 0.85 && covered(&v) <= 0.97);
    }
}

/* Intervals contain the true energy for meters with the errors of counters, for meters with the errors of
 * power sensors, and with few windows. */
static void test_intervals_contain_the_truth_for_other_meters(void **state)
{
    (void)state;
    struct trial counter = slow, quick = slow, still = slow;
    counter.meter.errs_at_ticks = true;
    quick.speed = 4;
    still.drift_watts = 0;
    struct verdict of[] = {simulate(counter), simulate(quick), simulate(still)};
    for (int i = 0; i < 3; i++)
        assert_true(covered(&of[i]) >= 0.85 && covered(&of[i]) <= 0.97);
}

/* --- hand-made cases ------------------------------------------------------------------------------------ */

static void feed(struct attribution *a, double joules, const double *active_s, size_t count)
{
    struct attribution_window window = {.joules = joules, .variance = 1e-6};
    for (size_t i = 0; i < count; i++)
        window.seconds += active_s[i];
    attribution_add_window(a, &window, active_s);
}

/* Two classes always run for the same time, and a third one varies. The prior is far off for the first
 * two. */
static void test_items_that_always_run_together_are_a_group(void **state)
{
    (void)state;
    enum { A, B, C, COUNT };
    struct attribution_group prior[] = {{50, 0, 0.5, 0.1}, {50, 1, 0.5, 0.1}, {50, 2, 0.5, 0.1}};
    struct attribution *a = attribution_new(COUNT);
    for (int i = 0; i < 100; i++) {
        double both_s = 0.001 * (2 + i % 5), active_s[] = {both_s, both_s, 0.02 - 2 * both_s};
        feed(a, 90 * both_s + 30 * both_s + 20 * active_s[C] + 1e-4 * (i % 3 - 1), active_s, COUNT);
    }
    struct attribution_answer *answer = solve(a, prior);
    size_t set[COUNT];
    assert_int_equal(attribution_merge(answer, set), JOULE_OK);
    assert_true(set[A] == A && set[B] == A && set[C] == C);
    double both = 120 * attribution_seconds(answer, A);
    joule_quantity together = attribution_sum(answer, (double[]){1, 1, 0}),
                   first = quantity(answer, A, COUNT), third = quantity(answer, C, COUNT);
    assert_float_equal(together.value, both, 0.01 * both);
    assert_true(together.high - together.low < 0.05 * both && together.cls == JOULE_CLASS_DERIVED);
    assert_true(first.high - first.low > 0.3 * both && first.cls == JOULE_CLASS_MODELLED);
    assert_true(first.low < 0.75 * both && first.high > 0.75 * both);
    assert_true(third.cls == JOULE_CLASS_DERIVED);
    attribution_answer_free(answer);
    /* If the cost model is precise for both classes, they are not joined. */
    prior[A] = prior[B] = (struct attribution_group){50, 0, 0.5, 0.02};
    answer = solve(a, prior);
    assert_int_equal(attribution_merge(answer, set), JOULE_OK);
    assert_true(set[A] == A && set[B] == B && set[C] == C);
    attribution_answer_free(answer);
    attribution_free(a);
}

static void test_one_window_is_shared_out_by_the_model(void **state)
{
    (void)state;
    struct attribution_group prior[] = {{20, 0, 0.3, 0.1}, {60, 1, 0.3, 0.1}, {10, 2, 0.3, 0.1}};
    struct attribution *a = attribution_new(3);
    feed(a, 11, (double[]){0.1, 0.05, 0.06}, 3);
    struct attribution_answer *answer = solve(a, prior);
    assert_adds_up(answer, 3, 11);
    joule_quantity q[3];
    for (size_t i = 0; i < 3; i++)
        q[i] = quantity(answer, i, 3);
    assert_float_equal(q[0].value, 11 * 2 / 5.6, 1e-6);
    assert_float_equal(q[1].value, 11 * 3 / 5.6, 1e-6);
    assert_true(q[0].cls == JOULE_CLASS_MODELLED && q[0].low < 3.5 && q[0].high > 4.5);
    joule_quantity all = attribution_sum(answer, (double[]){1, 1, 1});
    joule_quantity half = attribution_sum(answer, (double[]){0.5, 0, 0});
    assert_float_equal(half.value, 0.5 * q[0].value, 1e-9);
    assert_float_equal(half.high, 0.5 * q[0].high, 1e-9);
    /* the sum needs no attribution, so its class is not MODELLED */
    assert_true(all.cls == JOULE_CLASS_DERIVED);
    assert_float_equal(all.value, 11, 1e-9);
    attribution_answer_free(answer);
    attribution_free(a);
}

/* An operation that never ran used no energy. Windows without energy, without duration or with invalid values
 * change nothing. */
static void test_unused_operations_get_no_energy(void **state)
{
    (void)state;
    struct attribution_group prior[] = {{40, 0, 0.3, 0.1}, {40, 1, 0.3, 0.1}, {40, 2, 0.3, 0.1}};
    struct attribution *a = attribution_new(3);
    double seen = 0, run_s = 0;
    for (int i = 0; i < 50; i++) {
        double active_s[] = {0.001 * (i % 7), 0, 0.01 - 0.001 * (i % 7)};
        double joules = 80 * active_s[0] + 25 * active_s[2];
        if (i % 4 == 1) {
            feed(a, NAN, active_s, 3);
            continue;
        }
        feed(a, joules, active_s, 3);
        feed(a, 1, (double[]){0, 0, 0}, 3);
        feed(a, 1, (double[]){NAN, 0, 0}, 3);
        seen += joules;
        run_s += active_s[0];
    }
    struct attribution_answer *answer = solve(a, prior);
    assert_adds_up(answer, 3, seen);
    joule_quantity never = quantity(answer, 1, 3), first = quantity(answer, 0, 3);
    assert_true(never.value == 0 && never.low == 0 && never.high == 0);
    assert_float_equal(attribution_seconds(answer, 0), run_s, 1e-12);
    assert_float_equal(first.value, 80 * run_s, 0.01 * 80 * run_s);
    size_t set[3];
    assert_int_equal(attribution_merge(answer, set), JOULE_OK);
    assert_true(set[0] == 0 && set[1] == 1 && set[2] == 2);
    attribution_answer_free(answer);
    attribution_free(a);
}

static void test_without_windows_there_is_no_answer(void **state)
{
    (void)state;
    struct attribution_group prior[] = {{40, 0, 0.3, 0.1}, {40, 0, 0.3, 0.1}};
    struct attribution_meter meter = {JOULE_CLASS_MEASURED, 0};
    struct attribution_answer *answer = NULL;
    struct attribution *a = attribution_new(2);
    assert_int_equal(attribution_solve(a, prior, &meter, &answer), JOULE_PENDING);
    feed(a, NAN, (double[]){1, 1}, 2);
    assert_int_equal(attribution_solve(a, prior, &meter, &answer), JOULE_PENDING);
    feed(a, 5, (double[]){1, 1}, 2);
    prior[1].watts = 0;
    assert_int_equal(attribution_solve(a, prior, &meter, &answer), JOULE_INVALID);
    prior[1].watts = NAN;
    assert_int_equal(attribution_solve(a, prior, &meter, &answer), JOULE_INVALID);
    assert_null(answer);
    attribution_free(a);
}

/* An operation's share is never more certain than the total. */
static void test_a_meter_lends_its_class_and_error(void **state)
{
    (void)state;
    struct attribution_group prior[] = {{40, 0, 0.3, 0.1}, {40, 1, 0.3, 0.1}};
    struct attribution *a = attribution_new(2);
    for (int i = 0; i < 50; i++) {
        double active_s[] = {0.001 * (i % 7), 0.01 - 0.001 * (i % 7)};
        feed(a, 80 * active_s[0] + 25 * active_s[1] + 1e-4 * (i % 3 - 1), active_s, 2);
    }
    static const joule_class classes[] = {JOULE_CLASS_MEASURED, JOULE_CLASS_DERIVED, JOULE_CLASS_MODELLED,
                                          JOULE_CLASS_ASSUMED};
    for (size_t i = 0; i < 4; i++) {
        struct attribution_meter meter = {classes[i], 0.1};
        struct attribution_answer *answer;
        assert_int_equal(attribution_solve(a, prior, &meter, &answer), JOULE_OK);
        joule_quantity q = quantity(answer, 0, 2);
        assert_int_equal(q.cls, i < 2 ? JOULE_CLASS_DERIVED : classes[i]);
        assert_true(q.low < 0.87 * q.value && q.high > 1.16 * q.value);
        attribution_answer_free(answer);
    }
    attribution_free(a);
}

/* --- figures -------------------------------------------------------------------------------------------- */

static void report(const char *what, struct trial t)
{
    struct verdict v = simulate(t);
    printf("%-28s %4d operations: worst %5.1f %%, rms %5.2f %%; by time: worst %5.1f %%, rms %4.1f %%; "
           "90 %% intervals hold %.1f %%\n",
           what, v.operations, v.worst * 100, rms(v.squares, &v) * 100, v.worst_by_time * 100,
           rms(v.squares_by_time, &v) * 100, covered(&v) * 100);
}

static int report_all(void)
{
    for (int i = 0; i < 2; i++) {
        struct trial t = i ? slow : fast, noisy = t, still = t, counter = t, quick = t;
        noisy.meter.noise *= 3;
        still.drift_watts = 0;
        counter.meter.errs_at_ticks = true;
        quick.speed = 4;
        report(i ? "1 s" : "10 ms", t);
        report("  3 x the noise", noisy);
        report("  no drift", still);
        report("  noise of ticks", counter);
        report("  steps of 0.2 s", quick);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "report") == 0)
        return report_all();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_meter_of_10_ms),
        cmocka_unit_test(test_a_meter_of_1_s),
        cmocka_unit_test(test_a_meter_that_is_wrong_about_itself),
        cmocka_unit_test(test_intervals_contain_the_truth_for_other_meters),
        cmocka_unit_test(test_items_that_always_run_together_are_a_group),
        cmocka_unit_test(test_one_window_is_shared_out_by_the_model),
        cmocka_unit_test(test_unused_operations_get_no_energy),
        cmocka_unit_test(test_without_windows_there_is_no_answer),
        cmocka_unit_test(test_a_meter_lends_its_class_and_error),
    };
    return cmocka_run_group_tests_name("attribution", tests, NULL, NULL);
}
