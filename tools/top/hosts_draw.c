/* tools/top/hosts_draw.c - the page of many machines: see hosts.h. */
#include <math.h>
#include <string.h>
#include "base/string.h"
#include "columns.h"
#include "draw.h"
#include "format.h"
#include "hosts.h"

#define SPAN_S 40.0

enum { NAME, WATTS, JOULES, CPU, GPU, DEVICES, GRAPH, STATE, HOST_COLUMNS };

static int add(struct frame *frame, int y, int x, enum style style, const char *text)
{
    return x + frame_width_of(text) <= frame->width ? frame_text(frame, y, x, -1, style, text) + 2 : x;
}

/* Draws "joule top 2 of 3 hosts (partial) 0:01:12", "TOTAL 1.25 kW m 12.4 kJ 1.20 to 1.31 kW" */
static void draw_total(struct frame *frame, const struct hosts *hosts, int64_t now_ns)
{
    struct hosts_total total;
    char text[96], word[FORMAT_SIZE];
    hosts_sum(hosts, now_ns, &total);
    int x = frame_text(frame, 0, 1, -1, STYLE_TITLE, "joule top") + 2;
    string_print(text, sizeof text, "%zu of %zu hosts%s", total.live, hosts->count,
                 total.is_partial ? " (partial)" : "");
    x = add(frame, 0, x, total.live < hosts->count ? STYLE_WARNING : STYLE_STRONG, text);
    add(frame, 0, x, STYLE_PLAIN, format_time(hosts->running_s, word));
    frame_text(frame, 1, 1, -1, STYLE_STRONG, "TOTAL");
    draw_power(frame, 1, 7, STYLE_STRONG, total.watts.value, total.watts.cls);
    x = 7 + POWER_WIDTH + 2;
    string_print(text, sizeof text, "%s %c", format_energy(total.joules, word),
                 class_letter(total.joules_class));
    x = add(frame, 1, x, STYLE_PLAIN, text);
    if (!isnan(total.watts.low) && !isnan(total.watts.high))
        add(frame, 1, x, STYLE_DIM, format_range(total.watts, format_power, word));
}

/* Writes the state of a host. If the host is stale, also writes the age of its last report and the
 * problem. */
static void describe_state(const struct host_row *row, int64_t now_ns, char *text, size_t size)
{
    switch (host_state_of(row, now_ns)) {
    case HOST_LIVE:
        string_copy(text, size, row->is_partial ? "partial" : "");
        break;
    case HOST_STALE:
        string_print(text, size, "stale, %.0f s ago%s%s", (double)(now_ns - row->seen_ns) * 1e-9,
                     row->problem[0] ? ": " : "", row->problem);
        break;
    case HOST_WAITING:
        string_copy(text, size, row->problem[0] ? row->problem : "connecting");
        break;
    }
}

static void draw_host(struct frame *frame, const struct hosts *hosts, const struct host_row *row, int y,
                      const struct column *c, unsigned n, int64_t now_ns)
{
    char word[FORMAT_SIZE], text[160];
    bool is_live = host_state_of(row, now_ns) == HOST_LIVE;
    enum style plain = is_live ? STYLE_PLAIN : STYLE_DIM;
    draw_cell(frame, y, &c[NAME], is_live ? STYLE_STRONG : STYLE_DIM, row->name);
    if (is_live)
        draw_power(frame, y, c[WATTS].x, plain, row->watts.value, row->watts.cls);
    else
        frame_right(frame, y, c[WATTS].x, POWER_WIDTH - 2, STYLE_DIM, UNKNOWN);
    draw_cell(frame, y, &c[JOULES], plain, format_energy(row->joules, word));
    draw_cell(frame, y, &c[CPU], plain, format_power(is_live ? row->cpu_watts : NAN, word));
    draw_cell(frame, y, &c[GPU], plain, format_power(is_live ? row->gpu_watts : NAN, word));
    string_print(word, sizeof word, "%zu", row->devices);
    draw_cell(frame, y, &c[DEVICES], plain, is_live ? word : UNKNOWN);
    if (c[GRAPH].is_shown && hosts->tick > 0)
        history_draw(&row->history, hosts->tick - 1, n,
                     history_peak(&row->history, hosts->tick - 1, n, c[GRAPH].given), frame, y, c[GRAPH].x,
                     c[GRAPH].given, 1);
    describe_state(row, now_ns, text, sizeof text);
    draw_cell(frame, y, &c[STATE], is_live ? STYLE_DIM : STYLE_WARNING, text);
}

/* Marks columns without values as empty. Sets the widths of the columns of names and states; states get at
 * most a third of the page. */
static void size_columns(struct column *c, const struct hosts *hosts, int64_t now_ns, int page_width)
{
    char text[160];
    int name = 8, state = 0, max_state = page_width / 3 > 10 ? page_width / 3 : 10;
    c[GPU].is_empty = c[DEVICES].is_empty = c[CPU].is_empty = true;
    for (size_t i = 0; i < hosts->count; i++) {
        const struct host_row *row = &hosts->list[i];
        c[CPU].is_empty &= isnan(row->cpu_watts);
        c[GPU].is_empty &= isnan(row->gpu_watts);
        c[DEVICES].is_empty &= row->devices == 0;
        name = frame_width_of(row->name) > name ? frame_width_of(row->name) : name;
        describe_state(row, now_ns, text, sizeof text);
        state = frame_width_of(text) > state ? frame_width_of(text) : state;
    }
    c[NAME].width = name < 30 ? name : 30;
    c[STATE].width = state < max_state ? state : max_state;
    c[STATE].is_empty = state == 0;
}

static void draw_list(struct frame *frame, struct hosts *hosts, int64_t now_ns, int y, int rows)
{
    char title[24];
    struct column c[HOST_COLUMNS] = {
        {"HOST", 8, 100, .is_right = false}, {"POWER  ", POWER_WIDTH, 99, .is_right = true},
        {"ENERGY", 7, 90, .is_right = true}, {"CPUS", 7, 60, .is_right = true},
        {"GPUS", 7, 70, .is_right = true},   {"DEVICES", 7, 20, .is_right = true},
        {title, 10, 40, .grows = true},      {"STATE", 8, 95, .is_right = false}};
    size_columns(c, hosts, now_ns, frame->width);
    columns_fit(c, HOST_COLUMNS, 1, frame->width - 2);
    unsigned n = history_ticks_per_bar(HOSTS_TICK_S, SPAN_S, hosts->tick, c[GRAPH].given);
    draw_span_title(n * HOSTS_TICK_S * c[GRAPH].given, title);
    draw_headings(frame, y, c, HOST_COLUMNS);
    ui_scroll(&hosts->view, hosts->count, rows - 1);
    draw_more(frame, y, hosts->view.top, hosts->count, rows - 1);
    for (int i = 0; i < rows - 1 && hosts->view.top + (size_t)i < hosts->count; i++)
        draw_host(frame, hosts, &hosts->list[hosts->view.top + (size_t)i], y + 1 + i, c, n, now_ns);
}

void hosts_draw(struct frame *frame, struct hosts *hosts, int64_t now_ns)
{
    if (frame->width < MIN_WIDTH || frame->height < MIN_HEIGHT) {
        frame_print(frame, 0, 0, STYLE_PLAIN, "%dx%d is too small; q quits", frame->width, frame->height);
        return;
    }
    draw_total(frame, hosts, now_ns);
    draw_list(frame, hosts, now_ns, 3, frame->height - 4);
    int x = frame_text(frame, frame->height - 1, 1, -1, STYLE_KEY, "q") + 1;
    x = frame_text(frame, frame->height - 1, x, -1, STYLE_DIM, "quit") + 2;
    x = frame_text(frame, frame->height - 1, x, -1, STYLE_KEY, "Up Down") + 1;
    frame_text(frame, frame->height - 1, x, -1, STYLE_DIM, "scroll");
}

bool hosts_draw_once(struct frame *frame, struct hosts *hosts, int64_t now_ns, int width)
{
    int rows = (int)hosts->count + 1;
    if (!frame_clear(frame, width < MIN_WIDTH ? MIN_WIDTH : width, 3 + rows))
        return false;
    draw_total(frame, hosts, now_ns);
    draw_list(frame, hosts, now_ns, 3, rows);
    return true;
}
