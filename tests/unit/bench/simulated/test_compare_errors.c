/* Tests how often joule compare and joule bench are wrong: the whole path from runs to verdict, with warm-up,
 * random order, stop rule, rejected outliers and the correction for four metrics. Runs are simulated.
 *
 * With a fresh seed, the cases are mixed. Their true rates of wrong verdicts are 4.8 % to 5.6 % each and
 * 5.3 % on average. With 12000 comparisons, 4.9 standard errors of this average are 1.00 %, so a fresh seed
 * fails the bounds 3.5 % and 6.5 % with a probability below 10^-6. JOULE_TEST_FULL=1 tests each of all cases
 * with 40000 comparisons, also with a fresh seed. The largest rate is then 5.8 %, and 4.9 standard errors of
 * it are 0.57 %. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include "support/bench/simulated_machine.h"
#include "support/simulation.h"

#define MIXED 12000
#define FULL  40000

/* Comparisons of commands that do not differ. */
static const struct same {
    const char *name;
    double time_sd, power_sd, slow_chance, idle_watts;
    bool is_modelled;
    bool is_long; /* only with JOULE_TEST_FULL */
    const char *words[8];
} cases[] = {
    {"little scatter", .time_sd = 0.001, .power_sd = 0.001, .idle_watts = NAN, .words = {"a", "a"}},
    {"the first runs almost suffice", .time_sd = 0.01, .power_sd = 0.002, .idle_watts = NAN,
     .words = {"a", "a"}},
    {"most reach the largest number", .time_sd = 0.008, .power_sd = 0.01, .idle_watts = NAN,
     .words = {"a", "a"}},
    {"slow runs", .time_sd = 0.02, .power_sd = 0.01, .slow_chance = 0.05, .idle_watts = NAN,
     .words = {"a", "a"}},
    {"8 runs", .time_sd = 0.02, .power_sd = 0.01, .idle_watts = NAN, .words = {"-r", "8", "a", "a"}},
    {"net of idle", .time_sd = 0.008, .power_sd = 0.005, .idle_watts = 20, .words = {"a", "a"}},
    {"modelled", .time_sd = 0.012, .power_sd = 0.004, .is_modelled = true, .idle_watts = NAN, .is_long = true,
     .words = {"a", "a"}},
    {"5 runs", .time_sd = 0.01, .power_sd = 0.01, .idle_watts = NAN, .is_long = true,
     .words = {"-r", "5", "a", "a"}},
    {"up to 200 runs", .time_sd = 0.012, .power_sd = 0.006, .idle_watts = NAN, .is_long = true,
     .words = {"--max-runs", "200", "a", "a"}},
    {"three commands", .time_sd = 0.01, .power_sd = 0.005, .idle_watts = NAN, .is_long = true,
     .words = {"a", "a", "a"}},
    {"two values of a sweep", .time_sd = 0.01, .power_sd = 0.005, .idle_watts = NAN, .is_long = true,
     .words = {"--sweep", "n=1,2", "a {n}", "a {n}"}},
};
#define CASES (sizeof cases / sizeof *cases)

/* Counts of many comparisons. */
struct tally {
    size_t comparisons, wrong;  /* wrong: any verdict of any metric is better or worse */
    size_t intervals, covering; /* of the energy */
    size_t runs;
};

/* Makes one comparison on a new machine, and adds it to the counts. */
static void compare_once(const struct same *c, struct generator *generator, struct tally *tally)
{
    struct simulated_experiment s;
    size_t count;
    simulated = simulated_machine(generator_bits(generator));
    simulated.time_sd = c->time_sd;
    simulated.power_sd = c->power_sd;
    simulated.slow_chance = c->slow_chance;
    simulated.idle_watts = c->idle_watts;
    simulated.is_modelled = c->is_modelled;
    simulated.drift_sd = 0.005;
    simulated_begin(&s, "compare", c->words);
    struct comparison *comparisons = summary_compare(&s.experiment, &count);
    assert_non_null(comparisons);
    bool is_wrong = false;
    for (size_t i = 0; i < count; i++) {
        const struct ratio *energy = &comparisons[i].ratios[METRIC_ENERGY];
        tally->intervals++;
        tally->covering += energy->low <= 1 && energy->high >= 1;
        for (enum metric m = 0; m < METRICS; m++)
            is_wrong = is_wrong || comparisons[i].ratios[m].verdict != RATIO_UNKNOWN;
    }
    tally->comparisons++;
    tally->wrong += is_wrong;
    tally->runs += s.experiment.block_count;
    free(comparisons);
    simulated_end(&s);
}

static void check_tally(const char *name, const struct tally *tally)
{
    char what[120];
    snprintf(what, sizeof what, "A A differs, %s, mean %.1f runs", name,
             (double)tally->runs / (double)tally->comparisons);
    simulation_check(what, tally->wrong, tally->comparisons, 0.035, 0.065);
    snprintf(what, sizeof what, "interval of the ratio covers 1, %s", name);
    simulation_check(what, tally->covering, tally->intervals, 0.93, 0.97);
}

static void check_each(uint64_t seed, size_t repetitions)
{
    for (size_t k = 0; k < CASES; k++) {
        struct generator generator = {seed + k};
        struct tally tally = {0};
        if (cases[k].is_long && !simulation_is_full())
            continue;
        for (size_t i = 0; i < repetitions; i++)
            compare_once(&cases[k], &generator, &tally);
        check_tally(cases[k].name, &tally);
    }
}

static void test_a_command_differs_from_itself_in_one_of_twenty_comparisons(void **state)
{
    (void)state;
    check_each(SIMULATION_SEED, simulation_is_full() ? FULL : 3000);
}

static void test_a_command_rarely_differs_from_itself_with_a_fresh_seed(void **state)
{
    (void)state;
    struct generator generator = {simulation_fresh_seed()};
    struct tally tally = {0};
    if (simulation_is_full()) {
        check_each(generator.state, FULL);
        return;
    }
    for (size_t i = 0, k = 0; i < MIXED; i++, k = (k + 1) % CASES) {
        while (cases[k].is_long)
            k = (k + 1) % CASES;
        compare_once(&cases[k], &generator, &tally);
    }
    check_tally("all cases", &tally);
}

/* The numbers of man/joule-compare.1: runs that show a difference of 2 %, with the scatter of a block's
 * ratio. */
static const struct {
    double sd;
    const char *runs;
} stated[] = {{0.01, "6"}, {0.02, "15"}, {0.03, "29"}, {0.05, "75"}};

static void test_the_stated_number_of_runs_sees_two_percent(void **state)
{
    (void)state;
    size_t repetitions = simulation_is_full() ? 20000 : 1000;
    for (size_t k = 0; k < sizeof stated / sizeof *stated; k++) {
        struct generator generator = {SIMULATION_SEED + k};
        size_t seen = 0;
        for (size_t i = 0; i < repetitions; i++) {
            struct simulated_experiment s;
            size_t count;
            simulated = simulated_machine(generator_bits(&generator));
            simulated.time_sd = simulated.power_sd = stated[k].sd / 2; /* two runs with two causes each */
            simulated.power_ratio_of_b = 1.02;
            simulated.drift_sd = 0.005;
            simulated_begin(&s, "compare", (const char *const[]){"-r", stated[k].runs, "a", "b", NULL});
            struct comparison *comparison = summary_compare(&s.experiment, &count);
            assert_non_null(comparison);
            seen += comparison->ratios[METRIC_ENERGY].verdict == RATIO_WORSE;
            free(comparison);
            simulated_end(&s);
        }
        char what[80];
        snprintf(what, sizeof what, "2 %% seen, sd %.0f %%, %s runs", 100 * stated[k].sd, stated[k].runs);
        simulation_check(what, seen, repetitions, 0.78, 0.95);
    }
}

/* joule bench: the interval of the mean energy after the stop rule and the rejection of outliers. */
static void test_the_interval_of_bench_covers_the_true_energy(void **state)
{
    (void)state;
    static const double sds[] = {0.003, 0.012, 0.02, 0.05};
    size_t repetitions = simulation_is_full() ? FULL : 4000;
    for (size_t k = 0; k < sizeof sds / sizeof *sds; k++) {
        struct generator generator = {SIMULATION_SEED + k};
        size_t covering = 0;
        for (size_t i = 0; i < repetitions; i++) {
            struct simulated_experiment s;
            simulated = simulated_machine(generator_bits(&generator));
            simulated.time_sd = sds[k];
            simulated_begin(&s, "bench", (const char *const[]){"a", NULL});
            struct figure energy = summary_figure(&s.experiment.variants[0], BASIS_GROSS, METRIC_ENERGY);
            double truth = simulated.watts * simulated.seconds * exp(sds[k] * sds[k] / 2);
            covering += energy.mean.low <= truth && truth <= energy.mean.high;
            simulated_end(&s);
        }
        char what[80];
        snprintf(what, sizeof what, "bench covers the energy, sd %.1f %%", 100 * sds[k]);
        simulation_check(what, covering, repetitions, 0.93, 0.97);
    }
}

static void test_a_difference_at_the_margin_is_rarely_called_equivalent(void **state)
{
    (void)state;
    size_t repetitions = simulation_is_full() ? FULL : 2000, equivalent = 0;
    struct generator generator = {SIMULATION_SEED};
    for (size_t i = 0; i < repetitions; i++) {
        struct simulated_experiment s;
        size_t count;
        simulated = simulated_machine(generator_bits(&generator));
        simulated.time_sd = simulated.power_sd = 0.005;
        simulated.power_ratio_of_b = 1.02;
        simulated_begin(&s, "compare", (const char *const[]){"--equivalent", "2%", "a", "b", NULL});
        struct comparison *comparison = summary_compare(&s.experiment, &count);
        assert_non_null(comparison);
        equivalent += comparison->ratios[METRIC_ENERGY].verdict == RATIO_EQUIVALENT;
        free(comparison);
        simulated_end(&s);
    }
    simulation_check("2 % called equivalent within 2 %", equivalent, repetitions, 0, 0.065);
}

static void test_a_false_failure_of_a_condition_is_rare(void **state)
{
    (void)state;
    size_t repetitions = simulation_is_full() ? FULL : 2000, failed = 0;
    struct generator generator = {SIMULATION_SEED};
    for (size_t i = 0; i < repetitions; i++) {
        struct simulated_experiment s;
        size_t count;
        simulated = simulated_machine(generator_bits(&generator));
        simulated.time_sd = simulated.power_sd = 0.01;
        simulated.power_ratio_of_b = 1.03;
        simulated_begin(&s, "compare", (const char *const[]){"--fail-if", "energy > +3%", "a", "b", NULL});
        struct comparison *comparison = summary_compare(&s.experiment, &count);
        assert_non_null(comparison);
        struct ratio ratio = summary_ratio_for_checks(&s.experiment, comparison, METRIC_ENERGY, 1);
        failed += fail_rule_holds(&s.settings.fail_rules[0], ratio.low, ratio.high);
        free(comparison);
        simulated_end(&s);
    }
    simulation_check("'energy > +3%' at +3 %", failed, repetitions, 0, 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_command_differs_from_itself_in_one_of_twenty_comparisons),
        cmocka_unit_test(test_a_command_rarely_differs_from_itself_with_a_fresh_seed),
        cmocka_unit_test(test_the_stated_number_of_runs_sees_two_percent),
        cmocka_unit_test(test_the_interval_of_bench_covers_the_true_energy),
        cmocka_unit_test(test_a_difference_at_the_margin_is_rarely_called_equivalent),
        cmocka_unit_test(test_a_false_failure_of_a_condition_is_rare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
