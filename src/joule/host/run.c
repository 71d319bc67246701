/* joule/host/run.c - see run.h.
 *
 * The program is not the caller's child but a keeper's: a process on borrowed memory that reads the output, keeps the
 * deadline and takes the program's end, while the calling thread stands still; it ends with the caller. The keeper executes
 * nothing, so the kernel sends no SIGCHLD for it and shows it to no wait(): what the surrounding program does with its
 * children stays its own.
 * Newcomers: whatever `keep` calls runs in the keeper, on the caller's memory: async-signal-safe functions alone.
 * What cannot be avoided: the thread takes part in nothing until the keeper is gone (setuid() of another thread waits so
 * long), wait() with __WALL or __WCLONE does see the keeper, and getrusage() counts the program's time among that of the
 * caller's children.
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

#define USUAL_PATH     "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define LAST_BREATH_NS (NS_PER_S / 2) /* what is killed in a driver's call dies when that returns, or never */

/* What does not return would stay in what sanitizers know of the caller's stack. */
#define UNWATCHED __attribute__((no_sanitize("address", "thread")))

struct job {
    const char *path;
    char *const *argv, *const *environment;
    int64_t timeout_ns;
    char *buffer;
    size_t size, length;
    /* Of the keeper. */
    int null, pipe[2], ends; /* ends: a signalfd that tells when the program or the caller ends */
    pid_t caller, pid;
    int error, status; /* error: an errno, 0: none */
};

/* --- in the program, before it is one ------------------------------------------------------------------------------ */

/* Below, what has to do with descriptors and ends is called by number: sanitizers watch the C library's functions, and would
 * take what the keeper does for its caller's doing. */

static bool put(int fd, int place)
{
    return syscall(SYS_dup3, fd, place, 0) == place;
}

UNWATCHED static void be_program(void *context)
{
    struct job *job = context;
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* it shall not outlive who keeps its deadline */
    if (put(job->null, STDIN_FILENO) && put(job->pipe[1], STDOUT_FILENO) && put(job->null, STDERR_FILENO) &&
        sigprocmask(SIG_SETMASK, &none, NULL) == 0)
        execve(job->path, job->argv, job->environment);
    job->error = errno;
    syscall(SYS_exit_group, 127);
}

/* --- in the keeper --------------------------------------------------------------------------------------------------- */

static void forget_handlers(void)
{
    static const uint64_t by_default[8];
    for (int number = 1; number <= SIGRTMAX; number++)
        syscall(SYS_rt_sigaction, number, by_default, NULL, sizeof(uint64_t));
}

/* All others are the keeper's own copies of its caller's, which neither it nor the program needs. Above 2, so that putting
 * one in its place takes no other's. */
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

static ssize_t take(int fd, void *out_bytes, size_t size)
{
    return syscall(SYS_read, fd, out_bytes, size);
}

static void take_output(struct job *job)
{
    ssize_t count;
    char beyond;
    while (job->length < job->size - 1 &&
           (count = take(job->pipe[0], job->buffer + job->length, job->size - 1 - job->length)) > 0)
        job->length += (size_t)count;
    if (job->length == job->size - 1 && take(job->pipe[0], &beyond, 1) > 0)
        job->error = ENOBUFS;
}

static bool has_ended(const struct job *job)
{
    struct signalfd_siginfo news;
    siginfo_t info = {.si_pid = 0};
    while (take(job->ends, &news, sizeof news) > 0)
        ;
    return waitid(P_PID, (id_t)job->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

/* Until something happens; false: the time is over. */
static bool await(struct pollfd *polls, nfds_t count, int64_t deadline_ns)
{
    int64_t left_ns = deadline_ns - clock_now_ns();
    struct timespec left = clock_timespec(left_ns);
    return left_ns > 0 && ppoll(polls, count, &left, NULL) != 0;
}

/* Until the program has ended, or has to. The end of its output tells nothing: others may hold it open, and it may itself
 * close it long before. */
static void follow(struct job *job)
{
    struct pollfd polls[] = {{.fd = job->pipe[0], .events = POLLIN}, {.fd = job->ends, .events = POLLIN}};
    int64_t deadline_ns = clock_now_ns() + job->timeout_ns;
    bool is_over = false;
    while (!is_over && !job->error) {
        bool is_late = !await(polls, 2, deadline_ns);
        is_over = has_ended(job); /* asked first: all that it wrote is in the pipe then */
        take_output(job);
        if (getppid() != job->caller) /* nobody is left who would take it */
            job->error = ECANCELED;
        if (is_late && !is_over && !job->error)
            job->error = ETIMEDOUT;
    }
}

/* Kills what is left, and takes the end of the program, if it comes: one that hangs in a driver is left to init. */
static void finish(struct job *job)
{
    struct pollfd poll = {.fd = job->ends, .events = POLLIN};
    int64_t deadline_ns = clock_now_ns() + LAST_BREATH_NS;
    int status;
    kill(-job->pid, SIGKILL);
    while (!has_ended(job) && await(&poll, 1, deadline_ns))
        ;
    if (waitpid(job->pid, &status, WNOHANG) == job->pid && !job->error)
        job->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

UNWATCHED static void keep(void *context)
{
    struct job *job = context;
    forget_handlers();
    prctl(PR_SET_PDEATHSIG, SIGCHLD); /* blocked, as all are */
    job->error = open_descriptors(job) ? 0 : errno;
    if (!job->error)
        job->pid = spawn(-1, be_program, job);
    if (job->pid < 0)
        job->error = errno;
    if (job->pid > 0 && !job->error)
        follow(job);
    if (job->pid > 0)
        finish(job);
    syscall(SYS_exit_group, 0);
}

/* --- in the caller ---------------------------------------------------------------------------------------------------- */

ssize_t run_program(const char *const *argv, int64_t timeout_ns, char *buffer, size_t size, int *out_status)
{
    static char usual_path[] = "PATH=" USUAL_PATH;
    static char *const clean[] = {usual_path,
                                  NULL}; /* whoever started a program with rights may not lend them on */
    char path[HOST_PATH_MAX];
    struct job job = {.path = path,
                      .argv = (char *const *)argv,
                      .environment = getauxval(AT_SECURE) ? clean : environ,
                      .timeout_ns = timeout_ns,
                      .buffer = buffer,
                      .size = size,
                      .caller = getpid(),
                      .error = EIO, /* what a keeper that was killed leaves */
                      .status = -1};
    buffer[0] = '\0';
    *out_status = -1;
    int error = find_program(argv[0], USUAL_PATH, path);
    if (error)
        return -error;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* no handler of the caller's runs in the keeper */
    pid_t keeper = spawn_unseen(keep, &job);
    error = keeper < 0 ? errno : job.error;
    if (keeper > 0)
        waitpid(keeper, NULL, __WALL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    buffer[job.length] = '\0';
    *out_status = job.status;
    return error ? -error : (ssize_t)job.length;
}
