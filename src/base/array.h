/* base/array.h - grows arrays by doubling their capacity.
 *
 * Note: growing moves the items, so store indices instead of pointers.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Ensures that *items has capacity for `count` items of item_size bytes. *capacity is the capacity in items,
 * and is updated. Returns false, and changes nothing, if out of memory. */
bool array_reserve(void **items, size_t *capacity, size_t count, size_t item_size);

/* Ensures capacity for one more item. Returns false if out of memory. For example: ARRAY_ROOM(graph->nodes,
 * graph->node_capacity, graph->node_count) */
#define ARRAY_ROOM(items, capacity, count)                                                                   \
    array_reserve((void **)&(items), &(capacity), (count) + 1, sizeof *(items))

#endif
