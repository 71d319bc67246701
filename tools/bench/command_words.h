/* bench/command_words.h - divides a command into words by the quoting rules of a shell, without a shell. */
#ifndef BENCH_COMMAND_WORDS_H
#define BENCH_COMMAND_WORDS_H

#include <joule/base.h>
#include "base/arena.h"

/* Divides `text` at white space into words. '...' quotes everything, "..." everything but \ before ", \, $
 * and `, and \ the next character. *out_words ends with NULL and is in the arena. JOULE_INVALID: there is no
 * word, a quote does not end, or the text contains an unquoted | & ; < > $ or `, which only a shell
 * interprets. */
joule_status command_words(struct arena *arena, const char *text, char ***out_words, joule_error *out_error);

#endif
