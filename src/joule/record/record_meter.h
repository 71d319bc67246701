/* joule/record/record_meter.h - a meter whose time stands still at the end of a record.
 *
 * The clocks of its host are set by the reader, and its lane has no thread and no sensors. So a record can be
 * queried like a live meter.
 * Note: the reader adds the channels, and record_free frees their curves.
 */
#ifndef JOULE_RECORD_METER_H
#define JOULE_RECORD_METER_H

#include "joule/meter/engine.h"

/* Returns a meter with one lane and no channels; NULL if out of memory. The caller closes it with
 * joule_close. */
joule_meter *record_meter_create(void);
/* Sets the meter's CLOCK_MONOTONIC, which then stands still. CLOCK_REALTIME then follows from the same time,
 * by the difference of the meter's begin_realtime_ns and begin_ns. */
void record_meter_set_time(joule_meter *meter, int64_t monotonic_ns);

#endif
