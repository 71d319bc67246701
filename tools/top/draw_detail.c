/* tools/top/draw_detail.c - draws the detail view of one device, and the help; see draw.h.
 *
 * Note: facts fill as many columns as fit the width; unknown values are omitted.
 */
#include <math.h>
#include <string.h>
#include "columns.h"
#include "draw.h"
#include "format.h"
#include "joule/report/text_table.h"

#define SPAN_S     600
#define FACT_WIDTH 40
#define MAX_FACTS  24

/* --- facts ---------------------------------------------------------------------------------------------- */

/* Names and values that the detail view shows. */
struct facts {
    struct {
        const char *name;
        char value[100];
    } list[MAX_FACTS];
    int count;
};

static void add_fact(struct facts *facts, const char *name, const char *value)
{
    if (!*value || strcmp(value, UNKNOWN) == 0 || facts->count == MAX_FACTS)
        return;
    facts->list[facts->count].name = name;
    string_copy(facts->list[facts->count++].value, sizeof facts->list[0].value, value);
}

static void add_quantity(struct facts *facts, const char *name, joule_quantity q, bool is_power)
{
    char value[100], word[FORMAT_SIZE], range[FORMAT_SIZE];
    if (isnan(q.value))
        return;
    char *(*write)(double, char *) = is_power ? format_power : format_energy;
    string_print(value, sizeof value, "%s %c  %s", write(q.value, word), class_letter(q.cls),
                 format_range(q, write, range));
    add_fact(facts, name, value);
}

/* Returns the most important reason for reduced clocks; "" if there is none, or if the reasons are
 * unknown. */
static const char *clocks(uint32_t reasons)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } names[] = {{JOULE_CLOCKS_POWER, "power limit"},    {JOULE_CLOCKS_HOT_HARDWARE, "too warm"},
                 {JOULE_CLOCKS_TEMPERATURE, "too warm"}, {JOULE_CLOCKS_POWER_BRAKE, "power brake"},
                 {JOULE_CLOCKS_SLOWDOWN, "slowdown"},    {JOULE_CLOCKS_SYNC, "synchronized"},
                 {JOULE_CLOCKS_SET, "set by a user"},    {JOULE_CLOCKS_IDLE, "idle"}};
    for (size_t i = 0; i < sizeof names / sizeof *names && reasons != JOULE_CLOCKS_UNKNOWN; i++)
        if (reasons & names[i].bit)
            return names[i].name;
    return "";
}

static void add_number(struct facts *facts, const char *name, double value, const char *unit)
{
    char text[48];
    if (isnan(value))
        return;
    string_print(text, sizeof text, "%.0f %s", value, unit);
    add_fact(facts, name, text);
}

static void add_board(struct facts *facts, const joule_device *board)
{
    char text[100], word[FORMAT_SIZE], other[FORMAT_SIZE];
    add_fact(facts, "memory busy", format_share(board->memory_busy, word));
    add_fact(facts, "memory temp", format_celsius(board->memory_temperature_celsius, word));
    add_number(facts, "clock", board->clock_megahertz, "MHz");
    add_number(facts, "memory clock", board->memory_clock_megahertz, "MHz");
    add_fact(facts, "clock limit", clocks(board->clock_reasons));
    if (!isnan(board->power_limit_min_watts) && !isnan(board->power_limit_max_watts)) {
        string_print(text, sizeof text, "%s to %s", format_power(board->power_limit_min_watts, word),
                     format_power(board->power_limit_max_watts, other));
        add_fact(facts, "limits", text);
    }
    add_fact(facts, "architecture", board->architecture);
    add_fact(facts, "compute", board->compute_capability);
    add_fact(facts, "PCI", board->pci_address);
    add_fact(facts, "driver", board->driver);
    add_fact(facts, "UUID", board->uuid);
    if (board->partition_count)
        add_number(facts, "partitions", board->partition_count, "");
}

static void gather_facts(struct facts *facts, const struct device_row *row)
{
    char word[FORMAT_SIZE];
    add_quantity(facts, "power", row->watts, true);
    add_quantity(facts, "energy", row->joules, false);
    add_fact(facts, "limit", format_power(row->limit_watts, word));
    add_fact(facts, "busy", format_share(row->busy, word));
    add_fact(facts, "memory", format_memory(row->memory_used_bytes, row->memory_total_bytes, word));
    add_fact(facts, "temperature", format_celsius(row->celsius, word));
    if (row->is_board)
        add_board(facts, &row->board);
}

static int draw_facts(struct frame *frame, const struct facts *facts, int y, int rows)
{
    int columns = (frame->width - 2) / FACT_WIDTH;
    columns = columns < 1 ? 1 : columns;
    int needed = (facts->count + columns - 1) / columns, shown = needed < rows ? needed : rows;
    for (int i = 0; i < facts->count; i++) {
        int column = i / (needed ? needed : 1), row = i % (needed ? needed : 1);
        if (row >= shown)
            continue;
        int x = 1 + column * FACT_WIDTH;
        frame_text(frame, y + row, x, 12, STYLE_DIM, facts->list[i].name);
        frame_text(frame, y + row, x + 13, column + 1 < columns ? FACT_WIDTH - 14 : -1, STYLE_PLAIN,
                   facts->list[i].value);
    }
    return shown;
}

/* Draws the remedy in up to `rows` lines. Returns the number of lines used. */
static int draw_remedy(struct frame *frame, const char *remedy, int y, int rows)
{
    char lines[512];
    struct text text;
    text_init(&text, lines, sizeof lines);
    text_add_wrapped(&text, remedy, 0, "", (size_t)frame->width - 2);
    int row = 0;
    for (char *line = lines; line && row < rows; row++) {
        char *end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        frame_text(frame, y + row, 1, -1, STYLE_WARNING, line);
        line = end;
    }
    return row;
}

/* --- domains -------------------------------------------------------------------------------------------- */

enum { DOMAIN, SOURCE, STATE, NOW, ENERGY, TOTAL, LABEL, DOMAIN_COLUMNS };

static void draw_domain(struct frame *frame, const struct domain_row *row, int y, const struct column *c)
{
    char word[FORMAT_SIZE];
    const joule_domain *domain = &row->domain;
    if (c[DOMAIN].is_shown)
        frame_text(frame, y, c[DOMAIN].x, c[DOMAIN].given, STYLE_PLAIN, domain->name);
    if (c[SOURCE].is_shown)
        frame_text(frame, y, c[SOURCE].x, c[SOURCE].given, STYLE_DIM, domain->source);
    if (c[STATE].is_shown)
        frame_text(frame, y, c[STATE].x, c[STATE].given,
                   domain->state == JOULE_OK ? STYLE_DIM : STYLE_WARNING, joule_status_name(domain->state));
    if (domain->reading == JOULE_READING_TEMPERATURE)
        format_celsius(row->gauge, word);
    else if (domain->reading == JOULE_READING_UTILISATION)
        format_share(row->gauge, word);
    else if (!isnan(row->gauge))
        string_print(word, sizeof word, "%.0f MHz", row->gauge);
    else
        string_copy(word, sizeof word, UNKNOWN);
    bool has_power = domain->reading == JOULE_READING_ENERGY || domain->reading == JOULE_READING_POWER;
    if (c[NOW].is_shown && has_power)
        draw_power(frame, y, c[NOW].x, STYLE_PLAIN, row->watts.value, row->watts.cls);
    else if (c[NOW].is_shown)
        frame_right(frame, y, c[NOW].x, POWER_WIDTH, STYLE_PLAIN, word);
    if (c[ENERGY].is_shown && has_power)
        frame_right(frame, y, c[ENERGY].x, c[ENERGY].given, STYLE_PLAIN,
                    format_energy(row->joules.value, word));
    if (c[TOTAL].is_shown)
        frame_text(frame, y, c[TOTAL].x, c[TOTAL].given, STYLE_DIM, domain->in_total ? "total" : "");
    if (c[LABEL].is_shown)
        frame_text(frame, y, c[LABEL].x, c[LABEL].given, STYLE_DIM,
                   domain->remedy[0] ? domain->remedy : domain->label);
}

static int draw_domains(struct frame *frame, const struct model *model, int y, int rows)
{
    struct column c[DOMAIN_COLUMNS] = {{"DOMAIN", frame->width < 100 ? 14 : 24, 100, .is_right = false},
                                       {"SOURCE", 13, 40, .is_right = false},
                                       {"STATE", 8, 80, .is_right = false},
                                       {"NOW  ", POWER_WIDTH, 90, .is_right = true},
                                       {"ENERGY", 7, 70, .is_right = true},
                                       {"IN", 5, 30, .is_right = false},
                                       {"", 10, 20, .grows = true}};
    if (rows < 2 || model->domain_count == 0)
        return 0;
    columns_fit(c, DOMAIN_COLUMNS, 1, frame->width - 2);
    frame_mark(frame, y, STYLE_HEADING);
    for (int i = 0; i < DOMAIN_COLUMNS; i++)
        if (c[i].is_shown && c[i].is_right)
            frame_right(frame, y, c[i].x, c[i].given, STYLE_HEADING, c[i].title);
        else if (c[i].is_shown)
            frame_text(frame, y, c[i].x, c[i].given, STYLE_HEADING, c[i].title);
    int shown = (int)model->domain_count < rows - 1 ? (int)model->domain_count : rows - 1;
    if ((size_t)shown < model->domain_count) {
        char cut[32];
        string_print(cut, sizeof cut, " %d of %zu ", shown, model->domain_count);
        frame_right(frame, y, frame->width - 20, 20, STYLE_HEADING, cut);
    }
    for (int i = 0; i < shown; i++)
        draw_domain(frame, &model->domains[i], y + 1 + i, c);
    return shown + 1;
}

/* --- the view ------------------------------------------------------------------------------------------- */

/* Draws the power over time with its scale. Returns the number of rows used. */
static int draw_chart(struct frame *frame, const struct model *model, const struct device_row *row, int y,
                      int height)
{
    char word[FORMAT_SIZE], text[64];
    int columns = frame->width - 12, bars = height - 1;
    if (bars < 1 || columns < 24)
        return 0;
    unsigned n = history_ticks_per_bar(model->period_s, SPAN_S, model->tick + 1, columns);
    double peak = history_peak(&row->history, model->tick, n, columns);
    if (isnan(peak))
        return 0;
    frame_right(frame, y, 1, 8, STYLE_DIM, format_power(peak, word));
    if (bars > 1)
        frame_right(frame, y + bars - 1, 1, 8, STYLE_DIM, "0 W");
    history_draw(&row->history, model->tick, n, peak, frame, y, 10, columns, bars);
    string_print(text, sizeof text, "%s ago", format_time(n * model->period_s * columns, word));
    frame_text(frame, y + bars, 10, -1, STYLE_DIM, text);
    frame_right(frame, y + bars, 10, columns, STYLE_DIM, "now");
    return height;
}

void draw_detail(struct frame *frame, struct ui *ui, const struct model *model, int y, int rows)
{
    const struct device_row *row = NULL;
    for (size_t i = 0; i < model->device_count && !row; i++)
        if (strcmp(model->devices[i].name, model->detail) == 0)
            row = &model->devices[i];
    int end = y + rows;
    int x = frame_text(frame, y, 1, -1, STYLE_STRONG, model->detail) + 2;
    if (!row) {
        frame_text(frame, y, x, -1, STYLE_WARNING, "no longer present");
        return;
    }
    frame_text(frame, y, x, -1, STYLE_PLAIN, row->model);
    y++;
    struct facts facts = {0};
    gather_facts(&facts, row);
    y += draw_facts(frame, &facts, y, (end - y) / 3);
    if (row->remedy[0] && row->state != JOULE_OK)
        y += draw_remedy(frame, row->remedy, y, (end - y) / 2);
    int min_rows = end - y > 12 ? 4 : 3; /* minimum rows for processes */
    if (end - y > min_rows + 6)
        y += draw_chart(frame, model, row, y, (end - y - min_rows) / 3 < 8 ? (end - y - min_rows) / 3 : 8);
    if (end - y > min_rows + 2)
        y += draw_domains(frame, model, y, (end - y - min_rows) * 2 / 3);
    if (end - y > 1)
        draw_processes(frame, ui, model, y, end - y);
}

/* --- help ----------------------------------------------------------------------------------------------- */

void draw_help(struct frame *frame)
{
    static const char *const lines[] = {
        " joule top",
        "",
        " arrows j k   move               PgUp PgDn Home End",
        " Tab          devices or processes",
        " Enter        show the device       Esc  back",
        " s S  < >     sort by another column   r  reverse",
        " /            filter processes         Esc  show all",
        " p space      pause the display; measuring continues",
        " R            record to a file, stop recording",
        " ? h F1       show this help           q  quit",
        "",
        " letter after a value:",
        " m  measured   by an energy counter",
        " d  derived    integrated from power, or attributed",
        " ~  modelled   by a cost model",
        " ?  assumed    from a configured or typical value",
        " -  unknown",
        "",
        " energy: since joule top started",
    };
    int count = (int)(sizeof lines / sizeof *lines), width = 54;
    width = width < frame->width ? width : frame->width;
    int shown = count < frame->height ? count : frame->height;
    int x = (frame->width - width) / 2, y = (frame->height - shown) / 2;
    for (int i = 0; i < shown; i++) {
        for (int k = 0; k < width; k++)
            frame_put(frame, y + i, x + k, STYLE_SELECTED, ' ');
        frame_text(frame, y + i, x, width, STYLE_SELECTED, lines[i]);
    }
}
