/* joule/report/table.h - aligned columns for people.
 *
 * Owns widths and the cutting of what is too wide. It knows nothing of what the cells mean.
 * Newcomers: a column without any text is left out, so callers add every column and leave cells empty. Control
 * characters become '?': names come from outside and must not drive the terminal.
 */
#ifndef JOULE_REPORT_TABLE_H
#define JOULE_REPORT_TABLE_H

#include "base/arena.h"
#include "base/string.h"

#define TABLE_MAX_COLUMNS 12

struct table_row;
struct table {
    struct arena *arena; /* cells are copied here */
    const char *align;   /* one letter for each column: l, r, or c for "left, and may be cut" */
    size_t columns;
    struct table_row *first, *last;
    size_t next_column;
};

/* `headings` has one string for each letter of `align`. */
void table_start(struct table *table, struct arena *arena, const char *align, const char *const *headings);
/* The next cell, from left to right; the row ends by itself. Lost where memory is used up. */
void table_cell(struct table *table, const char *text);
/* Adds the table with its headings; lines end in a newline. `indent` goes before each. */
void table_print(const struct table *table, const char *indent, size_t max_width, bool colour,
                 struct text *out);

/* Adds `string` with control characters, and what is not UTF-8, as '?'. */
void text_add_printable(struct text *out, const char *string);

/* As above, and at most `width` characters of it; ".." at the end where some were cut. */
void text_add_cut(struct text *out, const char *string, size_t width);
/* As text_add_printable, in lines of at most `width` characters broken between words. The first line has `used`
 * characters already; the next ones begin with `indent`. */
void text_add_wrapped(struct text *out, const char *string, size_t used, const char *indent, size_t width);

#endif
