/* tools/joulec/object_name.h - default names of the files that clang writes for a source. */
#ifndef JOULEC_OBJECT_NAME_H
#define JOULEC_OBJECT_NAME_H

#include "arguments.h"

/* Returns `output` with its ending replaced by `ending`. If `output` is NULL, returns the name of the source,
 * without its folder, with this ending. The name is allocated in `arena`. Returns NULL if out of memory. */
const char *object_name_beside(struct arena *arena, const char *output, const char *source,
                               const char *ending);
/* Returns the ending of the file that the build writes for each source: ".o", ".s", ".bc" or ".ll". */
const char *object_ending(const struct arguments *arguments);

#endif
