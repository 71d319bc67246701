/* infer/chat/jinja_text.c - characters of UTF-8 text: white space, letters, case, and stripping. */
#include "forge/infer/chat/jinja.h"
#include "base/string.h"
#include "forge/infer/tokenizer/characters.h"

#define INVALID_BYTE 0xdc00u /* added to an invalid byte, as in Python's surrogateescape */

size_t span_first(struct span span)
{
    size_t size = string_utf8_length(span.bytes, span.size < 4 ? span.size : 4);
    return size ? size : 1;
}

size_t span_length(struct span span)
{
    size_t length = 0;
    for (size_t i = 0; i < span.size; length++)
        i += span_first((struct span){span.bytes + i, span.size - i});
    return length;
}

uint32_t span_code(struct span span, size_t *out_size)
{
    uint32_t code;
    size_t size = string_utf8_read(span.bytes, span.size < 4 ? span.size : 4, &code);
    *out_size = size ? size : 1;
    return size ? code : INVALID_BYTE + (unsigned char)span.bytes[0];
}

size_t code_encode(uint32_t code, char out[4])
{
    if (code >= INVALID_BYTE + 0x80 && code <= INVALID_BYTE + 0xff) {
        out[0] = (char)(code - INVALID_BYTE);
        return 1;
    }
    return string_utf8_write(code, out);
}

/* Python's str.isspace is also true for four separators of ASCII. */
bool code_is_space(uint32_t code)
{
    return (code >= 0x1c && code <= 0x1f) || character_is_white(code);
}

/* Ranges of upper case letters [first, last]. The lower case of a letter has a code that is higher by
 * `distance`. If the distance is 1, upper and lower case letters alternate in the range. */
static const struct {
    uint32_t first, last, distance;
} cases[] = {
    {'A', 'Z', 32},     {0xc0, 0xd6, 32},   {0xd8, 0xde, 32},   {0x100, 0x12f, 1},
    {0x132, 0x137, 1},  {0x139, 0x148, 1},  {0x14a, 0x177, 1},  {0x179, 0x17e, 1},
    {0x386, 0x386, 38}, {0x388, 0x38a, 37}, {0x391, 0x3a1, 32}, {0x3a3, 0x3ab, 32},
    {0x400, 0x40f, 80}, {0x410, 0x42f, 32}, {0x460, 0x481, 1},  {0x48a, 0x4bf, 1},
};

uint32_t code_case(uint32_t code, bool is_upper)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t first = cases[i].first, last = cases[i].last, distance = cases[i].distance;
        if (distance == 1 && code >= first && code <= last) {
            bool is_lower = (code - first) % 2;
            return is_lower == is_upper ? (is_upper ? code - 1 : code + 1) : code;
        }
        if (distance > 1 && !is_upper && code >= first && code <= last)
            return code + distance;
        if (distance > 1 && is_upper && code >= first + distance && code <= last + distance)
            return code - distance;
    }
    return code;
}

bool code_has_case(uint32_t code)
{
    return code_case(code, true) != code || code_case(code, false) != code || code == 0xaa || code == 0xb5 ||
           code == 0xba || code == 0xdf || code == 0xff;
}

static bool is_stripped(struct span character, struct span characters)
{
    size_t size;
    if (!characters.bytes)
        return code_is_space(span_code(character, &size));
    for (size_t i = 0; i < characters.size; i += size) {
        size = span_first((struct span){characters.bytes + i, characters.size - i});
        if (size == character.size && memcmp(characters.bytes + i, character.bytes, size) == 0)
            return true;
    }
    return false;
}

/* Returns the size in bytes of the last character of a text that is not empty. */
static size_t last_size(struct span span)
{
    for (size_t size = 2; size <= 4 && size <= span.size; size++)
        if (string_utf8_length(span.bytes + span.size - size, size) == size)
            return size;
    return 1;
}

struct span span_strip(struct span span, struct span characters, bool at_start, bool at_end)
{
    while (at_start && span.size) {
        size_t size = span_first(span);
        if (!is_stripped((struct span){span.bytes, size}, characters))
            break;
        span.bytes += size;
        span.size -= size;
    }
    while (at_end && span.size) {
        size_t size = last_size(span);
        if (!is_stripped((struct span){span.bytes + span.size - size, size}, characters))
            break;
        span.size -= size;
    }
    return span;
}

size_t span_find(struct span span, struct span part)
{
    const char *found = part.size ? memmem(span.bytes, span.size, part.bytes, part.size) : span.bytes;
    return found ? (size_t)(found - span.bytes) : SIZE_MAX;
}

int span_compare(struct span a, struct span b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size ? memcmp(a.bytes, b.bytes, size) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}
