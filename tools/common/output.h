/* tools/common/output.h - output files of subcommands, and errors of standard output.
 *
 * Checks before any work is done that a file can be written, and replaces the file atomically afterwards.
 *
 * Note: a regular file is replaced by a draft of base/file.h and flushed to disk. "-" is standard output;
 * devices and pipes are written directly.
 */
#ifndef COMMON_OUTPUT_H
#define COMMON_OUTPUT_H

#include <joule/base.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/file.h"

/* Checks that `path` can be written. Otherwise returns JOULE_DENIED, JOULE_ABSENT or JOULE_FAILED with a
 * message. */
joule_status output_check(const char *path, joule_error *out_error);
/* Like output_check, but `path` must be a regular file; "-" is an ordinary file name. */
joule_status output_check_file(const char *path, joule_error *out_error);
/* Writes all bytes. Returns false with errno if not all of them could be written. */
bool output_write_all(int fd, const char *bytes, size_t count);
/* Copies the rest of `from` to `to`. Returns false with errno if reading or writing failed. */
bool output_copy_all(int from, int to);
joule_status output_write(const char *path, const char *bytes, size_t count, joule_error *out_error);

/* An output that is too long to be held in memory as a whole. */
struct output {
    const char *path;
    int fd; /* descriptor to write to */
    bool is_file;
    struct file_draft draft; /* draft of a regular file */
};
joule_status output_open(const char *path, struct output *out, joule_error *out_error);
/* Ends an output. `why`: 0, or the errno of a failed write, which leaves an existing file unchanged. */
joule_status output_close(struct output *out, int why, joule_error *out_error);

/* Checks that no output overwrites an input or another output. The first `inputs` of `paths` are read, the
 * others are written; NULL entries are ignored. Returns JOULE_INVALID with a message if an output is the
 * same file as an earlier entry. Streams may be named several times. */
joule_status output_check_apart(const char *const *paths, size_t inputs, size_t count,
                                joule_error *out_error);
/* Returns JOULE_INVALID with a message if more than one of the paths is "-". NULL entries are ignored. */
joule_status output_check_one_stdout(const char *const *paths, size_t count, joule_error *out_error);

/* Prints to standard output; output_end reports errors. */
void output_print(const char *bytes, size_t count);

/* Flushes standard output. Returns `code`, or EXIT_OWN_FAILURE after a message if not all output was
 * written. */
int output_end(const char *subcommand, int code);

/* Opens /dev/null for standard streams that the caller closed, so that no other file gets their numbers;
 * using such a stream fails. Call this before anything is opened. Afterwards, writing beyond RLIMIT_FSIZE
 * fails with EFBIG instead of raising SIGXFSZ. */
void output_guard_streams(void);
/* Restores the action of SIGXFSZ from before output_guard_streams, in a child before exec.
 * Async-signal-safe. */
void output_restore_signals(void);

#endif
