/* tools/top/frame.h - a grid of characters with styles, independent of terminals.
 *
 * All pages are drawn into a frame. The screen shows the frame, --once prints it, and tests read it.
 *
 * Note: text beyond the edge is cut. Unprintable characters become '?', because names of processes and hosts
 * are not trusted.
 */
#ifndef TOP_FRAME_H
#define TOP_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/string.h"

/* The meaning of a cell. The screen chooses colour and weight. Classes also have letters, because some
 * terminals show no colours. */
enum style {
    STYLE_PLAIN,
    STYLE_DIM,
    STYLE_STRONG,
    STYLE_TITLE,    /* the program's name */
    STYLE_HEADING,  /* column headings */
    STYLE_SELECTED, /* the row under the cursor */
    STYLE_KEY,      /* a key to press */
    STYLE_GRAPH,
    STYLE_WARNING,
    STYLE_MEASURED,
    STYLE_DERIVED,
    STYLE_MODELLED,
    STYLE_ASSUMED,
    STYLE_COUNT
};

struct cell {
    uint32_t character; /* Unicode, one column wide */
    enum style style;
};

struct frame {
    int width, height;
    bool is_ascii; /* other characters become '?' */
    struct cell *cells;
    size_t capacity;
};

/* Sets the frame's size and fills the frame with blanks. Returns false, with an empty frame, if out of
 * memory. The caller frees the frame with frame_free. */
bool frame_clear(struct frame *frame, int width, int height);
void frame_free(struct frame *frame);
/* Writes UTF-8 text from column x on, at most `width` columns (negative: to the edge). Returns the next
 * column. */
int frame_text(struct frame *frame, int y, int x, int width, enum style style, const char *text);
int frame_print(struct frame *frame, int y, int x, enum style style, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Writes text right-aligned in `width` columns; longer text is cut at its end. */
void frame_right(struct frame *frame, int y, int x, int width, enum style style, const char *text);
/* Sets one cell; ignores positions outside the frame. */
void frame_put(struct frame *frame, int y, int x, enum style style, uint32_t character);
/* Sets the style of a whole row. */
void frame_mark(struct frame *frame, int y, enum style style);
/* Returns the number of columns of a text. */
int frame_width_of(const char *text);
/* Appends one row to `out` as UTF-8, without trailing blanks. */
void frame_row(const struct frame *frame, int y, struct text *out);
/* Appends all rows of `frame`, a struct frame, each with a newline. The parameter types are those of
 * page_print. */
void frame_rows(const void *frame, struct text *out);

#endif
