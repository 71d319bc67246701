/* tools/joulec/object_name.h - what clang calls the files that it makes of a source.
 *
 * Owns the names that clang gives where the user gave none.
 */
#ifndef JOULEC_OBJECT_NAME_H
#define JOULEC_OBJECT_NAME_H

#include "arguments.h"

/* The file with this ending that lies beside `output`, or NULL: that is called after the source. NULL: no memory. */
const char *object_name_beside(struct arena *arena, const char *output, const char *source,
                               const char *ending);
/* Of what the build ends with for each source. */
const char *object_ending(const struct arguments *arguments);

#endif
