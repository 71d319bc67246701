/* hal/memory.h - the memory pool of a device, in front of the backend's allocator.
 *
 * The pool does not free released blocks, but uses them again for requests of the same size class, until
 * forge_device_trim frees them. The pool counts bytes and enforces the limit.
 *
 * Note: forge_buffer_release returns a buffer to the pool, on any thread. device_take zeroes a block each
 * time it returns the block.
 */
#ifndef FORGE_HAL_MEMORY_H
#define FORGE_HAL_MEMORY_H

#include "forge/hal/backend.h"

/* Returns an empty pool, or NULL if out of memory. The caller closes the pool with device_memory_close. */
struct device_memory *device_memory_new(void);
/* Frees the pool. If buffers are still in use, the pool is freed when the last buffer is released. NULL is
 * allowed. */
void device_memory_close(struct device_memory *memory);

/* Allocates a buffer of size_bytes zeroed bytes, aligned to PROGRAM_ALIGNMENT, from the pool. what: the user
 * of the memory, for messages, such as "slot 'fc1.weight'"; the text is copied. The caller releases the
 * buffer with forge_buffer_release. Returns JOULE_NO_MEMORY if the device has not enough memory, or if the
 * limit would be exceeded; the message names the largest users. May be called on any thread. */
joule_status device_take(forge_device *device, size_t size_bytes, const char *what, forge_buffer **out_buffer,
                         joule_error *out_error);

/* Returns the size in bytes of the size class for size_bytes bytes. There are 8 classes between two powers of
 * two, so less than an eighth of a block is unused. Returns SIZE_MAX if size_bytes is too large. */
size_t memory_class_bytes(size_t size_bytes);

#endif
