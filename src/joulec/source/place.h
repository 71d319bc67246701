/* joulec/source/place.h - places in the source: their order, the text of their lines, and paths for messages.
 *
 * Note: this program can open the file of a place by its path. Reports print the path relative to a root
 * folder (source_from).
 */
#ifndef JOULEC_PLACE_H
#define JOULEC_PLACE_H

#include "base/string.h"
#include "joulec/module/module.h"

/* Compares two places by line, column and file. Returns a negative number, 0 or a positive number, like
 * strcmp. */
int source_place_order(const struct source_place *a, const struct source_place *b);
/* Returns the text of the line without its end; the caller frees it with free(). Returns NULL if the file
 * cannot be read, or if out of memory. Not thread-safe, because the function caches the last file. */
char *source_line(const struct source_place *place);
/* Returns the place of the function's name in the line of its definition. The column is 1 if the line does
 * not contain the name. Not thread-safe. */
struct source_place source_place_of_name(const struct function *function);
/* Returns the place of the nth JOULE_LOOP or pragma in the line of `mark`; the first has number 0. If the
 * line contains another macro that expands to the mark, returns the place of the line's first word. Not
 * thread-safe. */
struct source_place source_place_of_mark(const struct source_place *mark, unsigned nth);
/* Returns the column of a place in characters instead of bytes, from 1; 0: unknown. Not thread-safe. */
unsigned source_column(const struct source_place *place);

/* Writes `path` to out[0..size) as an absolute path without "." and "..", and without following links. here:
 * absolute path of the folder to which a relative `path` refers. Returns false if the result does not fit, or
 * if both paths are relative. */
bool source_absolute(const char *here, const char *path, char *out, size_t size);
/* Returns `path` relative to the folder `root` if it is below `root`, else as an absolute path. The result
 * points into buffer[0..size). Returns `path` itself if `root` is NULL, or if the result does not fit. */
const char *source_from(const char *root, const char *path, char *buffer, size_t size);

#endif
