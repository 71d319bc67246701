/* joulec/source/whole_file.h - reads whole files as text, and terminates the text by a NUL. */
#ifndef JOULEC_WHOLE_FILE_H
#define JOULEC_WHOLE_FILE_H

#include "base/arena.h"

/* Returns the text of a file that the user named, up to its first NUL. The file may be a pipe. Sets *out_size
 * to the number of bytes, including this NUL if the file contains one. The caller frees the text with free().
 * Returns NULL and sets errno on failure. */
char *whole_file(const char *path, size_t *out_size);
/* Like whole_file, for a file that is named in source text or debug information. The file must be regular;
 * otherwise sets errno to EOPNOTSUPP and returns NULL. */
char *whole_source_file(const char *path, size_t *out_size);
/* Returns the contents of an open file from its beginning, allocated in `arena`. The file must not be a pipe.
 * Returns NULL if the file cannot be read, or if out of memory. */
char *whole_fd(struct arena *arena, int fd);

#endif
