/* tools/joulec/library.h - libjoule on a linker's line, where what is linked calls it.
 *
 * Owns whether it is called, and the words that link it, also where nothing is checked. Newcomers: a program that does not call it is linked exactly as clang
 * would; configure scripts ask the linker what there is, and must get clang's answers.
 */
#ifndef JOULEC_LIBRARY_H
#define JOULEC_LIBRARY_H

#include "arguments.h"

/* Words to stand behind the user's, ended by NULL; none where nothing calls libjoule. `is_called`: a source of the line does.
 * NULL after a message. */
const char **library_words(struct arena *arena, const struct arguments *arguments, bool is_called);

#endif
