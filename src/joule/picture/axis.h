/* joule/picture/axis.h - scales of plots: from values to pixels, and where ticks and labels are.
 */
#ifndef JOULE_PICTURE_AXIS_H
#define JOULE_PICTURE_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include "joule/picture/drawing.h"

enum axis_kind {
    AXIS_LINEAR,
    AXIS_LOG,      /* values above 0 */
    AXIS_DURATION, /* seconds; long times have ticks at whole minutes, hours and days */
    AXIS_DATE,     /* seconds since 1970, UTC; ticks at whole hours, days, months or years */
};

struct axis {
    enum axis_kind kind;
    double low, high;        /* values at the ends */
    double at_low, at_high;  /* pixels at the ends */
    const char *name, *unit; /* "power", "W"; unit "": none. Units get SI prefixes */
};

#define AXIS_MAX_TICKS 24
struct axis_ticks {
    double values[AXIS_MAX_TICKS];
    char labels[AXIS_MAX_TICKS][24];
    size_t count;
    char title[96]; /* name with unit and prefix: "power (kW)" */
};

/* Extends [*low, *high] to whole steps. Data that is >= 0 starts at 0 on a linear axis. An empty range (or
 * NaN) becomes a range of 1. */
void axis_extend(enum axis_kind kind, double *low, double *high);
/* Returns the pixel of a value; values outside the axis are clamped to its ends. */
double axis_pixel(const struct axis *axis, double value);
/* Returns the value at a pixel. */
double axis_value(const struct axis *axis, double pixel);
/* Chooses about `target` ticks at round values (1, 2 or 5 times a power of ten; decades on a log axis), with
 * labels that share one prefix and number of decimals. */
void axis_choose_ticks(const struct axis *axis, size_t target, struct axis_ticks *out_ticks);

/* The area of a plot inside its axes, in pixels. */
struct plot_frame {
    double left, top, right, bottom;
};
/* Draw a horizontal axis below the frame, or a vertical one left of it, with grid lines. */
void axis_draw_x(struct drawing *drawing, const struct plot_frame *frame, const struct axis *axis);
void axis_draw_y(struct drawing *drawing, const struct plot_frame *frame, const struct axis *axis);

/* Writes a value with unit, SI prefix and `digits` significant digits: "12.3 W"; "unknown" for NaN. unit "":
 * without a unit; "%" and units that are not SI get no prefix. */
void axis_format(double value, const char *unit, int digits, char *out_text, size_t size);

#endif
