/* ir/text.h - names and elements in the text form of graphs, and the cursor of the parser.
 *
 * Note: a text is not trusted. Memory that is allocated is at most a few times the text's own size.
 */
#ifndef FORGE_IR_TEXT_H
#define FORGE_IR_TEXT_H

#include <forge/tensor.h>
#include "base/arena.h"
#include "base/string.h"

/* --- names ---------------------------------------------------------------------------------------------- */

/* Adds the name unchanged if it is a word (letters, digits, '_', '.', '-'; a letter or '_' first), else in
 * quotes. */
void text_add_word(struct text *text, const char *name);
/* Adds the path unchanged if it consists of words with '/' between them, else in quotes. */
void text_add_path(struct text *text, const char *path);
/* Adds the name in quotes. A quote, a backslash and every byte that is not printable UTF-8 becomes a
 * backslash and two hexadecimal digits. */
void text_add_quoted(struct text *text, const char *name);

/* --- elements ------------------------------------------------------------------------------------------- */

enum { ELEMENT_TEXT = 64 }; /* bytes that suffice for any element as text */

/* Adds an element exactly: as the shortest decimal number that parses to the same bytes, or as true, false,
 * nan, inf or -inf. If no such text parses to the same bytes, for example for a NaN with a payload, adds 0x
 * and the bits. Not for block formats. */
void text_add_element(struct text *text, forge_dtype dtype, const void *element);
/* Parses an element of this type. Returns false if the string is not an element of the type. */
bool element_from_text(forge_dtype dtype, const char *string, void *out_element);

/* --- parsing -------------------------------------------------------------------------------------------- */

/* A position in a text that is being parsed, with the first error. */
struct cursor {
    const char *text;
    size_t length, at;
    joule_error *error;
    joule_status status; /* of the first error; the functions then read nothing more */
};

/* Records an error with the line and column of the offset `at`, unless there is already an error. Returns
 * false. */
bool cursor_fail_at(struct cursor *cursor, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Records an error "line 2, column 7: expected WHAT, and found 'x'" at the cursor. Returns false. */
bool cursor_expected(struct cursor *cursor, const char *what);
/* Records JOULE_NO_MEMORY, unless there is already an error. Returns false. */
bool cursor_no_memory(struct cursor *cursor);

/* Skips spaces, tabs and comments, but not the end of a line. */
void cursor_skip(struct cursor *cursor);
/* Calls cursor_skip. Then returns the next character without consuming it, or '\0' at the end of the text. */
char cursor_next(struct cursor *cursor);
/* Consumes `token`, which is punctuation or a whole word, if it is next. Otherwise returns false. */
bool cursor_take(struct cursor *cursor, const char *token);
/* Like cursor_take, but records an error if `token` is not next. */
bool cursor_want(struct cursor *cursor, const char *token);
/* Consumes line ends and empty lines. Returns true if it consumed a line end, or if the text has ended. */
bool cursor_take_lines(struct cursor *cursor);

/* Reads a word or a quoted name. Returns a copy in the arena, or NULL after an error. is_path: words may
 * contain '/'. */
char *cursor_name(struct cursor *cursor, struct arena *arena, bool is_path);
/* Reads an identifier (letters, digits and '_') of at most size - 1 characters. Returns false, and consumes
 * nothing, if there is none. */
bool cursor_identifier(struct cursor *cursor, char *out, size_t size);
/* Reads a decimal number from 0 to `max`. Returns false, with an error, if there is none. */
bool cursor_number(struct cursor *cursor, uint64_t max, uint64_t *out);
/* Reads an element of this type. Returns false, with an error, if there is none. */
bool cursor_element(struct cursor *cursor, forge_dtype dtype, void *out_element);

#endif
