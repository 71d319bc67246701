/* tools/joulec/response.h - the words of a command line, with those of its response files in their places.
 *
 * Owns clang's rules for a word "@FILE": what stands in FILE takes its place, parted at white space, with quotes and backslashes,
 * and with further files in it. Newcomers: a file that cannot be read is no response file, so that clang says what it says.
 */
#ifndef JOULEC_RESPONSE_H
#define JOULEC_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"

/* The words argv[1] and on, ended by NULL. `folder`: in which clang runs; NULL: this one. NULL after a message. */
const char **response_expand(struct arena *arena, char **argv, const char *folder, size_t *out_count);
/* Puts copies that can be read again in the places of pipes, as `@<(echo -c)`: joulec reads them, and clang after it. What cannot
 * be copied stays, so that clang says what it says. */
void response_hold_pipes(struct arena *arena, char **argv);

struct folded_words {
    const char *words[3]; /* the program, and one response file */
    char list[64];
};
/* Puts words that are too many for a command line into a file in memory. It, open, for programs that this one starts or becomes;
 * -1: there is none. */
int response_fold(const char **words, struct folded_words *out);

#endif
