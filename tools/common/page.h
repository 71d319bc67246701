/* tools/common/page.h - prints the output of a subcommand as one text.
 *
 * Note: `print` is called twice, first to measure and then to write, so it must print the same text
 * both times. Gather all data before printing.
 */
#ifndef COMMON_PAGE_H
#define COMMON_PAGE_H

#include "base/string.h"

typedef void (*page_print_fn)(const void *context, struct text *out);

/* Returns the printed text, which the caller frees with free(). Returns NULL after a message. */
char *page_make(const char *subcommand, page_print_fn print, const void *context, size_t *out_length);
/* Prints a text to standard output. Returns the exit code: 0, or EXIT_OWN_FAILURE after a message if out of
 * memory. */
int page_print(const char *subcommand, page_print_fn print, const void *context);

#endif
