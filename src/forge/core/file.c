/* core/file.c - see file.h. */
#include "forge/core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"

enum { MOST_AT_ONCE = 1 << 30 }; /* one call of read or write moves less than 2 GiB */

joule_status file_open(struct file *file, const char *path, joule_error *out_error)
{
    struct stat facts;
    *file =
        (struct file){.path = path, .fd = TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK))};
    if (file->fd < 0 || fstat(file->fd, &facts) != 0) {
        int reason = errno;
        file_close(file);
        return error_set(out_error, status_of_errno(reason), "cannot open %s: %s", path, strerror(reason));
    }
    if (!S_ISREG(facts.st_mode)) {
        file_close(file);
        return error_set(out_error, JOULE_UNSUPPORTED,
                         S_ISDIR(facts.st_mode) ? "%s is a folder, not a file"
                                                : "%s: no regular file; copy it into one",
                         path);
    }
    file->size = (uint64_t)facts.st_size;
    return JOULE_OK;
}

joule_status file_read(const struct file *file, uint64_t offset, void *out_bytes, size_t size,
                       joule_error *out_error)
{
    for (size_t count = 0; count < size;) {
        size_t some = size - count < MOST_AT_ONCE ? size - count : MOST_AT_ONCE;
        ssize_t step =
            TEMP_FAILURE_RETRY(pread(file->fd, (char *)out_bytes + count, some, (off_t)(offset + count)));
        if (step < 0)
            return error_set(out_error, status_of_errno(errno), "%s: cannot read byte %" PRIu64 ": %s",
                             file->path, offset + count, strerror(errno));
        if (step == 0)
            return error_set(out_error, JOULE_INVALID,
                             "%s: byte %" PRIu64 ": the file ends here, and had %" PRIu64
                             " bytes when it was opened",
                             file->path, offset + count, file->size);
        count += (size_t)step;
    }
    return JOULE_OK;
}

void file_close(struct file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

/* --- drafts -------------------------------------------------------------------------------------------------- */

static joule_status fail(struct draft *draft, const char *what, const char *path)
{
    int reason = errno;
    if (draft->status == JOULE_OK)
        draft->status = error_set(
            draft->error, reason == EACCES || reason == EPERM ? JOULE_DENIED : JOULE_FAILED,
            "%s: cannot %s %s: %s; what was there is unchanged", draft->path, what, path, strerror(reason));
    return draft->status;
}

static bool is_same_file(int fd, const char *path)
{
    struct stat open_one, named;
    return fstat(fd, &open_one) == 0 && stat(path, &named) == 0 && open_one.st_ino == named.st_ino &&
           open_one.st_dev == named.st_dev;
}

/* Opens the other name and locks it. Between the two another writer may have put its own into place: the file that was
 * opened then has another name by now, and must not be touched. */
static joule_status open_partial(struct draft *draft)
{
    do {
        if (draft->fd >= 0)
            close(draft->fd);
        draft->fd = TEMP_FAILURE_RETRY(
            open(draft->partial, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, draft->mode));
        if (draft->fd < 0)
            return fail(draft, "open", draft->partial);
        if (flock(draft->fd, LOCK_EX | LOCK_NB) != 0)
            return draft->status = error_set(draft->error, JOULE_PENDING,
                                             "%s: another writer is at work on %s; try again later",
                                             draft->path, draft->partial);
    } while (!is_same_file(draft->fd, draft->partial));
    bool is_ready = ftruncate(draft->fd, 0) == 0 && (!draft->is_there || fchmod(draft->fd, draft->mode) == 0);
    return is_ready ? JOULE_OK : fail(draft, "empty", draft->partial);
}

/* Behind symbolic links. What is there must be a file, as the rename would do away with anything else. */
static joule_status find_target(struct draft *draft)
{
    struct stat facts;
    draft->target = realpath(draft->path, NULL);
    if (!draft->target && errno == ENOENT)
        draft->target = strdup(draft->path);
    if (!draft->target)
        return fail(draft, "find", draft->path);
    draft->mode = 0666;
    if (stat(draft->target, &facts) != 0)
        return JOULE_OK; /* nothing is there yet */
    draft->mode = facts.st_mode & 07777;
    draft->is_there = true;
    if (S_ISREG(facts.st_mode))
        return JOULE_OK;
    return draft->status =
               error_set(draft->error, JOULE_FAILED, "cannot write %s: it is %s; choose another path",
                         draft->path, S_ISDIR(facts.st_mode) ? "a folder" : "no regular file");
}

joule_status draft_begin(struct draft *draft, const char *path, joule_error *out_error)
{
    *draft = (struct draft){.path = path, .fd = -1, .error = out_error};
    if (find_target(draft) != JOULE_OK)
        return draft->status;
    if (asprintf(&draft->partial, "%s.partial", draft->target) < 0) {
        draft->partial = NULL;
        return draft->status = error_set(out_error, JOULE_NO_MEMORY, "%s: no memory for writing", path);
    }
    return open_partial(draft);
}

void draft_write(struct draft *draft, const void *bytes, size_t size)
{
    for (size_t count = 0; draft->status == JOULE_OK && count < size;) {
        size_t some = size - count < MOST_AT_ONCE ? size - count : MOST_AT_ONCE;
        ssize_t step = TEMP_FAILURE_RETRY(write(draft->fd, (const char *)bytes + count, some));
        if (step < 0)
            fail(draft, "write", draft->partial);
        else
            count += (size_t)step;
    }
}

/* A rename is safe on the disk when its folder is. Some file systems know no such thing, and say so. */
static joule_status flush_folder(struct draft *draft)
{
    char *path = strdup(draft->target);
    int fd = path ? TEMP_FAILURE_RETRY(open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) : -1;
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL && errno != EROFS))
        draft->status =
            error_set(draft->error, JOULE_FAILED, "%s: written, but its folder cannot be flushed: %s",
                      draft->path, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(path);
    return draft->status;
}

joule_status draft_end(struct draft *draft, joule_status status)
{
    bool owns_partial = draft->status != JOULE_PENDING;
    if (draft->status == JOULE_OK)
        draft->status = status;
    if (draft->status == JOULE_OK && fsync(draft->fd) != 0)
        fail(draft, "flush", draft->partial);
    if (draft->status == JOULE_OK && rename(draft->partial, draft->target) != 0)
        fail(draft, "rename", draft->partial);
    bool is_there = draft->status == JOULE_OK;
    if (is_there)
        flush_folder(draft);
    else if (draft->fd >= 0 && owns_partial)
        unlink(draft->partial);
    if (draft->fd >= 0)
        close(draft->fd);
    free(draft->partial);
    free(draft->target);
    return draft->status;
}
