/* ir/text_cursor.c - moves a cursor over a text; see text.h.
 *
 * Note: the line and column of the cursor are computed only when an error is recorded.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/error.h"
#include "forge/ir/text.h"

bool cursor_fail_at(struct cursor *cursor, size_t at, const char *format, ...)
{
    char what[400];
    size_t line = 1, column = 1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (cursor->status != JOULE_OK)
        return false;
    for (size_t i = 0; i < at && i < cursor->length; i++, column++)
        if (cursor->text[i] == '\n')
            line++, column = 0;
    cursor->status = error_set(cursor->error, JOULE_INVALID, "line %zu, column %zu: %s", line, column, what);
    return false;
}

bool cursor_expected(struct cursor *cursor, const char *what)
{
    char found[24];
    cursor_skip(cursor);
    size_t count = 0;
    for (; count < sizeof found - 1 && cursor->at + count < cursor->length; count++) {
        char c = cursor->text[cursor->at + count];
        if (c == ' ' || c == '\n' || c == '\r' || c == '\t')
            break;
        found[count] = c > ' ' && c < 0x7f ? c : '?';
    }
    found[count] = '\0';
    if (count)
        return cursor_fail_at(cursor, cursor->at, "expected %s, and found '%s'", what, found);
    return cursor_fail_at(cursor, cursor->at, "expected %s, and found the end of the %s", what,
                          cursor->at < cursor->length ? "line" : "text");
}

bool cursor_no_memory(struct cursor *cursor)
{
    if (cursor->status == JOULE_OK)
        cursor->status = error_set(cursor->error, JOULE_NO_MEMORY, "cannot parse a graph: out of memory");
    return false;
}

void cursor_skip(struct cursor *cursor)
{
    while (cursor->at < cursor->length) {
        char c = cursor->text[cursor->at];
        if (c == '#') {
            const char *end = memchr(cursor->text + cursor->at, '\n', cursor->length - cursor->at);
            cursor->at = end ? (size_t)(end - cursor->text) : cursor->length;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            cursor->at++;
        } else {
            return;
        }
    }
}

char cursor_next(struct cursor *cursor)
{
    cursor_skip(cursor);
    return cursor->status == JOULE_OK && cursor->at < cursor->length ? cursor->text[cursor->at] : '\0';
}

static bool is_identifier_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool cursor_take(struct cursor *cursor, const char *token)
{
    size_t size = strlen(token);
    if (!cursor_next(cursor) || cursor->length - cursor->at < size ||
        memcmp(cursor->text + cursor->at, token, size) != 0)
        return false;
    size_t after = cursor->at + size;
    if (is_identifier_character(token[size - 1]) && after < cursor->length &&
        is_identifier_character(cursor->text[after]))
        return false;
    cursor->at = after;
    return true;
}

bool cursor_want(struct cursor *cursor, const char *token)
{
    char what[40];
    if (cursor_take(cursor, token))
        return true;
    snprintf(what, sizeof what, "'%s'", token);
    return cursor_expected(cursor, what);
}

bool cursor_take_lines(struct cursor *cursor)
{
    bool taken = false;
    for (; cursor_next(cursor) == '\n'; taken = true)
        cursor->at++;
    return taken || (cursor->status == JOULE_OK && cursor->at == cursor->length);
}

bool cursor_identifier(struct cursor *cursor, char *out, size_t size)
{
    size_t count = 0;
    cursor_next(cursor);
    while (cursor->at + count < cursor->length && is_identifier_character(cursor->text[cursor->at + count]))
        count++;
    if (cursor->status != JOULE_OK || count == 0 || count >= size)
        return false;
    memcpy(out, cursor->text + cursor->at, count);
    out[count] = '\0';
    cursor->at += count;
    return true;
}

bool cursor_number(struct cursor *cursor, uint64_t max, uint64_t *out)
{
    char digits[24], what[60];
    size_t start = (cursor_next(cursor), cursor->at);
    if (cursor_identifier(cursor, digits, sizeof digits) && string_to_u64(digits, 10, out) && *out <= max)
        return true;
    cursor->at = start;
    snprintf(what, sizeof what, "a number from 0 to %llu", (unsigned long long)max);
    return cursor_expected(cursor, what);
}

bool cursor_element(struct cursor *cursor, forge_dtype dtype, void *out_element)
{
    char word[ELEMENT_TEXT], what[60];
    size_t count = 0;
    cursor_next(cursor);
    while (cursor->at + count < cursor->length && count < sizeof word - 1) {
        char c = cursor->text[cursor->at + count];
        if (!is_identifier_character(c) && c != '.' && c != '-' && c != '+')
            break;
        word[count++] = c;
    }
    word[count] = '\0';
    if (cursor->status == JOULE_OK && element_from_text(dtype, word, out_element)) {
        cursor->at += count;
        return true;
    }
    snprintf(what, sizeof what, "an element of %s", forge_dtype_name(dtype));
    return cursor_expected(cursor, what);
}
