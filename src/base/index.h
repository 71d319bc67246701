/* base/index.h - a hash table from keys (bytes) to numbers.
 *
 * The table does not store keys. It gets the key of a number from the caller's function key_of. Numbers
 * cannot be removed, and keys are unique.
 */
#ifndef BASE_INDEX_H
#define BASE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define INDEX_NONE UINT32_MAX

/* A key: bytes that the caller owns. */
struct index_key {
    const void *bytes;
    size_t size;
};

/* Returns the key of a number. */
typedef struct index_key index_key_fn(const void *context, uint32_t number);

/* A table. Initialise it with .key_of only; the rest is 0. */
struct index {
    index_key_fn *key_of;
    uint32_t *places; /* open addressing; each place contains a number + 1, or 0 if it is free */
    size_t place_count, count;
};

/* Returns a name as a key, without its terminator. */
static inline struct index_key index_name(const char *name)
{
    return (struct index_key){name, strlen(name)};
}

/* Returns the number of a key, or INDEX_NONE. */
uint32_t index_find(const struct index *index, const void *context, struct index_key key);
/* Adds a number whose key is not in the table. Returns false if out of memory. */
bool index_add(struct index *index, const void *context, uint32_t number);
/* Frees the table's memory. The table is then empty and can be used again. */
void index_free(struct index *index);

#endif
