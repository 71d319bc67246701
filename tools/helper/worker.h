/* tools/helper/worker.h - a process that reads one source which may hang, so that the helper cannot.
 *
 * Owns its start, its rights and its life: it opens the source with what rights that needs, gives them up, tells the list,
 * and then its values at the source's pace, over a socket that only the helper has. It takes nothing from anybody.
 * Newcomers: a vendor's library runs in it, so no system call is forbidden to it. It ends with the helper; one that sleeps
 * in the kernel ends when it wakes, and nobody waits for that.
 */
#ifndef HELPER_WORKER_H
#define HELPER_WORKER_H

#include "helper/guard.h"

/* Starts a worker for a source of the list that --help names, before anything else is open, as it must hold nothing of the
 * helper's. least_ns: the source is not read more often. INVALID: no such source; FAILED: no process. */
joule_status worker_start(const char *name, size_t length, struct joule_host *host, int64_t least_ns,
                          struct guard *out_guard, joule_error *out_error);

#endif
