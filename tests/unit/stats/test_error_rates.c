/* Tests how often comparisons are wrong: of a command with itself, of equivalent commands, of many
 * metrics, and whether the stated number of blocks sees a difference of 2 %.
 *
 * With 20000 comparisons, 4.9 standard errors of a rate of 5 % are 0.76 %, and of 80 % 1.4 %. So if a
 * true rate is from 4.3 % to 5.7 %, a fresh seed fails the bounds 3.5 % and 6.5 % with a probability
 * below 10^-6. JOULE_TEST_FULL=1 makes ten times as many comparisons. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include "joule/stats/compare.h"
#include "joule/stats/outliers.h"
#include "support/check.h"
#include "support/simulation.h"

#define REPETITIONS 20000
#define MAX_BLOCKS  100
#define BLOCK_SD    0.1 /* log sd of what all runs of a block have in common */

/* Returns the number of comparisons with a fixed seed. */
static size_t repetitions(void)
{
    return simulation_is_full() ? 10 * REPETITIONS : 4000;
}

static const struct ratio_rule usual = {.level = 0.95};

/* Sets the runs of a[i] and b[i], which share the influence of their block. */
static void measure_blocks(struct generator *generator, enum simulated kind, double ratio, double *a,
                           double *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double common = exp(BLOCK_SD * simulated_normal(generator));
        a[i] = common * simulated_run(generator, kind);
        b[i] = common * ratio * simulated_run(generator, kind);
    }
}

/* Removes the blocks whose log ratio is an outlier. Returns the number of blocks that are left. */
static size_t reject_blocks(double *a, double *b, size_t count)
{
    double logs[MAX_BLOCKS] = {0}, scratch[2 * MAX_BLOCKS];
    bool is_outlier[MAX_BLOCKS];
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        logs[i] = log(b[i] / a[i]);
    outliers_find(logs, count, is_outlier, scratch);
    for (size_t i = 0; i < count; i++) {
        if (is_outlier[i])
            continue;
        a[kept] = a[i];
        b[kept++] = b[i];
    }
    return kept;
}

/* How a comparison is made. */
enum design { PAIRED, PAIRED_WITHOUT_OUTLIERS, UNPAIRED, DESIGNS };
static const char *const design_names[] = {"paired", "paired without outliers", "unpaired"};

/* Compares commands whose true ratio is `ratio`. */
static struct ratio compare_once(enum design design, enum simulated kind, size_t count, double ratio,
                                 const struct ratio_rule *rule, struct generator *generator)
{
    double a[MAX_BLOCKS], b[MAX_BLOCKS];
    if (design == UNPAIRED) {
        simulated_runs(generator, kind, a, count);
        simulated_runs(generator, kind, b, count);
        for (size_t i = 0; i < count; i++)
            b[i] *= ratio;
        return ratio_unpaired(a, count, b, count, rule);
    }
    measure_blocks(generator, kind, ratio, a, b, count);
    if (design == PAIRED_WITHOUT_OUTLIERS)
        count = reject_blocks(a, b, count);
    return ratio_paired(a, b, count, rule);
}

/* Cases of `compare A A`. With slow runs, tests are cautious: one slow run widens the interval more than it
 * moves the mean. */
static const struct same {
    enum design design;
    enum simulated kind;
    size_t count;
    double low, high;
    bool is_quick; /* with a fresh seed also in the short form */
} same_cases[] = {
    {PAIRED, SIMULATED_NORMAL, 5, 0.035, 0.065, true},
    {PAIRED, SIMULATED_NORMAL, 20, 0.035, 0.065},
    {PAIRED, SIMULATED_LOG_NORMAL, 10, 0.035, 0.065, true},
    {PAIRED, SIMULATED_SLOW_RUNS, 10, 0.005, 0.065},
    {PAIRED, SIMULATED_SLOW_RUNS, 30, 0.02, 0.065},
    {PAIRED_WITHOUT_OUTLIERS, SIMULATED_NORMAL, 10, 0.035, 0.065, true},
    {PAIRED_WITHOUT_OUTLIERS, SIMULATED_NORMAL, 30, 0.035, 0.065},
    {PAIRED_WITHOUT_OUTLIERS, SIMULATED_LOG_NORMAL, 20, 0.035, 0.065},
    {PAIRED_WITHOUT_OUTLIERS, SIMULATED_SLOW_RUNS, 10, 0.005, 0.065},
    {PAIRED_WITHOUT_OUTLIERS, SIMULATED_SLOW_RUNS, 30, 0.035, 0.065},
    {UNPAIRED, SIMULATED_NORMAL, 5, 0.035, 0.065},
    {UNPAIRED, SIMULATED_NORMAL, 20, 0.035, 0.065},
    {UNPAIRED, SIMULATED_LOG_NORMAL, 10, 0.035, 0.065, true},
    {UNPAIRED, SIMULATED_SLOW_RUNS, 20, 0.005, 0.065},
};

static void check_same(const struct same *c, uint64_t seed, size_t repetitions)
{
    struct generator generator = {seed};
    size_t rejected = 0;
    for (size_t i = 0; i < repetitions; i++)
        rejected += compare_once(c->design, c->kind, c->count, 1, &usual, &generator).p <= 0.05;
    char what[80];
    snprintf(what, sizeof what, "A A, %s, %zu, %s", design_names[c->design], c->count,
             simulated_name(c->kind));
    simulation_check(what, rejected, repetitions, c->low, c->high);
}

static void test_a_command_rarely_differs_from_itself(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof same_cases / sizeof *same_cases; k++)
        check_same(&same_cases[k], SIMULATION_SEED + k, repetitions());
}

static void test_a_command_rarely_differs_from_itself_with_a_fresh_seed(void **state)
{
    (void)state;
    uint64_t seed = simulation_fresh_seed();
    for (size_t k = 0; k < sizeof same_cases / sizeof *same_cases; k++)
        if (simulation_is_full() || same_cases[k].is_quick)
            check_same(&same_cases[k], seed + k, simulation_is_full() ? 10 * REPETITIONS : REPETITIONS);
}

/* Slow runs are as likely on both sides, so the mean log ratio is the true one. They make intervals wider
 * than necessary. */
static void test_intervals_cover_the_true_ratio(void **state)
{
    (void)state;
    for (int design = 0; design < DESIGNS; design++)
        for (int kind = 0; kind < SIMULATED_KINDS; kind++) {
            struct generator generator = {SIMULATION_SEED};
            size_t covering = 0;
            for (size_t i = 0; i < repetitions(); i++) {
                struct ratio r = compare_once(design, kind, 30, 1.25, &usual, &generator);
                covering += r.low <= 1.25 && 1.25 <= r.high;
            }
            char what[80];
            snprintf(what, sizeof what, "ratio 1.25 covered, %s, 30, %s", design_names[design],
                     simulated_name(kind));
            simulation_check(what, covering, repetitions(), 0.93, kind == SIMULATED_SLOW_RUNS ? 0.98 : 0.97);
        }
}

/* Returns how many of `repeat` comparisons of `count` blocks see that b needs `ratio` times as much as a. */
static size_t count_seen(size_t repeat, size_t count, double log_sd, double ratio,
                         struct generator *generator)
{
    size_t seen = 0;
    for (size_t i = 0; i < repeat; i++) {
        double a[MAX_BLOCKS], b[MAX_BLOCKS];
        for (size_t k = 0; k < count; k++) {
            a[k] = exp(BLOCK_SD * simulated_normal(generator));
            b[k] = a[k] * ratio * exp(log_sd * simulated_normal(generator));
        }
        seen += ratio_paired(a, b, count, &usual).verdict == RATIO_WORSE;
    }
    return seen;
}

static void test_the_stated_number_of_blocks_sees_two_percent(void **state)
{
    (void)state;
    struct generator generator = {SIMULATION_SEED}, fresh = {simulation_fresh_seed()};
    static const double sds[] = {0.01, 0.02, 0.03, 0.05};
    for (size_t i = 0; i < sizeof sds / sizeof *sds; i++) {
        size_t blocks = (size_t)ratio_blocks_needed(sds[i], 1.02, 0.95, 0.8);
        char what[80];
        snprintf(what, sizeof what, "2 %% seen, sd %.0f %%, %zu blocks", 100 * sds[i], blocks);
        /* The number is rounded up, which matters if it is small. */
        double high = blocks < 10 ? 0.93 : 0.87;
        simulation_check(what, count_seen(repetitions(), blocks, sds[i], 1.02, &generator), repetitions(),
                         0.78, high);
        simulation_check(what, count_seen(REPETITIONS, blocks, sds[i], 1.02, &fresh), REPETITIONS, 0.78,
                         high);
    }
}

static void test_a_difference_at_the_margin_is_rarely_called_equivalent(void **state)
{
    (void)state;
    const struct ratio_rule rule = {.level = 0.95, .margin = 0.02};
    for (int design = 0; design < DESIGNS; design++) {
        struct generator generator = {SIMULATION_SEED};
        size_t wrong = 0, right = 0;
        for (size_t i = 0; i < repetitions(); i++) {
            wrong += compare_once(design, SIMULATED_NORMAL, 60, 1.02, &rule, &generator).verdict ==
                     RATIO_EQUIVALENT;
            right +=
                compare_once(design, SIMULATED_NORMAL, 60, 1, &rule, &generator).verdict == RATIO_EQUIVALENT;
        }
        char what[80];
        snprintf(what, sizeof what, "equivalent within 2 %% at 1.02, %s", design_names[design]);
        simulation_check(what, wrong, repetitions(), 0.035, 0.065);
        snprintf(what, sizeof what, "equivalent within 2 %% at 1.00, %s", design_names[design]);
        simulation_check(what, right, repetitions(), 0.9, 1);
    }
}

static void test_twenty_metrics_give_one_false_verdict_in_twenty_comparisons(void **state)
{
    (void)state;
    struct generator generator = {SIMULATION_SEED};
    struct ratio_rule rules[20];
    size_t wrong = 0;
    for (int i = 0; i < 20; i++)
        rules[i] = usual;
    for (size_t i = 0; i < repetitions(); i++) {
        struct ratio ratios[20];
        double scratch[60];
        bool is_wrong = false;
        for (int k = 0; k < 20; k++)
            ratios[k] = compare_once(PAIRED, SIMULATED_NORMAL, 8, 1, &usual, &generator);
        ratio_correct(ratios, rules, 20, scratch);
        for (int k = 0; k < 20; k++)
            is_wrong |= ratios[k].verdict != RATIO_UNKNOWN;
        wrong += is_wrong;
    }
    simulation_check("any of 20 metrics differs, A A", wrong, repetitions(), 0.035, 0.065);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_command_rarely_differs_from_itself),
        cmocka_unit_test(test_a_command_rarely_differs_from_itself_with_a_fresh_seed),
        cmocka_unit_test(test_intervals_cover_the_true_ratio),
        cmocka_unit_test(test_the_stated_number_of_blocks_sees_two_percent),
        cmocka_unit_test(test_a_difference_at_the_margin_is_rarely_called_equivalent),
        cmocka_unit_test(test_twenty_metrics_give_one_false_verdict_in_twenty_comparisons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
