/* tools/forge/fused_source.h - `forge inspect --source`: the source of fused elementwise operations. */
#ifndef FORGE_FUSED_SOURCE_H
#define FORGE_FUSED_SOURCE_H

#include <forge/program.h>

/* Prints the source of each different group of fused elementwise operations. JOULE_INVALID: there is no such
 * dialect; the message lists the dialects. JOULE_ABSENT: the program has no such group. JOULE_UNSUPPORTED:
 * the dialect cannot express an operation. */
joule_status fused_source_print(const forge_program *program, const char *dialect, joule_error *error);

#endif
