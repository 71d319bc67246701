/* joulec/source/place.h - places in the source: their order, their lines, and paths for messages.
 *
 * Note: the file of a place is named so that this program can open it. Reports show it relative to a folder
 * that their reader knows.
 */
#ifndef JOULEC_PLACE_H
#define JOULEC_PLACE_H

#include "base/string.h"
#include "joulec/module/module.h"

/* Compares two places by line, column and file. Returns a negative number, 0 or a positive number, like
 * strcmp. */
int source_place_order(const struct source_place *a, const struct source_place *b);
/* Returns a line of the source, which the caller frees with free(). Returns NULL if it cannot be read. Not
 * thread-safe, because it caches the last file. */
char *source_line(const struct source_place *place);
/* Returns the place of the function's name in the line of its definition. The column is 1 if the name does
 * not occur there. */
struct source_place source_place_of_name(const struct function *function);
/* Returns the place of the nth JOULE_LOOP or pragma of a line; the first has number 0. If a macro of another
 * name contains the mark, returns the place of the first word of the line. */
struct source_place source_place_of_mark(const struct source_place *mark, unsigned nth);
/* Returns the column of a place in characters instead of bytes, from 1; 0: unknown. */
unsigned source_column(const struct source_place *place);

/* Writes `path`, which is relative to `here`, as an absolute path without "." and "..". Does not follow
 * links. Returns false if the result does not fit, or if `here` is relative. */
bool source_absolute(const char *here, const char *path, char *out, size_t size);
/* Returns `path` relative to the folder `root` if it lies below it, otherwise as an absolute path. The result
 * is in `buffer`. Returns `path` itself if `root` is NULL or if the result does not fit. */
const char *source_from(const char *root, const char *path, char *buffer, size_t size);

#endif
