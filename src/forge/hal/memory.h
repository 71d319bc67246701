/* hal/memory.h - the memory pool of a device, in front of the backend's allocator.
 *
 * The pool keeps released blocks by size class for reuse; forge_device_trim frees them. It counts bytes and
 * enforces the limit.
 *
 * Note: forge_buffer_release returns a buffer to the pool, on any thread. Blocks are zeroed each time they
 * are taken.
 */
#ifndef FORGE_HAL_MEMORY_H
#define FORGE_HAL_MEMORY_H

#include "forge/hal/backend.h"

/* Returns an empty pool, or NULL if out of memory. */
struct device_memory *device_memory_new(void);
/* Frees the pool. Buffers that are still in use are freed when they are released. NULL is allowed. */
void device_memory_close(struct device_memory *memory);

/* Takes at least size_bytes zeroed bytes, aligned to PROGRAM_ALIGNMENT. what: the user of the memory, for
 * messages, such as "slot 'fc1.weight'"; copied. Release the result with forge_buffer_release. Returns
 * JOULE_NO_MEMORY if the device or the limit does not allow the request; the message names the largest users.
 * May be called on any thread. */
joule_status device_take(forge_device *device, size_t size_bytes, const char *what, forge_buffer **out_buffer,
                         joule_error *out_error);

/* Returns the size class for size_bytes, in bytes: size_bytes rounded up to one of 8 steps between two
 * powers of two, so that less than an eighth is lost. Returns SIZE_MAX if size_bytes is too large. */
size_t memory_class_bytes(size_t size_bytes);

#endif
