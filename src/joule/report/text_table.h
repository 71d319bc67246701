/* joule/report/text_table.h - prints tables with aligned columns for terminals.
 *
 * table_print computes the widths of columns and truncates cells that do not fit.
 * Note: a column without any text is omitted, so callers add every column and leave unknown cells empty.
 * Control characters become '?', because names from devices and programs must not control the terminal.
 */
#ifndef JOULE_REPORT_TEXT_TABLE_H
#define JOULE_REPORT_TEXT_TABLE_H

#include "base/arena.h"
#include "base/string.h"

#define TABLE_MAX_COLUMNS 12

struct table_row;
struct table {
    struct arena *arena; /* contains copies of the cells */
    const char *align;   /* one letter per column: l, r, or c for "left, may be truncated" */
    size_t columns;
    struct table_row *first, *last;
    size_t next_column;
};

/* Initialises a table in `arena`, which the caller owns. `headings`: one string for each letter of `align`.
 * `align` must outlive the table. */
void table_start(struct table *table, struct arena *arena, const char *align, const char *const *headings);
/* Adds the next cell, from left to right; rows end automatically. The cell is lost if out of memory. */
void table_cell(struct table *table, const char *text);
/* Adds the table with its headings to `out`. Each line begins with `indent` and ends in a newline. */
void table_print(const struct table *table, const char *indent, size_t max_width, bool colour,
                 struct text *out);

/* Adds `string` with each control character, and each byte that is not UTF-8, replaced by '?'. */
void text_add_printable(struct text *out, const char *string);

/* Like text_add_printable, but at most `width` characters, with ".." at the end if the string was
 * truncated. */
void text_add_cut(struct text *out, const char *string, size_t width);
/* Like text_add_printable, in lines of at most `width` characters, broken between words. `used`: characters
 * that the first line contains already. Further lines begin with `indent`. */
void text_add_wrapped(struct text *out, const char *string, size_t used, const char *indent, size_t width);

#endif
