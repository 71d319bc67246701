/* tools/joule/output.h - files that a subcommand writes its findings to.
 *
 * Owns finding out, before any work is done, whether a file can be written, and replacing it as a whole afterwards.
 * Newcomers: a regular file is never seen half written: the text goes to a new file beside it, which then takes its
 * name. "-" is standard output; devices and pipes are written as they are.
 */
#ifndef JOULE_OUTPUT_H
#define JOULE_OUTPUT_H

#include <joule/base.h>
#include <stdbool.h>
#include <stddef.h>

/* DENIED, ABSENT or FAILED, with a message: `path` cannot be written. */
joule_status output_check(const char *path, joule_error *out_error);
/* False, with errno, when not all of it could be written. */
bool output_write_all(int fd, const char *bytes, size_t count);
joule_status output_write(const char *path, const char *bytes, size_t count, joule_error *out_error);

/* Standard streams that the caller closed are kept from becoming somebody's file: they are closed for the command and
 * lead nowhere for joule. Before anything is opened. */
void output_guard_streams(void);

#endif
