/* joulec/source/whole_file.h - reads whole files as text.
 *
 * Note: every text is terminated by a NUL.
 */
#ifndef JOULEC_WHOLE_FILE_H
#define JOULEC_WHOLE_FILE_H

#include "base/arena.h"

/* Returns the text of a file that the user named, up to its first NUL, for free(); NULL with errno. The file
 * may be a pipe. */
char *whole_file(const char *path, size_t *out_size);
/* The same for a file named by a source's text or debug information: EOPNOTSUPP for anything but a regular
 * file. */
char *whole_source_file(const char *path, size_t *out_size);
/* Returns the contents of an open file, which is not a pipe, from its beginning, in memory of `arena`. NULL:
 * out of memory, or it cannot be read. */
char *whole_fd(struct arena *arena, int fd);

#endif
