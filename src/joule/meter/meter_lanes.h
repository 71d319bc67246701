/* joule/meter/meter_lanes.h - the lanes of a meter: which sources it has, who reads each, and when their threads start.
 *
 * Owns the choice by a list of names and by what the machine has, and the start; what a lane does is lane.h's, its end
 * joule_close's.
 * Newcomers: a late lane, of a source that has no joules, starts with meter_watch, and nobody waits for it.
 */
#ifndef JOULE_METER_LANES_H
#define JOULE_METER_LANES_H

#include <stdbool.h>
#include <joule/meter.h>

/* "a,b" are those two alone, "-a" all but a; NULL and "" all. INVALID: no source has a name that is in the list. */
joule_status meter_lanes_check(const char *list, joule_error *error);
/* Makes the lanes, with their sources in them, none of them open. `looks`: at devices, too. */
joule_status meter_lanes_make(joule_meter *meter, const char *list, bool looks, joule_error *error);
/* Opens prompt sources here and slow ones in their threads, and waits wait_s for those. On a virtual host all here. */
joule_status meter_lanes_start(joule_meter *meter, bool watches, double wait_s, joule_error *error);
/* Until all but late ones are open and read once, at most until deadline_ns (CLOCK_MONOTONIC). False: one is not. */
bool meter_lanes_wait(joule_meter *meter, int64_t deadline_ns);

#endif
