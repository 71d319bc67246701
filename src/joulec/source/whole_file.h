/* joulec/source/whole_file.h - files that are read as a whole, to be read as text.
 *
 * Owns doing so, once by path and once by number. Newcomers: a NUL stands behind what was read; it says nothing of what is in it.
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
/* All of an open file that is no pipe, wherever it stands, in `arena`. NULL: no memory, or it cannot be read. */
char *whole_fd(struct arena *arena, int fd);

#endif
