/* joulec/module/annotation.c - see annotation.h. */
#include "joulec/module/annotation.h"

#include <string.h>
#include "base/string.h"

const char *annotation_of(const struct function *function, const char *name)
{
    const char *found = NULL;
    size_t length = strlen(name);
    bool takes_words = length && name[length - 1] == ':';
    for (size_t i = 0; i < function->annotation_count; i++)
        if (string_starts(function->annotations[i], name) &&
            (takes_words || !function->annotations[i][length]))
            found = function->annotations[i] + length;
    return found;
}
