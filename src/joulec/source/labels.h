/* joulec/source/labels.h - labels of the function that is being read, to find the loops that `goto` forms.
 *
 * Such a loop extends from a label to the last goto that leads back to the label. Note: a name between `?`
 * and `:` is also taken for a label. This is harmless unless a goto has the same name as its target.
 */
#ifndef JOULEC_LABELS_H
#define JOULEC_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LABEL_NO_LOOP UINT32_MAX

struct label {
    const char *name; /* points into the text; not terminated by a NUL */
    size_t length;
    unsigned line;
    uint32_t loop; /* the caller's number of the label's loop; LABEL_NO_LOOP: no goto back was read yet */
};

struct labels {
    struct label *list;
    size_t count, room;
};

/* Adds a label. `name` must outlive the list. Returns false if out of memory. */
bool labels_add(struct labels *labels, const char *name, size_t length, unsigned line);
/* Returns the label with this name; the list owns the label. Returns NULL if no such label was added. */
struct label *labels_find(struct labels *labels, const char *name, size_t length);
void labels_free(struct labels *labels);

#endif
