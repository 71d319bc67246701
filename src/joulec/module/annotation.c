/* joulec/module/annotation.c - see annotation.h. */
#include "joulec/module/annotation.h"

#include <string.h>

/* Returns the text of the last annotation `name` whose text differs from `excluded`, which may be NULL.
 * Returns NULL if there is none. */
static const char *find(const struct function *function, const char *name, const char *excluded)
{
    const char *found = NULL;
    size_t length = strlen(name);
    bool has_text = length && name[length - 1] == ':';
    for (size_t i = 0; i < function->annotation_count; i++)
        if (strncmp(function->annotations[i], name, length) == 0 &&
            (has_text || !function->annotations[i][length]) &&
            (!excluded || strcmp(function->annotations[i] + length, excluded) != 0))
            found = function->annotations[i] + length;
    return found;
}

const char *annotation_of(const struct function *function, const char *name)
{
    return find(function, name, NULL);
}

const char *annotation_other(const struct function *function, const char *name)
{
    return find(function, name, annotation_of(function, name));
}
