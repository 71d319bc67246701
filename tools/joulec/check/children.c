/* tools/joulec/check/children.c - see children.h. */
#include "children.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/options.h"

static void add_signal(sigset_t *set, int signal)
{
    struct sigaction old;
    /* ignored signals stay ignored, as under nohup */
    if (sigaction(signal, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaddset(set, signal);
}

bool children_open(struct children *children, size_t max_count)
{
    *children = (struct children){.max_count = max_count, .list = calloc(max_count, sizeof *children->list)};
    if (!children->list) {
        complain("", "out of memory");
        return false;
    }
    signal(SIGCHLD, SIG_DFL);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* so that this process can also wait for orphans of its children */
    sigemptyset(&children->awaited);
    sigaddset(&children->awaited, SIGCHLD);
    add_signal(&children->awaited, SIGINT);
    add_signal(&children->awaited, SIGTERM);
    add_signal(&children->awaited, SIGHUP);
    sigprocmask(SIG_BLOCK, &children->awaited, &children->old_mask);
    return true;
}

/* --- one child ------------------------------------------------------------------------------------------ */

static void close_all(struct child *child)
{
    for (int i = 0; i < PIECES; i++)
        if (child->fds[i] >= 0)
            close(child->fds[i]);
    if (child->end_fd >= 0)
        close(child->end_fd);
}

static bool open_all(struct child *child, const struct outputs *real)
{
    bool is_good = true;
    for (int i = 0; i < PIECES; i++) {
        child->fds[i] = real->fd[i] >= 0 ? memfd_create("joulec-piece", MFD_CLOEXEC) : -1;
        is_good = is_good && (real->fd[i] < 0 || child->fds[i] >= 0);
    }
    child->end_fd = memfd_create("joulec-end", MFD_CLOEXEC);
    return is_good && child->end_fd >= 0;
}

static void run_child(const struct children *children, const struct child *child, const struct outputs *real,
                      void (*work)(void *context, size_t number, struct outputs *part,
                                   struct check_result *out),
                      void *context)
{
    struct check_result result = {.has_failed = false};
    struct outputs part = {
        .is_github = real->is_github, .warnings = real->warnings, .root = real->root, .tally = &result.tally};
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigprocmask(SIG_SETMASK, &children->old_mask, NULL);
    memcpy(part.fd, child->fds, sizeof part.fd);
    if (dup2(child->fds[PIECE_MESSAGES], STDERR_FILENO) < 0)
        _exit(EXIT_OWN_FAILURE);
    work(context, child->number, &part, &result);
    for (int i = 0; i < PIECES; i++)
        result.has_failed = result.has_failed || part.why[i];
    bool is_written = file_write_all(child->end_fd, (const char *)&result, sizeof result);
    _exit(is_written ? 0 : EXIT_OWN_FAILURE);
}

bool children_start(struct children *children, const struct outputs *real, size_t number,
                    void (*work)(void *context, size_t number, struct outputs *part,
                                 struct check_result *out),
                    void *context)
{
    struct child *child = &children->list[children->count];
    *child = (struct child){.number = number};
    bool is_good = open_all(child, real);
    child->pid = is_good ? fork() : -1;
    if (child->pid == 0)
        run_child(children, child, real, work, context);
    if (child->pid < 0) {
        complain("", "cannot start a process: %s\nhint: -j N starts fewer at a time", strerror(errno));
        close_all(child);
        return false;
    }
    setpgid(child->pid, child->pid);
    children->count++;
    return true;
}

/* --- results of children -------------------------------------------------------------------------------- */

/* Returns the contents of a whole file; the caller frees them. NULL: out of memory, or fd is -1. */
static char *read_all(int fd, size_t *out_size)
{
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
    char *bytes = size >= 0 ? malloc((size_t)size + 1) : NULL;
    off_t at = 0;
    for (ssize_t got = 1; bytes && at < size && got > 0; at += got > 0 ? got : 0)
        got = pread(fd, bytes + at, (size_t)(size - at), at);
    *out_size = bytes ? (size_t)at : 0;
    return bytes;
}

static void collect(struct child *child, int status, struct child_result *out)
{
    size_t size;
    *out =
        (struct child_result){.number = child->number, .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
    for (int i = 0; i < PIECES; i++)
        out->bytes[i] = read_all(child->fds[i], &out->sizes[i]);
    char *end = read_all(child->end_fd, &size);
    if (end && size == sizeof out->check)
        memcpy(&out->check, end, size);
    else
        out->check.has_failed = true;
    free(end);
    close_all(child);
}

void child_result_free(struct child_result *result)
{
    for (int i = 0; i < PIECES; i++)
        free(result->bytes[i]);
}

/* Collects the result of one child that has ended. Returns false if no child has ended. */
static bool reap(struct children *children, struct child_result *out)
{
    int status;
    for (size_t i = 0; i < children->count; i++) {
        if (waitpid(children->list[i].pid, &status, WNOHANG) <= 0)
            continue;
        collect(&children->list[i], status, out);
        children->list[i] = children->list[--children->count];
        return true;
    }
    return false;
}

bool children_wait(struct children *children, struct child_result *out)
{
    while (!reap(children, out)) {
        int signal = sigwaitinfo(&children->awaited, NULL);
        if (signal > 0 && signal != SIGCHLD)
            children->signal = signal;
        if (children->signal)
            return false;
    }
    return true;
}

void children_close(struct children *children)
{
    for (size_t i = 0; i < children->count; i++)
        kill(-children->list[i].pid, SIGTERM);
    for (size_t i = 0; i < children->count; i++)
        close_all(&children->list[i]);
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
        ; /* also waits for clang processes whose parent has ended */
    free(children->list);
    sigprocmask(SIG_SETMASK, &children->old_mask, NULL);
}
