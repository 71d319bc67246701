/* port/windows/file.c - base/file.h on Windows. Files in use cannot be replaced there, and folders cannot be
 * flushed. */
#include "base/file.h"

#include <stdio.h>
#include <windows.h>

int file_open_kind(const char *path, unsigned kinds)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return -errno;
    if (S_ISDIR(info.st_mode))
        return -EISDIR;
    if (!S_ISREG(info.st_mode) && !(kinds & (FILE_DEVICE | FILE_PIPE)))
        return -EOPNOTSUPP;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 ? fd : -errno;
}

int file_open_stream(const char *path)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 ? fd : -errno;
}

int file_lock(int fd)
{
    (void)fd;
    return 0;
}

const char *file_reason(int errno_value)
{
    return errno_value == EOPNOTSUPP ? "not a regular file" : strerror(errno_value);
}

char *file_read_whole(const char *path, unsigned kinds, size_t max_size, size_t *out_size)
{
    struct stat info;
    int fd = file_open_kind(path, kinds), reason = fd < 0 ? -fd : fstat(fd, &info) != 0 ? errno : 0;
    if (!reason && ((size_t)info.st_size > max_size || info.st_size > INT_MAX))
        reason = EFBIG;
    char *bytes = reason ? NULL : malloc((size_t)info.st_size + 1);
    int count = bytes ? read(fd, bytes, (unsigned)info.st_size) : -1;
    if (!reason && count < 0)
        reason = bytes ? errno : ENOMEM;
    if (fd >= 0)
        close(fd);
    if (!reason) {
        bytes[ *out_size = (size_t)count] = '\0';
        return bytes;
    }
    free(bytes);
    errno = reason;
    return NULL;
}

int file_draft_begin(struct file_draft *draft, const char *path, bool is_exclusive)
{
    char partial[MAX_PATH];
    (void)is_exclusive;
    *draft = (struct file_draft){.fd = -1, .target = strdup(path)};
    snprintf(partial, sizeof partial, "%s.partial.%d", path, (int)GetCurrentProcessId());
    draft->partial = strdup(partial);
    if (draft->target && draft->partial)
        draft->fd = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, _S_IREAD | _S_IWRITE);
    if (draft->fd >= 0)
        return 0;
    int reason = draft->target && draft->partial ? errno : ENOMEM;
    file_draft_discard(draft);
    return reason;
}

static void forget(struct file_draft *draft)
{
    free(draft->target);
    free(draft->partial);
    *draft = (struct file_draft){.fd = -1};
}

int file_draft_commit(struct file_draft *draft)
{
    int reason = _commit(draft->fd) != 0 ? errno : 0;
    if (close(draft->fd) != 0 && !reason)
        reason = errno;
    if (!reason &&
        !MoveFileExA(draft->partial, draft->target, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
        reason = EACCES;
    if (reason)
        unlink(draft->partial);
    forget(draft);
    return reason;
}

void file_draft_discard(struct file_draft *draft)
{
    if (draft->fd >= 0) {
        close(draft->fd);
        unlink(draft->partial);
    }
    forget(draft);
}

int file_sync(int fd)
{
    return _commit(fd) != 0 && errno != EBADF ? errno : 0; /* EBADF: a pipe or a device */
}

int file_sync_folder(const char *path)
{
    (void)path;
    return 0;
}
