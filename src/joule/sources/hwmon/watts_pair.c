/* joule/sources/hwmon/watts_pair.c - see watts_pair.h. */
#include "joule/sources/hwmon/watts_pair.h"

#include <math.h>
#include "base/string.h"

#define MAX_WATTS 5000.0 /* more than any one device draws */

bool watts_pair_parse(const char *text, struct watts_pair *out_pair)
{
    return watts_pair_parse_up_to(text, MAX_WATTS, out_pair);
}

bool watts_pair_parse_up_to(const char *text, double max_watts, struct watts_pair *out_pair)
{
    struct watts_pair pair;
    const char *rest = string_scan_double(text, &pair.idle);
    if (!rest || *rest != ',' || !string_to_double(rest + 1, &pair.max) ||
        !(pair.idle >= 0 && pair.idle <= pair.max && pair.max > 0 && pair.max <= max_watts))
        return false;
    *out_pair = pair;
    return true;
}

bool watts_pair_of_env(struct joule_host *host, const char *variable, struct watts_pair *out_pair,
                       bool *out_is_wrong)
{
    const char *text = host->ops->env(host, variable);
    bool is_given = text && *text;
    bool is_pair = is_given && watts_pair_parse(text, out_pair);
    *out_is_wrong = is_given && !is_pair;
    return is_pair;
}

double watts_pair_at(struct watts_pair pair, double share)
{
    return pair.idle + (pair.max - pair.idle) * fmin(1, fmax(0, share));
}
