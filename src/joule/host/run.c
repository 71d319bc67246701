/* joule/host/run.c - runs a vendor's program; see run.h.
 *
 * The program is not a child of the caller but of a keeper. The keeper is a process that shares the caller's
 * memory, reads the output, enforces the deadline and waits for the program. Meanwhile the calling thread is
 * blocked. The keeper ends when the caller ends. The keeper has no exit signal, and it executes no program,
 * because exec would set an exit signal. So the kernel sends no SIGCHLD for the keeper, and wait() does not
 * return it. The surrounding program's children are not affected.
 * Note: `keep` and all functions that it calls run in the keeper on the caller's memory, so they may call
 * only async-signal-safe functions.
 * Known side effects: the blocked thread delays setuid() in another thread; wait() with __WALL or __WCLONE
 * does return the keeper; getrusage() adds the program's time to that of the caller's children.
 */
#include "joule/host/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "joule/host/find_program.h"
#include "joule/host/spawn.h"

#define USUAL_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
/* how long to wait for the end of a killed program. Inside a driver's call, a program ends only when the call
 * returns. */
#define KILL_WAIT_NS (NS_PER_S / 2)

/* Marks functions that do not return. If they were instrumented, a sanitizer's model of the caller's stack
 * would keep their stale frames. */
#define NOT_SANITIZED __attribute__((no_sanitize("address", "thread")))

/* The program to run and its result, shared by caller, keeper and the program's process. */
struct job {
    const char *path;
    char *const *argv, *const *environment;
    int64_t timeout_ns;
    char *buffer;
    size_t size, length;
    /* Set by the keeper. */
    int null, pipe[2], ends; /* ends: a signalfd that reports the end of the program or the caller */
    pid_t caller, pid;
    int error, status; /* error: an errno; 0: none */
};

/* --- in the program's process, before exec -------------------------------------------------------------- */

/* The functions below make system calls by number: sanitizers intercept the C library's functions and would
 * attribute the keeper's calls to the caller. */

static bool duplicate_to(int fd, int place)
{
    return syscall(SYS_dup3, fd, place, 0) == place;
}

NOT_SANITIZED static void exec_program(void *context)
{
    struct job *job = context;
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* the program must end with its keeper, which enforces the deadline */
    if (duplicate_to(job->null, STDIN_FILENO) && duplicate_to(job->pipe[1], STDOUT_FILENO) &&
        duplicate_to(job->null, STDERR_FILENO) && sigprocmask(SIG_SETMASK, &none, NULL) == 0)
        execve(job->path, job->argv, job->environment);
    job->error = errno;
    syscall(SYS_exit_group, 127);
}

/* --- in the keeper -------------------------------------------------------------------------------------- */

/* Sets all signals to their default actions, because the caller's handlers must not run in the keeper. */
static void reset_handlers(void)
{
    static const uint64_t by_default[8];
    for (int number = 1; number <= SIGRTMAX; number++)
        syscall(SYS_rt_sigaction, number, by_default, NULL, sizeof(uint64_t));
}

/* Closes all descriptors, which are copies of the caller's. Opens /dev/null, a signalfd and a pipe; returns
 * false and sets errno on failure. The new descriptors must be above 2, so that exec_program can duplicate
 * them to 0, 1 and 2 without overwriting one. */
static bool open_descriptors(struct job *job)
{
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
#ifdef SYS_close_range
    syscall(SYS_close_range, 0u, ~0u, 0u);
#endif
    do
        job->null = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC);
    while (job->null >= 0 && job->null <= STDERR_FILENO);
    job->ends = (int)syscall(SYS_signalfd4, -1, &children, sizeof(uint64_t), SFD_CLOEXEC | SFD_NONBLOCK);
    return job->null >= 0 && job->ends >= 0 && syscall(SYS_pipe2, job->pipe, O_CLOEXEC) == 0 &&
           fcntl(job->pipe[0], F_SETFL, O_NONBLOCK) == 0;
}

static ssize_t read_bytes(int fd, void *out_bytes, size_t size)
{
    return syscall(SYS_read, fd, out_bytes, size);
}

/* Reads the output that is available. Sets the error ENOBUFS if the buffer is too small. */
static void read_output(struct job *job)
{
    ssize_t count;
    char beyond;
    while (job->length < job->size - 1 &&
           (count = read_bytes(job->pipe[0], job->buffer + job->length, job->size - 1 - job->length)) > 0)
        job->length += (size_t)count;
    if (job->length == job->size - 1 && read_bytes(job->pipe[0], &beyond, 1) > 0)
        job->error = ENOBUFS;
}

/* Returns true if the program has ended. Does not reap it. */
static bool has_ended(const struct job *job)
{
    struct signalfd_siginfo news;
    siginfo_t info = {.si_pid = 0};
    while (read_bytes(job->ends, &news, sizeof news) > 0)
        ;
    return waitid(P_PID, (id_t)job->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

/* Waits for an event; returns false at the deadline. */
static bool wait_for_event(struct pollfd *polls, nfds_t count, int64_t deadline_ns)
{
    int64_t left_ns = deadline_ns - clock_now_ns();
    struct timespec left = clock_timespec(left_ns);
    return left_ns > 0 && ppoll(polls, count, &left, NULL) != 0;
}

/* Waits until the program has ended or must be killed. Note: the end of the output does not show that the
 * program has ended. Other processes may keep the pipe open, and the program may close it early. */
static void follow(struct job *job)
{
    struct pollfd polls[] = {{.fd = job->pipe[0], .events = POLLIN}, {.fd = job->ends, .events = POLLIN}};
    int64_t deadline_ns = clock_now_ns() + job->timeout_ns;
    bool is_over = false;
    while (!is_over && !job->error) {
        bool is_late = !wait_for_event(polls, 2, deadline_ns);
        /* checked before the pipe is emptied, because all output is in the pipe once the program has ended */
        is_over = has_ended(job);
        read_output(job);
        if (getppid() != job->caller) /* the caller has died */
            job->error = ECANCELED;
        if (is_late && !is_over && !job->error)
            job->error = ETIMEDOUT;
    }
}

/* Kills the process group and reaps the program if it ends in time. If the program hangs in a driver, init
 * reaps it later. */
static void finish(struct job *job)
{
    struct pollfd poll = {.fd = job->ends, .events = POLLIN};
    int64_t deadline_ns = clock_now_ns() + KILL_WAIT_NS;
    int status;
    kill(-job->pid, SIGKILL);
    while (!has_ended(job) && wait_for_event(&poll, 1, deadline_ns))
        ;
    if (waitpid(job->pid, &status, WNOHANG) == job->pid && !job->error)
        job->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Runs in the keeper: starts the program, waits for its end and fills the job. Does not return. */
NOT_SANITIZED static void keep(void *context)
{
    struct job *job = context;
    reset_handlers();
    prctl(PR_SET_PDEATHSIG, SIGCHLD); /* SIGCHLD is blocked, so it only makes job->ends readable */
    job->error = open_descriptors(job) ? 0 : errno;
    if (!job->error)
        job->pid = spawn(-1, exec_program, job);
    if (job->pid < 0)
        job->error = errno;
    if (job->pid > 0 && !job->error)
        follow(job);
    if (job->pid > 0)
        finish(job);
    syscall(SYS_exit_group, 0);
}

/* --- in the caller -------------------------------------------------------------------------------------- */

ssize_t run_program(const char *const *argv, int64_t timeout_ns, char *buffer, size_t size, int *out_status)
{
    static char usual_path[] = "PATH=" USUAL_PATH;
    /* the environment of a privileged program must not be passed to another program */
    static char *const clean[] = {usual_path, NULL};
    char path[HOST_PATH_MAX];
    struct job job = {.path = path,
                      .argv = (char *const *)argv,
                      .environment = getauxval(AT_SECURE) ? clean : environ,
                      .timeout_ns = timeout_ns,
                      .buffer = buffer,
                      .size = size,
                      .caller = getpid(),
                      .error = EIO, /* remains if the keeper is killed */
                      .status = -1};
    buffer[0] = '\0';
    *out_status = -1;
    int error = find_program(argv[0], USUAL_PATH, path);
    if (error)
        return -error;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* no handler of the caller may run in the keeper */
    pid_t keeper = spawn_unseen(keep, &job);
    error = keeper < 0 ? errno : job.error;
    if (keeper > 0)
        waitpid(keeper, NULL, __WALL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    buffer[job.length] = '\0';
    *out_status = job.status;
    return error ? -error : (ssize_t)job.length;
}
