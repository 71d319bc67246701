/* bench/work.c - see work.h. */
#include "work.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include "base/error.h"
#include "base/string.h"

/* Copies the unit. Returns false if it is not a name. */
static bool set_unit(struct work *work, const char *text, size_t length)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    if (length == 0 || length >= WORK_UNIT_SIZE || strspn(text, allowed) < length)
        return false;
    memcpy(work->unit, text, length);
    work->unit[length] = '\0';
    return true;
}

/* Converts "Tflop" and "FLOPs" to flop. */
static void join_flop(struct work *work)
{
    static const char prefixes[] = "kMGTP";
    const char *prefix = strchr(prefixes, work->unit[0]);
    const char *name = work->unit + (prefix != NULL);
    if (strcasecmp(name, "flop") != 0 && strcasecmp(name, "flops") != 0)
        return;
    if (prefix)
        work->amount *= pow(1000, (double)(prefix - prefixes + 1));
    string_copy(work->unit, sizeof work->unit, "flop");
}

joule_status work_parse(const char *text, struct work *out, joule_error *out_error)
{
    const char *equals = strchr(text, '=');
    const char *end = NULL;
    bool is_valid;
    *out = (struct work){0};
    if (equals) {
        is_valid = set_unit(out, text, (size_t)(equals - text)) && string_to_double(equals + 1, &out->amount);
    } else {
        end = string_scan_double(text, &out->amount);
        is_valid = end && set_unit(out, end + strspn(end, " "), strlen(end + strspn(end, " ")));
    }
    if (is_valid)
        join_flop(out);
    if (is_valid && out->amount > 0 && isfinite(out->amount))
        return JOULE_OK;
    return error_set(
        out_error, JOULE_INVALID,
        "--work takes an amount above 0 with a unit, such as 1.2e12flop, samples=60000 or tokens=512, "
        "not '%s'",
        text);
}
