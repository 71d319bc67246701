/* tools/helper/worker.h - a process that reads one source which may hang, so that the helper itself does not
 * hang.
 *
 * The worker opens the source with the rights that it needs, and drops them. Then it sends the list of
 * channels, and values at the source's pace, over a socket to the helper. It receives nothing.
 *
 * Note: the system calls of a worker are not restricted, because a vendor's library runs in it. The kernel
 * ends a worker when the helper ends; a worker that sleeps in the kernel at that time ends when it wakes.
 */
#ifndef HELPER_WORKER_H
#define HELPER_WORKER_H

#include "helper/guard.h"

/* Starts a worker for the source that the first `length` bytes of `name` name, and begins *out_guard. Call it
 * before anything else is opened, because the worker must not inherit open descriptors. min_period_ns:
 * minimum time between readings. Returns JOULE_INVALID if there is no such source, and JOULE_FAILED if the
 * process cannot be started. */
joule_status worker_start(const char *name, size_t length, struct joule_host *host, int64_t min_period_ns,
                          struct guard *out_guard, joule_error *out_error);

#endif
