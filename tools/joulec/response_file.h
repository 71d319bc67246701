/* tools/joulec/response_file.h - expands response files ("@FILE") in a command line by clang's rules.
 *
 * FILE is split at white space, and quotes and backslashes are interpreted. FILE may name further response
 * files.
 * Note: an argument "@FILE" stays unchanged if the file cannot be read, so that clang reports the error.
 */
#ifndef JOULEC_RESPONSE_FILE_H
#define JOULEC_RESPONSE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"

/* Returns the arguments from argv[1] on with response files expanded, terminated by NULL. The list is
 * allocated in `arena`. Sets *out_count to its length without that NULL. `folder`: the folder in which clang
 * runs; NULL: the current folder. On failure prints a message and returns NULL. */
const char **response_expand(struct arena *arena, char **argv, const char *folder, size_t *out_count);
/* Replaces response files that are pipes, such as `@<(echo -c)`, by copies in memory. Both joulec and clang
 * read response files, but a pipe can be read only once. If copying fails, leaves the argument unchanged, so
 * that clang reports the error. */
void response_hold_pipes(struct arena *arena, char **argv);

/* A command line that was moved into a response file. */
struct folded_words {
    const char *words[3]; /* the program, `list`, NULL */
    char list[64];        /* "@" and the path of the response file */
};
/* Writes the arguments of a command line that is too long for the kernel to a response file in memory.
 * Sets *out to the short command line. Returns the file's descriptor, which started programs inherit and
 * the caller closes. Returns -1 if the file cannot be created. */
int response_fold(const char **words, struct folded_words *out);

#endif
