/* joule/sources/hwmon/watts_pair.h - watts at rest and at full load that a user gives for a kind of accelerator.
 *
 * Owns their form, "IDLE,MAX", for accelerators of which no watts are published. Newcomers: what follows from them is
 * `assumed`, however exact the numbers look.
 */
#ifndef JOULE_WATTS_PAIR_H
#define JOULE_WATTS_PAIR_H

#include <stdbool.h>
#include "joule/host/host.h"

struct watts_pair {
    double idle, most;
};

/* The pair in a text such as "90,192": 0 <= IDLE <= MAX <= 5000, MAX > 0. False, and the pair left alone, for another. */
bool watts_pair_parse(const char *text, struct watts_pair *out_pair);
/* The same with another limit than 5000 W. */
bool watts_pair_parse_up_to(const char *text, double most_watts, struct watts_pair *out_pair);
/* The same of an environment variable; *out_is_wrong where it is set and holds no pair. */
bool watts_pair_of_env(struct joule_host *host, const char *variable, struct watts_pair *out_pair,
                       bool *out_is_wrong);
/* At a share of the way from idle to most; shares outside of 0 to 1 are taken for the nearer end. */
double watts_pair_at(struct watts_pair pair, double share);

#endif
