/* base/nearest.h - which word somebody meant: "did you mean --json?"
 *
 * Owns the distance between words. Newcomers: a slip is at most two letters, one in short words; what is further off is
 * not offered, for a wrong guess helps less than none.
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

#define NEAREST_LONGEST 31 /* letters; longer words are near to none */

/* The one of `count` words that `word` is most likely a slip of; NULL: none is near. word_at(i, context). Any thread. */
const char *nearest_word(const char *word, size_t count,
                         const char *(*word_at)(size_t index, const void *context), const void *context);

#endif
