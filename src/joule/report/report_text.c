/* joule/report/report_text.c - writes a report for people.
 *
 * The order is: headline, the command's share, limitations of the figures, devices, functions, one hint.
 * Every figure has a unit. An interval is printed where it affects a decision.
 * Note: names that Joule did not choose are printed by text_add_printable or in a table, which replace
 * control characters.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <joule/joule.h>
#include "joule/curve/estimate.h"
#include "joule/report/report.h"
#include "joule/report/text_table.h"
#include "joule/session/session_layout.h"

#define WIDTH     100
#define INDENT    "       " /* the width of the first line's "joule" and two spaces */
#define NOTE_SIZE 128

#define PLAIN  "\033[0m"
#define BOLD   "\033[1m"
#define DIM    "\033[2m"
#define RED    "\033[31m"
#define GREEN  "\033[32m"
#define YELLOW "\033[33m"

/* Where and how the report is printed. */
struct page {
    const struct report *report;
    struct text *out;
    bool colour;
};

static void add_coloured(const struct page *page, const char *colour, const char *text)
{
    text_add(page->out, page->colour ? colour : "");
    text_add(page->out, text);
    text_add(page->out, page->colour ? PLAIN : "");
}

/* --- figures -------------------------------------------------------------------------------------------- */

/* A formatted number with its unit, returned by value. */
struct figure {
    char text[48];
};

/* Returns the number of digits that the interval justifies: two to four. */
static int digits_of(joule_quantity q)
{
    double relative = (q.high - q.low) / 2 / fabs(q.value);
    return relative > 0.1 ? 2 : relative > 0.005 ? 3 : 4;
}

static struct figure figure_of(joule_quantity q, joule_dimension dimension)
{
    struct figure f;
    joule_format(q.value, dimension, digits_of(q), f.text, sizeof f.text);
    return f;
}

static struct figure plain_figure(double value, joule_dimension dimension)
{
    struct figure f;
    joule_format(value, dimension, 3, f.text, sizeof f.text);
    return f;
}

/* Returns "506 to 519 J"; "" if the value is unknown. The unit is printed once if both ends have the same
 * unit. */
static struct figure interval_of(joule_quantity q, joule_dimension dimension)
{
    struct figure low, high, both = {""};
    if (isnan(q.value))
        return both;
    joule_format(q.low, dimension, digits_of(q), low.text, sizeof low.text);
    joule_format(q.high, dimension, digits_of(q), high.text, sizeof high.text);
    char *low_unit = strchr(low.text, ' ');
    const char *high_unit = strchr(high.text, ' ');
    if (q.low == 0)
        string_copy(low.text, sizeof low.text, "0");
    else if (low_unit && high_unit && strcmp(low_unit, high_unit) == 0)
        *low_unit = '\0';
    struct text text;
    text_init(&text, both.text, sizeof both.text);
    text_printf(&text, "%s to %s", low.text, high.text);
    return both;
}

/* Returns a share of 0 to 1 in percent; "" if it is NaN. */
static struct figure percent_of(double share)
{
    struct figure f = {""};
    double percent = 100 * share;
    if (!isnan(share))
        snprintf(f.text, sizeof f.text, percent > 0 && percent < 0.95 ? "%.1f %%" : "%.0f %%", percent);
    return f;
}

/* --- headline ------------------------------------------------------------------------------------------- */

static bool has_command(const struct report *report)
{
    return report->share.method != ATTRIBUTE_NONE;
}

/* Returns "command" if `joule run` started the measured program, and "process" if the program was already
 * running. */
static const char *subject_of(const struct report *report)
{
    return report->share.method == ATTRIBUTE_TREE ? "process" : "command";
}

static void add_evidence(const struct page *page, joule_quantity q)
{
    text_printf(page->out, "(%s, %s)", interval_of(q, JOULE_DIMENSION_ENERGY).text, joule_class_name(q.cls));
}

static void add_headline(const struct page *page)
{
    const struct report *report = page->report;
    bool command = report_leads_with_command(report);
    joule_quantity joules = command ? report->command_joules : report->total_joules;
    size_t begin = page->out->length;
    text_add(page->out, "joule  ");
    if (isnan(joules.value)) {
        add_coloured(page, BOLD, "energy unknown");
        text_printf(page->out, "  over %s: no sensor reported a value in this time\n",
                    plain_figure(report->duration_s, JOULE_DIMENSION_TIME).text);
        return;
    }
    double watts_per_joule = report->mean_watts.value / report->total_joules.value;
    if (isnan(watts_per_joule))
        watts_per_joule = 1 / report->duration_s;
    joule_quantity watts = quantity_scale(joules, watts_per_joule);
    add_coloured(page, BOLD, figure_of(joules, JOULE_DIMENSION_ENERGY).text);
    text_add(page->out, "  ");
    add_evidence(page, joules);
    text_printf(page->out, "  %s over %s, ", figure_of(watts, JOULE_DIMENSION_POWER).text,
                plain_figure(report->duration_s, JOULE_DIMENSION_TIME).text);
    size_t used = page->out->length - begin - (page->colour ? strlen(BOLD PLAIN) : 0);
    if (command)
        text_printf(page->out, "the %s alone", subject_of(report));
    else
        text_add_cut(page->out, report->cover, used < WIDTH ? WIDTH - used : 0);
    text_add(page->out, "\n");
}

static void add_net(const struct page *page, const char *separator)
{
    const struct report *report = page->report;
    text_add(page->out, separator);
    if (isnan(report->net_joules.value)) {
        text_add(page->out, "net of idle unknown");
        text_add(page->out, isnan(report->idle_watts.value) ? " (see --idle)" : "");
        return;
    }
    text_printf(page->out, "%s net of %s idle", figure_of(report->net_joules, JOULE_DIMENSION_ENERGY).text,
                figure_of(report->idle_watts, JOULE_DIMENSION_POWER).text);
    if (report->idle_date)
        text_printf(page->out,
                    report->idle_busy > IDLE_BUSY_MAX ? " (%.10s, measured while %s busy)" : " (%.10s)",
                    report->idle_date, percent_of(report->idle_busy).text);
}

/* Returns true if a GPU's energy is known. The line of the command's share then contains the word CPU,
 * because the share applies only to the CPUs' energy. */
static bool has_gpu(const struct report *report)
{
    for (size_t i = 0; i < report->device_count; i++)
        if (strcmp(report->devices[i].type, "gpu") == 0 && !isnan(report->devices[i].energy_joules.value))
            return true;
    return false;
}

static void add_second_line(const struct page *page)
{
    const struct report *report = page->report;
    bool has_net = !isnan(report->net_joules.value);
    if (!has_command(report) && !has_net)
        return;
    text_add(page->out, INDENT);
    if (report_leads_with_command(report) && isnan(report->total_joules.value)) {
        text_add(page->out, report->coverage > 0 ? "too short to estimate the energy of the whole machine"
                                                 : "energy of the whole machine unknown");
    } else if (report_leads_with_command(report)) {
        text_printf(page->out, "%s  ", figure_of(report->total_joules, JOULE_DIMENSION_ENERGY).text);
        add_evidence(page, report->total_joules);
        text_add(page->out, " by the whole machine");
    } else if (has_command(report)) {
        text_printf(page->out, has_gpu(report) ? "%s  %s (CPU)" : "%s  the %s",
                    figure_of(report->command_joules, JOULE_DIMENSION_ENERGY).text, subject_of(report));
        if (!isnan(report->share.share))
            text_printf(page->out, ", %s of busy time (%s)", percent_of(report->share.share).text,
                        attribute_method_name(report->share.method));
    }
    add_net(page, has_command(report) ? "; " : "");
    text_add(page->out, "\n");
}

/* --- limitations of the figures ------------------------------------------------------------------------- */

static const struct verdict {
    const char *colour, *word, *sentence;
} verdicts[] = {
    [JOULE_BUDGET_NOT_MEASURED] = {YELLOW, "not measured", "not measured"},
    [JOULE_BUDGET_WITHIN] = {GREEN, "within", "kept"},
    [JOULE_BUDGET_NEAR] = {YELLOW, "near", "kept, more than 80 % used"},
    [JOULE_BUDGET_OVER] = {RED, "over", "exceeded"},
    [JOULE_BUDGET_UNDECIDED] = {YELLOW, "undecided", "undecided: the interval is too wide"},
    [JOULE_BUDGET_BELOW_RESOLUTION] = {YELLOW, "too short", "undecided: too short for the sensor"},
};

static void add_budget(const struct page *page)
{
    const struct report *report = page->report;
    if (isnan(report->budget_joules))
        return;
    text_printf(page->out, INDENT "%s's budget of %s ",
                report_leads_with_command(report) ? subject_of(report) : "machine",
                plain_figure(report->budget_joules, JOULE_DIMENSION_ENERGY).text);
    const struct verdict *verdict = &verdicts[report->budget_status];
    add_coloured(page, verdict->colour, verdict->sentence);
    if (report->budget_probability > 0.005 && report->budget_probability < 0.995)
        text_printf(page->out, "; kept with probability %.2f", report->budget_probability);
    if (report->budget_probability < 0.95 && !isnan(report->overshoot_bound_joules))
        text_printf(page->out, "; overshoot at most %s",
                    plain_figure(report->overshoot_bound_joules, JOULE_DIMENSION_ENERGY).text);
    text_add(page->out, "\n");
}

static void add_runs(const struct page *page)
{
    struct report_mean mean = report_mean(page->report);
    if (isnan(mean.joules.value))
        return;
    text_printf(page->out,
                INDENT "%zu runs, %s each on average (%s from their scatter, standard deviation %s)\n",
                report_run_count(page->report), figure_of(mean.joules, JOULE_DIMENSION_ENERGY).text,
                interval_of(mean.joules, JOULE_DIMENSION_ENERGY).text,
                plain_figure(mean.sd_joules, JOULE_DIMENSION_ENERGY).text);
}

static void add_region_limits(const struct page *page)
{
    const struct report *report = page->report;
    const struct {
        uint64_t count;
        const char *what;
    } limits[] = {
        {report->folded_regions,
         "regions were too frequent to be recorded one by one; their energy is\n" INDENT
         "attributed by their total time"},
        {report->limits.slotless, "of these were in threads beyond the limit of 256"},
        {report->limits.unnamed_tags, "names exceeded the limit of 4095; their regions are in \"(other)\""},
        {report->limits.unstored, "regions are missing from all rows: out of memory"},
        {report->unlisted_channels, "sensors exceeded the limit of 1024 and are missing from all figures"},
        {report->limits.implausible, "entries of the shared memory were impossible and were ignored"},
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (limits[i].count)
            text_printf(page->out, INDENT "%llu %s\n", (unsigned long long)limits[i].count, limits[i].what);
}

static void add_limits(const struct page *page)
{
    const struct report *report = page->report;
    if (report->is_partial)
        text_printf(page->out, INDENT "partial: %s\n",
                    report->partial_reason ? report->partial_reason : "a part of this total cannot be read");
    if (report->coverage < 0.995 && !isnan(report->total_joules.value))
        text_printf(page->out, INDENT "sensors covered %s of the time; energy of the rest is not included\n",
                    percent_of(report->coverage).text);
    if (report->stopped_s > 0)
        text_printf(page->out, INDENT "the command was stopped for %s of that time\n",
                    plain_figure(report->stopped_s, JOULE_DIMENSION_TIME).text);
    add_region_limits(page);
}

/* --- tables --------------------------------------------------------------------------------------------- */

static void add_devices(const struct page *page, struct arena *arena)
{
    static const char *const headings[] = {"device", "model",  "energy",  "90 % interval",
                                           "class",  "method", "coverage"};
    const struct report *report = page->report;
    struct table table;
    char name[32];
    table_start(&table, arena, "lcrrllr", headings);
    for (size_t i = 0; i < report->device_count; i++) {
        const struct report_device *d = &report->devices[i];
        snprintf(name, sizeof name, d->index >= 0 ? "%s:%d" : "%s", d->type, d->index);
        table_cell(&table, name);
        table_cell(&table, d->model ? d->model : "");
        table_cell(&table, figure_of(d->energy_joules, JOULE_DIMENSION_ENERGY).text);
        table_cell(&table, interval_of(d->energy_joules, JOULE_DIMENSION_ENERGY).text);
        table_cell(&table, joule_class_name(d->energy_joules.cls));
        table_cell(&table, d->measurement);
        table_cell(&table, percent_of(d->coverage).text);
    }
    if (report->device_count)
        text_add(page->out, "\n");
    table_print(&table, INDENT, WIDTH, page->colour, page->out);
}

/* Writes the notes at the end of a row: the verdict on its budget, and the share of its regions whose energy
 * was attributed by total time. */
static void note_function(const struct tag_row *row, char out_note[NOTE_SIZE])
{
    const char *verdict = row->unsynchronised          ? "not synced"
                          : !isnan(row->budget_joules) ? verdicts[report_function_status(row)].word
                                                       : "";
    double part = row->result.count ? (double)row->result.folded / (double)row->result.count : 0;
    if (part > 0)
        snprintf(out_note, NOTE_SIZE, "%s%s%s by time", verdict, verdict[0] ? ", " : "",
                 percent_of(part).text);
    else
        snprintf(out_note, NOTE_SIZE, "%s", verdict);
}

static void add_function_row(const struct page *page, struct table *table, const struct tag_row *row)
{
    char buffer[32];
    joule_quantity joules = row->result.attributed;
    bool has_budget = !isnan(row->budget_joules);
    table_cell(table, row->name);
    report_function_device(page->report, row, buffer);
    table_cell(table, buffer);
    snprintf(buffer, sizeof buffer, "%llu", (unsigned long long)row->result.count);
    table_cell(table, buffer);
    table_cell(table, plain_figure(row->result.duration_s, JOULE_DIMENSION_TIME).text);
    table_cell(table, figure_of(joules, JOULE_DIMENSION_ENERGY).text);
    table_cell(table, interval_of(joules, JOULE_DIMENSION_ENERGY).text);
    table_cell(table, percent_of(joules.value / page->report->total_joules.value).text);
    table_cell(table, has_budget ? plain_figure(row->budget_joules, JOULE_DIMENSION_ENERGY).text : "");
    char note[NOTE_SIZE];
    note_function(row, note);
    table_cell(table, note);
}

static void add_functions(const struct page *page, struct arena *arena)
{
    static const char *const headings[] = {"function",      "device",   "calls",  "time",   "energy",
                                           "90 % interval", "of total", "budget", "verdict"};
    const struct report *report = page->report;
    struct table table;
    table_start(&table, arena, "clrrrrrrl", headings);
    for (size_t i = 0; i < report->function_count; i++)
        add_function_row(page, &table, &report->functions[i]);
    if (report->function_count)
        text_add(page->out, "\n");
    table_print(&table, INDENT, WIDTH, page->colour, page->out);
    if (report->function_count && report_leads_with_command(report))
        text_add(page->out,
                 INDENT "Functions share the energy of the whole machine, including other programs.\n");
}

/* --- hint and overhead ---------------------------------------------------------------------------------- */

static void add_end(const struct page *page)
{
    const struct report *report = page->report;
    if (report->first_advice) {
        text_add(page->out, "\n" INDENT);
        add_coloured(page, BOLD, "hint:");
        text_add(page->out, " ");
        text_add_wrapped(page->out, report->first_advice, strlen(INDENT "hint: "), INDENT "      ", WIDTH);
        text_add(page->out, "\n");
    }
    if (isnan(report->overhead_cpu_s))
        return;
    text_add(page->out, report->first_advice ? "" : "\n");
    if (report->waited_for)
        text_printf(page->out, INDENT "waited %s after the end for a reading of %s\n",
                    plain_figure(report->waited_s, JOULE_DIMENSION_TIME).text, report->waited_for);
    text_add(page->out, page->colour ? DIM : "");
    text_printf(page->out, INDENT "measuring took %s of CPU time, %s of a core",
                plain_figure(report->overhead_cpu_s, JOULE_DIMENSION_TIME).text,
                percent_of(report->overhead_share).text);
    text_add(page->out, page->colour ? PLAIN "\n" : "\n");
}

void report_text(const struct report *report, bool colour, struct text *out)
{
    struct page page = {report, out, colour};
    struct arena arena = {0};
    add_headline(&page);
    add_second_line(&page);
    add_limits(&page);
    add_runs(&page);
    add_budget(&page);
    add_devices(&page, &arena);
    add_functions(&page, &arena);
    add_end(&page);
    arena_free(&arena);
}
