/* base/abi.h - copies public structures between caller and library, which may have different versions.
 *
 * A structure begins with struct_size and grows only at its end. Members that an older caller's structure
 * lacks count as 0. A newer caller's structure is rejected if a member that this library does not know is not
 * 0.
 * Note: add new members at the end. joule/struct_sizes.h lists the sizes of the first release, which must not
 * change.
 */
#ifndef BASE_ABI_H
#define BASE_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <joule/base.h>

#define SIZE_UP_TO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/* Returns the struct_size of a caller's structure. */
static inline uint32_t abi_size(const void *theirs)
{
    uint32_t size;
    memcpy(&size, theirs, sizeof size);
    return size;
}

/* Returns true if the caller's structure is not NULL and is at least as large as in the first release. */
static inline bool abi_has_room(const void *theirs, size_t first_size)
{
    return theirs && abi_size(theirs) >= first_size;
}

/* Copies a caller's structure to `ours`. INVALID: `theirs` is NULL or too small. UNSUPPORTED: an unknown
 * member is not 0. */
static inline joule_status abi_read(void *ours, size_t our_size, size_t first_size, const void *theirs)
{
    if (!abi_has_room(theirs, first_size))
        return JOULE_INVALID;
    size_t size = abi_size(theirs);
    for (size_t i = our_size; i < size; i++)
        if (((const unsigned char *)theirs)[i] != 0)
            return JOULE_UNSUPPORTED;
    memset(ours, 0, our_size);
    memcpy(ours, theirs, size < our_size ? size : our_size);
    return JOULE_OK;
}

/* Copies the members of `ours` that the caller's structure has, and sets its struct_size to the number of
 * bytes copied. */
static inline void abi_write(void *theirs, const void *ours, size_t our_size)
{
    uint32_t size = abi_size(theirs);
    size = size < our_size ? size : (uint32_t)our_size;
    memcpy(theirs, ours, size);
    memcpy(theirs, &size, sizeof size);
}

#endif
