/* tools/common/output.h - output files of subcommands, and errors of standard output.
 *
 * Checks before any work is done that a file can be written, and replaces the file atomically afterwards.
 *
 * Note: a regular file is written as a draft (base/file.h), which is flushed to disk and renamed. "-" is
 * standard output. Devices and pipes are written directly.
 */
#ifndef COMMON_OUTPUT_H
#define COMMON_OUTPUT_H

#include <joule/base.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/file.h"

/* Returns JOULE_OK if `path` can be written, otherwise JOULE_DENIED, JOULE_ABSENT or JOULE_FAILED with a
 * message. */
joule_status output_check(const char *path, joule_error *out_error);
/* Like output_check, but returns JOULE_UNSUPPORTED for devices and pipes, and "-" is an ordinary file
 * name. */
joule_status output_check_file(const char *path, joule_error *out_error);
/* Copies all remaining bytes of `from` to `to`. Returns false with errno if reading or writing failed. */
bool output_copy_all(int from, int to);
/* Writes `count` bytes to `path`. Errors are returned with a message; after a failed write an existing
 * regular file is unchanged. */
joule_status output_write(const char *path, const char *bytes, size_t count, joule_error *out_error);

/* An output that is written in pieces, because the whole may not fit in memory. */
struct output {
    const char *path;
    int fd; /* descriptor to write to */
    bool is_file;
    struct file_draft draft; /* draft of a regular file */
};
/* Opens `path`. The caller writes to out->fd and then calls output_close. Errors have a message. */
joule_status output_open(const char *path, struct output *out, joule_error *out_error);
/* Closes an output. `reason`: errno of a failed write, or 0; after a failed write an existing regular file is
 * unchanged. Errors are returned with a message. */
joule_status output_close(struct output *out, int reason, joule_error *out_error);

/* Checks that no output overwrites an input or another output. The first `inputs` entries of `paths` are
 * inputs, the others are outputs. NULL entries are ignored. Returns JOULE_INVALID with a message if an output
 * is the same file as an earlier entry. Devices, pipes and "-" may be named several times. */
joule_status output_check_apart(const char *const *paths, size_t inputs, size_t count,
                                joule_error *out_error);
/* Returns JOULE_INVALID with a message if more than one of the paths is "-". NULL entries are ignored. */
joule_status output_check_one_stdout(const char *const *paths, size_t count, joule_error *out_error);

/* Prints bytes to standard output. Errors are reported by output_end. */
void output_print(const char *bytes, size_t count);

/* Flushes standard output. Returns `code`, or EXIT_OWN_FAILURE after a message if not all output was
 * written. */
int output_end(const char *subcommand, int code);

/* Opens /dev/null for each standard stream that is closed at program start, so that no other file gets its
 * descriptor. Using such a stream fails. Also ignores SIGXFSZ, so that a write beyond RLIMIT_FSIZE fails with
 * EFBIG. Call this function before any file is opened. */
void output_guard_streams(void);
/* Restores the action that SIGXFSZ had before output_guard_streams. Call this function in a child before
 * exec. Async-signal-safe. */
void output_restore_signals(void);

#endif
