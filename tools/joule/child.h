/* tools/joule/child.h - the measured command as a process: started, waited for, signalled.
 *
 * Owns everything that makes `joule run -- COMMAND` look to the command, to the shell and to whoever sends signals
 * like COMMAND alone. Knows nothing of energy.
 * Newcomers: no signal handler exists. All signals are blocked and taken one at a time by child_wait, which knows from
 * the siginfo who sent them; the threads of a meter inherit the block and so get none.
 */
#ifndef JOULE_CHILD_H
#define JOULE_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "joule/attribute/attribute.h"

/* How signals were when joule was started: that is how the command gets them. */
struct signals {
    sigset_t taken, before;
    bool ignored_children; /* SIGCHLD was ignored, which would hide how the command ended */
    bool leads_session;    /* then the kernel tells us alone that the terminal is gone */
};

/* Blocks them. Before any thread is started. */
void signals_take(struct signals *signals);

struct child {
    const struct signals *signals;
    struct attribute_group *group;
    pid_t pid;
    sigset_t unsure; /* signals that came while it was made: whether it has them too is not known */
    bool has_ended;
    bool is_stopped;
    int status;               /* as wait4 gives it */
    int exec_errno;           /* not 0: the command never ran */
    int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC: let go, waited for */
    int64_t stop_ns;          /* since when it is stopped */
    int64_t stopped_ns;       /* how long it was stopped in all */
};

/* Makes a child of `group`, which counts its CPU time, and waits until it has become `argv` or could not. False, with errno:
 * no process. */
bool child_start(struct child *child, const struct signals *signals, struct attribute_group *group,
                 char **argv);
/* Takes one signal and does what it asks for: passes it on, notes how the child fares, stops when the child was
 * stopped from the terminal. Waits for one until the time `until_ns` (INT64_MAX: for ever). The signal; 0: none came. */
int child_wait(struct child *child, int64_t until_ns);
/* Whether this signal asks programs to end, and this one does not ignore it as under nohup. */
bool signal_asks_to_end(int signal);
/* Returns true if a signal that requests the end is pending. */
bool signals_ask_to_end(void);
/* Stops this process where `signal` is a terminal's stop, and returns when somebody continues it. */
void stop_likewise(int signal);
/* Sends to the command and every process that comes from it, as far as they are known. How many there were. */
size_t child_signal_all(struct child *child, int signal);
/* The exit code that a shell shows for a status of wait4. */
int exit_code_of(int status);
/* Ends this process in the same way as the command: by the same signal, without a core file, or with its code. */
_Noreturn void exit_like(int status);

#endif
