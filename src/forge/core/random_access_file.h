/* core/random_access_file.h - reads files at an offset, and replaces files atomically.
 *
 * Note: drafts are those of base/file.h, with error messages. Only one process at a time writes a draft for a
 * path.
 */
#ifndef FORGE_CORE_RANDOM_ACCESS_FILE_H
#define FORGE_CORE_RANDOM_ACCESS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <joule/base.h>
#include "base/file.h"

/* An open file. */
struct file {
    const char *path; /* borrowed from the caller */
    int fd;
    uint64_t size; /* bytes, at the time of file_open */
};

/* Opens a regular file; free with file_close. Refuses other files, because only a regular file's size limits
 * what a header can claim. */
joule_status file_open(struct file *file, const char *path, joule_error *out_error);
/* Reads exactly `size` bytes from `offset` (bytes). Returns JOULE_INVALID if the file has become shorter. */
joule_status file_read(const struct file *file, uint64_t offset, void *out_bytes, size_t size,
                       joule_error *out_error);
void file_close(struct file *file);

/* A new version of a file that is being written. */
struct draft {
    const char *path; /* borrowed from the caller, for messages */
    struct file_draft file;
    joule_status status; /* the first failure; later writes do nothing */
    joule_error *error;
};

/* Begins a new version of the file at `path`. The caller must call draft_end in any case, even after an
 * error. Returns JOULE_PENDING if another process is writing this file, and JOULE_FAILED if `path` is not a
 * regular file. */
joule_status draft_begin(struct draft *draft, const char *path, joule_error *out_error);
void draft_write(struct draft *draft, const void *bytes, size_t size);
/* Replaces the file if `status` and all writes are OK. Otherwise keeps the old file. Returns the first
 * failure, or JOULE_OK. */
joule_status draft_end(struct draft *draft, joule_status status);

#endif
