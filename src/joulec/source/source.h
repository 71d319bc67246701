/* joulec/source/source.h - places in the source: their order, the line itself, and paths as they are shown.
 *
 * Owns reading a line again, and the way from one folder to a file. Newcomers: a place's file is named as this program would
 * open it; what reads a report elsewhere needs it from a folder that both know.
 */
#ifndef JOULEC_SOURCE_H
#define JOULEC_SOURCE_H

#include "base/string.h"
#include "joulec/module/module.h"

/* As strcmp: one order of all places with a file, by line, column and file. */
int source_place_order(const struct source_place *a, const struct source_place *b);
/* A line of the source, for free(); NULL where it cannot be read. The last file is kept: not thread-safe. */
char *source_line(const struct source_place *place);
/* The function's name in the line of its definition, where it stands there; else column 1. */
struct source_place source_place_of_name(const struct function *function);
/* The nth JOULE_LOOP or pragma of its line, from 0; the first thing in it, where a macro of another name is behind it. */
struct source_place source_place_of_mark(const struct source_place *mark, unsigned nth);
/* The column of a place in characters instead of bytes, from 1; 0: unknown. */
unsigned source_column(const struct source_place *place);

/* `path`, if relative from `here`, without "." and "..", as text alone tells. False: it does not fit, or here is relative. */
bool source_absolute(const char *here, const char *path, char *out, size_t size);
/* `path` as it is seen from the folder `root`, in `buffer`: below it without the way there, else absolute. Itself where root is
 * NULL or it does not fit. */
const char *source_from(const char *root, const char *path, char *buffer, size_t size);

#endif
