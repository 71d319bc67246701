/* joule/meter/last_reading.h - reads slow sources once more after the end of a measurement.
 *
 * Note: a reading is requested at once. If the sensor has no new value then, the caller waits for the
 * sensor's next period.
 */
#ifndef JOULE_LAST_READING_H
#define JOULE_LAST_READING_H

#include "joule/meter/engine.h"

#define LAST_READING_MAX_S 5.0 /* longest wait for a source, whatever its period */

/* The state of waiting for the energy of [begin_ns, end_ns]. */
struct last_reading {
    joule_meter *meter;
    int64_t begin_ns, end_ns;
    int64_t start_ns; /* time at which waiting started */
    struct {
        uint64_t number; /* result of the last lane_request; 0: none */
        unsigned count;  /* number of requests */
        int64_t requested_ns;
    } lanes[METER_MAX_LANES];
    const char *source; /* name of the last source for which the caller waited; NULL: none */
};

/* Returns the state for last_reading_is_due. Requests nothing. */
struct last_reading last_reading_start(joule_meter *meter, int64_t begin_ns, int64_t end_ns);
/* Requests readings that are due, without waiting. Returns true if a source has not answered yet: the caller
 * then waits and calls this function again. Gives up on a source soon after its update period or
 * LAST_READING_MAX_S, whichever is shorter. */
bool last_reading_is_due(struct last_reading *last);

#endif
