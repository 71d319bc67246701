/* joulec/source/labels.c - see labels.h. */
#include "joulec/source/labels.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"

bool labels_add(struct labels *labels, const char *name, size_t length, unsigned line)
{
    if (!ARRAY_ROOM(labels->list, labels->room, labels->count))
        return false;
    labels->list[labels->count++] = (struct label){name, length, line, LABEL_NO_LOOP};
    return true;
}

struct label *labels_find(struct labels *labels, const char *name, size_t length)
{
    for (size_t i = labels->count; i-- > 0;)
        if (labels->list[i].length == length && memcmp(labels->list[i].name, name, length) == 0)
            return &labels->list[i];
    return NULL;
}

void labels_free(struct labels *labels)
{
    free(labels->list);
    *labels = (struct labels){0};
}
