/* joule/report/json.h - writing JSON, and nothing else.
 *
 * Owns commas, quoting and numbers; what is written, in which order, is the caller's. It writes through a struct
 * text, so it allocates nothing and a first pass with an empty buffer tells the length.
 * Newcomers: `key` is NULL inside an array; NaN and infinities become null, because JSON has no word for them.
 */
#ifndef JOULE_REPORT_JSON_H
#define JOULE_REPORT_JSON_H

#include "base/string.h"

struct json {
    struct text *out;
    bool follows; /* a value stands before this one in the same object or array */
};

void json_open(struct json *json, const char *key, char bracket);        /* '{' or '[' */
void json_close(struct json *json, char bracket);                        /* '}' or ']' */
void json_string(struct json *json, const char *key, const char *value); /* NULL: null */
void json_text(struct json *json, const char *key, const char *value);   /* the same, and empty: null */
/* Adds a number, or null if it is not finite. For measured figures; see text_add_measure. */
void json_double(struct json *json, const char *key, double value);
/* The same with all digits, for values that are read back. */
void json_exact(struct json *json, const char *key, double value);
void json_integer(struct json *json, const char *key, int64_t value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

/* `count` bytes as a JSON string. Bytes that are not UTF-8 become U+FFFD, one for each; controls are escaped. */
void json_quote(struct text *out, const char *bytes, size_t count);

#endif
