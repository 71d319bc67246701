/* tools/common/output.h - output files of subcommands.
 *
 * Checks before any work is done that a file can be written, and replaces it atomically afterwards. Also
 * checks that all printed output was written.
 * Note: a regular file is replaced by a draft of base/file.h and flushed to the disk. "-" is standard output;
 * devices and pipes are written directly.
 */
#ifndef COMMON_OUTPUT_H
#define COMMON_OUTPUT_H

#include <joule/base.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/file.h"

/* DENIED, ABSENT or FAILED, with a message: `path` cannot be written. */
joule_status output_check(const char *path, joule_error *out_error);
/* The same where it must be a file: neither a stream nor "-", which is a name like others. */
joule_status output_check_file(const char *path, joule_error *out_error);
/* False, with errno, when not all of it could be written. */
bool output_write_all(int fd, const char *bytes, size_t count);
/* The same of all that is still to be read of `from`; false also when that cannot be read. */
bool output_copy_all(int from, int to);
joule_status output_write(const char *path, const char *bytes, size_t count, joule_error *out_error);

/* The same for what is too long to be held as a whole. */
struct output {
    const char *path; /* as it was given */
    int fd;           /* to write to */
    bool is_file;
    struct file_draft draft; /* of a file */
};
joule_status output_open(const char *path, struct output *out, joule_error *out_error);
/* After output_open. why: 0, or the errno of the write that failed; a file is then as it was before. */
joule_status output_close(struct output *out, int why, joule_error *out_error);

/* Of the paths (NULL: none) the first `inputs` are read, and the others written. INVALID, with a message, where an output is
 * the same file as any before it, of which nothing would be left. Streams may take several, one after the other. */
joule_status output_check_apart(const char *const *paths, size_t inputs, size_t count,
                                joule_error *out_error);
/* INVALID, with a message, where more than one of the paths (NULL: none) is "-". */
joule_status output_check_one_stdout(const char *const *paths, size_t count, joule_error *out_error);

/* To standard output; what goes wrong is told by output_end. */
void output_print(const char *bytes, size_t count);

/* Ends what was printed: `code`, or EXIT_OWN_FAILURE after a message where standard output took not all of it. */
int output_end(const char *subcommand, int code);

/* Standard streams that the caller closed are kept from becoming somebody's file: they are closed for the command and
 * lead nowhere for us: what is printed there fails. Before anything is opened. From then on, writing beyond the limit on
 * the size of files (RLIMIT_FSIZE) fails with EFBIG and sends no signal. */
void output_guard_streams(void);
/* Gives SIGXFSZ back its disposition before output_guard_streams, in a child before exec. Async-signal-safe. */
void output_restore_signals(void);

#endif
