/* hal/timeline.h - what queues need of timelines beyond the public part.
 *
 * Owns waiting that can be called off. Newcomers: all timelines share one lock and one condition, as signals are rare beside
 * what they order.
 */
#ifndef FORGE_HAL_TIMELINE_H
#define FORGE_HAL_TIMELINE_H

#include <forge/queue.h>
#include <stdatomic.h>

/* As forge_timeline_wait without end, but ABSENT once *is_called_off. */
joule_status timeline_wait(forge_timeline *timeline, uint64_t value, const atomic_bool *is_called_off,
                           joule_error *out_error);
/* Makes waiters look at *is_called_off, which was set before. */
void timeline_wake_all(void);

#endif
