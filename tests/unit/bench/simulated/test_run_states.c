/* Tests warm-up, cool-down, reduced clocks and rejected runs of joule bench and joule compare on a simulated
 * machine, whose temperature and power are known at each time. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include "output.h"
#include "support/bench/simulated_machine.h"
#include "support/check.h"
#include "support/simulation.h"

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define AMBIENT    30.0

/* Returns a machine that heats up from 30 to 55 degrees with a time constant in seconds. Its power rises by
 * 25 % meanwhile. */
static struct simulated_machine heating_machine(double thermal_s)
{
    struct simulated_machine machine = simulated_machine(SIMULATION_SEED);
    machine.ambient_celsius = AMBIENT;
    machine.kelvins_per_watt = 0.4;
    machine.leakage_per_kelvin = 0.01;
    machine.thermal_s = thermal_s;
    return machine;
}

/* Returns the experiment's report, which the caller frees. */
static char *report_of(const struct experiment *e, void (*print)(const void *, struct text *))
{
    enum { SIZE = 1 << 20 };
    char *report = malloc(SIZE);
    struct results results = {.e = e};
    struct text out;
    assert_non_null(report);
    text_init(&out, report, SIZE);
    print(&results, &out);
    assert_true(out.length < SIZE);
    return report;
}

/* Returns the first run that counts. */
static const struct run *first_counted(const struct variant *v)
{
    const struct run *run = v->runs.items;
    while (run->is_warm_up)
        run++;
    return run;
}

/* --- warm-up -------------------------------------------------------------------------------------------- */

static void test_warm_up_lasts_until_power_and_temperature_are_steady(void **state)
{
    (void)state;
    struct simulated_experiment s;
    simulated = heating_machine(6);
    simulated_begin(&s, "bench", WORDS("-r", "5", "a"));
    const struct variant *v = &s.experiment.variants[0];
    double end =
        simulated.ambient_celsius +
        simulated.kelvins_per_watt * run_metric(&v->runs.items[v->runs.count - 1], BASIS_GROSS, METRIC_POWER);
    assert_true(s.experiment.is_steady);
    assert_near(first_counted(v)->temperature_celsius, end, 1);
    assert_true(summary_warm_up_count(v) > 12 && summary_warm_up_count(v) < 60);
    char *report = report_of(&s.experiment, print_text);
    assert_contains(report, "power and temperature steady");
    free(report);
    simulated_end(&s);
}

/* The power does not depend on the temperature here, so only the temperature shows that the machine heats. */
static void test_a_steady_power_does_not_end_warm_up_while_the_temperature_rises(void **state)
{
    (void)state;
    struct simulated_experiment s;
    simulated = heating_machine(6);
    simulated.leakage_per_kelvin = 0;
    simulated_begin(&s, "bench", WORDS("-r", "5", "a"));
    assert_true(s.experiment.is_steady);
    assert_near(first_counted(&s.experiment.variants[0])->temperature_celsius, AMBIENT + 20, 1);
    simulated_end(&s);
}

static void test_steady_power_ends_warm_up_without_a_readable_temperature(void **state)
{
    (void)state;
    struct simulated_experiment s;
    simulated = simulated_machine(SIMULATION_SEED);
    simulated.seconds = 0.1;
    simulated.power_sd = 0.002;
    simulated_begin(&s, "bench", WORDS("-r", "5", "a"));
    assert_true(s.experiment.is_steady);
    assert_int_equal(summary_warm_up_count(&s.experiment.variants[0]), 8);
    simulated_end(&s);
}

static void test_scattered_power_ends_warm_up_after_ten_runs_and_is_not_called_steady(void **state)
{
    (void)state;
    struct simulated_experiment s;
    simulated = simulated_machine(SIMULATION_SEED);
    simulated.seconds = 0.1;
    simulated.power_sd = 0.1;
    simulated_begin(&s, "bench", WORDS("-r", "5", "a"));
    assert_false(s.experiment.is_steady);
    assert_int_equal(summary_warm_up_count(&s.experiment.variants[0]), 10);
    char *report = report_of(&s.experiment, print_text);
    assert_null(strstr(report, "steady"));
    free(report);
    simulated_end(&s);
}

static void test_an_endless_drift_ends_warm_up_after_a_minute(void **state)
{
    (void)state;
    struct simulated_experiment s;
    simulated = heating_machine(500);
    simulated.kelvins_per_watt = 40;
    simulated.leakage_per_kelvin = 0;
    simulated_begin(&s, "bench", WORDS("-r", "5", "a"));
    assert_false(s.experiment.is_steady);
    assert_int_equal(summary_warm_up_count(&s.experiment.variants[0]), 60);
    simulated_end(&s);
}

static void test_modelled_energy_needs_one_warm_up_run(void **state)
{
    (void)state;
    struct simulated_experiment s;
    simulated = simulated_machine(SIMULATION_SEED);
    simulated.is_modelled = true;
    simulated_begin(&s, "compare", WORDS("-r", "5", "a", "b"));
    assert_int_equal(s.experiment.basis, BASIS_COMMAND);
    assert_int_equal(summary_warm_up_count(&s.experiment.variants[0]), 1);
    assert_int_equal(summary_warm_up_count(&s.experiment.variants[1]), 1);
    simulated_end(&s);
}

/* --- cool-down ------------------------------------------------------------------------------------------ */

/* Command b needs three times the power. The runs of both start in the band, so a is not measured on a
 * machine that b has heated. */
static void test_each_run_starts_in_the_temperature_band_of_the_first(void **state)
{
    (void)state;
    struct simulated_experiment s;
    simulated = heating_machine(20);
    simulated.power_ratio_of_b = 3;
    simulated_begin(&s, "compare", WORDS("--warmup", "none", "--cooldown", "10min", "-r", "10", "a", "b"));
    assert_int_equal(simulated.run_count, 20);
    assert_near(s.experiment.start_celsius, AMBIENT, 0);
    for (size_t i = 0; i < 20; i++)
        assert_true(simulated.start_celsius[i] <= AMBIENT + 1);
    assert_int_equal(s.experiment.hot_starts, 0);
    assert_true(simulated.pause_count > 18);
    simulated_end(&s);
}

static void test_without_cool_down_runs_start_hot(void **state)
{
    (void)state;
    struct simulated_experiment s;
    simulated = heating_machine(20);
    simulated_begin(&s, "bench", WORDS("--warmup", "none", "-r", "10", "a"));
    assert_true(simulated.start_celsius[9] > AMBIENT + 5);
    assert_int_equal(simulated.pause_count, 0);
    simulated_end(&s);
}

static void test_a_start_above_the_band_after_the_longest_pause_is_reported(void **state)
{
    (void)state;
    struct simulated_experiment s;
    simulated = heating_machine(20);
    simulated_begin(&s, "bench", WORDS("--warmup", "none", "--cooldown", "1s", "-r", "10", "a"));
    assert_true(s.experiment.hot_starts >= 5);
    assert_true(simulated.now_ns < 22 * INT64_C(1000000000)); /* 10 runs of 1 s, 9 pauses of up to 1.25 s */
    char *report = report_of(&s.experiment, print_text);
    assert_contains(report, "runs began above the start temperature");
    free(report);
    simulated_end(&s);
}

static void test_cool_down_without_a_temperature_is_a_short_pause(void **state)
{
    (void)state;
    struct simulated_experiment s;
    simulated = simulated_machine(SIMULATION_SEED);
    simulated_begin(&s, "bench", WORDS("--warmup", "none", "--cooldown", "1min", "-r", "10", "a"));
    assert_int_equal(simulated.pause_count, 9);
    assert_near((double)simulated.now_ns * 1e-9, 19, 1e-6);
    char *report = report_of(&s.experiment, print_text);
    assert_contains(report, "no temperature is readable");
    free(report);
    simulated_end(&s);
}

/* --- state and rejected runs ---------------------------------------------------------------------------- */

static void test_reduced_clocks_are_reported_with_their_reason(void **state)
{
    (void)state;
    struct simulated_experiment s;
    simulated = heating_machine(20);
    simulated.throttle_celsius = 40;
    simulated_begin(&s, "bench", WORDS("--warmup", "none", "-r", "30", "a"));
    size_t throttled = 0;
    for (size_t i = 0; i < 30; i++)
        throttled += s.experiment.variants[0].runs.items[i].throttled > 0;
    assert_true(throttled > 10 && throttled < 30);
    char *text = report_of(&s.experiment, print_text), *json = report_of(&s.experiment, print_json);
    assert_contains(text, "clocks reduced in");
    assert_contains(text, "runs (temperature)");
    assert_contains(json, "\"throttled\":true,\"throttle_reasons\":[\"temperature\"]");
    assert_contains(json, "\"throttled\":false,\"throttle_reasons\":[]");
    free(text);
    free(json);
    simulated_end(&s);
}

static void test_unknown_clocks_and_use_are_not_reported_as_zero(void **state)
{
    (void)state;
    struct simulated_experiment s;
    simulated = simulated_machine(SIMULATION_SEED);
    simulated_begin(&s, "bench", WORDS("-r", "5", "a"));
    char *text = report_of(&s.experiment, print_text), *json = report_of(&s.experiment, print_json);
    assert_contains(text, "GPUs busy unknown, temperature unknown");
    assert_contains(json, "\"gpu_busy\":null,\"temperature_celsius\":null,\"throttled\":null");
    free(text);
    free(json);
    simulated_end(&s);
}

static void test_use_of_gpus_is_reported_beside_power(void **state)
{
    (void)state;
    struct simulated_experiment s;
    simulated = simulated_machine(SIMULATION_SEED);
    simulated.gpu_busy = 0.75;
    simulated_begin(&s, "bench", WORDS("-r", "5", "a"));
    char *text = report_of(&s.experiment, print_text);
    assert_contains(text, "power");
    assert_contains(text, "50.00 W");
    assert_contains(text, "GPUs busy 75 %");
    free(text);
    simulated_end(&s);
}

static void test_the_net_energy_decides_if_idle_power_is_known(void **state)
{
    (void)state;
    struct simulated_experiment s;
    simulated = simulated_machine(SIMULATION_SEED);
    simulated.idle_watts = 20;
    simulated.power_ratio_of_b = 1.2; /* 60 W: 40 W net, a third more than 30 W */
    simulated_begin(&s, "compare", WORDS("-r", "5", "a", "b"));
    size_t count;
    struct comparison *comparison = summary_compare(&s.experiment, &count);
    assert_non_null(comparison);
    assert_int_equal(s.experiment.basis, BASIS_NET);
    assert_near(comparison->ratios[METRIC_ENERGY].value, 4.0 / 3, 1e-6);
    free(comparison);
    simulated_end(&s);
}

/* Fails the test unless the variant has `kept` runs and the mean energy is that of the runs that count. */
static void check_kept(const struct variant *v, size_t kept, const char *reason, size_t least_rejected)
{
    double sum = 0;
    size_t counted = 0, rejected = 0;
    assert_int_equal(v->runs.count, kept);
    for (size_t i = 0; i < v->runs.count; i++) {
        const struct run *run = &v->runs.items[i];
        if (run->is_warm_up)
            continue;
        if (run->rejected) {
            assert_string_equal(run->rejected, reason);
            rejected++;
        } else {
            sum += run->machine_joules;
            counted++;
        }
    }
    assert_true(rejected >= least_rejected && counted > 0);
    struct figure energy = summary_figure(v, BASIS_GROSS, METRIC_ENERGY);
    assert_int_equal(energy.count, counted);
    assert_int_equal(summary_rejected_count(v), rejected);
    assert_near(energy.mean.value, sum / (double)counted, 1e-9);
}

static void test_every_run_is_kept_and_rejected_runs_have_a_reason(void **state)
{
    (void)state;
    static const struct {
        double stop_chance, lost_chance;
        size_t odd_run;
        const char *reason;
    } cases[] = {{.stop_chance = 0.3, .reason = "stopped"},
                 {.lost_chance = 0.3, .reason = "energy unknown"},
                 {.odd_run = 9, .reason = "outlier"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct simulated_experiment s;
        simulated = simulated_machine(SIMULATION_SEED);
        simulated.time_sd = 0.01;
        simulated.stop_chance = cases[k].stop_chance;
        simulated.lost_chance = cases[k].lost_chance;
        simulated.odd_run = cases[k].odd_run;
        simulated_begin(&s, "bench", WORDS("--warmup", "2", "-r", "30", "a"));
        check_kept(&s.experiment.variants[0], simulated.run_count, cases[k].reason, 1);
        char *text = report_of(&s.experiment, print_text), *json = report_of(&s.experiment, print_json);
        assert_contains(text, "was rejected: ");
        assert_contains(text, cases[k].reason);
        assert_contains(json, cases[k].reason);
        free(text);
        free(json);
        simulated_end(&s);
    }
}

/* A block counts only if both of its runs count. */
static void test_a_rejected_run_takes_its_block_out_of_the_comparison(void **state)
{
    (void)state;
    struct simulated_experiment s;
    simulated = simulated_machine(SIMULATION_SEED);
    simulated.time_sd = 0.01;
    simulated.stop_chance = 0.2;
    simulated_begin(&s, "compare", WORDS("-r", "30", "--keep-outliers", "a", "b"));
    size_t both = 0, count;
    const struct run_list *a = &s.experiment.variants[0].runs, *b = &s.experiment.variants[1].runs;
    for (size_t i = 0; i < 30; i++)
        both += !a->items[a->count - 30 + i].rejected && !b->items[b->count - 30 + i].rejected;
    struct comparison *comparison = summary_compare(&s.experiment, &count);
    assert_non_null(comparison);
    assert_true(both < 30);
    assert_int_equal(comparison->block_count, both);
    free(comparison);
    simulated_end(&s);
}

static void test_a_failed_run_is_kept_and_ends_the_experiment(void **state)
{
    (void)state;
    struct simulated_experiment s;
    simulated = simulated_machine(SIMULATION_SEED);
    simulated.fail_chance = 0.2;
    simulated_begin(&s, "bench", WORDS("--warmup", "none", "-r", "100", "a"));
    const struct run_list *runs = &s.experiment.variants[0].runs;
    assert_int_equal(s.code, EXIT_COMMAND_FAILED);
    assert_int_equal(runs->count, simulated.run_count);
    assert_string_equal(runs->items[runs->count - 1].rejected, "exit status 1");
    simulated_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warm_up_lasts_until_power_and_temperature_are_steady),
        cmocka_unit_test(test_a_steady_power_does_not_end_warm_up_while_the_temperature_rises),
        cmocka_unit_test(test_steady_power_ends_warm_up_without_a_readable_temperature),
        cmocka_unit_test(test_scattered_power_ends_warm_up_after_ten_runs_and_is_not_called_steady),
        cmocka_unit_test(test_an_endless_drift_ends_warm_up_after_a_minute),
        cmocka_unit_test(test_modelled_energy_needs_one_warm_up_run),
        cmocka_unit_test(test_each_run_starts_in_the_temperature_band_of_the_first),
        cmocka_unit_test(test_without_cool_down_runs_start_hot),
        cmocka_unit_test(test_a_start_above_the_band_after_the_longest_pause_is_reported),
        cmocka_unit_test(test_cool_down_without_a_temperature_is_a_short_pause),
        cmocka_unit_test(test_reduced_clocks_are_reported_with_their_reason),
        cmocka_unit_test(test_unknown_clocks_and_use_are_not_reported_as_zero),
        cmocka_unit_test(test_use_of_gpus_is_reported_beside_power),
        cmocka_unit_test(test_the_net_energy_decides_if_idle_power_is_known),
        cmocka_unit_test(test_every_run_is_kept_and_rejected_runs_have_a_reason),
        cmocka_unit_test(test_a_rejected_run_takes_its_block_out_of_the_comparison),
        cmocka_unit_test(test_a_failed_run_is_kept_and_ends_the_experiment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
