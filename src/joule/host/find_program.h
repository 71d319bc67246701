/* joule/host/find_program.h - where a program is that is to be run.
 *
 * Owns the search; running it is run.h's. Newcomers: a folder of PATH that depends on where the caller happens to stand is
 * passed over, and so is all of PATH in a program that has more rights than who started it.
 */
#ifndef JOULE_HOST_FIND_PROGRAM_H
#define JOULE_HOST_FIND_PROGRAM_H

#include "joule/host/path.h"

/* As a shell does; `usual_path` stands for a PATH that is not there. A name with a slash is looked for nowhere. 0, or an errno
 * value: ENOENT, EACCES where there is one that may not be executed. */
int find_program(const char *name, const char *usual_path, char out_path[HOST_PATH_MAX]);

#endif
