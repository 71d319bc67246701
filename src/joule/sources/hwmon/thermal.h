/* joule/sources/hwmon/thermal.h - inside the source "thermal": thermal.c reads temperatures, thermal_clock.c
 * reads clocks.
 *
 * Note: gauges have no zone, are never summed, and are read at most once a second. */
#ifndef JOULE_THERMAL_H
#define JOULE_THERMAL_H

#include "joule/sources/source.h"

#define CLOCK_MAX_PACKAGES 8
#define CLOCK_MAX_CPUS     16 /* CPUs read in all, evenly spread; each read may interrupt its CPU */

struct clocks {
    struct channel *channels[CLOCK_MAX_PACKAGES];
    size_t channel_count;
    struct {
        int handle;
        size_t package; /* index into channels */
    } cpus[CLOCK_MAX_CPUS];
    size_t cpu_count;
    int cpuinfo; /* handle of /proc/cpuinfo if there is no cpufreq; else negative */
};

/* Adds a gauge named by sysfs_slug of `words`. Returns NULL if out of memory. */
struct channel *thermal_add_gauge(struct source *source, joule_reading_kind reading, const char *words,
                                  const char *label);

/* Adds one channel for each package with a readable clock. */
void clocks_open(struct source *source, struct clocks *clocks);
void clocks_read(struct source *source, const struct clocks *clocks, struct sink *sink);
void clocks_close(struct source *source, struct clocks *clocks);

#endif
