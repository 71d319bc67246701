/* base/arena.h - allocates memory that is freed all at once.
 *
 * Memory is zeroed, aligned to 16 bytes, and does not move until arena_free. One thread at a time.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena_block;
/* An arena. Initialise with zeros, or set block_size. */
struct arena {
    struct arena_block *last; /* the current block; NULL: none yet */
    size_t block_size;        /* size of new blocks in bytes; 0 means 4096 */
    bool is_out_of_memory;    /* an allocation failed; the contents are incomplete */
};

/* Returns `size` zeroed bytes, or NULL if out of memory. */
void *arena_alloc(struct arena *arena, size_t size);
/* Returns a terminated copy of at most `length` bytes of a string, or NULL if out of memory. */
char *arena_copy(struct arena *arena, const char *string, size_t length);
/* Appends `item` to a list of `count` pointers in the arena. Returns the list, which may have moved. NULL:
 * out of memory; the list is not changed. */
void *arena_push(struct arena *arena, void *list, size_t count, const void *item);
/* Frees all memory of the arena. */
void arena_free(struct arena *arena);

#endif
