/* tools/joulec/object_name.h - default names of the files that clang writes for a source. */
#ifndef JOULEC_OBJECT_NAME_H
#define JOULEC_OBJECT_NAME_H

#include "arguments.h"

/* Returns the name of a file with this ending: `output` with another ending or, if `output` is NULL, the
 * source's name in the current folder. In memory of `arena`. NULL: out of memory. */
const char *object_name_beside(struct arena *arena, const char *output, const char *source,
                               const char *ending);
/* Returns the ending of what the build writes for each source: ".o", ".s", ".bc" or ".ll". */
const char *object_ending(const struct arguments *arguments);

#endif
