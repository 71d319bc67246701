/* base/json_writer.h - writes JSON.
 *
 * The writer handles commas, quoting and numbers. It appends to a struct text and allocates nothing. A first
 * pass with an empty buffer computes the length.
 * Note: `key` is NULL inside an array. NaN and infinities become null, because JSON cannot represent them.
 */
#ifndef BASE_JSON_WRITER_H
#define BASE_JSON_WRITER_H

#include "base/string.h"

/* A writer. `out` is owned by the caller. */
struct json {
    struct text *out;
    bool follows; /* the object or array already contains a value, so the next value needs a comma */
};

void json_open(struct json *json, const char *key, char bracket);        /* '{' or '[' */
void json_close(struct json *json, char bracket);                        /* '}' or ']' */
void json_string(struct json *json, const char *key, const char *value); /* null if value is NULL */
void json_text(struct json *json, const char *key, const char *value);   /* null if value is NULL or "" */
void json_span(struct json *json, const char *key, const char *bytes, size_t count); /* see json_quote */
/* Adds a number, or null if it is not finite. Use it for measured figures; see text_add_measure. */
void json_double(struct json *json, const char *key, double value);
/* Like json_double, but with all digits, for values that are read back. */
void json_exact(struct json *json, const char *key, double value);
void json_integer(struct json *json, const char *key, int64_t value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

/* Adds `count` bytes as a JSON string. Each byte that is not UTF-8 becomes U+FFFD; control
 * characters are escaped. */
void json_quote(struct text *out, const char *bytes, size_t count);

#endif
