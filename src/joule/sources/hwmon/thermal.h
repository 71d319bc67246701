/* joule/sources/hwmon/thermal.h - inside the thermal source: temperatures and clocks beside the joules.
 *
 * Owns what its two files share. thermal.c is the source and reads temperatures, thermal_clock.c reads clocks.
 * Newcomers: gauges have no zone, are never summed, and are read once a second at most.
 */
#ifndef JOULE_THERMAL_H
#define JOULE_THERMAL_H

#include "joule/sources/source.h"

#define CLOCK_MAX_PACKAGES 8
#define CLOCK_MAX_CPUS     16 /* looked at in all, evenly spread; each may cost an interrupt of that CPU */

struct clocks {
    struct channel *channels[CLOCK_MAX_PACKAGES];
    size_t channel_count;
    struct {
        int handle;
        size_t package; /* index into channels */
    } cpus[CLOCK_MAX_CPUS];
    size_t cpu_count;
    int cpuinfo; /* handle of /proc/cpuinfo where there is no cpufreq; else negative */
};

/* A gauge named by a slug of `words`, or NULL when memory is used up. */
struct channel *thermal_add_gauge(struct source *source, joule_reading_kind reading, const char *words,
                                  const char *label);

/* Adds one channel for each package whose clock can be read. */
void clocks_open(struct source *source, struct clocks *clocks);
void clocks_read(struct source *source, const struct clocks *clocks, struct sink *sink);
void clocks_close(struct source *source, struct clocks *clocks);

#endif
