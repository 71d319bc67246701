/* Fuzz target: any bytes, written as a JSON string. Checks that the string is valid JSON and that ASCII text
 * is read back unchanged.
 *
 * The checker below follows the grammars of RFC 8259 and RFC 3629 and shares no code with the writer. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/json_writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_tail(uint8_t byte)
{
    return byte >= 0x80 && byte <= 0xbf;
}

/* Returns the length in bytes of the UTF8-2, UTF8-3 or UTF8-4 sequence of RFC 3629 at s, or 0 if there is
 * none. */
static size_t multibyte(const uint8_t *s, size_t remaining)
{
    if (remaining >= 2 && s[0] >= 0xc2 && s[0] <= 0xdf && is_tail(s[1]))
        return 2;
    if (remaining >= 3 && is_tail(s[2]) &&
        ((s[0] == 0xe0 && s[1] >= 0xa0 && s[1] <= 0xbf) || (s[0] >= 0xe1 && s[0] <= 0xec && is_tail(s[1])) ||
         (s[0] == 0xed && s[1] >= 0x80 && s[1] <= 0x9f) || (s[0] >= 0xee && s[0] <= 0xef && is_tail(s[1]))))
        return 3;
    if (remaining >= 4 && is_tail(s[2]) && is_tail(s[3]) &&
        ((s[0] == 0xf0 && s[1] >= 0x90 && s[1] <= 0xbf) || (s[0] >= 0xf1 && s[0] <= 0xf3 && is_tail(s[1])) ||
         (s[0] == 0xf4 && s[1] >= 0x80 && s[1] <= 0x8f)))
        return 4;
    return 0;
}

/* Returns the length of the escape sequence at s, or 0 if there is none. Sets *out_byte to the character for
 * which the escape sequence stands. */
static size_t escape(const uint8_t *s, size_t remaining, uint8_t *out_byte)
{
    static const char letters[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
    if (remaining < 2 || s[0] != '\\')
        return 0;
    const char *letter = s[1] ? strchr(letters, s[1]) : NULL;
    if (letter) {
        *out_byte = (uint8_t)bytes[letter - letters];
        return 2;
    }
    if (remaining < 6 || s[1] != 'u' || strspn((const char *)s + 2, "0123456789abcdefABCDEF") < 4)
        return 0;
    char hex[5] = {(char)s[2], (char)s[3], (char)s[4], (char)s[5], '\0'};
    *out_byte = (uint8_t)strtoul(hex, NULL, 16);
    return 6;
}

/* Parses the string in text[0..length), which includes the quotes. Returns false if it is invalid. Non-ASCII
 * characters are not copied to out_ascii. */
static bool read_back(const uint8_t *text, size_t length, uint8_t *out_ascii, size_t *out_count)
{
    if (length < 2 || text[0] != '"' || text[length - 1] != '"')
        return false;
    for (size_t i = 1; i < length - 1;) {
        size_t remaining = length - 1 - i, step = escape(text + i, remaining, &out_ascii[*out_count]);
        if (step) {
            ++*out_count;
        } else if (text[i] < 0x80) {
            if (text[i] < 0x20 || text[i] == '"' || text[i] == '\\')
                return false;
            out_ascii[(*out_count)++] = text[i];
            step = 1;
        } else {
            step = multibyte(text + i, remaining);
        }
        if (!step)
            return false;
        i += step;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text text;
    text_init(&text, NULL, 0);
    json_quote(&text, (const char *)data, size);
    size_t length = text.length;
    char *json = malloc(length + 1);
    uint8_t *ascii = malloc(length + 1);
    text_init(&text, json, length + 1);
    json_quote(&text, (const char *)data, size);

    size_t count = 0, expected = 0;
    if (text.length != length || !read_back((const uint8_t *)json, length, ascii, &count))
        abort();
    for (size_t i = 0; i < size; i++)
        if (data[i] < 0x80 && (expected >= count || ascii[expected++] != data[i]))
            abort();
    if (expected != count)
        abort();
    free(json);
    free(ascii);
    return 0;
}
