/* tools/top/frame.c - see frame.h. */
#include "frame.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

bool frame_clear(struct frame *frame, int width, int height)
{
    size_t count = width > 0 && height > 0 ? (size_t)width * (size_t)height : 0;
    if (count > frame->capacity) {
        free(frame->cells);
        frame->cells = malloc(count * sizeof *frame->cells);
        frame->capacity = frame->cells ? count : 0;
    }
    bool is_allocated = count <= frame->capacity;
    frame->width = is_allocated ? width : 0;
    frame->height = is_allocated ? height : 0;
    for (size_t i = 0; is_allocated && i < count; i++)
        frame->cells[i] = (struct cell){' ', STYLE_PLAIN};
    return is_allocated;
}

void frame_free(struct frame *frame)
{
    free(frame->cells);
    *frame = (struct frame){0};
}

/* Returns the first character of `text`; *out_length: its length in bytes, 0 at the end. */
static uint32_t next_character(const char *text, size_t *out_length)
{
    size_t left = strlen(text), length = left ? string_utf8_length(text, left) : 0;
    *out_length = length || !left ? length : 1;
    if (length <= 1)
        return length ? (unsigned char)*text : '?';
    uint32_t character = (unsigned char)*text & (0x7f >> length);
    for (size_t i = 1; i < length; i++)
        character = character << 6 | ((unsigned char)text[i] & 0x3f);
    return character;
}

static uint32_t printable(const struct frame *frame, uint32_t character)
{
    if (character < 0x7f)
        return character >= ' ' ? character : '?';
    return !frame->is_ascii && wcwidth((wchar_t)character) == 1 ? character : '?';
}

void frame_put(struct frame *frame, int y, int x, enum style style, uint32_t character)
{
    if (y >= 0 && y < frame->height && x >= 0 && x < frame->width)
        frame->cells[y * frame->width + x] = (struct cell){printable(frame, character), style};
}

int frame_text(struct frame *frame, int y, int x, int width, enum style style, const char *text)
{
    int end = width < 0 ? frame->width : x + width;
    size_t length;
    for (uint32_t c = next_character(text, &length); length && x < end; c = next_character(text, &length)) {
        frame_put(frame, y, x++, style, c);
        text += length;
    }
    return x;
}

int frame_print(struct frame *frame, int y, int x, enum style style, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return frame_text(frame, y, x, -1, style, text);
}

int frame_width_of(const char *text)
{
    int width = 0;
    size_t length;
    for (next_character(text, &length); length; next_character(text, &length)) {
        text += length;
        width++;
    }
    return width;
}

void frame_right(struct frame *frame, int y, int x, int width, enum style style, const char *text)
{
    int blank = width - frame_width_of(text);
    frame_text(frame, y, x + (blank > 0 ? blank : 0), blank > 0 ? width - blank : width, style, text);
}

void frame_mark(struct frame *frame, int y, enum style style)
{
    for (int x = 0; x < frame->width && y >= 0 && y < frame->height; x++)
        frame->cells[y * frame->width + x].style = style;
}

static void add_character(struct text *out, uint32_t c)
{
    char bytes[4];
    size_t count = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = count; i-- > 1; c >>= 6)
        bytes[i] = (char)(0x80 | (c & 0x3f));
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    bytes[0] = (char)(first[count] | c);
    text_add_bytes(out, bytes, count);
}

void frame_row(const struct frame *frame, int y, struct text *out)
{
    const struct cell *row = &frame->cells[y * frame->width];
    int end = frame->width;
    while (end > 0 && row[end - 1].character == ' ')
        end--;
    for (int x = 0; x < end; x++)
        add_character(out, row[x].character);
}

void frame_rows(const void *frame, struct text *out)
{
    const struct frame *f = frame;
    for (int y = 0; y < f->height; y++) {
        frame_row(f, y, out);
        text_add(out, "\n");
    }
}
