/* base/index.c - see index.h. */
#include "base/index.h"

#include <stdlib.h>
#include "base/hash.h"

#define FIRST_PLACES 64 /* a power of two */

static bool is_same(struct index_key a, struct index_key b)
{
    return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

/* Returns the place of the key, or the free place where it would be. */
static size_t find_place(const struct index *index, const void *context, struct index_key key)
{
    size_t mask = index->place_count - 1, i = hash_bytes(HASH_START, key.bytes, key.size) & mask;
    while (index->places[i] && !is_same(index->key_of(context, index->places[i] - 1), key))
        i = (i + 1) & mask;
    return i;
}

uint32_t index_find(const struct index *index, const void *context, struct index_key key)
{
    uint32_t place = index->count ? index->places[find_place(index, context, key)] : 0;
    return place ? place - 1 : INDEX_NONE;
}

/* Grows the table so that at least half of the places are free after one more number. Returns false if out of
 * memory. */
static bool make_room(struct index *index, const void *context)
{
    uint32_t *old = index->places;
    size_t count = index->place_count;
    if (2 * (index->count + 1) <= count)
        return true;
    uint32_t *places = calloc(count ? 2 * count : FIRST_PLACES, sizeof *places);
    if (!places)
        return false;
    index->places = places;
    index->place_count = count ? 2 * count : FIRST_PLACES;
    for (size_t i = 0; i < count; i++)
        if (old[i])
            places[find_place(index, context, index->key_of(context, old[i] - 1))] = old[i];
    free(old);
    return true;
}

bool index_add(struct index *index, const void *context, uint32_t number)
{
    if (!make_room(index, context))
        return false;
    index->places[find_place(index, context, index->key_of(context, number))] = number + 1;
    index->count++;
    return true;
}

void index_free(struct index *index)
{
    free(index->places);
    *index = (struct index){.key_of = index->key_of};
}
