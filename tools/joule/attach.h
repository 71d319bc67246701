/* tools/joule/attach.h - a process that runs already, measured until it ends or somebody says so.
 *
 * Owns waiting for all of that at once. The process is never signalled, traced or touched in any way.
 * Newcomers: its end is noticed by a file descriptor, and on kernels without those by looking.
 */
#ifndef JOULE_ATTACH_H
#define JOULE_ATTACH_H

#include "child.h"

struct attached {
    const struct signals *signals;
    struct attribute_group *group;
    int process_fd, signal_fd; /* -1: there is none */
    int64_t look_ns;           /* CLOCK_MONOTONIC: when next */
    bool has_ended;
};

/* False, with errno: ESRCH, or no memory. */
bool attach_open(struct attached *attached, const struct signals *signals, pid_t pid);
/* Waits until the process has ended, a signal comes, or it is until_ns (CLOCK_MONOTONIC). The signal; 0: none. Stops this
 * program as the terminal asks. */
int attach_wait(struct attached *attached, int64_t until_ns);
/* A process's command line with spaces between the words; its name in brackets where it has none. Cut to size. */
void attach_name(pid_t pid, char *out_name, size_t size);
void attach_close(struct attached *attached);

#endif
