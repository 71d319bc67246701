/* base/file.c - see file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_TRIES  100
#define FIRST_SIZE 4096

/* --- reading -------------------------------------------------------------------------------------------- */

/* Returns true if a file with this st_mode is of one of the `kinds` (enum file_types). */
static bool is_of_kind(mode_t mode, unsigned kinds)
{
    return (kinds & FILE_REGULAR && S_ISREG(mode)) || (kinds & FILE_DEVICE && S_ISCHR(mode)) ||
           (kinds & FILE_PIPE && (S_ISFIFO(mode) || S_ISSOCK(mode)));
}

/* Opens a file that is closed on exec. Repeats the call after a signal, except with O_CREAT. Returns the
 * descriptor, or -1 with errno. */
static int open_again(const char *path, int flags, mode_t mode)
{
    int fd;
    do
        fd = open(path, flags | O_CLOEXEC | O_NOCTTY, mode);
    while (fd < 0 && errno == EINTR && !(flags & O_CREAT));
    return fd;
}

int file_open_kind(const char *path, unsigned kinds)
{
    struct stat info;
    int fd = open_again(path, O_RDONLY | (kinds & FILE_PIPE ? 0 : O_NONBLOCK), 0);
    if (fd < 0)
        return -errno;
    int reason = fstat(fd, &info) != 0             ? errno
                 : is_of_kind(info.st_mode, kinds) ? 0
                 : S_ISDIR(info.st_mode)           ? EISDIR
                                                   : EOPNOTSUPP;
    if (!reason)
        return fd;
    close(fd);
    return -reason;
}

int file_open_stream(const char *path)
{
    int fd = open_again(path, O_WRONLY | O_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (fcntl(fd, F_SETFL, O_APPEND) == 0)
        return fd;
    int reason = errno;
    close(fd);
    return -reason;
}

int file_lock(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK ? EWOULDBLOCK : 0;
}

const char *file_reason(int errno_value)
{
    return errno_value == EOPNOTSUPP ? "not a regular file" : strerror(errno_value);
}

/* Reads the rest of a file into *bytes, which is reallocated as needed, and adds '\0'. The caller frees
 * *bytes, also after an error. Returns 0 or an errno; EFBIG: more than max_size bytes. */
static int read_all(int fd, size_t max_size, char **bytes, size_t *size)
{
    size_t capacity = 0;
    for (*size = 0;;) {
        if (*size + 1 >= capacity) {
            capacity = capacity ? 2 * capacity : FIRST_SIZE;
            char *larger = realloc(*bytes, capacity);
            if (!larger)
                return ENOMEM;
            *bytes = larger;
        }
        ssize_t count = read(fd, *bytes + *size, capacity - *size - 1);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return errno;
        (*bytes)[ *size += (size_t)count] = '\0';
        if (*size > max_size)
            return EFBIG;
        if (count == 0)
            return 0;
    }
}

char *file_read_whole(const char *path, unsigned kinds, size_t max_size, size_t *out_size)
{
    char *bytes = NULL;
    struct stat info;
    int fd = file_open_kind(path, kinds), reason = fd < 0 ? -fd : 0;
    if (!reason && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 &&
        (unsigned long long)info.st_size > max_size)
        reason = EFBIG;
    if (!reason)
        reason = read_all(fd, max_size, &bytes, out_size);
    if (fd >= 0)
        close(fd);
    if (!reason)
        return bytes;
    free(bytes);
    errno = reason;
    return NULL;
}

/* --- writing -------------------------------------------------------------------------------------------- */

bool file_write_all(int fd, const char *bytes, size_t count)
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

/* --- drafts --------------------------------------------------------------------------------------------- */

/* Returns 0 if a draft may replace the file with this status, or an errno. */
static int check_old(const char *target, const struct stat *old)
{
    if (S_ISDIR(old->st_mode))
        return EISDIR;
    if (!S_ISREG(old->st_mode))
        return EOPNOTSUPP;
    return access(target, W_OK) != 0 ? errno : 0;
}

/* Sets *out_target to `path` with symbolic links resolved, and *out_old to the status of the file there.
 * st_mode is 0 if there is no file. The caller frees *out_target, also after an error. Returns 0 or an
 * errno. */
static int find_target(const char *path, char **out_target, struct stat *out_old)
{
    *out_target = NULL;
    *out_old = (struct stat){0};
    for (int tries = 0; *path && tries < MAX_TRIES; tries++) {
        struct stat link;
        *out_target = realpath(path, NULL);
        if (*out_target)
            return stat(*out_target, out_old) != 0 ? errno : check_old(*out_target, out_old);
        if (errno != ENOENT)
            return errno;
        if (lstat(path, &link) != 0) {
            *out_target = strdup(path);
            return *out_target ? 0 : ENOMEM;
        }
        if (S_ISLNK(link.st_mode))
            return ENOENT; /* the target of a dangling link is not created */
        /* Another process created the file in the meantime. */
    }
    return ENOENT;
}

/* Returns true if `path` names the open file, without following a symbolic link. Fills *out_info with the
 * status of the open file. */
static bool is_same_file(int fd, const char *path, struct stat *out_info)
{
    struct stat named;
    return fstat(fd, out_info) == 0 && lstat(path, &named) == 0 && out_info->st_ino == named.st_ino &&
           out_info->st_dev == named.st_dev;
}

/* The result of removing an old draft. FOREIGN: the file is not a draft of this user, or cannot be
 * removed. */
enum leftover { LEFTOVER_REMOVED, LEFTOVER_IN_USE, LEFTOVER_FOREIGN };

/* Removes the draft of a killed process. Leaves anything else that an attacker may have created at this path:
 * a file of another user, a hard link, a pipe or a symbolic link. */
static enum leftover remove_leftover(const char *path)
{
    struct stat info;
    int fd = open_again(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, 0);
    if (fd < 0)
        return errno == ENOENT ? LEFTOVER_REMOVED : LEFTOVER_FOREIGN;
    enum leftover found = LEFTOVER_FOREIGN;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink <= 1 && info.st_uid == geteuid()) {
        bool is_in_use = file_lock(fd) != 0;
        bool is_removed = !is_in_use && (!is_same_file(fd, path, &info) || unlink(path) == 0);
        found = is_in_use ? LEFTOVER_IN_USE : is_removed ? LEFTOVER_REMOVED : LEFTOVER_FOREIGN;
    }
    close(fd);
    return found;
}

/* Creates the draft's file and locks it. Tries again if another process removed the new file as a leftover
 * before the file was locked. Returns 0, or an errno with draft->fd -1. */
static int create_partial(struct file_draft *draft, bool is_exclusive, mode_t mode)
{
    struct stat info;
    for (int tries = 0; tries < MAX_TRIES; tries++) {
        draft->fd = open_again(draft->partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
        int reason = errno;
        bool is_locked = draft->fd >= 0 && file_lock(draft->fd) == 0;
        if (is_locked && is_same_file(draft->fd, draft->partial, &info))
            return 0;
        if (draft->fd >= 0)
            close(draft->fd);
        else if (reason != EEXIST)
            return reason;
        enum leftover found = draft->fd < 0 ? remove_leftover(draft->partial) : LEFTOVER_REMOVED;
        draft->fd = -1;
        if (found == LEFTOVER_IN_USE && is_exclusive)
            return EWOULDBLOCK;
        if (found == LEFTOVER_REMOVED)
            continue;
        free(draft->partial);
        if (asprintf(&draft->partial, "%s.partial.%d.%d", draft->target, (int)getpid(), tries) < 0) {
            draft->partial = NULL;
            return ENOMEM;
        }
    }
    return EEXIST;
}

/* Closes the draft's file and frees its names. The file itself stays. */
static void forget(struct file_draft *draft)
{
    if (draft->fd >= 0)
        close(draft->fd);
    free(draft->target);
    free(draft->partial);
    *draft = (struct file_draft){.fd = -1};
}

int file_draft_begin(struct file_draft *draft, const char *path, bool is_exclusive)
{
    struct stat old;
    *draft = (struct file_draft){.fd = -1};
    int reason = find_target(path, &draft->target, &old);
    if (!reason && asprintf(&draft->partial, "%s.partial", draft->target) < 0) {
        draft->partial = NULL;
        reason = ENOMEM;
    }
    draft->has_old = old.st_mode != 0;
    draft->mode = old.st_mode & 0777;
    draft->user = old.st_uid;
    draft->group = old.st_gid;
    if (!reason)
        reason = create_partial(draft, is_exclusive, draft->has_old ? 0600 : 0666);
    if (reason)
        forget(draft);
    return reason;
}

int file_sync(int fd)
{
    return fsync(fd) != 0 && errno != EINVAL && errno != EROFS ? errno : 0;
}

int file_sync_folder(const char *path)
{
    char *copy = strdup(path);
    int fd = copy ? open_again(dirname(copy), O_RDONLY | O_DIRECTORY, 0) : -1;
    int reason = fd < 0 ? errno : file_sync(fd);
    if (fd >= 0)
        close(fd);
    free(copy);
    return reason == EACCES ? 0 : reason; /* the folder may be writable but not readable */
}

/* Copies the mode of the file to be replaced to the draft and, if the system allows it, the owner. Returns 0
 * or an errno. */
static int copy_rights(struct file_draft *draft)
{
    bool is_owner_set = !draft->has_old || fchown(draft->fd, draft->user, draft->group) == 0;
    (void)is_owner_set;
    return draft->has_old && fchmod(draft->fd, draft->mode) != 0 ? errno : 0;
}

int file_draft_commit(struct file_draft *draft)
{
    int reason = copy_rights(draft);
    if (!reason)
        reason = file_sync(draft->fd);
    if (!reason && rename(draft->partial, draft->target) != 0)
        reason = errno;
    if (reason)
        unlink(draft->partial);
    forget(draft);
    return reason;
}

void file_draft_discard(struct file_draft *draft)
{
    if (draft->fd >= 0)
        unlink(draft->partial);
    forget(draft);
}
