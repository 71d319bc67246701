/* core/random_access_file.h - reads files at an offset, and replaces files atomically.
 *
 * Note: a draft is a new version of a file that is not visible yet. It is the draft of base/file.h, with
 * error messages. Only one process at a time can write a draft for a path.
 */
#ifndef FORGE_CORE_RANDOM_ACCESS_FILE_H
#define FORGE_CORE_RANDOM_ACCESS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <joule/base.h>
#include "base/arena.h"
#include "base/file.h"

/* An open file. */
struct file {
    const char *path; /* the caller's memory */
    int fd;
    uint64_t size; /* bytes, at the time of file_open */
};

/* Opens a regular file for reading. The caller closes it with file_close. Returns JOULE_UNSUPPORTED for other
 * kinds of files, because their size is unknown and sizes in a header are checked against the size of the
 * file. */
joule_status file_open(struct file *file, const char *path, joule_error *out_error);
/* Reads exactly `size` bytes from `offset`, in bytes. Returns JOULE_INVALID if the file ends before. */
joule_status file_read(const struct file *file, uint64_t offset, void *out_bytes, size_t size,
                       joule_error *out_error);
void file_close(struct file *file);
/* Reads a whole regular file of at most `max_size` bytes, and adds a NUL. *out_bytes: in memory of the arena;
 * if the arena is NULL, the caller frees it with free(). JOULE_INVALID: the file is larger. */
joule_status file_read_all(const char *path, size_t max_size, struct arena *arena, char **out_bytes,
                           size_t *out_size, joule_error *out_error);

/* A new version of a file that is being written. */
struct draft {
    const char *path; /* the caller's memory; for messages */
    struct file_draft file;
    joule_status status; /* the first failure; after it, writes have no effect */
    joule_error *error;
};

/* Begins a new version of the file at `path`. The caller must call draft_end in any case, even after an
 * error. Returns JOULE_PENDING if another process is writing this file, and JOULE_FAILED if `path` is not a
 * regular file. */
joule_status draft_begin(struct draft *draft, const char *path, joule_error *out_error);
/* Appends `size` bytes. A failure is stored in the draft and returned by draft_end. */
void draft_write(struct draft *draft, const void *bytes, size_t size);
/* Replaces the file if `status` is JOULE_OK and all writes succeeded. Otherwise discards the new version and
 * does not change the old file. Returns the first failure, or JOULE_OK. */
joule_status draft_end(struct draft *draft, joule_status status);

#endif
