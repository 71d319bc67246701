/* base/array.c - see array.h. */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

#define FIRST_CAPACITY 16

bool array_reserve(void **items, size_t *capacity, size_t count, size_t item_size)
{
    if (count <= *capacity)
        return true;
    size_t wanted = *capacity ? *capacity : FIRST_CAPACITY;
    while (wanted < count)
        if (__builtin_mul_overflow(wanted, 2, &wanted))
            return false;
    size_t size;
    if (__builtin_mul_overflow(wanted, item_size, &size) || size > PTRDIFF_MAX)
        return false;
    void *grown = realloc(*items, size);
    if (!grown)
        return false;
    *items = grown;
    *capacity = wanted;
    return true;
}
