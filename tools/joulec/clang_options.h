/* tools/joulec/clang_options.h - tables of clang's options: which take a value, and their long forms. */
#ifndef JOULEC_CLANG_OPTIONS_H
#define JOULEC_CLANG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/arena.h"

/* Returns true if the option's value is the next argument. */
bool clang_option_takes_next(const char *word);
/* Returns the language that `word` and `next` set for later files: "c" for "-x c". NULL: they set none. */
const char *clang_option_language(const char *word, const char *next);
/* Returns a copy of `given`, a list terminated by NULL, with long options replaced by their short forms. So
 * callers need to know only one spelling. The list is allocated in `arena`. *count: number of arguments in
 * `given`, then in the result. Returns NULL if out of memory. */
const char **clang_options_shorten(struct arena *arena, const char **given, size_t *count);

#endif
