/* bench/output_plot.c - see output_plot.h. */
#include "output_plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/error.h"
#include "joule/picture/plots.h"
#include "plot/picture_file.h"

#define PANELS 3 /* energy, time, power */

static const char *const units[] = {"J", "s", "W"};

static struct plot_value value_of(const struct experiment *e, size_t variant, enum metric metric)
{
    struct figure f = summary_figure(&e->variants[variant], e->basis, metric);
    return (struct plot_value){f.mean.value, f.mean.low, f.mean.high};
}

/* Returns the caption: whose joules, their class, and the number of runs. */
static const char *caption_of(const struct experiment *e, char *out_text, size_t size)
{
    static const char *const bases[] = {"energy unknown", "machine, gross", "machine, net of idle",
                                        "command, by a model"};
    string_print(out_text, size, "mean of %u runs with 95 %% interval; joules: %s (%s)", e->block_count,
                 bases[e->basis], joule_class_name(e->cls));
    return out_text;
}

/* Returns the verdict about a variant, or NULL. */
static const char *note_of(const struct results *r, size_t variant, enum metric metric)
{
    for (size_t i = 0; i < r->comparison_count; i++)
        if (r->comparisons[i].variant == &r->e->variants[variant])
            return ratio_verdict_name(r->comparisons[i].ratios[metric].verdict);
    return NULL;
}

/* Returns the number of commands, of which each setting of the sweeps has one variant. */
static size_t command_count(const struct experiment *e)
{
    return e->settings->command ? 1 : e->settings->command_count;
}

static const char *command_name(const struct experiment *e, size_t command)
{
    const struct settings *s = e->settings;
    if (command < s->names.count)
        return s->names.items[command];
    return s->command ? e->variants->name : s->commands[command];
}

/* Writes the values of the only sweep to out_x. Returns false if there are several sweeps or none, or if the
 * values are not ascending numbers. */
static bool read_sizes(const struct settings *s, double *out_x)
{
    if (s->sweep_count != 1 || s->sweeps[0].count < 2)
        return false;
    for (size_t i = 0; i < s->sweeps[0].count; i++)
        if (!string_to_double(s->sweeps[0].values[i], &out_x[i]) || (i > 0 && out_x[i] <= out_x[i - 1]))
            return false;
    return true;
}

static joule_status draw_bars(const struct results *r, struct drawing *out_drawing)
{
    const struct experiment *e = r->e;
    char caption[160];
    struct arena arena = {0};
    size_t series = command_count(e), groups = e->count / series;
    struct plot_panel panels[PANELS];
    const char **names = arena_alloc(&arena, series * sizeof *names);
    const char **settings = arena_alloc(&arena, groups * sizeof *settings);
    for (size_t i = 0; names && i < series; i++)
        names[i] = command_name(e, i);
    for (size_t i = 0; settings && i < groups; i++)
        settings[i] = e->variants[i * series].setting;
    for (enum metric m = 0; m < PANELS; m++) {
        struct plot_value *values = arena_alloc(&arena, e->count * sizeof *values);
        const char **notes = arena_alloc(&arena, e->count * sizeof *notes);
        for (size_t i = 0; values && notes && i < e->count; i++) {
            values[i] = value_of(e, i, m);
            notes[i] = note_of(r, i, m);
        }
        panels[m] = (struct plot_panel){metric_name(m), units[m], values, notes};
    }
    const struct plot_bars plot = {
        .labels = {.title = e->settings->subject, .caption = caption_of(e, caption, sizeof caption)},
        .groups = groups > 1 ? settings : NULL,
        .group_count = groups,
        .series = names,
        .series_count = series,
        .panels = panels,
        .panel_count = PANELS};
    joule_status status = arena.is_out_of_memory ? JOULE_NO_MEMORY : plot_bars(&plot, out_drawing);
    arena_free(&arena);
    return status;
}

static joule_status draw_sweep(const struct experiment *e, const double *x, struct drawing *out_drawing)
{
    const struct settings *s = e->settings;
    char caption[160];
    struct arena arena = {0};
    size_t count = s->sweeps[0].count, lines = command_count(e);
    struct plot_series *series = arena_alloc(&arena, lines * sizeof *series);
    enum metric metric = e->basis == BASIS_UNKNOWN ? METRIC_TIME : METRIC_ENERGY;
    for (size_t i = 0; series && i < lines; i++) {
        struct plot_value *y = arena_alloc(&arena, count * sizeof *y);
        for (size_t j = 0; y && j < count; j++)
            y[j] = value_of(e, j * lines + i, metric);
        series[i] = (struct plot_series){command_name(e, i), x, y, count};
    }
    const struct plot_sweep plot = {.labels = {.title = s->subject,
                                               .caption = caption_of(e, caption, sizeof caption),
                                               .x_name = s->sweeps[0].name,
                                               .y_name = metric_name(metric),
                                               .y_unit = units[metric]},
                                    .series = series,
                                    .series_count = lines};
    joule_status status = arena.is_out_of_memory ? JOULE_NO_MEMORY : plot_sweep(&plot, out_drawing);
    arena_free(&arena);
    return status;
}

/* Writes and frees a drawing. status: of the function that drew it */
static joule_status write_drawing(struct drawing *drawing, joule_status status, const char *path,
                                  joule_error *out_error)
{
    if (status == JOULE_OK)
        status = picture_write(drawing, path, out_error);
    else
        error_set(out_error, status, "cannot draw %s: %s", path,
                  status == JOULE_NO_MEMORY ? "out of memory" : "there is nothing to draw");
    drawing_free(drawing);
    return status;
}

joule_status plot_results(const struct results *results, const char *path, joule_error *out_error)
{
    double x[SWEEP_MAX_VALUES];
    struct drawing drawing = {0};
    joule_status status = read_sizes(results->e->settings, x) ? draw_sweep(results->e, x, &drawing)
                                                              : draw_bars(results, &drawing);
    return write_drawing(&drawing, status, path, out_error);
}

/* Returns the seconds since 1970 of an RFC 3339 date in UTC; NaN: not a date. */
static double seconds_of(const char *date)
{
    struct tm tm = {0};
    if (!date || sscanf(date, "%4d-%2d-%2dT%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
                        &tm.tm_min, &tm.tm_sec) != 6)
        return NAN;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    return (double)timegm(&tm);
}

joule_status plot_history(const struct history *history, const char *path, joule_error *out_error)
{
    struct arena arena = {0};
    struct drawing drawing = {0};
    double *x = arena_alloc(&arena, (history->count + 1) * sizeof *x);
    struct plot_value *y = arena_alloc(&arena, (history->count + 1) * sizeof *y);
    size_t count = 0;
    for (size_t i = history->count; x && y && i-- > 0;) {
        const struct stored_benchmark *b = &history->items[i];
        double at = seconds_of(b->date);
        if (isnan(at) || (count > 0 && at <= x[count - 1]))
            continue; /* for example several commands of one comparison */
        x[count] = at;
        y[count++] = (struct plot_value){b->joules, b->joules_low, b->joules_high};
    }
    const char *name = history->count ? history->items[0].name : NULL;
    const struct plot_series series = {name, x, y, count};
    const struct plot_trend plot = {
        .labels = {.title = name, .caption = "means with 95 % interval", .y_name = "energy", .y_unit = "J"},
        .series = &series,
        .series_count = 1,
        .baseline = {NAN, NAN, NAN}};
    joule_status status = arena.is_out_of_memory ? JOULE_NO_MEMORY : plot_trend(&plot, &drawing);
    arena_free(&arena);
    return write_drawing(&drawing, status, path, out_error);
}
