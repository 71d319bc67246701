/* Checks which verdicts may be called proved, the probabilities at which verdicts change, and intervals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "joulec/verdict/verdict.h"

#define NEAR(a, b) assert_true(fabs((double)(a) - (double)(b)) <= 1e-6 * fabs((double)(b)))

static const struct cost_cpu server = {"intel", 6, 85, "", 2, 40, 80, false};

struct trial {
    struct target target;
    struct cost_cooling cooling;
    struct amounts call;
    enum basis basis;
    bool has_guess;
    bool is_variable;
};

/* Returns a trial with 1000, 2000 and 8000 operations at the three bounds. Two operations take one cycle. */
static struct trial trial_of(joule_class cls)
{
    static const double ops[BOUNDS] = {1000, 2000, 8000};
    struct trial t = {.basis = BASIS_EXACT};
    cost_core_describe(&server, NAN, &t.target.core);
    cost_core_table(&server, &t.target.table);
    cost_cooling_describe(&server, &t.cooling);
    t.target.table.cls = cls;
    for (int b = 0; b < BOUNDS; b++) {
        struct cost_features *work = &t.call.of[b];
        work->version = COST_VERSION;
        work->amount[COST_UOPS] = work->amount[COST_INT_OPS] = ops[b];
        work->amount[COST_CYCLES] = ops[b] / 2;
    }
    return t;
}

static struct judgement judge_by(const struct trial *t, const struct budget_text *budget)
{
    struct judgement out;
    judge(&t->target,
          &(struct function_sum){
              .call = t->call, .basis = t->basis, .is_variable = t->is_variable, .has_guess = t->has_guess},
          &t->cooling, budget, &out);
    return out;
}

static struct judgement judge_joules(const struct trial *t, double max_joules)
{
    struct budget_text budget = {max_joules, NAN, NAN, false, true};
    return judge_by(t, &budget);
}

static enum verdict verdict_at(const struct trial *t, double max_joules)
{
    struct judgement j = judge_joules(t, max_joules);
    assert_int_equal(j.worst, j.joules_limit.verdict);
    return j.joules_limit.verdict;
}

static void check_figure(const struct figure *f)
{
    const double rounding = 1 + 1e-9;
    assert_true(f->min > 0 && f->min <= f->low * rounding && f->low < f->est);
    assert_true(f->est < f->high && f->high <= f->max * rounding && isfinite(f->max));
}

static void test_intervals_hold_the_estimate(void **state)
{
    (void)state;
    struct trial t = trial_of(JOULE_CLASS_MEASURED);
    struct judgement j = judge_by(&t, NULL);
    check_figure(&j.joules);
    check_figure(&j.seconds);
    check_figure(&j.watts);
    check_figure(&j.kelvin);
    NEAR(j.joules.est, cost_joules(&t.target.table, &t.call.of[BOUND_EST]));
    NEAR(j.seconds.est, 1000 / t.target.core.hz);
    NEAR(j.watts.est, j.joules.est / j.seconds.est);
    assert_true(j.joules.low < j.joules.est / 2 && j.joules.high > 4 * j.joules.est);
    assert_int_equal(j.worst, VERDICT_NONE);
    assert_true(isnan(j.joules_limit.probability));
}

/* The same work in less time needs more power. The range of power therefore does not follow the range of
 * work. */
static void test_fewer_cycles_are_more_watts(void **state)
{
    (void)state;
    struct trial t = trial_of(JOULE_CLASS_MEASURED);
    for (int b = 0; b < BOUNDS; b++)
        t.call.of[b].amount[COST_UOPS] = t.call.of[b].amount[COST_INT_OPS] = 2000;
    struct judgement j = judge_by(&t, NULL);
    double fast = cost_joules(&t.target.table, &t.call.of[BOUND_LOW]) / (500 / t.target.core.hz);
    double slow = cost_joules(&t.target.table, &t.call.of[BOUND_HIGH]) / (4000 / t.target.core.hz);
    assert_true(slow < j.watts.est && j.watts.est < fast);
    check_figure(&j.watts);
    t.call.of[BOUND_LOW] = t.call.of[BOUND_HIGH] = t.call.of[BOUND_EST];
    double far = judge_by(&t, NULL).watts.max / j.watts.est;
    NEAR(j.watts.max, fast * far);
    NEAR(j.watts.min, slow / far);
}

static void test_no_work_is_within_any_budget(void **state)
{
    (void)state;
    struct trial t = trial_of(JOULE_CLASS_MEASURED);
    for (int b = 0; b < BOUNDS; b++)
        t.call.of[b] = (struct cost_features){.version = COST_VERSION};
    struct judgement j = judge_joules(&t, 1e-12);
    assert_true(j.joules.low <= 0 && j.joules.high <= 0 && j.watts.est <= 0);
    assert_int_equal(j.worst, VERDICT_PROVED);
}

static void test_only_a_measured_table_proves(void **state)
{
    (void)state;
    static const joule_class classes[] = {JOULE_CLASS_NONE, JOULE_CLASS_MEASURED, JOULE_CLASS_DERIVED,
                                          JOULE_CLASS_MODELLED, JOULE_CLASS_ASSUMED};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        struct trial t = trial_of(classes[i]);
        bool is_measured = classes[i] == JOULE_CLASS_MEASURED || classes[i] == JOULE_CLASS_DERIVED;
        struct judgement j = judge_joules(&t, 1.001 * judge_by(&t, NULL).joules.max);
        assert_int_equal(j.worst, is_measured ? VERDICT_PROVED : VERDICT_LIKELY);
        assert_int_equal(j.quality, is_measured ? 'A' : 'E');
    }
}

static void test_guesses_prove_nothing(void **state)
{
    (void)state;
    struct trial t = trial_of(JOULE_CLASS_MEASURED);
    struct figure joules = judge_by(&t, NULL).joules;
    t.basis = BASIS_OPEN;
    assert_int_equal(verdict_at(&t, 1.001 * joules.max), VERDICT_UNDECIDED);
    assert_int_equal(verdict_at(&t, 1e6 * joules.max), VERDICT_UNDECIDED);
    assert_false(judge_joules(&t, 1e6 * joules.max).joules_limit.is_vacuous);
    assert_int_equal(verdict_at(&t, 0.9 * joules.est), VERDICT_UNDECIDED);
    assert_int_equal(verdict_at(&t, 0.999 * joules.min), VERDICT_VIOLATED);
    struct judgement j = judge_joules(&t, 1e6 * joules.max);
    assert_true(isnan(j.joules_limit.probability));
    assert_true(isnan(j.joules.high) && isnan(j.joules.max) && isnan(j.seconds.high) && isnan(j.kelvin.high));
    NEAR(j.joules.low, joules.low);
}

/* The work has bounds and an assumed value between them. A bound may suffice for a verdict. The assumed value
 * never decides a verdict. */
static void test_guesses_within_bounds(void **state)
{
    (void)state;
    struct trial t = trial_of(JOULE_CLASS_MEASURED);
    struct figure joules = judge_by(&t, NULL).joules;
    t.basis = BASIS_BOUNDED;
    t.has_guess = true;
    assert_int_equal(verdict_at(&t, 1.001 * joules.max), VERDICT_PROVED);
    assert_int_equal(verdict_at(&t, 0.9 * joules.est), VERDICT_UNDECIDED);
    assert_int_equal(verdict_at(&t, 1.001 * joules.min), VERDICT_UNDECIDED);
    assert_int_equal(verdict_at(&t, 0.999 * joules.min), VERDICT_VIOLATED);
    assert_int_equal(judge_by(&t, NULL).quality, 'D');
    NEAR(judge_by(&t, NULL).joules.high, joules.high);
    const double undecided[] = {1.001 * joules.min, joules.low, 0.9 * joules.est, 1.01 * joules.est};
    for (size_t i = 0; i < sizeof undecided / sizeof *undecided; i++)
        assert_true(isnan(judge_joules(&t, undecided[i]).joules_limit.probability));
    NEAR(judge_joules(&t, 1e9 * joules.est).joules_limit.probability, 0.9999);
    NEAR(judge_joules(&t, 0.999 * joules.min).joules_limit.probability, 0.0001);
}

static void test_probabilities_are_no_surer_than_the_model(void **state)
{
    (void)state;
    struct trial t = trial_of(JOULE_CLASS_MEASURED);
    double est = judge_by(&t, NULL).joules.est;
    NEAR(judge_joules(&t, 1e9 * est).joules_limit.probability, 0.9999);
    NEAR(judge_joules(&t, est / 1e9).joules_limit.probability, 0.0001);
}

/* Work that cannot be counted may have any size, so there is no upper end and no probability. It may lower
 * the power, because the core may wait during this work. */
static void test_unknown_is_never_0(void **state)
{
    (void)state;
    struct trial t = trial_of(JOULE_CLASS_MEASURED);
    struct judgement known = judge_by(&t, NULL);
    t.basis = BASIS_MISSING;
    struct budget_text budget = {1e6 * known.joules.max, 1e6 * known.watts.max, 1e6 * known.kelvin.max, false,
                                 true};
    struct judgement j = judge_by(&t, &budget);
    NEAR(j.joules.low, known.joules.low);
    NEAR(j.seconds.est, known.seconds.est);
    assert_true(isnan(j.joules.high) && isnan(j.joules.max) && isnan(j.seconds.high) && isnan(j.seconds.max));
    assert_true(isnan(j.watts.low) && isnan(j.watts.high) && isnan(j.kelvin.min) && isnan(j.kelvin.high));
    assert_true(isnan(j.joules_limit.probability) && isnan(j.watts_limit.probability));
    assert_true(isnan(j.kelvin_limit.probability));
    assert_int_equal(j.worst, VERDICT_UNDECIDED);
    assert_false(j.joules_limit.is_vacuous || j.watts_limit.is_vacuous || j.kelvin_limit.is_vacuous);
    assert_int_equal(j.quality, 'E');
    assert_int_equal(verdict_at(&t, 0.999 * known.joules.min), VERDICT_VIOLATED);
    budget = (struct budget_text){NAN, 1e-3 * known.watts.min, NAN, false, false};
    assert_int_equal(judge_by(&t, &budget).worst, VERDICT_UNDECIDED);
}

/* Assumed loop counts may be so uncertain that the printed digits have no meaning. */
static void test_a_vague_figure(void **state)
{
    (void)state;
    struct trial t = trial_of(JOULE_CLASS_MEASURED);
    t.basis = BASIS_OPEN;
    assert_false(judge_by(&t, NULL).is_vague);
    for (int i = 0; i < COST_FEATURES; i++)
        t.call.of[BOUND_HIGH].amount[i] *= 1e5;
    assert_true(judge_by(&t, NULL).is_vague);
    assert_int_equal(judge_by(&t, NULL).quality, 'E');
    t.basis = BASIS_BOUNDED;
    assert_false(judge_by(&t, NULL).is_vague);
}

static void test_quality_follows_the_evidence(void **state)
{
    (void)state;
    struct trial t = trial_of(JOULE_CLASS_MEASURED);
    assert_int_equal(judge_by(&t, NULL).quality, 'A');
    t.basis = BASIS_BOUNDED;
    assert_int_equal(judge_by(&t, NULL).quality, 'B');
    t.basis = BASIS_OBSERVED;
    assert_int_equal(judge_by(&t, NULL).quality, 'C');
    assert_int_equal(verdict_at(&t, 1.001 * judge_by(&t, NULL).joules.max), VERDICT_LIKELY);
    t.basis = BASIS_OPEN;
    assert_int_equal(judge_by(&t, NULL).quality, 'D');
    t.target.table.cls = JOULE_CLASS_ASSUMED;
    assert_int_equal(judge_by(&t, NULL).quality, 'E');
}

static void test_verdicts_follow_probability(void **state)
{
    (void)state;
    struct trial t = trial_of(JOULE_CLASS_MEASURED);
    struct figure f = judge_by(&t, NULL).joules;
    NEAR(judge_joules(&t, f.low).joules_limit.probability, 0.05);
    NEAR(judge_joules(&t, f.est).joules_limit.probability, 0.5);
    NEAR(judge_joules(&t, f.high).joules_limit.probability, 0.95);
    double sd = log(f.high / f.est) / Z90, sure = f.est * exp(1.2815515655446004 * sd);
    NEAR(judge_joules(&t, sure).joules_limit.probability, 0.9);
    assert_int_equal(verdict_at(&t, 1.001 * f.max), VERDICT_PROVED);
    assert_int_equal(verdict_at(&t, 0.999 * f.max), VERDICT_LIKELY);
    assert_int_equal(verdict_at(&t, 1.001 * sure), VERDICT_LIKELY);
    assert_int_equal(verdict_at(&t, 0.999 * sure), VERDICT_UNDECIDED);
    assert_int_equal(verdict_at(&t, 1.001 * f.est), VERDICT_UNDECIDED);
    assert_int_equal(verdict_at(&t, 0.999 * f.est), VERDICT_LIKELY_VIOLATED);
    assert_int_equal(verdict_at(&t, 1.001 * f.min), VERDICT_LIKELY_VIOLATED);
    assert_int_equal(verdict_at(&t, 0.999 * f.min), VERDICT_VIOLATED);
}

static void test_more_is_never_worse(void **state)
{
    (void)state;
    struct trial t = trial_of(JOULE_CLASS_MEASURED);
    for (int guesses = 0; guesses < 2; guesses++) {
        double before = 0, est = judge_by(&t, NULL).joules.est;
        enum verdict worst = VERDICT_VIOLATED;
        t.basis = guesses ? BASIS_OPEN : BASIS_EXACT;
        for (double limit = est / 1e4; limit < est * 1e4; limit *= 1.01) {
            struct limit now = judge_joules(&t, limit).joules_limit;
            assert_true(guesses ? isnan(now.probability) : now.probability >= before && now.probability < 1);
            assert_true(now.verdict <= worst);
            before = now.probability;
            worst = now.verdict;
        }
        assert_int_equal(worst, guesses ? VERDICT_UNDECIDED : VERDICT_PROVED);
    }
}

static void test_budgets_a_thousand_times_too_large_are_vacuous(void **state)
{
    (void)state;
    struct trial t = trial_of(JOULE_CLASS_MEASURED);
    double high = judge_by(&t, NULL).joules.high;
    assert_true(judge_joules(&t, 1001 * high).joules_limit.is_vacuous);
    assert_false(judge_joules(&t, 999 * high).joules_limit.is_vacuous);
    t.basis = BASIS_BOUNDED;
    assert_true(judge_joules(&t, 1001 * high).joules_limit.is_vacuous);
    t.basis = BASIS_OBSERVED; /* runs that were not observed may exceed the budget */
    assert_false(judge_joules(&t, 1001 * high).joules_limit.is_vacuous);
}

static void test_lower_bounds_of_work_prove_nothing(void **state)
{
    (void)state;
    struct trial t = trial_of(JOULE_CLASS_MEASURED);
    struct figure joules = judge_by(&t, NULL).joules;
    struct judgement j = judge_joules(&t, 1001 * joules.high);
    assert_int_equal(j.worst, VERDICT_PROVED);
    judge_at_least(&j);
    assert_int_equal(j.worst, VERDICT_LIKELY);
    assert_int_equal(j.joules_limit.verdict, VERDICT_LIKELY);
    assert_false(j.joules_limit.is_vacuous);
    j = judge_joules(&t, 0.999 * joules.min);
    judge_at_least(&j);
    assert_int_equal(j.worst, VERDICT_VIOLATED);
}

static void test_the_worst_of_all_limits(void **state)
{
    (void)state;
    struct trial t = trial_of(JOULE_CLASS_MEASURED);
    struct judgement j = judge_by(&t, NULL);
    struct budget_text budget = {2 * j.joules.max, 0.5 * j.watts.min, NAN, false, false};
    j = judge_by(&t, &budget);
    assert_int_equal(j.joules_limit.verdict, VERDICT_PROVED);
    assert_int_equal(j.watts_limit.verdict, VERDICT_VIOLATED);
    assert_int_equal(j.kelvin_limit.verdict, VERDICT_NONE);
    assert_int_equal(j.worst, VERDICT_VIOLATED);
    budget.max_watts = 2 * j.watts.max;
    assert_int_equal(judge_by(&t, &budget).worst, VERDICT_PROVED);
}

/* The path with the highest power may be neither the cheapest nor the most expensive. No path has less power
 * than a waiting core. */
static void test_power_interval_covers_all_paths(void **state)
{
    (void)state;
    struct trial t = trial_of(JOULE_CLASS_MEASURED);
    memset(t.target.table.log_sd, 0, sizeof t.target.table.log_sd);
    struct judgement one = judge_by(&t, NULL);
    struct budget_text budget = {2 * one.joules.max, 2 * one.watts.max, NAN, false, false};
    assert_int_equal(judge_by(&t, &budget).watts_limit.verdict, VERDICT_PROVED);
    t.is_variable = true;
    struct judgement j = judge_by(&t, &budget);
    assert_int_equal(j.joules_limit.verdict, VERDICT_PROVED);
    assert_int_equal(j.watts_limit.verdict, VERDICT_LIKELY);
    NEAR(j.watts.high, one.watts.high);
    budget.max_watts = 0.99 * one.watts.min;
    assert_int_equal(judge_by(&t, &budget).worst, VERDICT_LIKELY_VIOLATED);
    budget.max_watts = 0.99 * j.watts.min;
    assert_int_equal(judge_by(&t, &budget).worst, VERDICT_VIOLATED);
    for (int b = 0; b < BOUNDS; b++) { /* a core that only waits */
        t.call.of[b] = (struct cost_features){.version = COST_VERSION};
        sum_set_time(&t.target, &t.call.of[b], 1000);
    }
    assert_true(j.watts.min < judge_by(&t, NULL).watts.est &&
                10 * j.watts.min > judge_by(&t, NULL).watts.est);
}

/* Temperatures in one call and in repeated calls also depend on the path with the highest power. */
static void test_temperature_interval_covers_all_paths(void **state)
{
    (void)state;
    struct trial t = trial_of(JOULE_CLASS_MEASURED);
    memset(t.target.table.log_sd, 0, sizeof t.target.table.log_sd);
    for (int is_sustained = 0; is_sustained < 2; is_sustained++) {
        struct budget_text budget = {NAN, NAN, 1, is_sustained, false};
        t.is_variable = false;
        struct judgement one = judge_by(&t, &budget);
        t.is_variable = true;
        struct judgement j = judge_by(&t, &budget);
        assert_true(isnan(j.kelvin.max) && j.kelvin.min > 0);
        NEAR(j.kelvin.high, one.kelvin.high);
        assert_true(is_sustained ? j.kelvin.min < 0.9 * one.kelvin.min : j.kelvin.min <= one.kelvin.min);
        budget.max_temp_delta_kelvin = 0.99 * j.kelvin.min;
        assert_int_equal(judge_by(&t, &budget).worst, VERDICT_VIOLATED);
    }
}

/* A single call hardly changes the temperature. Repeated calls approach R (kelvins per watt) times the
 * watts. */
static void test_sustained_calls_are_warmer(void **state)
{
    (void)state;
    struct trial t = trial_of(JOULE_CLASS_MEASURED);
    struct budget_text budget = {NAN, NAN, 1, false, false};
    struct judgement once = judge_by(&t, &budget);
    budget.is_sustained = true;
    struct judgement sustained = judge_by(&t, &budget);
    check_figure(&sustained.kelvin);
    NEAR(sustained.kelvin.est, t.cooling.kelvin_per_watt * sustained.watts.est);
    NEAR(once.kelvin.est,
         t.cooling.kelvin_per_watt * once.watts.est * -expm1(-once.seconds.est / t.cooling.seconds));
    assert_true(once.kelvin.max < 1e-3);
    budget.max_temp_delta_kelvin = 0.5 * sustained.kelvin.min;
    assert_int_equal(judge_by(&t, &budget).worst, VERDICT_VIOLATED);
}

/* The cooling of the machine is not measured, so no temperature is proved. */
static void test_warmth_is_never_proved(void **state)
{
    (void)state;
    struct trial t = trial_of(JOULE_CLASS_MEASURED);
    struct budget_text budget = {NAN, NAN, 1, false, false};
    struct judgement j = judge_by(&t, &budget);
    assert_true(j.kelvin.max < 1);
    assert_int_equal(j.kelvin_limit.verdict, VERDICT_LIKELY);
}

static void test_verdicts_have_names(void **state)
{
    (void)state;
    assert_string_equal(verdict_name(VERDICT_NONE), "none");
    assert_string_equal(verdict_name(VERDICT_LIKELY_VIOLATED), "likely_violated");
    assert_string_equal(verdict_name(VERDICT_VIOLATED), "violated");
}

static void test_unbounded_figures_are_undecided(void **state)
{
    (void)state;
    struct budget_text budget = {1e-6, NAN, NAN, false, true};
    struct judgement j;
    judge_unknown(&budget, &j);
    assert_int_equal(j.worst, VERDICT_UNDECIDED);
    assert_int_equal(j.joules_limit.verdict, VERDICT_UNDECIDED);
    assert_int_equal(j.watts_limit.verdict, VERDICT_NONE);
    assert_true(isnan(j.joules.est) && isnan(j.kelvin.high) && isnan(j.joules_limit.probability));
    judge_unknown(NULL, &j);
    assert_int_equal(j.worst, VERDICT_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intervals_hold_the_estimate),
        cmocka_unit_test(test_fewer_cycles_are_more_watts),
        cmocka_unit_test(test_no_work_is_within_any_budget),
        cmocka_unit_test(test_only_a_measured_table_proves),
        cmocka_unit_test(test_guesses_prove_nothing),
        cmocka_unit_test(test_guesses_within_bounds),
        cmocka_unit_test(test_probabilities_are_no_surer_than_the_model),
        cmocka_unit_test(test_unknown_is_never_0),
        cmocka_unit_test(test_a_vague_figure),
        cmocka_unit_test(test_quality_follows_the_evidence),
        cmocka_unit_test(test_verdicts_follow_probability),
        cmocka_unit_test(test_more_is_never_worse),
        cmocka_unit_test(test_budgets_a_thousand_times_too_large_are_vacuous),
        cmocka_unit_test(test_lower_bounds_of_work_prove_nothing),
        cmocka_unit_test(test_the_worst_of_all_limits),
        cmocka_unit_test(test_power_interval_covers_all_paths),
        cmocka_unit_test(test_temperature_interval_covers_all_paths),
        cmocka_unit_test(test_sustained_calls_are_warmer),
        cmocka_unit_test(test_warmth_is_never_proved),
        cmocka_unit_test(test_verdicts_have_names),
        cmocka_unit_test(test_unbounded_figures_are_undecided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
