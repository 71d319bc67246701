/* tools/helper/sensors.h - the channels that the helper reads: a fixed list, chosen at the start.
 *
 * Opens the sources, chooses one channel for each domain that a total needs, and stores the last values,
 * rounded. The channels of guards are at the end of the list. Reading needs no privileges, because all
 * handles are open.
 *
 * Note: the helper uses this code instead of libjoule's lanes, and therefore has its own sink. It computes
 * neither curves nor joules.
 */
#ifndef HELPER_SENSORS_H
#define HELPER_SENSORS_H

#include "helper/guard.h"
#include "joule/sources/device.h"

#define SENSORS_SOURCES 4

struct sensors {
    struct joule_host *host;
    struct cpu_info cpu;
    struct gpu_list gpus;
    struct source sources[SENSORS_SOURCES];
    size_t source_count;
    struct channel *channels[HELPER_MAX_CHANNELS];
    struct helper_value values[HELPER_MAX_CHANNELS];
    unsigned samples[HELPER_MAX_CHANNELS]; /* power samples in one reading; the value is their mean */
    double mean_watts[HELPER_MAX_CHANNELS];
    size_t count;
    struct guard *guards; /* guards, whose channels follow all others in this order */
    size_t guard_count;
    int64_t pace_ns;     /* minimum time between hardware readings */
    bool keeps_pace;     /* read exactly every pace_ns, independent of requests */
    double grain_joules; /* values are rounded down to multiples of this; 0: not rounded */
    int64_t read_ns;     /* time of the last reading; 0: never */
};

/* Opens the sources in a list separated by commas and chooses channels. The caller sets host, pace and
 * grain of `out` before. Returns JOULE_INVALID for an unknown name. If nothing can be read, returns the
 * state of the first source. */
joule_status sensors_open(struct sensors *out, const char *list, joule_error *out_error);

/* Opens one source and offers all its channels that a total needs. The caller sets the host of `out` before.
 * Returns the state of the source if it cannot be read, and JOULE_ABSENT if it has no such channel. */
joule_status sensors_open_source(struct sensors *out, const struct source_ops *ops, joule_error *out_error);
/* Adds the channels of all guards, after guard_wait_ready. */
void sensors_add_guards(struct sensors *sensors, struct guard *guards, size_t count);
/* Writes the rounding and the minimum period into the descriptions of the channels. */
void sensors_describe(struct sensors *sensors, int64_t pace_ns);

/* Reads all channels at once, regardless of the pace. */
void sensors_read(struct sensors *sensors, int64_t now_ns);
/* Reads all channels for a request if the pace allows it. Has no effect if keeps_pace is set. */
void sensors_refresh(struct sensors *sensors, int64_t now_ns);
/* Returns the time of the next reading that does not need a request (CLOCK_MONOTONIC); INT64_MAX: none. */
int64_t sensors_due_ns(const struct sensors *sensors);

#endif
