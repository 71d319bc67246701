/* tools/forge/visible_text.h - makes text of a model harmless for a terminal. */
#ifndef FORGE_VISIBLE_TEXT_H
#define FORGE_VISIBLE_TEXT_H

#include <stddef.h>

/* Copies text, and replaces by U+FFFD each control character except newline and tab, and each byte that is
 * not UTF-8. out: VISIBLE_SIZE times `size` bytes. Returns the number of bytes written. */
enum { VISIBLE_SIZE = 3 };
size_t visible_text(const char *bytes, size_t size, char *out);

/* Prints text to standard output after visible_text, and flushes it, so that the user sees it at once. */
void visible_text_print(const char *bytes, size_t size);

#endif
