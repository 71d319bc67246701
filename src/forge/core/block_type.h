/* core/block_type.h - defines load_NAME and store_NAME of dtype.h for a block format.
 *
 * The including file defines struct NAME_block, which has the layout of a block in files, and the functions
 * unpack_NAME and pack_NAME for one block. */
#ifndef FORGE_CORE_BLOCK_TYPE_H
#define FORGE_CORE_BLOCK_TYPE_H

#include <string.h>

/* elements: number of elements of a block. */
#define BLOCK_TYPE(name, elements)                                                                           \
    void load_##name(const void *source, size_t first, size_t count, double *out)                            \
    {                                                                                                        \
        const char *from = (const char *)source + first / (elements) * sizeof(struct name##_block);          \
        for (size_t i = 0; i < count; i += (elements), from += sizeof(struct name##_block)) {                \
            struct name##_block block;                                                                       \
            memcpy(&block, from, sizeof block);                                                              \
            unpack_##name(&block, out + i);                                                                  \
        }                                                                                                    \
    }                                                                                                        \
    void store_##name(void *target, size_t first, size_t count, const double *values)                        \
    {                                                                                                        \
        char *to = (char *)target + first / (elements) * sizeof(struct name##_block);                        \
        for (size_t i = 0; i < count; i += (elements), to += sizeof(struct name##_block)) {                  \
            struct name##_block block;                                                                       \
            pack_##name(values + i, &block);                                                                 \
            memcpy(to, &block, sizeof block);                                                                \
        }                                                                                                    \
    }

#endif
