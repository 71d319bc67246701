/* tools/top/frame.h - a page of characters that knows nothing of terminals.
 *
 * Owns the grid that everything is drawn on, with a style for each cell. The screen shows it, --once prints it, and tests read
 * it. Newcomers: what does not fit is cut at the edge, and what no terminal may show becomes '?': names come from outside.
 */
#ifndef TOP_FRAME_H
#define TOP_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/string.h"

/* What a cell means; how that looks is the screen's. Colour is never alone: classes are letters, too. */
enum style {
    STYLE_PLAIN,
    STYLE_DIM,
    STYLE_STRONG,
    STYLE_TITLE,    /* the program's name */
    STYLE_HEADING,  /* of columns */
    STYLE_SELECTED, /* the row under the cursor */
    STYLE_KEY,      /* to press */
    STYLE_GRAPH,
    STYLE_WARNING,
    STYLE_MEASURED,
    STYLE_DERIVED,
    STYLE_MODELLED,
    STYLE_ASSUMED,
    STYLE_COUNT
};

struct cell {
    uint32_t character; /* Unicode; of one column's width */
    enum style style;
};

struct frame {
    int width, height;
    bool is_ascii; /* everything else becomes '?' */
    struct cell *cells;
    size_t capacity;
};

/* Makes a blank frame of that size; what it held is lost. False, and the frame empty, when memory is used up. */
bool frame_clear(struct frame *frame, int width, int height);
void frame_free(struct frame *frame);
/* Writes UTF-8 from a column on, at most `width` of them (negative: to the edge). The column behind it. */
int frame_text(struct frame *frame, int y, int x, int width, enum style style, const char *text);
int frame_print(struct frame *frame, int y, int x, enum style style, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* The same, ending at the right of `width` columns; what is too long is cut at its end. */
void frame_right(struct frame *frame, int y, int x, int width, enum style style, const char *text);
void frame_put(struct frame *frame, int y, int x, enum style style, uint32_t character);
/* Gives all of a row one style. */
void frame_mark(struct frame *frame, int y, enum style style);
/* Columns that a text takes. */
int frame_width_of(const char *text);
/* One row as UTF-8, without blanks at its end. */
void frame_row(const struct frame *frame, int y, struct text *out);
/* All rows of a struct frame, each with a line feed; for page_print. */
void frame_rows(const void *frame, struct text *out);

#endif
