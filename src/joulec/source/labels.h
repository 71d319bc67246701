/* joulec/source/labels.h - the labels of the function that is being read, to find loops that `goto` makes.
 *
 * Such a loop extends from a label to the last goto back to it. Note: what stands between `?` and `:` also
 * looks like a label; it matters only if a goto names it.
 */
#ifndef JOULEC_LABELS_H
#define JOULEC_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LABEL_NO_LOOP UINT32_MAX

struct label {
    const char *name; /* in the text, without a NUL */
    size_t length;
    unsigned line;
    uint32_t loop; /* the caller's number of the label's loop; LABEL_NO_LOOP: no goto leads back to the label
                    * yet */
};

struct labels {
    struct label *list;
    size_t count, room;
};

/* Adds a label. Returns false if out of memory. */
bool labels_add(struct labels *labels, const char *name, size_t length, unsigned line);
/* Returns the label with this name, to which a goto then leads back. Returns NULL if it has not been read
 * yet: the goto leads forward, or its target is unknown. */
struct label *labels_find(struct labels *labels, const char *name, size_t length);
void labels_free(struct labels *labels);

#endif
