/* bench/history_print.c - see history.h. */
#include "history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/json_writer.h"
#include "csv.h"
#include "joule/stats/compare.h"
#include "run_output.h"

#define DATE_LENGTH 16 /* "2026-03-03T10:30" */

static const char *or_unknown(const char *text)
{
    return text && *text ? text : "unknown";
}

static void add_si(struct text *out, double value, joule_dimension dimension)
{
    char text[40];
    joule_format(value, dimension, 4, text, sizeof text);
    text_printf(out, "%-10s ", text);
}

/* Returns the relative half-width of the stored interval in percent, or NaN. */
static double half_width_percent(const struct stored_benchmark *b)
{
    return 100 * (b->joules_high - b->joules_low) / 2 / fabs(b->joules);
}

static void add_row(struct text *out, const struct stored_benchmark *b)
{
    double width = half_width_percent(b);
    text_printf(out, "%6lld  %-.*s  %4zu  ", (long long)b->id, DATE_LENGTH, or_unknown(b->date),
                b->run_count);
    add_si(out, b->joules, JOULE_DIMENSION_ENERGY);
    if (isnan(width))
        text_add(out, "        ");
    else
        text_printf(out, "+-%4.1f %% ", fmin(width, 999));
    add_si(out, b->seconds, JOULE_DIMENSION_TIME);
    add_si(out, b->watts, JOULE_DIMENSION_POWER);
    text_printf(out, "%-9s %-8s %s\n", or_unknown(b->cls), basis_name(b->basis), or_unknown(b->name));
}

void history_print_list(const void *context, struct text *out)
{
    const struct history *h = context;
    if (h->count == 0) {
        text_add(out, "no benchmark is stored; joule bench -- COMMAND stores one\n");
        return;
    }
    text_add(out, "number  date              runs  energy              time       power      class     "
                  "joules   name\n");
    for (size_t i = 0; i < h->count; i++)
        add_row(out, &h->items[i]);
}

/* --- CSV and JSON --------------------------------------------------------------------------------------- */

void history_print_csv(const void *context, struct text *out)
{
    const struct history *h = context;
    text_add(out,
             "number,kind,name,command,date,host,machine,sources,class,basis,runs,rejected,joules,joules_low,"
             "joules_high,seconds,watts,work,work_unit\r\n");
    for (size_t i = 0; i < h->count; i++) {
        const struct stored_benchmark *b = &h->items[i];
        const char *const texts[] = {b->kind, b->name,    b->command, b->date,
                                     b->host, b->machine, b->sources, b->cls};
        const double numbers[] = {b->joules, b->joules_low, b->joules_high, b->seconds, b->watts, b->work};
        text_printf(out, "%lld,", (long long)b->id);
        for (size_t j = 0; j < sizeof texts / sizeof texts[0]; j++)
            csv_text(out, texts[j]);
        text_printf(out, "%s,%zu,%zu,", basis_name(b->basis), b->run_count, b->rejected_count);
        for (size_t j = 0; j < sizeof numbers / sizeof numbers[0]; j++)
            csv_number(out, numbers[j]);
        csv_last_text(out, b->work_unit);
        text_add(out, "\r\n");
    }
}

static void add_benchmark(struct json *json, const struct stored_benchmark *b, const struct run_list *runs)
{
    json_open(json, NULL, '{');
    json_integer(json, "number", b->id);
    json_text(json, "kind", b->kind);
    json_text(json, "name", b->name);
    json_text(json, "command", b->command);
    json_text(json, "date", b->date);
    json_text(json, "host", b->host);
    json_text(json, "machine", b->machine);
    json_text(json, "sources", b->sources);
    json_text(json, "class", b->cls);
    json_text(json, "labels", b->labels);
    json_string(json, "basis", basis_name(b->basis));
    if (b->group)
        json_integer(json, "comparison", b->group);
    else
        json_null(json, "comparison");
    json_integer(json, "runs", (int64_t)b->run_count);
    json_integer(json, "rejected", (int64_t)b->rejected_count);
    json_double(json, "joules", b->joules);
    json_double(json, "joules_low", b->joules_low);
    json_double(json, "joules_high", b->joules_high);
    json_double(json, "seconds", b->seconds);
    json_double(json, "watts", b->watts);
    json_double(json, "work", b->work);
    json_text(json, "work_unit", b->work_unit);
    if (runs) {
        json_open(json, "each_run", '[');
        for (size_t i = 0; i < runs->count; i++)
            run_json(json, &runs->items[i]);
        json_close(json, ']');
    }
    json_close(json, '}');
}

void history_print_json(const void *context, struct text *out)
{
    const struct history *h = context;
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_string(&json, "schema", "joule-history-1");
    json_open(&json, "benchmarks", '[');
    for (size_t i = 0; i < h->count; i++)
        add_benchmark(&json, &h->items[i], h->runs ? &h->runs[i] : NULL);
    json_close(&json, ']');
    json_close(&json, '}');
    text_add(out, "\n");
}

/* --- one benchmark -------------------------------------------------------------------------------------- */

void history_print_runs(const void *context, struct text *out)
{
    const struct history *h = context;
    for (size_t i = 0; i < h->count; i++) {
        const struct stored_benchmark *b = &h->items[i];
        text_printf(out, "%s\n  command  %s\n  date     %s\n  host     %s, %s\n", or_unknown(b->name),
                    or_unknown(b->command), or_unknown(b->date), or_unknown(b->host), or_unknown(b->machine));
        text_printf(out, "  energy   %s, %s; %s decides\n", or_unknown(b->sources), or_unknown(b->cls),
                    basis_name(b->basis));
        if (b->labels)
            text_printf(out, "  labels   %s\n", b->labels);
        text_add(out, "\n   run  energy     machine    time       power      exit\n");
        for (size_t j = 0; j < h->runs[i].count; j++) {
            const struct run *run = &h->runs[i].items[j];
            text_printf(out, "  %4zu  ", j + 1);
            add_si(out, run_joules(run, b->basis), JOULE_DIMENSION_ENERGY);
            add_si(out, run->machine_joules, JOULE_DIMENSION_ENERGY);
            add_si(out, run->seconds, JOULE_DIMENSION_TIME);
            add_si(out, run_metric(run, b->basis, METRIC_POWER), JOULE_DIMENSION_POWER);
            text_printf(out, "%4d%s%s%s\n", run->exit_code, run->is_warm_up ? "  warm-up" : "",
                        run->rejected ? "  rejected: " : "", run->rejected ? run->rejected : "");
        }
    }
}

void history_print_runs_csv(const void *context, struct text *out)
{
    const struct history *h = context;
    run_csv_header(out);
    for (size_t i = 0; i < h->count; i++)
        for (size_t j = 0; j < h->runs[i].count; j++)
            run_csv(out, h->items[i].name, "", &h->runs[i].items[j]);
}

/* --- trend ---------------------------------------------------------------------------------------------- */

/* Compares a benchmark with the oldest one by Welch's test. */
static struct ratio compare_runs(const struct history *h, size_t newer, size_t oldest)
{
    const struct ratio_rule rule = {.level = 0.95};
    size_t size = h->runs[newer].count + h->runs[oldest].count + 1;
    double *values = calloc(2 * size, sizeof *values);
    struct ratio ratio = {.value = NAN, .low = NAN, .high = NAN};
    if (values) {
        enum basis basis = h->items[newer].basis;
        size_t a = run_list_metric(&h->runs[oldest], basis, METRIC_ENERGY, values);
        size_t b = run_list_metric(&h->runs[newer], basis, METRIC_ENERGY, values + size);
        ratio = ratio_unpaired(values, a, values + size, b, &rule);
    }
    free(values);
    return ratio;
}

void history_print_trend(const void *context, struct text *out)
{
    const struct history *h = context;
    size_t oldest = h->count - 1;
    text_printf(out, "%s: energy relative to number %lld\n\n", or_unknown(h->items[oldest].name),
                (long long)h->items[oldest].id);
    text_add(out, "number  date              runs  energy     ratio   95 % interval     verdict\n");
    for (size_t i = h->count; i-- > 0;) {
        const struct stored_benchmark *b = &h->items[i];
        text_printf(out, "%6lld  %-.*s  %4zu  ", (long long)b->id, DATE_LENGTH, or_unknown(b->date),
                    b->run_count);
        add_si(out, b->joules, JOULE_DIMENSION_ENERGY);
        struct ratio ratio = compare_runs(h, i, oldest);
        if (i == oldest)
            text_add(out, "1\n");
        else if (isnan(ratio.low) || b->basis != h->items[oldest].basis)
            text_add(out, "unknown\n");
        else
            text_printf(out, "%.4f  %.4f to %.4f  %s\n", ratio.value, ratio.low, ratio.high,
                        ratio_verdict_name(ratio.verdict));
    }
    text_add(out, "note: runs of different days differ by more than their scatter.\n");
}
