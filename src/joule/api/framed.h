/* joule/api/framed.h - regions that begin in a function's call and end when control leaves the call, even by
 * an exception or longjmp.
 *
 * Note: region.c defines these functions for budget_scope.c. The open regions of a thread are listed only in
 * its slot. A region without an entry in the slot (the 65th and deeper) is never ended if longjmp leaves it.
 */
#ifndef JOULE_FRAMED_H
#define JOULE_FRAMED_H

#include <joule/region.h>

/* Like joule_begin_with. The region ends when control leaves the call that began the region. */
joule_region region_begin_framed(uint32_t tag, uint32_t flags);
/* Ends the calling thread's framed regions that are open and began after since_ns. */
void region_end_framed_since(int64_t since_ns);
/* Counts one call for `tag` and writes no timestamps. Async-signal-safe after the thread's first region. */
void region_count(uint32_t tag);
/* Returns the shortest time in seconds between the timestamps of an empty region on this
 * thread; NaN: unknown. */
double region_timestamp_seconds(void);

#endif
