/* tools/joulec/response_file.h - expands response files ("@FILE") in a command line by clang's rules.
 *
 * FILE is split at white space, with quotes and backslashes, and may name further files. Note: an argument
 * "@FILE" stays as it is if the file cannot be read, so that clang reports the error.
 */
#ifndef JOULEC_RESPONSE_FILE_H
#define JOULEC_RESPONSE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"

/* Returns argv[1] and the following arguments, terminated by NULL, in memory of `arena`. `folder`: where
 * clang runs; NULL: the current folder. NULL after a message. */
const char **response_expand(struct arena *arena, char **argv, const char *folder, size_t *out_count);
/* Replaces pipes, such as `@<(echo -c)`, by copies, because both joulec and clang read them. A pipe that
 * cannot be copied stays, so that clang reports the error. */
void response_hold_pipes(struct arena *arena, char **argv);

struct folded_words {
    const char *words[3]; /* the program, one response file, NULL */
    char list[64];
};
/* Writes arguments that exceed the limit on command lines to a response file in memory. Returns its open
 * descriptor, for programs that this one starts or becomes; the caller closes it. -1: it cannot be
 * created. */
int response_fold(const char **words, struct folded_words *out);

#endif
