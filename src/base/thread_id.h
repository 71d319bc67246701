/* base/thread_id.h - the numbers by which the system knows threads.
 *
 * Newcomers: a number is given anew once its thread has ended, so "not gone" may mean another thread.
 */
#ifndef BASE_THREAD_ID_H
#define BASE_THREAD_ID_H

#include <stdbool.h>
#include <stdint.h>

/* The calling thread's; unlike that of any other thread that runs. Async-signal-safe. */
uint32_t thread_id(void);
/* True only where it is certain that the process has no such thread. */
bool thread_is_gone(int32_t process, uint32_t thread);

/* As thread_is_gone, but also true for a thread that has ended and was not yet collected by its parent.
 * Async-signal-safe. */
bool thread_has_ended(int32_t process, uint32_t thread);

#endif
