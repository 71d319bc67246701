/* bench/output_plot.c - see output_plot.h. */
#include "output_plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Returns whose joules decide. */
static const char *basis_text(enum basis basis)
{
    static const char *const texts[] = {"energy unknown", "machine, gross", "machine, net of idle",
                                        "command, by a model"};
    return texts[basis];
}

/* Returns the caption: whose joules, their class, and the number of runs. */
static const char *caption_of(const struct experiment *e, char *out_text, size_t size)
{
    string_print(out_text, size, "mean of %u runs with 95 %% interval; joules: %s (%s)", e->block_count,
                 basis_text(e->basis), joule_class_name(e->cls));
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

/* --- history -------------------------------------------------------------------------------------------- */

/* Returns the seconds since 1970 of an RFC 3339 date in UTC; NaN: not a date. */
static double seconds_of(const char *date)
{
    struct tm tm = {0};
    int milliseconds = 0;
    if (!date || sscanf(date, "%4d-%2d-%2dT%2d:%2d:%2d.%3d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
                        &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &milliseconds) < 6)
        return NAN;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    return (double)timegm(&tm) + milliseconds / 1e3;
}

/* A stored benchmark in the picture of a history. */
struct dated {
    const struct stored_benchmark *benchmark;
    const char *name;
    bool is_other;     /* another command than the one whose history is drawn */
    unsigned namesake; /* number of earlier commands of the same comparison with this name */
    double at;         /* seconds since 1970 */
};

static int64_t group_of(const struct dated *d)
{
    return d->benchmark->group ? d->benchmark->group : d->benchmark->id;
}

static int compare_names(const struct dated *a, const struct dated *b)
{
    return a->is_other != b->is_other ? a->is_other - b->is_other : strcmp(a->name, b->name);
}

static int compare_groups(const void *first, const void *second)
{
    const struct dated *a = first, *b = second;
    int by_name = compare_names(a, b);
    int64_t x = group_of(a), y = group_of(b);
    if (by_name || x != y)
        return by_name ? by_name : x < y ? -1 : 1;
    return a->benchmark->id < b->benchmark->id ? -1 : 1;
}

static int compare_dates(const void *first, const void *second)
{
    const struct dated *a = first, *b = second;
    int by_name = compare_names(a, b);
    if (by_name || a->namesake != b->namesake)
        return by_name ? by_name : a->namesake < b->namesake ? -1 : 1;
    if (a->at < b->at || a->at > b->at)
        return a->at < b->at ? -1 : 1;
    return a->benchmark->id < b->benchmark->id ? -1 : 1;
}

/* Writes the benchmarks that have a date to `out`, by command and date; the commands of a comparison that
 * have the same name are distinct. Returns their number. out: [history->count] */
static size_t sort_by_command(const struct history *history, const char *name, struct dated *out)
{
    size_t count = 0;
    for (size_t i = 0; i < history->count; i++) {
        const struct stored_benchmark *b = &history->items[i];
        const char *own = b->name ? b->name : "unknown";
        out[count] = (struct dated){b, own, strcmp(own, name) != 0, 0, seconds_of(b->date)};
        count += !isnan(out[count].at);
    }
    qsort(out, count, sizeof *out, compare_groups);
    for (size_t i = 1; i < count; i++)
        if (compare_names(&out[i - 1], &out[i]) == 0 && group_of(&out[i - 1]) == group_of(&out[i]))
            out[i].namesake = out[i - 1].namesake + 1;
    qsort(out, count, sizeof *out, compare_dates);
    return count;
}

static const char *line_name(struct arena *arena, const struct dated *d)
{
    size_t size = strlen(d->name) + 16;
    char *name = arena_alloc(arena, size);
    if (name && d->namesake)
        string_print(name, size, "%s (%u)", d->name, d->namesake + 1);
    else if (name)
        string_copy(name, size, d->name);
    return name;
}

/* Makes one line of each command. Returns the number of lines. x, y, out: [count] */
static size_t make_lines(struct arena *arena, const struct dated *items, size_t count, double *x,
                         struct plot_value *y, struct plot_series *out)
{
    size_t lines = 0;
    for (size_t i = 0; i < count; i++) {
        const struct stored_benchmark *b = items[i].benchmark;
        x[i] = items[i].at;
        y[i] = (struct plot_value){b->joules, b->joules_low, b->joules_high};
        if (i == 0 || compare_names(&items[i - 1], &items[i]) != 0 ||
            items[i - 1].namesake != items[i].namesake)
            out[lines++] = (struct plot_series){line_name(arena, &items[i]), x + i, y + i, 0};
        out[lines - 1].count++;
    }
    return lines;
}

/* Writes the caption: whose joules, and their class, if these are common to all benchmarks. */
static const char *history_caption(const struct dated *items, size_t count, char *out_text, size_t size)
{
    const struct stored_benchmark *first = count ? items[0].benchmark : NULL;
    bool has_one_kind = first && first->cls;
    for (size_t i = 1; i < count && has_one_kind; i++) {
        const struct stored_benchmark *b = items[i].benchmark;
        has_one_kind = b->basis == first->basis && b->cls && strcmp(b->cls, first->cls) == 0;
    }
    if (has_one_kind)
        string_print(out_text, size, "means with 95 %% interval; joules: %s (%s)", basis_text(first->basis),
                     first->cls);
    else
        string_print(out_text, size,
                     "means with 95 %% interval; joules of several kinds: joule history lists their classes");
    return out_text;
}

joule_status plot_history(const struct history *history, const char *name, const char *path,
                          joule_error *out_error)
{
    struct arena arena = {0};
    struct drawing drawing = {0};
    char caption[160];
    struct dated *items = arena_alloc(&arena, (history->count + 1) * sizeof *items);
    double *x = arena_alloc(&arena, (history->count + 1) * sizeof *x);
    struct plot_value *y = arena_alloc(&arena, (history->count + 1) * sizeof *y);
    struct plot_series *lines = arena_alloc(&arena, (history->count + 1) * sizeof *lines);
    joule_status status = JOULE_NO_MEMORY;
    if (items && x && y && lines) {
        size_t count = sort_by_command(history, name, items);
        const struct plot_trend plot = {
            .labels = {.title = name,
                       .caption = history_caption(items, count, caption, sizeof caption),
                       .y_name = "energy",
                       .y_unit = "J"},
            .series = lines,
            .series_count = make_lines(&arena, items, count, x, y, lines),
            .baseline = {NAN, NAN, NAN}};
        status = arena.is_out_of_memory ? JOULE_NO_MEMORY : plot_trend(&plot, &drawing);
    }
    arena_free(&arena);
    return write_drawing(&drawing, status, path, out_error);
}
