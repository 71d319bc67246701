/* base/arena.h - memory for things that die together.
 *
 * Owns a chain of blocks from which allocations are cut; there is no free for a single one.
 * Newcomers: memory is zeroed, aligned to 16 bytes, and stays where it is until arena_free.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena_block;
struct arena {
    struct arena_block *last;
    size_t block_size; /* of new blocks; 0: 4096 */
    bool is_short;     /* an allocation failed: what was built here is not complete */
};

/* `size` zeroed bytes, or NULL when memory is used up. Not thread-safe. */
void *arena_alloc(struct arena *arena, size_t size);
/* A terminated copy of at most `length` bytes. */
char *arena_copy(struct arena *arena, const char *string, size_t length);
/* A list of pointers in the arena: the list of `count` with `item` behind, moved where it had to grow. NULL, and the list
 * as it was, when memory is used up. */
void *arena_push(struct arena *arena, void *list, size_t count, const void *item);
void arena_free(struct arena *arena);

#endif
