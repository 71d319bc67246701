/* joule/picture/skyline_draw.c - draws skylines with axes, legend, regions and idle power. */
#include <math.h>
#include <stdlib.h>
#include "joule/picture/axis.h"
#include "joule/picture/plot_parts.h"
#include "joule/picture/plots.h"
#include "joule/picture/skyline.h"

#define LEFT         66 /* pixels left of the frame: labels of the axis */
#define RIGHT        22
#define BELOW        40 /* labels and title of the time axis */
#define ROW_HEIGHT   18
#define MIN_LABEL    26 /* marks narrower than this, in pixels, have no label */
#define AREA_OPACITY 0.72
#define MARK_OPACITY 0.4

struct panel {
    const struct skyline *skyline;
    const struct skyline_view *view;
    struct plot_frame frame;
    struct axis time, power;
};

static double seconds_of(const struct skyline *skyline, int64_t time_ns)
{
    return (double)(time_ns - skyline->zero_ns) * 1e-9;
}

static double column_x(const struct panel *panel, size_t column)
{
    const struct skyline *skyline = panel->skyline;
    return axis_pixel(&panel->time,
                      seconds_of(skyline, skyline->begin_ns) + (double)column * skyline->column_s);
}

/* Returns the highest power that the panel must show. */
static double peak_watts(const struct skyline *skyline)
{
    double peak = NAN;
    for (size_t i = 0; i < skyline->column_count; i++)
        peak = fmax(peak, fmax(skyline->columns[i].max_watts, skyline_watts(skyline, -1, i)));
    return peak;
}

/* Returns true if the power changes visibly within columns. */
static bool has_range(const struct skyline *skyline)
{
    double limit = 0.01 * peak_watts(skyline);
    for (size_t i = 0; i < skyline->column_count; i++) {
        if (skyline->columns[i].max_watts - skyline->columns[i].min_watts > limit)
            return true;
    }
    return false;
}

static bool has_unknown(const struct skyline *skyline)
{
    for (size_t i = 0; i < skyline->column_count; i++) {
        if (!skyline_has_all(skyline, i))
            return true;
    }
    return false;
}

/* --- texts ---------------------------------------------------------------------------------------------- */

/* Returns the mean power over the columns in which all devices were measured; NaN if there are none. */
static double mean_watts(const struct skyline *skyline)
{
    double joules = 0, measured_s = 0;
    for (size_t i = 0; i < skyline->column_count; i++) {
        if (!skyline_has_all(skyline, i))
            continue;
        joules += skyline_watts(skyline, -1, i) * skyline->columns[i].measured_s;
        measured_s += skyline->columns[i].measured_s;
    }
    return measured_s > 0 ? joules / measured_s : NAN;
}

/* Adds the energy with its class and interval. */
static void add_energy(const struct skyline *skyline, struct text *out)
{
    char value[32], low[32], high[32];
    const joule_quantity *q = &skyline->total_joules;
    axis_format(q->value, "J", 3, value, sizeof value);
    text_printf(out, "Energy %s", value);
    if (isnan(q->value))
        return;
    axis_format(q->low, "J", 3, low, sizeof low);
    axis_format(q->high, "J", 3, high, sizeof high);
    text_printf(out, " (%s; 90 %% interval %s to %s)", joule_class_name(q->cls), low, high);
}

void skyline_describe(const struct skyline *skyline, const struct skyline_view *view, char *out_text,
                      size_t size)
{
    struct text out;
    char word[32];
    double length_s = (double)(skyline->end_ns - skyline->begin_ns) * 1e-9;
    text_init(&out, out_text, size);
    add_energy(skyline, &out);
    axis_format(length_s, "s", 3, word, sizeof word);
    text_printf(&out, " in %s.", word);
    double mean = mean_watts(skyline);
    if (!isnan(mean)) {
        axis_format(mean, "W", 3, word, sizeof word);
        text_printf(&out, " Mean power %s,", word);
        axis_format(peak_watts(skyline), "W", 3, word, sizeof word);
        text_printf(&out, " largest %s.", word);
    }
    text_printf(&out, " Power of %s.", skyline->cover);
    if (skyline->coverage < 0.995)
        text_printf(&out, " Sensors covered %.0f %% of the time.", skyline->coverage * 100);
    if (view->phase_count)
        text_printf(&out, " %zu phases are a guess: times in which the mean power does not change.",
                    view->phase_count);
}

/* --- parts of a panel ----------------------------------------------------------------------------------- */

/* Draws the columns [first, end) of a layer as a polygon. bottoms and tops: watts. */
static void draw_run(struct drawing *drawing, const struct panel *panel, size_t first, size_t end,
                     const double *bottoms, const double *tops, struct paint paint)
{
    struct point *points = malloc(4 * (end - first) * sizeof *points);
    size_t count = 0;
    for (size_t i = first; points && i < end; i++) {
        double y = axis_pixel(&panel->power, tops[i]);
        points[count++] = (struct point){column_x(panel, i), y};
        points[count++] = (struct point){column_x(panel, i + 1), y};
    }
    for (size_t i = end; points && i-- > first;) {
        double y = axis_pixel(&panel->power, bottoms[i]);
        points[count++] = (struct point){column_x(panel, i + 1), y};
        points[count++] = (struct point){column_x(panel, i), y};
    }
    if (points)
        drawing_add_area(drawing, points, count, paint);
    else
        drawing->is_out_of_memory = true;
    free(points);
}

/* Draws all columns in which tops is above bottoms; NaN is a gap. */
static void draw_band(struct drawing *drawing, const struct panel *panel, const double *bottoms,
                      const double *tops, struct paint paint)
{
    size_t count = panel->skyline->column_count;
    for (size_t i = 0; i < count;) {
        size_t end = i;
        while (end < count && tops[end] > bottoms[end])
            end++;
        if (end > i)
            draw_run(drawing, panel, i, end, bottoms, tops, paint);
        i = end + 1;
    }
}

static void draw_layers(struct drawing *drawing, const struct panel *panel, double *bottoms, double *tops)
{
    const struct skyline *skyline = panel->skyline;
    for (size_t i = 0; i < skyline->column_count; i++)
        bottoms[i] = 0;
    for (size_t layer = 0; layer < skyline->layer_count; layer++) {
        const struct skyline_layer *l = &skyline->layers[layer];
        char joules[32], title[128];
        for (size_t i = 0; i < skyline->column_count; i++)
            tops[i] = bottoms[i] + skyline_watts(skyline, (int)layer, i);
        axis_format(l->total_joules, "J", 3, joules, sizeof joules);
        string_print(title, sizeof title, "%s: %s", l->name, joules);
        drawing_begin_group(drawing, title);
        draw_band(drawing, panel, bottoms, tops,
                  (struct paint){.fill = l->colour, .fill_opacity = AREA_OPACITY});
        drawing_end_group(drawing);
        for (size_t i = 0; i < skyline->column_count; i++)
            bottoms[i] = tops[i];
    }
}

/* Draws the range between the smallest and the largest power of each column, and the line of the mean. */
static void draw_outline(struct drawing *drawing, const struct panel *panel, double *bottoms, double *tops)
{
    const struct skyline *skyline = panel->skyline;
    for (size_t i = 0; i < skyline->column_count; i++) {
        bottoms[i] = skyline->columns[i].min_watts;
        tops[i] = skyline->columns[i].max_watts;
    }
    draw_band(drawing, panel, bottoms, tops, (struct paint){.fill = COLOUR_INK, .fill_opacity = 0.22});
    struct point *points = malloc((2 * skyline->column_count + 1) * sizeof *points);
    size_t count = 0;
    for (size_t i = 0; points && i <= skyline->column_count; i++) {
        double watts = i < skyline->column_count ? skyline_watts(skyline, -1, i) : NAN;
        if (isnan(watts)) {
            drawing_add_line(
                drawing, points, count,
                (struct paint){.stroke = COLOUR_INK, .stroke_width = 0.9, .stroke_opacity = 0.7});
            count = 0;
            continue;
        }
        double y = axis_pixel(&panel->power, watts);
        points[count++] = (struct point){column_x(panel, i), y};
        points[count++] = (struct point){column_x(panel, i + 1), y};
    }
    drawing->is_out_of_memory = drawing->is_out_of_memory || !points;
    free(points);
}

/* Shades the columns in which the power of at least one device is unknown. */
static void draw_unknown(struct drawing *drawing, const struct panel *panel)
{
    const struct skyline *skyline = panel->skyline;
    for (size_t i = 0; i < skyline->column_count;) {
        size_t end = i;
        while (end < skyline->column_count && !skyline_has_all(skyline, end))
            end++;
        double x = column_x(panel, i);
        if (end > i)
            drawing_add_rectangle(drawing, x, panel->frame.top, column_x(panel, end) - x,
                                  panel->frame.bottom - panel->frame.top,
                                  (struct paint){.fill = COLOUR_UNKNOWN, .fill_opacity = 0.35});
        i = end + 1;
    }
}

static void draw_idle(struct drawing *drawing, const struct panel *panel)
{
    const joule_quantity *idle = &panel->view->idle_watts;
    if (!(idle->value > 0))
        return;
    char watts[32], label[64];
    double y = axis_pixel(&panel->power, idle->value);
    axis_format(idle->value, "W", 3, watts, sizeof watts);
    string_print(label, sizeof label, "idle %s", watts);
    drawing_add_segment(drawing, panel->frame.left, y, panel->frame.right, y,
                        (struct paint){.stroke = COLOUR_INK, .stroke_width = 1.2, .is_dashed = true});
    double width = drawing_text_width(label, 11, false) + 8;
    drawing_add_rectangle(drawing, panel->frame.right - width - 4, y - 17, width, 15,
                          (struct paint){.fill = COLOUR_GROUND, .fill_opacity = 0.8});
    drawing_add_text(drawing, panel->frame.right - 8, y - 5, label,
                     (struct text_style){.size = 11, .anchor = ANCHOR_END});
}

static void draw_phases(struct drawing *drawing, const struct panel *panel)
{
    const struct skyline_view *view = panel->view;
    double used = 0;
    for (size_t i = 0; i < view->phase_count; i++) {
        double left = axis_pixel(&panel->time, seconds_of(panel->skyline, view->phases[i].begin_ns));
        double right = axis_pixel(&panel->time, seconds_of(panel->skyline, view->phases[i].end_ns));
        char watts[32], label[64];
        axis_format(view->phases[i].mean_watts, "W", 3, watts, sizeof watts);
        string_print(label, sizeof label, "%zu: %s (guess)", i + 1, watts);
        if (drawing_text_width(label, 10, false) > right - left - 4)
            string_print(label, sizeof label, "%zu: %s", i + 1,
                         watts); /* the caption says that it is a guess */
        if (i > 0)
            drawing_add_segment(drawing, left, panel->frame.top, left, panel->frame.bottom,
                                (struct paint){.stroke = COLOUR_BAD, .stroke_width = 1.2, .is_dashed = true});
        if (left >= used)
            drawing_add_fitted_text(drawing, left + 3, panel->frame.top - 3, right - left - 4, label,
                                    (struct text_style){.size = 10, .colour = COLOUR_BAD});
        used = right;
    }
}

/* Draws the rows of regions between the frame of the power and the time axis. */
static void draw_marks(struct drawing *drawing, const struct panel *panel)
{
    const struct skyline *skyline = panel->skyline;
    bool has_threads = false;
    for (size_t row = 1; row < skyline->row_count; row++)
        has_threads = has_threads || skyline->row_threads[row] != skyline->row_threads[0];
    for (size_t row = 0; has_threads && row < skyline->row_count; row++) {
        char label[24];
        string_print(label, sizeof label, "thread %u", (unsigned)skyline->row_threads[row]);
        if (row == 0 || skyline->row_threads[row] != skyline->row_threads[row - 1])
            drawing_add_text(drawing, panel->frame.left - 7,
                             panel->frame.bottom + 16 + (double)row * ROW_HEIGHT, label,
                             (struct text_style){.size = 10, .colour = COLOUR_SOFT, .anchor = ANCHOR_END});
    }
    for (size_t i = 0; i < skyline->mark_count; i++) {
        const struct skyline_mark *mark = &skyline->marks[i];
        const char *name = panel->view->names ? panel->view->names[mark->name] : "";
        double left = axis_pixel(&panel->time, seconds_of(skyline, mark->begin_ns));
        double width = fmax(0.6, axis_pixel(&panel->time, seconds_of(skyline, mark->end_ns)) - left);
        double top = panel->frame.bottom + 4 + (double)mark->row * ROW_HEIGHT;
        drawing_begin_group(drawing, name);
        drawing_add_rectangle(drawing, left, top, width, ROW_HEIGHT - 3,
                              (struct paint){.fill = mark->colour,
                                             .fill_opacity = MARK_OPACITY,
                                             .stroke = width > 3 ? mark->colour : COLOUR_NONE,
                                             .stroke_width = 0.8});
        if (width >= MIN_LABEL)
            drawing_add_fitted_text(drawing, left + 4, top + 11.5, width - 8, name,
                                    (struct text_style){.size = 11});
        drawing_end_group(drawing);
    }
}

/* --- a panel -------------------------------------------------------------------------------------------- */

static void draw_panel(struct drawing *drawing, const struct panel *panel)
{
    size_t count = panel->skyline->column_count;
    if (count == 0)
        return;
    double *bottoms = calloc(count, sizeof *bottoms), *tops = calloc(count, sizeof *tops);
    struct plot_frame with_rows = panel->frame;
    with_rows.bottom += (double)panel->skyline->row_count * ROW_HEIGHT + (panel->skyline->row_count ? 4 : 0);
    axis_draw_y(drawing, &panel->frame, &panel->power);
    axis_draw_x(drawing, &with_rows, &panel->time);
    draw_unknown(drawing, panel);
    if (bottoms && tops) {
        draw_layers(drawing, panel, bottoms, tops);
        draw_outline(drawing, panel, bottoms, tops);
    } else {
        drawing->is_out_of_memory = true;
    }
    drawing_add_segment(drawing, panel->frame.left, panel->frame.bottom, panel->frame.right,
                        panel->frame.bottom, (struct paint){.stroke = COLOUR_SOFT});
    draw_idle(drawing, panel);
    draw_phases(drawing, panel);
    draw_marks(drawing, panel);
    free(bottoms);
    free(tops);
}

#define MAX_ENTRIES (SKYLINE_MAX_LAYERS + 2)

/* Draws title, caption and legend of a panel. Returns the y below them. */
static double draw_head(struct drawing *drawing, double top, const struct panel *panel)
{
    const struct skyline *skyline = panel->skyline;
    char caption[600], texts[SKYLINE_MAX_LAYERS][128];
    struct legend_entry entries[MAX_ENTRIES];
    size_t count = 0;
    skyline_describe(skyline, panel->view, caption, sizeof caption);
    for (size_t i = 0; i < skyline->layer_count; i++) {
        char joules[32];
        axis_format(skyline->layers[i].total_joules, "J", 3, joules, sizeof joules);
        string_print(texts[i], sizeof texts[i], "%s  %s", skyline->layers[i].name, joules);
        entries[count++] =
            (struct legend_entry){texts[i], skyline->layers[i].colour, .opacity = AREA_OPACITY};
    }
    if (has_range(skyline))
        entries[count++] = (struct legend_entry){"smallest to largest power", COLOUR_INK, .opacity = 0.22};
    if (has_unknown(skyline))
        entries[count++] = (struct legend_entry){"no data", COLOUR_UNKNOWN, .opacity = 0.35};
    double y = plot_draw_title(drawing, top, panel->view->title, caption);
    return plot_draw_legend(drawing, y + 2, entries, count) + (panel->view->phase_count ? 8 : 0);
}

static struct axis time_axis(double low, double high, double width)
{
    return (struct axis){AXIS_DURATION, low, high, LEFT, width - RIGHT, "time", "s"};
}

/* Draws panels one above the other, all with the same axes. */
static joule_status draw(const struct skyline *const *skylines, const struct skyline_view *const *views,
                         size_t count, struct drawing *out_drawing)
{
    double width = views[0]->width > 0 ? views[0]->width : PLOT_WIDTH;
    double height = views[0]->height > 0 ? views[0]->height : PLOT_HEIGHT * (count > 1 ? 1.7 : 1);
    double low = INFINITY, high = -INFINITY, power_low = 0, power_high = NAN;
    for (size_t i = 0; i < count; i++) {
        low = fmin(low, seconds_of(skylines[i], skylines[i]->begin_ns));
        high = fmax(high, seconds_of(skylines[i], skylines[i]->end_ns));
        power_high = fmax(power_high, fmax(peak_watts(skylines[i]), views[i]->idle_watts.value));
    }
    axis_extend(AXIS_LINEAR, &power_low, &power_high);
    char description[600];
    skyline_describe(skylines[0], views[0], description, sizeof description);
    drawing_init(out_drawing, width, height, views[0]->title ? views[0]->title : "power over time",
                 description);
    for (size_t i = 0; i < count; i++) {
        double top = height * (double)i / (double)count, bottom = height * (double)(i + 1) / (double)count;
        struct panel panel = {.skyline = skylines[i], .view = views[i], .time = time_axis(low, high, width)};
        double rows = (double)skylines[i]->row_count * ROW_HEIGHT + (skylines[i]->row_count ? 4 : 0);
        double head = draw_head(out_drawing, top + 10, &panel);
        panel.frame = (struct plot_frame){LEFT, head + 10, width - RIGHT, bottom - BELOW - rows};
        if (panel.frame.bottom < panel.frame.top + 40)
            panel.frame.bottom = panel.frame.top + 40;
        panel.power = (struct axis){AXIS_LINEAR,     power_low, power_high, panel.frame.bottom,
                                    panel.frame.top, "power",   "W"};
        draw_panel(out_drawing, &panel);
    }
    return out_drawing->is_out_of_memory ? JOULE_NO_MEMORY : JOULE_OK;
}

joule_status skyline_draw(const struct skyline *skyline, const struct skyline_view *view,
                          struct drawing *out_drawing)
{
    return draw(&skyline, &view, 1, out_drawing);
}

joule_status skyline_draw_pair(const struct skyline *upper, const struct skyline_view *upper_view,
                               const struct skyline *lower, const struct skyline_view *lower_view,
                               struct drawing *out_drawing)
{
    const struct skyline *skylines[] = {upper, lower};
    const struct skyline_view *views[] = {upper_view, lower_view};
    return draw(skylines, views, 2, out_drawing);
}
