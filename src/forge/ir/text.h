/* ir/text.h - words of the text form of graphs, and the reading of any text.
 *
 * Owns names and elements as text, both ways, and the cursor that the parser moves over its text. It does not know what a
 * graph looks like: text_print.c writes that and text_parse.c reads it.
 * Newcomers: nothing in a text is trusted; memory that is asked for is at most a few times what the text itself takes.
 */
#ifndef FORGE_IR_TEXT_H
#define FORGE_IR_TEXT_H

#include <forge/tensor.h>
#include "base/arena.h"
#include "base/string.h"

/* --- names -------------------------------------------------------------------------------------------------- */

/* The name as it is where it is a word (letters, digits, '_', '.', '-'; a letter or '_' first), else in quotes. */
void text_add_word(struct text *text, const char *name);
/* As it is where it is words with '/' between, else in quotes. */
void text_add_path(struct text *text, const char *path);
/* In quotes; a quote, a backslash and what is no printable UTF-8 are a backslash and two hexadecimal digits. */
void text_add_quoted(struct text *text, const char *name);

/* --- elements ----------------------------------------------------------------------------------------------- */

enum { ELEMENT_TEXT = 64 }; /* room for any element as text */

/* Exact: the shortest decimal number that reads back as the same bytes; true, false, nan, inf, -inf; and 0x with the bits
 * for what no number says, such as a NaN with a payload. Only for types whose elements have an address. */
void text_add_element(struct text *text, forge_dtype dtype, const void *element);
/* False: no element of this type. */
bool element_from_text(forge_dtype dtype, const char *string, void *out_element);

/* --- a text that is read ------------------------------------------------------------------------------------ */

struct cursor {
    const char *text;
    size_t length, at;
    joule_error *error;
    joule_status status; /* once not OK, nothing more is taken */
};

/* Keeps the first error, with line and column of `at`; returns false. */
bool cursor_fail_at(struct cursor *cursor, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "line 2, column 7: expected WHAT, and found 'x'". */
bool cursor_expected(struct cursor *cursor, const char *what);
bool cursor_no_memory(struct cursor *cursor);

/* Over blanks and comments, but not over the end of a line. */
void cursor_skip(struct cursor *cursor);
/* The next character, after blanks; '\0' at the end of the text. */
char cursor_next(struct cursor *cursor);
/* Takes this punctuation, or this whole word, if it is next. */
bool cursor_take(struct cursor *cursor, const char *token);
/* The same, or an error. */
bool cursor_want(struct cursor *cursor, const char *token);
/* Takes the ends of lines, and empty lines. False: something else is next. */
bool cursor_take_lines(struct cursor *cursor);

/* A word or quoted name, kept in the arena; NULL after an error. With `is_path`, '/' belongs to words. */
char *cursor_name(struct cursor *cursor, struct arena *arena, bool is_path);
/* An identifier of at most size - 1 characters: letters, digits and '_'. False, with nothing taken: none. */
bool cursor_identifier(struct cursor *cursor, char *out, size_t size);
/* A decimal number from 0 to most. */
bool cursor_number(struct cursor *cursor, uint64_t most, uint64_t *out);
/* An element of this type. */
bool cursor_element(struct cursor *cursor, forge_dtype dtype, void *out_element);

#endif
