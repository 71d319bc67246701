/* base/thread_id.h - the system's thread ids.
 *
 * Note: the system reuses the id of an ended thread, so a thread that is "not gone" may be a new thread with
 * the same id.
 */
#ifndef BASE_THREAD_ID_H
#define BASE_THREAD_ID_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the calling thread's id; different for all running threads. Async-signal-safe. */
uint32_t thread_id(void);
/* Returns true only if it is certain that the process has no such thread. */
bool thread_is_gone(int32_t process, uint32_t thread);

/* Like thread_is_gone, but also true for a zombie: a thread that has ended but was not yet reaped.
 * Async-signal-safe. */
bool thread_has_ended(int32_t process, uint32_t thread);

#endif
