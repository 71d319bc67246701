/* joulec/source/whole_file.h - reads whole files as text.
 *
 * Note: every text is terminated by a NUL.
 */
#ifndef JOULEC_WHOLE_FILE_H
#define JOULEC_WHOLE_FILE_H

#include "base/arena.h"

/* Returns the text of a file that the user named, up to its first NUL. The file may be a pipe. The caller
 * frees the text with free(). Returns NULL, with errno, on failure. */
char *whole_file(const char *path, size_t *out_size);
/* Returns the text like whole_file, for a file that is named in source text or debug information. Such a file
 * must be a regular file; errno is EOPNOTSUPP for others. */
char *whole_source_file(const char *path, size_t *out_size);
/* Returns the contents of an open file from its beginning, in memory of `arena`. The file must not be a pipe.
 * Returns NULL if it cannot be read, or if out of memory. */
char *whole_fd(struct arena *arena, int fd);

#endif
