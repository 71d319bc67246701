/* base/array.h - grows arrays by doubling their capacity.
 *
 * Note: growing moves the items, so keep indices instead of pointers.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Grows *items to hold at least `count` items of item_size bytes; *capacity is the present capacity in items.
 * False: out of memory; nothing is changed. */
bool array_reserve(void **items, size_t *capacity, size_t count, size_t item_size);

/* Grows an array by at least one item: ARRAY_ROOM(graph->nodes, graph->node_capacity, graph->node_count) */
#define ARRAY_ROOM(items, capacity, count)                                                                   \
    array_reserve((void **)&(items), &(capacity), (count) + 1, sizeof *(items))

#endif
