/* tools/joulec/own_words.h - the options that joulec adds to clang's.
 *
 * Owns their names, and what may stand behind each.
 */
#ifndef JOULEC_OWN_WORDS_H
#define JOULEC_OWN_WORDS_H

#include "arguments.h"

/* What was taken: 1 or 2 words; 0: it is not joulec's; -1: after a message, it is wrong. `next`: the word behind it, or NULL. */
int own_words_take(struct arguments *out, const char *word, const char *next);

#endif
