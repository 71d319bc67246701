/* joule/sources/accelerator/neuron_power.c - see neuron_power.h. */
#include "joule/sources/accelerator/neuron_power.h"

#include <string.h>
#include "base/string.h"

#define FIELDS     5
#define MAX_UNIX_S INT64_C(0xffffffff) /* largest time in 32 bits: year 2106 */
#define MAX_BYTES  128

/* Splits `text` at commas. Stores the first `max` fields and returns the number of all fields. */
static size_t split(char *text, char *out_fields[], size_t max)
{
    size_t count = 0;
    for (char *field; (field = strsep(&text, ",")) != NULL; count++)
        if (count < max)
            out_fields[count] = field;
    return count;
}

static bool share_of(const char *text, double *out_share)
{
    double percent;
    if (!string_to_double(text, &percent) || !(percent >= 0 && percent <= 100))
        return false;
    *out_share = percent / 100;
    return true;
}

joule_status neuron_power_parse(const char *text, struct neuron_power *out_power)
{
    char line[MAX_BYTES], *fields[FIELDS];
    double min, max;
    struct neuron_power power = {0};
    if (!string_copy(line, sizeof line, text) || split(line, fields, FIELDS) != FIELDS ||
        !string_starts(fields[0], "POWER_STATUS_") || !string_to_i64(fields[1], 10, &power.end_s) ||
        power.end_s < 0 || power.end_s > MAX_UNIX_S || !share_of(fields[2], &min) ||
        !share_of(fields[3], &max) || !share_of(fields[4], &power.mean))
        return JOULE_FAILED;
    power.is_valid = strcmp(fields[0], "POWER_STATUS_VALID") == 0;
    if (power.is_valid && !(min <= power.mean && power.mean <= max))
        return JOULE_FAILED;
    *out_power = power;
    return JOULE_OK;
}
