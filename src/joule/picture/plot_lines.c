/* joule/picture/plot_lines.c - lines with interval bands: sweeps over a size, and trends over dates. */
#include <math.h>
#include <stdlib.h>
#include "joule/picture/axis.h"
#include "joule/picture/plot_parts.h"
#include "joule/picture/plots.h"

#define LEFT       70
#define RIGHT      24
#define BELOW      42
#define MAX_LEGEND 64
#define LOG_SPAN   20 /* an axis that spans more than this factor is logarithmic */
#define MAX_SHOWN  8  /* crossings that are marked */
#define POINT      3  /* half of the side of a point, in pixels */

struct range {
    double low, high;
};

static enum colour colour_of(size_t series)
{
    return series < DRAWING_SERIES ? (enum colour)(COLOUR_SERIES + series) : COLOUR_OTHER;
}

static void extend(struct range *range, double value)
{
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
}

static void find_ranges(const struct plot_series *series, size_t count, struct range *out_x,
                        struct range *out_y)
{
    *out_x = *out_y = (struct range){NAN, NAN};
    for (size_t s = 0; s < count; s++) {
        for (size_t i = 0; i < series[s].count; i++) {
            extend(out_x, series[s].x[i]);
            extend(out_y, series[s].y[i].value);
            extend(out_y, series[s].y[i].low);
            extend(out_y, series[s].y[i].high);
        }
    }
}

static enum axis_kind kind_of(const struct range *range)
{
    return range->low > 0 && range->high > LOG_SPAN * range->low ? AXIS_LOG : AXIS_LINEAR;
}

/* --- drawing -------------------------------------------------------------------------------------------- */

struct chart {
    struct axis x, y;
    struct plot_frame frame;
};

/* Draws the band of a series between two neighbours with known intervals. */
static void draw_band(struct drawing *drawing, const struct chart *chart, const struct plot_series *series,
                      enum colour colour)
{
    struct point *points = malloc(2 * (series->count + 1) * sizeof *points);
    if (!points) {
        drawing->is_out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < series->count;) {
        size_t end = i, count = 0;
        while (end < series->count && !isnan(series->y[end].low) && !isnan(series->y[end].high))
            end++;
        for (size_t k = i; k < end; k++)
            points[count++] =
                (struct point){axis_pixel(&chart->x, series->x[k]), axis_pixel(&chart->y, series->y[k].high)};
        for (size_t k = end; k-- > i;)
            points[count++] =
                (struct point){axis_pixel(&chart->x, series->x[k]), axis_pixel(&chart->y, series->y[k].low)};
        drawing_add_area(drawing, points, count, (struct paint){.fill = colour, .fill_opacity = 0.2});
        i = end + 1;
    }
    free(points);
}

static void draw_points(struct drawing *drawing, const struct chart *chart, const struct plot_series *series,
                        enum colour colour)
{
    const char *unit = chart->y.unit ? chart->y.unit : "";
    for (size_t i = 0; i < series->count; i++) {
        const struct plot_value *v = &series->y[i];
        if (isnan(v->value) || isnan(series->x[i]))
            continue;
        double x = axis_pixel(&chart->x, series->x[i]), y = axis_pixel(&chart->y, v->value);
        char value[32], title[160];
        axis_format(v->value, unit, 3, value, sizeof value);
        string_print(title, sizeof title, "%.100s: %s", series->name, value);
        drawing_begin_group(drawing, title);
        if (!isnan(v->low) && !isnan(v->high))
            drawing_add_segment(drawing, x, axis_pixel(&chart->y, v->low), x, axis_pixel(&chart->y, v->high),
                                (struct paint){.stroke = colour, .stroke_width = 1.2});
        drawing_add_rectangle(drawing, x - POINT, y - POINT, 2 * POINT, 2 * POINT,
                              (struct paint){.fill = colour});
        drawing_end_group(drawing);
    }
}

/* Draws a line that has gaps at unknown values. */
static void draw_line(struct drawing *drawing, const struct chart *chart, const struct plot_series *series,
                      enum colour colour)
{
    struct point *points = malloc((series->count + 1) * sizeof *points);
    size_t count = 0;
    for (size_t i = 0; points && i <= series->count; i++) {
        if (i < series->count && !isnan(series->y[i].value)) {
            points[count++] = (struct point){axis_pixel(&chart->x, series->x[i]),
                                             axis_pixel(&chart->y, series->y[i].value)};
            continue;
        }
        drawing_add_line(drawing, points, count, (struct paint){.stroke = colour, .stroke_width = 2});
        count = 0;
    }
    drawing->is_out_of_memory = drawing->is_out_of_memory || !points;
    free(points);
}

static void draw_series(struct drawing *drawing, const struct chart *chart, const struct plot_series *series,
                        size_t count)
{
    for (size_t s = 0; s < count; s++)
        draw_band(drawing, chart, &series[s], colour_of(s));
    for (size_t s = 0; s < count; s++) {
        draw_line(drawing, chart, &series[s], colour_of(s));
        draw_points(drawing, chart, &series[s], colour_of(s));
    }
}

/* Draws title and legend, and sets the chart's frame. */
static void begin_chart(struct drawing *drawing, double width, double height,
                        const struct plot_labels *labels, const struct plot_series *series, size_t count,
                        struct chart *chart)
{
    width = width > 0 ? width : PLOT_WIDTH;
    height = height > 0 ? height : PLOT_HEIGHT;
    drawing_init(drawing, width, height, labels->title ? labels->title : "plot", labels->caption);
    double top = plot_draw_title(drawing, 12, labels->title, labels->caption);
    struct legend_entry entries[MAX_LEGEND];
    size_t shown = 0;
    for (; shown < count && shown < MAX_LEGEND; shown++)
        entries[shown] = (struct legend_entry){series[shown].name, colour_of(shown), .is_line = true};
    top = plot_draw_legend(drawing, top + 2, entries, shown);
    chart->frame =
        (struct plot_frame){LEFT, top + 12, fmax(width - RIGHT, LEFT + 10), fmax(height - BELOW, top + 22)};
}

static void set_axes(struct chart *chart, enum axis_kind x_kind, enum axis_kind y_kind, struct range x,
                     struct range y, const struct plot_labels *labels, const char *x_name)
{
    axis_extend(x_kind, &x.low, &x.high);
    axis_extend(y_kind, &y.low, &y.high);
    chart->x =
        (struct axis){x_kind, x.low, x.high, chart->frame.left, chart->frame.right, x_name, labels->x_unit};
    chart->y = (struct axis){y_kind,           y.low,          y.high,        chart->frame.bottom,
                             chart->frame.top, labels->y_name, labels->y_unit};
}

static bool has_points(const struct plot_series *series, size_t count)
{
    for (size_t s = 0; s < count; s++) {
        if (series[s].count > 0)
            return true;
    }
    return false;
}

/* --- crossings ------------------------------------------------------------------------------------------ */

/* The difference of two lines at an x that both have, on the scale of the y axis. */
struct gap {
    double x, value, low, high; /* x on the scale of the x axis */
    double y;                   /* of the first line */
};

static double scale(enum axis_kind kind, double value)
{
    return kind == AXIS_LOG ? log(value) : value;
}

static double unscale(enum axis_kind kind, double value)
{
    return kind == AXIS_LOG ? exp(value) : value;
}

/* Writes the differences of two lines; `out` has room for a->count. Returns their number. */
static size_t find_gaps(const struct plot_series *a, const struct plot_series *b, enum axis_kind x_kind,
                        enum axis_kind y_kind, struct gap *out)
{
    size_t count = 0;
    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        if (a->x[i] != b->x[k]) {
            if (a->x[i] < b->x[k])
                i++;
            else
                k++;
            continue;
        }
        const struct plot_value *p = &a->y[i], *q = &b->y[k];
        if (!isnan(p->value) && !isnan(q->value)) {
            out[count++] = (struct gap){.x = scale(x_kind, a->x[i]),
                                        .value = scale(y_kind, p->value) - scale(y_kind, q->value),
                                        .low = scale(y_kind, p->low) - scale(y_kind, q->high),
                                        .high = scale(y_kind, p->high) - scale(y_kind, q->low),
                                        .y = scale(y_kind, p->value)};
        }
        i++;
        k++;
    }
    return count;
}

/* Returns the x at which the intervals stop to overlap between `clear` (no overlap) and `other`. */
static double overlap_edge(const struct gap *clear, const struct gap *other)
{
    double at = clear->low > 0 ? clear->low : clear->high, to = clear->low > 0 ? other->low : other->high;
    double part = at != to ? at / (at - to) : 0;
    return clear->x + fmin(1, fmax(0, part)) * (other->x - clear->x);
}

static bool is_clear(const struct gap *gap)
{
    return gap->low > 0 || gap->high < 0;
}

/* Returns the crossing between gaps i and i + 1. */
static struct plot_crossing crossing_at(const struct gap *gaps, size_t count, size_t i, enum axis_kind x_kind,
                                        enum axis_kind y_kind)
{
    const struct gap *p = &gaps[i], *q = p + 1;
    double part = p->value / (p->value - q->value);
    double x = p->x + part * (q->x - p->x), low = x, high = x;
    if (!isnan(p->low) && !isnan(p->high) && !isnan(q->low) && !isnan(q->high)) {
        size_t left = i, right = i + 1;
        while (left > 0 && !is_clear(&gaps[left]))
            left--;
        while (right + 1 < count && !is_clear(&gaps[right]))
            right++;
        low = is_clear(&gaps[left]) ? fmin(x, overlap_edge(&gaps[left], &gaps[left + 1])) : gaps[left].x;
        high = is_clear(&gaps[right]) ? fmax(x, overlap_edge(&gaps[right], &gaps[right - 1])) : gaps[right].x;
    }
    return (struct plot_crossing){unscale(x_kind, x), unscale(y_kind, p->y + part * (q->y - p->y)),
                                  unscale(x_kind, low), unscale(x_kind, high)};
}

size_t plot_find_crossings(const struct plot_sweep *plot, size_t a, size_t b,
                           struct plot_crossing *out_crossings, size_t capacity)
{
    if (a >= plot->series_count || b >= plot->series_count)
        return 0;
    struct range x, y;
    find_ranges(plot->series, plot->series_count, &x, &y);
    enum axis_kind x_kind = kind_of(&x), y_kind = kind_of(&y);
    struct gap *gaps = malloc((plot->series[a].count + 1) * sizeof *gaps);
    size_t found = 0;
    size_t count = gaps ? find_gaps(&plot->series[a], &plot->series[b], x_kind, y_kind, gaps) : 0;
    for (size_t i = 0; i + 1 < count; i++) {
        bool is_crossing =
            (gaps[i].value < 0 && gaps[i + 1].value >= 0) || (gaps[i].value > 0 && gaps[i + 1].value <= 0);
        if (!is_crossing)
            continue;
        if (found < capacity)
            out_crossings[found] = crossing_at(gaps, count, i, x_kind, y_kind);
        found++;
    }
    free(gaps);
    return found;
}

static void draw_crossings(struct drawing *drawing, const struct plot_sweep *plot, const struct chart *chart)
{
    struct plot_crossing crossings[MAX_SHOWN];
    size_t count = plot->series_count >= 2 ? plot_find_crossings(plot, 0, 1, crossings, MAX_SHOWN) : 0;
    const char *unit = plot->labels.x_unit ? plot->labels.x_unit : "";
    double label_end = 0;
    for (size_t i = 0; i < count && i < MAX_SHOWN; i++) {
        double x = axis_pixel(&chart->x, crossings[i].x), y = axis_pixel(&chart->y, crossings[i].y);
        double low = axis_pixel(&chart->x, crossings[i].x_low),
               high = axis_pixel(&chart->x, crossings[i].x_high);
        drawing_add_rectangle(drawing, low, chart->frame.top, high - low,
                              chart->frame.bottom - chart->frame.top,
                              (struct paint){.fill = COLOUR_INK, .fill_opacity = 0.07});
        drawing_add_segment(drawing, x, chart->frame.top, x, chart->frame.bottom,
                            (struct paint){.stroke = COLOUR_INK, .stroke_width = 1.2, .is_dashed = true});
        drawing_add_rectangle(drawing, x - 4, y - 4, 8, 8,
                              (struct paint){.stroke = COLOUR_INK, .stroke_width = 1.6});
        char at[32], from[32], to[32], label[128];
        axis_format(crossings[i].x, unit, 2, at, sizeof at);
        axis_format(crossings[i].x_low, unit, 2, from, sizeof from);
        axis_format(crossings[i].x_high, unit, 2, to, sizeof to);
        string_print(label, sizeof label, "crossing at %s (%s to %s)", at, from, to);
        double width = drawing_text_width(label, 11, false);
        bool is_right = x + 6 + width < chart->frame.right;
        double begin = is_right ? x + 6 : x - 6 - width;
        if (begin < label_end)
            continue;
        drawing_add_text(drawing, is_right ? x + 6 : x - 6, chart->frame.top + 13, label,
                         (struct text_style){.size = 11, .anchor = is_right ? ANCHOR_START : ANCHOR_END});
        label_end = begin + width + 10;
    }
}

/* --- plots ---------------------------------------------------------------------------------------------- */

joule_status plot_sweep(const struct plot_sweep *plot, struct drawing *out_drawing)
{
    struct chart chart;
    begin_chart(out_drawing, plot->width, plot->height, &plot->labels, plot->series, plot->series_count,
                &chart);
    if (!has_points(plot->series, plot->series_count))
        return JOULE_INVALID;
    struct range x, y;
    find_ranges(plot->series, plot->series_count, &x, &y);
    set_axes(&chart, kind_of(&x), kind_of(&y), x, y, &plot->labels, plot->labels.x_name);
    axis_draw_y(out_drawing, &chart.frame, &chart.y);
    axis_draw_x(out_drawing, &chart.frame, &chart.x);
    draw_crossings(out_drawing, plot, &chart);
    draw_series(out_drawing, &chart, plot->series, plot->series_count);
    return out_drawing->is_out_of_memory ? JOULE_NO_MEMORY : JOULE_OK;
}

static void draw_baseline(struct drawing *drawing, const struct plot_trend *plot, const struct chart *chart)
{
    const struct plot_value *base = &plot->baseline;
    if (isnan(base->value))
        return;
    double y = axis_pixel(&chart->y, base->value);
    if (!isnan(base->low) && !isnan(base->high)) {
        double high = axis_pixel(&chart->y, base->high);
        drawing_add_rectangle(drawing, chart->frame.left, high, chart->frame.right - chart->frame.left,
                              axis_pixel(&chart->y, base->low) - high,
                              (struct paint){.fill = COLOUR_INK, .fill_opacity = 0.08});
    }
    drawing_add_segment(drawing, chart->frame.left, y, chart->frame.right, y,
                        (struct paint){.stroke = COLOUR_INK, .is_dashed = true});
    if (plot->baseline_name)
        drawing_add_fitted_text(drawing, chart->frame.right - 4, y - 5, 300, plot->baseline_name,
                                (struct text_style){.size = 11, .anchor = ANCHOR_END});
}

joule_status plot_trend(const struct plot_trend *plot, struct drawing *out_drawing)
{
    struct chart chart;
    begin_chart(out_drawing, plot->width, plot->height, &plot->labels, plot->series, plot->series_count,
                &chart);
    if (!has_points(plot->series, plot->series_count))
        return JOULE_INVALID;
    struct range x, y;
    find_ranges(plot->series, plot->series_count, &x, &y);
    extend(&y, plot->baseline.value);
    extend(&y, plot->baseline.low);
    extend(&y, plot->baseline.high);
    double room = x.high > x.low ? (x.high - x.low) * 0.03 : 3600;
    x.low -= room;
    x.high += room;
    set_axes(&chart, AXIS_DATE, AXIS_LINEAR, x, y, &plot->labels, "date");
    axis_draw_y(out_drawing, &chart.frame, &chart.y);
    axis_draw_x(out_drawing, &chart.frame, &chart.x);
    draw_baseline(out_drawing, plot, &chart);
    draw_series(out_drawing, &chart, plot->series, plot->series_count);
    return out_drawing->is_out_of_memory ? JOULE_NO_MEMORY : JOULE_OK;
}
