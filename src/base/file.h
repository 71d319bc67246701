/* base/file.h - opens files whose names or contents are not trusted, and replaces files atomically.
 *
 * Note: no function here waits for the other end of a pipe unless FILE_PIPE is given.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Types of files that may be opened; bits. */
enum file_types {
    FILE_REGULAR = 1,
    FILE_DEVICE = 2, /* a character device */
    FILE_PIPE = 4,   /* pipes and sockets: opening a named pipe waits for its writer */
};

/* Opens a file for reading, if it is of one of the `kinds` (enum file_types). Returns its descriptor, which
 * is closed on exec, or -errno: EISDIR for a folder, EOPNOTSUPP for any other kind. */
int file_open_kind(const char *path, unsigned kinds);

/* Opens a pipe or a device for writing. Returns its descriptor, or -errno: ENXIO if no process reads the
 * pipe. */
int file_open_stream(const char *path);

/* Locks an open file against other processes that lock it, until it is closed. Returns 0, also on file
 * systems without locks, or EWOULDBLOCK: another process has locked it. */
int file_lock(int fd);

/* Returns the reason for an errno of this header, for messages. Valid until this thread's next call of
 * strerror. */
const char *file_reason(int errno_value);

/* Returns the bytes of a file of one of the `kinds`, followed by '\0'. The caller frees them. Returns NULL
 * with errno on failure: an error of file_open_kind, EFBIG if the file has more than `max_size` bytes, or
 * ENOMEM. */
char *file_read_whole(const char *path, unsigned kinds, size_t max_size, size_t *out_size);

/* Writes all bytes to a descriptor. Returns false with errno if not all of them could be written. */
bool file_write_all(int fd, const char *bytes, size_t count);

/* The new content of a file. It is written under another name in the same folder and renamed when it is
 * complete. */
struct file_draft {
    int fd; /* descriptor to write to; -1: none */
    /* absolute, with symbolic links resolved; for a new file, the path that the caller passed */
    char *target;
    char *partial; /* target.partial, or target.partial.PID.N if that name is taken */
    bool has_old;  /* a file has this name; the members below describe that file */
    unsigned mode;
    unsigned user;
    unsigned group;
};

/* Begins a draft for `path`. Returns 0 or an errno; after an errno there is no draft to end. EISDIR: the path
 * is a folder. EOPNOTSUPP: the path names something other than a regular file. EACCES: the file may not be
 * written. EWOULDBLOCK: `is_exclusive` is true and another process writes a draft for this file. Replaces a
 * draft that a killed process left behind. */
int file_draft_begin(struct file_draft *draft, const char *path, bool is_exclusive);
/* Flushes the draft to the disk, renames it over the file and ends it. The new file gets the mode of the old
 * file and, if this user may set it, the owner. Returns 0, or an errno with the file unchanged. */
int file_draft_commit(struct file_draft *draft);
/* Removes the draft and ends it. */
void file_draft_discard(struct file_draft *draft);

/* Flushes an open file to the disk. Returns 0, also for pipes and devices, or an errno. */
int file_sync(int fd);
/* Flushes the folder of `path` to the disk, so that a new name in it survives a power failure. Returns 0 or
 * an errno. Returns 0 also if the file system or the folder's permissions do not allow the flush. */
int file_sync_folder(const char *path);

#endif
