/* tests/fakes/fake_words.h - the script of a fake library: words such as "watts=90" with blanks or semicolons between them.
 *
 * Owns finding the text and taking it apart; which names there are is each fake's.
 */
#ifndef FAKE_WORDS_H
#define FAKE_WORDS_H

#include <stdbool.h>

/* What the environment variable holds, or the file that it names as "@FILE"; "" without it. */
const char *fake_words_find(const char *variable);
/* Gives each word to `set`, which says whether there is such a name; true where all are good. */
bool fake_words_each(const char *text, bool (*set)(void *context, const char *name, double value),
                     void *context);

#endif
