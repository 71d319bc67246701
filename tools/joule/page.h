/* tools/joule/page.h - what a subcommand prints to standard output, in one piece.
 *
 * Owns making the text as long as it must be, and writing it. Newcomers: `print` is called twice, to measure and to
 * write, so it must say the same both times: gather first, then print.
 */
#ifndef JOULE_PAGE_H
#define JOULE_PAGE_H

#include <stdbool.h>
#include "base/string.h"

/* True when standard output is a terminal and NO_COLOR is unset. */
bool page_has_colour(void);
/* Characters in a line: of the terminal, and neither few nor many; a fixed number where nobody looks. */
size_t page_width(void);
/* The exit code: 0, or EXIT_OWN_FAILURE after a message where standard output cannot be written. */
int page_print(const char *subcommand, void (*print)(const void *context, struct text *out),
               const void *context);

#endif
