/* tools/joule/output.c - see output.h. A symbolic link is followed: the file behind it is replaced, not the link. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"
#include "base/string.h"

#define BESIDE_TRIES 100

static bool guarded[3];

void output_guard_streams(void)
{
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) >= 0)
            continue;
        guarded[fd] = true;
        int null = open("/dev/null", O_RDWR | O_CLOEXEC); /* the lowest free number, which is fd */
        (void)null;
    }
}

static joule_status cannot_write(joule_error *error, const char *path, int errno_value)
{
    return error_set(error, status_of_errno(errno_value), "cannot write %s: %s", path, strerror(errno_value));
}

bool output_write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t n = write(fd, bytes, count);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        bytes += n;
        count -= (size_t)n;
    }
    return true;
}

/* Devices and pipes, and whatever stands behind /dev/stdout or /dev/fd/3: nothing that should be replaced. */
static bool is_stream(const char *path)
{
    struct stat info;
    return string_starts(path, "/dev/") || string_starts(path, "/proc/") ||
           (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
}

/* Creates a new file in the folder of `path`, of which the name is put in out_name; -1 with errno. */
static int create_beside(const char *path, char *out_name, size_t size)
{
    struct stat old;
    mode_t mode = stat(path, &old) == 0 ? old.st_mode & 07777 : 0666;
    for (int i = 0; i < BESIDE_TRIES; i++) {
        struct text name;
        text_init(&name, out_name, size);
        text_printf(&name, "%s.%d.%d", path, getpid(), i);
        if (name.length >= size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(out_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* The file that `path` stands for; a new file stands for itself. */
static joule_status resolve(const char *path, char out_path[PATH_MAX], joule_error *error)
{
    struct stat info;
    if (*path && realpath(path, out_path)) {
        if (stat(out_path, &info) == 0 && S_ISDIR(info.st_mode))
            return cannot_write(error, path, EISDIR);
        return access(out_path, W_OK) == 0 ? JOULE_OK : cannot_write(error, path, errno);
    }
    if (!*path || errno != ENOENT)
        return cannot_write(error, *path ? path : "''", *path ? errno : ENOENT);
    if (lstat(path, &info) == 0)
        return cannot_write(error, path, ENOENT); /* a link to nowhere */
    return string_copy(out_path, PATH_MAX, path) ? JOULE_OK : cannot_write(error, path, ENAMETOOLONG);
}

joule_status output_check(const char *path, joule_error *out_error)
{
    char real[PATH_MAX], beside[PATH_MAX];
    if (strcmp(path, "-") == 0)
        return guarded[STDOUT_FILENO] ? cannot_write(out_error, "standard output", EBADF) : JOULE_OK;
    if (is_stream(path))
        return access(path, W_OK) == 0 ? JOULE_OK : cannot_write(out_error, path, errno);
    joule_status status = resolve(path, real, out_error);
    if (status != JOULE_OK)
        return status;
    int fd = create_beside(real, beside, sizeof beside);
    if (fd < 0)
        return cannot_write(out_error, path, errno);
    close(fd);
    unlink(beside);
    return JOULE_OK;
}

static joule_status replace(const char *path, const char *bytes, size_t count, joule_error *error)
{
    char real[PATH_MAX], beside[PATH_MAX];
    joule_status status = resolve(path, real, error);
    if (status != JOULE_OK)
        return status;
    int fd = create_beside(real, beside, sizeof beside);
    if (fd < 0)
        return cannot_write(error, path, errno);
    bool written = output_write_all(fd, bytes, count);
    int why = errno;
    if (close(fd) != 0 && written) {
        written = false;
        why = errno;
    }
    if (written && rename(beside, real) == 0)
        return JOULE_OK;
    why = written ? errno : why;
    unlink(beside);
    return cannot_write(error, path, why);
}

joule_status output_write(const char *path, const char *bytes, size_t count, joule_error *out_error)
{
    bool is_stdout = strcmp(path, "-") == 0;
    if (!is_stdout && !is_stream(path))
        return replace(path, bytes, count, out_error);
    int fd = is_stdout ? STDOUT_FILENO : open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0)
        return cannot_write(out_error, path, errno);
    bool written = output_write_all(fd, bytes, count);
    int why = errno;
    if (!is_stdout)
        close(fd);
    return written ? JOULE_OK : cannot_write(out_error, path, why);
}
