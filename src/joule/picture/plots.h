/* joule/picture/plots.h - plots of comparisons: bars, sweeps and trends, each with intervals.
 *
 * A function writes a new drawing to *out_drawing, which the caller frees with drawing_free, also after an
 * error. All return JOULE_NO_MEMORY if memory runs out, and JOULE_INVALID if there is nothing to draw (no
 * series, no point). Unknown values are NaN; they are drawn as a gap that says "unknown", never as 0.
 * Names come from users: any bytes are allowed.
 */
#ifndef JOULE_PICTURE_PLOTS_H
#define JOULE_PICTURE_PLOTS_H

#include "joule/picture/axis.h"
#include "joule/picture/drawing.h"

/* A value with its interval. low or high NaN: no interval is drawn. */
struct plot_value {
    double value, low, high;
};

/* Texts of a plot; NULL: none. */
struct plot_labels {
    const char *title;
    const char *caption;         /* below the plot: what the interval is, class (measured, modelled), runs */
    const char *x_name;          /* "array size"; not used by bars and trends */
    const char *x_unit;          /* "B"; NULL or "": none */
    const char *y_name, *y_unit; /* "energy", "J" */
};

/* Size of plots in pixels, unless a request sets another. */
#define PLOT_WIDTH  900
#define PLOT_HEIGHT 420

/* One panel of bars. Each panel has its own axis, so energy, time and power are panels of one picture. */
struct plot_panel {
    const char *y_name, *y_unit;
    /* [groups * series], row-major: value of series s in group g is at g * series + s */
    const struct plot_value *values;
    const char *const *notes; /* like `values`: a short text above the bar ("+3.1 %", "better"); NULL: none */
};
/* Grouped bars with intervals. For `joule compare`: one group, one series for each command, and one panel for
 * each metric. */
struct plot_bars {
    struct plot_labels labels; /* y_name and y_unit are not used */
    const char *const *groups; /* names below the groups; NULL: one group without a name */
    size_t group_count;
    const char *const *series; /* names of the legend */
    size_t series_count;
    const struct plot_panel *panels;
    size_t panel_count;   /* 1 to 6 */
    double width, height; /* 0: PLOT_WIDTH, PLOT_HEIGHT */
};
joule_status plot_bars(const struct plot_bars *plot, struct drawing *out_drawing);

/* One line of a sweep or trend. x ascends. */
struct plot_series {
    const char *name;
    const double *x;
    const struct plot_value *y;
    size_t count;
};
/* Lines with interval bands over a size. An axis is logarithmic if all its values are above 0 and span more
 * than a factor of 20. */
struct plot_sweep {
    struct plot_labels labels;
    const struct plot_series *series;
    size_t series_count;
    double width, height;
};
joule_status plot_sweep(const struct plot_sweep *plot, struct drawing *out_drawing);

/* A place where two lines cross. */
struct plot_crossing {
    double x, y;
    double x_low, x_high; /* range of x in which the intervals of both lines overlap around the crossing */
};
/* Finds the crossings of two lines between points that both have (equal x), interpolated on the scales that
 * plot_sweep uses. Writes at most `capacity`, and returns the number of crossings. plot_sweep marks those of
 * its first two lines. */
size_t plot_find_crossings(const struct plot_sweep *plot, size_t a, size_t b,
                           struct plot_crossing *out_crossings, size_t capacity);

/* Values over dates, for the history of a benchmark. x: seconds since 1970. */
struct plot_trend {
    struct plot_labels labels;
    const struct plot_series *series;
    size_t series_count;
    struct plot_value baseline; /* a horizontal band; value NaN: none */
    const char *baseline_name;
    double width, height;
};
joule_status plot_trend(const struct plot_trend *plot, struct drawing *out_drawing);

#endif
