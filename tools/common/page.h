/* tools/common/page.h - what a subcommand prints, in one piece.
 *
 * Owns making the text as long as it must be, and writing it. Newcomers: `print` is called twice, to measure and to write,
 * so it must say the same both times: gather first, then print.
 */
#ifndef COMMON_PAGE_H
#define COMMON_PAGE_H

#include "base/string.h"

typedef void (*page_print_fn)(const void *context, struct text *out);

/* What `print` prints, for free(); NULL after a message. */
char *page_make(const char *subcommand, page_print_fn print, const void *context, size_t *out_length);
/* To standard output. The exit code: 0, or EXIT_OWN_FAILURE after a message where there is no memory for it. */
int page_print(const char *subcommand, page_print_fn print, const void *context);

#endif
