/* base/string.c - see string.h.
 *
 * Note: a program that uses libjoule may set any locale, in one thread or all. So numbers are written and
 * read in the C locale, and white space is the six ASCII characters, never isspace().
 */
#include "base/string.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/locale.h"

void text_init(struct text *text, char *buffer, size_t size)
{
    *text = (struct text){.buffer = buffer, .size = size};
    if (size)
        buffer[0] = '\0';
}

void text_add_bytes(struct text *text, const char *bytes, size_t count)
{
    if (text->length < text->size) {
        size_t room = text->size - 1 - text->length;
        size_t fits = count < room ? count : room;
        memcpy(text->buffer + text->length, bytes, fits);
        text->buffer[text->length + fits] = '\0';
    }
    text->length += count;
}

void text_add_markup(struct text *text, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        switch (bytes[i]) {
        case '&':
            text_add(text, "&amp;");
            break;
        case '<':
            text_add(text, "&lt;");
            break;
        case '>':
            text_add(text, "&gt;");
            break;
        case '"':
            text_add(text, "&quot;");
            break;
        default:
            text_add_bytes(text, &bytes[i], 1);
        }
}

void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

void text_printf(struct text *text, const char *format, ...)
{
    bool has_room = text->length < text->size;
    va_list arguments;
    va_start(arguments, format);
    int length = locale_print(has_room ? text->buffer + text->length : NULL,
                              has_room ? text->size - text->length : 0, format, arguments);
    va_end(arguments);
    if (length > 0)
        text->length += (size_t)length;
}

void text_add_double(struct text *text, double value)
{
    char digits[40];
    /* Tries 15 to 17 digits, and takes the first number that reads back equal. 15 digits also find every
     * shorter form, because %g drops trailing zeros. Subnormal numbers have fewer digits, so the search
     * begins with 1. */
    for (int precision = fabs(value) < DBL_MIN ? 1 : 15; precision <= DBL_DECIMAL_DIG; precision++) {
        struct text number;
        text_init(&number, digits, sizeof digits);
        text_printf(&number, "%.*g", precision, value);
        if (locale_scan(digits) == value)
            break;
    }
    text_add(text, digits);
}

void text_add_measure(struct text *text, double value)
{
    int digits = 12, before = value == 0 ? 0 : (int)floor(log10(fabs(value))) + 1;
    if (value == nearbyint(value) && fabs(value) < 0x1p53) {
        text_add_double(text, value);
        return;
    }
    digits = before + 6 > digits ? before + 6 : digits;
    text_printf(text, "%.*g", digits < 15 ? digits : 15, value);
}

void string_print(char *destination, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(destination, size, format, arguments);
    va_end(arguments);
}

bool string_copy(char *destination, size_t size, const char *source)
{
    struct text text;
    text_init(&text, destination, size);
    text_add(&text, source);
    return text.length < size;
}

/* Returns true for ASCII white space. */
static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns the first byte that is not white space, or the terminator. */
static const char *skip_space(const char *string)
{
    while (is_space(*string))
        string++;
    return string;
}

char *string_trim(char *string)
{
    string += skip_space(string) - string;
    size_t length = strlen(string);
    while (length > 0 && is_space(string[length - 1]))
        length--;
    string[length] = '\0';
    return string;
}

bool string_starts(const char *string, const char *prefix)
{
    return strncmp(string, prefix, strlen(prefix)) == 0;
}

bool string_ends(const char *string, const char *suffix)
{
    size_t length = strlen(string), suffix_length = strlen(suffix);
    return length >= suffix_length && strcmp(string + length - suffix_length, suffix) == 0;
}

bool string_is_one_of(const char *string, const char *const *list)
{
    for (; string && *list; list++)
        if (strcmp(string, *list) == 0)
            return true;
    return false;
}

bool string_to_u64(const char *string, int base, uint64_t *out_value)
{
    string = skip_space(string);
    if (*string == '-')
        return false; /* strtoull would negate the number modulo 2^64 */
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(string, &end, base);
    if (errno || !end || end == string || *skip_space(end))
        return false;
    *out_value = value;
    return true;
}

bool string_to_i64(const char *string, int base, int64_t *out_value)
{
    string = skip_space(string);
    char *end = NULL;
    errno = 0;
    long long value = strtoll(string, &end, base);
    if (errno || !end || end == string || *skip_space(end))
        return false;
    *out_value = value;
    return true;
}

/* Returns the first byte that is not a decimal digit, or the terminator. */
static const char *skip_digits(const char *string)
{
    while (is_digit(*string))
        string++;
    return string;
}

/* Returns the end of a decimal number with optional sign, point and exponent; NULL if `string` does not begin
 * with one. */
static const char *end_of_decimal(const char *string)
{
    const char *digits = string + (*string == '+' || *string == '-');
    const char *end = skip_digits(digits);
    bool has_digits = end > digits;
    if (*end == '.') {
        const char *fraction = skip_digits(end + 1);
        has_digits |= fraction > end + 1;
        end = fraction;
    }
    if (!has_digits)
        return NULL;
    if (*end == 'e' || *end == 'E') {
        const char *exponent = end + 1 + (end[1] == '+' || end[1] == '-');
        if (is_digit(*exponent))
            end = skip_digits(exponent);
    }
    return end;
}

const char *string_scan_double(const char *string, double *out_value)
{
    const char *end = end_of_decimal(string);
    if (!end)
        return NULL;
    /* strtod accepts hexadecimal numbers; here "0x10" is a zero before an x. */
    const char *digits = string + (*string == '+' || *string == '-');
    bool is_hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    double value = is_hex ? 0.0 : locale_scan(string);
    if (!isfinite(value))
        return NULL;
    *out_value = value;
    return end;
}

bool string_to_double(const char *string, double *out_value)
{
    double value;
    const char *end = string_scan_double(skip_space(string), &value);
    if (!end || *skip_space(end))
        return false;
    *out_value = value;
    return true;
}

uint64_t string_meminfo_bytes(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    double kib;
    if (!at)
        return UINT64_MAX;
    at += strlen(key);
    at += strspn(at, " ");
    return string_scan_double(at, &kib) && kib >= 0 && kib < 1e15 ? (uint64_t)kib * 1024 : UINT64_MAX;
}

/* Note: the range of the second byte excludes overlong forms, surrogates and characters above U+10FFFF. */
size_t string_utf8_length(const char *bytes, size_t count)
{
    const unsigned char *s = (const unsigned char *)bytes;
    if (s[0] < 0x80)
        return 1;
    size_t length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || length > count)
        return 0;
    unsigned char low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
    if (s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

size_t string_utf8_read(const char *bytes, size_t count, uint32_t *out_character)
{
    static const uint8_t first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07}; /* [length] */
    size_t length = count ? string_utf8_length(bytes, count) : 0;
    uint32_t character = length ? (uint8_t)bytes[0] & first_bits[length] : UINT32_MAX;
    for (size_t i = 1; i < length; i++)
        character = character << 6 | ((uint8_t)bytes[i] & 0x3f);
    *out_character = character;
    return length;
}

size_t string_utf8_write(uint32_t character, char out[4])
{
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    size_t length = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    for (size_t i = length; i-- > 1; character >>= 6)
        out[i] = (char)(0x80 | (character & 0x3f));
    out[0] = (char)((0xf00u >> length & 0xff) | character);
    return length;
}

/* Parses a CPU number up to 65535. Returns the first byte after it, or NULL if malformed or too large. */
static const char *scan_cpu(const char *string, unsigned *out_cpu)
{
    unsigned cpu = 0;
    if (!is_digit(*string))
        return NULL;
    for (; is_digit(*string); string++) {
        cpu = cpu * 10 + (unsigned)(*string - '0');
        if (cpu > 65535)
            return NULL;
    }
    *out_cpu = cpu;
    return string;
}

bool string_each_cpu(const char *list, void (*each)(unsigned cpu, void *context), void *context)
{
    list = skip_space(list);
    if (!*list)
        return true; /* an empty list is valid: cpu/offline */
    for (;;) {
        unsigned first, last;
        list = scan_cpu(list, &first);
        if (!list)
            return false;
        last = first;
        if (*list == '-' && (!(list = scan_cpu(list + 1, &last)) || last < first))
            return false;
        for (unsigned cpu = first; cpu <= last; cpu++)
            each(cpu, context);
        if (*list != ',')
            return !*skip_space(list);
        list++;
    }
}
