/* tools/common/output.c - see output.h. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/file.h"
#include "base/string.h"
#include "common/options.h"

static bool guarded[3]; /* [fd]: the stream was closed at program start */

#ifdef SIGXFSZ

static bool has_size_signal; /* SIGXFSZ had its default action */

static void ignore_size_signal(void)
{
    struct sigaction before;
    has_size_signal = sigaction(SIGXFSZ, NULL, &before) == 0 && before.sa_handler == SIG_DFL;
    signal(SIGXFSZ, SIG_IGN);
}

void output_restore_signals(void)
{
    if (has_size_signal)
        signal(SIGXFSZ, SIG_DFL);
}

#else

static void ignore_size_signal(void) {}

void output_restore_signals(void) {}

#endif

void output_guard_streams(void)
{
    ignore_size_signal();
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        guarded[fd] = true;
        /* open returns the lowest free descriptor, which is fd. The stream is opened in the wrong direction
         * (stdin for writing, the others for reading), so that each use fails. */
        int null = open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
        (void)null;
    }
}

static joule_status cannot_write(joule_error *error, const char *path, int errno_value)
{
    const char *name = strcmp(path, "-") == 0 ? "standard output" : path;
    return error_set(error, status_of_errno(errno_value), "cannot write %s: %s", name,
                     file_reason(errno_value));
}

bool output_copy_all(int from, int to)
{
    char bytes[1 << 16];
    ssize_t count;
    while ((count = read(from, bytes, sizeof bytes)) > 0)
        if (!file_write_all(to, bytes, (size_t)count))
            return false;
    return count == 0;
}

/* Returns true for devices, pipes and paths below /dev and /proc, which a new file must not replace. */
static bool is_stream(const char *path)
{
    struct stat info;
    return string_starts(path, "/dev/") || string_starts(path, "/proc/") ||
           (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
}

joule_status output_check_file(const char *path, joule_error *out_error)
{
    struct file_draft draft;
    if (is_stream(path))
        return error_set(out_error, JOULE_UNSUPPORTED, "cannot write %s: not a regular file", path);
    int reason = file_draft_begin(&draft, path, false);
    if (reason)
        return cannot_write(out_error, *path ? path : "''", reason);
    file_draft_discard(&draft);
    return JOULE_OK;
}

joule_status output_check(const char *path, joule_error *out_error)
{
    if (strcmp(path, "-") == 0)
        return guarded[STDOUT_FILENO] ? cannot_write(out_error, "standard output", EBADF) : JOULE_OK;
    if (is_stream(path))
        return access(path, W_OK) == 0 ? JOULE_OK : cannot_write(out_error, path, errno);
    return output_check_file(path, out_error);
}

joule_status output_open(const char *path, struct output *out, joule_error *out_error)
{
    *out = (struct output){.path = path, .fd = STDOUT_FILENO, .draft.fd = -1};
    if (strcmp(path, "-") == 0)
        return JOULE_OK;
    out->is_file = !is_stream(path);
    int reason = out->is_file ? file_draft_begin(&out->draft, path, false) : 0;
    if (reason)
        return cannot_write(out_error, *path ? path : "''", reason);
    out->fd = out->is_file ? out->draft.fd : open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
    return out->fd >= 0 ? JOULE_OK : cannot_write(out_error, path, errno);
}

joule_status output_close(struct output *out, int reason, joule_error *out_error)
{
    bool is_stdout = strcmp(out->path, "-") == 0;
    if (out->is_file && reason)
        file_draft_discard(&out->draft);
    else if (out->is_file)
        reason = file_draft_commit(&out->draft);
    else if (!is_stdout && close(out->fd) != 0 && !reason)
        reason = errno;
    if (out->is_file && !reason)
        reason = file_sync_folder(out->path);
    return reason ? cannot_write(out_error, out->path, reason) : JOULE_OK;
}

joule_status output_write(const char *path, const char *bytes, size_t count, joule_error *out_error)
{
    struct output out;
    joule_status status = output_open(path, &out, out_error);
    if (status != JOULE_OK)
        return status;
    return output_close(&out, file_write_all(out.fd, bytes, count) ? 0 : errno, out_error);
}

static int print_errno; /* errno of the first failed print; 0: none */

void output_print(const char *bytes, size_t count)
{
    errno = 0;
    if (fwrite(bytes, 1, count, stdout) < count && !print_errno)
        print_errno = errno;
}

int output_end(const char *subcommand, int code)
{
    errno = 0;
    fflush(stdout);
    if (!ferror(stdout))
        return code;
    errno = print_errno ? print_errno : errno;
    complain(subcommand, "cannot write to standard output: %s",
             errno ? strerror(errno) : "the output is incomplete");
    return EXIT_OWN_FAILURE;
}

/* Queries the folder that contains `path`, and sets *out_name to the last component of `path`. Returns false
 * with errno if the folder cannot be examined. */
static bool query_folder(const char *path, struct stat *out_folder, const char **out_name)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    *out_name = slash ? slash + 1 : path;
    string_print(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    return stat(folder, out_folder) == 0;
}

/* Returns true if two paths have the same folder and the same last component. The files need not exist. */
static bool are_same_name(const char *a, const char *b)
{
    struct stat x, y;
    const char *name_a, *name_b;
    return query_folder(a, &x, &name_a) && query_folder(b, &y, &name_b) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino && strcmp(name_a, name_b) == 0;
}

/* Returns true if two paths name the same regular file. Returns false for folders: writing to one fails later
 * with its own message. */
static bool are_same_file(const char *a, const char *b)
{
    struct stat x, y;
    if (strcmp(a, "-") == 0 || strcmp(b, "-") == 0 || is_stream(a) || is_stream(b))
        return false;
    if (stat(a, &x) == 0 && stat(b, &y) == 0)
        return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    return strcmp(a, b) == 0 || are_same_name(a, b);
}

joule_status output_check_apart(const char *const *paths, size_t inputs, size_t count, joule_error *out_error)
{
    for (size_t i = inputs; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (paths[i] && paths[k] && are_same_file(paths[i], paths[k]))
                return error_set(out_error, JOULE_INVALID,
                                 "%s is named twice: each input and output needs its own file", paths[i]);
    return JOULE_OK;
}

joule_status output_check_one_stdout(const char *const *paths, size_t count, joule_error *out_error)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += paths[i] && strcmp(paths[i], "-") == 0;
    return found < 2 ? JOULE_OK
                     : error_set(out_error, JOULE_INVALID,
                                 "- is named twice: only one output can be written to standard output");
}
