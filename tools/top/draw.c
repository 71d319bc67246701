/* tools/top/draw.c - see draw.h. Draws the lines above and below the tables, and divides the rows among the
 * tables. */
#include "draw.h"

#include <math.h>
#include <string.h>
#include <joule/devices.h>
#include "format.h"

#define SPACED_HEIGHT 20 /* from this height on, blank lines separate the parts */

void draw_power(struct frame *frame, int y, int x, enum style style, double watts, joule_class cls)
{
    char word[FORMAT_SIZE];
    bool is_known = !isnan(watts);
    frame_right(frame, y, x, POWER_WIDTH - 2, style, format_power(watts, word));
    frame_put(frame, y, x + POWER_WIDTH - 1, is_known && style != STYLE_SELECTED ? class_style(cls) : style,
              is_known ? (uint32_t)class_letter(cls) : ' ');
}

/* --- lines above the tables ----------------------------------------------------------------------------- */

static int add(struct frame *frame, int y, int x, enum style style, const char *text)
{
    return x + frame_width_of(text) <= frame->width ? frame_text(frame, y, x, -1, style, text) + 2 : x;
}

static void draw_state(struct frame *frame, const struct ui *ui, int from)
{
    const char *state = ui->is_paused ? "PAUSED" : ui->is_recording ? "RECORDING" : "";
    int x = frame->width - frame_width_of(state) - 1;
    if (*state && x >= from)
        frame_text(frame, 0, x, -1, STYLE_WARNING, state);
}

static void draw_machine(struct frame *frame, const struct ui *ui, const struct model *model)
{
    char text[128], word[FORMAT_SIZE];
    int x = frame_text(frame, 0, 1, -1, STYLE_TITLE, "joule top") + 2;
    x = add(frame, 0, x, STYLE_STRONG, model->host);
    x = add(frame, 0, x, STYLE_PLAIN, format_time(model->running_s, word));
    string_print(text, sizeof text, "every %g s", model->period_s);
    x = add(frame, 0, x, STYLE_DIM, text);
    if (!isnan(model->cpu_busy)) {
        string_print(text, sizeof text, "%u CPUs %s", model->cpus, format_share(model->cpu_busy, word));
        x = add(frame, 0, x, STYLE_PLAIN, text);
    }
    if (model->memory_total_bytes != JOULE_BYTES_UNKNOWN) {
        string_print(text, sizeof text, "memory %s",
                     format_memory(model->memory_used_bytes, model->memory_total_bytes, word));
        x = add(frame, 0, x, STYLE_PLAIN, text);
    }
    draw_state(frame, ui, x);
}

/* Draws "TOTAL 87.3 W m 12.4 kJ 83.1 to 91.6 W package-0 + dram-0 (partial)" */
static void draw_total(struct frame *frame, const struct model *model)
{
    char text[400], word[FORMAT_SIZE];
    frame_text(frame, 1, 1, -1, STYLE_STRONG, "TOTAL");
    draw_power(frame, 1, 7, STYLE_STRONG, model->watts.value, model->watts.cls);
    int x = 7 + POWER_WIDTH + 2;
    x = add(frame, 1, x, STYLE_PLAIN, format_energy(model->joules.value, word));
    if (*format_range(model->watts, format_power, word))
        x = add(frame, 1, x, STYLE_DIM, word);
    string_print(text, sizeof text, "%s%s", model->cover[0] ? model->cover : "no sensor answers",
                 model->is_partial && !strstr(model->cover, "partial") ? " (partial)" : "");
    int width_left = frame->width - x;
    if (frame_width_of(text) > width_left && width_left > 8) {
        frame_text(frame, 1, x, width_left - 2, STYLE_DIM, text);
        frame_text(frame, 1, frame->width - 2, 2, STYLE_DIM, "..");
    } else if (width_left > 8) {
        frame_text(frame, 1, x, -1, STYLE_DIM, text);
    }
}

int draw_header(struct frame *frame, const struct ui *ui, const struct model *model)
{
    draw_machine(frame, ui, model);
    draw_total(frame, model);
    return 2;
}

/* --- lines below the tables ----------------------------------------------------------------------------- */

struct hint {
    const char *key, *does;
};

static void draw_hints(struct frame *frame, int y, const struct hint *hints)
{
    int x = 1;
    for (; hints->key; hints++) {
        int width = frame_width_of(hints->key) + 1 + frame_width_of(hints->does);
        if (x + width > frame->width)
            break;
        x = frame_text(frame, y, x, -1, STYLE_KEY, hints->key) + 1;
        x = frame_text(frame, y, x, -1, STYLE_DIM, hints->does) + 2;
    }
}

static void draw_footer(struct frame *frame, const struct ui *ui, const struct model *model, int y)
{
    static const struct hint list[] = {
        {"q", "quit"},   {"?", "help"},       {"/", "filter"}, {"s", "sort"},    {"p", "pause"},
        {"Tab", "list"}, {"Enter", "device"}, {"R", "record"}, {"r", "reverse"}, {NULL, NULL}};
    static const struct hint detail[] = {{"Esc", "back"}, {"q", "quit"},  {"?", "help"},   {"/", "filter"},
                                         {"s", "sort"},   {"p", "pause"}, {"R", "record"}, {NULL, NULL}};
    static const struct hint editing[] = {{"Enter", "keep"}, {"Esc", "undo"}, {NULL, NULL}};
    if (ui->message[0])
        frame_text(frame, y, 1, -1, STYLE_WARNING, ui->message);
    else
        draw_hints(frame, y, ui->is_editing ? editing : model->detail[0] ? detail : list);
}

void draw_sums(struct frame *frame, const struct model *model, int y)
{
    static const char *const names[] = {"processes", "ended", "idle", "unattributed"};
    const double parts[] = {model->sums.processes, model->sums.ended, model->sums.idle, model->sums.rest};
    char word[FORMAT_SIZE], text[64];
    if (!(model->sums.total > 0))
        return;
    string_print(text, sizeof text, "of %s:", format_energy(model->sums.total, word));
    int x = frame_text(frame, y, 1, -1, STYLE_DIM, text) + 1;
    for (int i = 0; i < 4; i++) {
        string_print(text, sizeof text, "%s %s", names[i], format_energy(fmax(parts[i], 0), word));
        x = add(frame, y, x, STYLE_DIM, text);
    }
}

/* --- whole page ----------------------------------------------------------------------------------------- */

static void draw_list(struct frame *frame, struct ui *ui, const struct model *model, int y, int end)
{
    int blank = frame->height >= SPACED_HEIGHT;
    int rows = end - y - blank;
    int wanted = (int)model->device_count + 1, max_rows = rows / 2 > 3 ? rows / 2 : 3;
    int devices = draw_devices(frame, ui, model, y, wanted < max_rows ? wanted : max_rows);
    y += devices + blank;
    if (ui->focus == FOCUS_DEVICES)
        ui->page_rows = devices - 1;
    draw_processes(frame, ui, model, y, end - y);
}

void draw(struct frame *frame, struct ui *ui, const struct model *model)
{
    if (frame->width < MIN_WIDTH || frame->height < MIN_HEIGHT) {
        frame_print(frame, 0, 0, STYLE_PLAIN, "%dx%d is too small;", frame->width, frame->height);
        frame_print(frame, 1, 0, STYLE_PLAIN, "make it %dx%d.", MIN_WIDTH, MIN_HEIGHT);
        frame_print(frame, 2, 0, STYLE_PLAIN, "q quits");
        return;
    }
    int blank = frame->height >= SPACED_HEIGHT;
    int y = draw_header(frame, ui, model) + blank, end = frame->height - 1;
    bool has_sums = frame->height >= 12;
    if (has_sums)
        draw_sums(frame, model, end - 1);
    if (model->detail[0])
        draw_detail(frame, ui, model, y, end - has_sums - y);
    else
        draw_list(frame, ui, model, y, end - has_sums);
    draw_footer(frame, ui, model, frame->height - 1);
    if (ui->has_help)
        draw_help(frame);
}

bool draw_once(struct frame *frame, struct ui *ui, const struct model *model, int width)
{
    int devices = (int)model->device_count + 1;
    int processes = ui->shown_count ? (int)ui->shown_count + 1 : 2;
    if (!frame_clear(frame, width < MIN_WIDTH ? MIN_WIDTH : width, 2 + 1 + devices + 1 + processes + 2))
        return false;
    int y = draw_header(frame, ui, model) + 1;
    y += draw_devices(frame, ui, model, y, devices) + 1;
    y += draw_processes(frame, ui, model, y, processes) + 1;
    draw_sums(frame, model, y);
    return true;
}
