/* joule/record/record_still.h - a meter that stands still at the end of a record.
 *
 * Owns a host whose clocks are set by hand and a lane without thread or sensors, so that whatever asks a live meter can ask
 * a record. Newcomers: its channels are put in by the reader, and their curves freed by record_free.
 */
#ifndef JOULE_RECORD_STILL_H
#define JOULE_RECORD_STILL_H

#include "joule/meter/engine.h"

/* NULL: no memory. joule_close. */
joule_meter *still_meter_create(void);
/* Now, for good: CLOCK_MONOTONIC; CLOCK_REALTIME follows from the meter's begin stamps. */
void still_meter_set_time(joule_meter *meter, int64_t monotonic_ns);

#endif
