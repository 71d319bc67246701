/* tools/joule/idle.h - the idle baseline: the power of this machine when it does nothing.
 *
 * Measures the baseline and stores it in $XDG_CACHE_HOME/joule/idle.json. Net energy is the total less the
 * baseline power times the duration. Its error includes the error of the baseline (CAUSE_IDLE).
 *
 * Note: a baseline is valid for one machine and one cover for 30 days. Otherwise the baseline is unknown. The
 * lowest observed power cannot replace it, because the machine may never have been idle.
 */
#ifndef JOULE_IDLE_H
#define JOULE_IDLE_H

#include <joule/base.h>
#include "joule/meter/engine.h"

#define IDLE_COVER_SIZE 512
#define IDLE_DATE_SIZE  32

struct idle_baseline {
    struct estimate total_watts; /* power of the whole cover; unknown: no baseline */
    struct estimate cpu_watts;   /* power of CPUs and their memory */
    double busy; /* busy share of all CPU time, 0 to 1; above IDLE_BUSY_MAX the machine was not idle */
    char cover[IDLE_COVER_SIZE]; /* name of the measured cover */
    char date[IDLE_DATE_SIZE];   /* time of the measurement, RFC 3339 */
};

struct idle_baseline idle_unknown(void);
/* Returns the stored baseline of this machine and `cover`, if it is younger than 30 days; else an unknown
 * one. */
struct idle_baseline idle_load(const char *cover);
/* Sleeps for `seconds` and measures the mean power of the meter's cover. PENDING: no sensor gave a
 * reading. */
joule_status idle_measure(joule_meter *meter, double seconds, struct idle_baseline *out_baseline,
                          joule_error *out_error);
/* Stores the baseline for later runs. */
joule_status idle_store(const struct idle_baseline *baseline, joule_error *out_error);

#endif
