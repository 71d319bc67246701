/* tools/joulec/clang_words.h - how words of clang's command line are read.
 *
 * Owns which options have their value in the next word, and which are others' long forms.
 */
#ifndef JOULEC_CLANG_WORDS_H
#define JOULEC_CLANG_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"

/* Its value is the next word. */
bool clang_word_takes_next(const char *word);
/* What `word` and the `next` say of the language of files behind them; NULL: nothing. */
const char *clang_word_language(const char *word, const char *next);
/* The words, ended by NULL, with long forms made short, so that one spelling is all that is known behind this. NULL: no
 * memory. */
const char **clang_words_shorten(struct arena *arena, const char **said, size_t *count);

#endif
