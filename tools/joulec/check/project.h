/* tools/joulec/check/project.h - all C files of a compilation database, checked as they are compiled.
 *
 * Owns which entries are checked, the order of what is said of them, which is the database's, and the table at the end.
 * Newcomers: nothing is built here.
 */
#ifndef CHECK_PROJECT_H
#define CHECK_PROJECT_H

#include "check.h"

/* The exit code: 125, 2 where an entry is broken, 1, 3 or 0; the worst, in this order. `root`: this folder. */
int project_check(const struct machine *machine, const struct arguments *arguments, const char *root);

#endif
