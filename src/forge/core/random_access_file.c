/* core/random_access_file.c - see random_access_file.h. */
#include "forge/core/random_access_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/error.h"

enum { MAX_TRANSFER_BYTES = 1 << 30 }; /* bytes of one call; read and write cannot transfer 2 GiB or more */

joule_status file_open(struct file *file, const char *path, joule_error *out_error)
{
    struct stat facts = {0};
    *file = (struct file){.path = path, .fd = file_open_kind(path, FILE_REGULAR)};
    int reason = file->fd < 0 ? -file->fd : fstat(file->fd, &facts) != 0 ? errno : 0;
    if (!reason) {
        file->size = (uint64_t)facts.st_size;
        return JOULE_OK;
    }
    file_close(file);
    if (reason == EISDIR)
        return error_set(out_error, JOULE_UNSUPPORTED, "cannot open %s: it is a directory, not a file", path);
    if (reason == EOPNOTSUPP)
        return error_set(out_error, JOULE_UNSUPPORTED, "cannot open %s: not a regular file; copy it into one",
                         path);
    return error_set(out_error, status_of_errno(reason), "cannot open %s: %s", path, strerror(reason));
}

joule_status file_read(const struct file *file, uint64_t offset, void *out_bytes, size_t size,
                       joule_error *out_error)
{
    for (size_t count = 0; count < size;) {
        size_t some = size - count < MAX_TRANSFER_BYTES ? size - count : MAX_TRANSFER_BYTES;
        ssize_t step =
            TEMP_FAILURE_RETRY(pread(file->fd, (char *)out_bytes + count, some, (off_t)(offset + count)));
        if (step < 0)
            return error_set(out_error, status_of_errno(errno), "cannot read %s at byte %" PRIu64 ": %s",
                             file->path, offset + count, strerror(errno));
        if (step == 0)
            return error_set(out_error, JOULE_INVALID,
                             "cannot read %s at byte %" PRIu64 ": the file ends here, but had %" PRIu64
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

joule_status file_read_all(const char *path, size_t max_size, struct arena *arena, char **out_bytes,
                           size_t *out_size, joule_error *out_error)
{
    struct file file;
    joule_status status = file_open(&file, path, out_error);
    if (status != JOULE_OK)
        return status;
    char *bytes = NULL;
    size_t size = (size_t)file.size;
    if (file.size > max_size)
        status = error_set(out_error, JOULE_INVALID,
                           "cannot read %s: it has %" PRIu64 " bytes; the maximum is %zu", path, file.size,
                           max_size);
    else if (!(bytes = arena ? arena_alloc(arena, size + 1) : malloc(size + 1)))
        status = error_set(out_error, JOULE_NO_MEMORY, "cannot read %s: out of memory", path);
    else
        status = file_read(&file, 0, bytes, size, out_error);
    file_close(&file);
    if (status == JOULE_OK) {
        bytes[size] = '\0';
        *out_bytes = bytes;
        *out_size = size;
    } else if (!arena) {
        free(bytes);
    }
    return status;
}

/* --- drafts --------------------------------------------------------------------------------------------- */

/* Stores the failure in the draft and sets the error message, unless the draft has failed before. reason: an
 * errno value; what: the verb of the message. Returns the draft's status. */
static joule_status fail(struct draft *draft, int reason, const char *what)
{
    if (draft->status != JOULE_OK)
        return draft->status;
    if (reason == EISDIR || reason == EOPNOTSUPP)
        return draft->status =
                   error_set(draft->error, JOULE_FAILED, "cannot write %s: it is %s; choose another path",
                             draft->path, reason == EISDIR ? "a directory" : "not a regular file");
    if (reason == EWOULDBLOCK)
        return draft->status =
                   error_set(draft->error, JOULE_PENDING,
                             "cannot write %s: another process is writing it; try again later", draft->path);
    joule_status status = reason == EACCES || reason == EPERM ? JOULE_DENIED
                          : reason == ENOMEM                  ? JOULE_NO_MEMORY
                                                              : JOULE_FAILED;
    return draft->status = error_set(draft->error, status, "cannot %s %s: %s; the old file is unchanged",
                                     what, draft->path, strerror(reason));
}

joule_status draft_begin(struct draft *draft, const char *path, joule_error *out_error)
{
    *draft = (struct draft){.path = path, .error = out_error};
    int reason = file_draft_begin(&draft->file, path, true);
    return reason ? fail(draft, reason, "write") : JOULE_OK;
}

void draft_write(struct draft *draft, const void *bytes, size_t size)
{
    for (size_t count = 0; draft->status == JOULE_OK && count < size;) {
        size_t some = size - count < MAX_TRANSFER_BYTES ? size - count : MAX_TRANSFER_BYTES;
        ssize_t step = TEMP_FAILURE_RETRY(write(draft->file.fd, (const char *)bytes + count, some));
        if (step < 0)
            fail(draft, errno, "write");
        else
            count += (size_t)step;
    }
}

joule_status draft_end(struct draft *draft, joule_status status)
{
    if (draft->status == JOULE_OK)
        draft->status = status;
    if (draft->status != JOULE_OK) {
        file_draft_discard(&draft->file);
        return draft->status;
    }
    int reason = file_draft_commit(&draft->file);
    if (reason)
        return fail(draft, reason, "replace");
    reason = file_sync_folder(draft->path);
    return reason ? draft->status =
                        error_set(draft->error, JOULE_FAILED, "wrote %s, but cannot flush its directory: %s",
                                  draft->path, strerror(reason))
                  : JOULE_OK;
}
