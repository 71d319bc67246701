/* tools/joulec/check/counts.h - what a run of the program wrote, as clang reads it.
 *
 * Owns the way from a raw or merged profile to one file for clang, by llvm-profdata of clang's own version: raw ones of another
 * version cannot be read. Newcomers: llvm-profdata also sorts out what is no profile, before clang sees it.
 */
#ifndef JOULEC_COUNTS_H
#define JOULEC_COUNTS_H

#include "arguments.h"

/* The merged profile of arguments->profile, in a file in memory, whose path for other processes is path[0..size); close it when
 * all is checked. -1 after a message. */
int counts_open(const struct arguments *arguments, char *path, size_t size);

#endif
