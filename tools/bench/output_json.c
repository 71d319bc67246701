/* bench/output_json.c - writes the results of an experiment as JSON and CSV. */
#include <math.h>
#include "base/json_writer.h"
#include "output.h"
#include "run_output.h"

#define SCHEMA_OF(compares) ((compares) ? "joule-compare-1" : "joule-bench-1")

/* --- JSON ----------------------------------------------------------------------------------------------- */

static void add_interval(struct json *json, const char *key, const struct interval *interval)
{
    json_open(json, key, '[');
    json_double(json, NULL, interval->low);
    json_double(json, NULL, interval->high);
    json_close(json, ']');
}

static void add_figure(struct json *json, const char *key, const struct figure *f)
{
    json_open(json, key, '{');
    json_integer(json, "count", (int64_t)f->count);
    json_double(json, "mean", f->mean.value);
    add_interval(json, "interval", &f->mean);
    json_double(json, "sd", f->sd);
    json_double(json, "min", f->min);
    json_double(json, "max", f->max);
    json_double(json, "median", f->median.value);
    add_interval(json, "median_interval", &f->median);
    add_interval(json, "bootstrap_interval", &f->by_bootstrap);
    json_close(json, '}');
}

static void add_conversion(struct json *json, const struct experiment *e, const struct variant *v)
{
    const struct conversion *c = &e->settings->conversion;
    double joules = summary_figure(v, e->basis, METRIC_ENERGY).mean.value;
    const struct interval range = {0, conversion_grams(c, joules, c->low),
                                   conversion_grams(c, joules, c->high)};
    json_open(json, "conversion", '{');
    json_double(json, "grams_co2e", conversion_grams(c, joules, c->grams_per_kwh));
    add_interval(json, "grams_co2e_range", &range);
    json_double(json, "grams_per_kwh", c->grams_per_kwh);
    json_string(json, "source", c->source);
    json_double(json, "pue", c->pue);
    json_double(json, "cost", conversion_cost(c, joules));
    json_double(json, "price_per_kwh", c->price_per_kwh);
    json_string(json, "class", "assumed");
    json_close(json, '}');
}

static void add_variant(struct json *json, const struct experiment *e, const struct variant *v)
{
    struct figure figures[METRICS];
    for (enum metric m = 0; m < METRICS; m++)
        figures[m] = summary_full_figure(v, e->basis, m);
    struct figure gross = summary_full_figure(v, BASIS_GROSS, METRIC_ENERGY);
    struct figure net = summary_full_figure(v, BASIS_NET, METRIC_ENERGY);
    struct figure command = summary_full_figure(v, BASIS_COMMAND, METRIC_ENERGY);
    struct figure speed = summary_work(e, v, true), efficiency = summary_work(e, v, false);
    json_open(json, NULL, '{');
    json_string(json, "name", v->name);
    json_string(json, "command", v->command);
    json_text(json, "setting", v->setting);
    if (v->stored.id)
        json_integer(json, "stored_id", v->stored.id);
    else
        json_null(json, "stored_id");
    add_figure(json, "joules", &figures[METRIC_ENERGY]);
    add_figure(json, "seconds", &figures[METRIC_TIME]);
    add_figure(json, "watts", &figures[METRIC_POWER]);
    add_figure(json, "joule_seconds", &figures[METRIC_EDP]);
    add_figure(json, "gross_joules", &gross);
    add_figure(json, "net_joules", &net);
    add_figure(json, "command_joules", &command);
    json_double(json, "common_error_ratio", summary_common_error(e, v));
    json_text(json, "work_unit", e->settings->work.unit);
    add_figure(json, "work_per_second", &speed);
    add_figure(json, "work_per_joule", &efficiency);
    add_conversion(json, e, v);
    json_open(json, "runs", '[');
    for (size_t i = 0; i < v->runs.count; i++)
        run_json(json, &v->runs.items[i]);
    json_close(json, ']');
    json_close(json, '}');
}

static void add_ratio(struct json *json, const struct comparison *c, enum metric m)
{
    const struct ratio *ratio = &c->ratios[m];
    const struct interval interval = {ratio->value, ratio->low, ratio->high};
    json_open(json, metric_name(m), '{');
    json_double(json, "ratio", ratio->value);
    add_interval(json, "interval", &interval);
    json_double(json, "p", ratio->p);
    json_double(json, "equivalence_p", ratio->equivalence_p);
    json_string(json, "verdict", ratio_verdict_name(ratio->verdict));
    json_double(json, "runs_needed", c->blocks_needed[m]);
    json_close(json, '}');
}

static void add_comparisons(struct json *json, const struct results *r)
{
    json_open(json, "comparisons", '[');
    for (size_t i = 0; i < r->comparison_count; i++) {
        const struct comparison *c = &r->comparisons[i];
        const struct experiment *e = r->e;
        json_open(json, NULL, '{');
        json_string(json, "name", c->variant->name);
        json_string(json, "reference",
                    e->settings->baseline ? e->baseline_info.name : e->variants[c->variant->reference].name);
        json_bool(json, "reference_is_stored", e->settings->baseline != NULL);
        json_integer(json, "count", (int64_t)c->block_count);
        for (enum metric m = 0; m < METRICS; m++)
            add_ratio(json, c, m);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json, "conditions", '[');
    for (size_t i = 0; i < r->e->settings->fail_count; i++) {
        json_open(json, NULL, '{');
        json_string(json, "condition", r->e->settings->fail_texts[i]);
        json_bool(json, "holds", r->fails[i]);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void print_json(const void *context, struct text *out)
{
    const struct results *r = context;
    const struct experiment *e = r->e;
    struct json json = {.out = out};
    bool compares = !e->settings->command;
    json_open(&json, NULL, '{');
    json_string(&json, "schema", SCHEMA_OF(compares));
    json_string(&json, "joule_version", joule_version());
    json_string(&json, "date", e->date);
    json_text(&json, "host", e->host);
    json_text(&json, "machine", e->machine);
    json_text(&json, "sources", e->sources);
    json_string(&json, "class", joule_class_name(e->cls));
    json_string(&json, "basis", basis_name(e->basis));
    json_integer(&json, "blocks", e->block_count);
    json_double(&json, "target", e->settings->target);
    json_bool(&json, "target_reached", e->has_target);
    json_bool(&json, "steady", e->is_steady);
    json_bool(&json, "interrupted", r->is_interrupted);
    json_integer(&json, "seed", (int64_t)e->settings->seed);
    json_double(&json, "start_temperature_celsius", e->start_celsius);
    json_double(&json, "idle_watts", e->runner.measurement.idle.total_watts.value);
    json_double(&json, "idle_busy_share", e->runner.measurement.idle.busy);
    json_open(&json, "commands", '[');
    for (size_t i = 0; i < e->count; i++)
        add_variant(&json, e, &e->variants[i]);
    json_close(&json, ']');
    if (compares)
        add_comparisons(&json, r);
    json_close(&json, '}');
    text_add(out, "\n");
}

void print_csv(const void *context, struct text *out)
{
    const struct experiment *e = ((const struct results *)context)->e;
    run_csv_header(out);
    for (size_t i = 0; i < e->count; i++)
        for (size_t j = 0; j < e->variants[i].runs.count; j++)
            run_csv(out, e->variants[i].name, e->variants[i].setting, &e->variants[i].runs.items[j]);
}
