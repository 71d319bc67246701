/* forge/base.h - what every other header of TensorForge needs.
 *
 * Owns visibility. Statuses, messages and quantities are libjoule's: <joule/base.h>, <joule/quantity.h>, and what they
 * say of NULL pointers, struct_size and enumerations holds here too.
 * Newcomers: nothing prints, exits or aborts; a function that can fail returns a status and fills a joule_error.
 *
 * What also holds for every function of every header, unless its comment says something else:
 * - Threads: an object is for one thread at a time, and different objects do not get in each other's way. Functions that
 *   take no object, and those that only look at an immutable one, may be called from any thread.
 * - Ownership: an object that comes back is the caller's, and ends with the function of its type that is named _free, _close
 *   or _release, which takes NULL. Strings that come back live as long as the object that was asked. What is passed in is
 *   not looked at any more when the call returns.
 * - Whatever makes or grows something may say NO_MEMORY. On failure nothing is made, and outputs are not to be used.
 */
#ifndef FORGE_BASE_H
#define FORGE_BASE_H

#include <stdbool.h>
#include <joule/base.h>
#include <joule/quantity.h>

#if defined(__GNUC__)
#define FORGE_API __attribute__((visibility("default")))
#else
#define FORGE_API
#endif

#endif
