/* joule/picture/drawing_svg.c - writes a drawing as SVG.
 *
 * Colours are attributes, so that any viewer shows the light mode. Viewers with CSS also follow the dark
 * mode, because rules of a style sheet have precedence over attributes. */
#include <math.h>
#include <string.h>
#include "joule/picture/drawing.h"

static void add_escaped(struct text *out, const char *text)
{
    text_add_markup(out, text, strlen(text));
}

/* Adds a coordinate with at most two decimals. Much faster than text_printf, and without locale. */
static void add_number(struct text *out, double value)
{
    char digits[32];
    double limited = fmin(fmax(value, -1e9), 1e9);
    long long hundredths = llround(limited * 100);
    size_t at = sizeof digits;
    unsigned long long left = (unsigned long long)(hundredths < 0 ? -hundredths : hundredths);
    unsigned fraction = (unsigned)(left % 100);
    left /= 100;
    if (fraction) {
        if (fraction % 10)
            digits[--at] = (char)('0' + fraction % 10);
        digits[--at] = (char)('0' + fraction / 10);
        digits[--at] = '.';
    }
    do
        digits[--at] = (char)('0' + left % 10);
    while (left /= 10);
    if (hundredths < 0)
        digits[--at] = '-';
    text_add_bytes(out, digits + at, sizeof digits - at);
}

static void add_attribute(struct text *out, const char *name, double value)
{
    text_add(out, " ");
    text_add(out, name);
    text_add(out, "=\"");
    add_number(out, value);
    text_add(out, "\"");
}

/* Adds the attribute `name` ("fill" or "stroke") with the colour for the light mode. */
static void add_colour(struct text *out, const char *name, enum colour colour)
{
    if (colour == COLOUR_NONE)
        text_printf(out, " %s=\"none\"", name);
    else
        text_printf(out, " %s=\"#%06x\"", name, drawing_rgb(colour, false));
}

/* Adds the class that style rules of the dark mode use. */
static void add_class(struct text *out, enum colour fill, enum colour stroke)
{
    if (fill && stroke)
        text_printf(out, " class=\"f%d s%d\"", (int)fill, (int)stroke);
    else if (fill || stroke)
        text_printf(out, " class=\"%c%d\"", fill ? 'f' : 's', (int)(fill ? fill : stroke));
}

static void add_paint(struct text *out, const struct paint *paint)
{
    add_class(out, paint->fill, paint->stroke);
    add_colour(out, "fill", paint->fill);
    if (paint->fill && paint->fill_opacity > 0 && paint->fill_opacity < 1)
        add_attribute(out, "fill-opacity", paint->fill_opacity);
    if (!paint->stroke)
        return;
    add_colour(out, "stroke", paint->stroke);
    add_attribute(out, "stroke-width", paint->stroke_width > 0 ? paint->stroke_width : 1);
    if (paint->stroke_opacity > 0 && paint->stroke_opacity < 1)
        add_attribute(out, "stroke-opacity", paint->stroke_opacity);
    if (paint->is_dashed)
        text_add(out, " stroke-dasharray=\"5 4\"");
}

static void add_rectangle(struct text *out, const struct shape *shape)
{
    text_add(out, "<rect");
    add_attribute(out, "x", shape->x);
    add_attribute(out, "y", shape->y);
    add_attribute(out, "width", shape->width);
    add_attribute(out, "height", shape->height);
    add_paint(out, &shape->paint);
    text_add(out, "/>\n");
}

/* Horizontal and vertical lines of steps are written in their short forms. */
static void add_path(struct text *out, const struct shape *shape)
{
    text_add(out, "<path d=\"M");
    struct point at = shape->points[0];
    add_number(out, at.x);
    text_add(out, " ");
    add_number(out, at.y);
    for (size_t i = 1; i < shape->point_count; i++) {
        struct point to = shape->points[i];
        if (to.y == at.y) {
            text_add(out, "H");
            add_number(out, to.x);
        } else if (to.x == at.x) {
            text_add(out, "V");
            add_number(out, to.y);
        } else {
            text_add(out, "L");
            add_number(out, to.x);
            text_add(out, " ");
            add_number(out, to.y);
        }
        at = to;
    }
    text_add(out, shape->kind == SHAPE_AREA ? "Z\"" : "\"");
    if (shape->kind == SHAPE_LINE)
        text_add(out, " stroke-linejoin=\"round\"");
    add_paint(out, &shape->paint);
    text_add(out, "/>\n");
}

static void add_text_shape(struct text *out, const struct shape *shape)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    const struct text_style *style = &shape->style;
    text_add(out, "<text");
    add_attribute(out, "x", shape->x);
    add_attribute(out, "y", shape->y);
    if (style->is_vertical) {
        text_add(out, " transform=\"rotate(-90 ");
        add_number(out, shape->x);
        text_add(out, " ");
        add_number(out, shape->y);
        text_add(out, ")\"");
    }
    if (style->anchor != ANCHOR_START)
        text_printf(out, " text-anchor=\"%s\"", anchors[style->anchor]);
    add_attribute(out, "font-size", style->size);
    if (style->is_bold)
        text_add(out, " font-weight=\"600\"");
    add_class(out, style->colour, COLOUR_NONE);
    add_colour(out, "fill", style->colour);
    text_add(out, ">");
    add_escaped(out, shape->text ? shape->text : "");
    text_add(out, "</text>\n");
}

static void add_shape(struct text *out, const struct shape *shape)
{
    switch (shape->kind) {
    case SHAPE_RECTANGLE:
        add_rectangle(out, shape);
        break;
    case SHAPE_LINE:
    case SHAPE_AREA:
        add_path(out, shape);
        break;
    case SHAPE_TEXT:
        add_text_shape(out, shape);
        break;
    case SHAPE_GROUP:
        text_add(out, "<g>");
        if (shape->text) {
            text_add(out, "<title>");
            add_escaped(out, shape->text);
            text_add(out, "</title>");
        }
        text_add(out, "\n");
        break;
    case SHAPE_GROUP_END:
        text_add(out, "</g>\n");
        break;
    }
}

static void add_dark_rules(struct text *out)
{
    text_add(out, "<style>@media (prefers-color-scheme:dark){");
    for (int colour = COLOUR_NONE + 1; colour < DRAWING_COLOURS; colour++) {
        unsigned rgb = drawing_rgb((enum colour)colour, true);
        text_printf(out, ".f%d{fill:#%06x}.s%d{stroke:#%06x}", colour, rgb, colour, rgb);
    }
    text_add(out, "}</style>\n");
}

void drawing_svg(const struct drawing *drawing, struct text *out)
{
    text_add(out, "<svg xmlns=\"http://www.w3.org/2000/svg\"");
    add_attribute(out, "width", drawing->width);
    add_attribute(out, "height", drawing->height);
    text_add(out, " viewBox=\"0 0 ");
    add_number(out, drawing->width);
    text_add(out, " ");
    add_number(out, drawing->height);
    text_add(out, "\" role=\"img\" font-family=\"system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', "
                  "'DejaVu Sans', sans-serif\">\n");
    if (drawing->title) {
        text_add(out, "<title>");
        add_escaped(out, drawing->title);
        text_add(out, "</title>\n");
    }
    if (drawing->description) {
        text_add(out, "<desc>");
        add_escaped(out, drawing->description);
        text_add(out, "</desc>\n");
    }
    add_dark_rules(out);
    struct paint ground = {.fill = COLOUR_GROUND};
    add_rectangle(out, &(struct shape){.width = drawing->width, .height = drawing->height, .paint = ground});
    for (size_t i = 0; i < drawing->shape_count; i++)
        add_shape(out, &drawing->shapes[i]);
    text_add(out, "</svg>\n");
}
