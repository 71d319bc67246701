/* base/array.h - arrays that grow.
 *
 * Owns the one rule by which they do: doubling, through realloc. Newcomers: growing moves the items; keep indices, not
 * pointers.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for `count` items of item_size bytes each in *items, of which *capacity fit now. False, with nothing
 * changed, when memory is used up. */
bool array_reserve(void **items, size_t *capacity, size_t count, size_t item_size);

/* Room for one more: ARRAY_ROOM(graph->nodes, graph->node_capacity, graph->node_count) */
#define ARRAY_ROOM(items, capacity, count)                                                                   \
    array_reserve((void **)&(items), &(capacity), (count) + 1, sizeof *(items))

#endif
