/* joule/picture/drawing.c - adds shapes to a drawing. */
#include "joule/picture/drawing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"

#define DEFAULT_FONT_SIZE 12
#define MAX_TEXT_BYTES    1000
#define ELLIPSIS          "\u2026"

/* Colours on a light and on a dark ground. The series are variants of the palette of Okabe and Ito, which
 * stays distinguishable with all common colour vision deficiencies. */
static const uint32_t colours[DRAWING_COLOURS][2] = {
    [COLOUR_GROUND] = {0xffffff, 0x1b1e21},     [COLOUR_INK] = {0x1c1e21, 0xe8e9eb},
    [COLOUR_SOFT] = {0x5f656d, 0xa3aab3},       [COLOUR_GRID] = {0xe3e4e6, 0x30343a},
    [COLOUR_UNKNOWN] = {0xc9ccd1, 0x4a4f57},    [COLOUR_GOOD] = {0x1f7a3d, 0x69c987},
    [COLOUR_BAD] = {0xb3261e, 0xff8a80},        [COLOUR_WARN] = {0x8a5a00, 0xe0b04c},
    [COLOUR_OTHER] = {0x9aa1ab, 0x7d858f},      [COLOUR_SERIES + 0] = {0x0072b2, 0x3d9bd6},
    [COLOUR_SERIES + 1] = {0xe69f00, 0xf0b432}, [COLOUR_SERIES + 2] = {0x009e73, 0x2fbf95},
    [COLOUR_SERIES + 3] = {0xcc79a7, 0xd98fb8}, [COLOUR_SERIES + 4] = {0x56b4e9, 0x8accf2},
    [COLOUR_SERIES + 5] = {0xd55e00, 0xee7f32}, [COLOUR_SERIES + 6] = {0xd8c92a, 0xf0e442},
    [COLOUR_SERIES + 7] = {0x6a4c93, 0xa78bd0},
};

uint32_t drawing_rgb(enum colour colour, bool is_dark)
{
    return (unsigned)colour < DRAWING_COLOURS ? colours[colour][is_dark] : 0;
}

/* Returns a copy of a text in which invalid UTF-8 and characters that XML does not allow are U+FFFD. */
static char *copy_text(struct drawing *drawing, const char *text)
{
    char clean[MAX_TEXT_BYTES + 4];
    size_t length = 0, left = strlen(text);
    while (left > 0 && length + 4 <= MAX_TEXT_BYTES) {
        uint32_t character;
        size_t bytes = string_utf8_read(text, left, &character);
        bool is_allowed = bytes > 0 && character >= 0x20 && character != 0x7f && character != 0xfffe &&
                          character != 0xffff && !(character >= 0x80 && character < 0xa0);
        length += string_utf8_write(is_allowed ? character : 0xfffd, clean + length);
        bytes = bytes ? bytes : 1;
        text += bytes;
        left -= bytes;
    }
    return arena_copy(&drawing->arena, clean, length);
}

void drawing_init(struct drawing *drawing, double width, double height, const char *title,
                  const char *description)
{
    *drawing = (struct drawing){.arena.block_size = 1 << 16, .width = width, .height = height};
    drawing->title = title ? copy_text(drawing, title) : NULL;
    drawing->description = description ? copy_text(drawing, description) : NULL;
    drawing->is_out_of_memory = drawing->arena.is_out_of_memory;
}

void drawing_free(struct drawing *drawing)
{
    arena_free(&drawing->arena);
    free(drawing->shapes);
    *drawing = (struct drawing){0};
}

/* Adds a shape. Returns false if out of memory. */
static bool add(struct drawing *drawing, const struct shape *shape)
{
    if (drawing->is_out_of_memory || drawing->arena.is_out_of_memory ||
        !ARRAY_ROOM(drawing->shapes, drawing->shape_capacity, drawing->shape_count)) {
        drawing->is_out_of_memory = true;
        return false;
    }
    drawing->shapes[drawing->shape_count++] = *shape;
    return true;
}

void drawing_add_rectangle(struct drawing *drawing, double x, double y, double width, double height,
                           struct paint paint)
{
    if (!isfinite(x) || !isfinite(y) || !isfinite(width) || !isfinite(height) || width < 0 || height < 0)
        return;
    add(drawing,
        &(struct shape){
            .kind = SHAPE_RECTANGLE, .paint = paint, .x = x, .y = y, .width = width, .height = height});
}

static void add_points(struct drawing *drawing, enum shape_kind kind, const struct point *points,
                       size_t count, struct paint paint)
{
    if (count < 2)
        return;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(points[i].x) || !isfinite(points[i].y))
            return;
    }
    struct point *copy = arena_alloc(&drawing->arena, count * sizeof *points);
    if (copy)
        memcpy(copy, points, count * sizeof *points);
    add(drawing, &(struct shape){.kind = kind, .paint = paint, .points = copy, .point_count = count});
}

void drawing_add_line(struct drawing *drawing, const struct point *points, size_t count, struct paint paint)
{
    add_points(drawing, SHAPE_LINE, points, count, paint);
}

void drawing_add_segment(struct drawing *drawing, double x1, double y1, double x2, double y2,
                         struct paint paint)
{
    add_points(drawing, SHAPE_LINE, (struct point[]){{x1, y1}, {x2, y2}}, 2, paint);
}

void drawing_add_area(struct drawing *drawing, const struct point *points, size_t count, struct paint paint)
{
    add_points(drawing, SHAPE_AREA, points, count, paint);
}

void drawing_add_text(struct drawing *drawing, double x, double y, const char *text, struct text_style style)
{
    if (!isfinite(x) || !isfinite(y))
        return;
    style.size = style.size > 0 ? style.size : DEFAULT_FONT_SIZE;
    style.colour = style.colour ? style.colour : COLOUR_INK;
    add(drawing, &(struct shape){
                     .kind = SHAPE_TEXT, .x = x, .y = y, .text = copy_text(drawing, text), .style = style});
}

bool drawing_add_fitted_text(struct drawing *drawing, double x, double y, double max_width, const char *text,
                             struct text_style style)
{
    double size = style.size > 0 ? style.size : DEFAULT_FONT_SIZE;
    if (drawing_text_width(text, size, style.is_bold) <= max_width) {
        drawing_add_text(drawing, x, y, text, style);
        return true;
    }
    char shorter[MAX_TEXT_BYTES];
    size_t length = 0, left = strlen(text), characters = 0;
    double room = max_width - drawing_text_width(ELLIPSIS, size, style.is_bold);
    while (left > 0 && length + 8 < sizeof shorter) {
        size_t bytes = string_utf8_length(text + length, left);
        bytes = bytes ? bytes : 1;
        memcpy(shorter + length, text + length, bytes);
        shorter[length + bytes] = '\0';
        if (drawing_text_width(shorter, size, style.is_bold) > room)
            break;
        length += bytes;
        left -= bytes;
        characters++;
    }
    if (characters < 2)
        return false;
    memcpy(shorter + length, ELLIPSIS, sizeof ELLIPSIS);
    drawing_add_text(drawing, x, y, shorter, style);
    return true;
}

void drawing_begin_group(struct drawing *drawing, const char *title)
{
    add(drawing, &(struct shape){.kind = SHAPE_GROUP, .text = title ? copy_text(drawing, title) : NULL});
}

void drawing_end_group(struct drawing *drawing)
{
    add(drawing, &(struct shape){.kind = SHAPE_GROUP_END});
}

/* Widths of the characters from ' ' to '~' in thousandths of the font's size: the metrics of Helvetica. */
static const short widths[] = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584,
};

double drawing_text_width(const char *text, double size, bool is_bold)
{
    double sum = 0;
    for (size_t left = strlen(text); left > 0;) {
        uint32_t character;
        size_t bytes = string_utf8_read(text, left, &character);
        if (bytes == 1 && character >= ' ' && character <= '~')
            sum += widths[character - ' '];
        else
            sum += character >= 0x1100 && character != 0x2026 && character < 0xfffd ? 1000 : 600;
        bytes = bytes ? bytes : 1;
        text += bytes;
        left -= bytes;
    }
    /* Viewers have other fonts, which may be wider. */
    return sum / 1000 * size * (is_bold ? 1.12 : 1.05);
}
