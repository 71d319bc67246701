/* base/json_reader.h - reads JSON (RFC 8259) from memory, one step at a time.
 *
 * The caller states what it expects next. Anything else is an error. So the caller needs no tree for a known
 * format, and its code limits the nesting. The reader allocates nothing: strings are decoded in place, which
 * changes the text.
 * Note: after the first error every step fails, and json_more ends all loops, so it is enough to check
 * has_failed once.
 */
#ifndef BASE_JSON_READER_H
#define BASE_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <joule/base.h>

/* The reader. Initialise path, text, size and error; the rest is 0. */
struct json_reader {
    const char *path; /* path or other name of the input, for messages */
    uint64_t offset;  /* offset of text[0] in the file, for messages */
    char *text;
    size_t size, at; /* size of the text in bytes; position of the next byte */
    bool has_failed;
    joule_error *error;
};

/* Sets JOULE_INVALID and the message "PATH: byte N: ...". If an earlier error has set a message, that message
 * stays. `at`: position in the text. Returns false. */
bool json_fail(struct json_reader *json, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Skips the opening bracket of an object ('{') or an array ('['). Returns false, with a message, if something
 * else is next. */
bool json_enter(struct json_reader *json, char bracket);
/* Returns true if another item follows before the closing `bracket`. Otherwise skips `bracket` and returns
 * false. Also returns false after an error. *count: number of items so far, initially 0. */
bool json_more(struct json_reader *json, char bracket, size_t *count);
/* Reads a string. Returns the decoded and terminated string, in the memory of the text; NULL, with a message,
 * if something else is next. The decoded string may contain control characters, but no NUL. */
char *json_read_string(struct json_reader *json);
/* Reads a member's name and the colon after it. Returns the name, decoded and terminated like the result of
 * json_read_string, or NULL with a message. */
char *json_name(struct json_reader *json);
/* Reads a number. Returns its text, which has no terminator, and its length in bytes; NULL, with a message,
 * if something else is next. */
const char *json_number(struct json_reader *json, size_t *out_length);
/* Reads a number without sign, fraction and exponent. Returns false, with a message, for other values and
 * for numbers above 2^64 - 1. */
bool json_u64(struct json_reader *json, uint64_t *out_value);
/* Skips one of true, false, null. Returns false, without a message, if something else is next. */
bool json_word(struct json_reader *json, const char *word);
/* Returns the next character that is not white space; 0: the end, or an earlier error. */
char json_peek(struct json_reader *json);
/* Sets the message that something other than `what` is next. Returns false. */
bool json_fail_expected(struct json_reader *json, const char *what);
/* Returns true if only white space is left; otherwise sets a message. */
bool json_end(struct json_reader *json);

/* Returns the position of the next character that is not white space, for messages. */
size_t json_place(struct json_reader *json);

#endif
