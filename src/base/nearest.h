/* base/nearest.h - finds the word that a misspelled word is closest to: "did you mean --json?"
 *
 * A match differs by at most two letters, or one in words of up to three letters.
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

#define NEAREST_MAX_LENGTH 31 /* letters; longer words match nothing */

/* Returns the closest of `count` words, which word_at(i, context) returns; NULL: none is close. Any
 * thread. */
const char *nearest_word(const char *word, size_t count,
                         const char *(*word_at)(size_t index, const void *context), const void *context);

#endif
