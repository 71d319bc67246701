/* base/json_reader.c - see json_reader.h. */
#include "base/json_reader.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"

bool json_fail(struct json_reader *json, size_t at, const char *format, ...)
{
    char message[300];
    va_list arguments;
    if (json->has_failed)
        return false;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    json->has_failed = true;
    error_set(json->error, JOULE_INVALID, "%s: byte %" PRIu64 ": %s", json->path, json->offset + at, message);
    return false;
}

size_t json_place(struct json_reader *json)
{
    while (json->at < json->size && strchr(" \t\r\n", json->text[json->at]) && json->text[json->at])
        json->at++;
    return json->at;
}

bool json_fail_expected(struct json_reader *json, const char *what)
{
    size_t at = json_place(json);
    if (at == json->size)
        return json_fail(json, at, "the text ends where %s is expected", what);
    unsigned char is = (unsigned char)json->text[at];
    if (is < ' ' || is > '~')
        return json_fail(json, at, "byte %02x where %s is expected", is, what);
    return json_fail(json, at, "'%c' where %s is expected", is, what);
}

/* Skips white space, and then `c` if it is next. Returns true if `c` was skipped. */
static bool take(struct json_reader *json, char c)
{
    if (json->has_failed || json_place(json) == json->size || json->text[json->at] != c)
        return false;
    json->at++;
    return true;
}

bool json_enter(struct json_reader *json, char bracket)
{
    return take(json, bracket) || json_fail_expected(json, bracket == '{' ? "'{'" : "'['");
}

bool json_more(struct json_reader *json, char bracket, size_t *count)
{
    if (json->has_failed || take(json, bracket))
        return false;
    if (*count > 0 && !take(json, ','))
        return json_fail_expected(json, bracket == '}' ? "',' or '}'" : "',' or ']'");
    ++*count;
    return true;
}

/* --- strings -------------------------------------------------------------------------------------------- */

/* Returns the value of the four hexadecimal digits at `at`, or UINT32_MAX if there are other characters. */
static uint32_t hex4(const struct json_reader *json, size_t at)
{
    uint32_t value = 0;
    if (json->size - at < 4)
        return UINT32_MAX;
    for (size_t i = 0; i < 4; i++) {
        char c = json->text[at + i];
        const char *digits = "0123456789abcdef", *digit = strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c);
        if (!c || !digit)
            return UINT32_MAX;
        value = value * 16 + (uint32_t)(digit - digits);
    }
    return value;
}

/* Returns the character of "\uXXXX" or of a surrogate pair, starting after "\u". 0: invalid, or NUL. */
static uint32_t numbered(struct json_reader *json)
{
    uint32_t high = hex4(json, json->at);
    json->at += high <= 0xffff ? 4 : 0;
    if (high < 0xd800 || high > 0xdfff)
        return high <= 0xffff ? high : 0;
    if (high > 0xdbff || json->size - json->at < 6 || memcmp(json->text + json->at, "\\u", 2) != 0)
        return 0;
    uint32_t low = hex4(json, json->at + 2);
    if (low < 0xdc00 || low > 0xdfff)
        return 0;
    json->at += 6;
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* Decodes an escape into `out`, starting after the backslash. Returns the number of bytes written, which is
 * less than the number of bytes read; 0: invalid. */
static size_t escaped(struct json_reader *json, char *out)
{
    static const char names[] = "\"\\/bfnrt", characters[] = "\"\\/\b\f\n\r\t";
    if (json->at == json->size)
        return 0;
    char c = json->text[json->at++];
    if (c == 'u') {
        uint32_t number = numbered(json);
        return number ? string_utf8_write(number, out) : 0;
    }
    const char *name = c ? strchr(names, c) : NULL;
    if (!name)
        return 0;
    *out = characters[name - names];
    return 1;
}

char *json_read_string(struct json_reader *json)
{
    size_t begin = json_place(json), end = begin, length;
    if (!take(json, '"')) {
        json_fail_expected(json, "a string");
        return NULL;
    }
    while (json->at < json->size && json->text[json->at] != '"') {
        size_t at = json->at;
        if (json->text[at] == '\\') {
            json->at++;
            length = escaped(json, json->text + end);
        } else {
            length = (unsigned char)json->text[at] < ' '
                         ? 0
                         : string_utf8_length(json->text + at, json->size - at);
            memmove(json->text + end, json->text + at, length);
            json->at += length;
        }
        if (length == 0) {
            json_fail(json, at, "invalid character in a string");
            return NULL;
        }
        end += length;
    }
    if (json->at == json->size) {
        json_fail(json, begin, "unterminated string");
        return NULL;
    }
    json->at++;
    json->text[end] = '\0'; /* at or before the closing quote */
    return json->text + begin;
}

char *json_name(struct json_reader *json)
{
    char *name = json_read_string(json);
    if (name && !take(json, ':')) {
        json_fail_expected(json, "':'");
        return NULL;
    }
    return name;
}

/* --- numbers and words ---------------------------------------------------------------------------------- */

/* Skips the next character if it is one of `characters`. Returns true if it was skipped. */
static bool skip_one_of(struct json_reader *json, const char *characters)
{
    bool is_there = json->at < json->size && json->text[json->at] && strchr(characters, json->text[json->at]);
    json->at += is_there;
    return is_there;
}

/* Skips decimal digits. Returns true if there was at least one. */
static bool skip_digits(struct json_reader *json)
{
    size_t begin = json->at;
    while (skip_one_of(json, "0123456789"))
        ;
    return json->at > begin;
}

const char *json_number(struct json_reader *json, size_t *out_length)
{
    size_t begin = json_place(json);
    if (json->has_failed)
        return NULL;
    skip_one_of(json, "-");
    bool is_ok = skip_one_of(json, "0") || skip_digits(json);
    if (is_ok && skip_one_of(json, "."))
        is_ok = skip_digits(json);
    if (is_ok && skip_one_of(json, "eE")) {
        skip_one_of(json, "+-");
        is_ok = skip_digits(json);
    }
    *out_length = json->at - begin;
    if (is_ok)
        return json->text + begin;
    json_fail(json, begin, "invalid number");
    return NULL;
}

bool json_word(struct json_reader *json, const char *word)
{
    size_t at = json_place(json), length = strlen(word);
    if (json->has_failed || json->size - at < length || memcmp(json->text + at, word, length) != 0)
        return false;
    json->at += length;
    return true;
}

char json_peek(struct json_reader *json)
{
    size_t at = json_place(json);
    return json->has_failed || at == json->size ? '\0' : json->text[at];
}

bool json_u64(struct json_reader *json, uint64_t *out_value)
{
    size_t begin = json_place(json);
    uint64_t value = 0;
    for (; json->at < json->size && json->text[json->at] >= '0' && json->text[json->at] <= '9'; json->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(json->text[json->at] - '0'), &value))
            return json_fail(json, begin, "number above 2^64 - 1");
    if (json->has_failed || json->at == begin)
        return json_fail_expected(json, "a whole number");
    if (json->text[begin] == '0' && json->at > begin + 1)
        return json_fail(json, begin, "number with a leading zero");
    *out_value = value;
    return true;
}

bool json_end(struct json_reader *json)
{
    if (!json->has_failed && json_place(json) < json->size)
        return json_fail_expected(json, "the end");
    return !json->has_failed;
}
