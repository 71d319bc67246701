/* base/arena.c - see arena.h.
 *
 * Note: an allocation larger than a block gets a separate block, linked before the current block. Later
 * allocations continue in the current block.
 */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT          16
#define DEFAULT_BLOCK_SIZE 4096

/* A block of memory. `previous`: the next block in the list; NULL: none. */
struct arena_block {
    struct arena_block *previous;
    size_t size, used; /* in bytes: size of `data`, and the part of it that is allocated to callers */
    _Alignas(ALIGNMENT) unsigned char data[];
};

/* Returns a zeroed block of `size` bytes, or NULL if out of memory. */
static struct arena_block *new_block(size_t size, struct arena_block *previous)
{
    struct arena_block *block = calloc(1, sizeof *block + size);
    if (block) {
        block->previous = previous;
        block->size = size;
    }
    return block;
}

/* Returns the next `size` bytes of a block, which must have this many free bytes. */
static void *cut(struct arena_block *block, size_t size)
{
    void *memory = block->data + block->used;
    block->used += size;
    return memory;
}

/* Returns at least `size` zeroed bytes, in the current block or a new one; NULL if out of memory. */
static void *allocate(struct arena *arena, size_t size)
{
    if (size > PTRDIFF_MAX - sizeof(struct arena_block) - ALIGNMENT)
        return NULL;
    size = size ? (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;

    struct arena_block *last = arena->last;
    if (last && size <= last->size - last->used)
        return cut(last, size);

    size_t block_size = arena->block_size ? arena->block_size : DEFAULT_BLOCK_SIZE;
    if (last && size > block_size) {
        struct arena_block *own = new_block(size, last->previous);
        if (!own)
            return NULL;
        last->previous = own;
        return cut(own, size);
    }
    struct arena_block *block = new_block(size > block_size ? size : block_size, last);
    if (!block)
        return NULL;
    arena->last = block;
    return cut(block, size);
}

void *arena_alloc(struct arena *arena, size_t size)
{
    void *memory = allocate(arena, size);
    arena->is_out_of_memory = arena->is_out_of_memory || !memory;
    return memory;
}

char *arena_copy(struct arena *arena, const char *string, size_t length)
{
    length = strnlen(string, length);
    char *copy = arena_alloc(arena, length + 1);
    return copy ? memcpy(copy, string, length) : NULL;
}

/* Note: a list is full when its count is a power of two, and is then copied to twice the capacity. The old
 * list stays in the arena. */
void *arena_push(struct arena *arena, void *list, size_t count, const void *item)
{
    char *grown = list;
    if ((count & (count - 1)) == 0) {
        grown = arena_alloc(arena, sizeof item * (count ? 2 * count : 1));
        if (!grown)
            return NULL;
        if (count)
            memcpy(grown, list, count * sizeof item);
    }
    memcpy(grown + count * sizeof item, &item, sizeof item);
    return grown;
}

void arena_free(struct arena *arena)
{
    while (arena->last) {
        struct arena_block *block = arena->last;
        arena->last = block->previous;
        free(block);
    }
}
