/* bench/experiment.c - see experiment.h. */
#include "experiment.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/string.h"
#include "common/output.h"
#include "joule/stats/outliers.h"
#include "joule/stats/steady.h"
#include "joule/stats/stop_rule.h"
#include "progress.h"
#include "summary.h"

#define AUTO_WARM_UPS    10   /* automatic warm-up ends after so many runs of a command ... */
#define AUTO_WARM_UP_S   5    /* ... or so much time, if it is not known whether power still changes */
#define LONG_WARM_UPS    100  /* while power or temperature certainly change, it may last ... */
#define LONG_WARM_UP_S   60   /* ... so long */
#define STEADY_TOLERANCE 0.02 /* relative change of power at the end of the warm-up */
#define BAND_CELSIUS     1.0  /* runs begin at most this much above the start temperature */
#define COOL_SLEEP_S     0.25
#define FIXED_PAUSE_S    1 /* cool-down without a readable temperature, at most */

/* --- one run -------------------------------------------------------------------------------------------- */

/* Chooses the energy that decides, from the first run. */
static void choose_basis(struct experiment *e, const struct run *run)
{
    if (e->is_basis_known)
        return;
    e->is_basis_known = true;
    if (run->is_modelled)
        e->basis = isnan(run->command_joules) ? BASIS_UNKNOWN : BASIS_COMMAND;
    else if (!isnan(run->net_joules))
        e->basis = BASIS_NET;
    else
        e->basis = isnan(run->machine_joules) ? BASIS_UNKNOWN : BASIS_GROSS;
    runner_describe(&e->runner, e->sources, sizeof e->sources, e->machine, sizeof e->machine);
}

/* Waits until the temperature is in the band of the start. */
static void cool_down(struct experiment *e)
{
    double limit_s = e->settings->cool_down_s;
    if (!(limit_s > 0) || !e->has_begun)
        return;
    if (isnan(e->start_celsius)) {
        runner_pause(&e->runner, fmin(limit_s, FIXED_PAUSE_S));
        return;
    }
    int64_t until_ns = runner_now_ns() + (int64_t)(limit_s * 1e9);
    while (runner_temperature(&e->runner) > e->start_celsius + BAND_CELSIUS && !e->runner.interrupted_by) {
        if (runner_now_ns() > until_ns) {
            e->hot_starts++;
            break;
        }
        runner_pause(&e->runner, COOL_SLEEP_S);
    }
}

/* Runs --setup or --prepare. Returns false after a message if it failed. */
static bool do_unmeasured(struct experiment *e, const char *option, const char *text)
{
    int code = text ? runner_do(&e->runner, text) : 0;
    if (code == 0 || e->runner.interrupted_by)
        return true;
    e->failed_code = EXIT_COMMAND_FAILED;
    if (code < 0)
        complain(e->settings->subject, "cannot run the command of --%s: %s", option, strerror(errno));
    else
        complain(e->settings->subject, "the command of --%s failed with exit status %d", option, code);
    return false;
}

/* Stores a run. Stops storing after a failure, with a message. */
static void store_run(struct experiment *e, struct variant *v)
{
    joule_error error;
    if (!e->store.db)
        return;
    summary_store(e, v, &v->sums);
    v->stored.group = v->stored.id == e->group ? 0 : e->group;
    const struct run *run = &v->runs.items[v->runs.count - 1];
    if (store_add_run(&e->store, &v->stored, v->runs.count - 1, run, &error) == JOULE_OK) {
        e->group = e->group ? e->group : v->stored.id;
        return;
    }
    complain(e->settings->subject, "%s; further runs are not stored", error.message);
    store_close(&e->store);
}

/* Sets why a run does not count. Returns false after a message if the experiment must end. */
static bool judge_run(struct experiment *e, const struct variant *v, struct run *run)
{
    if (run->exit_code != 0 && !e->settings->ignores_failure && !run->rejected) {
        char reason[40];
        string_print(reason, sizeof reason, "exit status %d", run->exit_code);
        run->rejected = arena_copy(&e->arena, reason, strlen(reason));
        complain(e->settings->subject, "'%s' failed with exit status %d; --ignore-failure counts such runs",
                 v->name, run->exit_code);
        e->failed_code = EXIT_COMMAND_FAILED;
        return false;
    }
    if (!run->rejected && e->basis != BASIS_UNKNOWN && isnan(run_joules(run, e->basis)))
        run->rejected = "energy unknown";
    if (!run->rejected && e->settings->has_work_line && isnan(run->work) && !run->is_warm_up) {
        run->rejected = "no work in the output";
        complain(e->settings->subject, "no line of the output of '%s' matches --work-line", v->name);
        e->failed_code = EXIT_COMMAND_FAILED;
        return false;
    }
    return true;
}

/* Runs a variant once. Returns false if the experiment must end. */
static bool run_variant(struct experiment *e, struct variant *v, bool is_warm_up)
{
    struct run run;
    joule_error error;
    if (!is_warm_up)
        cool_down(e);
    e->has_begun = e->has_begun || !is_warm_up;
    if (!do_unmeasured(e, "prepare", e->settings->prepare) || e->runner.interrupted_by)
        return false;
    if (runner_run(&e->runner, v->argv, &run, &error) != JOULE_OK) {
        complain(e->settings->subject, "%s", error.message);
        e->failed_code = e->runner.exec_errno == 0        ? EXIT_OWN_FAILURE
                         : e->runner.exec_errno == ENOENT ? EXIT_NOT_FOUND
                                                          : EXIT_NOT_EXECUTABLE;
        return false;
    }
    choose_basis(e, &run);
    e->cls = run.cls > e->cls ? run.cls : e->cls;
    run.block = e->block_count;
    run.is_warm_up = is_warm_up;
    if (!e->settings->has_work_line && e->settings->work.amount > 0)
        run.work = e->settings->work.amount;
    bool goes_on = judge_run(e, v, &run);
    if (!run_list_add(&v->runs, &run)) {
        complain(e->settings->subject, "cannot keep a run: out of memory");
        e->failed_code = EXIT_OWN_FAILURE;
        return false;
    }
    run_sums_add(&v->sums, &run, e->basis);
    store_run(e, v);
    progress_show(e, v);
    return goes_on && !e->runner.interrupted_by;
}

/* --- warm-up -------------------------------------------------------------------------------------------- */

/* Judges the last values of warm-up runs. tolerance: in the unit of the values, or relative. */
static enum steadiness judge_series(const double *values, size_t count, double tolerance, bool is_relative)
{
    struct drift drift = drift_fit_independent(values, count, BENCH_LEVEL);
    enum steadiness state = drift_judge(&drift, is_relative ? tolerance * fabs(drift.mean) : tolerance);
    /* A certain drift counts, although it may be smaller than the tolerance. */
    return state == STEADINESS_UNKNOWN && (drift.low > 0 || drift.high < 0) ? STEADINESS_DRIFTS : state;
}

/* Judges whether power and temperature change during the last half of the warm-up runs, or during the last
 * STEADY_MIN_VALUES if these are more. A temperature that cannot be read does not count. */
static enum steadiness judge_warm_up(const struct experiment *e, const struct variant *v)
{
    double watts[LONG_WARM_UPS] = {0}, celsius[LONG_WARM_UPS] = {0};
    const struct run_list *runs = &v->runs;
    size_t window = runs->count / 2 > STEADY_MIN_VALUES ? runs->count / 2 : STEADY_MIN_VALUES;
    window = window < LONG_WARM_UPS ? window : LONG_WARM_UPS;
    size_t first = runs->count > window ? runs->count - window : 0, count = runs->count - first;
    for (size_t i = 0; i < count; i++) {
        watts[i] = run_metric(&runs->items[first + i], e->basis, METRIC_POWER);
        celsius[i] = runs->items[first + i].temperature_celsius;
    }
    enum steadiness of_power = judge_series(watts, count, STEADY_TOLERANCE, true);
    if (count == 0 || isnan(celsius[count - 1]))
        return of_power;
    enum steadiness of_heat = judge_series(celsius, count, BAND_CELSIUS, false);
    /* Long runs are few, but two of them show whether the machine still heats up. */
    bool heats = count > 1 && fabs(celsius[count - 1] - celsius[count - 2]) > BAND_CELSIUS;
    if (of_power == STEADINESS_DRIFTS || of_heat == STEADINESS_DRIFTS || heats)
        return STEADINESS_DRIFTS;
    return of_power == STEADINESS_STEADY ? of_heat : of_power;
}

/* Returns true if the variant needs no further warm-up run. Modelled energy depends on CPU time only, so one
 * run, which fills caches, is enough. */
static bool is_warm(const struct experiment *e, const struct variant *v, int64_t begin_ns)
{
    const struct settings *s = e->settings;
    size_t done = v->runs.count;
    double time_s = clock_seconds(runner_now_ns() - begin_ns);
    if (s->warm_up_s > 0)
        return time_s >= s->warm_up_s || done >= MAX_WARM_UPS;
    if (s->warm_ups != WARM_UP_AUTOMATIC)
        return done >= s->warm_ups;
    if (done == 0)
        return false;
    if (e->basis == BASIS_COMMAND || e->basis == BASIS_UNKNOWN)
        return true;
    enum steadiness state = judge_warm_up(e, v);
    if (state == STEADINESS_DRIFTS)
        return done >= LONG_WARM_UPS || time_s >= LONG_WARM_UP_S;
    return state == STEADINESS_STEADY || done >= AUTO_WARM_UPS || time_s >= AUTO_WARM_UP_S;
}

static bool warm_up(struct experiment *e)
{
    bool is_steady = true;
    for (size_t i = 0; i < e->count; i++) {
        int64_t begin_ns = runner_now_ns();
        while (!is_warm(e, &e->variants[i], begin_ns))
            if (!run_variant(e, &e->variants[i], true))
                return false;
        is_steady = is_steady && judge_warm_up(e, &e->variants[i]) == STEADINESS_STEADY;
    }
    e->is_steady = is_steady;
    return true;
}

/* --- blocks --------------------------------------------------------------------------------------------- */

size_t experiment_pairs(const struct experiment *e, const struct variant *variant, enum metric metric,
                        double *out_reference, double *out_values)
{
    const struct run_list *a = &e->variants[variant->reference].runs, *b = &variant->runs;
    size_t count = 0;
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        const struct run *first = &a->items[i], *second = &b->items[j];
        if (first->is_warm_up || (!second->is_warm_up && first->block < second->block)) {
            i++;
        } else if (second->is_warm_up || second->block < first->block) {
            j++;
        } else {
            if (!first->rejected && !second->rejected) {
                out_reference[count] = run_metric(first, e->basis, metric);
                out_values[count++] = run_metric(second, e->basis, metric);
            }
            i++;
            j++;
        }
    }
    return count;
}

/* Returns the number of blocks that one variant needs, according to the stop rule. */
static size_t blocks_of(const struct experiment *e, const struct variant *v, double *a, double *b)
{
    enum metric metric = e->basis == BASIS_UNKNOWN ? METRIC_TIME : METRIC_ENERGY;
    bool is_pair = v->reference != (size_t)(v - e->variants);
    struct stop_rule rule = {.half_width = e->settings->target,
                             .is_relative = !is_pair,
                             .level = BENCH_LEVEL,
                             .min_runs = e->settings->min_runs,
                             .max_runs = e->settings->max_runs};
    size_t count =
        is_pair ? experiment_pairs(e, v, metric, a, b) : run_list_metric(&v->runs, e->basis, metric, b);
    for (size_t i = 0; is_pair && i < count; i++)
        b[i] = log(b[i] / a[i]);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(b[i]))
            return e->settings->max_runs; /* for example net energy below 0 */
    size_t missing = e->block_count - count;
    size_t next = stop_rule_next(&rule, b, count);
    return next == count ? e->block_count : next + missing;
}

/* Returns the number of blocks up to which to run; block_count: enough. */
static size_t plan_blocks(struct experiment *e)
{
    const struct settings *s = e->settings;
    size_t runs = e->block_count + 1, most = 0;
    double *a = calloc(2 * runs, sizeof *a);
    if (s->min_runs == s->max_runs || !a) {
        free(a);
        return s->max_runs;
    }
    for (size_t i = 0; i < e->count; i++) {
        const struct variant *v = &e->variants[i];
        bool decides = e->count == 1 || s->baseline || v->reference != i;
        size_t next = decides ? blocks_of(e, v, a, a + runs) : 0;
        most = next > most ? next : most;
    }
    free(a);
    e->has_target = most <= e->block_count && e->block_count < s->max_runs;
    return most < s->max_runs ? most : s->max_runs;
}

static bool run_block(struct experiment *e, struct generator *generator, size_t *order)
{
    generator_order(generator, order, e->count);
    for (size_t i = 0; i < e->count; i++)
        if (!run_variant(e, &e->variants[order[i]], false))
            return false;
    e->block_count++;
    return true;
}

static bool run_blocks(struct experiment *e)
{
    struct generator generator = {.state = e->settings->seed};
    size_t *order = calloc(e->count, sizeof *order);
    e->start_celsius = runner_temperature(&e->runner);
    e->begin_ns = runner_now_ns();
    bool goes_on = order != NULL;
    while (goes_on && e->block_count < (e->planned_blocks = (unsigned)plan_blocks(e))) {
        double time_s = clock_seconds(runner_now_ns() - e->begin_ns);
        e->is_out_of_time = e->settings->max_s > 0 && time_s >= e->settings->max_s;
        if (e->is_out_of_time)
            break;
        goes_on = run_block(e, &generator, order);
    }
    free(order);
    return goes_on;
}

bool experiment_run(struct experiment *e)
{
    bool done = do_unmeasured(e, "setup", e->settings->setup) && !e->runner.interrupted_by && warm_up(e) &&
                run_blocks(e);
    progress_clear(e);
    return done;
}

/* --- afterwards ----------------------------------------------------------------------------------------- */

/* Marks the runs of a variant whose energy (or log ratio to the reference) is an outlier. */
static void mark_outliers(struct experiment *e, struct variant *v)
{
    enum metric metric = e->basis == BASIS_UNKNOWN ? METRIC_TIME : METRIC_ENERGY;
    size_t size = v->runs.count + 1, count = 0;
    double *values = calloc(3 * size, sizeof *values);
    size_t *places = calloc(size, sizeof *places);
    bool *is_outlier = calloc(size, sizeof *is_outlier);
    const struct run_list *other = &e->variants[v->reference].runs;
    bool is_pair = other != &v->runs;
    for (size_t i = 0, j = 0; values && places && is_outlier && i < v->runs.count; i++) {
        const struct run *run = &v->runs.items[i], *base = NULL;
        while (is_pair && j < other->count &&
               (other->items[j].is_warm_up || other->items[j].block < run->block))
            j++; /* both lists are in the order of blocks, after the warm-up */
        if (is_pair && j < other->count && other->items[j].block == run->block)
            base = &other->items[j];
        if (run->is_warm_up || run->rejected || (is_pair && (!base || base->rejected)))
            continue;
        places[count] = i;
        values[count++] =
            log(run_metric(run, e->basis, metric)) - (base ? log(run_metric(base, e->basis, metric)) : 0);
    }
    if (count && outliers_find(values, count, is_outlier, values + size))
        for (size_t i = 0; i < count; i++)
            if (is_outlier[i] && isfinite(values[i]))
                v->runs.items[places[i]].rejected = "outlier";
    free(values);
    free(places);
    free(is_outlier);
}

void experiment_finish(struct experiment *e)
{
    joule_error error;
    for (size_t i = 0; i < e->count && !e->settings->keeps_outliers; i++)
        if (e->count == 1 || e->variants[i].reference != i)
            mark_outliers(e, &e->variants[i]);
    for (size_t i = 0; i < e->count && e->store.db; i++) {
        struct variant *v = &e->variants[i];
        struct run_sums sums = {0};
        for (size_t j = 0; j < v->runs.count; j++)
            run_sums_add(&sums, &v->runs.items[j], e->basis);
        summary_store(e, v, &sums);
        if (v->stored.id && store_finish(&e->store, &v->stored, &v->runs, &error) != JOULE_OK)
            complain(e->settings->subject, "%s", error.message);
    }
}
