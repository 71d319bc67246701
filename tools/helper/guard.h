/* tools/helper/guard.h - the helper's side of a worker (worker.h), which reads a source that may hang.
 *
 * A guard contains the worker's list of channels and their last values. The worker's messages have the format
 * of the helper's messages to clients and are checked in the same way.
 *
 * Note: only guard_wait_ready waits. The values of a hanging worker become stale. A worker that has ended or
 * sent an invalid message is not replaced, because the confined helper cannot start processes.
 */
#ifndef HELPER_GUARD_H
#define HELPER_GUARD_H

#include "joule/sources/helper/helper_wire.h"

#define MAX_GUARDS 8

struct guard {
    const char *name; /* name of the source */
    int fd;           /* socket; < 0: the worker is gone */
    pid_t pid;
    int64_t pace_ns;           /* time between two messages */
    int64_t received_ns;       /* time of the last message */
    joule_status logged_state; /* last state written to the log */
    size_t count;              /* number of its channels */
    /* clients can read the first `offered` channels; the others exceed HELPER_MAX_CHANNELS */
    size_t offered;
    bool has_values;
    struct channel channels[HELPER_MAX_CHANNELS];
    struct helper_value values[HELPER_MAX_CHANNELS];
};

/* Begins a guard for the worker that writes to `fd`, and takes ownership of `fd`. */
void guard_begin(struct guard *out, const char *name, int fd, pid_t pid);
/* Waits for the list and the first values until deadline_ns (CLOCK_MONOTONIC). STALE: they did not arrive in
 * time. FAILED: the worker logged a reason and ended, or it sent an invalid message. After an error,
 * guard_end has been called. */
joule_status guard_wait_ready(struct guard *guard, int64_t deadline_ns);
/* Receives one message if it is available. Calls guard_end if the message is invalid or the worker has
 * ended. */
void guard_receive(struct guard *guard, int64_t now_ns);
/* Closes the socket. The worker ends when it next sends a message. */
void guard_end(struct guard *guard);

/* Returns OK, STALE if the last message is too old, or FAILED if the worker is gone. */
joule_status guard_state(const struct guard *guard, int64_t now_ns);
/* Returns the time at which the guard becomes STALE without a new message. */
int64_t guard_stale_ns(const struct guard *guard);
/* Returns the last value of channel i. If the guard's state is not OK, the value's status is that state. */
struct helper_value guard_value(const struct guard *guard, size_t i, int64_t now_ns);

#endif
