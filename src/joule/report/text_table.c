/* joule/report/text_table.c - see text_table.h.
 *
 * Note: a UTF-8 character counts as one column, which is sufficient for the names of hardware.
 */
#include "joule/report/text_table.h"

#include <string.h>

#define GAP       2    /* spaces between cells */
#define MIN_WIDTH 8    /* minimum width of a truncated column */
#define MARK      ".." /* marks truncated text */

struct table_row {
    struct table_row *next;
    char *cells[TABLE_MAX_COLUMNS]; /* NULL: empty */
};

/* Returns the width of a UTF-8 text in columns; 0 for NULL. */
static size_t width_of(const char *string)
{
    size_t width = 0;
    for (; string && *string; string++)
        width += ((unsigned char)*string & 0xc0) != 0x80;
    return width;
}

/* Adds the next character of *string, or '?' for a control character, and advances *string. */
static void add_character(struct text *out, const char **string)
{
    size_t length = string_utf8_length(*string, strnlen(*string, 4));
    unsigned char first = (unsigned char)(*string)[0], second = length > 1 ? (unsigned char)(*string)[1] : 0;
    bool is_control = first < 0x20 || first == 0x7f || (first == 0xc2 && second < 0xa0);
    if (length == 0 || is_control)
        text_add(out, "?");
    else
        text_add_bytes(out, *string, length);
    *string += length ? length : 1;
}

void text_add_printable(struct text *out, const char *string)
{
    while (*string)
        add_character(out, &string);
}

void text_add_cut(struct text *out, const char *string, size_t width)
{
    size_t whole = 0;
    for (const char *s = string; *s && whole <= width; whole++)
        add_character(&(struct text){0}, &s);
    bool is_cut = whole > width;
    size_t keep = !is_cut ? whole : width > strlen(MARK) ? width - strlen(MARK) : 0;
    while (keep-- > 0)
        add_character(out, &string);
    if (is_cut)
        text_add(out, MARK);
}

void text_add_wrapped(struct text *out, const char *string, size_t used, const char *indent, size_t width)
{
    bool is_first = true;
    for (string += strspn(string, " \n"); *string; string += strspn(string, " \n")) {
        const char *end = string + strcspn(string, " \n");
        size_t length = 0;
        for (const char *s = string; s < end; length++)
            add_character(&(struct text){0}, &s);
        if (!is_first && used + 1 + length > width) {
            text_add(out, "\n");
            text_add(out, indent);
            used = width_of(indent);
        } else if (!is_first) {
            text_add(out, " ");
            used++;
        }
        while (string < end)
            add_character(out, &string);
        used += length;
        is_first = false;
    }
}

/* Returns a copy of the text that is safe to print, in the arena; NULL: out of memory. */
static char *printable_copy(struct arena *arena, const char *string)
{
    struct text text;
    text_init(&text, NULL, 0);
    text_add_printable(&text, string);
    size_t size = text.length + 1;
    char *copy = arena_alloc(arena, size);
    if (!copy)
        return NULL;
    text_init(&text, copy, size);
    text_add_printable(&text, string);
    return copy;
}

void table_start(struct table *table, struct arena *arena, const char *align, const char *const *headings)
{
    *table = (struct table){.arena = arena, .align = align, .columns = strlen(align)};
    for (size_t i = 0; i < table->columns; i++)
        table_cell(table, headings[i]);
}

void table_cell(struct table *table, const char *text)
{
    if (table->next_column == 0) {
        struct table_row *row = arena_alloc(table->arena, sizeof *row);
        if (!row)
            return;
        if (table->last)
            table->last->next = row;
        else
            table->first = row;
        table->last = row;
    }
    if (*text)
        table->last->cells[table->next_column] = printable_copy(table->arena, text);
    table->next_column = (table->next_column + 1) % table->columns;
}

/* Computes the widths of the columns; 0 for a column with no text below its heading. */
static void measure(const struct table *table, size_t widths[TABLE_MAX_COLUMNS])
{
    for (size_t i = 0; i < table->columns; i++) {
        widths[i] = 0;
        for (const struct table_row *row = table->first->next; row; row = row->next)
            if (width_of(row->cells[i]) > widths[i])
                widths[i] = width_of(row->cells[i]);
        if (widths[i] && width_of(table->first->cells[i]) > widths[i])
            widths[i] = width_of(table->first->cells[i]);
    }
}

/* Narrows columns that may be truncated, always the widest one, until the line fits into `room` characters or
 * no column can be narrowed. */
static void fit(const struct table *table, size_t room, size_t widths[TABLE_MAX_COLUMNS])
{
    for (;;) {
        size_t total = 0, widest = table->columns;
        for (size_t i = 0; i < table->columns; i++) {
            total += widths[i] ? widths[i] + (total ? GAP : 0) : 0;
            if (table->align[i] == 'c' && widths[i] > MIN_WIDTH &&
                (widest == table->columns || widths[i] > widths[widest]))
                widest = i;
        }
        if (total <= room || widest == table->columns)
            return;
        size_t excess = total - room, spare = widths[widest] - MIN_WIDTH;
        widths[widest] -= excess < spare ? excess : spare;
    }
}

static void print_row(const struct table *table, const struct table_row *row, const size_t *widths,
                      struct text *out)
{
    /* pending white space, written only before further text, so that no line ends in white space */
    size_t owed = 0;
    for (size_t i = 0; i < table->columns; i++) {
        if (!widths[i])
            continue;
        const char *cell = row->cells[i] ? row->cells[i] : "";
        size_t width = width_of(cell) < widths[i] ? width_of(cell) : widths[i];
        size_t pad = widths[i] - width;
        bool is_right = table->align[i] == 'r';
        owed += is_right ? pad : 0;
        if (width) {
            text_printf(out, "%*s", (int)owed, "");
            text_add_cut(out, cell, width);
            owed = 0;
        }
        owed += GAP + (is_right ? 0 : pad);
    }
}

void table_print(const struct table *table, const char *indent, size_t max_width, bool colour,
                 struct text *out)
{
    if (!table->first || !table->first->next)
        return;
    size_t widths[TABLE_MAX_COLUMNS], margin = width_of(indent);
    measure(table, widths);
    fit(table, max_width > margin ? max_width - margin : 0, widths);
    for (const struct table_row *row = table->first; row; row = row->next) {
        bool is_heading = row == table->first;
        text_add(out, indent);
        text_add(out, colour && is_heading ? "\033[2m" : "");
        print_row(table, row, widths, out);
        text_add(out, colour && is_heading ? "\033[0m\n" : "\n");
    }
}
