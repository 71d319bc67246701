/* tools/helper/sensors.h - what the helper reads: a fixed list, made once when it starts.
 *
 * Owns the sources, the choice of one way to read each domain that a total needs, the last value of each, and how coarse
 * values are; behind its own come those of guards. Reading needs no rights and opens nothing: all handles are open.
 * Newcomers: it takes the place of libjoule's lanes, so it has its own sink; there are no curves and no joules here.
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
    struct channel *channels[HELPER_MOST_CHANNELS];
    struct helper_value values[HELPER_MOST_CHANNELS];
    unsigned samples[HELPER_MOST_CHANNELS]; /* of power in one reading: the value is their mean */
    double mean_watts[HELPER_MOST_CHANNELS];
    size_t count;
    struct guard *guards; /* whose sensors are offered, too, behind the others and in this order */
    size_t guard_count;
    int64_t pace_ns;     /* the hardware is not read more often */
    bool keeps_pace;     /* nor less often: readings do not depend on who asks, and when */
    double grain_joules; /* counts are rounded down to multiples of it; 0: not at all */
    int64_t read_ns;     /* when it was read last; 0: never */
};

/* Opens the sources in a list with commas and chooses. `out` has its host, pace and grain. INVALID for a name that is none
 * of the helper's, else the state of the first source where nothing can be read. */
joule_status sensors_open(struct sensors *out, const char *list, joule_error *out_error);

/* Opens one source of any kind and takes all of it that a total needs. `out` has its host. */
joule_status sensors_open_alone(struct sensors *out, const struct source_ops *ops, joule_error *out_error);
/* Takes the channels of all guards, which have been met. */
void sensors_add_guards(struct sensors *sensors, struct guard *guards, size_t count);
/* Writes into the descriptions how coarse values are, and that they come every pace_ns at most. */
void sensors_describe(struct sensors *sensors, int64_t pace_ns);

/* Reads all of them, whatever the pace says. */
void sensors_read(struct sensors *sensors, int64_t now_ns);
/* The same for whoever asks: only if it is time, and never out of step. */
void sensors_refresh(struct sensors *sensors, int64_t now_ns);
/* When the next reading is due that nobody asks for; INT64_MAX: none. */
int64_t sensors_due_ns(const struct sensors *sensors);

#endif
