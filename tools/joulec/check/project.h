/* tools/joulec/check/project.h - checks all C files of a compilation database, each with its own options.
 *
 * Messages come in the order of the database, followed by a summary. Nothing is built.
 */
#ifndef CHECK_PROJECT_H
#define CHECK_PROJECT_H

#include "check.h"

/* Checks the database arguments->database and prints the findings. Returns the first exit code of this list
 * that applies: 125 (own failure), 2 (invalid entry), 1 (violated, or rejected by clang), 3 (undecided), 0
 * (otherwise). `root`: the current folder. */
int project_check(const struct machine *machine, const struct arguments *arguments, const char *root);

#endif
