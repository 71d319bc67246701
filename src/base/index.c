/* base/index.c - see index.h. */
#include "base/index.h"

#include <stdlib.h>
#include <string.h>
#include "base/hash.h"

#define FIRST_PLACES 64 /* a power of two */

/* Where the name stands, or the free place where it would. */
static size_t find_place(const struct index *index, const void *context, const char *name)
{
    size_t mask = index->place_count - 1, i = hash_bytes(HASH_START, name, strlen(name)) & mask;
    while (index->places[i] && strcmp(index->name_of(context, index->places[i] - 1), name) != 0)
        i = (i + 1) & mask;
    return i;
}

uint32_t index_find(const struct index *index, const void *context, const char *name)
{
    uint32_t place = index->count ? index->places[find_place(index, context, name)] : 0;
    return place ? place - 1 : INDEX_NONE;
}

/* At least half of the places stay free. */
static bool make_room(struct index *index, const void *context)
{
    if (2 * (index->count + 1) <= index->place_count)
        return true;
    struct index larger = {index->name_of, NULL, index->place_count ? 2 * index->place_count : FIRST_PLACES,
                           index->count};
    larger.places = calloc(larger.place_count, sizeof *larger.places);
    if (!larger.places)
        return false;
    for (size_t i = 0; i < index->place_count; i++)
        if (index->places[i])
            larger.places[find_place(&larger, context, index->name_of(context, index->places[i] - 1))] =
                index->places[i];
    free(index->places);
    *index = larger;
    return true;
}

bool index_add(struct index *index, const void *context, uint32_t number)
{
    if (!make_room(index, context))
        return false;
    index->places[find_place(index, context, index->name_of(context, number))] = number + 1;
    index->count++;
    return true;
}

void index_free(struct index *index)
{
    free(index->places);
    *index = (struct index){.name_of = index->name_of};
}
