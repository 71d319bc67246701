/* joule/picture/axis.c - see axis.h. */
#include "joule/picture/axis.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include "joule/report/report.h"

#define LABEL_SIZE 12
#define LABEL_MARGIN                                                                                         \
    4 /* smallest distance of labels to each other and to the edge of the drawing, in pixels */
#define DAY_S       86400.0
#define MAX_SECONDS 9e9 /* dates before 1970 and after 2255 are not labelled */

static bool is_si(const char *unit)
{
    return strcmp(unit, "%") != 0;
}

/* Returns the exponent of ten, a multiple of 3, of the prefix for a value. */
static int prefix_exponent(double value, const char *unit)
{
    double size = fabs(value);
    if (!(size > 0) || !isfinite(size) || !is_si(unit))
        return 0;
    int exponent = (int)floor(log10(size) / 3 + 1e-9) * 3;
    if (strcmp(unit, "s") == 0 && exponent > 0)
        return 0; /* seconds have no kilo */
    return exponent < -12 ? -12 : exponent > 15 ? 15 : exponent;
}

static const char *prefix_name(int exponent)
{
    static const char *const names[] = {"p", "n", "\u00b5", "m", "", "k", "M", "G", "T", "P"};
    return names[exponent / 3 + 4];
}

void axis_format(double value, const char *unit, int digits, char *out_text, size_t size)
{
    if (isnan(value)) {
        string_print(out_text, size, "unknown");
        return;
    }
    /* 999.96 with 4 digits is 1.000 k: round before the prefix is chosen */
    double magnitude = value == 0 ? 0 : floor(log10(fabs(value)));
    double unit_of_last = pow(10, magnitude - (digits - 1));
    double rounded = value == 0 || !isfinite(unit_of_last) || unit_of_last == 0
                         ? value
                         : round(value / unit_of_last) * unit_of_last;
    int exponent = prefix_exponent(rounded, unit);
    double scaled = rounded / pow(10, exponent);
    double before = scaled == 0 ? 1 : floor(log10(fabs(scaled)) + 1e-9) + 1;
    int decimals = (int)fmax(0, digits - before);
    const char *prefix = prefix_name(exponent);
    string_print(out_text, size, "%.*f%s%s%s", decimals > 12 ? 12 : decimals, scaled,
                 *unit || *prefix ? " " : "", prefix, unit);
}

/* --- ranges --------------------------------------------------------------------------------------------- */

/* Returns the smallest of 1, 2 or 5 times a power of ten that is at least `step`. */
static double round_step(double step)
{
    double power = pow(10, floor(log10(step)));
    for (int i = 0; i < 3; i++) {
        static const double factors[] = {1, 2, 5};
        if (factors[i] * power >= step * (1 - 1e-9))
            return factors[i] * power;
    }
    return 10 * power;
}

void axis_extend(enum axis_kind kind, double *low, double *high)
{
    if (!isfinite(*low) || !isfinite(*high) || *low > *high) {
        *low = kind == AXIS_LOG ? 1 : 0;
        *high = *low + 1;
    }
    if (kind == AXIS_LOG) {
        if (!(*low > 0))
            *low = *high > 0 ? *high / 10 : 1;
        if (!(*high > *low))
            *high = *low * 10;
        double room = exp((log(*high) - log(*low)) * 0.04); /* so that points are not on the frame */
        *low = fmax(*low / room, DBL_MIN);
        *high = fmin(*high * room, DBL_MAX);
        return;
    }
    if (kind == AXIS_LINEAR && *low >= 0)
        *low = 0;
    if (*low == *high)
        *high = *low + (*low != 0 ? fabs(*low) : 1);
    if (kind != AXIS_LINEAR)
        return;
    double step = round_step((*high - *low) / 8);
    *low = floor(*low / step + 1e-9) * step;
    *high = ceil(*high / step - 1e-9) * step;
}

static double on_scale(const struct axis *axis, double value)
{
    return axis->kind == AXIS_LOG ? log(value) : value;
}

double axis_pixel(const struct axis *axis, double value)
{
    double limited = fmin(fmax(value, axis->low), axis->high);
    double low = on_scale(axis, axis->low), high = on_scale(axis, axis->high);
    double part = high > low ? (on_scale(axis, limited) - low) / (high - low) : 0;
    return axis->at_low + part * (axis->at_high - axis->at_low);
}

double axis_value(const struct axis *axis, double pixel)
{
    double part = (pixel - axis->at_low) / (axis->at_high - axis->at_low);
    double low = on_scale(axis, axis->low), high = on_scale(axis, axis->high);
    double value = low + part * (high - low);
    return axis->kind == AXIS_LOG ? exp(value) : value;
}

/* --- ticks ---------------------------------------------------------------------------------------------- */

static void name_axis(const struct axis *axis, const char *unit, struct axis_ticks *out)
{
    const char *name = axis->name ? axis->name : "";
    if (*unit && *name)
        string_print(out->title, sizeof out->title, "%s (%s)", name, unit);
    else
        string_print(out->title, sizeof out->title, "%s%s", name, unit);
}

/* Adds a tick without a label. Returns its index, or AXIS_MAX_TICKS if there is no room. */
static size_t add_tick(struct axis_ticks *out, double value)
{
    if (out->count == AXIS_MAX_TICKS)
        return AXIS_MAX_TICKS;
    out->values[out->count] = value;
    return out->count++;
}

/* Adds ticks at multiples of a step. */
static void add_multiples(const struct axis *axis, double step, struct axis_ticks *out)
{
    double first = ceil(axis->low / step - 1e-9);
    for (double i = first; i * step <= axis->high + step * 1e-9; i++) {
        if (add_tick(out, i * step) == AXIS_MAX_TICKS)
            break;
    }
}

static void choose_linear(const struct axis *axis, size_t target, struct axis_ticks *out)
{
    const char *unit = axis->unit ? axis->unit : "";
    double range = axis->high - axis->low;
    double step = round_step(range / (double)target);
    int exponent = prefix_exponent(fmax(fabs(axis->low), fabs(axis->high)), unit);
    if (!*unit && exponent < 6)
        exponent = 0; /* plain numbers are written out up to a million */
    double scale = pow(10, exponent);
    double decimals = fmin(9, fmax(0, -floor(log10(step / scale) + 1e-9)));
    add_multiples(axis, step, out);
    for (size_t i = 0; i < out->count; i++) {
        double value = out->values[i] / scale;
        string_print(out->labels[i], sizeof out->labels[i], "%.*f", (int)decimals, value == 0 ? 0 : value);
    }
    char whole[24];
    string_print(whole, sizeof whole, "%s%s", prefix_name(exponent), unit);
    name_axis(axis, whole, out);
}

static void choose_log(const struct axis *axis, size_t target, struct axis_ticks *out)
{
    const char *unit = axis->unit ? axis->unit : "";
    double decades = log10(axis->high) - log10(axis->low);
    static const double dense[] = {1, 2, 5}, sparse[] = {1};
    bool is_dense = decades < (double)target / 2.5;
    size_t per_decade = is_dense ? 3 : 1;
    const double *factors = is_dense ? dense : sparse;
    int stride = (int)fmax(1, ceil(decades / (double)target));
    for (int e = (int)floor(log10(axis->low)); e <= (int)ceil(log10(axis->high)); e += stride) {
        for (size_t i = 0; i < per_decade; i++) {
            double value = factors[i] * pow(10, e);
            if (value < axis->low * (1 - 1e-9) || value > axis->high * (1 + 1e-9))
                continue;
            size_t tick = add_tick(out, value);
            if (tick < AXIS_MAX_TICKS)
                axis_format(value, unit, 1, out->labels[tick], sizeof out->labels[tick]);
        }
    }
    name_axis(axis, "", out);
}

/* Returns the first step of an ascending list that gives at most `target` ticks; the last one otherwise. */
static double step_of(const double *steps, size_t count, double range, size_t target)
{
    for (size_t i = 0; i < count; i++) {
        if (range / steps[i] <= (double)target)
            return steps[i];
    }
    return steps[count - 1];
}

/* Labels long durations as "3:20" (minutes and seconds, or hours and minutes), or whole days. */
static void choose_duration(const struct axis *axis, size_t target, struct axis_ticks *out)
{
    static const double steps[] = {1,     2,     5,      10,     15,     20,      30,      60,     120,
                                   300,   600,   900,    1200,   1800,   3600,    7200,    10800,  21600,
                                   43200, 86400, 172800, 432000, 864000, 1728000, 4320000, 8640000};
    double range = axis->high - axis->low;
    double step = step_of(steps, sizeof steps / sizeof *steps, range, target);
    if (axis->high < 120 || range < (double)target || range / step > AXIS_MAX_TICKS) {
        struct axis plain = *axis;
        plain.unit = "s";
        choose_linear(&plain, target, out);
        return;
    }
    add_multiples(axis, step, out);
    bool has_hours = axis->high >= 7200 && step >= 60, has_days = step >= DAY_S;
    for (size_t i = 0; i < out->count; i++) {
        long long s = llround(out->values[i]), size = s < 0 ? -s : s;
        const char *sign = s < 0 ? "-" : "";
        if (has_days)
            string_print(out->labels[i], sizeof out->labels[i], "%s%lld", sign, size / 86400);
        else
            string_print(out->labels[i], sizeof out->labels[i], "%s%lld:%02lld", sign,
                         has_hours ? size / 3600 : size / 60, has_hours ? size / 60 % 60 : size % 60);
    }
    name_axis(axis, has_days ? "days" : has_hours ? "h:min" : "min:s", out);
}

/* Returns the seconds from 1970 to the begin of a month of the Gregorian calendar. month: 0 is January;
 * larger numbers are months of later years. */
static double month_begin(int year, int month)
{
    static const int days_before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    year += month / 12;
    month %= 12;
    int past = month < 2 ? year - 1 : year; /* the last year whose leap day has passed */
    int leap_days = past / 4 - past / 100 + past / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400);
    return DAY_S * ((year - 1970) * 365.0 + leap_days + days_before[month]);
}

/* Adds ticks at the begins of months. */
static void add_months(const struct axis *axis, int stride, struct axis_ticks *out)
{
    char begin[REPORT_TIME_SIZE];
    int64_t year = 1970, month = 1;
    report_time((int64_t)(axis->low * 1e9), begin);
    begin[4] = begin[7] = '\0'; /* the text is 2026-03-03T10:30:00.000Z */
    if (!string_to_i64(begin, 10, &year) || !string_to_i64(begin + 5, 10, &month))
        return;
    int first = stride >= 12 ? 0 : (int)(month - 1) / stride * stride;
    for (int i = 0; i < 1000 && out->count < AXIS_MAX_TICKS; i++) {
        double value = month_begin((int)year, first + i * stride);
        if (value > axis->high)
            break;
        if (value >= axis->low)
            add_tick(out, value);
    }
}

static void choose_date(const struct axis *axis, size_t target, struct axis_ticks *out)
{
    static const double steps[] = {1,     5,     15,    60,    300,    900,    3600,
                                   10800, 21600, 43200, 86400, 172800, 604800, 1209600};
    static const int months[] = {1, 2, 3, 6, 12, 24, 60, 120, 240, 1200};
    double range = axis->high - axis->low;
    name_axis(axis, "UTC", out);
    if (axis->low < 0 || axis->high > MAX_SECONDS)
        return;
    double step = step_of(steps, sizeof steps / sizeof *steps, range, target);
    size_t begin = 0, length = step >= DAY_S ? 10 : 11; /* part of the text 2026-03-03T10:30:00.000Z */
    if (step < DAY_S) {
        begin = step >= 60 ? 5 : 11;
        length = step >= 60 ? 11 : 8;
    }
    if (range / step > (double)target) {
        size_t i = 0;
        while (i + 1 < sizeof months / sizeof *months && range / (months[i] * 30.44 * DAY_S) > (double)target)
            i++;
        add_months(axis, months[i], out);
        begin = 0;
        length = months[i] >= 12 ? 4 : 7;
    } else {
        add_multiples(axis, step, out);
    }
    for (size_t i = 0; i < out->count; i++) {
        char time[REPORT_TIME_SIZE];
        report_time((int64_t)(out->values[i] * 1e9), time);
        time[10] = ' ';
        string_print(out->labels[i], sizeof out->labels[i], "%.*s", (int)length, time + begin);
    }
}

void axis_choose_ticks(const struct axis *axis, size_t target, struct axis_ticks *out_ticks)
{
    *out_ticks = (struct axis_ticks){0};
    target = target < 2 ? 2 : target > AXIS_MAX_TICKS - 2 ? AXIS_MAX_TICKS - 2 : target;
    if (!(axis->high > axis->low))
        return;
    switch (axis->kind) {
    case AXIS_LINEAR:
        choose_linear(axis, target, out_ticks);
        break;
    case AXIS_LOG:
        choose_log(axis, target, out_ticks);
        break;
    case AXIS_DURATION:
        choose_duration(axis, target, out_ticks);
        break;
    case AXIS_DATE:
        choose_date(axis, target, out_ticks);
        break;
    }
}

/* --- drawing -------------------------------------------------------------------------------------------- */

/* Returns how many ticks must be skipped so that labels do not overlap: every n-th is labelled. */
static size_t label_stride(const struct axis *axis, const struct axis_ticks *ticks)
{
    double widest = 0, spacing = INFINITY;
    for (size_t i = 0; i < ticks->count; i++)
        widest = fmax(widest, drawing_text_width(ticks->labels[i], LABEL_SIZE, false));
    for (size_t i = 1; i < ticks->count; i++)
        spacing =
            fmin(spacing, fabs(axis_pixel(axis, ticks->values[i]) - axis_pixel(axis, ticks->values[i - 1])));
    return spacing > 0 && isfinite(spacing) ? (size_t)fmax(1, ceil((widest + 10) / spacing)) : 1;
}

/* Draws the label of a tick inside the drawing, unless it would touch the label that ends at *end. */
static void draw_x_label(struct drawing *drawing, double x, double y, const char *label, double *end)
{
    double width = drawing_text_width(label, LABEL_SIZE, false), right = drawing->width - LABEL_MARGIN;
    double middle = fmax(fmin(x, right - width / 2), LABEL_MARGIN + width / 2);
    if (middle - width / 2 < *end + LABEL_MARGIN)
        return;
    drawing_add_text(drawing, middle, y, label,
                     (struct text_style){.colour = COLOUR_SOFT, .anchor = ANCHOR_MIDDLE});
    *end = middle + width / 2;
}

void axis_draw_x(struct drawing *drawing, const struct plot_frame *frame, const struct axis *axis)
{
    struct axis_ticks ticks;
    double label_end = -INFINITY;
    axis_choose_ticks(axis, (size_t)fmax(2, (frame->right - frame->left) / 95), &ticks);
    size_t stride = label_stride(axis, &ticks);
    for (size_t i = 0; i < ticks.count; i++) {
        double x = axis_pixel(axis, ticks.values[i]);
        drawing_add_segment(drawing, x, frame->top, x, frame->bottom, (struct paint){.stroke = COLOUR_GRID});
        if (i % stride == 0)
            draw_x_label(drawing, x, frame->bottom + 16, ticks.labels[i], &label_end);
    }
    drawing_add_text(drawing, frame->right, frame->bottom + 32, ticks.title,
                     (struct text_style){.colour = COLOUR_SOFT, .anchor = ANCHOR_END});
    drawing_add_segment(drawing, frame->left, frame->bottom, frame->right, frame->bottom,
                        (struct paint){.stroke = COLOUR_SOFT});
}

void axis_draw_y(struct drawing *drawing, const struct plot_frame *frame, const struct axis *axis)
{
    struct axis_ticks ticks;
    axis_choose_ticks(axis, (size_t)fmax(2, (frame->bottom - frame->top) / 42), &ticks);
    struct text_style style = {.colour = COLOUR_SOFT, .anchor = ANCHOR_END};
    for (size_t i = 0; i < ticks.count; i++) {
        double y = axis_pixel(axis, ticks.values[i]);
        drawing_add_segment(drawing, frame->left, y, frame->right, y, (struct paint){.stroke = COLOUR_GRID});
        drawing_add_text(drawing, frame->left - 7, y + 4, ticks.labels[i], style);
    }
    style.anchor = ANCHOR_MIDDLE;
    style.is_vertical = true;
    drawing_add_text(drawing, frame->left - 46, (frame->top + frame->bottom) / 2, ticks.title, style);
}
