/* tools/forge/visible_text.c - see visible_text.h. */
#include "visible_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/string.h"
#include "common/output.h"

#define PART_SIZE 4096

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

static bool is_shown(const char *bytes, size_t length)
{
    unsigned char first = (unsigned char)bytes[0], second = length > 1 ? (unsigned char)bytes[1] : 0;
    if (length == 1)
        return first == '\n' || first == '\t' || (first >= 0x20 && first != 0x7f);
    return length > 1 && !(first == 0xc2 && second < 0xa0); /* U+0080 to U+009F */
}

size_t visible_text(const char *bytes, size_t size, char *out)
{
    size_t length = 0;
    for (size_t at = 0, left; at < size; at += left) {
        left = string_utf8_length(bytes + at, size - at);
        bool is_kept = is_shown(bytes + at, left);
        size_t step = is_kept ? left : sizeof replacement - 1;
        memcpy(out + length, is_kept ? bytes + at : replacement, step);
        length += step;
        left = left ? left : 1;
    }
    return length;
}

/* Returns the size of the longest beginning of `bytes`, at most PART_SIZE, that does not end in a
 * character. */
static size_t part_of(const char *bytes, size_t size)
{
    size_t part = size < PART_SIZE ? size : PART_SIZE;
    for (size_t back = 0; part < size && back < 3 && ((unsigned char)bytes[part] & 0xc0) == 0x80; back++)
        part--;
    return part;
}

void visible_text_print(const char *bytes, size_t size)
{
    char out[VISIBLE_SIZE * PART_SIZE];
    for (size_t part; size > 0; bytes += part, size -= part) {
        part = part_of(bytes, size);
        output_print(out, visible_text(bytes, part, out));
    }
    fflush(stdout);
}
