/* bench/output_text.c - prints the results of an experiment for people. */
#include <math.h>
#include <stddef.h>
#include <string.h>
#include "output.h"
#include "run_output.h"

#define SHORT_RUN_ERROR 0.05 /* independent error of a sensor above which runs are too short */
#define BUSY_WARNING    0.10 /* share of all CPUs that other programs may use */
#define FULL_COVERAGE   0.95

/* Writes a value of a metric with its unit. */
static void add_value(struct text *out, enum metric metric, double value, int digits)
{
    static const joule_dimension dimensions[] = {JOULE_DIMENSION_ENERGY, JOULE_DIMENSION_TIME,
                                                 JOULE_DIMENSION_POWER, JOULE_DIMENSION_ENERGY};
    char text[40];
    joule_format(value, dimensions[metric], digits, text, sizeof text);
    text_add(out, text);
    if (metric == METRIC_EDP && !isnan(value))
        text_add(out, "*s");
}

/* Pads the line that begins at `start` to `column`. */
static void pad(struct text *out, size_t start, size_t column)
{
    do
        text_add(out, " ");
    while (out->length - start < column);
}

static void add_percent(struct text *out, double ratio)
{
    if (isnan(ratio))
        text_add(out, "unknown");
    else
        text_printf(out, "%.2g %%", 100 * ratio);
}

static void add_interval(struct text *out, enum metric metric, const struct interval *interval)
{
    if (isnan(interval->low)) {
        text_add(out, "unknown");
        return;
    }
    add_value(out, metric, interval->low, 4);
    text_add(out, " to ");
    add_value(out, metric, interval->high, 4);
}

/* --- one command ---------------------------------------------------------------------------------------- */

static void add_figure(struct text *out, const char *title, enum metric metric, const struct figure *f)
{
    size_t start = out->length;
    text_printf(out, "  %s", title);
    pad(out, start, 16);
    add_value(out, metric, f->mean.value, 4);
    pad(out, start, 28);
    add_interval(out, metric, &f->mean);
    pad(out, start, 52);
    add_percent(out, f->sd / fabs(f->mean.value));
    pad(out, start, 62);
    add_value(out, metric, f->median.value, 4);
    pad(out, start, 74);
    add_interval(out, metric, &f->by_bootstrap);
    text_add(out, "\n");
}

static void add_share(struct text *out, const char *title, double share)
{
    if (isnan(share))
        text_printf(out, "%s unknown", title);
    else
        text_printf(out, "%s %.0f %%", title, 100 * share);
}

static void add_state(struct text *out, const struct variant *v)
{
    double celsius = run_list_mean(&v->runs, offsetof(struct run, temperature_celsius));
    size_t throttled = 0;
    int reasons = 0;
    for (size_t i = 0; i < v->runs.count; i++) {
        throttled += v->runs.items[i].throttled > 0;
        reasons |= v->runs.items[i].throttled > 0 ? v->runs.items[i].throttled : 0;
    }
    add_share(out, "  CPUs busy", run_list_mean(&v->runs, offsetof(struct run, cpu_busy)));
    add_share(out, ", by other programs", run_list_mean(&v->runs, offsetof(struct run, other_busy)));
    add_share(out, ", GPUs busy", run_list_mean(&v->runs, offsetof(struct run, gpu_busy)));
    if (isnan(celsius))
        text_add(out, ", temperature unknown");
    else
        text_printf(out, ", %.1f C", celsius);
    if (throttled) {
        text_printf(out, ", clocks reduced in %zu runs (", throttled);
        run_add_reasons(out, reasons);
        text_add(out, ")");
    }
    text_add(out, "\n");
}

static void add_work(struct text *out, const struct experiment *e, const struct variant *v)
{
    const char *unit = e->settings->work.unit;
    if (!unit[0])
        return;
    bool is_flop = strcmp(unit, "flop") == 0;
    struct figure speed = summary_work(e, v, true), efficiency = summary_work(e, v, false);
    text_printf(out, "  %s/s %.4g, %s per joule%s %.4g (%.4g to %.4g)\n", unit, speed.mean.value, unit,
                is_flop ? " (FLOP/s per W)" : "", efficiency.mean.value, efficiency.mean.low,
                efficiency.mean.high);
}

static void add_conversion(struct text *out, const struct experiment *e, const struct variant *v)
{
    const struct conversion *c = &e->settings->conversion;
    double joules = summary_figure(v, e->basis, METRIC_ENERGY).mean.value;
    if (!isnan(c->grams_per_kwh)) {
        text_printf(out, "  CO2e per run %.3g g", conversion_grams(c, joules, c->grams_per_kwh));
        if (c->low < c->high)
            text_printf(out, " (%.3g to %.3g g)", conversion_grams(c, joules, c->low),
                        conversion_grams(c, joules, c->high));
        text_printf(out, ", assumed: %.0f g/kWh (%s), PUE %.4g\n", c->grams_per_kwh, c->source, c->pue);
    }
    if (!isnan(c->price_per_kwh))
        text_printf(out, "  cost per run %.3g at %.4g per kWh, PUE %.4g\n", conversion_cost(c, joules),
                    c->price_per_kwh, c->pue);
}

static void add_rejected(struct text *out, const struct variant *v)
{
    for (size_t i = 0; i < v->runs.count; i++) {
        const struct run *run = &v->runs.items[i];
        if (run->rejected && !run->is_warm_up)
            text_printf(out, "  run %u was rejected: %s\n", run->block + 1, run->rejected);
    }
}

static void add_command(struct text *out, const struct experiment *e, const struct variant *v)
{
    text_printf(out, "%s\n", v->name);
    text_add(
        out,
        "                mean        95 % interval           sd        median      bootstrap interval\n");
    struct figure energy = summary_full_figure(v, e->basis, METRIC_ENERGY);
    struct figure power = summary_full_figure(v, e->basis, METRIC_POWER);
    struct figure time = summary_full_figure(v, e->basis, METRIC_TIME);
    add_figure(out, "energy", METRIC_ENERGY, &energy);
    if (e->basis == BASIS_NET || e->basis == BASIS_COMMAND) {
        struct figure gross = summary_full_figure(v, BASIS_GROSS, METRIC_ENERGY);
        add_figure(out, e->basis == BASIS_NET ? "gross" : "machine", METRIC_ENERGY, &gross);
    } else if (e->basis == BASIS_GROSS) {
        struct figure own = summary_full_figure(v, BASIS_COMMAND, METRIC_ENERGY);
        add_figure(out, "command", METRIC_ENERGY, &own);
    }
    add_figure(out, "time", METRIC_TIME, &time);
    add_figure(out, "power", METRIC_POWER, &power);
    add_state(out, v);
    add_work(out, e, v);
    add_conversion(out, e, v);
    add_rejected(out, v);
}

/* --- comparisons ---------------------------------------------------------------------------------------- */

static const char *verdict_text(const struct ratio *ratio, double margin, char *out_text, size_t size)
{
    string_copy(out_text, size, ratio_verdict_name(ratio->verdict));
    if (ratio->verdict == RATIO_EQUIVALENT)
        string_print(out_text, size, "equivalent within %g %%", 100 * margin);
    return out_text;
}

static void add_ratio(struct text *out, const struct experiment *e, const struct comparison *c, enum metric m)
{
    const struct ratio *ratio = &c->ratios[m];
    char verdict[64];
    size_t start = out->length;
    text_printf(out, "  %s", metric_name(m));
    pad(out, start, 16);
    if (isnan(ratio->value)) {
        text_add(out, "unknown\n");
        return;
    }
    text_printf(out, "%.4f", ratio->value);
    pad(out, start, 28);
    text_printf(out, "%.4f to %.4f", ratio->low, ratio->high);
    pad(out, start, 52);
    text_add(out, verdict_text(ratio, e->settings->margin, verdict, sizeof verdict));
    if (ratio->verdict == RATIO_UNKNOWN && isfinite(c->blocks_needed[m]))
        text_printf(out, "; such a ratio needs about %.0f runs", c->blocks_needed[m]);
    text_add(out, "\n");
}

static void add_comparison(struct text *out, const struct experiment *e, const struct comparison *c)
{
    const char *other =
        e->settings->baseline ? e->baseline_info.name : e->variants[c->variant->reference].name;
    text_printf(out, "\n%s, relative to %s%s (%zu runs)\n", c->variant->name, other,
                e->settings->baseline ? " (stored)" : "", c->block_count);
    text_add(out, "                ratio       95 % interval           verdict\n");
    for (enum metric m = 0; m < METRICS; m++)
        add_ratio(out, e, c, m);
}

static void add_answer(struct text *out, const struct experiment *e, const struct comparison *c)
{
    enum metric m = e->basis == BASIS_UNKNOWN ? METRIC_TIME : METRIC_ENERGY;
    const struct ratio *ratio = &c->ratios[m];
    const char *what = m == METRIC_TIME ? "time" : e->basis == BASIS_COMMAND ? "modelled energy" : "energy";
    const char *other =
        e->settings->baseline ? e->baseline_info.name : e->variants[c->variant->reference].name;
    text_printf(out, "%s: ", c->variant->name);
    if (ratio->verdict == RATIO_EQUIVALENT)
        text_printf(out, "%s equivalent to %s within %g %%\n", what, other, 100 * e->settings->margin);
    else if (ratio->verdict == RATIO_UNKNOWN)
        text_printf(out, "cannot tell whether it needs more or less %s than %s\n", what, other);
    else
        text_printf(out, "%s, %.1f %% %s %s than %s\n", ratio_verdict_name(ratio->verdict),
                    100 * fabs(ratio->value - 1), ratio->value < 1 ? "less" : "more", what, other);
}

/* Warns about differences between this measurement and the stored one. */
static void add_baseline_warnings(struct text *out, const struct experiment *e)
{
    const struct stored_benchmark *b = &e->baseline_info;
    const struct {
        const char *what, *then, *now;
    } pairs[] = {{"host", b->host, e->host},
                 {"machine", b->machine, e->machine},
                 {"sources", b->sources, e->sources},
                 {"class", b->cls, joule_class_name(e->cls)},
                 {"energy", basis_name(b->basis), basis_name(e->basis)}};
    text_printf(out,
                "note: the baseline is of %s; runs of different days differ by more than their scatter\n",
                b->date);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (strcmp(pairs[i].then, pairs[i].now) != 0)
            text_printf(out, "warning: the %s differs: '%s' then, '%s' now\n", pairs[i].what, pairs[i].then,
                        pairs[i].now);
}

/* --- the whole page ------------------------------------------------------------------------------------- */

static void add_heading(struct text *out, const struct results *r)
{
    static const char *const bases[] = {"energy unknown: time decides",
                                        "joules of the machine, gross (no idle baseline)",
                                        "joules of the machine, net of idle",
                                        "modelled joules of the command (no sensor measures this machine)"};
    const struct experiment *e = r->e;
    text_printf(out, "%s; %s, %s\n", bases[e->basis], e->sources[0] ? e->sources : "no source",
                joule_class_name(e->cls));
    text_printf(out, "%u %s", e->block_count, e->block_count == 1 ? "run" : "runs");
    if (e->count > 1)
        text_printf(out, " of each command in random order (seed %llu)",
                    (unsigned long long)e->settings->seed);
    size_t warm_ups = summary_warm_up_count(&e->variants[0]);
    text_printf(out, " after %zu warm-up %s%s", warm_ups, warm_ups == 1 ? "run" : "runs",
                !e->is_steady             ? ""
                : isnan(e->start_celsius) ? ", power steady"
                                          : ", power and temperature steady");
    if (r->is_interrupted)
        text_add(out, "; interrupted");
    else if (e->is_out_of_time)
        text_add(out, "; --max-time ended the runs");
    else if (e->settings->min_runs < e->settings->max_runs)
        text_printf(out, "; the target of %g %% was %s", 100 * e->settings->target,
                    e->has_target ? "reached" : "not reached");
    text_add(out, "\n");
}

static void add_warnings(struct text *out, const struct experiment *e)
{
    for (size_t i = 0; i < e->count; i++) {
        const struct variant *v = &e->variants[i];
        size_t remaining = 0;
        for (size_t j = 0; j < v->runs.count; j++)
            remaining += v->runs.items[j].remaining_count;
        if (run_list_mean(&v->runs, offsetof(struct run, other_busy)) > BUSY_WARNING)
            text_printf(out, "warning: other programs used the CPUs during the runs of %s\n", v->name);
        if (summary_own_error(e, v) > SHORT_RUN_ERROR)
            text_printf(
                out, "warning: the runs of %s are too short for the sensor; let the command do more work\n",
                v->name);
        if (run_list_mean(&v->runs, offsetof(struct run, coverage)) < FULL_COVERAGE)
            text_printf(out, "warning: sensors covered only a part of the runs of %s\n", v->name);
        if (remaining)
            text_printf(out, "warning: %s leaves processes running; their later energy is not included\n",
                        v->name);
    }
    double idle_busy = e->runner.measurement.idle.busy;
    if (e->basis == BASIS_NET && idle_busy > IDLE_BUSY_MAX)
        text_printf(out,
                    "warning: net energy is too low, because the CPUs were %.0f %% busy while the idle "
                    "baseline was measured\n",
                    100 * idle_busy);
    if (e->hot_starts)
        text_printf(out, "warning: %zu runs began above the start temperature\n", e->hot_starts);
    if (e->settings->cool_down_s > 0 && isnan(e->start_celsius))
        text_add(out, "note: no temperature is readable; --cooldown was a fixed pause of at most 1 s\n");
}

static void add_error_note(struct text *out, const struct experiment *e)
{
    double common = summary_common_error(e, &e->variants[0]);
    if (e->basis == BASIS_COMMAND)
        text_add(out, "note: the energy is a model of CPU time. The verdict is about this model, not about a "
                      "measurement.\n");
    text_add(out, "note: intervals show the scatter of the runs.");
    if (common > 0)
        text_printf(
            out, " An error common to all runs (%s), %.2g %% (1 sd), is not included; it cancels in ratios.",
            e->basis == BASIS_COMMAND ? "the model's table" : "the sensor's gain", 100 * common);
    text_add(out, "\n");
}

void print_text(const void *context, struct text *out)
{
    const struct results *r = context;
    const struct experiment *e = r->e;
    add_heading(out, r);
    for (size_t i = 0; i < e->count; i++) {
        text_add(out, "\n");
        add_command(out, e, &e->variants[i]);
    }
    for (size_t i = 0; i < r->comparison_count; i++)
        add_comparison(out, e, &r->comparisons[i]);
    text_add(out, "\n");
    for (size_t i = 0; i < r->comparison_count; i++)
        add_answer(out, e, &r->comparisons[i]);
    if (r->comparison_count)
        text_printf(
            out,
            "Verdicts are corrected for %zu tests: if nothing differs, the probability that one or more say "
            "otherwise is about 5 %%.\n",
            r->comparison_count * METRICS);
    for (size_t i = 0; i < e->settings->fail_count; i++)
        text_printf(out, "%s: '%s'\n", r->fails[i] ? "fails" : "not shown", e->settings->fail_texts[i]);
    if (e->settings->baseline)
        add_baseline_warnings(out, e);
    add_warnings(out, e);
    add_error_note(out, e);
    for (size_t i = 0; i < e->count; i++)
        if (e->variants[i].stored.id)
            text_printf(out, "%s%lld%s", i ? ", " : "stored as number ", (long long)e->variants[i].stored.id,
                        i + 1 == e->count ? "\n" : "");
}
