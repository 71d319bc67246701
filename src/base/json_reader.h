/* base/json_reader.h - reading JSON (RFC 8259) from memory, one step at a time.
 *
 * Owns the syntax, and the message that says at which byte of the file it is broken. It allocates nothing: strings are
 * decoded where they stand, so the text is changed. The caller says what it expects next, and whatever else comes is an
 * error; so a reader of a known form needs no tree, and nothing nests deeper than its own code.
 * Newcomers: after the first error every step fails, and json_more ends all loops. Check has_failed once.
 */
#ifndef BASE_JSON_READER_H
#define BASE_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <joule/base.h>

struct json_reader {
    const char *path; /* of the file, or another name for what is read: for messages, as is the next */
    uint64_t offset;  /* of text[0] in the file */
    char *text;
    size_t size, at;
    bool has_failed;
    joule_error *error;
};

/* Keeps the first message: "PATH: byte N: ...". `at` is a place in the text. False. */
bool json_fail(struct json_reader *json, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Opens an object ('{') or an array ('['). */
bool json_enter(struct json_reader *json, char bracket);
/* Whether one more item follows before `bracket` closes, which it then goes beyond. *count begins with 0. */
bool json_more(struct json_reader *json, char bracket, size_t *count);
/* A string, decoded and terminated, in the text; NULL: there is none. It may hold control characters, but no NUL. */
char *json_take_string(struct json_reader *json);
/* A member's name, and the colon behind it. */
char *json_name(struct json_reader *json);
/* Any number, as it is written: where it begins, and its length. NULL: there is none. */
const char *json_number(struct json_reader *json, size_t *out_length);
/* A whole number without sign, fraction or exponent. */
bool json_u64(struct json_reader *json, uint64_t *out_value);
/* Goes beyond a word: true, false, null. False, without a message, where another thing is next. */
bool json_word(struct json_reader *json, const char *word);
/* What comes next, for a reader that takes many things: its first character; 0: the end, or an earlier error. */
char json_peek(struct json_reader *json);
/* The message that something else than `what` is there. False. */
bool json_fail_expected(struct json_reader *json, const char *what);
/* Nothing but white space is left. */
bool json_end(struct json_reader *json);

/* The place of the next thing that is not white space, for messages. */
size_t json_place(struct json_reader *json);

#endif
