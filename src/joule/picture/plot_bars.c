/* joule/picture/plot_bars.c - bars with intervals: one panel for each metric. */
#include <math.h>
#include "joule/picture/axis.h"
#include "joule/picture/plot_parts.h"
#include "joule/picture/plots.h"

#define MAX_PANELS  6
#define MAX_LEGEND  64
#define LEFT        66
#define RIGHT       10
#define LABEL_ROOM  36 /* pixels above the highest bar for its value and note */
#define BELOW       28
#define MIN_LABELED 30 /* narrower bars have no value above them */
#define WIDEST_BAR  110

struct bars {
    const struct plot_bars *plot;
    const struct plot_panel *panel;
    struct plot_frame frame;
    struct axis axis;
    double group_width, bar_width;
};

static enum colour colour_of(size_t series)
{
    return series < DRAWING_SERIES ? (enum colour)(COLOUR_SERIES + series) : COLOUR_OTHER;
}

/* Returns the left edge of a bar. */
static double bar_left(const struct bars *bars, size_t group, size_t series)
{
    double used = bars->bar_width * (double)bars->plot->series_count;
    return bars->frame.left + bars->group_width * (double)group + (bars->group_width - used) / 2 +
           bars->bar_width * (double)series;
}

static void draw_interval(struct drawing *drawing, const struct bars *bars, double middle,
                          const struct plot_value *value)
{
    if (isnan(value->low) || isnan(value->high))
        return;
    struct paint paint = {.stroke = COLOUR_INK, .stroke_width = 1.4};
    double low = axis_pixel(&bars->axis, value->low), high = axis_pixel(&bars->axis, value->high);
    double half = fmin(7, bars->bar_width / 4);
    drawing_add_segment(drawing, middle, low, middle, high, paint);
    drawing_add_segment(drawing, middle - half, low, middle + half, low, paint);
    drawing_add_segment(drawing, middle - half, high, middle + half, high, paint);
}

static void draw_bar(struct drawing *drawing, const struct bars *bars, size_t group, size_t series)
{
    size_t place = group * bars->plot->series_count + series;
    const struct plot_value *value = &bars->panel->values[place];
    double left = bar_left(bars, group, series), middle = left + bars->bar_width / 2;
    char text[32], title[160];
    axis_format(value->value, bars->panel->y_unit ? bars->panel->y_unit : "", 3, text, sizeof text);
    if (isnan(value->value)) {
        drawing_add_text(drawing, middle + 4, bars->frame.bottom - 6, "unknown",
                         (struct text_style){.size = 11, .colour = COLOUR_SOFT, .is_vertical = true});
        return;
    }
    string_print(title, sizeof title, "%.100s: %s", bars->plot->series[series], text);
    drawing_begin_group(drawing, title);
    double zero = axis_pixel(&bars->axis, 0), top = axis_pixel(&bars->axis, value->value);
    drawing_add_rectangle(drawing, left + 1.5, fmin(zero, top), bars->bar_width - 3, fabs(zero - top),
                          (struct paint){.fill = colour_of(series), .fill_opacity = 0.85});
    draw_interval(drawing, bars, middle, value);
    double label = fmin(top, axis_pixel(&bars->axis, isnan(value->high) ? value->value : value->high)) - 6;
    struct text_style style = {.size = 11, .anchor = ANCHOR_MIDDLE};
    const char *note = bars->panel->notes ? bars->panel->notes[place] : NULL;
    if (bars->bar_width >= MIN_LABELED) {
        drawing_add_fitted_text(drawing, middle, label - (note ? 14 : 0), bars->bar_width + 8, text, style);
        style.colour = COLOUR_SOFT;
        if (note)
            drawing_add_fitted_text(drawing, middle, label, bars->bar_width + 8, note, style);
    }
    drawing_end_group(drawing);
}

/* Draws the names below the bars: of the groups, or of the series if there is one group. */
static void draw_names(struct drawing *drawing, const struct bars *bars)
{
    const struct plot_bars *plot = bars->plot;
    struct text_style style = {.size = 12, .anchor = ANCHOR_MIDDLE};
    double y = bars->frame.bottom + 17;
    for (size_t s = 0; !plot->groups && s < plot->series_count; s++)
        drawing_add_fitted_text(drawing, bar_left(bars, 0, s) + bars->bar_width / 2, y, bars->bar_width - 4,
                                plot->series[s], style);
    for (size_t g = 0; plot->groups && g < plot->group_count; g++)
        drawing_add_fitted_text(drawing, bars->frame.left + bars->group_width * ((double)g + 0.5), y,
                                bars->group_width - 4, plot->groups[g], style);
}

static struct axis value_axis(const struct plot_bars *plot, const struct plot_panel *panel,
                              const struct plot_frame *frame)
{
    double low = 0, high = NAN;
    for (size_t i = 0; i < plot->group_count * plot->series_count; i++) {
        const struct plot_value *v = &panel->values[i];
        low = fmin(low, fmin(v->value, v->low));
        high = fmax(high, fmax(v->value, v->high));
    }
    if (high > low) /* room for the values above the bars */
        high += (high - low) * LABEL_ROOM / fmax(LABEL_ROOM, frame->bottom - frame->top - LABEL_ROOM);
    axis_extend(AXIS_LINEAR, &low, &high);
    return (struct axis){AXIS_LINEAR, low, high, frame->bottom, frame->top, panel->y_name, panel->y_unit};
}

static void draw_panel(struct drawing *drawing, const struct plot_bars *plot, const struct plot_panel *panel,
                       const struct plot_frame *frame)
{
    struct bars bars = {
        .plot = plot, .panel = panel, .frame = *frame, .axis = value_axis(plot, panel, frame)};
    bars.group_width = (frame->right - frame->left) / (double)plot->group_count;
    bars.bar_width = fmin(WIDEST_BAR, bars.group_width * 0.86 / (double)plot->series_count);
    axis_draw_y(drawing, frame, &bars.axis);
    for (size_t g = 0; g < plot->group_count; g++)
        for (size_t s = 0; s < plot->series_count; s++)
            draw_bar(drawing, &bars, g, s);
    double zero = axis_pixel(&bars.axis, 0);
    drawing_add_segment(drawing, frame->left, zero, frame->right, zero,
                        (struct paint){.stroke = COLOUR_SOFT});
    draw_names(drawing, &bars);
}

joule_status plot_bars(const struct plot_bars *plot, struct drawing *out_drawing)
{
    double width = plot->width > 0 ? plot->width : PLOT_WIDTH;
    double height = plot->height > 0 ? plot->height : PLOT_HEIGHT;
    drawing_init(out_drawing, width, height, plot->labels.title ? plot->labels.title : "comparison",
                 plot->labels.caption);
    if (plot->panel_count < 1 || plot->panel_count > MAX_PANELS || plot->series_count < 1 ||
        plot->group_count < 1)
        return JOULE_INVALID;
    double top = plot_draw_title(out_drawing, 12, plot->labels.title, plot->labels.caption);
    struct legend_entry entries[MAX_LEGEND];
    size_t count = 0;
    for (; count < plot->series_count && count < MAX_LEGEND; count++)
        entries[count] = (struct legend_entry){plot->series[count], colour_of(count), .opacity = 0.85};
    top = plot_draw_legend(out_drawing, top + 2, entries, count);
    double panel_width = (width - PLOT_MARGIN / 2.0) / (double)plot->panel_count;
    for (size_t i = 0; i < plot->panel_count; i++) {
        double left = panel_width * (double)i;
        struct plot_frame frame = {left + LEFT, top + 12, left + panel_width - RIGHT, height - BELOW};
        frame.right = fmax(frame.right, frame.left + 10);
        frame.bottom = fmax(frame.bottom, frame.top + 10);
        draw_panel(out_drawing, plot, &plot->panels[i], &frame);
    }
    return out_drawing->is_out_of_memory ? JOULE_NO_MEMORY : JOULE_OK;
}
