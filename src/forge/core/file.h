/* core/file.h - reads files at an offset, and replaces files atomically.
 *
 * Note: drafts are those of base/file.h, with error messages. Only one process at a time writes a draft for a
 * path.
 */
#ifndef FORGE_CORE_FILE_H
#define FORGE_CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <joule/base.h>
#include "base/file.h"

struct file {
    const char *path; /* the caller's */
    int fd;
    uint64_t size; /* when it was opened */
};

/* Regular files only: a size that can be trusted is what keeps a reader from believing a header. */
joule_status file_open(struct file *file, const char *path, joule_error *out_error);
/* All `size` bytes from `offset` on. INVALID: the file is shorter now. */
joule_status file_read(const struct file *file, uint64_t offset, void *out_bytes, size_t size,
                       joule_error *out_error);
void file_close(struct file *file);

struct draft {
    const char *path; /* the caller's, for messages */
    struct file_draft file;
    joule_status status; /* the first failure: later writes do nothing */
    joule_error *error;
};

/* PENDING: somebody else is writing this file now. FAILED: there is something that is no file. draft_end is due, whatever
 * comes back. */
joule_status draft_begin(struct draft *draft, const char *path, joule_error *out_error);
void draft_write(struct draft *draft, const void *bytes, size_t size);
/* Puts the file into its place, if all went well and `status` is OK; else the file that was there stays. */
joule_status draft_end(struct draft *draft, joule_status status);

#endif
