/* base/hash.h - the 64-bit FNV-1a hash (Fowler, Noll, Vo).
 *
 * The hash is used for tables, and for numbers derived from names. Files contain such numbers, so the hash
 * must not change.
 * Note: an attacker who chooses the bytes can cause collisions.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* Returns `hash` extended by `size` bytes. Begin with HASH_START. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
