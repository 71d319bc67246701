/* hal/timeline.h - waits on timelines that can be cancelled, for queues; see <forge/queue.h>.
 *
 * Note: all timelines share one lock and one condition variable, as signals are rare compared with the work
 * that they order.
 */
#ifndef FORGE_HAL_TIMELINE_H
#define FORGE_HAL_TIMELINE_H

#include <forge/queue.h>
#include <stdatomic.h>

/* Waits like forge_timeline_wait without a timeout. Returns JOULE_ABSENT when *is_cancelled becomes true. */
joule_status timeline_wait(forge_timeline *timeline, uint64_t value, const atomic_bool *is_cancelled,
                           joule_error *out_error);
/* Wakes all waiters, so that they read *is_cancelled again. The caller sets *is_cancelled before the call. */
void timeline_wake_all(void);

#endif
