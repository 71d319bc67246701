/* tools/joule/child.h - starts the measured command, waits for it, and forwards signals.
 *
 * To the command, the shell and senders of signals, `joule run -- COMMAND` behaves like COMMAND alone.
 *
 * Note: there is no signal handler. All signals are blocked, and child_wait takes them one at a time, with
 * the sender in siginfo. Threads of the meter inherit the blocked mask and receive none.
 */
#ifndef JOULE_CHILD_H
#define JOULE_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "joule/attribute/attribute.h"

/* Signal state at the start of joule; the command gets the same. */
struct signals {
    sigset_t taken, before; /* signals that joule blocks and takes; signal mask at the start */
    bool ignored_children;  /* SIGCHLD was ignored, which would hide the status of the command */
    /* joule is the session leader, which alone gets SIGHUP when the terminal closes */
    bool leads_session;
};

/* Saves the state and blocks signals. Call before any thread starts. */
void signals_take(struct signals *signals);

struct child {
    const struct signals *signals;
    struct attribute_group *group;
    pid_t pid;
    sigset_t uncertain; /* signals that arrived during the fork: unknown whether the command got them */
    bool has_ended;
    bool is_stopped;
    int status;               /* status that wait4 returned */
    int exec_errno;           /* errno of a failed exec; 0: the command ran */
    int64_t begin_ns, end_ns; /* CLOCK_MONOTONIC: started, reaped */
    int64_t stop_ns;          /* time of the last stop */
    int64_t stopped_ns;       /* total time stopped */
};

/* Executes `argv` in a child process. `group` counts the CPU time of the child. Waits until exec has
 * succeeded or failed (child->exec_errno). Returns false with errno if no process could be created. */
bool child_start(struct child *child, const struct signals *signals, struct attribute_group *group,
                 char **argv);
/* Like child_start, with other standard streams. streams: descriptors of standard input, output and error of
 * the command; -1 or `streams` NULL: those of this process. */
bool child_start_streams(struct child *child, const struct signals *signals, struct attribute_group *group,
                         char **argv, const int streams[3]);
/* Waits for a signal until `until_ns` (INT64_MAX: forever). Forwards the signal, records the state of the
 * child, and stops this process if the terminal stopped the child. Returns the signal; 0: none. */
int child_wait(struct child *child, int64_t until_ns);
/* Returns true if the signal requests the end of a program and this program does not ignore the signal.
 * (Under nohup, for example, it ignores SIGHUP.) */
bool signal_asks_to_end(int signal);
/* Returns true if a signal that requests the end is pending. */
bool signals_ask_to_end(void);
/* If `signal` is a stop signal of the terminal, stops this process. Returns when it is continued. */
void stop_with_terminal(int signal);
/* Sends a signal to the command and all its known descendants. Returns their number. */
size_t child_signal_all(struct child *child, int signal);
/* Returns the exit code that a shell shows for a status of wait4. */
int exit_code_of(int status);
/* Ends this process like the command: by the same signal, without a core file, or with the same code. */
_Noreturn void exit_with_status(int status);

#endif
