/* tools/plot/skyline_page.c - see skyline_page.h.
 *
 * The page contains the style, the facts as JSON, the columns as base64 (joule/picture/series_code.h) and the
 * script (page/).
 */
#include "plot/skyline_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "common/output.h"
#include "http/page_files.h"
#include "joule/picture/axis.h"
#include "joule/picture/series_code.h"

extern const struct page_file page_skyline_html, page_skyline_css, page_skyline_js;

#define MAX_COLUMNS      (1u << 19)
#define FEW_COLUMNS      (1u << 13) /* columns of a record with few samples */
#define MIN_COLUMNS      (1u << 10)
#define STEP_COLUMNS     8          /* columns of each sample, if there is room */
#define MAX_CODE_BYTES   (3u << 20) /* 4 MiB in base64 */
#define MARK_COLUMNS     (1u << 14)
#define MAX_MARKS        20000
#define WATTS_STEPS      4095 /* resolution of the smallest and largest power of a column */
#define JOULES_STEPS     4095 /* resolution of the energy of a column */
#define COVERAGE_PERCENT 100
#define MAX_SETS         2

/* All data of a page. */
struct page {
    struct record *record;
    struct report report;
    const char *title;
    struct skyline sets[MAX_SETS]; /* the same columns, by region and by device */
    size_t set_count;
    struct skyline marks; /* its marks are those of the page */
    const char *const *names;
    struct skyline_view view;
    double watts_unit, joules_unit;
    struct code_bytes code;
};

/* --- columns -------------------------------------------------------------------------------------------- */

/* Codes the coverage of the columns, in per cent. */
static bool code_coverage(struct page *page, int64_t *values, bool is_measured)
{
    const struct skyline *skyline = &page->sets[0];
    for (size_t i = 0; i < skyline->column_count; i++) {
        double s = is_measured ? skyline->columns[i].measured_s : skyline->columns[i].covered_s;
        values[i] = llround(fmin(1, s / skyline->column_s) * COVERAGE_PERCENT);
    }
    return series_code_add(&page->code, values, skyline->column_count);
}

/* Codes the smallest or largest powers; -1: unknown. Rounds outwards, so that the range is never too small.
 */
static bool code_extremes(struct page *page, int64_t *values, bool is_max)
{
    const struct skyline *skyline = &page->sets[0];
    for (size_t i = 0; i < skyline->column_count; i++) {
        double watts = is_max ? skyline->columns[i].max_watts : skyline->columns[i].min_watts;
        double steps = watts / page->watts_unit;
        values[i] = isnan(watts) ? -1 : (int64_t)(is_max ? ceil(steps - 1e-6) : floor(steps + 1e-6));
    }
    return series_code_add(&page->code, values, skyline->column_count);
}

/* Codes the joules of a layer. The running sum is rounded, so that errors do not add up. A value is repeated
 * as long as the sum stays within one unit, because equal values need less space. */
static bool code_joules(struct page *page, const struct skyline *skyline, const double *joules,
                        int64_t *values)
{
    double sum = 0;
    int64_t coded = 0, before = 0;
    for (size_t i = 0; i < skyline->column_count; i++) {
        sum += joules[i] / page->joules_unit;
        int64_t value = llround(sum) - coded;
        if (fabs(sum - (double)(coded + before)) <= 1 && (joules[i] > 0) == (before > 0))
            value = before;
        values[i] = before = value;
        coded += value;
    }
    return series_code_add(&page->code, values, skyline->column_count);
}

/* Returns the largest of all powers, or of all joules of a column. */
static double largest(const struct skyline *skyline, bool is_joules)
{
    double most = 0;
    for (size_t i = 0; i < skyline->column_count; i++) {
        double joules = 0;
        for (size_t k = 0; k < skyline->layer_count; k++)
            joules += skyline->layers[k].joules[i];
        most = fmax(most, is_joules ? joules : skyline->columns[i].max_watts);
    }
    return most > 0 ? most : 1;
}

/* Codes all columns, in the order in which page/skyline.js reads them. */
static bool code_columns(struct page *page)
{
    int64_t *values = malloc(page->sets[0].column_count * sizeof *values);
    page->code.count = 0;
    page->watts_unit = largest(&page->sets[0], false) / WATTS_STEPS;
    page->joules_unit = largest(&page->sets[0], true) / JOULES_STEPS;
    bool succeeded = values && code_coverage(page, values, true) && code_coverage(page, values, false) &&
                     code_extremes(page, values, false) && code_extremes(page, values, true);
    for (size_t s = 0; succeeded && s < page->set_count; s++) {
        for (size_t k = 0; succeeded && k < page->sets[s].layer_count; k++)
            succeeded = code_joules(page, &page->sets[s], page->sets[s].layers[k].joules, values);
    }
    free(values);
    return succeeded;
}

static void free_sets(struct page *page)
{
    for (size_t i = 0; i < MAX_SETS; i++)
        skyline_free(&page->sets[i]);
}

/* Returns the number of columns at which each step of the fastest sensor has several. */
static size_t choose_columns(const struct record *record)
{
    size_t points = 0, columns = FEW_COLUMNS;
    for (size_t i = 0; i < meter_channel_count(record->meter); i++) {
        const struct channel *channel = record->meter->channels[i].channel;
        points = channel->curve.count > points ? channel->curve.count : points;
    }
    while (columns < MAX_COLUMNS && columns / STEP_COLUMNS < points)
        columns *= 2;
    return columns;
}

/* Makes the skylines with so many columns that their code is small enough. */
static joule_status make_sets(struct page *page, const struct skyline_part *part, joule_error *out_error)
{
    struct skyline_part shown = *part;
    bool has_regions = page->record->region_count > 0;
    page->set_count = has_regions ? 2 : 1;
    for (shown.columns = choose_columns(page->record);; shown.columns /= 2) {
        free_sets(page);
        for (size_t i = 0; i < page->set_count; i++) {
            bool is_first = i == 0;
            shown.by = !has_regions || is_first == (part->by == SKYLINE_BY_DEVICE) ? SKYLINE_BY_DEVICE
                                                                                   : SKYLINE_BY_REGION;
            joule_status status = skyline_of_record(page->record, &shown, &page->sets[i], out_error);
            if (status != JOULE_OK)
                return status;
        }
        if (!code_columns(page))
            return error_set(out_error, JOULE_NO_MEMORY, "cannot draw the power: out of memory");
        if (page->code.count <= MAX_CODE_BYTES || shown.columns <= MIN_COLUMNS)
            break;
    }
    shown.columns = MARK_COLUMNS;
    shown.by = has_regions ? SKYLINE_BY_REGION : SKYLINE_BY_DEVICE;
    return skyline_of_record(page->record, &shown, &page->marks, out_error);
}

/* --- facts ---------------------------------------------------------------------------------------------- */

static void add_quantity(struct json *json, const joule_quantity *q)
{
    json_double(json, "joules", q->value);
    json_double(json, "low", q->low);
    json_double(json, "high", q->high);
    json_string(json, "class", joule_class_name(q->cls));
}

static void add_sets(struct json *json, const struct page *page)
{
    json_open(json, "sets", '[');
    for (size_t i = 0; i < page->set_count; i++) {
        const struct skyline *skyline = &page->sets[i];
        json_open(json, NULL, '{');
        json_string(json, "by", skyline->by == SKYLINE_BY_REGION ? "region" : "device");
        json_open(json, "layers", '[');
        for (size_t k = 0; k < skyline->layer_count; k++) {
            json_open(json, NULL, '{');
            json_string(json, "name", skyline->layers[k].name);
            json_integer(json, "colour", (int64_t)skyline->layers[k].colour);
            json_double(json, "joules", skyline->layers[k].total_joules);
            json_close(json, '}');
        }
        json_close(json, ']');
        json_close(json, '}');
    }
    json_close(json, ']');
}

static size_t shown_marks(const struct page *page)
{
    return page->marks.mark_count < MAX_MARKS ? page->marks.mark_count : MAX_MARKS;
}

/* Adds [row, begin, length, name, colour] of each mark, times in microseconds since the begin. */
static void add_marks(struct json *json, const struct page *page)
{
    json_open(json, "rows", '[');
    for (size_t i = 0; i < page->marks.row_count; i++)
        json_integer(json, NULL, page->marks.row_threads[i]);
    json_close(json, ']');
    json_open(json, "names", '[');
    for (size_t i = 0; i < page->record->name_count; i++)
        json_string(json, NULL, page->names[i]);
    json_close(json, ']');
    json_open(json, "marks", '[');
    for (size_t i = 0; i < shown_marks(page); i++) {
        const struct skyline_mark *mark = &page->marks.marks[i];
        json_open(json, NULL, '[');
        json_integer(json, NULL, mark->row);
        json_integer(json, NULL, (mark->begin_ns - page->marks.begin_ns) / 1000);
        json_integer(json, NULL, (mark->end_ns - mark->begin_ns + 999) / 1000);
        json_integer(json, NULL, mark->name);
        json_integer(json, NULL, (int64_t)mark->colour);
        json_close(json, ']');
    }
    json_close(json, ']');
}

static void add_tables(struct json *json, const struct report *report)
{
    json_open(json, "functions", '[');
    for (size_t i = 0; i < report->function_count; i++) {
        const struct tag_row *row = &report->functions[i];
        char device[REPORT_DEVICE_SIZE];
        report_function_device(report, row, device);
        json_open(json, NULL, '{');
        json_string(json, "name", row->name);
        json_string(json, "device", device);
        json_integer(json, "count", (int64_t)row->result.count);
        json_double(json, "seconds", row->result.duration_s);
        add_quantity(json, &row->result.attributed);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json, "devices", '[');
    for (size_t i = 0; i < report->device_count; i++) {
        const struct report_device *row = &report->devices[i];
        char device[32];
        string_print(device, sizeof device, row->index >= 0 ? "%s:%d" : "%s", row->type, row->index);
        json_open(json, NULL, '{');
        json_text(json, "device", device);
        json_text(json, "model", row->model);
        json_text(json, "measurement", row->measurement);
        add_quantity(json, &row->energy_joules);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* Adds [begin in seconds, mean watts] of each guessed phase. */
static void add_phases(struct json *json, const struct page *page)
{
    json_open(json, "phases", '[');
    for (size_t i = 0; i < page->view.phase_count; i++) {
        const struct skyline_phase *phase = &page->view.phases[i];
        json_open(json, NULL, '[');
        json_double(json, NULL, (double)(phase->begin_ns - page->sets[0].zero_ns) * 1e-9);
        json_double(json, NULL, phase->mean_watts);
        json_close(json, ']');
    }
    json_close(json, ']');
}

/* Says what the page contains, and what is lost. */
static void add_detail(struct json *json, const struct page *page)
{
    const struct skyline *skyline = &page->sets[0];
    char column[32], mark[32], detail[600];
    axis_format(skyline->column_s, "s", 3, column, sizeof column);
    axis_format(page->marks.column_s, "s", 3, mark, sizeof mark);
    string_print(
        detail, sizeof detail,
        "This page has %zu columns of %s. Of each column it knows the energy of each layer, the smallest "
        "and the largest power; the shape of the power within a column is lost. Energies of any "
        "range of columns are exact to two units of %.2g J for each layer. Regions shorter than %s are "
        "merged "
        "in the rows below the power%s. The record has all samples: joule plot --from TIME --to TIME.",
        skyline->column_count, column, page->joules_unit, mark,
        page->marks.mark_count > MAX_MARKS ? ", and only the first 20000 are shown" : "");
    json_string(json, "detail", detail);
}

static void print_facts(const struct page *page, struct text *out)
{
    struct json json = {.out = out};
    const struct skyline *skyline = &page->sets[0];
    char caption[600];
    skyline_describe(skyline, &page->view, caption, sizeof caption);
    json_open(&json, NULL, '{');
    json_text(&json, "title", page->title);
    json_string(&json, "caption", caption);
    add_detail(&json, page);
    json_exact(&json, "begin_seconds", (double)(skyline->begin_ns - skyline->zero_ns) * 1e-9);
    json_exact(&json, "column_seconds", skyline->column_s);
    json_integer(&json, "columns", (int64_t)skyline->column_count);
    json_exact(&json, "watts_unit", page->watts_unit);
    json_exact(&json, "joules_unit", page->joules_unit);
    json_double(&json, "idle_watts", page->view.idle_watts.value);
    json_integer(&json, "colours", DRAWING_COLOURS);
    json_integer(&json, "other_colour", COLOUR_OTHER);
    json_open(&json, "total", '{');
    add_quantity(&json, &skyline->total_joules);
    json_close(&json, '}');
    add_sets(&json, page);
    add_marks(&json, page);
    add_phases(&json, page);
    add_tables(&json, &page->report);
    json_close(&json, '}');
}

/* --- the file ------------------------------------------------------------------------------------------- */

static void print_palette(struct text *out, bool is_dark)
{
    static const struct {
        const char *name;
        enum colour colour;
    } names[] = {{"ground", COLOUR_GROUND}, {"ink", COLOUR_INK},         {"soft", COLOUR_SOFT},
                 {"grid", COLOUR_GRID},     {"unknown", COLOUR_UNKNOWN}, {"good", COLOUR_GOOD},
                 {"bad", COLOUR_BAD},       {"warn", COLOUR_WARN}};
    text_printf(out, ":root{--page:%s;--accent:%s;", is_dark ? "#131517" : "#fbfbfa",
                is_dark ? "#6cb2ff" : "#0b63b5");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        text_printf(out, "--%s:#%06x;", names[i].name, (unsigned)drawing_rgb(names[i].colour, is_dark));
    for (int i = 0; i < DRAWING_COLOURS; i++)
        text_printf(out, "--c%d:#%06x;", i, (unsigned)drawing_rgb((enum colour)i, is_dark));
    text_add(out, "}\n");
}

static void print_head(const struct page *page, struct text *out)
{
    (void)page;
    text_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
                  "<title>Power over time</title>\n<style>\n:root{color-scheme:light dark}\n");
    print_palette(out, false);
    text_add(out, "@media (prefers-color-scheme: dark){");
    print_palette(out, true);
    text_add(out, "}\n");
}

static bool add_bytes(struct code_bytes *out, const void *bytes, size_t count)
{
    if (!array_reserve((void **)&out->items, &out->capacity, out->count + count, 1))
        return false;
    memcpy(out->items + out->count, bytes, count);
    out->count += count;
    return true;
}

static bool add_string(struct code_bytes *out, const char *string)
{
    return add_bytes(out, string, strlen(string));
}

static bool add_printed(struct code_bytes *out, void (*print)(const struct page *, struct text *),
                        const struct page *page, bool is_json)
{
    struct text text;
    text_init(&text, NULL, 0);
    print(page, &text);
    char *bytes = malloc(text.length + 1);
    if (!bytes)
        return false;
    text_init(&text, bytes, text.length + 1);
    print(page, &text);
    bool succeeded = true;
    for (size_t i = 0, begin = 0; succeeded && i <= text.length; i++) {
        /* "</script" in a name must not end the element */
        bool is_special = is_json && i < text.length && bytes[i] == '<';
        if (i < text.length && !is_special)
            continue;
        succeeded = add_bytes(out, bytes + begin, i - begin) && (!is_special || add_string(out, "\\u003c"));
        begin = i + 1;
    }
    free(bytes);
    return succeeded;
}

static bool assemble(const struct page *page, struct code_bytes *out)
{
    return add_printed(out, print_head, page, false) &&
           add_bytes(out, page_skyline_css.bytes, page_skyline_css.size) &&
           add_string(out, "</style>\n</head>\n<body>\n") &&
           add_bytes(out, page_skyline_html.bytes, page_skyline_html.size) &&
           add_string(out, "<script type=\"application/json\" id=\"facts\">") &&
           add_printed(out, print_facts, page, true) &&
           add_string(out, "</script>\n<script type=\"text/plain\" id=\"columns\">") &&
           series_code_add_base64(out, page->code.items, page->code.count) &&
           add_string(out, "</script>\n<script>\n") &&
           add_bytes(out, page_skyline_js.bytes, page_skyline_js.size) &&
           add_string(out, "</script>\n</body>\n</html>\n");
}

static joule_status write_page(const struct page *page, const char *path, joule_error *out_error)
{
    struct code_bytes bytes = {0};
    joule_status status = assemble(page, &bytes)
                              ? output_write(path, (const char *)bytes.items, bytes.count, out_error)
                              : error_set(out_error, JOULE_NO_MEMORY, "cannot write %s: out of memory", path);
    free(bytes.items);
    return status;
}

joule_status skyline_page_write(struct record *record, const struct skyline_part *part,
                                const struct skyline_view *view, const char *path, joule_error *out_error)
{
    struct page page = {.record = record, .title = view->title, .view = *view, .names = view->names};
    joule_status status = record_report(record, &page.report);
    if (status != JOULE_OK)
        status = error_set(out_error, JOULE_NO_MEMORY, "cannot draw the power: out of memory");
    if (status == JOULE_OK)
        status = make_sets(&page, part, out_error);
    if (status == JOULE_OK)
        status = write_page(&page, path, out_error);
    free_sets(&page);
    skyline_free(&page.marks);
    report_free(&page.report);
    free(page.code.items);
    return status;
}
