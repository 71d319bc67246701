/* Tests budgets on a scripted machine whose power is known at every moment of virtual time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "joule/api/budget_list.h"
#include "joule/session/session.h"
#include "joule/api/open.h"
#include "support/check.h"
#include "support/machine.h"

#define ZONE "/sys/class/powercap/intel-rapl:0"
#define CHIP "/sys/class/hwmon/hwmon0"
#define S    1000000000LL /* nanoseconds */

/* Returns the joules used until a time: the power is 60 W for ten seconds, then 120 W. */
static double true_joules(int64_t time_ns)
{
    double t = (double)time_ns * 1e-9;
    return t < 10 ? 60 * t : 600 + 120 * (t - 10);
}

static ssize_t energy_uj(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)context;
    return snprintf(buffer, size, "%.0f\n", true_joules(time_ns) * 1e6);
}

/* The temperature rises by 1 kelvin per second. */
static ssize_t millidegrees(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)context;
    return snprintf(buffer, size, "%lld\n", 40000 + (long long)(time_ns / 1000000));
}

static int set_up(void **state)
{
    machine_setup(state);
    struct machine_bench *bench = *state;
    bench->next_ns = 1 * S;
    host_script_set_time(bench->host, bench->next_ns);
    host_script_text(bench->host, ZONE "/name", "package-0\n");
    host_script_text(bench->host, ZONE "/max_energy_range_uj", "262143328850\n");
    host_script_file(bench->host, ZONE "/energy_uj", energy_uj, NULL);
    host_script_text(bench->host, CHIP "/name", "coretemp\n");
    host_script_text(bench->host, CHIP "/temp1_label", "Package id 0\n");
    host_script_file(bench->host, CHIP "/temp1_input", millidegrees, NULL);
    return 0;
}

struct witness {
    const struct machine_bench *bench;
    joule_budget_status statuses[8];
    int64_t when_ns[8];
    double used_joules[8];
    size_t count;
};

static void note(joule_budget *budget, joule_budget_status status, void *context)
{
    struct witness *witness = context;
    joule_budget_result result = {.struct_size = sizeof result};
    assert_int_equal(joule_budget_now(budget, &result), JOULE_OK);
    assert_true(witness->count < 8);
    witness->statuses[witness->count] = status;
    witness->when_ns[witness->count] = witness->bench->next_ns;
    witness->used_joules[witness->count++] = result.joules.value;
}

static joule_budget *begin(struct machine_bench *bench, joule_budget_options options, struct witness *witness)
{
    joule_budget *budget;
    joule_error error;
    options.struct_size = sizeof options;
    options.domain = JOULE_TOTAL;
    if (witness) {
        *witness = (struct witness){.bench = bench};
        options.notify = note;
        options.context = witness;
    }
    assert_ok(joule_budget_begin(bench->meter, &options, &budget, &error), &error);
    return budget;
}

static joule_budget_result end(joule_budget *budget)
{
    joule_budget_result result = {.struct_size = sizeof result};
    assert_int_equal(joule_budget_end(budget, &result), JOULE_OK);
    return result;
}

/* --- verdicts ------------------------------------------------------------------------------------------- */

static joule_quantity normal(double value, double half_width)
{
    double low = value - half_width;
    return (joule_quantity){value, low > 0 ? low : 0, value + half_width, JOULE_CLASS_MEASURED, 0};
}

static void test_probability_decides_the_status(void **state)
{
    (void)state;
    joule_quantity unknown = {NAN, NAN, NAN, JOULE_CLASS_NONE, 0};
    joule_quantity modelled = {100, 50, 200, JOULE_CLASS_MODELLED, 0};
    assert_int_equal(joule_budget_judge(normal(50, 1), 100), JOULE_BUDGET_WITHIN);
    assert_int_equal(joule_budget_judge(normal(79.9, 1), 100), JOULE_BUDGET_WITHIN);
    assert_int_equal(joule_budget_judge(normal(80, 1), 100), JOULE_BUDGET_NEAR);
    assert_int_equal(joule_budget_judge(normal(98.9, 1), 100), JOULE_BUDGET_NEAR);
    assert_int_equal(joule_budget_judge(normal(99.5, 1), 100), JOULE_BUDGET_UNDECIDED);
    assert_int_equal(joule_budget_judge(normal(100.5, 1), 100), JOULE_BUDGET_UNDECIDED);
    assert_int_equal(joule_budget_judge(normal(101.1, 1), 100), JOULE_BUDGET_OVER);
    assert_int_equal(joule_budget_judge(normal(0.01, 0.09), 0.05), JOULE_BUDGET_BELOW_RESOLUTION);
    assert_int_equal(joule_budget_judge(normal(0.01, 0.09), 5), JOULE_BUDGET_WITHIN);
    assert_int_equal(joule_budget_judge(modelled, 120), JOULE_BUDGET_UNDECIDED);
    assert_int_equal(joule_budget_judge(modelled, 201), JOULE_BUDGET_WITHIN);
    assert_int_equal(joule_budget_judge(modelled, 49), JOULE_BUDGET_OVER);
    /* the energy is known exactly and equals the limit */
    assert_int_equal(joule_budget_judge(normal(5, 0), 5), JOULE_BUDGET_NEAR);
    assert_int_equal(joule_budget_judge(unknown, 100), JOULE_BUDGET_NOT_MEASURED);
    assert_int_equal(joule_budget_judge(normal(5, 1), NAN), JOULE_BUDGET_NOT_MEASURED);
}

/* --- joules --------------------------------------------------------------------------------------------- */

static void test_near_and_over_are_notified_once(void **state)
{
    struct machine_bench *bench = *state;
    struct witness witness;
    bench->meter = machine_open(bench->host, "rapl_powercap");
    machine_run_until(bench, 2 * S);
    double before = true_joules(bench->next_ns - S / 10);
    joule_budget *budget = begin(bench, (joule_budget_options){.max_joules = 300}, &witness);
    machine_run_until(bench, 9 * S);
    assert_int_equal(witness.count, 2);
    assert_int_equal(witness.statuses[0], JOULE_BUDGET_NEAR);
    assert_int_equal(witness.statuses[1], JOULE_BUDGET_OVER);
    /* 240 J are used 4 s after the begin, 300 J 5 s after it. Both are detected within two readings. */
    assert_in_range(witness.when_ns[0], 6 * S - S / 5, 6 * S + S / 5);
    assert_in_range(witness.when_ns[1], 7 * S - S / 5, 7 * S + S / 5);
    joule_budget_result result = end(budget);
    assert_int_equal(result.status, JOULE_BUDGET_OVER);
    assert_true(result.probability < 0.01);
    assert_true(witness.used_joules[1] - 300 <= result.overshoot_bound_joules);
    double truth = true_joules(bench->next_ns - S / 10) - before;
    assert_true(result.joules.low <= truth && truth <= result.joules.high);
}

static void test_small_use_is_within_budget(void **state)
{
    struct machine_bench *bench = *state;
    struct witness witness;
    bench->meter = machine_open(bench->host, "rapl_powercap");
    machine_run_until(bench, 2 * S);
    joule_budget *budget = begin(bench, (joule_budget_options){.max_joules = 1000}, &witness);
    machine_run_until(bench, 5 * S);
    joule_budget_result result = end(budget);
    assert_int_equal(result.status, JOULE_BUDGET_WITHIN);
    assert_true(result.probability > 0.99);
    assert_int_equal(witness.count, 0);
    assert_true(fabs(result.peak_watts - 60) < 1);
}

static void test_nested_budgets_are_judged_for_themselves(void **state)
{
    struct machine_bench *bench = *state;
    struct witness outer_witness, inner_witness;
    bench->meter = machine_open(bench->host, "rapl_powercap");
    machine_run_until(bench, 2 * S);
    joule_budget *outer = begin(bench, (joule_budget_options){.max_joules = 1000}, &outer_witness);
    machine_run_until(bench, 4 * S);
    joule_budget *inner = begin(bench, (joule_budget_options){.max_joules = 60}, &inner_witness);
    machine_run_until(bench, 6 * S);
    assert_int_equal(end(inner).status, JOULE_BUDGET_OVER);
    joule_budget_result result = end(outer);
    assert_int_equal(result.status, JOULE_BUDGET_WITHIN);
    assert_true(result.joules.value > 200);
    assert_int_equal(outer_witness.count, 0);
    assert_int_equal(inner_witness.statuses[inner_witness.count - 1], JOULE_BUDGET_OVER);
}

/* --- watts and kelvin ----------------------------------------------------------------------------------- */

static void test_power_is_that_of_the_last_second(void **state)
{
    struct machine_bench *bench = *state;
    struct witness witness;
    bench->meter = machine_open(bench->host, "rapl_powercap");
    machine_run_until(bench, 2 * S);
    joule_budget *budget = begin(bench, (joule_budget_options){.max_watts = 90}, &witness);
    machine_run_until(bench, 9 * S);
    assert_int_equal(witness.count, 0);
    machine_run_until(bench, 13 * S);
    assert_int_equal(witness.statuses[witness.count - 1], JOULE_BUDGET_OVER);
    /* The power rises from 60 to 120 W at 10 s. The mean of the last second reaches 90 W half a second
     * later. */
    assert_in_range(witness.when_ns[witness.count - 1], 10 * S + 2 * S / 5, 10 * S + 4 * S / 5);
    joule_budget_result result = end(budget);
    assert_int_equal(result.status, JOULE_BUDGET_OVER);
    assert_true(fabs(result.peak_watts - 120) < 2);
    assert_true(isnan(result.probability)); /* the budget has no limit of joules */
}

/* A budget that is shorter than the averaging period of its power is judged and reported at its end. */
static void test_excess_at_the_end_is_reported_at_the_end(void **state)
{
    struct machine_bench *bench = *state;
    struct witness witness;
    bench->meter = machine_open(bench->host, "rapl_powercap");
    machine_run_until(bench, 2 * S);
    joule_budget *budget = begin(bench, (joule_budget_options){.max_watts = 10}, &witness);
    machine_run_until(bench, 2 * S + S / 2);
    assert_int_equal(witness.count, 0);
    assert_int_equal(end(budget).status, JOULE_BUDGET_OVER);
    assert_int_equal(witness.count, 1);
    assert_int_equal(witness.statuses[0], JOULE_BUDGET_OVER);
}

static void test_temperature_rise_is_limited(void **state)
{
    struct machine_bench *bench = *state;
    struct witness witness;
    bench->meter = machine_open(bench->host, "rapl_powercap,thermal");
    machine_run_until(bench, 2 * S);
    joule_budget *budget = begin(bench, (joule_budget_options){.max_temperature_rise_kelvin = 5}, &witness);
    machine_run_until(bench, 6 * S + S / 2);
    assert_int_equal(witness.count, 1);
    assert_int_equal(witness.statuses[0], JOULE_BUDGET_NEAR);
    machine_run_until(bench, 8 * S);
    assert_int_equal(witness.count, 2);
    joule_budget_result result = end(budget);
    assert_int_equal(result.status, JOULE_BUDGET_OVER);
    if (!(result.temperature_rise_kelvin > 5 &&
          result.temperature_rise_kelvin < 6.2)) /* the temperature is read once per second */
        fail_msg("%f K", result.temperature_rise_kelvin);
}

static void test_no_gauge_is_not_measured(void **state)
{
    struct machine_bench *bench = *state;
    bench->meter = machine_open(bench->host, "rapl_powercap");
    machine_run_until(bench, 2 * S);
    joule_budget *budget = begin(bench, (joule_budget_options){.max_temperature_rise_kelvin = 5}, NULL);
    machine_run_until(bench, 4 * S);
    assert_int_equal(end(budget).status, JOULE_BUDGET_NOT_MEASURED);
}

static void test_no_sensor_is_not_measured(void **state)
{
    struct machine_bench *bench = *state;
    struct witness witness;
    bench->meter = machine_open(bench->host, "rapl_perf");
    machine_run_until(bench, 2 * S);
    joule_budget *budget = begin(bench, (joule_budget_options){.max_joules = 1, .max_watts = 1}, &witness);
    machine_run_until(bench, 4 * S);
    joule_budget_result result = end(budget);
    assert_int_equal(result.status, JOULE_BUDGET_NOT_MEASURED);
    assert_true(isnan(result.joules.value));
    assert_true(isnan(result.overshoot_bound_joules));
    assert_int_equal(witness.count, 0);
}

/* --- tags ----------------------------------------------------------------------------------------------- */

static void add_span(struct machine_bench *bench, uint32_t tag, int64_t begin_ns, int64_t end_ns)
{
    joule_span span = {.struct_size = sizeof span,
                       .tag = tag,
                       .device_index = -1,
                       .begin = (double)begin_ns,
                       .end = (double)end_ns,
                       .scale_ns = 1};
    assert_int_equal(joule_span_add(bench->meter, &span), JOULE_OK);
}

static void test_tag_budget_counts_regions_since_its_begin(void **state)
{
    struct machine_bench *bench = *state;
    struct witness witness;
    uint32_t tag = joule_tag("budgeted"), other = joule_tag("other");
    bench->meter = machine_open(bench->host, "rapl_powercap");
    machine_run_until(bench, 2 * S);
    add_span(bench, tag, 1 * S, 2 * S); /* 60 J that were used before the budget began */
    machine_run_until(bench, 4 * S);
    joule_budget *budget = begin(bench, (joule_budget_options){.max_joules = 100, .tag = tag}, &witness);
    machine_run_until(bench, 6 * S);
    add_span(bench, tag, 5 * S, 6 * S);
    machine_run_until(bench, 7 * S);
    add_span(bench, other, 6 * S, 7 * S);
    machine_run_until(bench, 8 * S);
    assert_int_equal(witness.count, 0);
    add_span(bench, tag, 7 * S, 8 * S);
    machine_run_until(bench, 9 * S);
    joule_budget_result result = end(budget);
    if (fabs(result.joules.value - 120) > 2)
        fail_msg("%f J instead of 120 J", result.joules.value);
    assert_int_equal(result.status, JOULE_BUDGET_OVER);
    assert_int_equal(witness.statuses[witness.count - 1], JOULE_BUDGET_OVER);
    assert_true(session_get_budget(session_current(), tag) == 100);
    assert_true(isnan(session_get_budget(session_current(), other)));
}

/* --- invalid input, callbacks, signals, threads --------------------------------------------------------- */

static void refuse(struct machine_bench *bench, joule_budget_options options)
{
    joule_budget *budget = NULL;
    joule_error error = {0};
    assert_int_equal(joule_budget_begin(bench->meter, &options, &budget, &error), JOULE_INVALID);
    assert_null(budget);
    assert_true(error.message[0] != '\0');
}

static void test_wrong_options_are_refused(void **state)
{
    struct machine_bench *bench = *state;
    const joule_budget_options good = {.struct_size = sizeof good, .domain = JOULE_TOTAL, .max_joules = 1};
    joule_budget_options bad = good;
    bench->meter = machine_open(bench->host, "rapl_powercap,thermal");
    bad.struct_size = 4;
    refuse(bench, bad);
    bad = good;
    bad.max_joules = 0;
    refuse(bench, bad);
    bad.max_joules = -1;
    refuse(bench, bad);
    bad.max_joules = NAN;
    refuse(bench, bad);
    bad.max_joules = INFINITY;
    refuse(bench, bad);
    bad = good;
    bad.domain = 999;
    refuse(bench, bad);
    bad.domain = -4;
    refuse(bench, bad);
    assert_int_equal(joule_budget_now(NULL, NULL), JOULE_INVALID);
    assert_int_equal(joule_budget_end(NULL, NULL), JOULE_INVALID);
}

static void use_everything(joule_budget *budget, joule_budget_status status, void *context)
{
    joule_budget_result result = {.struct_size = sizeof result};
    joule_budget_options options = {.struct_size = sizeof options, .domain = JOULE_TOTAL, .max_joules = 1e6};
    joule_meter *meter = ((struct machine_bench *)context)->meter;
    joule_budget *another;
    (void)status;
    assert_int_equal(joule_budget_now(budget, &result), JOULE_OK);
    assert_int_equal(joule_sample_now(meter), JOULE_OK);
    assert_int_equal(joule_budget_begin(meter, &options, &another, NULL), JOULE_OK);
}

static void test_a_callback_may_use_the_meter(void **state)
{
    struct machine_bench *bench = *state;
    bench->meter = machine_open(bench->host, "rapl_powercap");
    machine_run_until(bench, 2 * S);
    joule_budget *budget = begin(
        bench, (joule_budget_options){.max_joules = 60, .notify = use_everything, .context = bench}, NULL);
    machine_run_until(bench, 5 * S);
    assert_int_equal(end(budget).status, JOULE_BUDGET_OVER);
} /* the meter frees the budgets that the callback began */

static volatile sig_atomic_t terminations;

static void count_termination(int signal)
{
    (void)signal;
    terminations++;
}

static void test_stop_sends_one_sigterm(void **state)
{
    struct machine_bench *bench = *state;
    struct sigaction action = {.sa_handler = count_termination}, before;
    sigaction(SIGTERM, &action, &before);
    bench->meter = machine_open(bench->host, "rapl_powercap");
    machine_run_until(bench, 2 * S);
    joule_budget *budget =
        begin(bench, (joule_budget_options){.max_joules = 60, .flags = JOULE_BUDGET_STOP}, NULL);
    machine_run_until(bench, 2 * S + S / 2);
    assert_int_equal(terminations, 0);
    machine_run_until(bench, 6 * S);
    assert_int_equal(terminations, 1);
    end(budget);
    sigaction(SIGTERM, &before, NULL);
}

struct crowd {
    joule_meter *meter;
    _Atomic bool stop;
};

static void *check_all_the_time(void *argument)
{
    struct crowd *crowd = argument;
    while (!atomic_load(&crowd->stop))
        budget_list_check(budget_list_of(crowd->meter));
    return NULL;
}

static void *begin_and_end(void *argument)
{
    struct crowd *crowd = argument;
    joule_budget_options options = {.struct_size = sizeof options, .domain = JOULE_TOTAL, .max_joules = 1};
    for (int i = 0; i < 300; i++) {
        joule_budget *budget;
        joule_budget_result result = {.struct_size = sizeof result};
        if (joule_budget_begin(crowd->meter, &options, &budget, NULL) != JOULE_OK)
            continue;
        joule_budget_now(budget, &result);
        joule_budget_end(budget, &result);
    }
    return NULL;
}

static void test_threads_may_use_one_budget(void **state)
{
    struct machine_bench *bench = *state;
    pthread_t checkers[2], users[2];
    bench->meter = machine_open(bench->host, "rapl_powercap");
    machine_run_until(bench, 2 * S);
    struct crowd crowd = {.meter = bench->meter};
    for (int i = 0; i < 2; i++) {
        pthread_create(&checkers[i], NULL, check_all_the_time, &crowd);
        pthread_create(&users[i], NULL, begin_and_end, &crowd);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(users[i], NULL);
    atomic_store(&crowd.stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(checkers[i], NULL);
}

#define machine(test) cmocka_unit_test_setup_teardown(test, set_up, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probability_decides_the_status),
        machine(test_near_and_over_are_notified_once),
        machine(test_small_use_is_within_budget),
        machine(test_nested_budgets_are_judged_for_themselves),
        machine(test_power_is_that_of_the_last_second),
        machine(test_excess_at_the_end_is_reported_at_the_end),
        machine(test_temperature_rise_is_limited),
        machine(test_no_gauge_is_not_measured),
        machine(test_no_sensor_is_not_measured),
        machine(test_tag_budget_counts_regions_since_its_begin),
        machine(test_wrong_options_are_refused),
        machine(test_a_callback_may_use_the_meter),
        machine(test_stop_sends_one_sigterm),
        machine(test_threads_may_use_one_budget),
    };
    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
