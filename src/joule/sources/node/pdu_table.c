/* joule/sources/node/pdu_table.c - see pdu_table.h. */
#include "joule/sources/node/pdu_table.h"

#include <math.h>
#include <string.h>
#include "base/string.h"

#define MAX_DIGITS 9

/* A full object identifier is watts_oid or digits_oid, followed by the plug's numbers and by `end`. For
 * Raritan, `end` is the type of sensor; 5 is activePower. */
static const struct kind {
    const char *maker, *plug;
    unsigned numbers;
    const char *watts_oid, *digits_oid, *end;
    double unit_watts;
} kinds[] = {
    {"apc", "device", 1, ".1.3.6.1.4.1.318.1.1.26.4.3.1.5", NULL, "", 10}, /* in hundredths of a kilowatt */
    {"apc", "outlet", 1, ".1.3.6.1.4.1.318.1.1.26.9.4.3.1.7", NULL, "", 1},
    {"raritan", "inlet", 2, ".1.3.6.1.4.1.13742.6.5.2.3.1.4", ".1.3.6.1.4.1.13742.6.3.3.4.1.7", ".5", 1},
    {"raritan", "outlet", 2, ".1.3.6.1.4.1.13742.6.5.4.3.1.4", ".1.3.6.1.4.1.13742.6.3.5.4.1.7", ".5", 1},
    {"sentry3", "infeed", 2, ".1.3.6.1.4.1.1718.3.2.2.1.12", NULL, "", 1},
};

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(text, word, length) == 0;
}

/* Returns true for a text such as ".1.7" with this many numbers. */
static bool are_numbers(const char *text, size_t length, unsigned numbers)
{
    while (length) {
        size_t digits = strspn(text + 1, "0123456789");
        if (*text != '.' || numbers-- == 0 || digits == 0 || digits > 4 || digits + 1 > length)
            return false;
        text += 1 + digits;
        length -= 1 + digits;
    }
    return numbers == 0;
}

/* Parses a plug such as "outlet.1.7" of `length` bytes. */
static bool parse_plug(const char *maker, size_t maker_length, const char *plug, size_t length,
                       struct pdu_plug *out)
{
    size_t word = strcspn(plug, ".");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const struct kind *kind = &kinds[i];
        if (word >= length || !is_word(maker, maker_length, kind->maker) ||
            !is_word(plug, word, kind->plug) || !are_numbers(plug + word, length - word, kind->numbers))
            continue;
        int numbers = (int)(length - word);
        string_print(out->watts_oid, sizeof out->watts_oid, "%s%.*s%s", kind->watts_oid, numbers, plug + word,
                     kind->end);
        if (kind->digits_oid)
            string_print(out->digits_oid, sizeof out->digits_oid, "%s%.*s%s", kind->digits_oid, numbers,
                         plug + word, kind->end);
        out->unit_watts = kind->unit_watts;
        return true;
    }
    return false;
}

/* Copies a host name or address, which must not look like an option of a program. Returns false for any other
 * text. */
static bool copy_host(const char *host, size_t length, char *out_host, size_t size)
{
    if (length == 0 || length >= size || *host == '-')
        return false;
    for (size_t i = 0; i < length; i++)
        if (host[i] <= ' ' || host[i] > '~')
            return false;
    memcpy(out_host, host, length);
    out_host[length] = '\0';
    return true;
}

/* Parses the text of one power distribution unit, MAKER:HOST:PLUG[,PLUG...]. HOST may contain colons, because
 * it ends at the last colon of the text. */
static bool parse_unit(const char *unit, size_t length, struct pdu_plugs *plugs)
{
    const char *end = unit + length, *first = memchr(unit, ':', length), *last = memrchr(unit, ':', length);
    if (!first || first == last)
        return false;
    for (const char *plug = last + 1; plug < end;) {
        struct pdu_plug one = {.unit_watts = 0};
        size_t size = strcspn(plug, ", ");
        if (plugs->count == PDU_MAX_PLUGS || !parse_plug(unit, (size_t)(first - unit), plug, size, &one) ||
            !copy_host(first + 1, (size_t)(last - first - 1), one.host, sizeof one.host))
            return false;
        plugs->list[plugs->count++] = one;
        plug += size + 1;
    }
    return true;
}

bool pdu_parse_plugs(const char *text, struct pdu_plugs *out_plugs)
{
    *out_plugs = (struct pdu_plugs){.count = 0};
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t length = strcspn(text, " ");
        if (!parse_unit(text, length, out_plugs))
            return false;
        text += length;
    }
    return out_plugs->count > 0;
}

/* Returns the whole number on a line of `length` bytes, or NaN. */
static double parse_value(const char *line, size_t length)
{
    double value = 0;
    if (length && line[length - 1] == '\r')
        length--;
    if (length == 0 || length > MAX_DIGITS || strspn(line, "0123456789") < length)
        return NAN;
    for (size_t i = 0; i < length; i++)
        value = 10 * value + (line[i] - '0');
    return value;
}

size_t pdu_parse_values(const char *text, double *out_values, size_t max)
{
    size_t count = 0;
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (count < max)
            out_values[count] = parse_value(text, length);
        count++;
        text += length + (text[length] == '\n');
    }
    return count;
}
