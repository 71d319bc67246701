/* tools/top/draw_tables.c - draws the tables of devices and processes; see draw.h.
 *
 * Note: columns without any value are removed, and on a narrow page also the least important ones.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "columns.h"
#include "draw.h"
#include "format.h"

#define SPAN_S 120 /* seconds that a small graph shows */

void draw_headings(struct frame *frame, int y, const struct column *columns, int count)
{
    frame_mark(frame, y, STYLE_HEADING);
    for (int i = 0; i < count; i++) {
        const struct column *c = &columns[i];
        if (c->is_shown && c->is_right)
            frame_right(frame, y, c->x, c->given, STYLE_HEADING, c->title);
        else if (c->is_shown)
            frame_text(frame, y, c->x, c->given, STYLE_HEADING, c->title);
    }
}

void draw_cell(struct frame *frame, int y, const struct column *c, enum style style, const char *word)
{
    if (c->is_shown && c->is_right)
        frame_right(frame, y, c->x, c->given, style, word);
    else if (c->is_shown)
        frame_text(frame, y, c->x, c->given, style, word);
}

void draw_more(struct frame *frame, int y, size_t top, size_t count, int rows)
{
    char text[48];
    size_t last = top + (size_t)(rows > 0 ? rows : 0);
    if (top == 0 && last >= count)
        return;
    string_print(text, sizeof text, " %zu-%zu of %zu ", top + 1, last < count ? last : count, count);
    frame_right(frame, y, frame->width - frame_width_of(text), frame_width_of(text), STYLE_HEADING, text);
}

/* --- devices -------------------------------------------------------------------------------------------- */

enum { DEVICE, WATTS, LIMIT, JOULES, BUSY, MEMORY, CELSIUS, GRAPH, MODEL, DEVICE_COLUMNS };

void draw_span_title(double span_s, char out_title[24])
{
    if (span_s < 90)
        string_print(out_title, 24, "LAST %.0f S", span_s);
    else
        string_print(out_title, 24, "LAST %.0f MIN", span_s / 60);
}

static void mark_empty(struct column *columns, const struct model *model)
{
    columns[LIMIT].is_empty = columns[BUSY].is_empty = columns[MEMORY].is_empty = true;
    columns[CELSIUS].is_empty = true;
    for (size_t i = 0; i < model->device_count; i++) {
        const struct device_row *row = &model->devices[i];
        columns[LIMIT].is_empty &= isnan(row->limit_watts);
        columns[BUSY].is_empty &= isnan(row->busy);
        columns[CELSIUS].is_empty &= isnan(row->celsius);
        columns[MEMORY].is_empty &=
            row->memory_used_bytes == JOULE_BYTES_UNKNOWN && row->memory_total_bytes == JOULE_BYTES_UNKNOWN;
    }
}

static const char *state_of(const struct device_row *row)
{
    if (row->state == JOULE_UNSUPPORTED || row->domain < 0)
        return "no value";
    return row->state == JOULE_OK || row->state == JOULE_PENDING ? "starting" : joule_status_name(row->state);
}

static void draw_device(struct frame *frame, const struct model *model, const struct device_row *row, int y,
                        const struct column *c, bool is_selected, unsigned n)
{
    char word[FORMAT_SIZE];
    enum style plain = is_selected ? STYLE_SELECTED : STYLE_PLAIN;
    if (is_selected)
        frame_mark(frame, y, STYLE_SELECTED);
    draw_cell(frame, y, &c[DEVICE], is_selected ? plain : STYLE_STRONG, row->name);
    if (isnan(row->watts.value))
        draw_cell(frame, y, &c[WATTS], is_selected ? plain : STYLE_DIM, state_of(row));
    else
        draw_power(frame, y, c[WATTS].x, plain, row->watts.value, row->watts.cls);
    draw_cell(frame, y, &c[LIMIT], plain, format_power(row->limit_watts, word));
    draw_cell(frame, y, &c[JOULES], plain, format_energy(row->joules.value, word));
    draw_cell(frame, y, &c[BUSY], plain, format_share(row->busy, word));
    draw_cell(frame, y, &c[MEMORY], plain,
              format_memory(row->memory_used_bytes, row->memory_total_bytes, word));
    draw_cell(frame, y, &c[CELSIUS], plain, format_celsius(row->celsius, word));
    draw_cell(frame, y, &c[MODEL], is_selected ? plain : STYLE_DIM, row->model);
    if (c[GRAPH].is_shown)
        history_draw(&row->history, model->tick, n,
                     history_peak(&row->history, model->tick, n, c[GRAPH].given), frame, y, c[GRAPH].x,
                     c[GRAPH].given, 1);
}

int draw_devices(struct frame *frame, struct ui *ui, const struct model *model, int y, int rows)
{
    char title[24];
    struct column c[DEVICE_COLUMNS] = {
        {"DEVICE", 8, 100, .is_right = false}, {"POWER  ", POWER_WIDTH, 99, .is_right = true},
        {"LIMIT", 7, 5, .is_right = true},     {"ENERGY", 7, 90, .is_right = true},
        {"BUSY", 5, 80, .is_right = true},     {"MEMORY", 12, 60, .is_right = true},
        {"TEMP", 5, 50, .is_right = true},     {title, 10, 70, .grows = true},
        {"MODEL", 24, 1, .is_right = false}};
    mark_empty(c, model);
    columns_fit(c, DEVICE_COLUMNS, 1, frame->width - 2);
    unsigned n = history_ticks_per_bar(model->period_s, SPAN_S, model->tick + 1, c[GRAPH].given);
    draw_span_title(n * model->period_s * c[GRAPH].given, title);
    draw_headings(frame, y, c, DEVICE_COLUMNS);
    ui_scroll(&ui->devices, model->device_count, rows - 1);
    draw_more(frame, y, ui->devices.top, model->device_count, rows - 1);
    for (int i = 0; i < rows - 1; i++) {
        size_t at = ui->devices.top + (size_t)i;
        if (at < model->device_count)
            draw_device(frame, model, &model->devices[at], y + 1 + i, c,
                        ui->focus == FOCUS_DEVICES && at == ui->devices.selected, n);
    }
    return rows;
}

/* --- processes ------------------------------------------------------------------------------------------ */

enum { PID, USER, CPU, GPU, GPU_MEMORY, P_WATTS, P_JOULES, COMMAND, PROCESS_COLUMNS };

static void mark_sorted(struct column *columns, const struct ui *ui, const struct frame *frame,
                        char title[24])
{
    static const int sorted[SORT_KEYS] = {P_WATTS, P_JOULES, CPU, GPU, GPU_MEMORY, PID, COMMAND};
    struct column *c = &columns[sorted[ui->sort]];
    bool is_down = (ui->sort < SORT_PID) != ui->is_reversed; /* the highest value comes first */
    const char *mark = frame->is_ascii ? (is_down ? "v" : "^") : is_down ? "\u25be" : "\u25b4";
    bool has_letters = ui->sort == SORT_POWER; /* class letters follow the values */
    string_print(title, 24, has_letters ? "%.5s%s " : "%s%s", c->title, mark);
    c->title = title;
}

static void draw_process(struct frame *frame, const struct process_row *row, int y, const struct column *c,
                         bool is_selected)
{
    char word[FORMAT_SIZE];
    enum style plain = is_selected                            ? STYLE_SELECTED
                       : row->watts > 0 || row->cpu_share > 0 ? STYLE_PLAIN
                                                              : STYLE_DIM;
    if (is_selected)
        frame_mark(frame, y, STYLE_SELECTED);
    string_print(word, sizeof word, "%d", row->pid);
    draw_cell(frame, y, &c[PID], plain, word);
    draw_cell(frame, y, &c[USER], plain, row->user);
    draw_cell(frame, y, &c[CPU], plain, format_share(row->cpu_share, word));
    draw_cell(frame, y, &c[GPU], plain, format_share(row->gpu_share, word));
    draw_cell(frame, y, &c[GPU_MEMORY], plain, format_bytes(row->gpu_memory_bytes, word));
    if (c[P_WATTS].is_shown)
        draw_power(frame, y, c[P_WATTS].x, plain, row->watts, row->cls);
    draw_cell(frame, y, &c[P_JOULES], plain, format_energy(row->joules.value, word));
    draw_cell(frame, y, &c[COMMAND], plain, row->command);
}

static const char *reason_for_no_rows(const struct ui *ui, const struct model *model)
{
    if (model->proc_state != JOULE_OK)
        return "cannot list processes: /proc cannot be read";
    if (ui->filter[0])
        return "no process matches the filter";
    return model->detail[0]       ? "no process uses this device"
           : model->process_count ? "no process was active"
                                  : "no processes";
}

static void draw_filter(struct frame *frame, const struct ui *ui, int y)
{
    char text[80];
    if (!ui->filter[0] && !ui->is_editing)
        return;
    string_print(text, sizeof text, " filter: %s%s ", ui->filter, ui->is_editing ? "_" : "");
    int width = frame_width_of(text), x = frame->width - width - 20;
    frame_text(frame, y, x > 8 ? x : 8, -1, STYLE_WARNING, text);
}

int draw_processes(struct frame *frame, struct ui *ui, const struct model *model, int y, int rows)
{
    char title[24];
    bool has_gpu = false, has_memory = false;
    for (size_t i = 0; i < model->process_count; i++) {
        has_gpu = has_gpu || !isnan(model->processes[i].gpu_share);
        has_memory = has_memory || model->processes[i].gpu_memory_bytes != JOULE_BYTES_UNKNOWN;
    }
    struct column c[PROCESS_COLUMNS] = {{"PID", 7, 90, .is_right = true},
                                        {"USER", 8, 10, .is_right = false},
                                        {"CPU", 6, 80, .is_right = true},
                                        {"GPU", 6, 70, .is_right = true, .is_empty = !has_gpu},
                                        {"GPU MEM", 8, 20, .is_right = true, .is_empty = !has_memory},
                                        {"POWER  ", POWER_WIDTH, 99, .is_right = true},
                                        {"ENERGY", 7, 85, .is_right = true},
                                        {"COMMAND", 8, 100, .grows = true}};
    mark_sorted(c, ui, frame, title);
    columns_fit(c, PROCESS_COLUMNS, 1, frame->width - 2);
    draw_headings(frame, y, c, PROCESS_COLUMNS);
    if (ui->focus == FOCUS_PROCESSES)
        ui->page_rows = rows - 1;
    ui_scroll(&ui->processes, ui->shown_count, rows - 1);
    draw_more(frame, y, ui->processes.top, ui->shown_count, rows - 1);
    draw_filter(frame, ui, y);
    if (ui->shown_count == 0 && rows > 1)
        frame_text(frame, y + 1, 1, -1, STYLE_DIM, reason_for_no_rows(ui, model));
    for (int i = 0; i < rows - 1; i++) {
        size_t at = ui->processes.top + (size_t)i;
        if (at < ui->shown_count)
            draw_process(frame, &model->processes[ui->shown[at]], y + 1 + i, c,
                         ui->focus == FOCUS_PROCESSES && at == ui->processes.selected);
    }
    return rows;
}
