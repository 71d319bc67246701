/* tools/joule/calibrate/calibration_page.c - see calibration_page.h. */
#include "calibrate/calibration_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/json_writer.h"
#include "joule/host/host.h"
#include "joule/report/report.h"
#include "joule/sources/cpu/cpu_calibration.h"

#define MAX_ERRORS_LISTED 5

/* --- JSON ----------------------------------------------------------------------------------------------- */

static void add_term(struct json *json, const char *key, const struct cost_term *term)
{
    if (isnan(term->value))
        return;
    json_open(json, key, '{');
    json_exact(json, "value", term->value);
    json_exact(json, "low", term->low);
    json_exact(json, "high", term->high);
    json_close(json, '}');
}

static void add_terms(struct json *json, const char *key, const struct cost_term *terms)
{
    json_open(json, key, '{');
    for (int i = 0; i < COST_FEATURES; i++)
        add_term(json, cost_feature_name((enum cost_feature)i), &terms[i]);
    json_close(json, '}');
}

static void add_time(struct json *json, const struct cost_speeds *speeds)
{
    json_open(json, "time", '{');
    add_term(json, "hz", &speeds->hz);
    add_term(json, "overlap", &speeds->overlap);
    json_exact(json, "log_sd", speeds->log_sd);
    json_exact(json, "hz_log_sd", speeds->hz_log_sd);
    add_terms(json, "per_cycle", speeds->per_cycle);
    add_terms(json, "latency_cycles", speeds->latency);
    json_close(json, '}');
}

static void add_energy(struct json *json, const struct cost_prices *prices)
{
    if (prices->cls == JOULE_CLASS_NONE) {
        json_null(json, "energy");
        return;
    }
    json_open(json, "energy", '{');
    json_string(json, "class", joule_class_name(prices->cls));
    json_string(json, "source", prices->source);
    json_exact(json, "log_sd", prices->log_sd);
    add_terms(json, "joules", prices->joules);
    json_close(json, '}');
}

static void add_kernel(struct json *json, const struct calibrated *c, size_t index)
{
    const struct fit_kernel *k = &c->measured.list[index];
    bool has_energy = c->calibration.prices.cls != JOULE_CLASS_NONE;
    json_open(json, NULL, '{');
    json_string(json, "name", k->name);
    json_string(json, "family", fit_family_name(k->family));
    json_exact(json, "cycles", k->cycles);
    json_exact(json, "cycles_log_sd", k->cycles_log_sd);
    json_exact(json, "time_residual", c->time.residual[index]);
    json_exact(json, "time_left_out", c->time.left_out[index]);
    json_exact(json, "joules", k->joules);
    json_exact(json, "joules_log_sd", k->joules_log_sd);
    json_exact(json, "energy_residual", has_energy ? c->energy.residual[index] : NAN);
    json_exact(json, "energy_left_out", has_energy ? c->energy.left_out[index] : NAN);
    json_close(json, '}');
}

static void add_cpu(struct json *json, const struct cost_calibration *calibration)
{
    json_open(json, "cpu", '{');
    json_string(json, "vendor", calibration->vendor);
    json_integer(json, "family", calibration->family);
    json_integer(json, "model", calibration->model);
    json_integer(json, "stepping", calibration->stepping);
    json_string(json, "name", calibration->name);
    json_bool(json, "virtual", calibration->is_virtual);
    json_close(json, '}');
}

void calibrate_json(const void *calibrated, struct text *out)
{
    const struct calibrated *c = calibrated;
    const struct cost_calibration *calibration = &c->calibration;
    char date[REPORT_TIME_SIZE];
    struct json json = {.out = out};
    report_time(calibration->unix_seconds * 1000000000, date);
    json_open(&json, NULL, '{');
    json_string(&json, "schema", CALIBRATION_SCHEMA);
    json_string(&json, "joule_version", calibration->joule_version);
    json_string(&json, "date", date);
    json_integer(&json, "unix_seconds", calibration->unix_seconds);
    add_cpu(&json, calibration);
    json_string(&json, "uarch", calibration->uarch);
    json_exact(&json, "temperature_celsius", calibration->temperature_celsius);
    add_time(&json, &calibration->speeds);
    add_energy(&json, &calibration->prices);
    json_open(&json, "kernels", '[');
    for (size_t i = 0; i < c->measured.count; i++)
        add_kernel(&json, c, i);
    json_close(&json, ']');
    json_close(&json, '}');
    text_add(out, "\n");
}

/* --- text ----------------------------------------------------------------------------------------------- */

static double percent(double log_sd)
{
    return 100 * expm1(log_sd);
}

static void add_row(struct text *out, const char *name, double typical, const struct cost_term *term)
{
    if (!isnan(term->value))
        text_printf(out, "  %-24s %10.3g  (%.3g to %.3g); typical %.3g\n", name, term->value, term->low,
                    term->high, typical);
}

static void add_speeds(const struct calibrated *c, struct text *out)
{
    text_add(out, "\nOperations per cycle:\n");
    for (int i = 0; i < COST_FEATURES; i++)
        add_row(out, cost_feature_name((enum cost_feature)i), c->typical.per_cycle[i],
                &c->calibration.speeds.per_cycle[i]);
    text_add(out, "\nLatency in cycles:\n");
    for (int i = 0; i < COST_FEATURES; i++)
        add_row(out, cost_feature_name((enum cost_feature)i), c->typical.latency[i],
                &c->calibration.speeds.latency[i]);
}

static void add_prices(const struct cost_prices *prices, struct text *out)
{
    if (prices->cls == JOULE_CLASS_NONE)
        return;
    text_printf(out, "\nEnergy in nanojoules, measured by %s (package_seconds: watts):\n", prices->source);
    for (int i = 0; i < COST_FEATURES; i++) {
        double unit = i == COST_PACKAGE_SECONDS ? 1 : 1e-9;
        const struct cost_term *term = &prices->joules[i];
        if (!isnan(term->value))
            text_printf(out, "  %-24s %10.3g  (%.3g to %.3g)\n", cost_feature_name((enum cost_feature)i),
                        term->value / unit, term->low / unit, term->high / unit);
    }
}

/* Lists the kernels with the largest errors, largest first. */
static void add_largest_errors(const char *what, const struct measured *measured,
                               const struct fit_errors *errors, struct text *out)
{
    bool is_listed[FIT_MAX_KERNELS] = {false};
    text_printf(out, "\nLargest errors of %s:\n", what);
    for (int n = 0; n < MAX_ERRORS_LISTED; n++) {
        size_t worst = measured->count;
        for (size_t i = 0; i < measured->count; i++)
            if (!is_listed[i] && !isnan(errors->residual[i]) &&
                (worst == measured->count || fabs(errors->residual[i]) > fabs(errors->residual[worst])))
                worst = i;
        if (worst == measured->count)
            return;
        is_listed[worst] = true;
        text_printf(out, "  %-40s %+4.0f %%; fitted without its family %+4.0f %%\n",
                    measured->list[worst].name, percent(errors->residual[worst]),
                    percent(errors->left_out[worst]));
    }
}

static void add_errors(const char *what, const struct measured *measured, const struct fit_errors *errors,
                       struct text *out)
{
    text_printf(
        out, "\nError of %s (root mean square): %.0f %%; of a family fitted without its kernels: %.0f %%\n",
        what, percent(errors->residual_log_sd), percent(errors->log_sd));
    for (int family = 0; family < FIT_FAMILIES; family++)
        if (!isnan(errors->family_log_sd[family]))
            text_printf(out, "  %-24s %4.0f %%\n", fit_family_name((enum fit_family)family),
                        percent(errors->family_log_sd[family]));
    add_largest_errors(what, measured, errors, out);
}

void calibrate_text(const void *calibrated, struct text *out)
{
    const struct calibrated *c = calibrated;
    const struct measured *m = &c->measured;
    text_printf(out, "%s, %zu kernels (%s)", c->calibration.uarch, m->count, kernel_architecture);
    if (m->cpu >= 0)
        text_printf(out, " on CPU %d", m->cpu);
    text_printf(out, ", %.3f GHz, %.0f s\n", m->hz.value * 1e-9, m->seconds);
    add_speeds(c, out);
    add_errors("time", m, &c->time, out);
    add_prices(&c->calibration.prices, out);
    if (c->no_energy)
        text_printf(out, "\nOnly time is calibrated: %s.\nThe energy figures remain assumed.\n",
                    c->no_energy);
    else
        add_errors("energy", m, &c->energy, out);
    char found[CALIBRATION_PATH_SIZE];
    bool is_found = c->path && cpu_calibration_path(host_real(), found) && strcmp(found, c->path) == 0;
    if (c->path)
        text_printf(out, "\nWritten to %s%s.\n", c->path, is_found ? ", where joulec finds it" : "");
    else
        text_add(out, "\nNothing was written.\n");
}

/* --- list of kernels ------------------------------------------------------------------------------------ */

void calibrate_list(const void *core, struct text *out)
{
    for (size_t i = 0; i < kernel_count; i++) {
        struct fit_kernel k;
        if (!kernel_is_here(&kernels[i], core))
            continue;
        kernel_describe(&kernels[i], &k);
        text_printf(out, "%-12s %-44s", fit_family_name(k.family), k.name);
        for (int f = 0; f < COST_FEATURES; f++)
            if (k.work.amount[f] > 0)
                text_printf(out, " %s %.4g", cost_feature_name((enum cost_feature)f), k.work.amount[f]);
        text_add(out, "\n");
    }
}
