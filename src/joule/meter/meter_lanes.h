/* joule/meter/meter_lanes.h - creates the lanes of a meter and decides which lane reads each source and when
 * threads start.
 *
 * Sources are chosen by a list of names and by the machine's hardware. joule_close stops the lanes.
 * Note: a late lane, whose source reads no energy, starts with meter_watch, and no other thread waits for
 * it.
 */
#ifndef JOULE_METER_LANES_H
#define JOULE_METER_LANES_H

#include <stdbool.h>
#include <joule/meter.h>

/* Checks a list of sources: "a,b" selects only these two, "-a" all but a; NULL and "" select all. Returns
 * JOULE_INVALID, with a message, if a name is not that of a source. */
joule_status meter_lanes_check(const char *list, joule_error *error);
/* Creates the lanes with their sources, which are not open yet. `reads_facts`: lanes also read device facts.
 * The meter owns the lanes. Returns JOULE_NO_MEMORY if out of memory. */
joule_status meter_lanes_make(joule_meter *meter, const char *list, bool reads_facts, joule_error *error);
/* Opens prompt sources in this thread and slow sources in their own threads. Waits up to wait_s seconds for
 * the slow ones. On a virtual host, opens all sources in this thread. `watches`: also calls meter_watch.
 * Returns JOULE_NO_MEMORY if a thread cannot be started. */
joule_status meter_lanes_start(joule_meter *meter, bool watches, double wait_s, joule_error *error);
/* Waits until all lanes except late ones are open and have been read once, at most until deadline_ns
 * (CLOCK_MONOTONIC). Returns false if such a lane is not open at the deadline. */
bool meter_lanes_wait(joule_meter *meter, int64_t deadline_ns);

#endif
