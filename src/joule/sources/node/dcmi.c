/* joule/sources/node/dcmi.c - see dcmi.h.
 *
 * Note: a controller that cannot measure often reports 0 W and "not active" instead of an error. A running
 * machine draws power, so 0 W is rejected. */
#include "joule/sources/node/dcmi.h"

#include <math.h>
#include <string.h>
#include "base/string.h"

#define RESPONSE_BYTES 18
#define GROUP          0xdc /* group extension id of DCMI, the first byte of its messages */
#define IS_ACTIVE      0x40

static unsigned little_endian(const uint8_t *bytes, size_t count)
{
    unsigned value = 0;
    while (count--)
        value = value << 8 | bytes[count];
    return value;
}

static joule_status status_of(const struct dcmi_reading *reading, bool is_active)
{
    return is_active && reading->watts > 0 ? JOULE_OK : JOULE_UNSUPPORTED;
}

joule_status dcmi_parse_bytes(const uint8_t *bytes, size_t length, struct dcmi_reading *out_reading)
{
    if (length != RESPONSE_BYTES || bytes[0] != GROUP)
        return JOULE_FAILED;
    *out_reading = (struct dcmi_reading){
        .watts = little_endian(bytes + 1, 2),
        .min = little_endian(bytes + 3, 2),
        .max = little_endian(bytes + 5, 2),
        .average = little_endian(bytes + 7, 2),
        .period_s = little_endian(bytes + 13, 4) * 1e-3, /* these bytes follow a timestamp of 4 bytes */
    };
    return status_of(out_reading, bytes[17] & IS_ACTIVE);
}

/* --- printed bytes -------------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Parses lines such as " dc c3 00 ...". Returns the number of bytes, or 0 if there is any other text. */
static size_t scan_bytes(const char *text, uint8_t *out_bytes, size_t max)
{
    size_t count = 0;
    for (text += strspn(text, " \r\n"); *text; text += strspn(text, " \r\n")) {
        int high = hex_digit(text[0]), low = high < 0 ? -1 : hex_digit(text[1]);
        if (low < 0 || count == max || !strchr(" \r\n", text[2])) /* strchr also finds the terminating NUL */
            return 0;
        out_bytes[count++] = (uint8_t)(16 * high + low);
        text += 2;
    }
    return count;
}

/* --- text ----------------------------------------------------------------------------------------------- */

/* Returns the text after a label and its colon, or NULL if the label is missing. */
static const char *find_value(const char *text, const char *label)
{
    const char *at = strstr(text, label);
    if (!at)
        return NULL;
    at += strlen(label);
    at += strspn(at, " ");
    return *at == ':' ? at + 1 + strspn(at + 1, " ") : NULL;
}

static bool find_number(const char *text, const char *label, unsigned *out_value)
{
    const char *digits = find_value(text, label);
    unsigned value = 0, count = 0;
    for (; digits && *digits >= '0' && *digits <= '9' && count < 9; digits++, count++)
        value = 10 * value + (unsigned)(*digits - '0');
    if (count == 0)
        return false;
    *out_value = value;
    return true;
}

/* The labels of a program's text. */
static const struct form {
    const char *now, *min, *max, *average, *period, *state, *active;
    double period_unit_s;
} forms[] = {
    {"Instantaneous power reading", "Minimum during sampling period", "Maximum during sampling period",
     "Average power reading over sample period", "Sampling period", "Power reading state is", "activated", 1},
    {"Current Power", "Minimum Power over sampling duration", "Maximum Power over sampling duration",
     "Average Power over sampling duration", "Statistics reporting time period", "Power Measurement",
     "Active", 1e-3},
};

static joule_status parse_form(const struct form *form, const char *text, struct dcmi_reading *out_reading)
{
    unsigned period;
    *out_reading = (struct dcmi_reading){.period_s = NAN};
    if (!find_number(text, form->now, &out_reading->watts))
        return JOULE_FAILED;
    find_number(text, form->min, &out_reading->min);
    find_number(text, form->max, &out_reading->max);
    find_number(text, form->average, &out_reading->average);
    if (find_number(text, form->period, &period))
        out_reading->period_s = period * form->period_unit_s;
    const char *state = find_value(text, form->state);
    return status_of(out_reading, !state || string_starts(state, form->active));
}

joule_status dcmi_parse_text(const char *text, struct dcmi_reading *out_reading)
{
    uint8_t bytes[RESPONSE_BYTES];
    size_t count = scan_bytes(text, bytes, sizeof bytes);
    if (count)
        return dcmi_parse_bytes(bytes, count, out_reading);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (strstr(text, forms[i].now))
            return parse_form(&forms[i], text, out_reading);
    return JOULE_FAILED;
}
