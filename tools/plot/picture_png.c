/* tools/plot/picture_png.c - see picture_png.h. */
#include "plot/picture_png.h"

#include "base/error.h"

#ifndef PLOT_HAS_CAIRO

bool picture_png_is_supported(void)
{
    return false;
}

joule_status picture_png_write(const struct drawing *drawing, const char *path, joule_error *out_error)
{
    (void)drawing;
    return error_set(out_error, JOULE_UNSUPPORTED, "cannot write %s: this build lacks cairo", path);
}

#else

#include <cairo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "common/output.h"

#define SCALE      2
#define MAX_PIXELS 16000 /* of a side; the limit of cairo's images is 32767 */

bool picture_png_is_supported(void)
{
    return true;
}

static void set_colour(cairo_t *cairo, enum colour colour, double opacity)
{
    uint32_t rgb = drawing_rgb(colour, false);
    cairo_set_source_rgba(cairo, (rgb >> 16) / 255.0, (rgb >> 8 & 255) / 255.0, (rgb & 255) / 255.0,
                          opacity > 0 ? opacity : 1);
}

/* Fills and strokes the current path. */
static void paint_path(cairo_t *cairo, const struct paint *paint)
{
    if (paint->fill) {
        set_colour(cairo, paint->fill, paint->fill_opacity);
        cairo_fill_preserve(cairo);
    }
    if (paint->stroke) {
        static const double dashes[] = {5, 4};
        set_colour(cairo, paint->stroke, paint->stroke_opacity);
        cairo_set_line_width(cairo, paint->stroke_width > 0 ? paint->stroke_width : 1);
        cairo_set_dash(cairo, dashes, paint->is_dashed ? 2 : 0, 0);
        cairo_stroke_preserve(cairo);
    }
    cairo_new_path(cairo);
}

static void paint_points(cairo_t *cairo, const struct shape *shape)
{
    for (size_t i = 0; i < shape->point_count; i++)
        cairo_line_to(cairo, shape->points[i].x, shape->points[i].y);
    if (shape->kind == SHAPE_AREA)
        cairo_close_path(cairo);
    paint_path(cairo, &shape->paint);
}

static void paint_text(cairo_t *cairo, const struct shape *shape)
{
    const struct text_style *style = &shape->style;
    cairo_text_extents_t extents;
    cairo_save(cairo);
    cairo_select_font_face(cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           style->is_bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    /* The usual sans-serif font of Linux (DejaVu) is wider than the metrics of drawing_text_width. */
    cairo_set_font_size(cairo, style->size);
    cairo_text_extents(cairo, shape->text, &extents);
    double expected = drawing_text_width(shape->text, style->size, style->is_bold);
    double narrow = extents.x_advance > expected ? expected / extents.x_advance : 1;
    cairo_translate(cairo, shape->x, shape->y);
    if (style->is_vertical)
        cairo_rotate(cairo, -M_PI / 2);
    cairo_scale(cairo, narrow, 1);
    cairo_move_to(cairo, -extents.x_advance * style->anchor / 2.0, 0);
    set_colour(cairo, style->colour, 1);
    cairo_show_text(cairo, shape->text);
    cairo_restore(cairo);
    cairo_new_path(cairo);
}

static void paint_shape(cairo_t *cairo, const struct shape *shape)
{
    switch (shape->kind) {
    case SHAPE_RECTANGLE:
        cairo_rectangle(cairo, shape->x, shape->y, shape->width, shape->height);
        paint_path(cairo, &shape->paint);
        break;
    case SHAPE_LINE:
    case SHAPE_AREA:
        paint_points(cairo, shape);
        break;
    case SHAPE_TEXT:
        if (shape->text && *shape->text)
            paint_text(cairo, shape);
        break;
    case SHAPE_GROUP:
    case SHAPE_GROUP_END:
        break;
    }
}

struct bytes {
    char *items;
    size_t count, capacity;
};

static cairo_status_t keep(void *context, const unsigned char *data, unsigned length)
{
    struct bytes *bytes = context;
    if (!array_reserve((void **)&bytes->items, &bytes->capacity, bytes->count + length, 1))
        return CAIRO_STATUS_NO_MEMORY;
    memcpy(bytes->items + bytes->count, data, length);
    bytes->count += length;
    return CAIRO_STATUS_SUCCESS;
}

/* Paints the drawing and encodes it. Returns cairo's status. */
static cairo_status_t encode(const struct drawing *drawing, struct bytes *out)
{
    int width = (int)fmin(MAX_PIXELS, ceil(drawing->width * SCALE));
    int height = (int)fmin(MAX_PIXELS, ceil(drawing->height * SCALE));
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    cairo_t *cairo = cairo_create(surface);
    cairo_scale(cairo, SCALE, SCALE);
    set_colour(cairo, COLOUR_GROUND, 1);
    cairo_paint(cairo);
    for (size_t i = 0; i < drawing->shape_count; i++)
        paint_shape(cairo, &drawing->shapes[i]);
    cairo_status_t status = cairo_status(cairo);
    cairo_destroy(cairo);
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_write_to_png_stream(surface, keep, out);
    cairo_surface_destroy(surface);
    return status;
}

joule_status picture_png_write(const struct drawing *drawing, const char *path, joule_error *out_error)
{
    struct bytes bytes = {0};
    cairo_status_t status = encode(drawing, &bytes);
    joule_status result = JOULE_OK;
    if (status != CAIRO_STATUS_SUCCESS)
        result =
            error_set(out_error, status == CAIRO_STATUS_NO_MEMORY ? JOULE_NO_MEMORY : JOULE_FAILED,
                      "cannot write %s: %s", path,
                      status == CAIRO_STATUS_NO_MEMORY ? "out of memory" : cairo_status_to_string(status));
    else
        result = output_write(path, bytes.items, bytes.count, out_error);
    free(bytes.items);
    return result;
}

#endif
