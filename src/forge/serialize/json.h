/* serialize/json.h - reading JSON (RFC 8259) from memory, one step at a time.
 *
 * Owns the syntax, and the message that says at which byte of the file it is broken. It allocates nothing: strings are
 * decoded where they stand, so the text is changed. The caller says what it expects next, and whatever else comes is an
 * error; so a reader of a known form needs no tree, and nothing nests deeper than its own code.
 * Newcomers: after the first error every step fails, and json_more ends all loops. Check has_failed once.
 */
#ifndef FORGE_SERIALIZE_JSON_H
#define FORGE_SERIALIZE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <joule/base.h>

struct json {
    const char *path; /* for messages, as is the next */
    uint64_t offset;  /* of text[0] in the file */
    char *text;
    size_t size, at;
    bool has_failed;
    joule_error *error;
};

/* Keeps the first message: "PATH: byte N: ...". `at` is a place in the text. False. */
bool json_fail(struct json *json, size_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Opens an object ('{') or an array ('['). */
bool json_enter(struct json *json, char bracket);
/* Whether one more item follows before `bracket` closes, which it then goes beyond. *count begins with 0. */
bool json_more(struct json *json, char bracket, size_t *count);
/* A string, decoded and terminated, in the text; NULL: there is none. It may hold control characters, but no NUL. */
char *json_take_string(struct json *json);
/* A member's name, and the colon behind it. */
char *json_name(struct json *json);
/* A whole number without sign, fraction or exponent. */
bool json_u64(struct json *json, uint64_t *out_value);
/* Nothing but white space is left. */
bool json_end(struct json *json);

/* The place of the next thing that is not white space, for messages. */
size_t json_place(struct json *json);

#endif
