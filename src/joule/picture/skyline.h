/* joule/picture/skyline.h - power over time, coloured by region or by device.
 *
 * skyline_make divides a time into columns of equal length. The joules of the columns of all layers add up to
 * the energy that the meter reports for the time. Each column also has the smallest and the largest power in
 * it, so that no peak is lost. skyline_draw and skyline_print show the columns.
 * Note: a column without coverage is unknown. It is drawn as a gap, and never as 0 W.
 */
#ifndef JOULE_PICTURE_SKYLINE_H
#define JOULE_PICTURE_SKYLINE_H

#include "base/arena.h"
#include "joule/meter/engine.h"
#include "joule/picture/drawing.h"

enum skyline_by { SKYLINE_BY_REGION, SKYLINE_BY_DEVICE };

/* A finished region. Times: CLOCK_MONOTONIC of the measured machine. */
struct skyline_region {
    uint64_t begin_ns, end_ns;
    uint32_t name; /* index into names */
    uint32_t thread, flags;
};

struct skyline_request {
    joule_meter *meter;       /* live, or of a record */
    int64_t begin_ns, end_ns; /* time that is shown */
    int64_t zero_ns;          /* time that the axis labels 0 */
    enum skyline_by by;
    size_t columns;                       /* 1 to SKYLINE_MAX_COLUMNS */
    const struct skyline_region *regions; /* in any order */
    size_t region_count;
    const char *const *names;
    size_t name_count;
};

#define SKYLINE_MAX_COLUMNS (1u << 20)
#define SKYLINE_MAX_ROWS    6
#define SKYLINE_MAX_LAYERS  10 /* the largest series, then "other regions", then "outside regions" */

struct skyline_layer {
    char name[64]; /* of a region or domain */
    enum colour colour;
    double *joules; /* of each column */
    double total_joules;
};

struct skyline_column {
    double covered_s;            /* seconds in which all shown devices were measured */
    double measured_s;           /* seconds in which at least one shown device was measured */
    double min_watts, max_watts; /* smallest and largest power of all layers together; NaN: unknown */
};

/* A region, or adjacent regions of the same name that are closer than a column. */
struct skyline_mark {
    int64_t begin_ns, end_ns;
    uint32_t name; /* index into the request's names */
    uint32_t row;  /* 0: outermost */
    enum colour colour;
};

struct skyline {
    struct arena arena;
    int64_t begin_ns, end_ns, zero_ns;
    enum skyline_by by;
    size_t column_count;
    double column_s; /* length of a column */
    struct skyline_column *columns;
    struct skyline_layer layers[SKYLINE_MAX_LAYERS]; /* bottom to top */
    size_t layer_count;
    struct skyline_mark *marks;
    size_t mark_count;
    uint32_t row_threads[SKYLINE_MAX_ROWS]; /* thread of each row of marks */
    size_t row_count;
    joule_quantity total_joules; /* of the shown time, from the meter */
    double coverage;             /* part of the shown time, 0 to 1 */
    char cover[256];             /* domains whose power is shown: "package-0 + dram-0" */
};

/* Computes a skyline. The caller frees it with skyline_free, also after an error. JOULE_INVALID: an empty
 * time, or columns out of range. JOULE_ABSENT: no domain has energy. JOULE_NO_MEMORY. */
joule_status skyline_make(const struct skyline_request *request, struct skyline *out_skyline,
                          joule_error *out_error);
void skyline_free(struct skyline *skyline);
/* Returns true if all shown devices were measured in at least a tenth of the column. */
bool skyline_has_all(const struct skyline *skyline, size_t column);
/* Returns the mean power of a column in watts over the measured time, of one layer or, if `layer` is -1, of
 * all. Returns NaN if less than a tenth of the column was measured. */
double skyline_watts(const struct skyline *skyline, int layer, size_t column);

/* A guessed phase: a time in which the mean power does not change. */
struct skyline_phase {
    int64_t begin_ns, end_ns;
    double joules;
    double mean_watts; /* over the measured time */
};

/* Texts and lines around a skyline. */
struct skyline_view {
    const char *title;                  /* the command */
    joule_quantity idle_watts;          /* a dashed line; value NaN: none */
    const char *const *names;           /* names of the marks */
    const struct skyline_phase *phases; /* guessed phases; drawn with lines between them */
    size_t phase_count;
    double width, height; /* pixels; 0: PLOT_WIDTH x PLOT_HEIGHT */
};
/* Writes the caption of a skyline: energy with class and interval, mean and largest power, devices. */
void skyline_describe(const struct skyline *skyline, const struct skyline_view *view, char *out_text,
                      size_t size);
/* Draws one skyline. Two skylines are drawn one above the other with common axes. The caller frees the
 * drawing, also after an error. Returns JOULE_NO_MEMORY if memory runs out. */
joule_status skyline_draw(const struct skyline *skyline, const struct skyline_view *view,
                          struct drawing *out_drawing);
joule_status skyline_draw_pair(const struct skyline *upper, const struct skyline_view *upper_view,
                               const struct skyline *lower, const struct skyline_view *lower_view,
                               struct drawing *out_drawing);

/* How a terminal shows a skyline. */
struct skyline_terminal {
    size_t width;    /* characters of a line */
    bool is_unicode; /* use the eighth blocks of Unicode; false: ASCII */
    bool has_colour;
};
/* Prints a skyline for a terminal: power, a row of regions, the time axis and a legend. Make the skyline with
 * skyline_terminal_columns(width) columns. */
void skyline_print(const struct skyline *skyline, const struct skyline_view *view,
                   const struct skyline_terminal *terminal, struct text *out);
size_t skyline_terminal_columns(size_t width);

#endif
