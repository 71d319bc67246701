/* hal/timeline.h - cancellable waits for timelines, which queues use; see <forge/queue.h>.
 *
 * Note: all timelines share one lock and one condition variable, because signals are rare compared with
 * launches.
 */
#ifndef FORGE_HAL_TIMELINE_H
#define FORGE_HAL_TIMELINE_H

#include <forge/queue.h>
#include <stdatomic.h>

/* Waits until the timeline reaches `value`, as forge_timeline_wait does without a time limit. Returns
 * JOULE_ABSENT if *is_cancelled becomes true before, and JOULE_FAILED if the timeline has failed. */
joule_status timeline_wait(forge_timeline *timeline, uint64_t value, const atomic_bool *is_cancelled,
                           joule_error *out_error);
/* Wakes all threads in timeline_wait, so that they read *is_cancelled again. The caller sets *is_cancelled
 * before the call. */
void timeline_wake_all(void);

#endif
