/* tests/fakes/fake_words.h - finds and parses the script of a fake library, words such as "watts=90".
 *
 * Blanks or semicolons separate the words. Each fake defines its own names. */
#ifndef FAKE_WORDS_H
#define FAKE_WORDS_H

#include <stdbool.h>

/* Returns the environment variable's value, or the contents of the file if the value is "@FILE"; "" if it is
 * not set. */
const char *fake_words_find(const char *variable);
/* Passes each word to `set`, which returns false for an unknown name. Returns true if all words are valid. */
bool fake_words_each(const char *text, bool (*set)(void *context, const char *name, double value),
                     void *context);

#endif
