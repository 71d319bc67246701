/* hal/memory.h - a device's memory: taken, given back, and kept for the next who wants as much.
 *
 * Owns the pool of blocks by size class in front of a backend's allocator, its counts, its limit, and the message for when
 * memory is used up. A buffer goes back by forge_buffer_release, on any thread.
 * Newcomers: what is given back stays with the device (forge_device_trim gives it to the system). Blocks are zeroed each
 * time they are handed out.
 */
#ifndef FORGE_HAL_MEMORY_H
#define FORGE_HAL_MEMORY_H

#include "forge/hal/device.h"

struct device_memory *device_memory_new(void);
/* Nothing more will be taken. What is still in use is freed when it is given back. NULL is allowed. */
void device_memory_close(struct device_memory *memory);

/* At least so many zeroed bytes, aligned to PROGRAM_ALIGNMENT; `what` names them in messages: "slot 'fc1.weight'".
 * NO_MEMORY says how much is in use, and by what. */
joule_status device_take(forge_device *device, size_t size_bytes, const char *what, forge_buffer **out_buffer,
                         joule_error *out_error);

/* The size that is allocated for a wish: the next of 8 steps between two powers of two, so that less than an eighth is
 * lost. SIZE_MAX: too large. */
size_t memory_class_bytes(size_t size_bytes);

#endif
