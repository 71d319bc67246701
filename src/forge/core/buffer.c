/* core/buffer.c - reference-counted memory of tensors.
 *
 * Note: one call of calloc allocates the structure and the memory. Large allocations are new pages that the
 * kernel has zeroed, so calloc does not write to them.
 */
#include <forge/tensor.h>
#include "base/error.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { ALIGNMENT = 64 }; /* bytes: the size of a cache line, and of the widest vector */

struct forge_buffer {
    atomic_size_t references;
    void *memory;
    size_t size_bytes;
    void (*release)(void *context);
    void *context;
};

joule_status forge_buffer_new(size_t size_bytes, forge_buffer **out_buffer, joule_error *out_error)
{
    if (!out_buffer)
        return error_set(out_error, JOULE_INVALID, "forge_buffer_new: out_buffer is NULL");
    const size_t overhead = sizeof(forge_buffer) + ALIGNMENT - 1;
    forge_buffer *buffer = size_bytes <= PTRDIFF_MAX - overhead ? calloc(1, overhead + size_bytes) : NULL;
    if (!buffer)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot allocate a buffer of %zu bytes: out of memory",
                         size_bytes);
    char *memory = (char *)(buffer + 1);
    memory += -(uintptr_t)memory % ALIGNMENT;
    atomic_init(&buffer->references, 1);
    buffer->memory = memory;
    buffer->size_bytes = size_bytes;
    *out_buffer = buffer;
    return JOULE_OK;
}

joule_status forge_buffer_wrap(void *memory, size_t size_bytes, void (*release)(void *context), void *context,
                               forge_buffer **out_buffer, joule_error *out_error)
{
    if (!out_buffer || (!memory && size_bytes > 0))
        return error_set(out_error, JOULE_INVALID, "forge_buffer_wrap: %s is NULL",
                         out_buffer ? "memory" : "out_buffer");
    forge_buffer *buffer = malloc(sizeof *buffer);
    if (!buffer)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot wrap a buffer: out of memory");
    atomic_init(&buffer->references, 1);
    buffer->memory = memory;
    buffer->size_bytes = size_bytes;
    buffer->release = release;
    buffer->context = context;
    *out_buffer = buffer;
    return JOULE_OK;
}

void forge_buffer_retain(forge_buffer *buffer)
{
    atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);
}

void forge_buffer_release(forge_buffer *buffer)
{
    /* Acquire and release order, because the thread that frees the memory must see the writes of all other
     * threads. */
    if (!buffer || atomic_fetch_sub_explicit(&buffer->references, 1, memory_order_acq_rel) > 1)
        return;
    if (buffer->release)
        buffer->release(buffer->context);
    free(buffer);
}

void *forge_buffer_data(const forge_buffer *buffer)
{
    return buffer->memory;
}

size_t forge_buffer_size_bytes(const forge_buffer *buffer)
{
    return buffer->size_bytes;
}
