/* base/index.h - finding a name's number.
 *
 * Owns a table from names to numbers, by hash. It does not own the names: who does tells them by number. Newcomers: numbers
 * are never taken out again, and each name is put in once.
 */
#ifndef BASE_INDEX_H
#define BASE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INDEX_NONE UINT32_MAX

/* The name with this number. */
typedef const char *index_name_fn(const void *context, uint32_t number);

struct index {
    index_name_fn *name_of;
    uint32_t *places; /* open addressing: numbers + 1 */
    size_t place_count, count;
};

/* INDEX_NONE: it is not there. */
uint32_t index_find(const struct index *index, const void *context, const char *name);
/* Puts in a name that is not there yet. False when memory is used up. */
bool index_add(struct index *index, const void *context, uint32_t number);
void index_free(struct index *index);

#endif
