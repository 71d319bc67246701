/* tests/fakes/fake_words.h - finds and parses the script of a fake library.
 *
 * A script consists of words such as "watts=90", separated by blanks or semicolons. Each fake defines its own
 * names. */
#ifndef FAKE_WORDS_H
#define FAKE_WORDS_H

#include <stdbool.h>

/* Returns the variable's value, or the contents of the file if the value is "@FILE"; "" if the variable is
 * not set. The result is valid until the next call. */
const char *fake_words_find(const char *variable);
/* Passes each word to `set`, which returns false for an unknown name. Returns true if all words are valid. */
bool fake_words_each(const char *text, bool (*set)(void *context, const char *name, double value),
                     void *context);

#endif
