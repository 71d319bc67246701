/* tools/joule/child.c - see child.h.
 *
 * Note: the command stays in the caller's process group. A signal that the terminal or the command sends to
 * the group has already reached the command and is not forwarded. Until exec, the child shares the parent's
 * memory and calls only async-signal-safe functions, because from the second run on the parent has threads.
 */
#include "child.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "common/output.h"

#define SIGNALLED_MAX 4096
#define EARLY_MAX     16

void signals_take(struct signals *signals)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGXFSZ};
    struct sigaction children;
    sigfillset(&signals->taken);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        sigdelset(&signals->taken, own[i]); /* raised by faults of joule itself */
    sigprocmask(SIG_BLOCK, &signals->taken, &signals->before);
    sigaction(SIGCHLD, NULL, &children);
    signals->ignored_children = children.sa_handler == SIG_IGN;
    if (signals->ignored_children)
        signal(SIGCHLD, SIG_DFL);
    signals->leads_session = getsid(0) == getpid();
}

/* --- before exec ---------------------------------------------------------------------------------------- */

/* Input of the child process, and the result of exec. */
struct command {
    const struct signals *signals;
    char **argv;
    const int *streams;         /* see child_start_streams */
    siginfo_t early[EARLY_MAX]; /* signals that arrived before the command existed */
    size_t early_count;
    int exec_errno;
};

static void deliver(pid_t pid, const siginfo_t *info)
{
    if (info->si_code == SI_QUEUE)
        sigqueue(pid, info->si_signo, info->si_value);
    else
        kill(pid, info->si_signo);
}

static void exec_command(void *context)
{
    struct command *command = context;
    for (size_t i = 0; i < command->early_count; i++)
        deliver(getpid(), &command->early[i]); /* the signal is still blocked */
    if (command->signals->ignored_children)
        signal(SIGCHLD, SIG_IGN);
    output_restore_signals();
    for (int i = 0; command->streams && i < 3; i++)
        if (command->streams[i] >= 0)
            dup2(command->streams[i], i);
    sigprocmask(SIG_SETMASK, &command->signals->before, NULL);
    execvp(command->argv[0], command->argv);
    command->exec_errno = errno;
    spawn_end(127);
}

/* Takes a signal that arrived before the command existed, such as Ctrl-C during the first readings. Returns
 * false if there is none. */
static bool take_early(const struct signals *signals, siginfo_t *out_info)
{
    const struct timespec no_time = {0};
    sigset_t early = signals->taken;
    sigdelset(&early, SIGCHLD);
    sigdelset(&early, SIGCONT);
    return sigtimedwait(&early, out_info, &no_time) > 0;
}

bool child_start(struct child *child, const struct signals *signals, struct attribute_group *group,
                 char **argv)
{
    return child_start_streams(child, signals, group, argv, NULL);
}

bool child_start_streams(struct child *child, const struct signals *signals, struct attribute_group *group,
                         char **argv, const int streams[3])
{
    struct command command;
    command.signals = signals;
    command.argv = argv;
    command.streams = streams;
    command.early_count = 0;
    command.exec_errno = 0;
    attribute_start(group);
    *child = (struct child){.signals = signals, .group = group, .begin_ns = clock_now_ns()};
    while (command.early_count < EARLY_MAX && take_early(signals, &command.early[command.early_count]))
        command.early_count++;
    child->pid = attribute_spawn(group, exec_command, &command);
    if (child->pid < 0)
        return false;
    child->exec_errno = command.exec_errno;
    sigpending(&child->uncertain);
    return true;
}

/* --- state of the command ------------------------------------------------------------------------------- */

static void note_end(struct child *child, int status)
{
    child->end_ns = clock_now_ns();
    child->has_ended = true;
    child->status = status;
}

static void note_running(struct child *child)
{
    if (child->is_stopped)
        child->stopped_ns += clock_now_ns() - child->stop_ns;
    child->is_stopped = false;
}

/* Reaps all children that changed state. Returns the signal that stopped the command; 0: not stopped. */
static int reap_children(struct child *child)
{
    int status, stop_signal = 0;
    struct rusage usage;
    for (pid_t pid; (pid = wait4(-1, &status, WNOHANG | WUNTRACED | WCONTINUED, &usage)) > 0;) {
        bool has_ended = WIFEXITED(status) || WIFSIGNALED(status);
        if (has_ended)
            attribute_reaped(child->group, pid,
                             (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                                 1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec));
        if (pid != child->pid)
            continue;
        note_running(child);
        stop_signal = 0;
        if (has_ended) {
            note_end(child, status);
        } else if (WIFSTOPPED(status)) {
            child->is_stopped = true;
            child->stop_ns = clock_now_ns();
            stop_signal = WSTOPSIG(status);
        }
    }
    return stop_signal;
}

/* Note: the shell observes only this process, so a stop from the terminal must stop both processes. After a
 * SIGSTOP of the command this process keeps running, because a sender that stops only the command can also
 * continue it. */
void stop_with_terminal(int stop_signal)
{
    if (stop_signal != SIGTSTP && stop_signal != SIGTTIN && stop_signal != SIGTTOU)
        return;
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, stop_signal);
    /* the signal is still blocked, and merges with a pending stop signal of the terminal */
    kill(getpid(), stop_signal);
    sigprocmask(SIG_UNBLOCK, &one, NULL); /* returns when this process is continued */
    sigprocmask(SIG_BLOCK, &one, NULL);
}

/* --- forwarding signals --------------------------------------------------------------------------------- */

static bool is_of_command(struct child *child, pid_t pid)
{
    pid_t pids[SIGNALLED_MAX];
    size_t count = attribute_alive(child->group, pids, SIGNALLED_MAX);
    for (size_t i = 0; i < count && i < SIGNALLED_MAX; i++)
        if (pids[i] == pid)
            return true;
    return pid == child->pid;
}

/* Returns true if the command already got this signal, because it was sent to the whole process group. */
static bool went_to_group(struct child *child, const siginfo_t *info)
{
    bool is_from_kernel = info->si_code > 0;
    if (is_from_kernel && sigismember(&child->uncertain, info->si_signo) == 1) {
        sigdelset(&child->uncertain, info->si_signo);
        return false; /* a duplicate is harmless, because the command has no handler yet */
    }
    if (is_from_kernel && child->signals->leads_session &&
        (info->si_signo == SIGHUP || info->si_signo == SIGCONT))
        return false;
    if (is_from_kernel)
        return info->si_signo != SIGALRM; /* SIGALRM is from an alarm that the caller set for the command */
    return info->si_pid == getpid() || (info->si_pid > 0 && is_of_command(child, info->si_pid));
}

static void forward_signal(struct child *child, const siginfo_t *info)
{
    bool is_needless = info->si_signo == SIGCONT && !child->is_stopped;
    if (!child->has_ended && !is_needless && !went_to_group(child, info))
        deliver(child->pid, info);
}

int child_wait(struct child *child, int64_t until_ns)
{
    siginfo_t info;
    int64_t left_ns = until_ns == INT64_MAX ? 0 : until_ns - clock_now_ns();
    if (left_ns < 0)
        left_ns = 0;
    struct timespec left = clock_timespec(left_ns);
    int taken = sigtimedwait(&child->signals->taken, &info, until_ns == INT64_MAX ? NULL : &left);
    if (taken < 0)
        return 0;
    int stop_signal = reap_children(child);
    if (taken != SIGCHLD)
        forward_signal(child, &info);
    stop_with_terminal(stop_signal);
    return taken;
}

bool signal_asks_to_end(int signal)
{
    struct sigaction how;
    bool asks = signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
    return asks && sigaction(signal, NULL, &how) == 0 && how.sa_handler != SIG_IGN;
}

bool signals_ask_to_end(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    sigset_t pending;
    sigpending(&pending);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (sigismember(&pending, signals[i]) == 1 && signal_asks_to_end(signals[i]))
            return true;
    return false;
}

size_t child_signal_all(struct child *child, int signal)
{
    pid_t pids[SIGNALLED_MAX];
    size_t count = attribute_alive(child->group, pids, SIGNALLED_MAX);
    bool has_command = child->has_ended;
    for (size_t i = 0; i < count && i < SIGNALLED_MAX; i++) {
        kill(pids[i], signal);
        has_command = has_command || pids[i] == child->pid;
    }
    if (!has_command)
        kill(child->pid, signal);
    return count + !has_command;
}

/* --- exit status ---------------------------------------------------------------------------------------- */

int exit_code_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

_Noreturn void exit_with_status(int status)
{
    if (WIFSIGNALED(status)) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none); /* the command has written its own core file */
        prctl(PR_SET_DUMPABLE, 0);
        signal(WTERMSIG(status), SIG_DFL);
        kill(getpid(), WTERMSIG(status));
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, WTERMSIG(status));
        sigprocmask(SIG_UNBLOCK, &one, NULL);
    }
    _exit(exit_code_of(status)); /* reached if the signal cannot end this process, such as process 1 of a
                                  * container */
}
