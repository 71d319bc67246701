/* tools/common/page.h - prints the output of a subcommand as one text.
 *
 * Note: the function that prints is called twice, first to measure the length of the text, then to write the
 * text. Gather all data before, so that both calls print the same text.
 */
#ifndef COMMON_PAGE_H
#define COMMON_PAGE_H

#include "base/string.h"

typedef void (*page_print_fn)(const void *context, struct text *out);

/* Returns the text that `print` prints, followed by '\0', or NULL after a message if out of memory.
 * *out_length excludes the '\0'. The caller frees the text with free(). */
char *page_make(const char *subcommand, page_print_fn print, const void *context, size_t *out_length);
/* Prints a text to standard output. Returns the exit code: 0, or EXIT_OWN_FAILURE after a message if out of
 * memory. */
int page_print(const char *subcommand, page_print_fn print, const void *context);

#endif
