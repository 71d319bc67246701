/* tools/joulec/check/merged_profile.h - converts a raw or merged profile to one that clang reads, by means of
 * llvm-profdata.
 *
 * Note: llvm-profdata must have the same version as clang, because it cannot read raw profiles of other
 * versions.
 */
#ifndef CHECK_MERGED_PROFILE_H
#define CHECK_MERGED_PROFILE_H

#include "arguments.h"

/* Merges arguments->profile into a file in memory. Writes a path by which other processes can open this file
 * to path[0..size). Returns the file's descriptor, which the caller closes after the checks. Returns -1 after
 * a message. */
int merged_profile_open(const struct arguments *arguments, char *path, size_t size);

#endif
