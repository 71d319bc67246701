/* joulec/source/source.h - places in the source: their order, their lines, and paths for messages.
 *
 * Note: the file of a place is named so that this program can open it. Reports show it relative to a folder
 * that their reader knows.
 */
#ifndef JOULEC_SOURCE_H
#define JOULEC_SOURCE_H

#include "base/string.h"
#include "joulec/module/module.h"

/* Compares two places by line, column and file, like strcmp. */
int source_place_order(const struct source_place *a, const struct source_place *b);
/* Returns a line of the source, for free(); NULL: it cannot be read. Caches the last file: not
 * thread-safe. */
char *source_line(const struct source_place *place);
/* Returns the place of the function's name in the line of its definition; column 1 if it does not occur
 * there. */
struct source_place source_place_of_name(const struct function *function);
/* Returns the place of the nth JOULE_LOOP or pragma of a line, from 0; the first word of the line if a macro
 * of another name contains the mark. */
struct source_place source_place_of_mark(const struct source_place *mark, unsigned nth);
/* Returns the column in characters instead of bytes, from 1; 0: unknown. */
unsigned source_column(const struct source_place *place);

/* Writes `path`, relative to `here`, as an absolute path without "." and "..", without reading links. False:
 * it does not fit, or `here` is relative. */
bool source_absolute(const char *here, const char *path, char *out, size_t size);
/* Returns `path` relative to the folder `root` if it lies below, else absolute, in `buffer`. Returns `path`
 * itself if root is NULL or the result does not fit. */
const char *source_from(const char *root, const char *path, char *buffer, size_t size);

#endif
