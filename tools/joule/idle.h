/* tools/joule/idle.h - what this machine takes when it does nothing.
 *
 * Owns measuring the idle baseline and keeping it in $XDG_CACHE_HOME/joule/idle.json between runs. Net figures are
 * gross less baseline times seconds; the baseline's error is theirs too (CAUSE_IDLE).
 * Newcomers: a baseline speaks for one machine and one cover. For any other, and after 30 days, it is unknown: a guess
 * from the lowest power seen would be wrong whenever the machine was not idle.
 */
#ifndef JOULE_IDLE_H
#define JOULE_IDLE_H

#include <joule/base.h>
#include "joule/meter/engine.h"

#define IDLE_COVER_SIZE 512
#define IDLE_DATE_SIZE  32

struct idle_baseline {
    struct estimate total_watts; /* of the cover; unknown: no baseline */
    struct estimate cpu_watts;   /* the part of CPUs and their memory */
    double busy; /* share of all CPU time that was in use; above IDLE_BUSY_MAX it was no idling */
    char cover[IDLE_COVER_SIZE];
    char date[IDLE_DATE_SIZE]; /* RFC 3339 */
};

struct idle_baseline idle_unknown(void);
/* The kept baseline for this machine and `cover`, where there is one younger than 30 days; else unknown. */
struct idle_baseline idle_load(const char *cover);
/* Lets `seconds` pass and takes the mean power of the meter's cover. PENDING: the sensors told nothing in that time. */
joule_status idle_measure(joule_meter *meter, double seconds, struct idle_baseline *out_baseline,
                          joule_error *out_error);
/* Keeps it for later runs. */
joule_status idle_store(const struct idle_baseline *baseline, joule_error *out_error);

#endif
