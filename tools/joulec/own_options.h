/* tools/joulec/own_options.h - parses the options that joulec adds to those of clang. */
#ifndef JOULEC_OWN_OPTIONS_H
#define JOULEC_OWN_OPTIONS_H

#include "arguments.h"

/* Parses one option. Returns the number of arguments taken: 1 or 2; 0: the option is not joulec's; -1: it is
 * invalid, after a message. `next`: the argument after it, or NULL. */
int own_options_parse(struct arguments *out, const char *word, const char *next);

#endif
