/* base/file.h - opening files that somebody else named or made, and replacing files as a whole.
 *
 * Note: no function here waits for a pipe's other end unless FILE_PIPE asks for that.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

enum file_types {
    FILE_REGULAR = 1,
    FILE_DEVICE = 2, /* a character device */
    FILE_PIPE = 4,   /* pipes and sockets: opening a named pipe waits for its writer */
};

/* Opens a file for reading, if it is of one of the `kinds` (enum file_types). Returns its descriptor, which
 * is closed in programs that this one becomes; or -errno: EISDIR for a folder, EOPNOTSUPP for any other
 * kind. */
int file_open_kind(const char *path, unsigned kinds);

/* Opens a pipe or a device for writing. Returns its descriptor or -errno: ENXIO where no process reads the
 * pipe. */
int file_open_stream(const char *path);

/* Locks an open file against other processes that lock it, until it is closed. Returns 0, also on file
 * systems without locks, or EWOULDBLOCK: another process has locked it. */
int file_lock(int fd);

/* The reason behind an errno of this header, for messages. Valid until the next call of strerror in this
 * thread. */
const char *file_reason(int errno_value);

/* Returns the bytes of a file of one of the `kinds`, followed by '\0', which the caller frees. NULL with
 * errno: as file_open_kind, EFBIG where it has more than `max_size` bytes, ENOMEM. */
char *file_read_whole(const char *path, unsigned kinds, size_t max_size, size_t *out_size);

/* A new content of a file. It is written under another name in the same folder and takes the file's name when
 * it is whole. */
struct file_draft {
    int fd;       /* to write to; -1: none */
    char *target; /* absolute, behind symbolic links; of a new file as it was named */
    char *
        partial; /* target.partial, or target.partial.PID.N where something that must not be touched has that name */
    bool has_old; /* a file has the name; what follows is of that file */
    unsigned mode;
    unsigned user;
    unsigned group;
};

/* Begins a draft for `path`. Returns 0, or an errno with nothing to end: EISDIR, EOPNOTSUPP where something
 * that is no regular file has the name, EACCES where it may not be written, EWOULDBLOCK where `is_exclusive`
 * and another process writes a draft for it. A draft that a killed process left is replaced. */
int file_draft_begin(struct file_draft *draft, const char *path, bool is_exclusive);
/* Writes the draft to the disk and puts it in the file's place, with the mode of the old file and, where this
 * user may do that, its owner. Ends the draft. Returns 0, or an errno with the file unchanged. */
int file_draft_commit(struct file_draft *draft);
/* Removes the draft. Ends it. */
void file_draft_discard(struct file_draft *draft);

/* Writes an open file to the disk. Returns 0, also for pipes and devices, or an errno. */
int file_sync(int fd);
/* Writes the folder of `path` to the disk, so that a new name in it survives a power failure. Returns 0 or an
 * errno; 0 also where a file system or the folder's rights do not allow it. */
int file_sync_folder(const char *path);

#endif
