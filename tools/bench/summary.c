/* bench/summary.c - see summary.h. */
#include "summary.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define POWER 0.8 /* probability with which the stated number of blocks shows a difference */

/* --- figures of one command ----------------------------------------------------------------------------- */

static struct figure unknown_figure(void)
{
    const struct interval unknown = {NAN, NAN, NAN};
    return (struct figure){
        .mean = unknown, .median = unknown, .by_bootstrap = unknown, .sd = NAN, .min = NAN, .max = NAN};
}

/* Describes values. `values` has room for twice `count`; is_full: with bootstrap. */
static struct figure describe(double *values, size_t count, bool is_full)
{
    struct figure figure = unknown_figure();
    figure.count = count;
    figure.mean = interval_mean(values, count, BENCH_LEVEL);
    struct sample_summary sample = sample_summarize(values, count, values + count);
    figure.sd = sample.sd;
    figure.min = sample.min;
    figure.max = sample.max;
    figure.median.value = sample.median;
    double *scratch = is_full && count >= 2
                          ? calloc(interval_scratch_count(count, INTERVAL_RESAMPLES), sizeof *scratch)
                          : NULL;
    if (scratch) {
        struct generator generator = {.state = 1};
        struct interval_bootstrap how = {.level = BENCH_LEVEL,
                                         .resamples = INTERVAL_RESAMPLES,
                                         .generator = &generator,
                                         .figure = INTERVAL_MEAN};
        figure.by_bootstrap = interval_bootstrap(&how, values, count, scratch);
        how.figure = INTERVAL_MEDIAN;
        figure.median = interval_bootstrap(&how, values, count, scratch);
    }
    free(scratch);
    return figure;
}

static struct figure make_figure(const struct variant *v, enum basis basis, enum metric metric, bool is_full)
{
    struct figure figure = unknown_figure();
    double *values = calloc(2 * v->runs.count + 1, sizeof *values);
    if (values)
        figure = describe(values, run_list_metric(&v->runs, basis, metric, values), is_full);
    free(values);
    return figure;
}

struct figure summary_figure(const struct variant *v, enum basis basis, enum metric metric)
{
    return make_figure(v, basis, metric, false);
}

struct figure summary_full_figure(const struct variant *v, enum basis basis, enum metric metric)
{
    return make_figure(v, basis, metric, true);
}

struct figure summary_work(const struct experiment *e, const struct variant *v, bool per_second)
{
    struct figure figure = unknown_figure();
    double *values = calloc(2 * v->runs.count + 1, sizeof *values);
    size_t count = 0;
    for (size_t i = 0; values && i < v->runs.count; i++) {
        const struct run *run = &v->runs.items[i];
        if (!run->is_warm_up && !run->rejected && !isnan(run->work))
            values[count++] = run->work / (per_second ? run->seconds : run_joules(run, e->basis));
    }
    if (count)
        figure = describe(values, count, false);
    free(values);
    return figure;
}

double summary_common_error(const struct experiment *e, const struct variant *v)
{
    double sd = run_list_mean(&v->runs, offsetof(struct run, common_sd));
    return sd / fabs(summary_figure(v, e->basis, METRIC_ENERGY).mean.value);
}

double summary_own_error(const struct experiment *e, const struct variant *v)
{
    double sd = run_list_mean(&v->runs, offsetof(struct run, own_sd));
    return sd / fabs(summary_figure(v, e->basis, METRIC_ENERGY).mean.value);
}

size_t summary_rejected_count(const struct variant *v)
{
    size_t count = 0;
    for (size_t i = 0; i < v->runs.count; i++)
        count += !v->runs.items[i].is_warm_up && v->runs.items[i].rejected;
    return count;
}

size_t summary_warm_up_count(const struct variant *v)
{
    size_t count = 0;
    for (size_t i = 0; i < v->runs.count; i++)
        count += v->runs.items[i].is_warm_up;
    return count;
}

/* Returns the mean of the moments, NaN if there are no values. */
static double mean_of(const struct moments *moments)
{
    return moments->count ? moments->mean : NAN;
}

struct interval summary_interval(const struct moments *moments)
{
    double sd = moments->count < 2 ? NAN : sqrt(moments->squares / (double)(moments->count - 1));
    return interval_from_moments(mean_of(moments), sd, moments->count, BENCH_LEVEL);
}

void summary_store(const struct experiment *e, struct variant *v, const struct run_sums *sums)
{
    struct interval joules = summary_interval(&sums->joules);
    struct stored_benchmark *b = &v->stored;
    b->kind = e->settings->subject;
    b->name = v->name;
    b->command = v->command;
    b->date = e->date;
    b->host = e->host;
    b->machine = e->machine;
    b->sources = e->sources;
    b->cls = joule_class_name(e->cls);
    b->basis = e->basis;
    b->run_count = sums->joules.count;
    b->rejected_count = sums->rejected_count;
    b->joules = joules.value;
    b->joules_low = joules.low;
    b->joules_high = joules.high;
    b->seconds = mean_of(&sums->seconds);
    b->watts = mean_of(&sums->watts);
    b->work = mean_of(&sums->work);
    b->work_unit = e->settings->work.unit[0] ? e->settings->work.unit : NULL;
}

/* --- comparisons ---------------------------------------------------------------------------------------- */

/* Compares one metric at a level. values: room for all runs of both sides. */
static struct ratio compare_metric(const struct experiment *e, const struct variant *v, enum metric metric,
                                   const struct ratio_rule *rule, double *values, size_t size,
                                   size_t *out_count)
{
    double *a = values, *b = values + size;
    if (e->settings->baseline) {
        size_t base_count = run_list_metric(&e->baseline, e->basis, metric, a);
        *out_count = run_list_metric(&v->runs, e->basis, metric, b);
        return ratio_unpaired(a, base_count, b, *out_count, rule);
    }
    *out_count = experiment_pairs(e, v, metric, a, b);
    return ratio_paired(a, b, *out_count, rule);
}

static size_t values_size(const struct experiment *e)
{
    size_t size = e->baseline.count + 1;
    for (size_t i = 0; i < e->count; i++)
        size = e->variants[i].runs.count > size ? e->variants[i].runs.count : size;
    return size;
}

/* Corrects the ratios of all comparisons together. Returns false if out of memory. */
static bool correct_all(struct comparison *comparisons, size_t count, const struct ratio_rule *rule)
{
    static_assert((int)METRIC_ENERGY == RATIO_X && (int)METRIC_TIME == RATIO_Y &&
                      (int)METRIC_POWER == RATIO_QUOTIENT && (int)METRIC_EDP == RATIO_PRODUCT &&
                      (int)METRICS == RATIO_PRODUCTS,
                  "power is energy / time, and the energy-delay product is energy * time");
    struct ratio(*ratios)[METRICS] = calloc(count + 1, sizeof *ratios);
    double *scratch = calloc(3 * METRICS * count + 1, sizeof *scratch);
    bool has_memory = ratios && scratch;
    for (size_t i = 0; has_memory && i < count; i++)
        memcpy(ratios[i], comparisons[i].ratios, sizeof ratios[i]);
    if (has_memory)
        ratio_correct_products(ratios, rule, count, scratch);
    for (size_t i = 0; has_memory && i < count; i++)
        memcpy(comparisons[i].ratios, ratios[i], sizeof ratios[i]);
    free(ratios);
    free(scratch);
    return has_memory;
}

/* Sets the number of blocks that would show each measured ratio. */
static void set_blocks_needed(struct comparison *comparisons, size_t count, const struct ratio_rule *rule)
{
    for (size_t i = 0; i < count; i++) {
        double level = ratio_products_level(comparisons[i].ratios, rule, count);
        for (enum metric m = 0; m < METRICS; m++) {
            const struct ratio *ratio = &comparisons[i].ratios[m];
            comparisons[i].blocks_needed[m] = ratio_blocks_needed(ratio->log_sd, ratio->value, level, POWER);
        }
    }
}

struct comparison *summary_compare(const struct experiment *e, size_t *out_count)
{
    const struct ratio_rule rule = {.level = BENCH_LEVEL, .margin = e->settings->margin};
    size_t size = values_size(e), count = 0;
    struct comparison *comparisons = calloc(e->count + 1, sizeof *comparisons);
    double *values = calloc(2 * size, sizeof *values);
    for (size_t i = 0; comparisons && values && i < e->count; i++) {
        const struct variant *v = &e->variants[i];
        if (v->reference == i && !e->settings->baseline)
            continue;
        struct comparison *c = &comparisons[count++];
        c->variant = v;
        for (enum metric m = 0; m < METRICS; m++)
            c->ratios[m] = compare_metric(e, v, m, &rule, values, size, &c->block_count);
    }
    set_blocks_needed(comparisons, count, &rule);
    bool done = comparisons && values && correct_all(comparisons, count, &rule);
    free(values);
    if (!done) {
        free(comparisons);
        return NULL;
    }
    *out_count = count;
    return comparisons;
}

struct ratio summary_ratio_for_checks(const struct experiment *e, const struct comparison *c,
                                      enum metric metric, size_t check_count)
{
    const struct ratio_rule rule = {.level = 1 - (1 - BENCH_LEVEL) / (double)check_count};
    struct ratio ratio = {.value = NAN, .low = NAN, .high = NAN};
    size_t size = values_size(e), count;
    double *values = calloc(2 * size, sizeof *values);
    if (values)
        ratio = compare_metric(e, c->variant, metric, &rule, values, size, &count);
    free(values);
    return ratio;
}
