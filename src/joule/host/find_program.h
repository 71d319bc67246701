/* joule/host/find_program.h - searches for a program in PATH.
 *
 * Note: relative folders of PATH are skipped. If this process has more privileges than its caller (setuid),
 * PATH is ignored.
 */
#ifndef JOULE_HOST_FIND_PROGRAM_H
#define JOULE_HOST_FIND_PROGRAM_H

#include "joule/host/path.h"

/* Searches for a program as a shell does and writes its path to out_path. usual_path replaces an unset PATH.
 * A name with a slash is checked, but not searched for. Returns 0 or an errno value: ENOENT if no program was
 * found, EACCES if a program was found but cannot be executed. */
int find_program(const char *name, const char *usual_path, char out_path[HOST_PATH_MAX]);

#endif
