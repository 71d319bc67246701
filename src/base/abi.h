/* base/abi.h - public structures that grow.
 *
 * Owns the rule of struct_size: a structure grows at its end only, and caller and library may each be the older one.
 * What an older caller does not have counts as 0; what a newer one has set and this library does not know is refused.
 * Newcomers: to add a member put it last, and leave the size of the first release, which its library lists, as it is.
 */
#ifndef BASE_ABI_H
#define BASE_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <joule/base.h>

#define SIZE_UP_TO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/* Every such structure begins with its size. */
static inline uint32_t abi_size(const void *theirs)
{
    uint32_t size;
    memcpy(&size, theirs, sizeof size);
    return size;
}

/* True when there is a structure and it has room for what the first release put in. */
static inline bool abi_has_room(const void *theirs, size_t first_size)
{
    return theirs && abi_size(theirs) >= first_size;
}

/* A caller's structure as `ours`. INVALID: none, or too small. UNSUPPORTED: more is asked for than is known here. */
static inline joule_status abi_take(void *ours, size_t our_size, size_t first_size, const void *theirs)
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

/* Fills in what the caller has room for and this library knows; struct_size then says how much that is. */
static inline void abi_give(void *theirs, const void *ours, size_t our_size)
{
    uint32_t size = abi_size(theirs);
    size = size < our_size ? size : (uint32_t)our_size;
    memcpy(theirs, ours, size);
    memcpy(theirs, &size, sizeof size);
}

#endif
