/* forge/base.h - visibility and common rules, for all other headers of TensorForge.
 *
 * Statuses, error messages and quantities come from <joule/base.h> and <joule/quantity.h>. The rules of those
 * headers for NULL pointers, struct_size and enumerations apply here too. Functions never print, exit or
 * abort. A function that can fail returns a status and fills a joule_error.
 *
 * Rules for all functions of all headers, unless a function's comment says otherwise:
 * - Threads: one thread at a time may use an object; different objects may be used in parallel. Functions
 *   without an object, and functions that only read an immutable object, may be called from any thread.
 * - Ownership: the caller owns a returned object and ends it with the function *_free, *_close or *_release
 *   of its type, which accepts NULL. Returned strings live as long as the object they came from. Arguments
 *   are not used after the call returns.
 * - A function that creates or grows an object may return JOULE_NO_MEMORY. On failure no object is created,
 *   and outputs are undefined.
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
