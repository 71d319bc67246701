/* tools/joulec/check/counts.h - converts a raw or merged profile to one that clang reads, by llvm-profdata.
 *
 * Note: llvm-profdata must have the version of clang, because it reads no raw profiles of other versions. It
 * also rejects invalid files before clang sees them.
 */
#ifndef JOULEC_COUNTS_H
#define JOULEC_COUNTS_H

#include "arguments.h"

/* Merges arguments->profile into a file in memory and writes its path, for other processes, to path[0..size).
 * Returns the descriptor; the caller closes it after the checks. -1 after a message. */
int counts_open(const struct arguments *arguments, char *path, size_t size);

#endif
