/* tools/joule/joule_devices.c - `joule devices`: all domains that can be measured, and all sources that
 * cannot.
 *
 * Opens a meter, waits for a few readings, queries it, and prints a table.
 *
 * Note: a source without hardware is listed below the table with its reason. A domain that exists but cannot
 * be read is a row of the table, and its remedy is listed below.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <joule/joule.h>
#include "joule_commands.h"
#include "devices.h"
#include "joule/meter/engine.h"
#include "joule/report/text_table.h"
#include "common/options.h"
#include "report_page.h"

#define WAIT_S       2.0 /* maximum wait for slow sources */
#define STEP_NS      50000000
#define MIN_STEPS    7  /* power needs two readings */
#define MAX_STEPS    50 /* clocks are read once a second, and not at opening */
#define FULL_WIDTH   98 /* width from which the table shows all columns */
#define INDENT       "  "
#define MODEL_INDENT "            " /* aligned with the model of a device */

/* --- gathering data ------------------------------------------------------------------------------------- */

static bool is_gauge(const joule_domain *domain)
{
    return domain->reading != JOULE_READING_ENERGY && domain->reading != JOULE_READING_POWER;
}

/* Returns true if a gauge has not been read yet. */
static bool is_pending(joule_meter *meter)
{
    double value;
    for (size_t i = 0; i < joule_domain_count(meter); i++)
        if (joule_gauge(meter, (int32_t)i, &value) == JOULE_PENDING)
            return true;
    return false;
}

static void wait_for_readings(joule_meter *meter)
{
    for (int step = 0; step < MIN_STEPS || (step < MAX_STEPS && is_pending(meter)); step++)
        nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
}

static void gather_domains(struct listing *listing, joule_meter *meter)
{
    size_t count = joule_domain_count(meter);
    listing->rows = arena_alloc(&listing->arena, count * sizeof *listing->rows);
    for (size_t i = 0; i < count && listing->rows; i++) {
        struct row row = {.domain.struct_size = sizeof row.domain, .watts = quantity_unknown(), .gauge = NAN};
        if (joule_domain_get(meter, i, &row.domain) != JOULE_OK)
            continue;
        if (is_gauge(&row.domain)) {
            joule_status status = joule_gauge(meter, row.domain.id, &row.gauge);
            if (row.domain.state == JOULE_OK)
                row.domain.state = status; /* a domain is listed before its first reading */
        } else {
            joule_power_watts(meter, row.domain.id, &row.watts);
        }
        listing->rows[listing->row_count++] = row;
    }
}

/* Returns the description of a source. Until its lane has opened the source, the state is PENDING, and the
 * other fields of the source must not be read. */
static struct source_row describe(struct lane *lane, const struct source *source)
{
    struct source_row row = {.name = source->ops->name,
                             .measurement = source->ops->measurement,
                             .tier = source->ops->tier,
                             .state = JOULE_PENDING,
                             .remedy = "still searching for its hardware, or hanging"};
    pthread_mutex_lock(&lane->lock);
    if (lane->opened) {
        row.state = source->state;
        row.remedy = source->remedy;
        row.domain_count = source->channel_count;
    }
    pthread_mutex_unlock(&lane->lock);
    return row;
}

static void gather_sources(struct listing *listing, joule_meter *meter)
{
    size_t count = 0;
    for (size_t l = 0; l < meter->lane_count; l++)
        count += meter->lanes[l]->source_count;
    listing->sources = arena_alloc(&listing->arena, count * sizeof *listing->sources);
    for (size_t l = 0; l < meter->lane_count && listing->sources; l++)
        for (size_t s = 0; s < meter->lanes[l]->source_count; s++)
            listing->sources[listing->source_count++] =
                describe(meter->lanes[l], meter->lanes[l]->sources[s]);
}

static int compare_rows(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    return left->domain.id < right->domain.id ? -1 : 1;
}

/* Sorts domains by source, because the order in which slow sources find domains varies. */
static void sort_domains(struct listing *listing)
{
    for (size_t i = 0; i < listing->row_count; i++)
        while (listing->rows[i].rank < listing->source_count &&
               strcmp(listing->sources[listing->rows[i].rank].name, listing->rows[i].domain.source) != 0)
            listing->rows[i].rank++;
    if (listing->row_count)
        qsort(listing->rows, listing->row_count, sizeof *listing->rows, compare_rows);
}

static void gather_devices(struct listing *listing, joule_meter *meter)
{
    size_t count = joule_device_count(meter);
    listing->devices = arena_alloc(&listing->arena, count * sizeof *listing->devices);
    for (size_t i = 0; i < count && listing->devices; i++)
        listing->device_count +=
            device_row_get(meter, i, &listing->arena, &listing->devices[listing->device_count]);
}

static void gather_total(struct listing *listing, joule_meter *meter)
{
    char name[512];
    struct cover cover;
    meter_cover(meter, JOULE_TOTAL, meter->begin_ns, meter_now_ns(meter), &cover);
    meter_cover_name(meter, &cover, name, sizeof name);
    listing->is_partial = cover.is_partial;
    listing->total_cover = arena_copy(&listing->arena, name, strlen(name));
    joule_power_watts(meter, JOULE_TOTAL, &listing->total_watts);
}

/* --- the table ------------------------------------------------------------------------------------------ */

static void format_now(const struct row *row, char *out, size_t size)
{
    *out = '\0';
    if (!isnan(row->watts.value))
        joule_format(row->watts.value, JOULE_DIMENSION_POWER, 3, out, size);
    else if (!is_gauge(&row->domain))
        string_copy(out, size, row->domain.state == JOULE_OK ? "frozen" : "");
    else if (isnan(row->gauge))
        return;
    else if (row->domain.reading == JOULE_READING_TEMPERATURE)
        snprintf(out, size, "%.1f C", row->gauge);
    else if (row->domain.reading == JOULE_READING_CLOCK)
        snprintf(out, size, "%.0f MHz", row->gauge);
    else
        snprintf(out, size, "%.0f %%", 100 * row->gauge);
}

/* Omits device and tier on a narrow page, because names and sources imply them. */
static void add_row(struct table *table, const struct row *row, bool is_narrow)
{
    const joule_domain *domain = &row->domain;
    char cell[48];
    table_cell(table, domain->name);
    table_cell(table, is_narrow ? "" : domain->device);
    table_cell(table,
               is_gauge(domain) ? joule_reading_kind_name(domain->reading) : joule_scope_name(domain->scope));
    table_cell(table, domain->source);
    snprintf(cell, sizeof cell, "%u", domain->tier);
    table_cell(table, is_narrow ? "" : cell);
    table_cell(table, joule_status_name(domain->state));
    format_now(row, cell, sizeof cell);
    table_cell(table, cell);
    *cell = '\0';
    if (!isnan(domain->update_period_s))
        joule_format(domain->update_period_s, JOULE_DIMENSION_TIME, 3, cell, sizeof cell);
    table_cell(table, cell);
    table_cell(table, domain->in_total ? "yes" : "");
}

static void add_total(const struct listing *listing, struct text *out)
{
    char watts[48];
    joule_format(listing->total_watts.value, JOULE_DIMENSION_POWER, 3, watts, sizeof watts);
    text_printf(out, "total now: %s", watts);
    if (!isnan(listing->total_watts.value)) {
        text_printf(out, " (%s), ", joule_class_name(listing->total_watts.cls));
        text_add_cut(out, listing->total_cover ? listing->total_cover : "", listing->width - 40);
    }
    text_add(out, listing->is_partial ? "; part of the machine cannot be read\n" : "\n");
}

static const struct device_row *find_device(const struct listing *listing, const char *name)
{
    for (size_t i = 0; i < listing->device_count; i++)
        if (strcmp(listing->devices[i].info.name, name) == 0)
            return &listing->devices[i];
    return NULL;
}

/* Adds a line "gpu:0  NVIDIA H200". */
static void add_heading(const struct listing *listing, const char *name, const char *model, struct text *out,
                        bool *any)
{
    text_add(out, *any ? INDENT : "\n" INDENT);
    text_printf(out, "%-8s  ", name);
    text_add_cut(out, model, listing->width - strlen(MODEL_INDENT));
    text_add(out, "\n");
    *any = true;
}

/* Returns true for the first row of a device that has a model and no entry in `devices`, such as a CPU. */
static bool is_first_of_others(const struct listing *listing, size_t i)
{
    const joule_domain *domain = &listing->rows[i].domain;
    for (size_t k = 0; k < i; k++)
        if (strcmp(listing->rows[k].domain.device, domain->device) == 0 && listing->rows[k].domain.model[0])
            return false;
    return domain->device[0] && domain->model[0] && !find_device(listing, domain->device);
}

static void add_models(const struct listing *listing, struct text *out)
{
    bool any = false;
    for (size_t i = 0; i < listing->row_count; i++) {
        const joule_domain *domain = &listing->rows[i].domain;
        if (is_first_of_others(listing, i))
            add_heading(listing, domain->device, domain->model, out, &any);
    }
    for (size_t i = 0; i < listing->device_count; i++) {
        const joule_device *d = &listing->devices[i].info;
        add_heading(listing, d->name, d->model[0] ? d->model : d->vendor, out, &any);
        device_add_lines(&listing->devices[i], MODEL_INDENT, out);
    }
}

/* Adds "name (state): remedy", wrapped. */
static void add_note(const struct listing *listing, struct text *out, const char *name, joule_status state,
                     const char *remedy)
{
    size_t before = out->length;
    text_add(out, INDENT);
    text_add_printable(out, name);
    text_printf(out, " (%s): ", joule_status_name(state));
    text_add_wrapped(out, *remedy ? remedy : "no reason given", out->length - before, INDENT INDENT,
                     listing->width);
    text_add(out, "\n");
}

/* Returns true if an earlier row has the same remedy, because each remedy is printed once. */
static bool is_printed_before(const struct listing *listing, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(listing->rows[k].domain.remedy, listing->rows[i].domain.remedy) == 0)
            return true;
    return false;
}

static void add_remedies(const struct listing *listing, struct text *out)
{
    bool any = false;
    for (size_t i = 0; i < listing->row_count; i++) {
        const joule_domain *domain = &listing->rows[i].domain;
        if (domain->state == JOULE_OK || !domain->remedy[0] || is_printed_before(listing, i))
            continue;
        text_add(out, any ? "" : "\nnot readable:\n");
        add_note(listing, out, domain->name, domain->state, domain->remedy);
        any = true;
    }
}

static bool is_absent(const struct source_row *source)
{
    return source->state != JOULE_OK && !source->domain_count;
}

static bool has_same_reason(const struct source_row *a, const struct source_row *b)
{
    return is_absent(a) && is_absent(b) && a->state == b->state && strcmp(a->remedy, b->remedy) == 0;
}

/* Lists absent sources. Sources with the same reason share one note. */
static void add_absent(const struct listing *listing, struct text *out)
{
    bool any = false;
    for (size_t i = 0; i < listing->source_count; i++) {
        const struct source_row *source = &listing->sources[i];
        size_t first = 0;
        while (first < i && !has_same_reason(&listing->sources[first], source))
            first++;
        if (!is_absent(source) || first < i)
            continue;
        char names[256];
        struct text list;
        text_init(&list, names, sizeof names);
        text_add(&list, source->name);
        for (size_t k = i + 1; k < listing->source_count; k++)
            if (has_same_reason(&listing->sources[k], source))
                text_printf(&list, ", %s", listing->sources[k].name);
        text_add(out, any ? "" : "\nnot available:\n");
        add_note(listing, out, names, source->state, source->remedy);
        any = true;
    }
}

static void print_table(const void *context, struct text *out)
{
    static const char *const headings[] = {"domain", "device", "kind",   "source", "tier",
                                           "state",  "now",    "period", "total"};
    const struct listing *listing = context;
    struct arena arena = {0};
    struct table table;
    table_start(&table, &arena, "clllrlrrl", headings);
    for (size_t i = 0; i < listing->row_count; i++)
        add_row(&table, &listing->rows[i], listing->width < FULL_WIDTH);
    add_total(listing, out);
    text_add(out, listing->row_count ? "\n" : "");
    table_print(&table, INDENT, listing->width, listing->colour, out);
    add_models(listing, out);
    add_remedies(listing, out);
    add_absent(listing, out);
    arena_free(&arena);
}

/* --- the subcommand ------------------------------------------------------------------------------------- */

static int list(const joule_options *options, bool as_json)
{
    joule_meter *meter;
    joule_error error;
    joule_status status = joule_open(options, &meter, &error);
    if (status != JOULE_OK) {
        complain("devices", "%s", error.message);
        return status == JOULE_INVALID ? EXIT_USAGE : EXIT_OWN_FAILURE;
    }
    wait_for_readings(meter);
    struct listing listing = {
        .colour = page_has_colour(STDOUT_FILENO), .width = page_width(), .total_watts = quantity_unknown()};
    gather_domains(&listing, meter);
    gather_sources(&listing, meter);
    sort_domains(&listing);
    gather_devices(&listing, meter);
    gather_total(&listing, meter);
    int code = page_print("devices", as_json ? listing_json : print_table, &listing);
    arena_free(&listing.arena);
    joule_close(meter);
    return code;
}

int devices_main(int argc, char **argv)
{
    bool as_json = false;
    joule_options options = {
        .struct_size = sizeof options, .flags = JOULE_OPEN_NO_SESSION | JOULE_OPEN_DEVICES, .wait_s = WAIT_S};
    const struct option table[] = {{.name = "json",
                                    .kind = OPTION_FLAG,
                                    .value = &as_json,
                                    .help = "print one JSON object instead of a table"},
                                   {.name = "root",
                                    .kind = OPTION_TEXT,
                                    .value = &options.root,
                                    .argument = "DIR",
                                    .help = "list the machine recorded in DIR instead of this one"},
                                   {.name = "sources",
                                    .kind = OPTION_TEXT,
                                    .value = &options.sources,
                                    .argument = "LIST",
                                    .help = "use only these sources (\"a,b\"), or all except some (\"-a\")"},
                                   {0}};
    const struct command_text text = {
        .usage = "joule devices [--json] [--root DIR] [--sources LIST]",
        .summary =
            "Lists what can be measured on this machine, how it is measured, and what to do about the rest.",
        .notes = "Tiers: 1 modelled, 2 counters and sensors of CPU and board, 3 accelerators.\n"};
    int first = options_read(table, &text, argc, argv);
    if (first <= OPTIONS_HELP)
        return first == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (first < argc) {
        complain("devices", "unexpected argument '%s'; see joule devices --help", argv[first]);
        return EXIT_USAGE;
    }
    return list(&options, as_json);
}
