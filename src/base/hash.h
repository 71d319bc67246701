/* base/hash.h - one hash of bytes.
 *
 * Owns FNV-1a with 64 bits (Fowler, Noll, Vo). Newcomers: it is for tables and for numbers that follow from a name, not
 * against whoever chooses the bytes; numbers derived from it stand in files, so it never changes.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* The hash so far, and `size` bytes more. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
