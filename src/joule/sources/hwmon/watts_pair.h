/* joule/sources/hwmon/watts_pair.h - idle and maximum power of a kind of accelerator, as given by the user.
 *
 * The user writes "IDLE,MAX" for accelerators without published power. Note: energy computed from such a pair
 * has the class `assumed`, however exact the numbers look. */
#ifndef JOULE_WATTS_PAIR_H
#define JOULE_WATTS_PAIR_H

#include <stdbool.h>
#include "joule/host/host.h"

struct watts_pair {
    double idle, max; /* in watts */
};

/* Parses a text such as "90,192": 0 <= IDLE <= MAX <= 5000, MAX > 0, in watts. Returns false for another
 * text, with the pair unchanged. */
bool watts_pair_parse(const char *text, struct watts_pair *out_pair);
/* Parses the same form as watts_pair_parse, with the limit max_watts instead of 5000 W. */
bool watts_pair_parse_up_to(const char *text, double max_watts, struct watts_pair *out_pair);
/* Parses the value of an environment variable as watts_pair_parse does. Sets *out_is_wrong if the variable is
 * set and not a valid pair. */
bool watts_pair_of_env(struct joule_host *host, const char *variable, struct watts_pair *out_pair,
                       bool *out_is_wrong);
/* Returns the power in watts at the load `share`: 0 is idle, 1 is maximum; other shares are clamped. */
double watts_pair_at(struct watts_pair pair, double share);

#endif
