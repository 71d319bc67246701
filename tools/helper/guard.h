/* tools/helper/guard.h - a source that may hang, as the helper sees it: the messages of the process that reads it.
 *
 * Owns the helper's end of one worker (worker.h): the list that it offers, its last values, and what they are worth. The
 * messages are those that the helper itself sends to clients, so that they are checked in the same way.
 * Newcomers: nothing here waits once the list is there. A worker that hangs only gets old; one that has ended, or tells
 * nonsense, is gone for good, as nothing can be started once the helper is confined.
 */
#ifndef HELPER_GUARD_H
#define HELPER_GUARD_H

#include "joule/sources/helper/helper_wire.h"

#define GUARD_MOST 8

struct guard {
    const char *name; /* of the source */
    int fd;           /* < 0: the worker is gone */
    pid_t pid;
    int64_t pace_ns;   /* between two messages */
    int64_t heard_ns;  /* the last one */
    joule_status said; /* the state that stands in the log */
    size_t count;      /* of its channels */
    size_t offered;    /* of these: the first that had a place */
    bool has_values;
    struct channel channels[HELPER_MOST_CHANNELS];
    struct helper_value values[HELPER_MOST_CHANNELS];
};

/* The worker that writes to `fd`, which is the guard's from now on. */
void guard_begin(struct guard *out, const char *name, int fd, pid_t pid);
/* Waits for the list and the first values until deadline_ns (CLOCK_MONOTONIC). STALE: it has not come; FAILED: the worker has ended, which has
 * then said why, or it is no list. The guard is then over. */
joule_status guard_meet(struct guard *guard, int64_t deadline_ns);
/* Takes one message that has come, if any. */
void guard_hear(struct guard *guard, int64_t now_ns);
/* Lets go of the worker, which ends when it notices. */
void guard_end(struct guard *guard);

/* OK, STALE when nothing has come for too long, FAILED when nothing will. */
joule_status guard_state(const struct guard *guard, int64_t now_ns);
/* When it will be STALE unless something comes. */
int64_t guard_stale_ns(const struct guard *guard);
/* Of channel i: the last value as long as the guard is OK, else the guard's state. */
struct helper_value guard_value(const struct guard *guard, size_t i, int64_t now_ns);

#endif
