/* tools/joule/attach.h - waits while a running process is measured.
 *
 * The process is never signalled, traced or changed.
 *
 * Note: a pidfd reports the end of the process. On kernels without pidfds, the process is polled.
 */
#ifndef JOULE_ATTACH_H
#define JOULE_ATTACH_H

#include "child.h"

struct attached {
    const struct signals *signals;
    struct attribute_group *group;
    int process_fd, signal_fd; /* -1: none */
    int64_t query_ns;          /* CLOCK_MONOTONIC time of the next query of the process */
    bool has_ended;
};

/* Begins to observe the process `pid`. Returns false with errno (ESRCH, ENOMEM, ...) if the process cannot be
 * observed. */
bool attach_open(struct attached *attached, const struct signals *signals, pid_t pid);
/* Waits until the process has ended, a signal arrives, or until_ns (CLOCK_MONOTONIC) is reached. Returns the
 * signal; 0: none. Stops this program if the terminal requests it. */
int attach_wait(struct attached *attached, int64_t until_ns);
/* Writes the command line of a process with spaces between the words, or its name in brackets if it has no
 * command line; truncated to `size`. */
void attach_name(pid_t pid, char *out_name, size_t size);
void attach_close(struct attached *attached);

#endif
