/* port/macos/run.c - replaces joule/host/run.c: runs one program with posix_spawn and reads its output.
 *
 * The program gets no descriptors except those named here.
 * Note: here the program is a child of the caller. So a caller that waits for any child may reap it, which
 * makes its status unknown, and a SIGCHLD handler of the caller is called. On Linux neither happens.
 */
#include "joule/host/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "joule/host/find_program.h"

#define USUAL_PATH "/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin:/usr/sbin:/sbin"
/* The child is polled, because no event reports its end while other processes hold its output open. */
#define LOOK_AGAIN_NS  (NS_PER_S / 100)
#define LAST_BREATH_NS (NS_PER_S / 2)

extern char **environ;

struct job {
    int64_t deadline_ns;
    char *buffer;
    size_t size, length;
    int output; /* read end of the pipe */
    pid_t pid;
    int error, status, wait_status;
};

/* --- starting ------------------------------------------------------------------------------------------- */

static void describe_files(posix_spawn_file_actions_t *files, const int ends[2])
{
    posix_spawn_file_actions_init(files);
    posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(files, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
}

/* Describes the program's process: its own process group, with default handling of all signals. */
static void describe_process(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(attributes);
    posix_spawnattr_setpgroup(attributes, 0);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                             POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_CLOEXEC_DEFAULT);
}

/* Starts the program. Returns 0 or an errno value. */
static int start(struct job *job, const char *path, char *const *argv)
{
    static char usual_path[] = "PATH=" USUAL_PATH;
    /* a set-user-id program must not pass on its environment */
    static char *const clean[] = {usual_path, NULL};
    int ends[2];
    if (pipe(ends) != 0)
        return errno;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    describe_files(&files, ends);
    describe_process(&attributes);
    int error = posix_spawn(&job->pid, path, &files, &attributes, argv, issetugid() ? clean : environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    close(ends[1]);
    job->output = ends[0];
    if (error)
        close(ends[0]);
    return error;
}

/* --- running -------------------------------------------------------------------------------------------- */

/* Reads available output. Returns false at its end. */
static bool take_output(struct job *job)
{
    ssize_t count;
    char beyond;
    while (job->length < job->size - 1) {
        count = read(job->output, job->buffer + job->length, job->size - 1 - job->length);
        if (count <= 0)
            return count < 0 && (errno == EAGAIN || errno == EINTR);
        job->length += (size_t)count;
    }
    count = read(job->output, &beyond, 1);
    if (count > 0)
        job->error = ENOBUFS;
    return count < 0;
}

/* Returns true if the program has ended. Does not reap it, so that its process id stays reserved until its
 * group was killed. */
static bool has_ended(const struct job *job)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)job->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

/* Reads output until the program has ended, failed or timed out. */
static void follow(struct job *job)
{
    struct pollfd output = {.fd = job->output, .events = POLLIN};
    while (!has_ended(job) && !job->error) {
        int64_t left_ns = job->deadline_ns - clock_now_ns();
        if (left_ns <= 0)
            job->error = ETIMEDOUT;
        struct timespec pause = clock_timespec(left_ns <= 0              ? 0
                                               : left_ns < LOOK_AGAIN_NS ? left_ns
                                                                         : LOOK_AGAIN_NS);
        ppoll(&output, 1, &pause, NULL);
        if (output.fd >= 0 && !take_output(job))
            output.fd = -1;
    }
    if (!job->error && output.fd >= 0)
        take_output(job);
}

/* Kills the process group, and reaps the program. A program that hangs in the kernel is not reaped. */
static void finish(struct job *job)
{
    static const struct timespec pause = {.tv_nsec = LOOK_AGAIN_NS / 10};
    kill(-job->pid, SIGKILL);
    int64_t deadline_ns = clock_now_ns() + LAST_BREATH_NS;
    pid_t ended;
    while ((ended = waitpid(job->pid, &job->wait_status, WNOHANG)) == 0 && clock_now_ns() < deadline_ns)
        nanosleep(&pause, NULL);
    if (ended == job->pid && !job->error)
        job->status =
            WIFEXITED(job->wait_status) ? WEXITSTATUS(job->wait_status) : 128 + WTERMSIG(job->wait_status);
    close(job->output);
}

ssize_t run_program(const char *const *argv, int64_t timeout_ns, char *buffer, size_t size, int *out_status)
{
    char path[HOST_PATH_MAX];
    struct job job = {
        .deadline_ns = clock_now_ns() + timeout_ns, .buffer = buffer, .size = size, .status = -1};
    buffer[0] = '\0';
    *out_status = -1;
    int error = find_program(argv[0], USUAL_PATH, path);
    if (!error)
        error = start(&job, path, (char *const *)argv);
    if (error)
        return -error;
    follow(&job);
    finish(&job);
    buffer[job.length] = '\0';
    *out_status = job.status;
    return job.error ? -job.error : (ssize_t)job.length;
}
