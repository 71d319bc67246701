/* joulec/source/labels.h - the loops that `goto` makes: from a label to the last way back to it.
 *
 * Owns the labels of the function that is being read. Newcomers: what a `?` has between it and its colon looks like a label, too; it is
 * one only for a goto.
 */
#ifndef JOULEC_LABELS_H
#define JOULEC_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LABEL_NO_LOOP UINT32_MAX

struct label {
    const char *name; /* in the text, not ended */
    size_t length;
    unsigned line;
    uint32_t loop; /* the number of its loop for whoever reads; LABEL_NO_LOOP: nothing has led back yet */
};

struct labels {
    struct label *list;
    size_t count, room;
};

/* False: no memory. */
bool labels_add(struct labels *labels, const char *name, size_t length, unsigned line);
/* The label to which a goto leads back; NULL: it leads on, or nobody knows where. */
struct label *labels_find(struct labels *labels, const char *name, size_t length);
void labels_free(struct labels *labels);

#endif
