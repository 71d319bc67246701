/* base/json_writer.c - see json_writer.h.
 *
 * Note: command lines and vendors' names may contain any bytes. Bytes that are not UTF-8 (including overlong
 * forms and surrogates) are replaced, because a reader cannot parse a report that contains them.
 */
#include "base/json_writer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Appends an ASCII character, escaped if JSON requires it. */
static void add_ascii(struct text *out, char c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *found = c ? strchr(from, c) : NULL;
    if (found)
        text_add_bytes(out, (char[]){'\\', to[found - from]}, 2);
    else if ((unsigned char)c < 0x20 || c == 0x7f)
        text_printf(out, "\\u%04x", (unsigned)c);
    else
        text_add_bytes(out, &c, 1);
}

void json_quote(struct text *out, const char *bytes, size_t count)
{
    text_add(out, "\"");
    for (size_t i = 0; i < count;) {
        size_t length = string_utf8_length(bytes + i, count - i);
        if (length == 1)
            add_ascii(out, bytes[i]);
        else if (length)
            text_add_bytes(out, bytes + i, length);
        else
            text_add(out, REPLACEMENT);
        i += length ? length : 1;
    }
    text_add(out, "\"");
}

/* Writes the comma before a value, if one is needed, and its key (NULL: none). */
static void begin_value(struct json *json, const char *key)
{
    if (json->follows)
        text_add(json->out, ",");
    json->follows = true;
    if (key) {
        json_quote(json->out, key, strlen(key));
        text_add(json->out, ":");
    }
}

void json_open(struct json *json, const char *key, char bracket)
{
    begin_value(json, key);
    text_add_bytes(json->out, &bracket, 1);
    json->follows = false;
}

void json_close(struct json *json, char bracket)
{
    text_add_bytes(json->out, &bracket, 1);
    json->follows = true;
}

void json_string(struct json *json, const char *key, const char *value)
{
    if (!value) {
        json_null(json, key);
        return;
    }
    json_span(json, key, value, strlen(value));
}

void json_span(struct json *json, const char *key, const char *bytes, size_t count)
{
    begin_value(json, key);
    json_quote(json->out, bytes, count);
}

void json_text(struct json *json, const char *key, const char *value)
{
    json_string(json, key, value && *value ? value : NULL);
}

void json_double(struct json *json, const char *key, double value)
{
    if (!isfinite(value)) {
        json_null(json, key);
        return;
    }
    begin_value(json, key);
    text_add_measure(json->out, value);
}

void json_exact(struct json *json, const char *key, double value)
{
    if (!isfinite(value)) {
        json_null(json, key);
        return;
    }
    begin_value(json, key);
    text_add_double(json->out, value);
}

void json_integer(struct json *json, const char *key, int64_t value)
{
    begin_value(json, key);
    text_printf(json->out, "%" PRId64, value);
}

void json_bool(struct json *json, const char *key, bool value)
{
    begin_value(json, key);
    text_add(json->out, value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
    begin_value(json, key);
    text_add(json->out, "null");
}
