/* joule/unit.c - parses and formats numbers with units (quantity.h: joule_parse, joule_format).
 *
 * Values are in SI base units.
 * Note: for a prefix below 1, the number is divided by a power of ten. A product with 1e-6 would be rounded
 * twice, because no double is exactly 1e-6. So "50uJ" gives the same double as the constant 50e-6. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <joule/quantity.h>
#include "base/error.h"
#include "base/string.h"

#define SPACE "\t\n\v\f\r "

struct unit {
    const char *name;
    double factor; /* factor to the base unit */
    bool takes_prefix;
};

struct dimension {
    const char *name;
    const char *accepts;  /* for messages */
    int largest_exponent; /* power of ten of the largest prefix that is written */
    struct unit units[4]; /* first: the base unit */
};

static const struct dimension dimensions[] = {
    [JOULE_DIMENSION_ENERGY] = {"energy",
                                "J or Wh, also with a prefix p n u m k M G",
                                9,
                                {{"J", 1, true}, {"Wh", 3600, true}}},
    [JOULE_DIMENSION_POWER] = {"power", "W, also with a prefix p n u m k M G", 9, {{"W", 1, true}}},
    [JOULE_DIMENSION_TIME] = {"time",
                              "s, also with a prefix p n u m k M G, min or h",
                              0,
                              {{"s", 1, true}, {"min", 60, false}, {"h", 3600, false}}},
    [JOULE_DIMENSION_TEMPERATURE] = {"a temperature difference",
                                     "K, also with a prefix p n u m k M G, C or degC",
                                     0,
                                     {{"K", 1, true}, {"C", 1, false}, {"degC", 1, false}}},
};

static const struct prefix {
    const char *name;
    int exponent;
} prefixes[] = {
    {"p", -12},
    {"n", -9},
    {"u", -6},
    {"\u00b5", -6} /* micro sign */,
    {"\u03bc", -6} /* Greek mu */,
    {"m", -3},
    {"k", 3},
    {"M", 6},
    {"G", 9},
};

static const struct dimension *find_dimension(joule_dimension dimension)
{
    bool is_known = dimension >= JOULE_DIMENSION_ENERGY && dimension <= JOULE_DIMENSION_TEMPERATURE;
    return is_known ? &dimensions[dimension] : NULL;
}

static bool is_text(const char *text, size_t length, const char *name)
{
    return strlen(name) == length && memcmp(text, name, length) == 0;
}

/* Returns the unit that text[0..length) names and sets the exponent of its prefix. Returns
 * NULL if there is none. */
static const struct unit *find_unit(const struct dimension *dimension, const char *text, size_t length,
                                    int *out_exponent)
{
    *out_exponent = 0;
    if (length == 0)
        return &dimension->units[0];
    for (const struct unit *unit = dimension->units; unit->name; unit++)
        if (is_text(text, length, unit->name))
            return unit;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t skip = strlen(prefixes[i].name);
        if (skip >= length || memcmp(text, prefixes[i].name, skip) != 0)
            continue;
        *out_exponent = prefixes[i].exponent;
        for (const struct unit *unit = dimension->units; unit->name; unit++)
            if (unit->takes_prefix && is_text(text + skip, length - skip, unit->name))
                return unit;
    }
    return NULL;
}

static double scale(double value, int exponent)
{
    static const double powers[] = {1, 1e3, 1e6, 1e9, 1e12};
    return exponent < 0 ? value / powers[-exponent / 3] : value * powers[exponent / 3];
}

/* Copies text for messages: truncated, with '?' for each byte that is not printable ASCII. */
static const char *printable(const char *text, size_t length, char buffer[static 24])
{
    size_t i = 0;
    for (; i < length && i < 23; i++)
        buffer[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    buffer[i] = '\0';
    return buffer;
}

joule_status joule_parse(const char *text, joule_dimension dimension, double *out_value,
                         joule_error *out_error)
{
    const struct dimension *kind = find_dimension(dimension);
    if (!text || !out_value || !kind)
        return error_set(out_error, JOULE_INVALID, "joule_parse: text, dimension and out_value are required");
    const char *number = text + strspn(text, SPACE);
    size_t column = (size_t)(number - text) + 1;
    if (*number == '-')
        return error_set(out_error, JOULE_INVALID, "%s cannot be negative (column %zu)", kind->name, column);
    double value;
    const char *unit_text = string_scan_double(number, &value);
    char shown[24];
    if (!unit_text)
        return error_set(out_error, JOULE_INVALID, "expected a number at column %zu, found \"%s\"", column,
                         printable(number, strlen(number), shown));

    unit_text += strspn(unit_text, SPACE);
    column = (size_t)(unit_text - text) + 1;
    size_t length = strlen(unit_text);
    while (length && strchr(SPACE, unit_text[length - 1]))
        length--;
    int exponent;
    const struct unit *unit = find_unit(kind, unit_text, length, &exponent);
    if (!unit)
        return error_set(out_error, JOULE_INVALID, "unknown unit \"%s\" at column %zu: %s is given in %s",
                         printable(unit_text, length, shown), column, kind->name, kind->accepts);
    value = scale(value * unit->factor, exponent);
    if (!isfinite(value))
        return error_set(out_error, JOULE_INVALID, "the number before column %zu is too large", column);
    *out_value = value;
    return JOULE_OK;
}

/* A number as decimal digits d.ddd x 10^exponent, rounded. */
struct decimal {
    char digits[16]; /* terminated */
    int exponent;
    bool is_negative;
};

static struct decimal to_decimal(double value, int count)
{
    char buffer[32];
    struct text text;
    text_init(&text, buffer, sizeof buffer);
    text_printf(&text, "%.*e", count - 1, fabs(value));
    struct decimal decimal = {.is_negative = value < 0};
    decimal.digits[0] = buffer[0];
    memcpy(decimal.digits + 1, buffer + 2, (size_t)count - 1); /* after the point */
    decimal.exponent = atoi(strchr(buffer, 'e') + 1);
    return decimal;
}

/* Writes the digits with the decimal point after the first `whole` of them. Pads with zeros
 * if there are fewer. */
static void add_decimal(struct text *text, const struct decimal *decimal, int whole)
{
    int count = (int)strlen(decimal->digits);
    text_add(text, decimal->is_negative ? "-" : "");
    text_add_bytes(text, decimal->digits, (size_t)(count < whole ? count : whole));
    for (int i = count; i < whole; i++)
        text_add(text, "0");
    if (count > whole) {
        text_add(text, ".");
        text_add(text, decimal->digits + whole);
    }
}

static const char *prefix_name(int exponent)
{
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (prefixes[i].exponent == exponent)
            return prefixes[i].name;
    return "";
}

size_t joule_format(double value, joule_dimension dimension, int digits, char *out_text, size_t size)
{
    const struct dimension *kind = find_dimension(dimension);
    const char *unit = kind ? kind->units[0].name : "";
    struct text text;
    text_init(&text, out_text, size);
    if (!isfinite(value)) {
        text_add(&text, isnan(value) ? "unknown" : value > 0 ? "inf " : "-inf ");
        text_add(&text, isnan(value) ? "" : unit);
        return text.length;
    }
    digits = digits < 1 ? 1 : digits > 15 ? 15 : digits;
    struct decimal decimal = to_decimal(value, digits);
    if (decimal.exponent < -12 || decimal.exponent >= 12) {
        text_printf(&text, "%.*e %s", digits - 1, value, unit);
        return text.length;
    }
    /* exponent of the prefix, rounded down to a multiple of 3 */
    int exponent = (decimal.exponent + 12) / 3 * 3 - 12;
    int largest = kind ? kind->largest_exponent : 0;
    if (exponent > largest)
        exponent = largest;
    add_decimal(&text, &decimal, decimal.exponent - exponent + 1);
    text_printf(&text, " %s%s", prefix_name(exponent), unit);
    return text.length;
}
