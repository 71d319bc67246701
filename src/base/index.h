/* base/index.h - finding a key's number.
 *
 * Owns a table from keys, which are bytes such as a name's, to numbers, by hash. It does not own the keys: who does tells
 * them by number. Newcomers: numbers are never taken out again, and each key is put in once.
 */
#ifndef BASE_INDEX_H
#define BASE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INDEX_NONE UINT32_MAX

struct index_key {
    const void *bytes;
    size_t size;
};

/* The key with this number. */
typedef struct index_key index_key_fn(const void *context, uint32_t number);

struct index {
    index_key_fn *key_of;
    uint32_t *places; /* open addressing: numbers + 1 */
    size_t place_count, count;
};

static inline struct index_key index_name(const char *name)
{
    return (struct index_key){name, strlen(name)};
}

/* INDEX_NONE: it is not there. */
uint32_t index_find(const struct index *index, const void *context, struct index_key key);
/* Puts in a number whose key is not there yet. False when memory is used up. */
bool index_add(struct index *index, const void *context, uint32_t number);
void index_free(struct index *index);

#endif
