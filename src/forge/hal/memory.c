/* hal/memory.c - see memory.h. */
#include "forge/hal/memory.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/abi.h"
#include "base/error.h"
#include "base/string.h"

#define MIN_CLASS_BYTES 256
#define MAX_NAMED_USERS 3 /* users that an error message names */

/* A block of the pool, either in use or held for later requests. */
struct block {
    struct device_memory *memory;
    forge_buffer *raw;        /* allocated by the backend */
    size_t size_bytes;        /* bytes of the block's size class */
    struct block *next, **at; /* at: address of the list's pointer to this block */
    char what[80];            /* the user of the memory, for messages */
};

/* A pool: its blocks, and the sums of the sizes of blocks, in bytes. */
struct device_memory {
    pthread_mutex_t lock;
    struct block *used, *held; /* linked lists: blocks in use, and released blocks for later requests */
    size_t used_bytes, held_bytes, peak_bytes, limit_bytes; /* limit_bytes 0: no limit */
    bool is_closed;
};

/* --- lists ---------------------------------------------------------------------------------------------- */

static void list_add(struct block **list, struct block *block)
{
    block->next = *list;
    block->at = list;
    if (block->next)
        block->next->at = &block->next;
    *list = block;
}

static void list_remove(struct block *block)
{
    *block->at = block->next;
    if (block->next)
        block->next->at = block->at;
}

/* --- life ----------------------------------------------------------------------------------------------- */

struct device_memory *device_memory_new(void)
{
    struct device_memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return NULL;
    pthread_mutex_init(&memory->lock, NULL);
    return memory;
}

static void block_free(struct block *block)
{
    forge_buffer_release(block->raw);
    free(block);
}

/* Frees all held blocks. The caller holds the lock. */
static void free_unused(struct device_memory *memory)
{
    struct block *block = memory->held, *next;
    memory->held = NULL;
    memory->held_bytes = 0;
    for (; block; block = next) {
        next = block->next;
        block_free(block);
    }
}

/* Releases the lock, which the caller holds. Frees the pool if it is closed and no buffer is in use. */
static void unlock_and_free(struct device_memory *memory)
{
    bool is_last = memory->is_closed && memory->used_bytes == 0;
    pthread_mutex_unlock(&memory->lock);
    if (!is_last)
        return;
    pthread_mutex_destroy(&memory->lock);
    free(memory);
}

void device_memory_close(struct device_memory *memory)
{
    if (!memory)
        return;
    pthread_mutex_lock(&memory->lock);
    memory->is_closed = true;
    free_unused(memory);
    unlock_and_free(memory);
}

/* --- allocation and release ----------------------------------------------------------------------------- */

size_t memory_class_bytes(size_t size_bytes)
{
    if (size_bytes <= MIN_CLASS_BYTES)
        return MIN_CLASS_BYTES;
    if (size_bytes > SIZE_MAX / 4)
        return SIZE_MAX;
    size_t step = MIN_CLASS_BYTES / 8;
    while (step * 16 < size_bytes)
        step *= 2;
    return (size_bytes + step - 1) / step * step;
}

/* Called when the buffer of a block is released. Adds the block to the held blocks, or frees the block if the
 * pool is closed. */
static void release_block(void *context)
{
    struct block *block = context;
    struct device_memory *memory = block->memory;
    pthread_mutex_lock(&memory->lock);
    list_remove(block);
    memory->used_bytes -= block->size_bytes;
    if (memory->is_closed) {
        block_free(block);
    } else {
        list_add(&memory->held, block);
        memory->held_bytes += block->size_bytes;
    }
    unlock_and_free(memory);
}

/* Removes a block of this size class from the held blocks and returns the block; NULL if there is none. The
 * caller holds the lock. */
static struct block *find_held(struct device_memory *memory, size_t size_bytes)
{
    for (struct block *b = memory->held; b; b = b->next)
        if (b->size_bytes == size_bytes) {
            list_remove(b);
            memory->held_bytes -= size_bytes;
            return b;
        }
    return NULL;
}

/* Returns true if the limit would be exceeded with more_bytes additional bytes in use. The caller holds the
 * lock. */
static bool is_above_limit(const struct device_memory *memory, size_t more_bytes)
{
    return memory->limit_bytes && more_bytes > memory->limit_bytes - (memory->used_bytes < memory->limit_bytes
                                                                          ? memory->used_bytes
                                                                          : memory->limit_bytes);
}

/* Returns a new block from the backend's allocator; NULL if there is not enough memory. Frees all held blocks
 * if the limit or the allocator requires this. The caller holds the lock. */
static struct block *make_block(forge_device *device, size_t size_bytes)
{
    struct device_memory *memory = device->memory;
    if (is_above_limit(memory, size_bytes))
        return NULL;
    if (is_above_limit(memory, size_bytes + memory->held_bytes))
        free_unused(memory);
    struct block *block = calloc(1, sizeof *block);
    if (!block)
        return NULL;
    joule_status status = device->ops->allocate(device, size_bytes, &block->raw, NULL);
    if (status == JOULE_NO_MEMORY && memory->held_bytes) {
        free_unused(memory);
        status = device->ops->allocate(device, size_bytes, &block->raw, NULL);
    }
    if (status == JOULE_OK) {
        block->memory = memory;
        block->size_bytes = size_bytes;
        return block;
    }
    free(block);
    return NULL;
}

static void print_bytes(struct text *text, size_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double amount = (double)bytes / 1024;
    size_t i = 0;
    for (; amount >= 1024 && i + 1 < sizeof units / sizeof *units; i++)
        amount /= 1024;
    text_printf(text, "%.1f %s", amount, units[i]);
}

/* Visits the blocks in use in descending order of sizes: returns the block after `last`, or the largest block
 * if `last` is NULL. Returns NULL after the smallest block. */
static const struct block *find_next_largest(const struct device_memory *memory, const struct block *last)
{
    const struct block *found = NULL;
    bool is_after = false;
    for (const struct block *b = memory->used; b; b = b->next) {
        bool fits =
            !last || b->size_bytes < last->size_bytes || (is_after && b->size_bytes == last->size_bytes);
        is_after |= b == last;
        if (fits && (!found || b->size_bytes > found->size_bytes))
            found = b;
    }
    return found;
}

/* Sets an error message with the request and the largest users. Returns JOULE_NO_MEMORY. The caller holds the
 * lock. */
static joule_status report_no_memory(const forge_device *device, size_t size_bytes, const char *what,
                                     joule_error *error)
{
    const struct device_memory *memory = device->memory;
    char message[400];
    struct text text;
    text_init(&text, message, sizeof message);
    text_printf(&text, "out of memory on %s for %s: ", device->ops->name, what);
    print_bytes(&text, size_bytes);
    text_printf(&text, " needed, ");
    print_bytes(&text, memory->used_bytes);
    if (memory->limit_bytes) {
        text_printf(&text, " of the limit of ");
        print_bytes(&text, memory->limit_bytes);
    }
    text_printf(&text, " in use");
    const struct block *block = find_next_largest(memory, NULL);
    for (int i = 0; i < MAX_NAMED_USERS && block; i++, block = find_next_largest(memory, block)) {
        text_printf(&text, "%s%s with ", i ? ", " : "; largest: ", block->what);
        print_bytes(&text, block->size_bytes);
    }
    return error_set(error, JOULE_NO_MEMORY, "%s", message);
}

/* Returns a held block of this size class, or a new block; NULL if there is not enough memory. *out_was_used:
 * true if the block was used before, so that its bytes may not be 0. The caller holds the lock. */
static struct block *get_block(forge_device *device, size_t class_bytes, bool *out_was_used)
{
    struct device_memory *memory = device->memory;
    struct block *block = class_bytes == SIZE_MAX ? NULL : find_held(memory, class_bytes);
    *out_was_used = block;
    if (!block && class_bytes != SIZE_MAX)
        block = make_block(device, class_bytes);
    if (!block)
        return NULL;
    list_add(&memory->used, block);
    memory->used_bytes += class_bytes;
    if (memory->used_bytes > memory->peak_bytes)
        memory->peak_bytes = memory->used_bytes;
    return block;
}

joule_status device_take(forge_device *device, size_t size_bytes, const char *what, forge_buffer **out_buffer,
                         joule_error *out_error)
{
    struct device_memory *memory = device->memory;
    bool was_used;
    pthread_mutex_lock(&memory->lock);
    struct block *block = get_block(device, memory_class_bytes(size_bytes), &was_used);
    joule_status status = block ? JOULE_OK : report_no_memory(device, size_bytes, what, out_error);
    if (block)
        string_copy(block->what, sizeof block->what, what);
    pthread_mutex_unlock(&memory->lock);
    if (!block)
        return status;
    void *data = forge_buffer_data(block->raw);
    status = forge_buffer_wrap(data, size_bytes, release_block, block, out_buffer, out_error);
    if (status != JOULE_OK)
        release_block(block);
    /* memory of a device that only estimates must not be accessed */
    else if (was_used && !device->ops->expect)
        memset(data, 0, size_bytes);
    return status;
}

/* --- queries -------------------------------------------------------------------------------------------- */

joule_status forge_device_memory(forge_device *device, forge_memory_facts *out_facts)
{
    if (!abi_has_room(out_facts, SIZE_UP_TO(forge_memory_facts, limit_bytes)))
        return JOULE_INVALID;
    struct device_memory *memory = device->memory;
    pthread_mutex_lock(&memory->lock);
    forge_memory_facts facts = {.used_bytes = memory->used_bytes,
                                .held_bytes = memory->held_bytes,
                                .peak_bytes = memory->peak_bytes,
                                .limit_bytes = memory->limit_bytes};
    pthread_mutex_unlock(&memory->lock);
    abi_write(out_facts, &facts, sizeof facts);
    return JOULE_OK;
}

void forge_device_trim(forge_device *device)
{
    pthread_mutex_lock(&device->memory->lock);
    free_unused(device->memory);
    device->memory->peak_bytes = device->memory->used_bytes;
    pthread_mutex_unlock(&device->memory->lock);
}

void forge_device_limit_memory(forge_device *device, uint64_t limit_bytes)
{
    pthread_mutex_lock(&device->memory->lock);
    device->memory->limit_bytes = limit_bytes;
    pthread_mutex_unlock(&device->memory->lock);
}
