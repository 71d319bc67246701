/* joule/picture/drawing.h - a picture as a list of shapes, independent of the file format.
 *
 * Plots add shapes to a drawing. Writers (SVG here, PNG in tools/plot) read the list. Coordinates are pixels;
 * y points down. A colour is a purpose, because the same drawing is shown on a light and on a dark ground.
 * Note: functions that add shapes report no errors. If memory runs out, or a coordinate is not finite, the
 * shape is omitted; is_out_of_memory then tells that the drawing is incomplete.
 */
#ifndef JOULE_PICTURE_DRAWING_H
#define JOULE_PICTURE_DRAWING_H

#include <joule/base.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/string.h"

/* Purposes of colours. COLOUR_SERIES + i, i < DRAWING_SERIES, distinguishes series; the colours are also
 * distinguishable for people with a colour vision deficiency. */
enum colour {
    COLOUR_NONE,    /* transparent */
    COLOUR_GROUND,  /* the background */
    COLOUR_INK,     /* text and the main line */
    COLOUR_SOFT,    /* secondary text, axes */
    COLOUR_GRID,    /* grid lines */
    COLOUR_UNKNOWN, /* time or values without data */
    COLOUR_GOOD,
    COLOUR_BAD,
    COLOUR_WARN,
    COLOUR_OTHER,  /* what belongs to no series: "other regions" */
    COLOUR_SERIES, /* the first of DRAWING_SERIES colours */
};
#define DRAWING_SERIES  8
#define DRAWING_COLOURS (COLOUR_SERIES + DRAWING_SERIES)

/* How a shape is painted. Zeros paint nothing. */
struct paint {
    enum colour fill, stroke;
    double stroke_width;                 /* pixels; 0: 1 */
    double fill_opacity, stroke_opacity; /* 0 to 1; 0 means opaque */
    bool is_dashed;
};

enum text_anchor { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END };

struct text_style {
    double size; /* height of the font in pixels; 0: 12 */
    enum text_anchor anchor;
    enum colour colour; /* COLOUR_NONE: COLOUR_INK */
    bool is_bold;
    bool is_vertical; /* runs from bottom to top */
};

struct point {
    double x, y;
};

enum shape_kind { SHAPE_RECTANGLE, SHAPE_LINE, SHAPE_AREA, SHAPE_TEXT, SHAPE_GROUP, SHAPE_GROUP_END };

/* One shape. Its arrays and strings belong to the drawing. */
struct shape {
    enum shape_kind kind;
    struct paint paint;
    double x, y, width, height; /* rectangle; x and y of a text: the anchor on the baseline */
    struct point *points;       /* line and area */
    size_t point_count;
    char *text; /* of a text; of a group: its title, which viewers show as a tooltip; NULL: none */
    struct text_style style;
};

struct drawing {
    struct arena arena;
    double width, height;
    char *title;       /* name of the picture for screen readers */
    char *description; /* what the picture shows, in a sentence; may be NULL */
    struct shape *shapes;
    size_t shape_count, shape_capacity;
    bool is_out_of_memory;
};

/* Initialises an empty drawing. Texts are copied; NULL: none. The caller frees it with drawing_free. */
void drawing_init(struct drawing *drawing, double width, double height, const char *title,
                  const char *description);
void drawing_free(struct drawing *drawing);

void drawing_add_rectangle(struct drawing *drawing, double x, double y, double width, double height,
                           struct paint paint);
/* Adds an open line through `count` points, which are copied. */
void drawing_add_line(struct drawing *drawing, const struct point *points, size_t count, struct paint paint);
/* Adds a line between two points. */
void drawing_add_segment(struct drawing *drawing, double x1, double y1, double x2, double y2,
                         struct paint paint);
/* Adds a filled polygon; the last point is joined to the first. */
void drawing_add_area(struct drawing *drawing, const struct point *points, size_t count, struct paint paint);
/* Adds a text, which is copied. Bytes that are not UTF-8 and control characters become U+FFFD. */
void drawing_add_text(struct drawing *drawing, double x, double y, const char *text, struct text_style style);
/* Like drawing_add_text, but shortens the text with an ellipsis to max_width pixels. Adds nothing if there
 * is no room for three characters. Returns true if text was added. */
bool drawing_add_fitted_text(struct drawing *drawing, double x, double y, double max_width, const char *text,
                             struct text_style style);
/* Begins a group of shapes with a title, which viewers show as a tooltip. Groups may nest. */
void drawing_begin_group(struct drawing *drawing, const char *title);
void drawing_end_group(struct drawing *drawing);

/* Returns the approximate width of a text in pixels, for a sans-serif font. */
double drawing_text_width(const char *text, double size, bool is_bold);

/* Returns a colour as 0xRRGGBB. */
uint32_t drawing_rgb(enum colour colour, bool is_dark);

/* Writes a self-contained SVG document. Its colours follow the viewer's light or dark mode. A group with a
 * title contains it as <title>. */
void drawing_svg(const struct drawing *drawing, struct text *out);
#endif
