/* joule/sources/hwmon/thermal.h - internal interface of the source "thermal". thermal.c reads temperatures,
 * thermal_clock.c reads clocks.
 *
 * Note: gauges have no zone, are never summed, and are read at most once a second. */
#ifndef JOULE_THERMAL_H
#define JOULE_THERMAL_H

#include "joule/sources/source.h"

#define CLOCK_MAX_PACKAGES 8
/* maximum number of CPUs to read, evenly spread; a read may interrupt the CPU */
#define CLOCK_MAX_CPUS 16

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

/* Adds a gauge of the node. Its name is `title` as converted by sysfs_slug. Returns NULL if out of memory. */
struct channel *thermal_add_gauge(struct source *source, joule_reading_kind reading, const char *title,
                                  const char *label);

/* Adds one channel for each package with a readable clock, and opens the files to read until clocks_close. */
void clocks_open(struct source *source, struct clocks *clocks);
/* Reports the mean clock of each package in megahertz. */
void clocks_read(struct source *source, const struct clocks *clocks, struct sink *sink);
void clocks_close(struct source *source, struct clocks *clocks);

#endif
